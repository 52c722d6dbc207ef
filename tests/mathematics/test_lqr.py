"""LQR against Riccati, brute force and scipy; its KL against sampled trajectories; the limit against its promise."""

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.guided_policy_search.lqr import (
    CLOSE,
    Controller,
    Cost,
    Dynamics,
    backward,
    expected_costs,
    forward,
    kl,
    kl_limited,
)
from minitrpo.experience.linear_quadratic import A, B, LinearQuadratic, Q, R, best_return, riccati

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 4), st.integers(0, 10**6))  # T, n, m, seed


def definite(rng, *shape):
    """Return random positive definite matrices."""
    a = rng.standard_normal((*shape, shape[-1]))
    return a @ a.swapaxes(-1, -2) / shape[-1] + 0.3 * np.eye(shape[-1])


def problem(T, n, m, seed):
    """Return random dynamics and cost, a controller, and the first state's mean and covariance."""
    rng = np.random.default_rng(seed)
    dynamics = Dynamics(
        0.6 * rng.standard_normal((T, n, n + m)), rng.standard_normal((T, n)), 0.1 * definite(rng, T, n)
    )
    cost = Cost(definite(rng, T, n + m), rng.standard_normal((T, n + m)), rng.standard_normal(T))
    pbar = Controller(0.5 * rng.standard_normal((T, m, n)), rng.standard_normal((T, m)), definite(rng, T, m))
    return dynamics, cost, pbar, rng.standard_normal(n), 0.2 * definite(rng, n)


def puck(T):
    """Return the linear-quadratic environment's dynamics and cost over T steps."""
    F, C = np.concatenate([A, B], axis=1), scipy.linalg.block_diag(2 * Q, 2 * R)
    dynamics = Dynamics(np.tile(F, (T, 1, 1)), np.zeros((T, 4)), np.zeros((T, 4, 4)))
    return dynamics, Cost(np.tile(C, (T, 1, 1)), np.zeros((T, 6)), np.zeros(T))


def test_gains_are_riccatis_and_far_from_the_end_those_of_the_algebraic_equation():
    p, (K, V) = backward(*puck(200)), riccati(200)
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    np.testing.assert_allclose(p.K[0], -np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), rtol=0, atol=1e-9)
    np.testing.assert_allclose(p.K, -K, atol=1e-12)
    assert not p.k.any()
    assert not p.S.any()
    x0 = np.array([0.3, -1.0, 0.5, 0.8])
    at = forward(puck(200)[0], p, x0, np.zeros((4, 4)))
    assert expected_costs(puck(200)[1], at).sum() == pytest.approx(x0 @ V[0] @ x0, rel=1e-12)


def test_the_environment_does_what_its_matrices_say():
    env, total = LinearQuadratic(), 0.0
    x0, _ = env.reset(seed=3)
    K, _ = riccati()
    x = x0
    for t in range(50):
        x, reward, terminated, truncated, _ = env.step(-K[t] @ x)
        total += reward
    assert total == pytest.approx(best_return(x0), rel=1e-12)
    assert not terminated
    assert not truncated
    assert not np.array_equal(x0, env.reset(seed=4)[0])


@settings(max_examples=15)
@given(SHAPES, st.floats(0.05, 5.0), st.booleans())
def test_no_other_controller_has_less_cost_and_kl(shape, eta, free):
    """E_p[cost] + eta KL(p || pbar) rises whichever way the controller is changed; free: without a KL and noise."""
    dynamics, cost, pbar, mu0, Sigma0 = problem(*shape)

    def objective(p):
        at = forward(dynamics, p, mu0, Sigma0)
        return expected_costs(cost, at).sum() + (0.0 if free else eta * kl(p, pbar, at))

    best = backward(dynamics, cost) if free else backward(dynamics, cost, pbar, eta)
    rng = np.random.default_rng(shape[3])
    least = objective(best)
    for _ in range(5):
        m = best.k.shape[1]
        shrink = np.eye(m) + 0.1 * definite(rng, m)
        S = shrink @ best.S @ shrink.T
        other = Controller(
            best.K + 0.1 * rng.standard_normal(best.K.shape), best.k + 0.1 * rng.standard_normal(best.k.shape), S
        )
        assert objective(other) > least


def sampled(dynamics, p, pbar, mu0, Sigma0, N, seed):
    """Return z (N, T, n + m) of trajectories drawn step by step, and log p(u | x) - log pbar(u | x), (N,)."""
    rng, (T, m, n) = np.random.default_rng(seed), p.K.shape
    x, Z, log_ratio = rng.multivariate_normal(mu0, Sigma0, N), np.empty((N, T, n + m)), np.zeros(N)
    for t in range(T):
        u = x @ p.K[t].T + p.k[t] + rng.multivariate_normal(np.zeros(m), p.S[t], N)
        for q, sign in ((p, 1), (pbar, -1)):
            log_ratio += sign * scipy.stats.multivariate_normal(cov=q.S[t]).logpdf(u - x @ q.K[t].T - q.k[t])
        Z[:, t] = np.concatenate([x, u], axis=1)
        x = Z[:, t] @ dynamics.F[t].T + dynamics.f[t] + rng.multivariate_normal(np.zeros(n), dynamics.D[t], N)
    return Z, log_ratio


@pytest.mark.parametrize(("T", "n", "m", "seed"), [(4, 2, 1, 0), (3, 3, 2, 1)])
def test_means_costs_and_kl_are_those_of_sampled_trajectories(T, n, m, seed):
    """Monte Carlo, 40,000 trajectories: everything within 5 standard errors."""
    dynamics, cost, pbar, mu0, Sigma0 = problem(T, n, m, seed)
    p = backward(dynamics, cost, pbar, 1.0)
    at = forward(dynamics, p, mu0, Sigma0)
    Z, log_ratio = sampled(dynamics, p, pbar, mu0, Sigma0, 40_000, seed)

    def agree(samples, expected):
        error = samples.std(axis=0) / np.sqrt(len(samples))
        assert np.all(np.abs(samples.mean(axis=0) - expected) < 5 * error)

    agree(Z, at.mu)
    apart = Z - at.mu
    agree(apart[:, :, :, None] * apart[:, :, None, :], at.Sigma)
    costs = 0.5 * np.einsum("nti,tij,ntj->nt", Z, cost.C, Z) + np.einsum("ti,nti->nt", cost.c, Z) + cost.e
    agree(costs, expected_costs(cost, at))
    agree(log_ratio, kl(p, pbar, at))


@settings(max_examples=20)
@given(SHAPES, st.floats(1e-3, 5.0), st.floats(1e-6, 1e6))
def test_the_limit_is_kept_and_used(shape, per_number, begin):
    dynamics, cost, pbar, mu0, Sigma0 = problem(*shape)
    limit = per_number * pbar.k.size
    found = kl_limited(dynamics, cost, pbar, mu0, Sigma0, limit, begin)
    assert CLOSE * limit <= found.kl <= limit
    assert CLOSE >= 0.9
    assert found.kl == kl(found.p, pbar, forward(dynamics, found.p, mu0, Sigma0))
    np.testing.assert_array_equal(found.p.K, backward(dynamics, cost, pbar, found.eta).K)


@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e300])
def test_where_numbers_fail_nothing_changes(strange):
    dynamics, cost, pbar, mu0, Sigma0 = problem(4, 2, 1, 0)
    dynamics.F[1] = strange
    with np.errstate(over="ignore", invalid="ignore"):
        found = kl_limited(dynamics, cost, pbar, mu0, Sigma0, 1.0)
    assert found.p is pbar
    assert (found.kl, found.eta) == (0.0, 1.0)
