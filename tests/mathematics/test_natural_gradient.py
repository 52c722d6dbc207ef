"""Lecture 02: the Fisher-vector product against the explicit Hessian of the KL and against E[score score']."""

import numpy as np
import pytest
from autograd import hessian
from fragments import own_samples

from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import score

POLICIES = [
    GaussianPolicy(3, 2, (4,)),
    GaussianPolicy(2, 1, ()),
    CategoricalPolicy(3, 4, (4,)),
    CategoricalPolicy(2, 2, (3, 3)),
]


def dense(policy, theta, observations, damping=0.0):
    """Return the matrix whose products are those of fisher_vector_product, column by column."""
    product = fisher_vector_product(policy, theta, observations, damping)
    return np.array([product(e) for e in np.eye(len(theta))]).T


@pytest.mark.parametrize("policy", POLICIES)
def test_fisher_is_the_hessian_of_the_mean_kl_and_damping_adds_to_its_diagonal(policy):
    theta, observations = own_samples(policy, 7)[:2]
    old = policy.distribution(theta, observations)
    explicit = hessian(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))(theta)
    np.testing.assert_allclose(dense(policy, theta, observations), explicit, atol=1e-10)
    damped = explicit + 0.3 * np.eye(len(theta))
    np.testing.assert_allclose(dense(policy, theta, observations, 0.3), damped, atol=1e-10)
    assert np.linalg.eigvalsh(explicit).min() > -1e-12 * np.abs(explicit).max() * len(explicit)


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_fisher_is_the_mean_square_of_the_score(policy):
    """F = E[score score'], exactly: over all actions, or by quadrature of the polynomial of degree 4 that it is."""
    theta, observations = own_samples(policy, 7)[:2]
    expected = np.zeros((len(theta), len(theta)))
    for o in observations:
        dist_params = policy.distribution(theta, o[None])
        if isinstance(policy, GaussianPolicy):
            noise, p = np.polynomial.hermite_e.hermegauss(6)
            actions, p = policy.sample(np.tile(dist_params, (6, 1)), noise[:, None]), p / p.sum()
        else:
            actions, p = np.arange(policy.action_size), np.exp(dist_params[0]) / np.exp(dist_params[0]).sum()
        for weight, action in zip(p, actions, strict=True):
            s = score(policy, theta, o, action)
            expected += weight * np.outer(s, s) / len(observations)
    np.testing.assert_allclose(dense(policy, theta, observations), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("rows", "fraction", "chosen"),
    [
        (10, 0.24, [0, 5]),  # the nearest number of rows, not the next above or below
        (10, 0.26, [0, 3, 6]),
        (10, 0.001, [0]),  # at least one
        (4, 2.5, [0, 1, 2, 3]),  # and at most all, each once
        (0, 0.5, []),
    ],
)
def test_every_kth_is_that_fraction_of_the_rows_evenly_spread(rows, fraction, chosen):
    assert every_kth(np.arange(float(rows))[:, None], fraction)[:, 0].tolist() == chosen
    for part in (1.0, 0.9, 0.35, 0.1):
        gaps = np.diff(every_kth(np.arange(1000.0)[:, None], part)[:, 0])
        assert len(gaps) + 1 == round(1000 * part)
        assert gaps.min() >= 1
        assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("policy", POLICIES)
def test_mean_kl_is_the_mean_over_states_from_old_to_new(policy):
    theta, observations = own_samples(policy, 7)[:2]
    old, new = (policy.distribution(theta + d, observations) for d in (0.0, np.linspace(0, 1, len(theta))))
    expected = sum(policy.kl(old[i : i + 1], new[i : i + 1])[0] for i in range(len(old))) / len(old)
    assert mean_kl(policy, old, new) == pytest.approx(expected, rel=1e-12)
    assert mean_kl(policy, old, new) != pytest.approx(mean_kl(policy, new, old), rel=1e-5)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_tape_may_be_replayed_and_nothing_is_modified(policy):
    theta, observations = own_samples(policy, 7)[:2]
    v = np.ones(len(theta))
    before = theta.copy(), observations.copy(), v.copy()
    product = fisher_vector_product(policy, theta, observations, 0.1)
    first = product(v)
    kept = first.copy()
    product(2 * v)
    assert np.array_equal(first, kept)
    assert np.array_equal(product(v), kept)
    assert all(np.array_equal(a, b) for a, b in zip((theta, observations, v), before, strict=True))
