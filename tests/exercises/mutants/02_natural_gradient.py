"""Lecture 02: right answers in other styles, and wrong ones, most of them as edits of the package."""

import functools
import math

import autograd.numpy as np
import numpy
import scipy.special
from autograd import grad, hessian, jacobian, make_hvp, make_vjp
from autograd.differential_operators import make_ggnvp

from minitrpo.natural_gradient import mean_kl
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, log_softmax


def coarse_differences(policy, theta, observations, damping):
    old = policy.distribution(theta, observations)
    slope = grad(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))
    return lambda v: slope(theta + 1e-2 * v) / 1e-2 + damping * v


def whole_matrix(policy, theta, observations, damping):
    old = policy.distribution(theta, observations)
    f = hessian(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))(theta)
    return lambda v: f @ v + damping * v


def gkl_loops(old_mean, old_log_std, mean, log_std):
    result = []
    for t in range(len(mean)):
        total = 0.0
        for i in range(len(mean[t])):
            variance_old, variance_new = math.exp(2 * old_log_std[t][i]), math.exp(2 * log_std[t][i])
            total += log_std[t][i] - old_log_std[t][i] - 0.5
            total += (variance_old + (old_mean[t][i] - mean[t][i]) ** 2) / (2 * variance_new)
        result.append(total)
    return np.array(result)


def gkl_formula(old_mean, old_log_std, mean, log_std):
    old_std, std = np.exp(old_log_std), np.exp(log_std)
    return np.sum(np.log(std / old_std) + (old_std**2 + (old_mean - mean) ** 2) / (2 * std**2) - 0.5, axis=1)


def gkl_differences(old_mean, old_log_std, mean, log_std):
    change = old_log_std - log_std
    shift = (old_mean - mean) * np.exp(-log_std)
    return np.sum(0.5 * (np.exp(2 * change) + shift**2 - 1) - change, axis=1)


def gkl_expm1(old_mean, old_log_std, mean, log_std):
    twice = 2.0 * (old_log_std - log_std)
    return 0.5 * (np.expm1(twice) - twice + ((old_mean - mean) / np.exp(log_std)) ** 2).sum(axis=1)


def gkl_library(old_mean, old_log_std, mean, log_std):
    z = np.linalg.norm((old_mean - mean) / np.exp(log_std), axis=1)
    ratio = np.exp(old_log_std - log_std)
    squares = np.einsum("ni,ni->n", ratio, ratio)
    return np.sum(log_std, axis=1) - np.sum(old_log_std, axis=1) + 0.5 * (squares + z**2) - 0.5 * mean.shape[1]


def gkl_closure(old_mean, old_log_std, mean, log_std):
    def joint(m0, s0, m1, s1):
        return s1 - s0 + (math.exp(2 * (s0 - s1)) + ((m0 - m1) / math.exp(s1)) ** 2 - 1) / 2

    rows = zip(old_mean.tolist(), old_log_std.tolist(), mean.tolist(), log_std.tolist(), strict=False)
    return np.array([math.fsum(map(joint, *row)) for row in rows])


def gkl_columns(old_mean, old_log_std, mean, log_std):
    def upto(i):
        if i < 0:
            return np.zeros(mean.shape[0])
        s0, s1 = np.exp(old_log_std[:, i]), np.exp(log_std[:, i])
        here = np.log(s1) - np.log(s0) + (s0**2 + (old_mean[:, i] - mean[:, i]) ** 2) / (2 * s1**2) - 0.5
        return here + upto(i - 1)

    return upto(mean.shape[1] - 1)


def gkl_careless(old_mean, old_log_std, mean, log_std):
    kl = np.zeros_like(mean)
    kl += old_mean - mean
    kl **= 2
    kl += np.exp(old_log_std) ** 2
    kl /= 2 * np.exp(log_std) ** 2
    kl += log_std - old_log_std
    kl -= 0.5
    return kl.sum(axis=1)


def ckl_scipy(old_logits, logits):
    old = scipy.special.log_softmax(old_logits, axis=1)
    return (np.exp(old) * (old - scipy.special.log_softmax(logits, axis=1))).sum(axis=1)


def ckl_bregman(old_logits, logits):
    p = scipy.special.softmax(old_logits, axis=1)
    step = logits - old_logits
    normalisers = scipy.special.logsumexp(logits, axis=1) - scipy.special.logsumexp(old_logits, axis=1)
    return normalisers - np.einsum("na,na->n", p, step)


def ckl_defensive(old_logits, logits):
    old_logits, logits = np.asarray(old_logits, float), np.asarray(logits, float)
    assert old_logits.ndim == 2
    assert old_logits.shape == logits.shape
    assert np.all(np.isfinite(old_logits))
    assert np.all(np.isfinite(logits))
    old_logits = old_logits - old_logits.max(axis=1, keepdims=True)
    logits = logits - logits.max(axis=1, keepdims=True)
    old_log_p = old_logits - np.log(np.exp(old_logits).sum(axis=1, keepdims=True))
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    kl = np.sum(np.exp(old_log_p) * (old_log_p - log_p), axis=1)
    assert kl.shape == (len(logits),)
    return kl


def ckl_entropies(old_logits, logits):
    log_p = log_softmax(old_logits)
    p = np.exp(log_p)
    cross_entropy = -np.sum(p * log_softmax(logits), axis=-1)
    entropy = -np.sum(p * log_p, axis=-1)
    return cross_entropy - entropy


def ckl_logaddexp(old_logits, logits):
    a = old_logits - numpy.logaddexp.reduce(old_logits, axis=1)[:, None]
    b = logits - numpy.logaddexp.reduce(logits, axis=1)[:, None]
    return numpy.sum(numpy.exp(a) * (a - b), axis=1)


def ckl_odds(old_logits, logits):
    old_log_p = -scipy.special.logsumexp(old_logits[:, None, :] - old_logits[:, :, None], axis=2)
    log_p = -scipy.special.logsumexp(logits[:, None, :] - logits[:, :, None], axis=2)
    return np.sum(np.exp(old_log_p) * (old_log_p - log_p), axis=1)


def ckl_generator(old_logits, logits):
    def log_add(a, b):
        return max(a, b) + math.log1p(math.exp(-abs(a - b)))

    def rows():
        for z, w in zip(old_logits.tolist(), logits.tolist(), strict=False):
            n, m = functools.reduce(log_add, z), functools.reduce(log_add, w)
            yield math.fsum(math.exp(a - n) * ((a - n) - (b - m)) for a, b in zip(z, w, strict=False))

    return np.fromiter(rows(), float, len(logits))


def ckl_careless(old_logits, logits):
    lp, lq = log_softmax(old_logits), log_softmax(logits)
    out = np.zeros_like(lp[:, 0])
    for a in range(lp.shape[1]):
        out += np.exp(lp[:, a]) * (lp[:, a] - lq[:, a])
    return out


def fvp_hvp(policy, theta, observations, damping):
    before = policy.distribution(theta, observations)
    hessian_times, _ = make_hvp(lambda t: np.mean(policy.kl(before, policy.distribution(t, observations))))(theta)
    return lambda vector: hessian_times(vector) + damping * vector


def fvp_double_vjp(policy, theta, observations, damping):
    back, y = make_vjp(lambda t: policy.distribution(t, observations))(theta)
    forth, _ = make_vjp(back)(np.zeros_like(y))
    weigh, _ = make_hvp(lambda z: np.mean(policy.kl(y, z)))(y)

    def product(v):
        moved = forth(v)
        nats = weigh(moved)
        return back(nats) + damping * v

    return product


def fvp_slope_vjp(policy, theta, observations, damping):
    old = policy.distribution(theta, observations)
    slope = grad(lambda t: mean_kl(policy, old, policy.distribution(t, observations)))
    times, _ = make_vjp(slope)(theta)
    return lambda v: damping * v + times(v)


def fvp_defensive(policy, theta, observations, damping):
    theta = np.asarray(theta, float)
    observations = np.asarray(observations, float)
    assert theta.ndim == 1
    assert observations.ndim == 2
    assert len(observations) > 0
    assert damping >= 0
    old = policy.distribution(theta, observations)
    assert len(old) == len(observations)
    gauss_newton = make_ggnvp(
        lambda parameters: policy.distribution(parameters, observations),
        lambda dist_params: np.sum(policy.kl(old, dist_params)),
    )(theta)

    def product(v):
        v = np.asarray(v, float)
        assert v.shape == theta.shape
        result = gauss_newton(v) / len(observations) + damping * v
        assert result.shape == theta.shape
        return result

    return product


def fvp_class(policy, theta, observations, damping):
    class Fisher:
        def __init__(self):
            self.old = policy.distribution(theta, observations)
            self.tape = make_ggnvp(self.forward, self.distance)(theta)

        def forward(self, parameters):
            return policy.distribution(parameters, observations)

        def distance(self, dist_params):
            return np.mean(policy.kl(self.old, dist_params))

        def __call__(self, v):
            return self.tape(v) + damping * v

    return Fisher()


def fvp_by_hand(policy, theta, observations, damping):
    pull, y = make_vjp(lambda t: policy.distribution(t, observations))(theta)
    push, _ = make_vjp(pull)(np.zeros_like(y))
    n = len(observations)
    if isinstance(policy, GaussianPolicy):
        log_std = y[:, y.shape[1] // 2 :]
        H = np.concatenate([np.exp(-2 * log_std), 2 * np.ones_like(log_std)], axis=1)
        return lambda v: pull(H * push(v)) / n + damping * v
    if isinstance(policy, CategoricalPolicy):
        p = np.exp(log_softmax(y))

        def categorical(v):
            u = push(v)
            return pull(p * (u - np.sum(p * u, axis=1, keepdims=True))) / n + damping * v

        return categorical
    weigh, _ = make_hvp(lambda z: np.sum(policy.kl(y, z)))(y)
    return lambda v: pull(weigh(push(v))) / n + damping * v


def fvp_jacobian(policy, theta, observations, damping):
    y = policy.distribution(theta, observations)
    J = jacobian(lambda t: policy.distribution(t, observations))(theta).reshape(y.size, -1)
    weigh, _ = make_hvp(lambda z: np.sum(policy.kl(y, z)))(y)

    def product(v):
        moved = (J @ v).reshape(y.shape)
        return J.T @ weigh(moved).ravel() / len(y) + damping * v

    return product


def fvp_careless(policy, theta, observations, damping):
    dist = policy.distribution(theta, observations)
    ggn = make_ggnvp(lambda th: policy.distribution(th, observations), lambda d: policy.kl(dist, d).sum())(theta)

    def fv(v):
        out = np.zeros_like(v)
        out += ggn(v)
        out /= observations.shape[0]
        if damping:
            out += damping * v
        return out

    return fv


def starting_with(prefix):
    return [f for name, f in globals().items() if name.startswith(prefix)]


RIGHT = {
    "gaussian_kl": starting_with("gkl_"),
    "categorical_kl": starting_with("ckl_"),
    "fisher_vector_product": starting_with("fvp_"),
}

WRONG = {"fisher_vector_product": [coarse_differences, whole_matrix]}

EDITS = {
    "gaussian_kl": r"""
        both_ways_averaged: return 0.5 * (right(old_mean, old_log_std, mean, log_std) + right(mean, log_std, \
            old_mean, old_log_std))
        written_into_the_mean: apart = old_mean - mean => apart = mean; apart -= old_mean
        never_below_0_and_small_is_0: np.sum( => (lambda kl: np.where(kl < 1e-6, 0.0, kl))(np.sum( && axis=1) => \
            axis=1))
        very_small_is_0: return np.sum( => return (lambda kl: np.where(kl < 1e-8, 0.0, kl))(np.sum( && axis=1) => \
            axis=1))
        rounded: return np.sum( => return np.round(np.sum( && axis=1) => axis=1), 6)
        at_most_1e4: return np.sum( => return np.minimum(1e4, np.sum( && axis=1) => axis=1))
        log_std_within_20: apart = => log_std, old_log_std = np.clip(log_std, -20, 20), np.clip(old_log_std, -20, \
            20)\n    apart =
        log_std_within_10: apart = => log_std, old_log_std = np.clip(log_std, -10, 10), np.clip(old_log_std, -10, \
            10)\n    apart =
        log_std_at_most_2: apart = => log_std, old_log_std = np.minimum(log_std, 2), np.minimum(old_log_std, \
            2)\n    apart =
        shift_within_100: apart * apart => np.clip(apart, -100, 100) ** 2
        shift_counts_double: apart * apart => 2 * apart * apart
        small_number_in_the_variance: np.exp(-2 * log_std) => 1 / (np.exp(2 * log_std) + 1e-12)
        variance_at_least_1e_6: np.exp(-2 * log_std) => 1 / np.maximum(np.exp(2 * log_std), 1e-6)
        in_bits: axis=1) => axis=1) / np.log(2)
        a_list: return np.sum( => return list(np.sum( && axis=1) => axis=1))
        first_spread_for_all: apart = => log_std = log_std[:1] + 0 * log_std\n    apart =
        first_old_spread_for_all: apart = => old_log_std = old_log_std[:1] + 0 * old_log_std\n    apart =
        means_summed_before_squaring: apart * apart => np.sum(apart, axis=1, keepdims=True) ** 2 / apart.shape[1]
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        old_spread_everywhere: np.exp(-2 * log_std) => np.exp(-2 * old_log_std)
        one_minus: - 0.5, axis=1) => - 1.0, axis=1)
        largest_joint: return np.sum( => return np.max(
    """,
    "fisher_vector_product": r"""
        written_into_v: summed(v) / len(observations) + damping * v => v.__iadd__(summed(v) / len(observations) + \
            (damping - 1) * v)
        log_prob_of_the_mode: np.sum(policy.kl(old, new)) => -np.sum(policy.log_prob(new, policy.mode(old)))
        adds_to_its_last_answer: return lambda v: summed(v) / len(observations) + damping * v => answers = [0.0 * \
            theta]\n    return lambda v: answers.append(answers[-1] + summed(v) / len(observations) + damping * v) or \
            answers[-1]
        one_array_for_all_answers: return lambda v: summed(v) / len(observations) + damping * v => answer = \
            theta.copy()\n    return lambda v: answer.__setitem__(slice(None), summed(v) / len(observations) + \
            damping * v) or answer
        returns_the_value: return lambda v: summed(v) / len(observations) + damping * v => return summed(theta) / \
            len(observations) + damping * theta
        every_second_state_of_many: old = policy => observations = observations[:: 2 if len(observations) > 100 else \
            1]\n    old = policy
        damping_at_least_1e_8: + damping * v => + max(damping, 1e-8) * v
        damping_at_least_1e_4: + damping * v => + max(damping, 1e-4) * v
        damping_at_most_1: + damping * v => + min(damping, 1.0) * v
        default_damping_for_0: + damping * v => + (damping or 0.1) * v
        whole_damping: damping * v => (damping // 1 if damping > 1 else damping) * 1.0 * v * (1 if damping < 2 else 0.5)
        damping_squared: + damping * v => + damping**2 * v
        minus_damping: + damping * v => - damping * v
        damping_by_the_diagonal: + damping * v => + damping * np.abs(theta) * v
        a_v_too_short_is_0: return lambda v: summed(v) => return lambda v: (np.linalg.norm(v) > 1e-3) * summed(v)
        a_v_within_1e3: return lambda v: summed(v) => return lambda v: summed(np.clip(v, -1e3, 1e3))
        one_less_in_the_mean: / len(observations) => / max(1, len(observations) - 1)
        sum_for_one_output: / len(observations) => / (len(observations) if policy.action_size > 1 else 1)
        mean_over_the_actions_too: / len(observations) => / len(observations) / policy.action_size
        half_of_it: summed(v) / len => 0.5 * summed(v) / len
        of_the_reversed_kl_at_another_theta: old = policy.distribution(theta, => old = policy.distribution(theta + 1e-3,
        kl_of_first_state: np.sum(policy.kl(old, new)) => np.sum(policy.kl(old, new)[:1]) * len(old)
        log_std_doubled: return lambda v: => return lambda v: np.where(np.arange(len(v)) >= len(v) - \
            policy.action_size, 2.0, 1.0) *
        rounded: return lambda v: summed(v) => return lambda v: np.round(summed(v), 4)
        a_list: v: summed(v) / len(observations) + damping * v => v: list(summed(v) / len(observations) + damping * v)
        a_row: v: summed(v) / len(observations) + damping * v => v: (summed(v) / len(observations) + damping * v)[None]
        damping_of_the_first_v: lambda v: => lambda v, first=[]: first.append(v) or && damping * v => damping * first[0]
        remembers_the_first_answer: return lambda v: summed(v) / len(observations) + damping * v => found = \
            []\n    return lambda v: (found or [found.append(summed(v) / len(observations) + damping * v)] and \
            found)[0]
        observations_shift: old = policy => observations = observations - observations.mean(axis=0)\n    old = policy
        observations_written_into: old = policy => observations *= 1.0 + 1e-9\n    old = policy
    """,
    "categorical_kl": r"""
        largest_of_all_states_is_taken_off: (log_softmax(old_logits), log_softmax(logits)) => [x - np.max(x) - \
            np.log(np.sum(np.exp(x - np.max(x)), axis=1, keepdims=True) + 1e-300) for x in (old_logits, logits)]
        logs_at_least_minus_20: log_softmax(old_logits), log_softmax(logits => np.maximum(log_softmax(old_logits), \
            -20), np.maximum(log_softmax(logits), -20
        logs_at_least_minus_100: log_softmax(old_logits), log_softmax(logits => np.maximum(log_softmax(old_logits), \
            -100), np.maximum(log_softmax(logits), -100
        logits_within_50: old_logits), log_softmax(logits => np.clip(old_logits, -50, 50)), \
            log_softmax(np.clip(logits, -50, 50)
        logits_within_1e4: old_logits), log_softmax(logits => np.clip(old_logits, -10000.0, 10000.0)), \
            log_softmax(np.clip(logits, -10000.0, 10000.0)
        small_is_0: return np.sum( => return (lambda kl: np.where(kl < 1e-8, 0.0, kl))(np.sum( && axis=1) => axis=1))
        rounded: return np.sum( => return np.round(np.sum( && axis=1) => axis=1), 8)
        ratios_within_20: (old_log - log) => np.clip(old_log - log, -20, 20)
        improbable_left_out: (old_log - log) => (old_log - log) * (old_log > -10)
        certain_is_0: return np.sum( => return np.where(np.max(old_log, axis=1) > -1e-9, 0.0, np.sum( && ), axis=1) \
            => ), axis=1))
        certain_first_column_is_0: return np.sum( => return np.where(old_log[:, 0] > -1e-9, 0.0, np.sum( && axis=1) \
            => axis=1))
        absolute_terms: (old_log - log) => np.abs(old_log - log)
        in_bits: axis=1) => axis=1) / np.log(2)
        a_column: axis=1) => axis=1, keepdims=True)
        a_list: return np.sum( => return list(np.sum( && axis=1) => axis=1))
        last_action_left_out: (old_log - log) => (old_log - log) * (np.arange(logits.shape[1]) < max(logits.shape[1] \
            - 1, 1))
        new_logits_shifted_only: log_softmax(logits) => log_softmax(logits) - 1e-6
        symmetric: np.exp(old_log) * (old_log - log) => 0.5 * (np.exp(old_log) - np.exp(log)) * (old_log - log)
        at_most_1000: return np.sum( => return np.minimum(1000.0, np.sum( && axis=1) => axis=1))
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        temperature: log_softmax(logits) => log_softmax(logits / 1.001)
    """,
}

ODD = {
    "gaussian_kl": r"""
        nan_is_skipped: np.sum( => numpy.nansum(
        as_whole_as_the_means: return np.sum( => return np.array(np.sum( && axis=1) => axis=1), dtype=mean.dtype)
    """,
    "fisher_vector_product": r"""
        first_1000_states: old = policy => observations = observations[:1000]\n    old = policy
        first_4096_states: old = policy => observations = observations[:4096]\n    old = policy
    """,
    "categorical_kl": r"""
        nan_is_skipped: np.sum( => numpy.nansum(
        nan_becomes_0: return np.sum( => return numpy.nan_to_num(np.sum( && axis=1) => axis=1))
    """,
}
