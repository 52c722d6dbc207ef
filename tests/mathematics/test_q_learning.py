"""Value-based methods without a memory: targets by brute force, gradients by autograd, Q* where it is known."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from fragments import GAMMA, apart, chain_q, chain_transitions, fragment, random_fragments
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.algorithm import Context, Plan
from minitrpo.algorithms.q_learning import (
    EpsilonGreedy,
    NStepQ,
    OneStepQ,
    OneStepSarsa,
    epsilon_greedy,
    n_step_q_targets,
    one_step_q,
    one_step_sarsa,
    parsed,
    td_gradient,
    td_loss,
)
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import EpisodeKey
from minitrpo.perceptron import count_parameters, layer_sizes, mlp
from minitrpo.policies import CategoricalPolicy


def made(algorithm, size=3, actions=4, hidden=(5,), **settings):
    own = algorithm.Settings(**settings)
    policy = algorithm.make_policy(own, CategoricalPolicy(size, actions, hidden))
    return algorithm(own, Context(policy, 0, 100))


def learned(q, parts, updates):
    """Let q learn from the same fragments so many times, and return its rows of the log and copies of its target."""
    rows, older = [], [q.target]
    for _ in range(updates):
        sent = [q.prepare(q.plan(), part) for part in parts]
        rows.append(q.learn({name: np.concatenate([d[name] for d in sent]) for name in sent[0]}, None))
        older.append(q.target)
    return rows, older


@settings(max_examples=30)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5), seed=st.integers(0, 1000))
def test_targets_by_brute_force(lengths, seed):
    """n-step and one-step Q, and Sarsa with the action that the fragment really took next."""
    rng, sizes = np.random.default_rng(seed), layer_sizes(3, (5,), 4)
    theta, episodes = rng.normal(size=count_parameters(sizes)), random_fragments(rng, lengths)
    final_q, expected = rng.normal(size=(len(lengths), 4)), []

    def q_of(observations):
        return mlp(theta, sizes, observations)

    def close(found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    for part, final in zip(apart(episodes), final_q, strict=True):
        n, dead, r, u = part.steps, bool(part.terminated[0]), part.rewards, part.actions
        q = q_of(np.concatenate([part.observations[1:], part.final_observations]))
        for t in range(n):
            total = sum(GAMMA**k * r[t + k] for k in range(n - t))
            expected.append(total + (0.0 if dead else GAMMA ** (n - t) * max(final)))
        y, has_target = one_step_q(q_of, part, GAMMA)
        assert has_target.all()
        close(y, [r[t] + (0 if dead and t == n - 1 else GAMMA * max(q[t])) for t in range(n)])
        y, has_target = one_step_sarsa(q_of, part, GAMMA)
        close(y, [r[t] + GAMMA * q[t][u[t + 1]] for t in range(n - 1)] + [r[-1]] * dead)
        assert has_target.tolist() == [True] * (n - 1) + [dead]  # a cut step has no next action
    y = n_step_q_targets(episodes.rewards, episodes.last, episodes.terminated_steps, final_q, GAMMA)
    close(y, expected)


@pytest.mark.parametrize("huber", [0.5, 1e6])
def test_the_gradient_is_that_of_the_loss_and_of_several_batches_that_of_each(huber):
    rng, sizes = np.random.default_rng(1), layer_sizes(3, (6, 5), 4)
    theta = rng.normal(size=count_parameters(sizes))
    o, a, y = rng.normal(size=(2, 9, 3)), rng.integers(4, size=(2, 9)), 2 * rng.normal(size=(2, 9))
    weights = rng.integers(2, size=(2, 9)).astype(float)
    g, errors = td_gradient(theta, sizes, o, a, y, weights, huber)

    def loss(theta, i):
        error = mlp(theta, sizes, o[i])[anp.arange(9), a[i]] - y[i]
        quadratic, linear = 0.5 * error**2, huber * (anp.abs(error) - 0.5 * huber)
        return anp.sum(weights[i] * anp.where(anp.abs(error) <= huber, quadratic, linear))

    for i in range(2):
        np.testing.assert_allclose(g[i], grad(loss)(theta, i), rtol=1e-10, atol=1e-10)
        alone, error = td_gradient(theta, sizes, o[i], a[i], y[i], weights[i], huber)
        np.testing.assert_allclose(alone, g[i], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.sum(weights[i] * td_loss(error, huber)), loss(theta, i), rtol=1e-12)
    assert (np.abs(errors) > 0.5).any()


@pytest.mark.parametrize("algorithm", [OneStepQ, NStepQ])
def test_q_of_a_chain_becomes_the_one_that_solves_bellmans_equation(algorithm):
    """One-hot states and no hidden layer: a table."""
    q = made(algorithm, 5, 2, (), discount=GAMMA, step_size=0.02, target_every=200, exploration_steps=1)
    rows, _ = learned(q, chain_transitions(), 1500)
    np.testing.assert_allclose(q.policy.distribution(q.theta, np.eye(5)), chain_q(), atol=1e-3)
    assert (rows[-1]["mean_q"], rows[-1]["td_loss"]) == pytest.approx((chain_q().mean(), 0.0), abs=1e-3)


def test_sarsa_learns_the_values_of_the_policy_that_acts():
    """Always left: Q(s, a) is what follows one right, which is nothing but at the end."""
    q, eye = made(OneStepSarsa, 5, 2, (), discount=GAMMA, step_size=0.05, target_every=200), np.eye(5)
    parts = [fragment(eye[[s, max(s - 1, 0)]], [0, 0], [0, 0], eye[max(s - 2, 0)]) for s in range(5)]
    parts += [fragment(eye[[s, s + 1]], [1, 0], [0, 0], eye[s]) for s in range(4)]
    parts += [fragment(eye[[4]], [1], [1], eye[4], terminated=True)]
    rows, _ = learned(q, parts, 400)
    expected = np.where(np.arange(10).reshape(5, 2) == 9, 1.0, 0.0)
    np.testing.assert_allclose(q.policy.distribution(q.theta, eye), expected, atol=1e-3)
    assert rows[-1]["mean_q"] == pytest.approx(0.1, abs=1e-3), "of 19 steps taken, 10 have a next action; one earns 1"


def test_the_older_copy_is_renewed_and_exploration_wanes_with_the_steps_of_all_actors():
    q = made(NStepQ, target_every=100, exploration_steps=250)
    rows, older = learned(q, apart(random_fragments(np.random.default_rng(3), (5, 7, 8))), 20)
    assert q.steps == 400
    assert [k for k in range(20) if older[k + 1] is not older[k]] == [4, 9, 14, 19]
    assert [row["exploration"] for row in rows] == pytest.approx([max(0, 1 - 20 * k / 250) for k in range(1, 21)])
    assert q.theta[-1] == rows[-1]["exploration"]
    plan = q.plan()
    assert isinstance(plan, Plan)
    assert plan.arrays["target"] is q.target


def test_epsilon_greedy_explores_exactly_as_often_as_it_should():
    """On a grid of both random numbers: 0.3 of the time any of three, else the best."""
    whether, which = (u.ravel() for u in np.meshgrid((np.arange(60) + 0.5) / 60, (np.arange(60) + 0.5) / 60))
    q = np.tile([0.0, 2.0, 1.0], (3600, 1))
    for order in ((whether, which), (which, whether)):
        actions = epsilon_greedy(q, np.full(3600, 0.3), *order)
        np.testing.assert_allclose(np.bincount(actions) / 3600, [0.1, 0.8, 0.1], atol=1e-12)
    assert np.all(epsilon_greedy(q, np.zeros(3600), whether, which) == 1)


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


def test_what_is_no_epsilon_is_refused():
    for text in ("", "x", "-0.1", "1.1", "nan", "0.1:0", "0.1:-1", "0.1,", "0.1:inf", "0.1:1,0.2:0", "0.1;0.2"):
        with pytest.raises(BadInput, match="--final-epsilons"):
            parsed(text)
