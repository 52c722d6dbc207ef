"""Actor-critic: returns by brute force, the gradient against autograd, and one worker against a plain loop."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import train

from minitrpo.algorithms.actor_critic.a3c import A3C, A3CSettings
from minitrpo.algorithms.actor_critic.loss import (
    LOGGED,
    OPTIMISER,
    ActorCritic,
    ActorCriticSettings,
    Steps,
    actor_critic_gradient,
    bootstrapped_returns,
    gradient_sums,
    pooled_gradient,
    returns_of,
)
from minitrpo.algorithms.algorithm import Context
from minitrpo.experience.environments import describe
from minitrpo.experience.fragments import concatenate
from minitrpo.experience.make_vector_env import make_vector_env
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Rollouts
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.perceptron import count_parameters, mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.returns import n_step_returns, next_values
from minitrpo.run_folder.folder import RunFolder, sha256

POLICIES = {"gaussian": GaussianPolicy(3, 2, (5, 4), 0.3), "categorical": CategoricalPolicy(3, 4, (5,))}


def fragments(seed, lengths, terminated):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    last, ends = np.zeros(n, bool), np.cumsum(lengths) - 1
    last[ends] = True
    over = np.zeros(n, bool)
    over[ends] = terminated
    return rng.standard_normal(n), rng.standard_normal(len(lengths)), last, over


CUTS = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=5)


@given(CUTS, st.floats(0.1, 1.0), st.integers(0, 100))
def test_returns_by_brute_force(parts, discount, seed):
    lengths, terminated = zip(*parts, strict=True)
    rewards, final_values, last, over = fragments(seed, lengths, terminated)
    expected, start = [], 0
    for length, ended, value in zip(lengths, terminated, final_values, strict=True):
        for t in range(length):
            after = [discount**k * rewards[start + t + k] for k in range(length - t)]
            expected.append(sum(after) + (0.0 if ended else discount ** (length - t) * value))
        start += length
    before = rewards.copy()
    returns = bootstrapped_returns(rewards, final_values, last, over, discount)
    np.testing.assert_allclose(returns, expected, rtol=1e-12, atol=1e-12)
    assert rewards.tolist() == before.tolist()


def some_steps(policy, seed, lengths=(4, 1, 3), terminated=(False, True, False)):
    rng = np.random.default_rng(seed)
    rewards, _, last, over = fragments(seed, lengths, terminated)
    n = len(rewards)
    discrete = isinstance(policy, CategoricalPolicy)
    actions = rng.integers(policy.action_size, size=n) if discrete else rng.standard_normal((n, policy.action_size))
    return Steps(rng.standard_normal((n, 3)), actions, rewards, last, over, rng.standard_normal((len(lengths), 3)))


def loss(model, theta, steps, s, returns, advantages):
    """The docstring's formula, for autograd; returns and advantages are constants."""
    size = len(theta) - count_parameters(model.value_sizes)
    dist_params = model.policy.distribution(theta[:size], steps.observations)
    gain = model.policy.log_prob(dist_params, steps.actions) * advantages
    gain = gain + s.entropy_weight * model.policy.entropy(dist_params)
    values = mlp(theta[size:], model.value_sizes, steps.observations)[:, 0]
    return anp.mean(-gain + s.value_weight * (returns - values) ** 2 / 2)


@pytest.mark.parametrize("kind", POLICIES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), entropy_weight=st.sampled_from([0.0, 0.01, 2.0]), scale=st.sampled_from([1.0, 0.1]))
def test_the_gradient_is_that_of_the_loss(kind, seed, entropy_weight, scale):
    model = ActorCritic(POLICIES[kind])
    theta = model.initialise(np.random.default_rng(seed))
    theta = theta + 0.3 * np.random.default_rng(seed + 1).standard_normal(len(theta))
    steps = some_steps(model.policy, seed)
    s = ActorCriticSettings(entropy_weight=entropy_weight, max_gradient_norm=1e9, discount=0.9, reward_scale=scale)
    gradient, told = actor_critic_gradient(model, theta, steps, s)
    final_values = model.values(theta, steps.final_observations)
    returns = bootstrapped_returns(scale * steps.rewards, final_values, steps.last, steps.terminated, s.discount)
    advantages = returns - model.values(theta, steps.observations)
    expected = grad(lambda t: loss(model, t, steps, s, returns, advantages))(theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    assert set(told) == set(LOGGED)


@given(CUTS, st.floats(0.1, 1.0), st.floats(0.0, 0.99), st.integers(0, 100))
def test_a_lambda_mixes_the_returns_of_all_lengths(parts, discount, gae_lambda, seed):
    """R = (1 - lambda) sum_n lambda^(n-1) R^(n), the last one, as long as its fragment, having all the weight left."""
    lengths, terminated = zip(*parts, strict=True)
    steps, rng = some_steps(POLICIES["gaussian"], seed, lengths, terminated), np.random.default_rng(seed)
    values, final_values = rng.standard_normal(sum(lengths)), rng.standard_normal(len(lengths))
    after = next_values(values, final_values, steps.last, steps.terminated)
    expected, longest = np.zeros(sum(lengths)), max(lengths)
    for n in range(1, longest + 1):
        weight = (1 - gae_lambda) * gae_lambda ** (n - 1) if n < longest else gae_lambda ** (n - 1)
        expected += weight * n_step_returns(steps.rewards, after, steps.last, discount, n)
    s = ActorCriticSettings(discount=discount, gae_lambda=gae_lambda)
    np.testing.assert_allclose(returns_of(steps, values, final_values, s), expected, rtol=1e-12, atol=1e-12)


def pieces(steps, lengths):
    """The same steps, fragment by fragment."""
    stops = np.cumsum(lengths).tolist()
    for i, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
        rows = {name: array[start:stop] for name, array in vars(steps).items()}
        yield Steps(**rows | {"final_observations": steps.final_observations[i : i + 1]})


@pytest.mark.parametrize("kind", POLICIES)
@settings(max_examples=15)
@given(
    parts=CUTS, seed=st.integers(0, 1000), longest=st.sampled_from([1e-3, 1e9]), gae_lambda=st.sampled_from([0.9, 1])
)
def test_sums_over_fragments_are_the_gradient_of_all_steps(kind, parts, seed, longest, gae_lambda):
    model, (lengths, terminated) = ActorCritic(POLICIES[kind]), zip(*parts, strict=True)
    theta = model.initialise(np.random.default_rng(seed)) + 0.3
    steps = some_steps(model.policy, seed, lengths, terminated)
    s = ActorCriticSettings(max_gradient_norm=longest, entropy_weight=0.5, gae_lambda=float(gae_lambda))
    sums = np.array([gradient_sums(model, theta, piece, s) for piece in pieces(steps, lengths)])
    gradient, told, n = pooled_gradient(model, sums, s)
    expected, expected_told = actor_critic_gradient(model, theta, steps, s)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    assert n == sum(lengths)
    assert told == pytest.approx(expected_told, rel=1e-9, abs=1e-12)


def test_policys_and_values_gradients_are_shortened_each_by_itself_and_the_sum_not_its_parts():
    """Fragments that pull in opposite directions cancel, however long each one's gradient is."""
    model = ActorCritic(POLICIES["gaussian"])
    theta, steps = model.initialise(np.random.default_rng(0)), some_steps(model.policy, 1, (4, 1, 3), (True,) * 3)
    s = ActorCriticSettings(entropy_weight=0.0, max_gradient_norm=0.5)
    values = model.values(theta, steps.observations)
    one_step = {"last": np.ones(8, bool), "terminated": np.ones(8, bool), "final_observations": np.zeros((8, 3))}
    above, below = (Steps(**{**vars(steps), **one_step, "rewards": values + a}) for a in (1e3, -1e3))
    gradient, _, _ = pooled_gradient(model, np.array([gradient_sums(model, theta, x, s) for x in (above, below)]), s)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    alone, _, _ = pooled_gradient(model, gradient_sums(model, theta, above, s)[None], s)
    for gradient in (alone, actor_critic_gradient(model, theta, above, s)[0]):
        assert [np.linalg.norm(part) for part in model.split(gradient)] == pytest.approx([0.5, 0.5])


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
        f = raw.filtered(seen)
        steps = Steps(f.observations, f.actions, f.rewards, f.last, f.terminated_steps, f.final_observations)
        gradient, _ = actor_critic_gradient(model, theta, steps, s)
        state, step = OPTIMISERS["adam"](state, gradient, step_size((update + 1) * t_max))
        theta = theta - step
        seen = seen.merged(raw.observations)
    checkpoint = RunFolder(tmp_path / "run").load_checkpoint()
    assert sha256(checkpoint["theta"]) == sha256(theta)
    assert checkpoint[OPTIMISER + "moment"].tobytes() == state["moment"].tobytes()
    assert checkpoint["run_filter"].tobytes() == seen.to_vector().tobytes()


def test_gradients_lead_where_samples_do_up_to_rounding(tmp_path):
    """Over few updates: later a rounding error has made another action of one."""
    job = ("--algorithm", "a2c", "--env", "CartPole-v1", "--num-envs", 4, "--steps-per-update", 20)
    found = []
    for travels in ("samples", "gradients"):
        train(tmp_path / travels, *job, "--total-steps", 200, "--travels", travels)
        found.append(RunFolder(tmp_path / travels).load_checkpoint()["theta"])
    np.testing.assert_allclose(*found, rtol=0, atol=1e-9)


def test_the_value_function_of_a_known_chain_is_found():
    """Reward 1 a step, never over: V = 1 / (1 - discount), by semi-gradient steps from cut fragments of 3 steps."""
    model = ActorCritic(CategoricalPolicy(1, 2, (4,)))
    s = ActorCriticSettings(discount=0.5, max_gradient_norm=1e9)
    rng = generator(0, 0, 0, Purpose.POLICY)
    theta = model.initialise(rng)
    state = initial_state("adam", len(theta))
    ones = np.ones((3, 1))
    steps = Steps(ones, np.array([0, 1, 0]), np.ones(3), np.array([0, 0, 1], bool), np.zeros(3, bool), ones[:1])
    for _ in range(600):
        gradient, _ = actor_critic_gradient(model, theta, steps, s)
        state, step = OPTIMISERS["adam"](state, gradient, 0.01)
        theta = theta - step
    np.testing.assert_allclose(model.values(theta, ones), 2.0, rtol=1e-3)
