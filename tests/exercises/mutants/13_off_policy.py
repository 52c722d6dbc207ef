"""Lecture 13: right answers in other styles, and wrong ones, most of them as edits of the package."""

import math

import numpy as np


def due_by_floor(steps, warm_up, ratio, done):
    if steps <= warm_up:
        return 0
    return max(math.floor((steps - warm_up) * ratio) - done, 0)


def due_by_numpy(steps, warm_up, ratio, done):
    behind = np.maximum(steps - warm_up, 0)
    return int(np.clip(np.floor(ratio * behind) - done, 0, None))


def due_by_counting_down(steps, warm_up, ratio, done):
    behind = steps - warm_up if steps > warm_up else 0
    owed = behind * ratio // 1
    return int(owed) - done if owed > done else 0


def judged_by_two_means(statistics, loss, deviations, memory=0.99, trial=100):
    count, mean, variance = (float(x) for x in statistics)
    if np.isnan(loss) or np.isinf(loss):
        return False, np.array(statistics)
    limit = float("inf") if count < trial else mean + deviations * math.sqrt(variance)
    rate = 1 / (count + 1)
    if rate < 1 - memory:
        rate = 1 - memory
    seen = loss if loss < limit else limit
    new_mean = (1 - rate) * mean + rate * seen
    new_variance = (1 - rate) * variance + rate * (seen - mean) * (seen - new_mean)
    return not loss > limit, np.array([count + 1, new_mean, new_variance])


def judged_with_branches(statistics, loss, deviations, memory=0.99, trial=100):
    if not math.isfinite(loss):
        return np.bool_(False), np.array(statistics)
    count, mean, variance = statistics
    usual = True
    x = loss
    if count >= trial and loss > mean + deviations * np.sqrt(variance):
        usual = False
        x = mean + deviations * np.sqrt(variance)
    a = max(1 / (count + 1), 1 - memory)
    result = np.zeros(3)
    result[0] = count + 1
    result[1] = mean + a * (x - mean)
    result[2] = (1 - a) * variance + a * (1 - a) * (x - mean) ** 2
    return usual, result


def judged_by_clipping(statistics, loss, deviations, memory=0.99, trial=100):
    if not np.isfinite(loss):
        return False, 1.0 * statistics
    count, mean, variance = statistics.astype(float)
    limit = np.where(count >= trial, mean + deviations * variance**0.5, np.inf)
    rate = np.maximum(1 / (1 + count), 1 - memory)
    step = np.minimum(loss, limit) - mean
    return bool(limit >= loss), np.hstack([count + 1, mean + rate * step, (1 - rate) * (variance + rate * step**2)])


def q_by_the_matrix(value, mu, lower, u):
    M = lower @ np.swapaxes(lower, -1, -2)
    d = u - mu
    return value - np.einsum("...i,...ij,...j->...", d, M, d) / 2


def q_by_matmul(value, mu, lower, u):
    row = (u - mu)[..., None, :]
    z = (row @ lower)[..., 0, :]
    return value - 0.5 * (z**2).sum(-1)


def q_in_a_loop(value, mu, lower, u):
    result = np.array(value, dtype=float)
    for place in np.ndindex(result.shape):
        z = lower[place].T @ (u[place] - mu[place])
        result[place] -= 0.5 * z @ z
    return result


def targets_by_where(rewards, discounts, terminated, next_value, reward_scale):
    return np.where(np.asarray(terminated).astype(bool), 0.0, discounts * next_value) + reward_scale * rewards


def targets_in_place(rewards, discounts, terminated, next_value, reward_scale):
    following = (discounts * next_value).astype(np.result_type(float, next_value))
    following[terminated == 1] = 0
    return following + rewards * reward_scale


def targets_by_multiply(rewards, discounts, terminated, next_value, reward_scale):
    goes_on = 1 - np.array(terminated, dtype=float)
    return np.multiply(rewards, reward_scale) + np.multiply(np.multiply(goes_on, discounts), next_value)


def early_end(value, mu, lower, u):
    q = np.array(value, dtype=float)
    for place in np.ndindex(*q.shape):
        d = u[place] - mu[place]
        if not d.any():
            break
        z = lower[place].T @ d
        q[place] -= 0.5 * z @ z
    return q


RIGHT = {
    "updates_due": [due_by_floor, due_by_numpy, due_by_counting_down],
    "judged": [judged_by_two_means, judged_with_branches, judged_by_clipping],
    "naf_q": [q_by_the_matrix, q_by_matmul, q_in_a_loop],
    "naf_targets": [targets_by_where, targets_in_place, targets_by_multiply],
}

WRONG = {"naf_q": [early_end]}

EDITS = {
    "updates_due": r"""
        every_so_many_steps: return int(steps > warm_up and steps % max(1, round(1 / ratio)) == 0)
        a_tolerance: max(0, steps - warm_up)) => max(0, steps - warm_up) + 0.001)
        two_digits: int(ratio * max(0, steps - warm_up)) => int(round(ratio * max(0, steps - warm_up), 2))
        ratio_of_two_digits: int(ratio * => int(round(ratio, 2) *
        due_in_single_precision: int(ratio * max(0, steps - warm_up)) => int(np.float32(ratio) * np.float32(max(0, \
            steps - warm_up)))
        due_in_32_bits: ratio * max(0, steps - warm_up) => np.int64(ratio * max(0, steps - warm_up)).astype(np.int32)
        a_float: int(ratio * max(0, steps - warm_up)) => ratio * max(0, steps - warm_up)
        one_too_early: int(ratio * max(0, steps - warm_up)) => int(ratio * max(0, steps - warm_up + 1))
        ratio_of_at_most_1: int(ratio * max(0, steps - warm_up)) => int(min(ratio, 1) * max(0, steps - warm_up))
        rounds_of_four: int(ratio * max(0, steps - warm_up)) => max(0, steps - warm_up) // 4
        during_the_warm_up_too: int(ratio * max(0, steps - warm_up)) => int(ratio * abs(steps - warm_up))
        only_if_something_was_made: max(0, owed - done) => max(0, owed - done) if done else 0
        a_flag: max(0, owed - done) => owed > done
    """,
    "judged": r"""
        the_same_array_for_nan: statistics.copy() => statistics
        statistics_in_single_precision: np.array(new) => np.array(new, np.float32)
        absolute_loss: if not np.isfinite(loss): => loss = abs(loss)\n    if not np.isfinite(loss):
        one_buffer_of_statistics: ]\n    return => ]\n    buffer = judged.__dict__.setdefault('buffer', \
            np.zeros(3))\n    buffer[:] = new\n    return && np.array(new)) => buffer)
        counts_but_takes_nothing_in: min(loss, largest) => loss if loss <= largest else mean
        both_sides: bool(loss <= largest) => bool(abs(loss - mean) <= largest - mean)
        lower_side_too: min(loss, largest) => max(min(loss, largest), 2 * mean - largest)
        trial_one_shorter: count >= trial => count + 1 >= trial
        judges_what_is_taken: bool(loss <= largest) => bool(taken <= largest)
        trial_decides_the_rate: max(1.0 / (count + 1.0), 1.0 - memory) => 1.0 / (count + 1.0) if count < trial else \
            1.0 - memory
        variance_from_the_loss: rate * apart * apart) => rate * (loss - mean) ** 2)
        mean_from_the_loss: mean + rate * apart => mean + rate * (loss - mean)
        a_refused_one_is_not_counted: [count + 1.0, => [count + float(loss <= largest),
        statistics_in_another_order: [count + 1.0, mean + rate * apart, => [mean + rate * apart, count + 1.0,
        in_place: ]\n    return => ]\n    statistics[:] = new\n    return
        numbers_that_are_none: if not np.isfinite(loss): => if False:
        infinity_is_taken: not np.isfinite(loss) => np.isnan(loss)
        none_is_counted: statistics.copy( => statistics + np.array([1, 0, 0]
        none_is_usual: False => True
        whole_numbers: np.array(new) => np.array(new).astype(statistics.dtype)
        a_single_result: (bool(loss <= largest), np.array(new)) => np.array(new)
        a_list: np.array(new) => new
    """,
    "naf_q": r"""
        actions_cut_to_1: lower, u - mu) => lower, np.clip(u, -1, 1) - mu)
        close_is_equal: lower, u - mu) => lower, np.where(np.isclose(u, mu), 0.0, u - mu))
        absolute: z * z => np.abs(z)
        over_the_wrong_axis: axis=-1 => axis=0
        over_all: np.sum(z * z, axis=-1) => np.sum(z * z)
        symmetrised: , lower, => , (lower + np.swapaxes(lower, -1, -2)) / 2,
        exp_again: , lower, => , np.exp(lower),
        first_state_only: '... => ' && lower, => lower.reshape(-1, *lower.shape[-2:])[0],
        clipped_action: lower, u - mu => lower, np.clip(u - mu, -0.5, 0.5)
        a_little_bowl: z * z, => z * z + 1e-6,
        capped: np.sum(z * z, axis=-1) => np.minimum(np.sum(z * z, axis=-1), 1e6)
        value_twice: value - 0.5 => 2 * value - 0.5
        whole_numbers: np.asarray(value - 0.5 * np.sum(z * z, axis=-1)) => np.asarray(value - 0.5 * np.sum(z * z, \
            axis=-1)).astype(np.asarray(value).dtype)
        spoils_the_action: z = np.einsum => u -= mu\n    z = np.einsum
        one_torque_only: value - 0.5 * np.sum(z * z, axis=-1) => value - 0.5 * z[..., 0] ** 2
        kept_axis: axis=-1 => axis=-1, keepdims=True
    """,
    "naf_targets": r"""
        mask_of_a_half: (1.0 - terminated) => (1 - 0.5 * terminated)
        no_reward_no_target: return np.asarray( => return np.asarray(rewards != 0) * (
        unscales_what_follows: * next_value => * next_value / reward_scale
        largest_discount: discounts * => np.max(discounts, initial=0.0) *
        discount_of_0_98: discounts * => 0.98 *
        scale_of_a_tenth: reward_scale * => 0.1 *
        ends_one_late: 1.0 - terminated => 1.0 - np.roll(terminated, 1)
        value_one_late: * next_value => * np.roll(next_value, 1)
        discount_squared: discounts * => discounts**2 *
        a_mean: np.asarray => np.mean
        clipped: return np.clip(reward_scale * rewards + discounts * (1.0 - terminated) * next_value, -1e3, 1e3)
        rounded: return np.round(reward_scale * rewards + discounts * (1.0 - terminated) * next_value, 6)
        whole_numbers: (reward_scale * rewards + discounts * (1.0 - terminated) * next_value) => (reward_scale * \
            rewards + discounts * (1.0 - terminated) * next_value).astype(rewards.dtype)
        spoils_the_rewards: return => rewards *= 1\n    rewards[terminated == 1] += 0.5\n    return
        flat: np.asarray => np.ravel
    """,
}
