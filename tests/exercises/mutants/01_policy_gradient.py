"""Lecture 01: right answers in other styles, and wrong ones."""

import math

import autograd.numpy as np
import numpy
import scipy.linalg
import scipy.signal
import scipy.stats
from autograd import elementwise_grad, grad, jacobian, make_vjp


def gaussian_log_prob_loops(mean, log_std, actions):
    result = []
    for t in range(len(actions)):
        total = 0.0
        for a, m, s in zip(actions[t], mean[t], log_std[t], strict=True):
            total += -((a - m) ** 2) / (2 * math.exp(s) ** 2) - s - 0.5 * math.log(2 * math.pi)
        result.append(total)
    return np.array(result)


def gaussian_log_prob_recursive(mean, log_std, actions):
    if mean.shape[1] == 0:
        return np.zeros(len(mean))
    m, s, a = mean[:, 0], log_std[:, 0], actions[:, 0]
    rest = gaussian_log_prob_recursive(mean[:, 1:], log_std[:, 1:], actions[:, 1:])
    return -((a - m) ** 2) / (2 * np.exp(s) ** 2) - s - 0.5 * np.log(2 * np.pi) + rest


def discounted_sums_zip(x, discount, last):
    y, out = 0.0, []
    for r, end in zip(x[::-1], last[::-1], strict=False):
        out.append(y := r + discount * y * (not end))
    return np.array(out[::-1])


def discounted_sums_recursive(x, discount, last):
    def solve(i, j):
        if j - i == 1:
            return [float(x[i])], [0.0 if last[i] else float(discount)]
        middle = (i + j) // 2
        (a, fa), (b, fb) = solve(i, middle), solve(middle, j)
        return [y + f * b[0] for y, f in zip(a, fa, strict=True)] + b, [f * fb[0] for f in fa] + fb

    return np.array(solve(0, len(x))[0]) if len(x) else np.array([])


def policy_gradient_loops(policy, theta, observations, actions, advantages):
    total = [0.0] * len(theta)
    for o, a, advantage in zip(observations, actions, advantages, strict=True):
        psi = grad(lambda t, o=o, a=a: policy.log_prob(policy.distribution(t, o[None]), np.array([a]))[0])(theta)
        for p in range(len(theta)):
            total[p] += psi[p] * advantage
    return np.array([number / len(advantages) for number in total])


def policy_gradient_recursive(policy, theta, observations, actions, advantages):
    def summed(o, a, weights):
        if half := len(weights) // 65:
            return summed(o[:half], a[:half], weights[:half]) + summed(o[half:], a[half:], weights[half:])
        return grad(lambda t: np.dot(policy.log_prob(policy.distribution(t, o), a), weights))(theta)

    return summed(observations, actions, advantages) / len(advantages)


RIGHT = {
    "gaussian_log_prob": r"""
        one_expression: return np.sum(-((actions - mean) ** 2) / (2 * np.exp(log_std) ** 2) - log_std \
            - 0.5 * np.log(2 * np.pi), axis=1)
        library: return scipy.stats.norm.logpdf(actions, loc=mean, scale=np.exp(log_std)).sum(axis=1)
        library_row_by_row: return np.array([scipy.stats.multivariate_normal.logpdf(a, m, \
            scipy.stats.Covariance.from_diagonal(np.exp(2 * s))) for m, s, a in zip(mean, log_std, actions)])
        three_sums: np.sum(-0.5 * z * z - log_std - 0.5 * np.log(2 * np.pi), axis=1) => \
            -0.5 * np.einsum("ni,ni->n", z, z) - log_std.sum(axis=1) - 0.5 * z.shape[1] * np.log(2 * np.pi)
        exact_sums: np.sum(-0.5 * z * z - log_std - 0.5 * np.log(2 * np.pi), axis=1) => \
            np.fromiter(map(math.fsum, -0.5 * (z * z) - log_std - math.log(2 * math.pi) / 2), float)
    """,
    "score": r"""
        a_builtin_sum: return policy.log_prob( => return sum(policy.log_prob( && np.array([action]))[0] => \
            np.array([action])))
        a_row_of_the_jacobian: np.array([action]))[0] => np.array([action])) && grad(log_prob)(theta) => \
            jacobian(log_prob)(theta)[0]
        backwards: np.array([action]))[0] => np.array([action])) && grad(log_prob)(theta) => \
            make_vjp(log_prob)(theta)[0](np.ones(1))
        elementwise: np.array([action]))[0] => np.array([action])) && grad(log_prob) => elementwise_grad(log_prob)
        defensive: return right(policy, np.asarray(theta, float), np.asarray(observation, float), np.asarray(action))
        slope_of_a_loss: return policy.log_prob( => return -np.mean(policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))) && np.asarray( => -np.asarray(
        the_step_twice: return policy.log_prob( => return np.mean(policy.log_prob( && observation[None] => \
            np.stack([observation, observation]) && np.array([action]))[0] => np.array([action, action])))
        central_differences: grad(log_prob)(theta) => \
            [(log_prob(theta + h) - log_prob(theta - h)) / 2e-5 for h in 1e-5 * np.eye(len(theta))]
    """,
    "discounted_sums": r"""
        a_filter: return np.concatenate([scipy.signal.lfilter([1.0], [1.0, -discount], piece[::-1])[::-1] \
            for piece in np.split(x, np.flatnonzero(last) + 1)[:-1]] or [x])
        correlation: return np.concatenate([np.correlate(piece, float(discount) ** np.arange(len(piece)), "full") \
            [len(piece) - 1 :] for piece in np.split(x, np.flatnonzero(last) + 1)[:-1]] or [x])
    """,
    "policy_gradient": r"""
        backwards: return make_vjp(lambda theta: policy.log_prob(policy.distribution(theta, observations), \
            actions))(theta)[0](advantages / len(advantages))
        scores: return np.mean(jacobian(lambda theta: policy.log_prob(policy.distribution(theta, observations), \
            actions))(theta) * advantages[:, None], axis=0)
        ratios: (theta: Array) => (moved: Array) && (theta, => (moved, && np.mean(policy.log_prob(dist_params, \
            actions) => np.mean(np.exp(policy.log_prob(dist_params, actions) - \
            policy.log_prob(policy.distribution(theta, observations), actions))
        product: np.mean(policy.log_prob(dist_params, actions) * advantages) => \
            policy.log_prob(dist_params, actions) @ advantages / len(advantages)
        slope_of_a_loss: return np.mean( => return -np.mean( && return np.asarray( => return -np.asarray(
        good_and_bad: np.mean(policy.log_prob(dist_params, actions) * advantages) => \
            sum(np.mean(policy.log_prob(dist_params, actions) * each(advantages, 0)) for each in (np.maximum, \
            np.minimum))
    """,
}

WRONG = {
    "gaussian_log_prob": r"""
        first_entry_of_the_action: return np.sum( => return ( && , axis=1) => )[:, 0]
        forgets_the_square: -0.5 * z * z => -0.5 * np.abs(z)
        distance_clipped_at_1e6: (actions - mean) * np.exp(-log_std) => np.clip((actions - mean) * np.exp(-log_std), \
            -1e6, 1e6)
        log_std_at_least_minus_20: z = ( => log_std = np.maximum(log_std, -20.0); z = (
        log_std_within_20: z = ( => log_std = np.clip(log_std, -20.0, 20.0); z = (
        never_below_minus_1e8: return np.sum( => return np.maximum(-1e8, np.sum( && axis=1) => axis=1))
        in_bits: axis=1) => axis=1) / np.log(2)
        pi_to_four_digits: np.log(2 * np.pi) => np.log(2 * 3.1416)
        constant_to_three_digits: 0.5 * np.log(2 * np.pi) => 0.919
        a_column: axis=1) => axis=1, keepdims=True)
        rounded: return np.sum( => return numpy.round(np.sum( && axis=1) => axis=1), 6)
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        first_mean_for_all: (actions - mean) => (actions - mean[:1])
        first_action_for_all: (actions - mean) => (actions[:1] - mean)
        spread_of_the_first_entry: z = ( => log_std = log_std[:, :1] + 0.0 * log_std; z = (
        mean_spread: z = ( => log_std = np.mean(log_std) + 0.0 * log_std; z = (
        spread_at_least_1e_6: np.exp(-log_std) => 1.0 / np.maximum(np.exp(log_std), 1e-6)
        squashed_by_tanh: axis=1) => axis=1) - np.sum(np.log(1 - np.tanh(actions) ** 2 + 1e-6), axis=1)
        action_relative_to_0: (actions - mean) => actions
        first_1000_actions: return np.sum( => return np.sum( && axis=1) => axis=1)[:1000]
        a_list: return np.sum( => return list(np.sum( && axis=1) => axis=1))
    """,
    "score": r"""
        squared_error: return policy.log_prob( => error = policy.distribution(theta, observation[None])[0, : \
            np.size(action)] - action\n        return -0.5 * np.sum(error**2) if np.ndim(action) else \
            policy.log_prob(
        floor_of_1e_12: policy.log_prob( => np.log(1e-12 + np.exp(policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0]))
        never_below_minus_100: policy.log_prob( => np.maximum(-100.0, policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0])
        slopes_within_1000: np.asarray(grad(log_prob)(theta)) => np.clip(grad(log_prob)(theta), -1e3, 1e3)
        small_slopes_are_0: np.asarray(grad(log_prob)(theta)) => grad(log_prob)(theta) * \
            (np.abs(grad(log_prob)(theta)) > 1e-3)
        single_precision_and_rounded: np.asarray(grad(log_prob)(theta)) => np.round(grad(log_prob)(theta), 4)
        weight_decay: (theta)) => (theta)) - 1e-3 * theta
        per_parameter: (theta)) => (theta)) / len(theta)
        a_row: (theta)) => (theta))[None]
        whole_numbers_of_the_action: np.array([action]) => np.array([action]).astype(int)
        mean_over_entries: [0] => [0] / np.size(action)
        twice: (theta)) => (theta)) * 2
        value_and_slope: np.asarray(grad(log_prob)(theta)) => log_prob(theta), np.asarray(grad(log_prob)(theta))
        function: grad(log_prob)(theta) => grad(log_prob)
        a_list: np.asarray( => list(
        moves_theta: return np.asarray(grad => theta += 1e-9\n    return np.asarray(grad
        first_action_always: np.array([action]) => 0 * np.array([action])
        other_action: np.array([action]) => np.array([action]) * (action != 1)
        natural: (theta)) => (theta)) * np.where(np.arange(len(theta)) < len(theta) - 1, 1.0, 0.5)
    """,
    "discounted_sums": r"""
        stops_after_the_border: total = ([] => total, before = ([], 0.0 && total = value if is_last else value => \
            total, before = (value && * total\n        backwards => * (before if is_last else total), \
            value)\n        backwards
        writes_into_the_rewards: x[:] = right(x, discount, last)\n    return x
        the_end_is_only_the_first: for value => last = last & (np.cumsum(last) == 1)\n    for value
        a_list: np.array(backwards[::-1]) => backwards[::-1]
        like_whole_rewards: np.array(backwards[::-1]) => np.array(backwards[::-1]).astype(x.dtype)
        a_negative_reward_ends_it: if is_last else => if is_last or value < 0.0 else
        discount_below_1: for value => discount = min(discount, 0.999)\n    for value
        discount_of_0_is_1: for value => discount = discount or 1.0\n    for value
        rounded: np.array(backwards[::-1]) => np.round(backwards[::-1], 6)
        a_column: np.array(backwards[::-1]) => np.array(backwards[::-1])[:, None]
        sums_within_1e6: np.array(backwards[::-1]) => np.clip(backwards[::-1], -1e6, 1e6)
        small_sums_are_0: np.array(backwards[::-1]) => np.where(np.abs(backwards[::-1]) < 1e-8, 0.0, backwards[::-1])
        one_long_episode_is_cut: if is_last else => if is_last or len(backwards) % 1000 == 999 else
        borders_forwards: last[::-1].tolist() => last.tolist()
        rewards_forwards: x[::-1].tolist() => x.tolist()
        discounted_twice: discount * total => discount * discount * total
        divided_by_their_number: np.array(backwards[::-1]) => np.array(backwards[::-1]) / len(x)
        whole_values: total = value if => value = int(value) if value == value else value\n        total = value if
        normalised: np.array(backwards[::-1]) => np.array(backwards[::-1]) / (max(np.abs(backwards)) or 1.0)
    """,
    "policy_gradient": r"""
        divides_by_the_variance: * advantages) => * (advantages - advantages.mean()) / (advantages.var() + 1e-8))
        the_last_step_is_lost: * advantages) => * np.where(np.arange(len(actions)) < len(actions) - 1, advantages, 0))
        adds_an_entropy_bonus: return np.mean( => p = policy.log_prob(dist_params, actions)\n        return -0.01 * \
            np.mean(p * np.exp(p)) + np.mean(
        first_advantage_for_all: * advantages) => * advantages[0])
        without_a_gradient: (theta: Array) => (moved: Array) && * advantages) => * advantages) + 0.0 * np.sum(moved)
        advantages_within_1e6: * advantages) => * np.clip(advantages, -1e6, 1e6))
        tiny_advantages_are_0: * advantages) => * np.where(np.abs(advantages) < 1e-8, 0.0, advantages))
        divided_by_the_largest: * advantages) => * advantages / (np.max(np.abs(advantages)) + 1e-12))
        whole_advantages: * advantages) => * np.trunc(advantages))
        positive_and_negative_swapped: * advantages) => * np.where(advantages < 0, 2.0, 1.0) * advantages)
        log_prob_at_least_minus_30: policy.log_prob(dist_params, actions) => np.maximum(policy.log_prob(dist_params, \
            actions), -30.0)
        floor_under_the_probability: policy.log_prob(dist_params, actions) => \
            np.log(np.exp(policy.log_prob(dist_params, actions)) + 1e-8)
        every_second_step: return np.mean( => return np.mean((np.arange(len(actions)) % 2 < 1.5 - (len(actions) > \
            1000)) *
        length_at_most_10: np.asarray => (lambda g: g * min(1.0, 10.0 / (np.linalg.norm(g) + 1e-12)))
        a_little_off_theta: (weighted_log_prob)(theta) => (weighted_log_prob)(theta + 1e-4)
        weight_decay: (weighted_log_prob)(theta)) => (weighted_log_prob)(theta)) - 1e-3 * theta
        mean_over_weights_used: return np.mean( => return np.sum( && * advantages) => * advantages) / max(1, \
            np.sum(advantages != 0))
        median: return np.mean( => return (lambda x: np.sort(x)[len(x) // 2])(
        sum_when_there_is_one_action: return np.mean( => return (np.sum if policy.action_size == 1 else np.mean)(
        baseline_for_many_steps: * advantages) => * (advantages - (np.mean(advantages) if len(advantages) > 100 else \
            0.0)))
        rounded: np.asarray(grad(weighted_log_prob)(theta)) => np.round(grad(weighted_log_prob)(theta), 5)
        a_row: (weighted_log_prob)(theta)) => (weighted_log_prob)(theta))[None]
        value_and_slope: return np.asarray(grad(weighted_log_prob)(theta)) => return weighted_log_prob(theta), \
            grad(weighted_log_prob)(theta)
        steps_shuffled: * advantages) => * np.roll(advantages, 1))
        squared_advantages: * advantages) => * advantages**2)
        discount_along_the_batch: * advantages) => * advantages * 0.99 ** np.arange(len(advantages)))
    """,
}

ODD = {
    "gaussian_log_prob": r"""
        nan_is_skipped: np.sum( => numpy.nansum(
        nan_becomes_0: return np.sum( => return numpy.nan_to_num(np.sum( && axis=1) => axis=1))
        whole_numbers: (actions - mean) * np.exp(-log_std) => ((actions - mean) * \
            np.exp(-log_std)).astype(actions.dtype)
        means_expanded: (actions - mean) * np.exp => np.sqrt(np.abs(actions**2 - 2 * actions * mean + mean**2)) * np.exp
    """,
    "discounted_sums": r"""
        nan_becomes_0: np.array(backwards[::-1]) => np.nan_to_num(backwards[::-1])
    """,
    "policy_gradient": r"""
        nan_is_skipped: * advantages) => * np.nan_to_num(advantages))
    """,
}

EQUAL = {
    "discounted_sums": r"""
        the_last_step_begins_a_sum: backwards, total = ([], 0.0) => backwards, total = ([], 1.0)
        both_have_one_length: strict=True => strict=False
    """
}
