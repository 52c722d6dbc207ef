"""Local models: exact where the world is linear or quadratic, sensible where samples are few."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.guided_policy_search.local_models import (
    conditioned,
    fit_cost,
    fit_dynamics,
    gaussians,
    linearise,
    weighted_cost,
)

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))  # T, n, m, seed


def world(T, n, m, seed, same=False):
    """Return F (T, n, n + m) and f (T, n), stable and the same at every step, or not."""
    rng = np.random.default_rng(seed)
    F, f = rng.standard_normal((T, n, n + m)) / np.sqrt(n + m), rng.standard_normal((T, n))
    return (F[:1] / max(1, np.linalg.norm(F[0], 2)) + 0 * F, f[:1] + 0 * f) if same else (F, f)


def samples(F, f, N, seed, noise=0.0):
    """Return X (N, T + 1, n) and U (N, T, m), from scattered first states and with random controls."""
    rng, (T, n, width) = np.random.default_rng(seed), F.shape
    X, U = np.empty((N, T + 1, n)), rng.standard_normal((N, T, width - n))
    X[:, 0] = rng.standard_normal((N, n))
    for t in range(T):
        X[:, t + 1] = np.concatenate([X[:, t], U[:, t]], axis=1) @ F[t].T + f[t] + noise * rng.standard_normal((N, n))
    return X, U


@settings(max_examples=20)
@given(SHAPES)
def test_enough_samples_without_noise_give_the_matrices_back(shape):
    T, n, m, seed = shape
    F, f = world(T, n, m, seed)
    X, U = samples(F, f, 4 * (n + m) + 1, seed)
    together = [np.corrcoef(np.concatenate([X[:, t], U[:, t]], axis=1).T) for t in range(T)]
    assume(max(np.linalg.cond(correlation) for correlation in together) < 500)  # else the ridge shows
    found = fit_dynamics(X, U, np.ones(U.shape[:2], bool), 1e-9)
    np.testing.assert_allclose(found.F, F, atol=2e-3)
    np.testing.assert_allclose(found.f, f, atol=5e-3)
    assert np.abs(found.D).max() < 1e-4


@settings(max_examples=20)
@given(SHAPES)
def test_with_the_prior_two_samples_are_enough_where_all_steps_are_alike(shape):
    _, n, m, seed = shape
    F, f = world(60, n, m, seed, same=True)
    X, U = samples(F, f, 2, seed)
    found = fit_dynamics(X, U, np.ones(U.shape[:2], bool), 1.0)
    np.testing.assert_allclose(found.F, F, atol=1e-2)


def test_what_is_left_over_is_the_noise():
    F, f = world(3, 2, 1, 0)
    X, U = samples(F, f, 20_000, 0, noise=0.3)
    found = fit_dynamics(X, U, np.ones(U.shape[:2], bool), 1.0)
    np.testing.assert_allclose(found.D, np.tile(0.09 * np.eye(2), (3, 1, 1)), atol=0.005)


def test_steps_that_were_not_taken_do_not_count():
    rng = np.random.default_rng(3)
    Y, alive = rng.standard_normal((5, 6, 2)), np.ones((5, 6), bool)
    alive[3, 4:], alive[1, 2:] = False, False
    other = Y.copy()
    other[~alive] = 1e3
    for a, b in zip(gaussians(Y, alive, 1.0), gaussians(other, alive, 1.0), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    mean, _ = gaussians(Y, alive, 1.0)
    np.testing.assert_allclose(mean[5], Y[[0, 2, 4], 5].mean(axis=0))


def test_a_gaussian_without_a_prior_is_numpys_and_conditioned_it_is_least_squares():
    rng = np.random.default_rng(4)
    Y = rng.standard_normal((50, 1, 5)) @ rng.standard_normal((5, 5))
    mean, cov = gaussians(Y, np.ones((50, 1), bool), 1e-12)
    np.testing.assert_allclose(mean[0], Y[:, 0].mean(axis=0))
    np.testing.assert_allclose(cov[0], np.cov(Y[:, 0].T, bias=True), atol=1e-9)
    F, f, D = conditioned(mean, cov, 3)
    design = np.column_stack([Y[:, 0, :3], np.ones(50)])
    coefficients, residual = np.linalg.lstsq(design, Y[:, 0, 3:], rcond=None)[:2]
    np.testing.assert_allclose(F[0], coefficients[:3].T, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(f[0], coefficients[3], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.diag(D[0]), residual / 50, rtol=1e-3)


def test_a_number_that_never_changes_has_no_slope():
    rng = np.random.default_rng(5)
    Y = rng.standard_normal((20, 3, 3))
    Y[:, :, 1] = 7.0
    Y[:, :, 2] = 2 * Y[:, :, 0] + 1
    F, f, _ = conditioned(*gaussians(Y, np.ones((20, 3), bool), 1.0), 2)
    np.testing.assert_allclose(F, np.tile([[2.0, 0.0]], (3, 1, 1)), atol=1e-5)
    np.testing.assert_allclose(f, 1.0, atol=1e-4)


def test_a_linear_policy_is_found_as_it_is():
    rng = np.random.default_rng(6)
    X, K = rng.standard_normal((12, 4, 3)), rng.standard_normal((2, 3))
    k, std = np.array([0.5, -1.0]), np.array([0.1, 0.4])
    p = linearise(X, X @ K.T + k, std, np.ones((12, 4), bool), 1.0)
    np.testing.assert_allclose(p.K, np.tile(K, (4, 1, 1)), atol=1e-4)
    np.testing.assert_allclose(p.k, np.tile(k, (4, 1)), atol=1e-4)
    np.testing.assert_allclose(p.S, np.tile(np.diag(std**2), (4, 1, 1)), atol=1e-4)


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_a_convex_quadratic_is_found_as_it_is(size, seed):
    """In any units, and far from the origin."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((size, size))
    C, c, e = root @ root.T, rng.standard_normal(size), 3.0
    Z = rng.standard_normal((60, size)) * 10.0 ** rng.integers(-2, 2, size) + rng.standard_normal(size)
    costs = 0.5 * np.einsum("ri,ij,rj->r", Z, C, Z) + Z @ c + e
    found_C, found_c, found_e = fit_cost(Z, costs)
    again = 0.5 * np.einsum("ri,ij,rj->r", Z, found_C, Z) + Z @ found_c + found_e
    np.testing.assert_allclose(again, costs, atol=1e-3 * (1 + np.std(costs)))


def test_a_cost_that_curves_down_becomes_a_plane_and_a_number_that_never_changes_costs_nothing():
    z = np.linspace(0, 1, 50)
    C, c, e = fit_cost(z[:, None], -(z**2))
    assert (C[0, 0], c[0], e) == pytest.approx((0.0, -1.0, 0.5 - np.mean(z**2)), abs=1e-3)
    C, c, _ = fit_cost(np.column_stack([z, np.full(50, 5.0)]), z**2)
    np.testing.assert_allclose(C, np.diag([2.0, 0.0]), atol=1e-3)
    np.testing.assert_allclose(c, 0, atol=1e-3)


def test_a_cost_that_is_told():
    cost = weighted_cost(3, np.array([1.0, 4.0]), 0.5, 1)
    z = np.array([3.0, -2.0, 2.0])
    assert 0.5 * z @ cost.C[2] @ z + cost.c[2] @ z + cost.e[2] == 9 + 16 + 2
