"""Lecture 01: score, policy gradient and surrogate against finite differences and sums by hand."""

import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient, score, surrogate

POLICIES = [GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,)), CategoricalPolicy(3, 2, ())]
QUICK = settings(max_examples=15, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def case(policy, n=6, seed=0):
    """Return theta, observations, actions and advantages."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    theta += 0.5 * rng.standard_normal(len(theta))
    observations = rng.standard_normal((n, 3))
    actions = policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, n))
    return theta, observations, actions, rng.standard_normal(n)


def slopes(f, theta, h=1e-5):
    return np.array([(f(theta + h * e) - f(theta - h * e)) / (2 * h) for e in np.eye(len(theta))])


def scores(policy, theta, observations, actions):
    return np.array([score(policy, theta, o, a) for o, a in zip(observations, actions, strict=True)])


@pytest.mark.parametrize("policy", POLICIES)
def test_score_is_the_finite_difference(policy):
    theta, observations, actions, _ = case(policy)
    for o, a in zip(observations, actions, strict=True):

        def log_prob(theta, o=o, a=a):
            return policy.log_prob(policy.distribution(theta, o[None]), np.array([a]))[0]

        np.testing.assert_allclose(score(policy, theta, o, a), slopes(log_prob, theta), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_score_of_a_categorical_policy_has_mean_exactly_0(policy):
    theta, observations, _, _ = case(policy)
    for o in observations:
        dist_params = np.tile(policy.distribution(theta, o[None]), (policy.action_size, 1))
        actions = np.arange(policy.action_size)
        p = np.exp(policy.log_prob(dist_params, actions))
        mean = sum(p[a] * score(policy, theta, o, a) for a in actions)
        np.testing.assert_allclose(mean, 0.0, atol=1e-14)


def test_score_of_a_gaussian_policy_has_mean_0():
    """Gauss-Hermite quadrature: exact, as the score is a polynomial of degree 2 in the action."""
    policy = GaussianPolicy(3, 1, (4,))
    theta, observations, _, _ = case(policy, n=2)
    x, w = np.polynomial.hermite_e.hermegauss(5)
    for o in observations:
        actions = policy.sample(np.tile(policy.distribution(theta, o[None]), (5, 1)), x[:, None])
        mean = sum(weight * score(policy, theta, o, a) for weight, a in zip(w / w.sum(), actions, strict=True))
        np.testing.assert_allclose(mean, 0.0, atol=1e-13)


@pytest.mark.parametrize("policy", POLICIES)
@given(seed=SEEDS, n=st.integers(1, 9))
@QUICK
def test_policy_gradient_is_the_mean_of_scores_times_advantages(policy, seed, n):
    theta, observations, actions, advantages = case(policy, n, seed)
    expected = (scores(policy, theta, observations, actions) * advantages[:, None]).mean(0)
    actual = policy_gradient(policy, theta, observations, actions, advantages)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_baseline_subtracts_the_mean_score(policy):
    """Linear in the advantages: a constant c changes the sample gradient by c times the mean score, no more."""
    theta, observations, actions, advantages = case(policy)
    with_baseline = policy_gradient(policy, theta, observations, actions, advantages - 5.0)
    expected = policy_gradient(policy, theta, observations, actions, advantages)
    expected -= 5.0 * scores(policy, theta, observations, actions).mean(0)
    np.testing.assert_allclose(with_baseline, expected, rtol=1e-10, atol=1e-12)


def test_a_baseline_changes_nothing_in_expectation():
    """All actions, weighted by their probability: the gradient of E[A] with and without a baseline is the same."""
    policy = POLICIES[1]
    theta, observations, _, _ = case(policy, n=1)
    dist_params = np.tile(policy.distribution(theta, observations), (4, 1))
    actions, advantages = np.arange(4), np.array([1.0, -2.0, 0.5, 3.0])
    p = 4 * np.exp(policy.log_prob(dist_params, actions))  # 4: policy_gradient takes the mean over 4 rows
    everywhere = np.tile(observations, (4, 1))
    without, with_ = (policy_gradient(policy, theta, everywhere, actions, p * (advantages - b)) for b in (0.0, 7.0))
    np.testing.assert_allclose(with_, without, atol=1e-12)

    def expected_advantage(theta):
        dist_params = np.tile(policy.distribution(theta, observations), (4, 1))
        return np.exp(policy.log_prob(dist_params, actions)) @ advantages

    np.testing.assert_allclose(without, slopes(expected_advantage, theta), rtol=1e-5, atol=1e-8)


def surrogate_of(policy, theta_old, observations, actions, advantages):
    old = policy.log_prob(policy.distribution(theta_old, observations), actions)
    return lambda theta: surrogate(policy, policy.distribution(theta, observations), old, actions, advantages)


@pytest.mark.parametrize("policy", POLICIES)
def test_surrogate_at_the_old_policy(policy):
    """Its value there is the mean advantage, and its gradient is the policy gradient; elsewhere neither holds."""
    theta, observations, actions, advantages = case(policy)
    f = surrogate_of(policy, theta, observations, actions, advantages)
    assert f(theta) == pytest.approx(advantages.mean(), abs=1e-14)
    g = policy_gradient(policy, theta, observations, actions, advantages)
    np.testing.assert_allclose(grad(f)(theta), g, rtol=1e-10, atol=1e-13)
    elsewhere = theta + 0.3 * np.random.default_rng(1).standard_normal(len(theta))
    g = policy_gradient(policy, elsewhere, observations, actions, advantages)
    assert np.linalg.norm(grad(f)(elsewhere) - g) > 1e-3


def test_surrogate_by_hand():
    """Two states, two actions: logits 0, 0 make both 1/2; logits ln 3, 0 make them 3/4 and 1/4."""
    policy, dist_params = CategoricalPolicy(1, 2, ()), np.array([[np.log(3.0), 0.0], [np.log(3.0), 0.0]])
    value = surrogate(policy, dist_params, np.log([0.5, 0.5]), np.array([0, 1]), np.array([2.0, -4.0]))
    assert value == pytest.approx((0.75 / 0.5 * 2.0 + 0.25 / 0.5 * -4.0) / 2)


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_is_modified(policy):
    arrays = case(policy)
    before = [array.copy() for array in arrays]
    policy_gradient(policy, *arrays)
    score(policy, arrays[0], arrays[1][0], arrays[2][0])
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))
