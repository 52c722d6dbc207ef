"""Value-based methods without a memory: targets by brute force, gradients by autograd, Q* where it is known."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from fragments import GAMMA, chain_q, chain_transitions, fragment, random_fragments
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.algorithm import Context, Plan
from minitrpo.algorithms.q_learning.epsilon_greedy import EpsilonGreedy, epsilon_greedy, parsed
from minitrpo.algorithms.q_learning.n_step_q import (
    NStepQ,
    OneStepQ,
    OneStepSarsa,
    QSettings,
    fragment_gradient,
    metrics,
)
from minitrpo.algorithms.q_learning.targets import (
    n_step_q_targets,
    one_step_q,
    one_step_q_targets,
    sarsa_one_step,
    sarsa_targets,
    td_gradient,
    td_loss,
)
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import EpisodeKey
from minitrpo.perceptron import layer_sizes, mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy

LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def made(algorithm, size=3, actions=4, hidden=(5,), **settings):
    own = algorithm.Settings(**settings)
    policy = algorithm.make_policy(own, CategoricalPolicy(size, actions, hidden))
    return algorithm(own, Context(policy, 0, 100))


# --- targets


@settings(max_examples=25)
@given(lengths=LENGTHS, seed=st.integers(0, 1000))
def test_n_step_targets_by_brute_force(lengths, seed):
    rng = np.random.default_rng(seed)
    episodes = random_fragments(rng, lengths)
    final_q = rng.normal(size=(len(lengths), 4))
    y = n_step_q_targets(episodes.rewards, episodes.last, episodes.terminated_steps, final_q, GAMMA)
    expected = []
    for part, q in zip(episodes.fragments(), final_q, strict=True):
        for t in range(part.steps):
            n = part.steps - t
            total = sum(GAMMA**k * part.rewards[t + k] for k in range(n))
            expected.append(total + (0.0 if part.terminated[0] else GAMMA**n * max(q)))
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=25)
@given(lengths=LENGTHS, seed=st.integers(0, 1000))
def test_one_step_targets_by_brute_force(lengths, seed):
    """One-step Q, and Sarsa with the action that the fragment really took next."""
    rng, sizes = np.random.default_rng(seed), layer_sizes(3, (5,), 4)
    for part in random_fragments(rng, lengths).fragments():
        theta = rng.normal(size=3 * 5 + 5 + 5 * 4 + 4)

        def q_of(observations, theta=theta):
            return mlp(theta, sizes, observations)

        def q(observation):
            return q_of(observation[None])[0]

        seen, dead = [*part.observations[1:], part.final_observations[0]], bool(part.terminated[0])
        y, known = one_step_q(q_of, part, GAMMA)
        assert known.all()
        ends = [dead and t == part.steps - 1 for t in range(part.steps)]
        expected = [r + (0 if end else GAMMA * max(q(s))) for r, s, end in zip(part.rewards, seen, ends, strict=True)]
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
        y, known = sarsa_one_step(q_of, part, GAMMA)
        expected = [part.rewards[t] + GAMMA * q(seen[t])[part.actions[t + 1]] for t in range(part.steps - 1)]
        np.testing.assert_allclose(y, [*expected, part.rewards[-1]] if dead else expected, rtol=1e-12, atol=1e-12)
        assert known.tolist() == [True] * (part.steps - 1) + [dead]  # a cut step has no next action


def test_the_formulas_agree_where_they_must():
    """With one step, n-step Q is one-step Q; with greedy next actions, so is Sarsa."""
    rng = np.random.default_rng(0)
    rewards, q, ended = rng.normal(size=50), rng.normal(size=(50, 3)), rng.random(50) < 0.3
    one = one_step_q_targets(rewards, ended, q, GAMMA)
    np.testing.assert_array_equal(n_step_q_targets(rewards, np.ones(50, bool), ended, q, GAMMA), one)
    np.testing.assert_array_equal(sarsa_targets(rewards, ended, q, q.argmax(axis=1), GAMMA), one)


# --- the gradient


@pytest.mark.parametrize("huber", [0.5, 1e6])
def test_the_gradient_is_that_of_the_loss(huber):
    rng, sizes = np.random.default_rng(1), layer_sizes(3, (6, 5), 4)
    theta = rng.normal(size=sum(i * o + o for i, o in sizes))
    observations, actions = rng.normal(size=(9, 3)), rng.integers(4, size=9)
    targets, weights = 2 * rng.normal(size=9), rng.integers(2, size=9).astype(float)

    def loss(theta):
        error = mlp(theta, sizes, observations)[anp.arange(9), actions] - targets
        quadratic, linear = 0.5 * error**2, huber * (anp.abs(error) - 0.5 * huber)
        return anp.sum(weights * anp.where(anp.abs(error) <= huber, quadratic, linear))

    g, error = td_gradient(theta, sizes, observations, actions, targets, weights, huber)
    np.testing.assert_allclose(g, grad(loss)(theta), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.sum(weights * td_loss(error, huber)), loss(theta), rtol=1e-12)
    assert (np.abs(error) > 0.5).any()


def test_the_log_has_the_mean_q_of_the_actions_that_were_taken():
    rng, policy = np.random.default_rng(4), EpsilonGreedy(3, 4, (5,))
    theta = np.append(rng.normal(size=sum(i * o + o for i, o in policy.sizes)), 0.0)
    observations, actions = rng.normal(size=(9, 3)), rng.integers(4, size=9)
    played = SimpleNamespace(observations=observations, actions=actions, steps=9)
    known = np.arange(9) > 1

    def targets(_q, _fragment, _discount):
        return rng.normal(size=7), known

    _, sums = fragment_gradient(policy, theta, theta, played, targets, QSettings())
    q = mlp(policy.split(theta)[0], policy.sizes, observations)[np.arange(9), actions]
    assert metrics(theta, sums, theta)["mean_q"] == pytest.approx(q[known].mean())


def test_a_batch_of_batches_has_the_gradient_of_each():
    rng, sizes = np.random.default_rng(2), layer_sizes(3, (6,), 4)
    theta, weights = rng.normal(size=3 * 6 + 6 + 6 * 4 + 4), np.ones((2, 5))
    o, a, y = rng.normal(size=(2, 5, 3)), rng.integers(4, size=(2, 5)), rng.normal(size=(2, 5))
    together, _ = td_gradient(theta, sizes, o, a, y, weights, 1.0)
    for i in range(2):
        np.testing.assert_allclose(td_gradient(theta, sizes, o[i], a[i], y[i], weights[i], 1.0)[0], together[i])


# --- Q*


@pytest.mark.parametrize("algorithm", [OneStepQ, NStepQ])
def test_q_of_a_chain_becomes_the_one_that_solves_bellmans_equation(algorithm):
    """One-hot states and no hidden layer: a table."""
    q = made(algorithm, 5, 2, (), discount=GAMMA, step_size=0.02, target_every=200, exploration_steps=1)
    parts = chain_transitions()
    for _ in range(1500):
        digests = [q.digest(q.plan(), part) for part in parts]
        q.learn({name: np.concatenate([d[name] for d in digests]) for name in digests[0]}, None)
    np.testing.assert_allclose(q.policy.distribution(q.theta, np.eye(5)), chain_q(), atol=1e-3)


def test_sarsa_learns_the_values_of_the_policy_that_acts():
    """Always left: Q(s, a) is what follows one right, which is nothing but at the end."""
    q = made(OneStepSarsa, 5, 2, (), discount=GAMMA, step_size=0.02, target_every=200)
    eye = np.eye(5)
    parts = [fragment(eye[[s, max(s - 1, 0)]], [0, 0], [0, 0], eye[max(s - 2, 0)]) for s in range(5)]
    parts += [fragment(eye[[s, s + 1]], [1, 0], [0, 0], eye[s]) for s in range(4)]
    parts += [fragment(eye[[4]], [1], [1], eye[4], terminated=True)]
    for _ in range(1000):
        digests = [q.digest(q.plan(), part) for part in parts]
        q.learn({name: np.concatenate([d[name] for d in digests]) for name in digests[0]}, None)
    expected = np.zeros((5, 2))
    expected[4, 1] = 1.0
    np.testing.assert_allclose(q.policy.distribution(q.theta, eye), expected, atol=1e-3)


# --- what is counted globally


def test_the_older_copy_is_renewed_every_so_many_steps_of_all_actors():
    q = made(NStepQ, target_every=100, exploration_steps=250)
    rng, renewed = np.random.default_rng(3), []
    for _ in range(20):
        before = q.target
        parts = random_fragments(rng, (5, 7, 8)).fragments()
        digests = [q.digest(Plan(q.theta, arrays={"target": q.target}), part) for part in parts]
        row = q.learn({name: np.concatenate([d[name] for d in digests]) for name in digests[0]}, None)
        renewed.append(q.target is not before)
        assert row["exploration"] == pytest.approx(max(0, 1 - q.steps / 250))
        assert q.theta[-1] == row["exploration"]
    assert q.steps == 400
    assert np.flatnonzero(renewed).tolist() == [4, 9, 14, 19]


# --- who acts


def test_epsilon_greedy_explores_as_often_as_it_should():
    rng = np.random.default_rng(4)
    q = np.tile([0.0, 2.0, 1.0], (60_000, 1))
    actions = epsilon_greedy(q, np.full(60_000, 0.3), rng.random(60_000), rng.random(60_000))
    np.testing.assert_allclose(np.bincount(actions) / 60_000, [0.1, 0.8, 0.1], atol=0.01)
    assert np.all(epsilon_greedy(q, np.zeros(60_000), rng.random(60_000), rng.random(60_000)) == 1)


def test_an_episode_keeps_its_epsilon_and_episodes_differ():
    epsilons, weights = parsed("0.1:4,0.01:3,0.5:3")
    policy = EpsilonGreedy(3, 2, (4,), tuple(epsilons), tuple(weights))
    theta = policy.initialise(np.random.default_rng(0))
    counts = {0.1: 0, 0.01: 0, 0.5: 0}
    for number in range(600):
        key = EpisodeKey(1, 0, number)
        rng, state = key.actions(), policy.initial_state(theta, key)
        noise = np.concatenate([policy.draw_noise(rng, 3), policy.draw_noise(rng, 2)])
        assert np.array_equal(state, policy.initial_state(theta, EpisodeKey(1, 0, number)))
        assert len(np.unique(noise)) == 10
        theta[-1] = 0.0
        counts[float(policy.epsilons(theta, state)[0])] += 1
        theta[-1] = 1.0
        assert policy.epsilons(theta, state) == pytest.approx(1.0)
    np.testing.assert_allclose(np.array([*counts.values()]) / 600, [0.4, 0.3, 0.3], atol=0.07)


@pytest.mark.parametrize("text", ["", "x", "-0.1", "1.1", "nan", "0.1:0", "0.1:-1", "0.1,", "0.1:inf", "0.1;0.2"])
def test_what_is_no_epsilon_is_refused(text):
    with pytest.raises(BadInput, match="--final-epsilons must be probabilities"):
        parsed(text)


def test_continuous_actions_are_refused():
    with pytest.raises(BadInput, match="continuous"):
        NStepQ.make_policy(NStepQ.Settings(), GaussianPolicy(3, 1, (4,)))
