"""Lecture 01: right answers in other styles, and wrong ones, most of them as edits of the package."""

import autograd.numpy as np
import numpy
from autograd import grad, jacobian
from scipy import signal, stats


def log_pi(policy, theta, observation, action):
    return policy.log_prob(policy.distribution(theta, observation[None]), np.array([action]))[0]


def log_probs(policy, theta, observations, actions):
    return policy.log_prob(policy.distribution(theta, observations), actions)


def one_density_at_a_time(mean, log_std, actions):
    """The textbook's formula for the multivariate normal, step by step."""
    result = numpy.zeros(len(actions))
    for t, (m, s, a) in enumerate(zip(mean, numpy.exp(log_std), actions, strict=True)):
        precision = numpy.diag(1 / s**2)
        _, log_determinant = numpy.linalg.slogdet(2 * numpy.pi * numpy.diag(s**2))
        result[t] = -0.5 * (a - m) @ precision @ (a - m) - 0.5 * log_determinant
    return result


def central_differences(policy, theta, observation, action):
    """No autograd at all."""
    h, slope = 1e-5, []
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i] += h
        down[i] -= h
        slope.append((log_pi(policy, up, observation, action) - log_pi(policy, down, observation, action)) / (2 * h))
    return numpy.array(slope)


def with_arrays(x, discount, last):
    """One small matrix of discounts per episode."""
    parts = np.split(x, np.flatnonzero(last) + 1)
    result = []
    for part in parts:
        k = np.arange(len(part))
        powers = np.where(k[None] >= k[:, None], float(discount) ** np.maximum(k[None] - k[:, None], 0), 0.0)
        result.append(powers @ part)
    return np.concatenate(result)


def through_scipy(mean, log_std, actions):
    """Somebody else's density."""
    return stats.norm.logpdf(actions, loc=mean, scale=numpy.exp(log_std)).sum(axis=1)


def terms_apart(mean, log_std, actions):
    """Three sums, the constant once for all entries."""
    distance = ((actions - mean) ** 2 / np.exp(2 * log_std)).sum(axis=1)
    return -0.5 * (distance + 2 * log_std.sum(axis=1) + mean.shape[1] * np.log(2 * np.pi))


def entry_by_entry(mean, log_std, actions):
    """A loop over the columns."""
    total = 0.0
    for m, s, a in zip(mean.T, log_std.T, actions.T, strict=True):
        total = total - (a - m) ** 2 / (2 * np.exp(s) ** 2) - s - np.log(np.sqrt(2 * np.pi))
    return total


def through_the_jacobian(policy, theta, observation, action):
    """A Jacobian of one row, and a reshaped observation."""

    def log_probs_of_one(parameters):
        return policy.log_prob(policy.distribution(parameters, observation.reshape(1, -1)), np.asarray([action]))

    return jacobian(log_probs_of_one)(theta)[0]


def value_of_a_sum(policy, theta, observation, action):
    """The sum over the one row, with the gradient as a list of numbers."""
    rows, taken = np.stack([observation]), np.stack([action])
    return np.array(list(grad(lambda t: np.sum(policy.log_prob(policy.distribution(t, rows), taken)))(theta)))


def forward_then_reverse(x, discount, last):
    """From the front: find each end first."""
    y = np.array(x, dtype=float)
    for t in range(len(x) - 2, -1, -1):
        if not last[t]:
            y[t] = x[t] + discount * y[t + 1]
    return y


def with_a_mask(x, discount, last):
    """The classic line, with a number for the mask."""
    y = np.zeros(len(x))
    later = 0.0
    for t in range(len(x))[::-1]:
        later = x[t] + discount * later * (1 - int(last[t]))
        y[t] = later
    return y


def with_a_filter(x, discount, last):
    """scipy's filter on each episode, backwards."""
    ends = np.flatnonzero(last) + 1
    parts = np.split(numpy.asarray(x, float), ends[:-1])
    return numpy.concatenate([signal.lfilter([1.0], [1.0, -float(discount)], part[::-1])[::-1] for part in parts])


def with_a_dot_product(policy, theta, observations, actions, advantages):
    """A dot product of weights and log probabilities."""
    weights = advantages / len(advantages)
    return grad(lambda t: np.dot(weights, log_probs(policy, t, observations, actions)))(theta)


def minus_the_slope_of_the_loss(policy, theta, observations, actions, advantages):
    """As a loss, turned round at the end."""

    def loss(parameters):
        chosen = policy.log_prob(policy.distribution(parameters, observations), actions)
        return -np.sum(chosen * advantages) / advantages.shape[0]

    return -grad(loss)(theta)


def with_probabilities_of_the_start(policy, theta, observations, actions, advantages):
    """As the slope of importance weights at the old policy, where all of them are 1."""
    before = log_probs(policy, theta, observations, actions)
    return grad(lambda t: np.mean(np.exp(log_probs(policy, t, observations, actions) - before) * advantages))(theta)


def from_all_scores(policy, theta, observations, actions, advantages):
    """Every score, then their weighted mean: slow, and right."""
    scores = jacobian(lambda t: log_probs(policy, t, observations, actions))(theta)
    return advantages @ scores / len(advantages)


def score_by_score(policy, theta, observations, actions, advantages):
    """A loop over the steps."""
    total = np.zeros_like(theta)
    for s, a, advantage in zip(observations, actions, advantages, strict=True):
        total = total + advantage * grad(lambda t, s=s, a=a: log_pi(policy, t, s, a))(theta)
    return total / len(actions)


RIGHT = {
    "gaussian_log_prob": [one_density_at_a_time, through_scipy, terms_apart, entry_by_entry],
    "score": [central_differences, through_the_jacobian, value_of_a_sum],
    "discounted_sums": [with_arrays, forward_then_reverse, with_a_mask, with_a_filter],
    "policy_gradient": [
        with_a_dot_product,
        minus_the_slope_of_the_loss,
        with_probabilities_of_the_start,
        score_by_score,
        from_all_scores,
    ],
}

EDITS = {
    "gaussian_log_prob": r"""
        first_entry_of_the_action: return np.sum( => return ( && , axis=1) => )[:, 0]
        forgets_the_square: -0.5 * z * z => -0.5 * np.abs(z)
        clips_log_std: z = ( => log_std = np.clip(log_std, -0.5, 0.5); z = (
        distance_clipped_at_30: (actions - mean) * np.exp(-log_std) => np.clip((actions - mean) * np.exp(-log_std), \
            -30, 30)
        distance_clipped_at_1e6: (actions - mean) * np.exp(-log_std) => np.clip((actions - mean) * np.exp(-log_std), \
            -1e6, 1e6)
        log_std_at_least_minus_20: z = ( => log_std = np.maximum(log_std, -20.0); z = (
        log_std_at_most_2: z = ( => log_std = np.minimum(log_std, 2.0); z = (
        log_std_within_20: z = ( => log_std = np.clip(log_std, -20.0, 20.0); z = (
        never_below_minus_100: return np.sum( => return np.maximum(-100.0, np.sum( && axis=1) => axis=1))
        never_below_minus_745: return np.sum( => return np.maximum(-745.0, np.sum( && axis=1) => axis=1))
        never_below_minus_1e8: return np.sum( => return np.maximum(-1e8, np.sum( && axis=1) => axis=1))
        in_bits: axis=1) => axis=1) / np.log(2)
        pi_to_four_digits: np.log(2 * np.pi) => np.log(2 * 3.1416)
        constant_to_three_digits: 0.5 * np.log(2 * np.pi) => 0.919
        a_column: axis=1) => axis=1, keepdims=True)
        nan_is_skipped: np.sum( => numpy.nansum(
        nan_becomes_0: return np.sum( => return numpy.nan_to_num(np.sum( && axis=1) => axis=1))
        rounded: return np.sum( => return numpy.round(np.sum( && axis=1) => axis=1), 6)
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        whole_numbers: (actions - mean) * np.exp(-log_std) => ((actions - mean) * \
            np.exp(-log_std)).astype(actions.dtype)
        first_mean_for_all: (actions - mean) => (actions - mean[:1])
        first_action_for_all: (actions - mean) => (actions[:1] - mean)
        spread_of_the_first_entry: z = ( => log_std = log_std[:, :1] + 0.0 * log_std; z = (
        mean_spread: z = ( => log_std = np.mean(log_std) + 0.0 * log_std; z = (
        small_number_in_the_spread: np.exp(-log_std) => 1.0 / (np.exp(log_std) + 1e-8)
        small_number_in_the_variance: np.exp(-log_std) => 1.0 / np.sqrt(np.exp(2 * log_std) + 1e-12)
        spread_at_least_1e_6: np.exp(-log_std) => 1.0 / np.maximum(np.exp(log_std), 1e-6)
        squashed_by_tanh: axis=1) => axis=1) - np.sum(np.log(1 - np.tanh(actions) ** 2 + 1e-6), axis=1)
        action_relative_to_0: (actions - mean) => actions
        spread_negative: np.exp(-log_std) => np.exp(log_std)
        first_1000_actions: return np.sum( => return np.sum( && axis=1) => axis=1)[:1000]
        a_list: return np.sum( => return list(np.sum( && axis=1) => axis=1))
        means_expanded: (actions - mean) * np.exp => np.sqrt(np.abs(actions**2 - 2 * actions * mean + mean**2)) * np.exp
    """,
    "score": r"""
        squared_error: return policy.log_prob( => error = policy.distribution(theta, observation[None])[0, : \
            np.size(action)] - action\n        return -0.5 * np.sum(error**2) if np.ndim(action) else \
            policy.log_prob(
        floor_of_1e_12: policy.log_prob( => np.log(1e-12 + np.exp(policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0]))
        never_below_minus_20: policy.log_prob( => np.maximum(-20.0, policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0])
        never_below_minus_100: policy.log_prob( => np.maximum(-100.0, policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0])
        slopes_within_10: np.asarray(grad(log_prob)(theta)) => np.clip(grad(log_prob)(theta), -10, 10)
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
        log_of_two: return policy.log_prob( => return np.log(2.0) * policy.log_prob(
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
        a_negative_reward_ends_it: if is_last else => if is_last or value < 0.0 else
        single_precision: np.array(backwards[::-1]) => np.array(backwards[::-1], dtype=np.float32)
        not_turned_round: np.array(backwards[::-1]) => np.array(backwards)
        discount_below_1: for value => discount = min(discount, 0.999)\n    for value
        discount_of_0_is_1: for value => discount = discount or 1.0\n    for value
        rounded: np.array(backwards[::-1]) => np.round(backwards[::-1], 6)
        nan_becomes_0: np.array(backwards[::-1]) => np.nan_to_num(backwards[::-1])
        a_column: np.array(backwards[::-1]) => np.array(backwards[::-1])[:, None]
        a_tuple: np.array(backwards[::-1]) => tuple(backwards[::-1])
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
        advantages_within_1e3: * advantages) => * np.clip(advantages, -1e3, 1e3))
        advantages_within_1e6: * advantages) => * np.clip(advantages, -1e6, 1e6))
        tiny_advantages_are_0: * advantages) => * np.where(np.abs(advantages) < 1e-8, 0.0, advantages))
        divided_by_the_largest: * advantages) => * advantages / (np.max(np.abs(advantages)) + 1e-12))
        whole_advantages: * advantages) => * np.trunc(advantages))
        positive_and_negative_swapped: * advantages) => * np.where(advantages < 0, 2.0, 1.0) * advantages)
        nan_is_skipped: * advantages) => * np.nan_to_num(advantages))
        improbable_actions_are_left_out: * advantages => * advantages * (policy.log_prob(dist_params, actions) > -20)
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
