"""Lecture 02: the Fisher-vector product against the explicit Hessian of the KL and against E[score score']."""

import numpy as np
import pytest
from autograd import hessian
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import score

POLICIES = [
    GaussianPolicy(3, 2, (4,)),
    GaussianPolicy(2, 1, ()),
    CategoricalPolicy(3, 4, (4,)),
    CategoricalPolicy(2, 2, (3, 3)),
]
QUICK = settings(max_examples=15, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def case(policy, n=7, seed=0):
    """Return theta and observations."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    return theta + 0.5 * rng.standard_normal(len(theta)), rng.standard_normal((n, policy.observation_size))


def dense(policy, theta, observations, damping=0.0):
    """Return the matrix whose products are those of fisher_vector_product, column by column."""
    product = fisher_vector_product(policy, theta, observations, damping)
    return np.array([product(e) for e in np.eye(len(theta))]).T


@pytest.mark.parametrize("policy", POLICIES)
def test_fisher_is_the_hessian_of_the_mean_kl(policy):
    theta, observations = case(policy)
    old = policy.distribution(theta, observations)
    explicit = hessian(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))(theta)
    np.testing.assert_allclose(dense(policy, theta, observations), explicit, atol=1e-10)


@pytest.mark.parametrize("policy", [p for p in POLICIES if isinstance(p, CategoricalPolicy)])
def test_fisher_is_the_mean_square_of_the_score(policy):
    """F = E[score score'], exactly: the sum over all actions, weighted by their probability."""
    theta, observations = case(policy)
    expected = np.zeros((len(theta), len(theta)))
    for o, logits in zip(observations, policy.distribution(theta, observations), strict=True):
        p = np.exp(logits) / np.exp(logits).sum()
        for action in range(policy.action_size):
            s = score(policy, theta, o, action)
            expected += p[action] * np.outer(s, s) / len(observations)
    np.testing.assert_allclose(dense(policy, theta, observations), expected, atol=1e-12)


def test_fisher_is_the_mean_square_of_the_score_of_a_gaussian():
    """The same by Gauss-Hermite quadrature, exact for the polynomial of degree 4 that score score' is."""
    policy = POLICIES[1]
    theta, observations = case(policy)
    x, weights = np.polynomial.hermite_e.hermegauss(6)
    expected = np.zeros((len(theta), len(theta)))
    for o in observations:
        actions = policy.sample(np.tile(policy.distribution(theta, o[None]), (6, 1)), x[:, None])
        for weight, action in zip(weights / weights.sum(), actions, strict=True):
            s = score(policy, theta, o, action)
            expected += weight * np.outer(s, s) / len(observations)
    np.testing.assert_allclose(dense(policy, theta, observations), expected, atol=1e-10)


@pytest.mark.parametrize("policy", POLICIES)
@given(seed=SEEDS, n=st.integers(1, 6))
@QUICK
def test_fisher_is_symmetric_and_positive_semi_definite(policy, seed, n):
    theta, observations = case(policy, n, seed)
    f = dense(policy, theta, observations)
    size = np.abs(f).max()
    np.testing.assert_allclose(f, f.T, atol=1e-12 * size)
    assert np.linalg.eigvalsh(f).min() > -1e-12 * size * len(f)


@pytest.mark.parametrize("policy", POLICIES)
def test_product_is_linear_and_damping_adds_damping_times_v(policy):
    theta, observations = case(policy)
    u, v = np.random.default_rng(1).standard_normal((2, len(theta)))
    plain, damped = (fisher_vector_product(policy, theta, observations, damping) for damping in (0.0, 0.3))
    np.testing.assert_allclose(plain(2 * u - 3 * v), 2 * plain(u) - 3 * plain(v), atol=1e-11)
    np.testing.assert_allclose(damped(v), plain(v) + 0.3 * v, atol=1e-13)
    assert np.array_equal(plain(u), plain(u))  # a tape may be replayed
    assert np.array_equal(plain(np.zeros_like(u)), np.zeros_like(u))


@pytest.mark.parametrize("policy", POLICIES)
def test_half_v_f_v_is_the_kl_of_a_small_step(policy):
    theta, observations = case(policy)
    v = np.random.default_rng(2).standard_normal(len(theta))
    old, h = policy.distribution(theta, observations), 1e-4
    kl = mean_kl(policy, old, policy.distribution(theta + h * v, observations))
    predicted = 0.5 * h**2 * (v @ fisher_vector_product(policy, theta, observations, 0.0)(v))
    assert kl == pytest.approx(predicted, rel=2e-3)


@pytest.mark.parametrize("fraction", [1.0, 0.9, 0.5, 0.35, 0.1, 1e-9])
def test_every_kth_is_that_fraction_of_the_rows_evenly_spread(fraction):
    rows = np.arange(3000.0).reshape(1000, 3)
    chosen = every_kth(rows, fraction)[:, 0] / 3
    assert len(chosen) == pytest.approx(max(1, 1000 * fraction), abs=1)
    assert chosen[0] == 0
    gaps = np.diff(chosen)
    assert len(gaps) == 0 or (gaps.min() >= 1 and gaps.max() - gaps.min() <= 1)


@pytest.mark.parametrize(
    ("rows", "fraction", "chosen"),
    [
        (10, 0.24, [0, 5]),  # the nearest number of rows, not the next above or below
        (10, 0.26, [0, 3, 6]),
        (10, 0.3, [0, 3, 6]),
        (10, 0.16, [0, 5]),
        (10, 0.14, [0]),
        (10, 0.001, [0]),  # at least one
        (3, 0.1, [0]),
        (4, 1.0, [0, 1, 2, 3]),
        (4, 2.5, [0, 1, 2, 3]),  # and at most all, each once
        (0, 0.5, []),
    ],
)
def test_every_kth_by_hand(rows, fraction, chosen):
    assert every_kth(np.arange(float(rows))[:, None], fraction)[:, 0].tolist() == chosen


@pytest.mark.parametrize("policy", POLICIES)
def test_mean_kl_is_the_mean_over_states(policy):
    theta, observations = case(policy)
    old, new = (policy.distribution(theta + d, observations) for d in (0.0, np.linspace(0, 1, len(theta))))
    expected = sum(policy.kl(old[i : i + 1], new[i : i + 1])[0] for i in range(len(old))) / len(old)
    assert mean_kl(policy, old, new) == pytest.approx(expected, rel=1e-12)
    assert mean_kl(policy, old, new) != pytest.approx(mean_kl(policy, new, old), rel=1e-3)  # the order counts


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_is_modified_and_later_changes_are_not_seen(policy):
    theta, observations = case(policy)
    v = np.ones(len(theta))
    before = theta.copy(), observations.copy(), v.copy()
    product = fisher_vector_product(policy, theta, observations, 0.1)
    first = product(v)
    kept = first.copy()
    product(2 * v)
    assert np.array_equal(first, kept)
    assert all(np.array_equal(a, b) for a, b in zip((theta, observations, v), before, strict=True))
