"""Lecture 14: right answers in other styles, and wrong ones."""

import statistics

import numpy as np
import scipy.linalg
import scipy.stats


def step_back_solving(C, c, F, f, V, v):
    n = F.shape[0]
    H = C + np.linalg.multi_dot([F.T, V, F])
    h = c + np.dot(F.T, v + np.dot(V, f))
    Huu, Hux = H[n:, n:], H[n:, :n]
    K, k = np.linalg.solve(Huu, -Hux), np.linalg.solve(Huu, -h[n:])
    V = H[:n, :n] + Hux.T @ K
    return [K, k, np.linalg.solve(Huu, np.eye(len(Huu))), 0.5 * V + 0.5 * V.T, h[:n] + Hux.T @ k]


def step_back_with_a_and_b(C, c, F, f, V, v):
    """Riccati's recursion as in a book of control."""
    n, ahead = len(f), v + V @ f
    A, B = F[:, :n], F[:, n:]
    Q, N, R = C[:n, :n], C[:n, n:], C[n:, n:]
    inverse = np.linalg.inv(R + B.T @ V @ B)
    K, k = -inverse @ (N.T + B.T @ V @ A), -inverse @ (c[n:] + B.T @ ahead)
    new = Q + A.T @ V @ A + (N + A.T @ V @ B) @ K
    return K, k, inverse, (new + new.T) / 2, c[:n] + A.T @ ahead + (N + A.T @ V @ B) @ k


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
    share = (count / (count + strength))[:, None, None]
    pooled = np.average(own, axis=0, weights=count)
    return np.array([some.mean(axis=0) for some in rows]), share * own + (1 - share) * pooled


def with_kl_step_by_step(cost, pbar, eta):
    C, c = cost.C.astype(float), cost.c.astype(float)
    for t, (K, k, S) in enumerate(zip(pbar.K, pbar.k, pbar.S, strict=True)):
        G = np.hstack([-K, np.eye(len(k))])
        C[t] += eta * G.T @ np.linalg.solve(S, G)
        c[t] -= eta * G.T @ np.linalg.solve(S, k)
    return C, c


def with_kl_block_by_block(cost, pbar, eta):
    n, P = pbar.K.shape[2], eta * np.linalg.inv(pbar.S)
    PK, Pk = P @ pbar.K, np.einsum("tij,tj->ti", P, pbar.k)
    C, c = 1.0 * cost.C, 1.0 * cost.c
    C[:, :n, :n] += np.swapaxes(pbar.K, 1, 2) @ PK
    C[:, n:, n:] += P
    C[:, n:, :n] -= PK
    C[:, :n, n:] -= np.swapaxes(PK, 1, 2)
    c[:, :n] += np.einsum("tij,ti->tj", pbar.K, Pk)
    c[:, n:] -= Pk
    return C, c


RIGHT = {
    "step_back": r"""
        all_terms: H[:n, :n] + H[:n, n:] @ K, h[:n] + H[:n, n:] @ k => H[:n, :n] + K.T @ H[n:, :n] + H[:n, n:] @ K \
            + K.T @ H[n:, n:] @ K, h[:n] + K.T @ h[n:] + H[:n, n:] @ k + K.T @ H[n:, n:] @ k
        by_the_gains: H[:n, :n] + H[:n, n:] @ K, h[:n] + H[:n, n:] @ k => H[:n, :n] + K.T @ H[n:, :n], h[:n] + K.T @ \
            h[n:]
        mirrored: (V + V.T) / 2 => np.tril(V) + np.tril(V, -1).T
    """,
    "gaussians": r"""
        mean_of_two: (squares + strength * pooled) / (count + strength)[:, None, None] => (squares / (count + \
            strength)[:, None, None] + np.multiply.outer(strength / (count + strength), pooled))
        defensive: scatter(Y, alive) => scatter(np.where(alive[..., None], np.asarray(Y, float), 0.0), alive)
        transposed: (squares + strength * pooled) / (count + strength)[:, None, None] => \
            ((squares + strength * pooled).T / (float(strength) + count)).T
    """,
    "with_kl": r"""
        loop: G.swapaxes(1, 2) @ np.linalg.inv(pbar.S) => \
            np.array([g.T @ np.linalg.inv(s) for g, s in zip(G, pbar.S, strict=True)])
        solutions: eta * GP @ G => eta * G.swapaxes(1, 2) @ np.linalg.solve(pbar.S, G)
        column_by_column: (GP @ pbar.k[:, :, None])[:, :, 0] => np.sum(GP * pbar.k[:, None, :], axis=2)
        defensive: cost.C + => np.asarray(cost.C, float) + && cost.c - => np.asarray(cost.c, float) - && \
            np.broadcast_to(np.eye(m), (T, m, m)) => np.repeat(np.eye(m)[None], T, axis=0)
    """,
    "imitated_std": r"""
        mean_matrix: return np.diag(P.mean(axis=0)) ** -0.5
        loop: return np.array([(sum(float(p[i, i]) for p in P) / len(P)) ** -0.5 for i in range(P.shape[1])])
        diagonals: return np.sqrt(1 / np.diagonal(P, axis1=1, axis2=2).mean(axis=0))
        ratio: return np.sqrt(len(P) / np.einsum("raa->a", P))
        harmonic_mean: return np.sqrt(scipy.stats.hmean(1 / np.diagonal(P, 0, 1, 2), axis=0))
        library: return np.array([statistics.fmean(P[:, a, a].tolist()) ** -0.5 for a in range(P.shape[-1])])
        two_indices: return P[:, i := np.arange(P.shape[1]), i].mean(0) ** -0.5
        logarithms: return np.exp(-0.5 * np.log(np.average(np.diagonal(P, axis1=1, axis2=2), axis=0)))
    """,
}

WRONG = {
    "step_back": r"""
        nearly_symmetric: (V + V.T) / 2 => V
        other_sign: (- => ( && , -inverse => , inverse
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
