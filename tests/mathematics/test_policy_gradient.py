"""Lecture 01: score, policy gradient and surrogate against finite differences and sums by hand."""

import numpy as np
import pytest
from autograd import grad
from fragments import own_samples
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient, score, surrogate

POLICIES = [GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,)), CategoricalPolicy(3, 2, ())]


def slopes(f, theta, h=1e-5):
    return np.array([(f(theta + h * e) - f(theta - h * e)) / (2 * h) for e in np.eye(len(theta))])


@pytest.mark.parametrize("policy", POLICIES)
def test_score_is_the_finite_difference(policy):
    theta, observations, actions, _ = own_samples(policy, 6)
    for o, a in zip(observations, actions, strict=True):

        def log_prob(theta, o=o, a=a):
            return policy.log_prob(policy.distribution(theta, o[None]), np.array([a]))[0]

        np.testing.assert_allclose(score(policy, theta, o, a), slopes(log_prob, theta), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("policy", [GaussianPolicy(3, 1, (4,)), *POLICIES[1:]])
def test_score_has_mean_0_over_the_policys_own_actions(policy):
    """Exactly: over all actions, or by Gauss-Hermite quadrature, as a score is a polynomial in a Gaussian's action."""
    theta, observations, _, _ = own_samples(policy, 6)
    for o in observations:
        dist_params = policy.distribution(theta, o[None])
        if isinstance(policy, GaussianPolicy):
            noise, p = np.polynomial.hermite_e.hermegauss(5)
            actions, p = policy.sample(np.tile(dist_params, (5, 1)), noise[:, None]), p / p.sum()
        else:
            actions = np.arange(policy.action_size)
            p = np.exp(policy.log_prob(np.tile(dist_params, (len(actions), 1)), actions))
        mean = sum(weight * score(policy, theta, o, a) for weight, a in zip(p, actions, strict=True))
        np.testing.assert_allclose(mean, 0.0, atol=1e-13)


@pytest.mark.parametrize("policy", POLICIES)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9))
@settings(max_examples=10)
def test_policy_gradient_is_the_mean_of_scores_times_advantages(policy, seed, n):
    theta, observations, actions, advantages = arrays = own_samples(policy, n, seed)
    before = [array.copy() for array in arrays]
    scores = np.array([score(policy, theta, o, a) for o, a in zip(observations, actions, strict=True)])
    actual = policy_gradient(policy, theta, observations, actions, advantages)
    np.testing.assert_allclose(actual, (scores * advantages[:, None]).mean(0), rtol=1e-10, atol=1e-13)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@pytest.mark.parametrize("policy", POLICIES)
def test_the_surrogate_is_the_mean_advantage_under_the_new_policy_and_begins_with_the_policy_gradient(policy):
    theta, observations, actions, advantages = own_samples(policy, 6)
    old = policy.log_prob(policy.distribution(theta, observations), actions)

    def f(theta):
        return surrogate(policy, policy.distribution(theta, observations), old, actions, advantages)

    elsewhere = theta + 0.3 * np.random.default_rng(1).standard_normal(len(theta))
    new = policy.log_prob(policy.distribution(elsewhere, observations), actions)
    assert f(theta) == pytest.approx(advantages.mean(), abs=1e-14)
    assert f(elsewhere) == pytest.approx(np.mean(np.exp(new) / np.exp(old) * advantages), rel=1e-12)
    g, far = (policy_gradient(policy, t, observations, actions, advantages) for t in (theta, elsewhere))
    np.testing.assert_allclose(grad(f)(theta), g, rtol=1e-10, atol=1e-13)
    assert np.linalg.norm(grad(f)(elsewhere) - far) > 1e-3  # elsewhere the ratios count
