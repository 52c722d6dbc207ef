"""The hand-written gradient of log pi and of the entropy: autograd's of the plain formula, in any company."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from fragments import own_samples
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.natural_gradient import fisher_vector_product, fisher_vector_product_by_hand
from minitrpo.perceptron import mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import LogProbability

QUICK = settings(max_examples=25)
SEEDS = st.integers(0, 2**32 - 1)
POLICIES = [
    kind(d, a, hidden)
    for kind in (GaussianPolicy, CategoricalPolicy)
    for d, a, hidden in ((3, 2, (5,)), (1, 4, ()), (4, 2, (6, 3)))
]


def plain(policy, theta, observations):
    """Return dist_params by the formulas alone, without any derivative written by hand."""
    if isinstance(policy, CategoricalPolicy):
        return mlp(theta, policy.sizes, observations)
    mean = mlp(theta[: -policy.action_size], policy.sizes, observations)
    return anp.concatenate([mean, anp.ones((len(observations), 1)) * theta[-policy.action_size :]], axis=1)


@given(st.sampled_from(POLICIES), SEEDS, st.integers(1, 20), st.sampled_from([0.0, 0.3, -2.0]))
@QUICK
def test_values_are_the_policies_own_and_the_gradient_autograds(policy, seed, n, of_entropy):
    theta, observations, actions, weights = own_samples(policy, n, seed, 0.5)
    at, dist_params = LogProbability(policy, theta, observations, actions), policy.distribution(theta, observations)
    np.testing.assert_allclose(at.log_prob, policy.log_prob(dist_params, actions), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(at.entropy, policy.entropy(dist_params), rtol=1e-10, atol=1e-12)

    def weighted(theta):
        dist_params = plain(policy, theta, observations)
        log_prob = policy.log_prob(dist_params, actions)
        return anp.sum(weights * log_prob) + of_entropy * anp.sum(policy.entropy(dist_params))

    np.testing.assert_allclose(at.weighted_gradient(weights, of_entropy), grad(weighted)(theta), rtol=1e-8, atol=1e-9)


@given(st.sampled_from(POLICIES), SEEDS, st.integers(1, 20))
@QUICK
def test_fisher_products_are_those_of_autograds_tape(policy, seed, n):
    theta, observations, _, _ = own_samples(policy, n, seed, 0.5)
    v = np.random.default_rng(seed).standard_normal(len(theta))
    of_tape = fisher_vector_product(policy, theta, observations, 0.0)(v)
    np.testing.assert_allclose(
        fisher_vector_product_by_hand(policy, theta, observations, 0.0)(v), of_tape, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_several_batches_at_once_are_each_by_itself(policy):
    theta, observations, actions, weights = own_samples(policy, 12)
    three = [array.reshape(3, 4, *array.shape[1:]) for array in (observations, actions, weights)]
    together = LogProbability(policy, theta, three[0], three[1]).weighted_gradient(three[2], 0.1)
    for i in range(3):
        o, a, w = (array[i] for array in three)
        np.testing.assert_allclose(together[i], LogProbability(policy, theta, o, a).weighted_gradient(w, 0.1))


@pytest.mark.parametrize("policy", [GaussianPolicy(3, 2, (8,)), CategoricalPolicy(3, 4, (8,))])
def test_float32_stays_float32_and_close(policy):
    theta, observations, actions, weights = own_samples(policy, 50)
    full = LogProbability(policy, theta, observations, actions).weighted_gradient(weights, 0.1)
    theta, observations, weights = (array.astype(np.float32) for array in (theta, observations, weights))
    at = LogProbability(policy, theta, observations, actions if policy.discrete else actions.astype(np.float32))
    half = at.weighted_gradient(weights, 0.1)
    assert {half.dtype, at.log_prob.dtype, at.entropy.dtype} == {np.dtype(np.float32)}
    np.testing.assert_allclose(half, full, rtol=2e-3, atol=2e-3)
