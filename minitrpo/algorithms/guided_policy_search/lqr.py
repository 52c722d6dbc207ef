"""Lecture 14: the linear-quadratic regulator with Gaussian controllers, free or kept near another controller by a KL.

A problem of T steps, with states x (n,), controls u (m,) and z = [x; u], has at every step t

    dynamics    x' ~ N(F_t z + f_t, D_t)
    cost        1/2 z'C_t z + c_t'z + e_t
    controller  u ~ N(K_t x + k_t, S_t)

Every array has a row for each step. Indices x and u cut a matrix over z into its blocks: C_xx, C_xu, C_ux, C_uu.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.policies import Array

ETA_LIMITS = (1e-12, 1e16)  # between which a multiplier is sought
CLOSE = 0.9  # of the KL limit, from which on a controller is taken


@dataclass(frozen=True)
class Dynamics:
    """x' ~ N(F z + f, D): F (T, n, n + m), f (T, n), D (T, n, n)."""

    F: Array
    f: Array
    D: Array


@dataclass(frozen=True)
class Cost:
    """1/2 z'C z + c'z + e: C (T, n + m, n + m), symmetric and positive semi-definite, c (T, n + m), e (T,)."""

    C: Array
    c: Array
    e: Array


@dataclass(frozen=True)
class Controller:
    """u ~ N(K x + k, S): K (T, m, n), k (T, m), S (T, m, m)."""

    K: Array
    k: Array
    S: Array


@dataclass(frozen=True)
class Trajectory:
    """The distribution of z at every step: mean mu (T, n + m), covariance Sigma (T, n + m, n + m)."""

    mu: Array
    Sigma: Array


def step_back(C: Array, c: Array, F: Array, f: Array, V: Array, v: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return the best controls of one step, u = K x + k, and the cost to go with them.

    The step costs 1/2 z'C z + c'z, and leads to x' = F z + f, from where 1/2 x'V x + v'x is still to be paid, constants
    left out.

    Args:
        C: (n + m, n + m), symmetric.
        c: (n + m,).
        F: (n, n + m).
        f: (n,).
        V: (n, n), symmetric.
        v: (n,).

    Returns:
        K (m, n), k (m,), the inverse of H_uu (m, m), which says how little the cost minds another u, and of the cost to
        go before the step V (n, n), exactly symmetric, and v (n,).

    Raises:
        LinAlgError: if H_uu is singular.

    """
    n = len(V)
    # 1. what the step costs, and the state it leads to, as a quadratic in z: 1/2 z'H z + h'z
    H = C + F.T @ V @ F
    h = c + F.T @ (v + V @ f)
    # 2. the u where the derivative vanishes is linear in x: H_ux x + H_uu u + h_u = 0
    inverse = np.linalg.inv(H[n:, n:])
    K, k = -inverse @ H[n:, :n], -inverse @ h[n:]
    # 3. the cost to go: that quadratic with this u put in; V symmetric, whatever was rounded
    V, v = H[:n, :n] + H[:n, n:] @ K, h[:n] + H[:n, n:] @ k
    return K, k, inverse, (V + V.T) / 2, v


def backward(dynamics: Dynamics, cost: Cost, pbar: Controller | None = None, eta: float = 0.0) -> Controller:
    """Return the controller p that minimises E_p[cost] + eta KL(p || pbar) over all steps.

    Dynamic programming: with the cost to go V_t(x) = 1/2 x'V_t x + v_t'x + const, and V_T = 0,

        H_t = C_t + F_t'V_{t+1} F_t + eta G_t'P_t G_t         G_t = [-Kbar_t, I],  P_t = Sbar_t^-1
        h_t = c_t + F_t'(v_{t+1} + V_{t+1} f_t) - eta G_t'P_t kbar_t
        K_t = -H_uu^-1 H_ux     k_t = -H_uu^-1 h_u     S_t = eta H_uu^-1
        V_t = H_xx + H_xu K_t   v_t = h_x + H_xu k_t

    With eta = 0 this is the Riccati recursion, and the controller has no noise.

    Args:
        dynamics: of T steps.
        cost: of the same steps.
        pbar: the controller to stay near; None with eta = 0.
        eta: the weight of the KL.

    Returns:
        The controller p.

    Raises:
        LinAlgError: if an H_uu is singular.

    Source: Levine & Abbeel 2014; Riccati's equation for eta = 0.

    """
    T, n, width = dynamics.F.shape
    m = width - n
    K, k, S = np.empty((T, m, n)), np.empty((T, m)), np.empty((T, m, m))
    C, c = (cost.C, cost.c) if pbar is None else with_kl(cost, pbar, eta)
    V, v = np.zeros((n, n)), np.zeros(n)
    for t in reversed(range(T)):
        K[t], k[t], inverse, V, v = step_back(C[t], c[t], dynamics.F[t], dynamics.f[t], V, v)
        S[t] = eta * inverse
    return Controller(K, k, (S + S.swapaxes(1, 2)) / 2)


def with_kl(cost: Cost, pbar: Controller, eta: float) -> tuple[Array, Array]:
    """Return C and c of a cost to which eta KL(p || pbar) is added, for all steps.

    The part of that KL which depends on u is eta/2 (u - Kbar x - kbar)' P (u - Kbar x - kbar), with P = Sbar^-1. In
    z = [x; u] the difference is G z - kbar, with G = [-Kbar, I]; so C gains eta G'P G, and c loses eta G'P kbar.

    Args:
        cost: cost.C is (T, n + m, n + m), cost.c (T, n + m).
        pbar: pbar.K is (T, m, n), pbar.k (T, m), pbar.S = Sbar (T, m, m).
        eta: the weight of the KL.

    Returns:
        C (T, n + m, n + m) and c (T, n + m).

    """
    T, m, _ = pbar.K.shape
    # 1. G for all steps: (T, m, n + m)
    G = np.concatenate([-pbar.K, np.broadcast_to(np.eye(m), (T, m, m))], axis=2)
    # 2. what the square of G z - kbar, weighted with P, has of z z and of z
    GP = G.swapaxes(1, 2) @ np.linalg.inv(pbar.S)
    return cost.C + eta * GP @ G, cost.c - eta * (GP @ pbar.k[:, :, None])[:, :, 0]


def forward(dynamics: Dynamics, p: Controller, mu0: Array, Sigma0: Array) -> Trajectory:
    """Return where a controller leads.

    Args:
        dynamics: of T steps.
        p: the controller.
        mu0: the mean of the first state, (n,).
        Sigma0: its covariance, (n, n).

    Returns:
        The distribution of z at every step.

    """
    T, m, n = p.K.shape
    mu, Sigma = np.empty((T, n + m)), np.empty((T, n + m, n + m))
    x, X = mu0, Sigma0
    for t in range(T):
        XK = X @ p.K[t].T
        mu[t, :n], mu[t, n:] = x, p.K[t] @ x + p.k[t]
        Sigma[t, :n, :n], Sigma[t, :n, n:], Sigma[t, n:, :n] = X, XK, XK.T
        Sigma[t, n:, n:] = p.K[t] @ XK + p.S[t]
        x = dynamics.F[t] @ mu[t] + dynamics.f[t]
        X = dynamics.F[t] @ Sigma[t] @ dynamics.F[t].T + dynamics.D[t]
        X = (X + X.T) / 2
    return Trajectory(mu, Sigma)


def expected_costs(cost: Cost, at: Trajectory) -> Array:
    """Return the expected cost of every step, (T,): 1/2 tr(C Sigma) + 1/2 mu'C mu + c'mu + e."""
    traces = np.einsum("tij,tij->t", cost.C, at.Sigma)
    squares = np.einsum("ti,tij,tj->t", at.mu, cost.C, at.mu)
    return 0.5 * (traces + squares) + np.einsum("ti,ti->t", cost.c, at.mu) + cost.e


def kl(p: Controller, pbar: Controller, at: Trajectory) -> float:
    """Return KL(p || pbar), the sum over all steps in nats.

    A step has 1/2 [tr(P S) - m + ln|Sbar| - ln|S| + E_x (dK x + dk)'P (dK x + dk)], P = Sbar^-1, dK = K - Kbar.

    Args:
        p: a controller.
        pbar: another one.
        at: the distribution of the states under p.

    """
    m, n = p.K.shape[1:]
    P, dK = np.linalg.inv(pbar.S), p.K - pbar.K
    d = np.einsum("tij,tj->ti", dK, at.mu[:, :n]) + p.k - pbar.k  # of the means, at the mean state
    moved = np.einsum("ti,tij,tj->t", d, P, d) + np.einsum("tij,tik,tkl,tjl->t", P, dK, at.Sigma[:, :n, :n], dK)
    noise = np.einsum("tij,tij->t", P, p.S) - m + np.linalg.slogdet(pbar.S)[1] - np.linalg.slogdet(p.S)[1]
    return float(0.5 * np.sum(moved + noise))


@dataclass(frozen=True)
class Limited:
    """The controller that a KL limit allows."""

    p: Controller
    at: Trajectory  # where it leads
    eta: float  # the multiplier of which it is the best controller
    kl: float  # its KL from pbar, in nats


def kl_limited(
    dynamics: Dynamics, cost: Cost, pbar: Controller, mu0: Array, Sigma0: Array, limit: float, eta: float = 1.0
) -> Limited:
    """Return the controller of least expected cost with KL(p || pbar) <= limit, of which 90 % at least are used.

    The KL falls as eta grows. So eta is multiplied or divided by 10 until it is known to lie between two values, whose
    geometric mean is tried from then on.

    Args:
        dynamics: of T steps.
        cost: of the same steps.
        pbar: the controller to stay near.
        mu0: the mean of the first state, (n,).
        Sigma0: its covariance, (n, n).
        limit: of the KL, in nats, summed over all steps.
        eta: the multiplier to begin with.

    Returns:
        The controller; pbar itself where no eta gives numbers.

    Source: Levine & Abbeel 2014.

    """
    low, high = ETA_LIMITS
    best = Limited(pbar, forward(dynamics, pbar, mu0, Sigma0), eta, 0.0)
    for _ in range(60):
        p = backward(dynamics, cost, pbar, eta)
        at = forward(dynamics, p, mu0, Sigma0)
        distance = kl(p, pbar, at)
        if distance <= limit:
            best, high = Limited(p, at, eta, distance), eta
            if distance >= CLOSE * limit:
                return best
            eta = max(eta / 10, np.sqrt(low * high))
        else:  # not a number counts as too far
            low = eta
            eta = min(eta * 10, np.sqrt(low * high))
    return best
