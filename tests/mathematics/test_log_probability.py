"""The hand-written gradient of log pi and of the entropy: autograd's, and finite differences of the plain formula."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from minitrpo.log_probability import CategoricalHead, LogProbability
from minitrpo.perceptron import mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy

QUICK = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
POLICIES = st.sampled_from(
    [kind(d, a, hidden) for kind in (GaussianPolicy, CategoricalPolicy) for d, a, hidden in ((3, 2, (5,)), (1, 4, ()))]
    + [GaussianPolicy(4, 1, (6, 3)), CategoricalPolicy(4, 2, (6, 3))]
)


def data(policy, seed, n):
    """Return theta, observations, actions and weights; nothing about them is small or alike."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    theta = theta + 0.5 * rng.standard_normal(len(theta))
    observations = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, n))
    return theta, observations, actions, rng.standard_normal(n)


def plain(policy, theta, observations):
    """Return dist_params by the formulas alone, without any derivative written by hand."""
    if isinstance(policy, CategoricalPolicy):
        return mlp(theta, policy.sizes, observations)
    mean = mlp(theta[: -policy.action_size], policy.sizes, observations)
    return anp.concatenate([mean, anp.ones((len(observations), 1)) * theta[-policy.action_size :]], axis=1)


@given(POLICIES, SEEDS, st.integers(1, 20))
@QUICK
def test_values_are_the_policies_own(policy, seed, n):
    theta, observations, actions, _ = data(policy, seed, n)
    at, dist_params = LogProbability(policy, theta, observations, actions), policy.distribution(theta, observations)
    np.testing.assert_allclose(at.log_prob, policy.log_prob(dist_params, actions), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(at.entropy, policy.entropy(dist_params), rtol=1e-10, atol=1e-12)


@given(POLICIES, SEEDS, st.integers(1, 20), st.sampled_from([0.0, 0.3, -2.0]))
@QUICK
def test_gradient_is_autograds_and_the_finite_difference(policy, seed, n, of_entropy):
    theta, observations, actions, weights = data(policy, seed, n)

    def weighted(theta):
        dist_params = plain(policy, theta, observations)
        log_prob = policy.log_prob(dist_params, actions)
        return anp.sum(weights * log_prob) + of_entropy * anp.sum(policy.entropy(dist_params))

    gradient = LogProbability(policy, theta, observations, actions).weighted_gradient(weights, of_entropy)
    np.testing.assert_allclose(gradient, grad(weighted)(theta), rtol=1e-8, atol=1e-9)
    h = 1e-6
    for i in np.random.default_rng(seed).choice(len(theta), 4):
        e = h * (np.arange(len(theta)) == i)
        slope = (weighted(theta + e) - weighted(theta - e)) / (2 * h)
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-5)


@given(POLICIES, SEEDS)
@QUICK
def test_several_batches_at_once_are_each_by_itself(policy, seed):
    theta, observations, actions, weights = data(policy, seed, 12)
    three = [array.reshape(3, 4, *array.shape[1:]) for array in (observations, actions, weights)]
    together = LogProbability(policy, theta, three[0], three[1]).weighted_gradient(three[2], 0.1)
    for i in range(3):
        o, a, w = (array[i] for array in three)
        np.testing.assert_allclose(together[i], LogProbability(policy, theta, o, a).weighted_gradient(w, 0.1))


@pytest.mark.parametrize("policy", [GaussianPolicy(3, 2, (8,)), CategoricalPolicy(3, 4, (8,))])
def test_float32_stays_float32_and_close(policy):
    theta, observations, actions, weights = data(policy, 1, 50)
    full = LogProbability(policy, theta, observations, actions).weighted_gradient(weights, 0.1)
    given_half = [array.astype(np.float32) for array in (theta, observations, weights)]
    few = actions if actions.dtype.kind == "i" else actions.astype(np.float32)
    at = LogProbability(policy, given_half[0], given_half[1], few)
    half = at.weighted_gradient(given_half[2], 0.1)
    assert {half.dtype, at.log_prob.dtype, at.entropy.dtype} == {np.dtype(np.float32)}
    np.testing.assert_allclose(half, full, rtol=2e-3, atol=2e-3)


@given(POLICIES, SEEDS)
@QUICK
def test_the_score_has_mean_zero_over_actions(policy, seed):
    """E[psi] = 0: why a baseline does not bias. Exact over all actions, or within what sampling leaves."""
    theta, observations, _, _ = data(policy, seed, 1)
    if isinstance(policy, CategoricalPolicy):
        actions = np.arange(policy.action_size)
        p = np.exp(policy.log_prob(policy.distribution(theta, np.repeat(observations, len(actions), 0)), actions))
        mean = LogProbability(policy, theta, np.repeat(observations, len(actions), 0), actions).weighted_gradient(p)
        np.testing.assert_allclose(mean, 0, atol=1e-12)
        return
    n = 4000
    many = np.repeat(observations, n, axis=0)
    noise = policy.draw_noise(np.random.default_rng(seed), n // 2)
    dist_params = policy.distribution(theta, many)
    actions = policy.sample(dist_params, np.concatenate([noise, -noise]))  # antithetic: odd moments vanish exactly
    one = LogProbability(policy, theta, many, actions)
    mean = one.weighted_gradient(np.full(n, 1 / n))
    of_mean = mean[: -policy.action_size]
    np.testing.assert_allclose(of_mean, 0, atol=1e-9)
    np.testing.assert_allclose(mean[-policy.action_size :], 0, atol=6 * np.sqrt(2 / (n // 2)))


@given(SEEDS, st.floats(1, 1e4))
@QUICK
def test_no_size_of_the_logits_overflows(seed, size):
    rng = np.random.default_rng(seed)
    logits, actions = size * rng.standard_normal((3, 5, 4)), rng.integers(0, 4, (3, 5))
    with np.errstate(over="raise", invalid="raise"):
        head = CategoricalHead(logits, actions)
    np.testing.assert_allclose(head.p, special.softmax(logits, axis=-1), rtol=1e-12, atol=1e-300)
