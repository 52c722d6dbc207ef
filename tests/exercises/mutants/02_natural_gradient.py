"""Lecture 02: right answers in other styles, and wrong ones, most of them as edits of the package."""

import autograd.numpy as np
import numpy
from autograd import grad, hessian, make_jvp, make_vjp
from autograd.differential_operators import make_ggnvp
from scipy import special

from minitrpo.natural_gradient import mean_kl
from minitrpo.policies import log_softmax


def coarse_differences(policy, theta, observations, damping):
    old = policy.distribution(theta, observations)
    slope = grad(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))
    return lambda v: slope(theta + 1e-2 * v) / 1e-2 + damping * v


def whole_matrix(policy, theta, observations, damping):
    """Right numbers; P x P of them."""
    old = policy.distribution(theta, observations)
    f = hessian(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))(theta)
    return lambda v: f @ v + damping * v


def gaussian_through_variances(old_mean, old_log_std, mean, log_std):
    """Trace, distance and determinant, joint by joint, as in textbooks on multivariate Gaussians."""
    total = 0.0
    for j in range(mean.shape[1]):
        old_variance, variance = np.exp(old_log_std[:, j]) ** 2, np.exp(log_std[:, j]) ** 2
        shift = mean[:, j] - old_mean[:, j]
        total = total + 0.5 * (old_variance / variance - 1 + shift * shift / variance - np.log(old_variance / variance))
    return total


def categorical_through_scipy(old_logits, logits):
    p = special.softmax(old_logits, axis=1)
    return np.einsum("ij,ij->i", p, special.log_softmax(old_logits, axis=1) - special.log_softmax(logits, axis=1))


def through_log_sum_exp(old_logits, logits):
    old_sum, new_sum = special.logsumexp(old_logits, axis=1), special.logsumexp(logits, axis=1)
    p = np.exp(old_logits - old_sum[:, None])
    return np.sum(p * (old_logits - logits), axis=1) - old_sum + new_sum


def double_gradient(policy, theta, observations, damping):
    """Jacobian forwards, Hessian of the KL in the distribution parameters, Jacobian backwards."""
    old = policy.distribution(theta, observations)
    forwards = make_jvp(lambda theta: policy.distribution(theta, observations))(theta)
    backwards, _ = make_vjp(lambda theta: policy.distribution(theta, observations))(theta)
    curved = make_jvp(grad(lambda new: np.mean(policy.kl(old, new))))(old)

    def product(v):
        return backwards(curved(forwards(v)[1])[1]) + damping * v

    return product


def joint_by_joint_in_std(old_mean, old_log_std, mean, log_std):
    """With standard deviations written out, absolute as every joint's distance is."""
    old_std, std = np.exp(old_log_std), np.exp(log_std)
    each = np.log(std) - np.log(old_std) + (old_std**2 + (old_mean - mean) ** 2) / (2 * std**2) - 0.5
    return np.sum(each, axis=-1)


def with_ratios(old_mean, old_log_std, mean, log_std):
    """In units of the new standard deviation."""
    log_ratio = old_log_std - log_std
    shift = (mean - old_mean) / np.exp(log_std)
    return 0.5 * (np.exp(log_ratio) ** 2 + shift**2 - 1.0 - 2.0 * log_ratio).sum(axis=1)


def state_by_state(old_logits, logits):
    """A loop over the states, with scipy's logarithm of a sum of exponentials."""
    result = numpy.zeros(len(logits))
    for i, (a, b) in enumerate(zip(old_logits, logits, strict=True)):
        a, b = a - special.logsumexp(a), b - special.logsumexp(b)
        result[i] = numpy.exp(a) @ (a - b)
    return result


def cross_entropy_less_entropy(old_logits, logits):
    """Two sums."""
    p = np.exp(log_softmax(old_logits))
    return (p * log_softmax(old_logits)).sum(axis=1) - (p * log_softmax(logits)).sum(axis=1)


def with_the_mean_inside(policy, theta, observations, damping):
    """The mean is taken by the inner function."""
    old = policy.distribution(theta, observations)
    mean = make_ggnvp(lambda t: policy.distribution(t, observations), lambda new: mean_kl(policy, old, new))(theta)

    def product(v):
        return np.array(mean(v)) + damping * np.array(v)

    return product


def built_anew_each_time(policy, theta, observations, damping):
    """Slower, and right: the tape is built in every product."""

    def product(v):
        old = policy.distribution(theta, observations)
        whole = make_ggnvp(lambda t: policy.distribution(t, observations), lambda new: np.sum(policy.kl(old, new)))
        return whole(theta)(v) / observations.shape[0] + v * damping

    return product


RIGHT = {
    "gaussian_kl": [gaussian_through_variances, joint_by_joint_in_std, with_ratios],
    "categorical_kl": [categorical_through_scipy, state_by_state, cross_entropy_less_entropy, through_log_sum_exp],
    "fisher_vector_product": [double_gradient, with_the_mean_inside, built_anew_each_time],
}

WRONG = {"fisher_vector_product": [coarse_differences, whole_matrix]}

EDITS = {
    "gaussian_kl": r"""
        both_ways_averaged: return 0.5 * (right(old_mean, old_log_std, mean, log_std) + right(mean, log_std, \
            old_mean, old_log_std))
        log_std_taken_for_std: return np.sum(np.log(np.abs(log_std / old_log_std)) + 0.5 * (old_log_std**2 + \
            (old_mean - mean) ** 2) / log_std**2 - 0.5, axis=1)
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
        nan_is_skipped: np.sum( => numpy.nansum(
        first_spread_for_all: apart = => log_std = log_std[:1] + 0 * log_std\n    apart =
        first_old_spread_for_all: apart = => old_log_std = old_log_std[:1] + 0 * old_log_std\n    apart =
        means_summed_before_squaring: apart * apart => np.sum(apart, axis=1, keepdims=True) ** 2 / apart.shape[1]
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        as_whole_as_the_means: return np.sum( => return np.array(np.sum( && axis=1) => axis=1), dtype=mean.dtype)
        old_spread_everywhere: np.exp(-2 * log_std) => np.exp(-2 * old_log_std)
        half_forgotten_for_the_means: apart * apart => 2.0 * apart**2
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
        first_1000_states: old = policy => observations = observations[:1000]\n    old = policy
        first_4096_states: old = policy => observations = observations[:4096]\n    old = policy
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
        nan_is_skipped: np.sum( => numpy.nansum(
        nan_becomes_0: return np.sum( => return numpy.nan_to_num(np.sum( && axis=1) => axis=1))
        last_action_left_out: (old_log - log) => (old_log - log) * (np.arange(logits.shape[1]) < max(logits.shape[1] \
            - 1, 1))
        new_logits_shifted_only: log_softmax(logits) => log_softmax(logits) - 1e-6
        symmetric: np.exp(old_log) * (old_log - log) => 0.5 * (np.exp(old_log) - np.exp(log)) * (old_log - log)
        at_most_1000: return np.sum( => return np.minimum(1000.0, np.sum( && axis=1) => axis=1))
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        temperature: log_softmax(logits) => log_softmax(logits / 1.001)
    """,
}
