"""Wrong answers to the exercises of lecture 14, mostly edits of the right source, and right ones in other styles."""

import numpy as np
import scipy.linalg

from minitrpo.algorithms.guided_policy_search.lqr import with_kl

# ---- step_back

H_LINE, V_PART, LAST = "C + F.T @ V @ F", "H[:n, :n] + H[:n, n:] @ K", "return K, k, inverse, (V + V.T) / 2, v"
K_PART, INVERSE = "-inverse @ H[n:, :n]", "np.linalg.inv(H[n:, n:])"

LOOP = "(F[:, :n] + F[:, n:] @ K)"
APART = """n = len(V)

    def apart(C):
        D = C.copy()
        D[:n, n:] = 0
        D[n:, :n] = 0
        return D
"""

STEP_BACK = {
    "other_sign": (("K, k = -inverse", "K, k = inverse"), (", -inverse @ h", ", inverse @ h")),
    "other_sign_of_k": ((", -inverse @ h", ", inverse @ h"),),
    "gains_for_minus_k": (("return K, k", "return -K, -k"),),
    "cost_of_doing_nothing": ((V_PART, "H[:n, :n]"), ("h[:n] + H[:n, n:] @ k", "h[:n]")),
    "a_bonus_for_acting": ((V_PART, "H[:n, :n] - H[:n, n:] @ K"),),
    "v_without_k": (("h[:n] + H[:n, n:] @ k", "h[:n]"),),
    "drift_forgotten": (("(v + V @ f)", "v"),),
    "drift_not_weighed": (("(v + V @ f)", "(v + f)"),),
    "linear_cost_to_go_forgotten": (("(v + V @ f)", "(V @ f)"),),
    "linear_cost_forgotten": (("h = c + ", "h = "),),
    "own_cost_forgotten_in_V": ((V_PART, f"{V_PART} - C[:n, :n]"),),
    "own_cost_of_u_only": ((H_LINE, "np.pad(C[n:, n:], ((n, 0), (n, 0))) + F.T @ V @ F"),),
    "greedy": ((INVERSE, "np.linalg.pinv(C[n:, n:])"),),
    "cross_costs_forgotten": (("n = len(V)", APART), (H_LINE, "apart(C) + F.T @ V @ F")),
    "the_noise_is_H": ((LAST, "return K, k, H[n:, n:], (V + V.T) / 2, v"),),
    "the_noise_has_roots": ((LAST, "return K, k, np.sqrt(np.abs(inverse)), (V + V.T) / 2, v"),),
    "twice_the_inverse": ((LAST, "return K, k, 2 * inverse, (V + V.T) / 2, v"),),
    "V_not_halved": (("(V + V.T) / 2", "V + V.T"),),
    "V_without_negative_numbers": (("(V + V.T) / 2", "np.maximum((V + V.T) / 2, 0)"),),
    "V_diagonal": (("(V + V.T) / 2", "np.diag(np.diag(V))"),),
    "closed_loop_without_the_price_of_u": ((V_PART, "C[:n, :n] + CLOSED.T @ V @ CLOSED".replace("CLOSED", LOOP)),),
    "a_little_more_to_invert": ((INVERSE, "np.linalg.inv(H[n:, n:] + 1e-6 * np.eye(len(H) - n))"),),
    "never_singular": ((INVERSE, "np.linalg.pinv(H[n:, n:])"),),
    "gains_within_bounds": ((K_PART, f"np.clip({K_PART}, -20, 20)"),),
    "one_action_after_another": ((INVERSE, "np.diag(1 / np.diag(H[n:, n:]))"),),
    "H_is_the_second_derivative_of_z_H_z": ((H_LINE, "2 * (C + F.T @ V @ F)"),),
    "V_of_two_halves": ((H_LINE, "C + F.T @ V @ F / 2"),),
    "results_in_another_order": (("return K, k, inverse, (V + V.T) / 2, v", "return k, K, inverse, v, (V + V.T) / 2"),),
    "k_is_a_column": (("return K, k, ", "return K, k[:, None], "),),
    "rounded": (("return K, k, ", "return np.round(K, 5), k, "),),
    "of_single_precision": (("return K, k, ", "return K.astype(np.float32), k, "),),
    "whole_numbers_stay_whole": (("(V + V.T) / 2", "((V + V.T) / 2).astype(F.dtype)"),),
    "spoils_C": ((f"H = {H_LINE}", "H = C\n    H += (F.T @ V @ F).astype(C.dtype)"),),
    "spoils_c": (("h = c + F.T @ (v + V @ f)", "h = c\n    h += (F.T @ (v + V @ f)).astype(c.dtype)"),),
}  # fmt: skip


def last_step_only(C, c, F, f, V, v):
    """As if nothing came afterwards."""
    n = len(V)
    inverse = np.linalg.inv(C[n:, n:])
    K, k = -inverse @ C[n:, :n], -inverse @ c[n:]
    return K, k, inverse, C[:n, :n] + C[:n, n:] @ K, c[:n] + C[:n, n:] @ k


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


# ---- gaussians

POOLED, COVARIANCE = (
    "squares.sum(axis=0) / count.sum()",
    "(squares + strength * pooled) / (count + strength)[:, None, None]",
)

GAUSSIANS = {
    "no_prior": ((COVARIANCE, "squares / count[:, None, None]"),),
    "prior_only": ((COVARIANCE, "np.repeat(pooled[None], len(count), axis=0)"),),
    "not_counted": (("(count + strength)[:", "count[:"),),
    "counted_and_not_added": (("squares + strength * pooled", "squares"),),
    "one_less": (("(count + strength)[:", "(count + strength - 1)[:"),),
    "pooled_by_one_less": ((POOLED, "squares.sum(axis=0) / max(count.sum() - 1, 1)"),),
    "pooled_with_a_degree_per_step": ((POOLED, "squares.sum(axis=0) / max(count.sum() - len(count), 1)"),),
    "added_once": (("strength * pooled", "pooled"),),
    "pooled_per_step": ((POOLED, "squares.sum(axis=0) / len(count)"),),
    "pooled_mean_of_covariances": ((POOLED, "(squares / count[:, None, None]).mean(axis=0)"),),
    "pooled_not_divided": ((POOLED, "squares.sum(axis=0)"),),
    "pooled_over_rows": ((POOLED, "squares.sum(axis=0) / alive.size"),),
    "half_and_half": ((COVARIANCE, "(squares / count[:, None, None] + pooled) / 2"),),
    "as_of_one_sample": ((COVARIANCE, "(squares / count[:, None, None] + strength * pooled) / (1 + strength)"),),
    "diagonal": ((COVARIANCE, f"{COVARIANCE} * np.eye(Y.shape[2])"),),
    "prior_diagonal": (("strength * pooled", "strength * pooled * np.eye(Y.shape[2])"),),
    "all_count": (("scatter(Y, alive)", "scatter(Y, np.ones_like(alive))"),),
    "first_count": ((POOLED, "squares.sum(axis=0) / (len(count) * count[0])"),),
    "number_of_episodes": (("(count + strength)[:", "(len(Y) + 0 * count + strength)[:"),),
    "exchanged": (("return mean, ", "return "), (COVARIANCE, f"{COVARIANCE}, mean")),
    "mean_of_all": (("return mean, ", "return np.repeat(Y[alive].mean(axis=0)[None], len(count), axis=0), "),),
    "mean_shrunk_too": (
        (
            "return mean, ",
            "return (count[:, None] * mean + strength * mean.mean(axis=0)) / (count + strength)[:, None], ",
        ),
    ),
    "a_ridge": ((COVARIANCE, f"{COVARIANCE} + 1e-6 * np.eye(Y.shape[2])"),),
    "whole_strength": (("strength * pooled", "int(strength) * pooled"),),
    "at_least_one": (("return mean", "strength = max(strength, 1.0)\n    return mean"),),
    "rounded": ((COVARIANCE, f"np.round({COVARIANCE}, 6)"),),
    "correlations": ((COVARIANCE, f"{COVARIANCE} / np.sqrt(np.outer(np.diag(pooled), np.diag(pooled)) + 1e-300)"),),
    "a_list": (("return mean, ", "return mean.tolist(), "),),
}


def around_the_mean_of_all_steps(Y, alive, strength):
    """The prior scatters with the means of the steps as well."""
    w = alive.astype(float)
    count = w.sum(axis=0)
    mean = np.einsum("it,itp->tp", w, Y) / count[:, None]
    apart = (Y - mean) * w[:, :, None]
    squares = np.einsum("itp,itq->tpq", apart, apart)
    pooled = np.atleast_2d(np.cov(Y[alive].T, bias=True))
    return mean, (squares + strength * pooled) / (count + strength)[:, None, None]


def a_number_for_a_matrix(Y, alive, strength):
    """A vector times itself is a number."""
    _, T, p = Y.shape
    mean, squares = np.zeros((T, p)), np.zeros((T, p, p))
    for t in range(T):
        mean[t] = Y[alive[:, t], t].mean(axis=0)
        for y in Y[alive[:, t], t]:
            squares[t] += (y - mean[t]) @ (y - mean[t]).T
    count = alive.sum(axis=0)
    return mean, (squares + strength * squares.sum(axis=0) / count.sum()) / (count + strength)[:, None, None]


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


# ---- with_kl

C_PART, LINEAR = "cost.C + eta * GP @ G", "cost.c - eta * (GP @ pbar.k[:, :, None])[:, :, 0]"
G_LINE = "np.concatenate([-pbar.K, np.broadcast_to(np.eye(m), (T, m, m))], axis=2)"

BLOCKS = """T, m, _ = pbar.K.shape
    u = np.arange(cost.c.shape[1]) >= cost.c.shape[1] - m
    u_and_u, alike = u[:, None] & u, u[:, None] == u"""

SPOILT = """c = cost.c
    c -= (eta * GP @ pbar.k[:, :, None])[:, :, 0].astype(c.dtype)
    return """

WITH_KL = {
    "linear_sign": (("cost.c - eta", "cost.c + eta"),),
    "no_linear_part": ((LINEAR, "cost.c.copy()"),),
    "twice": (("cost.C + eta *", "cost.C + 2 * eta *"),),
    "half": (("cost.C + eta *", "cost.C + 0.5 * eta *"), ("cost.c - eta", "cost.c - 0.5 * eta")),
    "half_the_quadratic": (("cost.C + eta *", "cost.C + 0.5 * eta *"),),
    "twice_the_linear": (("cost.c - eta", "cost.c - 2 * eta"),),
    "a_reward": (("cost.C + eta", "cost.C - eta"), ("cost.c - eta", "cost.c + eta")),
    "no_price": (("cost.C + eta *", "cost.C +"), ("cost.c - eta *", "cost.c -")),
    "no_price_on_the_linear_part": (("cost.c - eta *", "cost.c -"),),
    "no_price_on_the_quadratic_part": (("cost.C + eta *", "cost.C +"),),
    "price_squared": (("cost.C + eta *", "cost.C + eta**2 *"),),
    "divided_cost": ((C_PART, "cost.C / eta + GP @ G"), ("cost.c - eta *", "cost.c / eta -")),
    "covariance": (("np.linalg.inv(pbar.S)", "pbar.S"),),
    "no_precision": (("G.swapaxes(1, 2) @ np.linalg.inv(pbar.S)", "G.swapaxes(1, 2)"),),
    "entry_by_entry": (("np.linalg.inv(pbar.S)", "(1 / pbar.S)"),),
    "by_its_diagonal": (("np.linalg.inv(pbar.S)", "np.linalg.inv(pbar.S * np.eye(m))"),),
    "by_its_root": (("np.linalg.inv(pbar.S)", "np.linalg.inv(np.linalg.cholesky(pbar.S))"),),
    "other_sign_of_K": (("[-pbar.K", "[pbar.K"),),
    "K_forgotten": (("[-pbar.K", "[0 * pbar.K"),),
    "minus_u": (("np.broadcast_to(np.eye(m)", "np.broadcast_to(-np.eye(m)"),),
    "without_the_cost": ((C_PART, "eta * GP @ G"), ("cost.c - eta", "-eta")),
    "without_the_linear_cost": (("cost.c - eta", "-eta"),),
    "first_step_for_all": (("np.linalg.inv(pbar.S)", "np.linalg.inv(pbar.S[:1])"),),
    "last_constant_for_all": (("pbar.k[:, :, None]", "pbar.k[-1:, :, None]"),),
    "block_of_u_only": ((C_PART, "cost.C + eta * (GP @ G) * u_and_u"), ("T, m, _ = pbar.K.shape", BLOCKS)),
    "no_cross_block": ((C_PART, "cost.C + eta * (GP @ G) * alike"), ("T, m, _ = pbar.K.shape", BLOCKS)),
    "price_at_least": (("T, m, _", "eta = max(eta, 1e-3)\n    T, m, _"),),
    "price_at_most": (("T, m, _", "eta = min(eta, 1e3)\n    T, m, _"),),
    "noise_at_least": (("np.linalg.inv(pbar.S)", "np.linalg.inv(pbar.S + 1e-6 * np.eye(m))"),),
    "per_step": (("T, m, _ = pbar.K.shape", "T, m, _ = pbar.K.shape\n    eta = eta / T"),),
    "columns": ((LINEAR, "cost.c[:, :, None] - eta * (GP @ pbar.k[:, :, None])"),),
    "spoils_C": ((f"return {C_PART}", "C = cost.C\n    C += (eta * GP @ G).astype(C.dtype)\n    return C"),),
    "spoils_c": (("return ", SPOILT), (LINEAR, "c")),
    "whole_numbers_stay_whole": ((f"return {C_PART}", "return (cost.C + eta * GP @ G).astype(cost.C.dtype)"),),
}  # fmt: skip


def the_mean_alone(cost, pbar, eta):
    """As if the other controller took its mean action whatever the state is."""
    n = pbar.K.shape[2]
    P = np.linalg.inv(pbar.S)
    C, c = cost.C.astype(float), cost.c.astype(float)
    C[:, n:, n:] += eta * P
    c[:, n:] -= eta * np.einsum("tij,tj->ti", P, pbar.k)
    return C, c


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


# ---- imitated_std

MEAN, WHOLE = 'np.einsum("rii->i", P) / len(P)', '1 / np.sqrt(np.einsum("rii->i", P) / len(P))'

IMITATED_STD = {
    "mean_of_stds": ((WHOLE, 'np.mean(1 / np.sqrt(np.einsum("rii->ri", P)), axis=0)'),),
    "mean_of_variances": ((WHOLE, 'np.sqrt(np.mean(1 / np.einsum("rii->ri", P), axis=0))'),),
    "mean_of_marginal_variances": ((WHOLE, 'np.sqrt(np.einsum("rii->i", np.linalg.inv(P)) / len(P))'),),
    "a_variance": ((WHOLE, f"1 / ({MEAN})"),),
    "a_precision": ((WHOLE, MEAN),),
    "root_of_a_precision": ((WHOLE, f"np.sqrt({MEAN})"),),
    "of_sums": ((MEAN, 'np.einsum("rii->i", P)'),),
    "divided_outside": ((WHOLE, '1 / np.sqrt(np.einsum("rii->i", P)) / len(P)'),),
    "mean_of_roots": ((WHOLE, '1 / np.mean(np.sqrt(np.einsum("rii->ri", P)), axis=0)'),),
    "inverse_of_the_mean": ((WHOLE, "np.sqrt(np.diag(np.linalg.inv(P.mean(axis=0))))"),),
    "geometric": ((WHOLE, 'np.exp(-0.5 * np.mean(np.log(np.einsum("rii->ri", P)), axis=0))'),),
    "median": ((WHOLE, '1 / np.sqrt(np.median(np.einsum("rii->ri", P), axis=0))'),),
    "the_most_exact": ((WHOLE, '1 / np.sqrt(np.max(np.einsum("rii->ri", P), axis=0))'),),
    "the_least_exact": ((WHOLE, '1 / np.sqrt(np.min(np.einsum("rii->ri", P), axis=0))'),),
    "first_row": ((WHOLE, "1 / np.sqrt(np.diag(P[0]))"),),
    "one_for_all": ((WHOLE, f"np.full(P.shape[1], 1 / np.sqrt(np.mean({MEAN})))"),),
    "a_matrix": ((WHOLE, f"np.diag({WHOLE})"),),
    "one_less": (("/ len(P)", "/ max(len(P) - 1, 1)"),),
    "a_floor": ((WHOLE, f"np.maximum({WHOLE}, 0.05)"),),
    "a_small_number": ((WHOLE, f"1 / np.sqrt({MEAN} + 1e-8)"),),
    "a_logarithm": ((WHOLE, f"-0.5 * np.log({MEAN})"),),
    "row_sums": ((MEAN, "np.abs(P.mean(axis=0).sum(axis=1))"),),
    "over_actions": ((WHOLE, "1 / np.sqrt(np.einsum('rii->r', P) / P.shape[1])"),),
    "reversed": ((WHOLE, f"({WHOLE})[::-1]"),),
    "a_list": ((WHOLE, f"list({WHOLE})"),),
    "spoils_P": (("return ", "P /= len(P)\n    return ") , (MEAN, 'np.einsum("rii->i", P)')),
}  # fmt: skip


def by_the_mean_covariance(P):
    """Averages what the controllers do, not how much they care."""
    return np.sqrt(np.diag(np.mean([np.linalg.inv(p) for p in P], axis=0)))


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


# ---- as an examiner wrote them, who knew the lecture and no check


def nearly_symmetric(C, c, F, f, V, v):
    n = V.shape[0]
    H = C + F.T @ V @ F
    h = c + F.T @ (v + V @ f)
    H_xx, H_xu = (H[:n, :n], H[:n, n:])
    H_ux, H_uu = (H[n:, :n], H[n:, n:])
    inverse = np.linalg.inv(H_uu)
    K = -inverse @ H_ux
    k = -inverse @ h[n:]
    V_new = H_xx + H_xu @ K
    v_new = h[:n] + H_xu @ k
    return (K, k, inverse, V_new, v_new)


def in_arrays_like_the_cost(C, c, F, f, V, v):
    n = len(v)
    H, h = (np.zeros_like(C), np.zeros_like(c))
    H[:] = C + F.T @ V @ F
    h[:] = c + F.T @ (v + V @ f)
    inverse = np.linalg.inv(H[n:, n:])
    K, k = (-inverse @ H[n:, :n], -inverse @ h[n:])
    V_new = H[:n, :n] + H[:n, n:] @ K
    return (K, k, inverse, (V_new + V_new.T) / 2, h[:n] + H[:n, n:] @ k)


def squares_less_square(Y, alive, strength):
    w = alive.astype(float)[:, :, None]
    n = w.sum(axis=0)
    mean = (w * Y).sum(axis=0) / n
    squares = np.einsum("nti,ntj->tij", w * Y, w * Y) - n[:, :, None] * mean[:, :, None] * mean[:, None, :]
    pooled = squares.sum(axis=0) / n.sum()
    cov = (squares + strength * pooled) / (n + strength)[:, :, None]
    return (mean, cov)


def a_low_price_is_none(cost, pbar, eta):
    return with_kl(cost, pbar, eta if eta >= 1e-8 else 0.0)


def the_cost_itself(cost, pbar, eta):
    return with_kl(cost, pbar, eta) if eta else (cost.C, cost.c)


def roughly_inverted(cost, pbar, eta):
    T, m, n = pbar.K.shape
    G = np.zeros((T, m, n + m))
    G[:, :, :n] = -pbar.K
    G[:, :, n:] = np.eye(m)
    P = np.linalg.pinv(pbar.S, rcond=0.0001)
    C = cost.C + eta * np.einsum("tai,tab,tbj->tij", G, P, G)
    c = cost.c - eta * np.einsum("tai,tab,tb->ti", G, P, pbar.k)
    return (C, c)


def equal_rows_once(P):
    precision = np.mean(np.diagonal(np.unique(P, axis=0), axis1=1, axis2=2), axis=0)
    return 1 / np.sqrt(precision)


def summed_recursively(P):

    def total(rows):
        return np.diag(rows[0]) if len(rows) == 1 else np.diag(rows[0]) + total(rows[1:])

    return 1 / np.sqrt(total(P) / len(P))


WRONG = {
    "step_back": [last_step_only],
    "gaussians": [around_the_mean_of_all_steps, a_number_for_a_matrix],
    "with_kl": [the_mean_alone],
    "imitated_std": [by_the_mean_covariance],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    name: {what: tuple(text for change in changes for text in change) for what, changes in edits.items()}
    for name, edits in (
        ("step_back", STEP_BACK),
        ("gaussians", GAUSSIANS),
        ("with_kl", WITH_KL),
        ("imitated_std", IMITATED_STD),
    )
}

for name, some in {
    "step_back": [nearly_symmetric, in_arrays_like_the_cost],
    "gaussians": [squares_less_square],
    "with_kl": [a_low_price_is_none, the_cost_itself, roughly_inverted],
    "imitated_std": [equal_rows_once],
}.items():
    WRONG[name] = [*WRONG[name], *some]

RIGHT = {
    "step_back": [step_by_solving, step_with_a_and_b, step_by_closing_the_loop],
    "gaussians": [gaussians_step_by_step, gaussians_by_weights, gaussians_sample_by_sample],
    "with_kl": [with_kl_step_by_step, with_kl_block_by_block, with_kl_by_einsum],
    "imitated_std": [std_of_the_mean_matrix, std_in_a_loop, std_by_diagonal],
}
