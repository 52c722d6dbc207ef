"""Lecture 14: right answers in other styles, and wrong ones, most of them as edits of the package."""

import statistics

import numpy as np
import scipy.linalg
import scipy.stats


def step_by_solving(C, c, F, f, V, v):
    n = F.shape[0]
    H = C + np.linalg.multi_dot([F.T, V, F])
    h = c + np.dot(F.T, v + np.dot(V, f))
    Huu, Hux = H[n:, n:], H[n:, :n]
    K, k = np.linalg.solve(Huu, -Hux), np.linalg.solve(Huu, -h[n:])
    V = H[:n, :n] + Hux.T @ K
    return [K, k, np.linalg.solve(Huu, np.eye(len(Huu))), 0.5 * V + 0.5 * V.T, h[:n] + Hux.T @ k]


def step_with_a_and_b(C, c, F, f, V, v):
    """Riccati's recursion as in a book of control."""
    n = len(f)
    A, B = F[:, :n], F[:, n:]
    Q, N, R = C[:n, :n], C[:n, n:], C[n:, n:]
    ahead = v + V @ f
    inverse = np.linalg.inv(R + B.T @ V @ B)
    K = -inverse @ (N.T + B.T @ V @ A)
    k = -inverse @ (c[n:] + B.T @ ahead)
    new = Q + A.T @ V @ A + (N + A.T @ V @ B) @ K
    return K, k, inverse, (new + new.T) / 2, c[:n] + A.T @ ahead + (N + A.T @ V @ B) @ k


def step_by_closing_the_loop(C, c, F, f, V, v):
    """The cost to go as the cost of what really happens with this controller."""
    n = len(V)
    H, h = C + F.T @ V @ F, c + F.T @ (v + V @ f)
    K, k = scipy.linalg.solve(H[n:, n:], -H[n:, :n]), scipy.linalg.solve(H[n:, n:], -h[n:])
    L = np.vstack([np.eye(n), K])  # z = L x + l
    new = L.T @ H @ L
    return K, k, np.linalg.inv(H[n:, n:]), (new + new.T) / 2, L.T @ (h + H @ np.concatenate([np.zeros(n), k]))


def gaussians_step_by_step(Y, alive, strength):
    T, p = Y.shape[1:]
    mean, squares, count = np.empty((T, p)), np.empty((T, p, p)), alive.sum(axis=0)
    for t in range(T):
        some = Y[alive[:, t], t].astype(float)
        mean[t] = some.mean(axis=0)
        squares[t] = (some - mean[t]).T @ (some - mean[t])
    pooled = squares.sum(axis=0) / count.sum()
    return mean, np.array([(squares[t] + strength * pooled) / (count[t] + strength) for t in range(T)])


def gaussians_by_weights(Y, alive, strength):
    """A mean of two covariances, weighed by their samples."""
    count = alive.sum(axis=0)
    rows = [Y[alive[:, t], t] for t in range(Y.shape[1])]
    own = np.array([np.cov(some, rowvar=False, bias=True).reshape(2 * Y.shape[2:]) for some in rows])
    pooled = np.average(own, axis=0, weights=count)
    share = (count / (count + strength))[:, None, None]
    return np.array([some.mean(axis=0) for some in rows]), share * own + (1 - share) * pooled


def gaussians_sample_by_sample(Y, alive, strength):
    N, T, p = Y.shape
    mean, cov = [], []
    for t in range(T):
        mean.append(sum(Y[i, t] for i in range(N) if alive[i, t]) / sum(alive[:, t]))
    total, number = np.zeros((p, p)), 0
    for t in range(T):
        for i in range(N):
            if alive[i, t]:
                total = total + np.outer(Y[i, t] - mean[t], Y[i, t] - mean[t])
                number += 1
    for t in range(T):
        squares = sum(np.outer(Y[i, t] - mean[t], Y[i, t] - mean[t]) for i in range(N) if alive[i, t])
        cov.append((squares + strength * total / number) / (sum(alive[:, t]) + strength))
    return np.array(mean), np.array(cov)


def with_kl_step_by_step(cost, pbar, eta):
    C, c = cost.C.astype(float), cost.c.astype(float)
    for t, (K, k, S) in enumerate(zip(pbar.K, pbar.k, pbar.S, strict=True)):
        G = np.hstack([-K, np.eye(len(k))])
        C[t] += eta * G.T @ np.linalg.solve(S, G)
        c[t] -= eta * G.T @ np.linalg.solve(S, k)
    return C, c


def with_kl_block_by_block(cost, pbar, eta):
    n = pbar.K.shape[2]
    P = eta * np.linalg.inv(pbar.S)
    PK = P @ pbar.K
    C, c = 1.0 * cost.C, 1.0 * cost.c
    C[:, :n, :n] += np.swapaxes(pbar.K, 1, 2) @ PK
    C[:, n:, n:] += P
    C[:, n:, :n] -= PK
    C[:, :n, n:] -= np.swapaxes(PK, 1, 2)
    Pk = np.einsum("tij,tj->ti", P, pbar.k)
    c[:, :n] += np.einsum("tij,ti->tj", pbar.K, Pk)
    c[:, n:] -= Pk
    return C, c


def with_kl_by_einsum(cost, pbar, eta):
    T, m, _ = pbar.K.shape
    G = np.dstack([-pbar.K, np.tile(np.eye(m), (T, 1, 1))])
    P = np.linalg.inv(pbar.S)
    squares = np.einsum("tai,tab,tbj->tij", G, P, G)
    return [cost.C + eta * squares, cost.c - eta * np.einsum("tai,tab,tb->ti", G, P, pbar.k)]


def std_of_the_mean_matrix(P):
    return np.diag(P.mean(axis=0)) ** -0.5


def std_in_a_loop(P):
    result = []
    for i in range(P.shape[1]):
        mean = sum(float(p[i, i]) for p in P) / len(P)
        result.append(mean**-0.5)
    return np.array(result)


def std_by_diagonal(P):
    return np.sqrt(1 / np.diagonal(P, axis1=1, axis2=2).mean(axis=0))


# --- by people who had the lecture's text alone


def back_expanded(C, c, F, f, V, v):
    """All terms of the square, none of them cancelled on paper."""
    n = V.shape[0]
    H = np.linalg.multi_dot([F.T, V, F]) + C
    h = F.T.dot(v) + F.T.dot(V).dot(f) + c
    x, u = slice(None, n), slice(n, None)
    inverse = np.linalg.inv(H[u, u])
    K = -np.dot(inverse, H[u, x])
    k = -np.dot(inverse, h[u])
    P = H[x, x] + K.T @ H[u, x] + H[x, u] @ K + K.T @ H[u, u] @ K
    p = h[x] + K.T @ h[u] + H[x, u] @ k + K.T @ H[u, u] @ k
    return K, k, inverse, (P + P.T) * 0.5, p


def back_terse(C, c, F, f, V, v):
    """Terse, with walrus."""
    n, H, h = len(v), C + F.T @ V @ F, c + F.T @ (v + V @ f)
    K, k = -(inv := np.linalg.inv(H[n:, n:])) @ H[n:, :n], -inv @ h[n:]
    return K, k, inv, ((W := H[:n, :n] + K.T @ H[n:, :n]) + W.T) / 2, h[:n] + K.T @ h[n:]


def back_cholesky(C, c, F, f, V, v):
    """By Cholesky's factor: the square is completed; V = H_xx - W'W is symmetric but for rounding.

    # ambiguous: "Best is u = K x + k": only if H_uu is positive definite is the u where the derivative vanishes best.
    # (Of an indefinite H_uu, which is not singular, "LinAlgError if H_uu is singular" says nothing: here it raises.)
    """
    n = V.shape[0]
    H = C + F.T @ V @ F
    h = c + F.T @ (v + V @ f)
    L = np.linalg.cholesky(H[n:, n:])
    root = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True)
    W, w = root @ H[n:, :n], root @ h[n:]
    V_new = H[:n, :n] - W.T @ W
    return -root.T @ W, -root.T @ w, root.T @ root, (V_new + V_new.T) / 2, h[:n] - W.T @ w


def back_careless(C, c, F, f, V, v):
    """In place on own arrays."""
    n = len(f)
    H = F.T @ V @ F
    H += C
    h = V @ f
    h += v
    h = F.T @ h
    h += c
    K = np.zeros((len(c) - n, n))
    inv = np.linalg.inv(H[n:, n:])
    K -= inv @ H[n:, :n]
    k = inv @ -h[n:]
    Vn = H[:n, :n] + H[:n, n:] @ K
    for i in range(n):
        for j in range(i):
            Vn[i, j] = Vn[j, i]
    return K, k, inv, Vn, h[:n] + H[:n, n:] @ k


def back_scipy(C, c, F, f, V, v):
    """scipy: one solve for K, k and the inverse together (its LinAlgError is numpy's)."""
    n, m = len(F), F.shape[1] - len(F)
    H, h = C + F.T @ V @ F, c + F.T @ (v + V @ f)
    found = scipy.linalg.solve(H[n:, n:], np.hstack([-H[n:, :n], -h[n:, None], np.eye(m)]))
    K, k, inverse = found[:, :n], found[:, n], found[:, n + 1 :]
    V = H[:n, :n] + H[:n, n:] @ K
    V += V.T.copy()
    V /= 2
    return K, k, inverse, V, h[:n] + H[:n, n:] @ k


def gaussians_einsum(Y, alive, strength):
    """Weights of 0 and 1, and einsum."""
    w = alive.astype(float)
    n = w.sum(axis=0)
    mean = np.einsum("nt,ntp->tp", w, Y) / n[:, None]
    off = (Y - mean) * w[:, :, None]
    S = np.einsum("ntp,ntq->tpq", off, off)
    prior = S.sum(axis=0) / n.sum()
    return mean, (S + strength * prior) / (n + strength)[:, None, None]


def gaussians_defensive(Y, alive, strength):
    """Careful: nothing of a sample that does not count is touched."""
    Y, alive = np.asarray(Y, dtype=float), np.asarray(alive).astype(bool)
    assert alive.shape == Y.shape[:2]
    assert strength >= 0
    assert alive.any(axis=0).all()
    n = alive.sum(axis=0)
    clean = np.where(alive[..., None], Y, 0.0)
    mean = clean.sum(axis=0) / n[:, None]
    off = np.where(alive[..., None], clean - mean, 0.0).transpose(1, 2, 0)  # (T, p, N)
    S = off @ off.transpose(0, 2, 1)
    covariance = (S + strength * (S.sum(axis=0) / n.sum())) / (n[:, None, None] + strength)
    assert covariance.shape == (*mean.shape, Y.shape[2])
    return mean, covariance


def gaussians_terse(Y, alive, strength):
    """Terse."""
    steps = [Y[a, t] for t, a in enumerate(alive.T)]
    m = np.array([y.mean(0) for y in steps])
    S = np.array([(y - mu).T @ (y - mu) for y, mu in zip(steps, m, strict=True)])
    return m, (S + strength * S.sum(0) / alive.sum()) / (alive.sum(0) + strength)[:, None, None]


def gaussians_masked(Y, alive, strength):
    """Masked arrays."""
    masked = np.ma.array(Y, mask=np.broadcast_to(~alive[:, :, None], Y.shape))
    n = masked.count(axis=0)[:, 0]
    mean = masked.mean(axis=0)
    off = (masked - mean).filled(0.0)
    S = np.moveaxis(off, 0, 2) @ np.moveaxis(off, 0, 1)
    return mean.data, (S + strength * (S.sum(axis=0) / n.sum())) / (n + strength)[:, None, None]


def gaussians_careless(Y, alive, strength):
    """In place."""
    T, p = Y.shape[1:]
    mean, cov, total = np.zeros((T, p)), np.zeros((T, p, p)), np.zeros((p, p))
    for t in range(T):
        y = Y[alive[:, t] == 1, t]
        mean[t] = y.mean(axis=0)
        y = y - mean[t]
        cov[t] = y.T @ y
        total += cov[t]
    total /= np.sum(alive)
    for t in range(T):
        cov[t] += strength * total
        cov[t] /= alive[:, t].sum() + strength
    return mean, cov


def kl_loop(cost, pbar, eta):
    """A loop over the steps."""
    C, c = [], []
    for t in range(len(pbar.K)):
        G = np.hstack([-pbar.K[t], np.eye(len(pbar.k[t]))])
        P = np.linalg.inv(pbar.S[t])
        C.append(cost.C[t] + eta * G.T @ P @ G)
        c.append(cost.c[t] - eta * G.T @ P @ pbar.k[t])
    return np.array(C), np.array(c)


def kl_solve(cost, pbar, eta):
    """solve in place of an inverse; G and kbar together as the right-hand side."""
    T, m, n = pbar.K.shape
    G = np.dstack([-pbar.K, np.repeat(np.eye(m)[None], T, axis=0)])
    found = np.linalg.solve(pbar.S, np.concatenate([G, pbar.k[..., None]], axis=2))
    weighted = np.matmul(G.transpose(0, 2, 1), found)
    return cost.C + eta * weighted[:, :, : n + m], cost.c - eta * weighted[:, :, n + m]


def kl_terse(cost, pbar, eta):
    """Terse."""
    G = np.concatenate([-pbar.K, 0 * pbar.S + np.eye(pbar.S.shape[1])], 2)
    E = eta * np.einsum("tai,tab->tib", G, np.linalg.inv(pbar.S))
    return cost.C + E @ G, cost.c - np.einsum("tib,tb->ti", E, pbar.k)


def kl_cholesky(cost, pbar, eta):
    """The square as the length of W z - w, with a root of P: Sbar = L L', W = L^-1 G, w = L^-1 kbar."""

    def step(C, c, K, k, S):
        m = len(k)
        L = np.linalg.cholesky(S)
        W = scipy.linalg.solve_triangular(L, np.hstack([-K, np.eye(m)]), lower=True)
        w = scipy.linalg.solve_triangular(L, k, lower=True)
        return C + eta * W.T @ W, c - eta * W.T @ w

    both = [step(*each) for each in zip(cost.C, cost.c, pbar.K, pbar.k, pbar.S, strict=True)]
    return tuple(np.stack(each) for each in zip(*both, strict=True))


def kl_careless(cost, pbar, eta):
    """zeros_like, a generator inside."""
    C, c = np.zeros_like(cost.C), np.zeros_like(cost.c)
    T, m, _ = pbar.K.shape

    def gains():
        for t in range(T):
            G = np.c_[-pbar.K[t], np.eye(m)]
            GP = G.T @ np.linalg.inv(pbar.S[t])
            yield GP @ G, GP @ pbar.k[t]

    for t, (square, linear) in enumerate(gains()):
        C[t] = cost.C[t] + eta * square
        c[t] = cost.c[t] - eta * linear
    return C, c


def std_einsum(P):
    """einsum sums the diagonals."""
    return np.sqrt(len(P) / np.einsum("raa->a", P))


def std_harmonic(P):
    """scipy: the harmonic mean of the variances 1 / P_aa."""
    return np.sqrt(scipy.stats.hmean(1 / np.diagonal(P, 0, 1, 2), axis=0))


def std_statistics(P):
    """statistics.fmean."""
    m = P.shape[-1]
    return np.array([statistics.fmean(P[:, a, a].tolist()) ** -0.5 for a in range(m)])


def std_terse(P):
    """Terse: a trick with two index arrays."""
    return P[:, i := np.arange(P.shape[1]), i].mean(0) ** -0.5


def std_log(P):
    """A closure, by logarithms."""

    def one(precisions):
        return np.exp(-0.5 * np.log(np.average(precisions)))

    return np.array([one(P[:, a, a]) for a in range(P.shape[1])])


RIGHT = {
    "step_back": [
        step_by_solving,
        step_with_a_and_b,
        step_by_closing_the_loop,
        back_expanded,
        back_terse,
        back_cholesky,
        back_careless,
        back_scipy,
    ],
    "gaussians": [
        gaussians_step_by_step,
        gaussians_by_weights,
        gaussians_sample_by_sample,
        gaussians_einsum,
        gaussians_defensive,
        gaussians_terse,
        gaussians_masked,
        gaussians_careless,
    ],
    "with_kl": [
        with_kl_step_by_step,
        with_kl_block_by_block,
        with_kl_by_einsum,
        kl_loop,
        kl_solve,
        kl_terse,
        kl_cholesky,
        kl_careless,
    ],
    "imitated_std": [
        std_of_the_mean_matrix,
        std_in_a_loop,
        std_by_diagonal,
        std_einsum,
        std_harmonic,
        std_statistics,
        std_terse,
        std_log,
    ],
}

EDITS = {
    "step_back": r"""
        nearly_symmetric: (V + V.T) / 2 => V
        other_sign: (- => ( && , -inverse => , inverse
        other_sign_of_k: , -inverse @ h => , inverse @ h
        drift_not_weighed: (v + V @ f) => (v + f)
        own_cost_forgotten_in_V: H[:n, :n] + H[:n, n:] @ K => H[:n, :n] + H[:n, n:] @ K - C[:n, :n]
        own_cost_of_u_only: C + F.T @ V @ F => np.pad(C[n:, n:], ((n, 0), (n, 0))) + F.T @ V @ F
        greedy: np.linalg.inv(H[n:, n:]) => np.linalg.pinv(C[n:, n:])
        cross_costs_forgotten: n = len(V) => n = len(V)\n\n    def apart(C):\n        D = C.copy()\n        D[:n, n:] \
            = 0\n        D[n:, :n] = 0\n        return D && C + F.T @ V @ F => apart(C) + F.T @ V @ F
        the_noise_has_roots: , inverse, => , np.sqrt(np.abs(inverse)),
        twice_the_inverse: , inverse => , 2 * inverse
        V_without_negative_numbers: (V + V.T) / 2 => np.maximum((V + V.T) / 2, 0)
        V_diagonal: (V + V.T) / 2 => np.diag(np.diag(V))
        closed_loop_without_the_price_of_u: H[:n, :n] + H[:n, n:] @ K => C[:n, :n] + (F[:, :n] + F[:, n:] @ K).T @ V \
            @ (F[:, :n] + F[:, n:] @ K)
        a_little_more_to_invert: np.linalg.inv(H[n:, n:]) => np.linalg.inv(H[n:, n:] + 1e-6 * np.eye(len(H) - n))
        never_singular: np.linalg.inv(H[n:, n:]) => np.linalg.pinv(H[n:, n:])
        gains_within_bounds: -inverse @ H[n:, :n] => np.clip(-inverse @ H[n:, :n], -20, 20)
        one_action_after_another: np.linalg.inv(H[n:, n:]) => np.diag(1 / np.diag(H[n:, n:]))
        H_is_the_second_derivative_of_z_H_z: C + F.T @ V @ F => 2 * (C + F.T @ V @ F)
        V_of_two_halves: C + F.T @ V @ F => C + F.T @ V @ F / 2
        results_in_another_order: K, k, inverse => k, K, inverse, v && 2, v => 2
        k_is_a_column: k, => k[:, None],
        rounded: (K => (np.round(K, 5)
        of_single_precision: (K, => (K.astype(np.float32),
        spoils_C: H = C + F.T @ V @ F => H = C\n    H += (F.T @ V @ F).astype(C.dtype)
        spoils_c: h = c + F.T @ (v + V @ f) => h = c\n    h += (F.T @ (v + V @ f)).astype(c.dtype)
    """,
    "gaussians": r"""
        a_number_for_a_matrix: scatter(Y, alive) => scatter(Y, alive)\n    squares = np.zeros_like(squares) + \
            np.trace(squares, axis1=1, axis2=2)[:, None, None]
        squares_less_square: scatter(Y, alive) => scatter(Y, alive); w = alive[:, :, None] * Y\n    squares = \
            np.einsum("nti,ntj->tij", w, w) - count[:, None, None] * mean[:, :, None] * mean[:, None, :]
        pooled_by_one_less: squares.sum(axis=0) / count.sum() => squares.sum(axis=0) / max(count.sum() - 1, 1)
        pooled_not_divided: squares.sum(axis=0) / count.sum() => squares.sum(axis=0)
        pooled_over_rows: squares.sum(axis=0) / count.sum() => squares.sum(axis=0) / alive.size
        first_count: squares.sum(axis=0) / count.sum() => squares.sum(axis=0) / (len(count) * count[0])
        number_of_episodes: (count + strength)[: => (len(Y) + 0 * count + strength)[:
        mean_shrunk_too: (mean => ((count[:, None] * mean + strength * mean.mean(axis=0)) / (count + strength)[:, None]
        a_ridge: (squares + strength * pooled) / (count + strength)[:, None, None] => (squares + strength * pooled) / \
            (count + strength)[:, None, None] + 1e-6 * np.eye(Y.shape[2])
        whole_strength: strength * pooled => int(strength) * pooled
        at_least_one: )\n    return => )\n    strength = max(strength, 1.0)\n    return
        rounded: (squares + strength * pooled) / (count + strength)[:, None, None] => np.round((squares + strength * \
            pooled) / (count + strength)[:, None, None], 6)
        correlations: [:, None, None] => [:, None, None] / np.sqrt(np.outer(np.diag(pooled), np.diag(pooled)) + 1e-300)
        a_list: (mean, => (mean.tolist(),
    """,
    "with_kl": r"""
        the_mean_alone: -pbar.K => 0 * pbar.K
        a_low_price_is_none: T, m, _ = => eta = eta if eta >= 1e-8 else 0.0\n    T, m, _ =
        roughly_inverted: np.linalg.inv(pbar.S) => np.linalg.pinv(pbar.S, rcond=0.0001)
        no_price_on_the_quadratic_part: cost.C + eta * => cost.C +
        price_squared: cost.C + eta * => cost.C + eta**2 *
        by_its_diagonal: np.linalg.inv(pbar.S) => np.linalg.inv(pbar.S * np.eye(m))
        by_its_root: np.linalg.inv(pbar.S) => np.linalg.inv(np.linalg.cholesky(pbar.S))
        K_forgotten: [-pbar.K => [0 * pbar.K
        minus_u: np.broadcast_to(np.eye(m) => np.broadcast_to(-np.eye(m)
        without_the_linear_cost: cost.c - eta => -eta
        first_step_for_all: np.linalg.inv(pbar.S) => np.linalg.inv(pbar.S[:1])
        last_constant_for_all: pbar.k[:, :, None] => pbar.k[-1:, :, None]
        price_at_least: T, m, _ => eta = max(eta, 1e-3)\n    T, m, _
        price_at_most: T, m, _ => eta = min(eta, 1e3)\n    T, m, _
        noise_at_least: np.linalg.inv(pbar.S) => np.linalg.inv(pbar.S + 1e-6 * np.eye(m))
        per_step: T, m, _ = pbar.K.shape => T, m, _ = pbar.K.shape\n    eta = eta / T
        columns: - eta * (GP @ pbar.k[:, :, None])[:, :, 0] => [:, :, None] - eta * (GP @ pbar.k[:, :, None])
        spoils_C: )\n    return (cost.C + eta => )\n    C = cost.C\n    C += (eta && G, => \
            G).astype(C.dtype)\n    return (C,
        spoils_c: return => c = cost.c\n    c -= (eta * GP @ pbar.k[:, :, None])[:, :, 0].astype(c.dtype)\n    return \
            && cost.c - eta * (GP @ pbar.k[:, :, None])[:, :, 0] => c
    """,
    "imitated_std": r"""
        equal_rows_once: return 1 / => P = np.unique(P, axis=0)\n    return 1 /
        divided_outside: ) / len(P)) => )) / len(P)
        geometric: return np.exp(-0.5 * np.mean(np.log(np.einsum('rii->ri', P)), axis=0))
        the_most_exact: einsum('rii->i', P) / len(P => max(np.einsum('rii->ri', P), axis=0
        the_least_exact: einsum('rii->i', P) / len(P => min(np.einsum('rii->ri', P), axis=0
        first_row: einsum('rii->i', P) / len(P => diag(P[0]
        a_matrix: return 1 => return np.diag(1 && )) => )))
        one_less: / len(P) => / max(len(P) - 1, 1)
        a_floor: return 1 => return np.maximum(1 && )) => )), 0.05)
        a_small_number: )) => ) + 1e-08)
        over_actions: >i => >r && len(P)) => P.shape[1])
        reversed: return 1 => return (1 && )) => )))[::-1]
        a_list: return 1 => return list(1 && )) => )))
        spoils_P: Array:\n    return => Array:\n    P /= len(P)\n    return && ) / len(P)) => ))
    """,
}

ODD = {
    "step_back": r"""
        in_arrays_like_the_cost: H = => H, h = np.zeros_like(C), np.zeros_like(c)\n    H[:] = && h = c + => h[:] = c +
        whole_numbers_stay_whole: (V + V.T) / 2 => ((V + V.T) / 2).astype(F.dtype)
    """,
    "with_kl": r"""
        the_cost_itself: T, m, _ = => if not eta:\n        return cost.C, cost.c\n    T, m, _ =
        whole_numbers_stay_whole: return (cost. => return ((cost. && G, => G).astype(cost.C.dtype),
    """,
}
