"""Actor-critic: returns by brute force, the gradient against autograd, and one worker against a plain loop."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from fragments import apart, random_fragments
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import train

from minitrpo.algorithms.actor_critic import (
    A3C,
    LOGGED,
    A3CSettings,
    ActorCritic,
    ActorCriticSettings,
    actor_critic_gradient,
    bootstrapped_returns,
)
from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER
from minitrpo.algorithms.shared_update import samples_of
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Rollouts, concatenate, make_vector_env
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.perceptron import count_parameters, mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.run_folder.folder import RunFolder, sha256

POLICIES = {"gaussian": GaussianPolicy(3, 2, (5, 4), 0.3), "categorical": CategoricalPolicy(3, 4, (5,))}
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def played(policy, seed, lengths=(4, 1, 3)):
    """Return fragments with random contents, some terminated."""
    return random_fragments(np.random.default_rng(seed), lengths, 3, policy.action_size if policy.discrete else 0)


@settings(max_examples=50)
@given(LENGTHS, st.floats(0.1, 1.0), st.integers(0, 1000))
def test_returns_by_brute_force(lengths, discount, seed):
    f, expected = played(POLICIES["gaussian"], seed, lengths), []
    before, final_values = f.rewards.copy(), f.final_observations[:, 0]
    for part, value in zip(apart(f), final_values, strict=True):
        for t in range(part.steps):
            n = part.steps - t
            total = sum(discount**k * part.rewards[t + k] for k in range(n))
            expected.append(total + (0.0 if part.terminated[0] else discount**n * value))
    returns = bootstrapped_returns(f.rewards, final_values, f.last, f.terminated_steps, discount)
    np.testing.assert_allclose(returns, expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(f.rewards, before)


def loss(model, theta, steps, s, returns, advantages):
    """The docstring's formula, for autograd; returns and advantages are constants."""
    size = len(theta) - count_parameters(model.value_sizes)
    dist_params = model.policy.distribution(theta[:size], steps["observations"])
    gain = model.policy.log_prob(dist_params, steps["actions"]) * advantages
    gain = gain + s.entropy_weight * model.policy.entropy(dist_params)
    values = mlp(theta[size:], model.value_sizes, steps["observations"])[:, 0]
    return anp.mean(-gain + s.value_weight * (returns - values) ** 2 / 2)


@pytest.mark.parametrize("kind", POLICIES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), entropy_weight=st.sampled_from([0.0, 0.01, 2.0]), scale=st.sampled_from([1.0, 0.1]))
def test_the_gradient_is_that_of_the_loss(kind, seed, entropy_weight, scale):
    model = ActorCritic(POLICIES[kind])
    theta = model.initialise(np.random.default_rng(seed))
    theta = theta + 0.3 * np.random.default_rng(seed + 1).standard_normal(len(theta))
    steps = samples_of(played(model.policy, seed))
    s = ActorCriticSettings(entropy_weight=entropy_weight, max_gradient_norm=1e9, discount=0.9, reward_scale=scale)
    gradient, told = actor_critic_gradient(model, theta, steps, s)
    final_values = model.values(theta, steps["final_observations"])
    returns = bootstrapped_returns(
        scale * steps["rewards"], final_values, steps["last"], steps["terminated"], s.discount
    )
    advantages = returns - model.values(theta, steps["observations"])
    expected = grad(lambda t: loss(model, t, steps, s, returns, advantages))(theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    assert set(told) == set(LOGGED)


def test_the_gradients_of_policy_and_value_function_are_shortened_each_by_itself():
    model = ActorCritic(POLICIES["gaussian"])
    theta, steps = model.initialise(np.random.default_rng(0)), samples_of(played(model.policy, 1))
    steps["rewards"] = steps["rewards"] + 1e3
    long, short = (
        model.split(actor_critic_gradient(model, theta, steps, ActorCriticSettings(max_gradient_norm=norm))[0])
        for norm in (1e9, 0.5)
    )
    assert [np.linalg.norm(part) for part in short] == pytest.approx([0.5, 0.5])
    for part, whole in zip(short, long, strict=True):
        np.testing.assert_allclose(part, 0.5 * whole / np.linalg.norm(whole), rtol=1e-9)


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_one_worker_is_the_sequential_actor_critic_to_the_bit(env, tmp_path):
    """The loop that a student would write, against the driver: filter, rollouts, gradient, optimiser."""
    t_max, total = 7, 700
    train(
        tmp_path / "run", "--algorithm", "a3c", "--env", env, "--total-steps", total, "--t-max", t_max,
        "--steps-per-update", 70, "--hidden", "8", "--anneal", "step-size", "--anneal-steps", 1000,
        "--envs-per-worker", 1, "--discount", 0.99, "--step-size", 3e-3, "--entropy-weight", 0.01,
    )  # fmt: skip
    s = A3CSettings(t_max=t_max, step_size=3e-3, anneal="step-size", anneal_steps=1000)
    spec = describe(env)
    model = A3C.make_policy(s, spec.policy((8,), 0.0))
    context = Context(model, 0, 70)
    step_size = s.step_size_in(context)
    theta = model.initialise(context.generator(Purpose.POLICY))
    state, seen = initial_state("adam", len(theta)), ObservationFilter.identity(spec.observation_size)
    rollouts = Rollouts(spec, model, make_vector_env(spec, 1, "auto"), 0)
    for update in range(total // t_max):
        raw = concatenate(rollouts.advance(theta, seen, 1, range(1), 1, t_max))
        gradient, _ = actor_critic_gradient(model, theta, samples_of(raw.filtered(seen)), s)
        state, step = OPTIMISERS["adam"](state, gradient, step_size((update + 1) * t_max))
        theta = theta - step
        seen = seen.merged(raw.observations)
    checkpoint = RunFolder(tmp_path / "run").load_checkpoint()
    assert sha256(checkpoint["theta"]) == sha256(theta)
    assert checkpoint[OPTIMISER + "moment"].tobytes() == state["moment"].tobytes()
    assert checkpoint["run_filter"].tobytes() == seen.to_vector().tobytes()
