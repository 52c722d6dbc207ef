"""Lecture 02: right answers in other styles, and wrong ones."""

import functools
import math

import autograd.numpy as np
import numpy
import scipy.special
from autograd import grad, hessian, make_hvp, make_vjp
from autograd.differential_operators import make_ggnvp

from minitrpo.policies import GaussianPolicy, log_softmax


def gaussian_kl_loops(old_mean, old_log_std, mean, log_std):
    result = []
    for t in range(len(mean)):
        total = 0.0
        for m0, s0, m1, s1 in zip(old_mean[t], old_log_std[t], mean[t], log_std[t], strict=True):
            total += s1 - s0 - 0.5
            total += (math.exp(2 * s0) + (m0 - m1) ** 2) / (2 * math.exp(2 * s1))
        result.append(total)
    return np.array(result)


def gaussian_kl_columns(old_mean, old_log_std, mean, log_std):
    def upto(i):
        if i < 0:
            return np.zeros(mean.shape[0])
        s0, s1 = np.exp(old_log_std[:, i]), np.exp(log_std[:, i])
        here = np.log(s1) - np.log(s0) + (s0**2 + (old_mean[:, i] - mean[:, i]) ** 2) / (2 * s1**2) - 0.5
        return here + upto(i - 1)

    return upto(mean.shape[1] - 1)


def categorical_kl_generator(old_logits, logits):
    def log_add(a, b):
        return max(a, b) + math.log1p(math.exp(-abs(a - b)))

    def rows():
        for z, w in zip(old_logits.tolist(), logits.tolist(), strict=True):
            n, m = functools.reduce(log_add, z), functools.reduce(log_add, w)
            yield math.fsum(math.exp(a - n) * ((a - n) - (b - m)) for a, b in zip(z, w, strict=True))

    return np.fromiter(rows(), float, len(logits))


def categorical_kl_columns(old_logits, logits):
    assert np.all(np.isfinite(old_logits))
    lp, lq = log_softmax(old_logits), log_softmax(logits)
    out = np.zeros_like(lp[:, 0])
    for a in range(lp.shape[1]):
        out += np.exp(lp[:, a]) * (lp[:, a] - lq[:, a])
    return out


def fisher_vector_product_there_and_back(policy, theta, observations, damping):
    back, y = make_vjp(lambda t: policy.distribution(t, observations))(theta)
    forth, _ = make_vjp(back)(np.zeros_like(y))
    weigh, _ = make_hvp(lambda z: np.mean(policy.kl(y, z)))(y)
    return lambda v: back(weigh(forth(v))) + damping * v


def fisher_vector_product_by_hand(policy, theta, observations, damping):
    back, y = make_vjp(lambda t: policy.distribution(t, observations))(theta)
    forth, _ = make_vjp(back)(np.zeros_like(y))

    def weigh(u):
        if isinstance(policy, GaussianPolicy):
            log_std = y[:, y.shape[1] // 2 :]
            return np.concatenate([np.exp(-2 * log_std), 2 * np.ones_like(log_std)], axis=1) * u
        p = np.exp(log_softmax(y))
        return p * (u - np.sum(p * u, axis=1, keepdims=True))

    return lambda v: back(weigh(forth(v))) / len(observations) + damping * v


RIGHT = {
    "gaussian_kl": r"""
        one_expression: return np.sum(np.log(np.exp(log_std) / np.exp(old_log_std)) + (np.exp(old_log_std) ** 2 \
            + (old_mean - mean) ** 2) / (2 * np.exp(log_std) ** 2) - 0.5, axis=1)
        differences: 0.5 * square * np.exp(-2 * log_std) => 0.5 * (np.exp(2 * (old_log_std - log_std)) \
            + (apart * np.exp(-log_std)) ** 2)
        small_differences: return 0.5 * (np.expm1(2 * (old_log_std - log_std)) - 2 * (old_log_std - log_std) \
            + ((old_mean - mean) / np.exp(log_std)) ** 2).sum(axis=1)
        four_sums: np.sum(log_std - old_log_std + 0.5 * square * np.exp(-2 * log_std) - 0.5, axis=1) => \
            log_std.sum(axis=1) - old_log_std.sum(axis=1) - 0.5 * apart.shape[1] \
            + 0.5 * np.linalg.norm(np.sqrt(square) / np.exp(log_std), axis=1) ** 2
        exact_sums: np.sum(log_std - old_log_std + 0.5 * square * np.exp(-2 * log_std) - 0.5, axis=1) => \
            np.array([math.fsum(row) for row in log_std - old_log_std + square / (2 * np.exp(2 * log_std)) - 0.5])
    """,
    "categorical_kl": r"""
        library: return np.sum(scipy.special.softmax(old_logits, axis=1) * (scipy.special.log_softmax(old_logits, \
            axis=1) - scipy.special.log_softmax(logits, axis=1)), axis=1)
        normalisers: return scipy.special.logsumexp(logits, axis=1) - scipy.special.logsumexp(old_logits, axis=1) \
            - np.einsum("na,na->n", scipy.special.softmax(old_logits, axis=1), logits - old_logits)
        largest_taken_off: (log_softmax(old_logits), log_softmax(logits)) => [z - np.log(np.exp(z).sum(axis=1, \
            keepdims=True)) for z in (x - x.max(axis=1, keepdims=True) for x in (old_logits, logits))]
        entropies: np.sum(np.exp(old_log) * (old_log - log), axis=1) => \
            np.sum(np.exp(old_log) * old_log, axis=-1) - np.sum(np.exp(old_log) * log, axis=-1)
        logaddexp: (log_softmax(old_logits), log_softmax(logits)) => [z - numpy.logaddexp.reduce(z, axis=1)[:, None] \
            for z in (old_logits, logits)]
        odds: (log_softmax(old_logits), log_softmax(logits)) => [-scipy.special.logsumexp(z[:, None, :] - \
            z[:, :, None], axis=2) for z in (old_logits, logits)]
    """,
    "fisher_vector_product": r"""
        hessian_times: make_ggnvp(lambda theta: policy.distribution(theta, observations), lambda new: \
            np.sum(policy.kl(old, new)))(theta) => \
            make_hvp(lambda theta: np.sum(policy.kl(old, policy.distribution(theta, observations))))(theta)[0]
        slope_backwards: make_ggnvp(lambda theta: policy.distribution(theta, observations), lambda new: \
            np.sum(policy.kl(old, new)))(theta) => \
            make_vjp(grad(lambda theta: np.sum(policy.kl(old, policy.distribution(theta, observations)))))(theta)[0]
        defensive: lambda v: summed(v) => lambda v: summed(np.asarray(v, float)) && damping * v => float(damping) * v
    """,
}

WRONG = {
    "gaussian_kl": r"""
        both_ways_averaged: return 0.5 * (right(old_mean, old_log_std, mean, log_std) + right(mean, log_std, \
            old_mean, old_log_std))
        written_into_the_mean: apart = old_mean - mean => apart = mean; apart -= old_mean
        very_small_is_0: return np.sum( => return (lambda kl: np.where(kl < 1e-8, 0.0, kl))(np.sum( && axis=1) => \
            axis=1))
        at_most_1e4: return np.sum( => return np.minimum(1e4, np.sum( && axis=1) => axis=1))
        log_std_within_20: apart = => log_std, old_log_std = np.clip(log_std, -20, 20), np.clip(old_log_std, -20, \
            20)\n    apart =
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
        damping_at_most_1: + damping * v => + min(damping, 1.0) * v
        default_damping_for_0: + damping * v => + (damping or 0.1) * v
        damping_squared: + damping * v => + damping**2 * v
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
        coarse_differences: summed(v) / len(observations) => grad(lambda theta: np.mean(policy.kl(old, \
            policy.distribution(theta, observations))))(theta + 1e-2 * v) / 1e-2
        whole_matrix: return lambda v: summed(v) / len(observations) => matrix = hessian(lambda theta: \
            np.mean(policy.kl( old, policy.distribution(theta, observations))))(theta)\n    return lambda v: matrix @ v
    """,
    "categorical_kl": r"""
        largest_of_all_states_is_taken_off: (log_softmax(old_logits), log_softmax(logits)) => [x - np.max(x) - \
            np.log(np.sum(np.exp(x - np.max(x)), axis=1, keepdims=True) + 1e-300) for x in (old_logits, logits)]
        logs_at_least_minus_100: log_softmax(old_logits), log_softmax(logits => np.maximum(log_softmax(old_logits), \
            -100), np.maximum(log_softmax(logits), -100
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
