"""Wrong answers to the exercises of lecture 13, mostly edits of the right source, and right ones in other styles."""

import math

import numpy as np

from minitrpo.algorithms.off_policy.gorila import judged

# ---- updates_due

OWED, MADE = "int(ratio * max(0, steps - warm_up))", "max(0, owed - done)"

DUE = {
    "no_warm_up": (OWED, "int(ratio * steps)"),
    "warm_up_as_a_gate": (OWED, "int(ratio * steps) if steps > warm_up else 0"),
    "again_and_again": (MADE, "owed"),
    "below_0": (MADE, "owed - done"),
    "rounded": (OWED, "round(ratio * max(0, steps - warm_up))"),
    "rounded_up": (OWED, "int(np.ceil(ratio * max(0, steps - warm_up)))"),
    "a_float": (OWED, "ratio * max(0, steps - warm_up)"),
    "divided": (OWED, "int(max(0, steps - warm_up) / ratio)"),
    "ratio_of_what_is_left": (OWED, "int(ratio * (max(0, steps - warm_up) - done)) + done"),
    "one_at_most": (MADE, "min(1, max(0, owed - done))"),
    "one_at_least": (MADE, "max(1, owed - done)"),
    "one_too_many": (MADE, "max(0, owed - done) + 1"),
    "one_too_early": (OWED, "int(ratio * max(0, steps - warm_up + 1))"),
    "whole_ratio": (OWED, "int(ratio) * max(0, steps - warm_up)"),
    "ratio_of_at_most_1": (OWED, "int(min(ratio, 1) * max(0, steps - warm_up))"),
    "rounds_of_four": (OWED, "max(0, steps - warm_up) // 4"),
    "during_the_warm_up_too": (OWED, "int(ratio * abs(steps - warm_up))"),
    "only_if_something_was_made": (MADE, "max(0, owed - done) if done else 0"),
    "a_flag": (MADE, "owed > done"),
}


def every_so_many_steps(steps, warm_up, ratio, done):
    """One update whenever the number of steps is a multiple of the period, as in many programs."""
    return int(steps > warm_up and steps % max(1, round(1 / ratio)) == 0)


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


# ---- judged

LIMIT = "mean + deviations * np.sqrt(variance) if count >= trial else np.inf"
RATE = "max(1.0 / (count + 1.0), 1.0 - memory)"
VARIANCE = "(1.0 - rate) * (variance + rate * apart * apart)"

JUDGED = {
    "takes_everything_in": ("min(loss, largest)", "loss"),
    "takes_nothing_in": ("new = [", "if loss > largest:\n        return False, statistics.copy()\n    new = ["),
    "counts_but_takes_nothing_in": ("min(loss, largest)", "loss if loss <= largest else mean"),
    "variance_as_deviation": ("np.sqrt(variance)", "variance"),
    "no_mean": ("mean + deviations *", "deviations *"),
    "times_the_mean": (LIMIT, "deviations * mean if count >= trial else np.inf"),
    "both_sides": ("bool(loss <= largest)", "bool(abs(loss - mean) <= largest - mean)"),
    "lower_side_too": ("min(loss, largest)", "max(min(loss, largest), 2 * mean - largest)"),
    "no_trial": (LIMIT, "mean + deviations * np.sqrt(variance)"),
    "trial_one_longer": ("count >= trial", "count > trial"),
    "trial_one_shorter": ("count >= trial", "count + 1 >= trial"),
    "trial_of_a_hundred": ("count >= trial", "count >= 100"),
    "refused_on_trial": ("bool(loss <= largest)", "bool(count >= trial and loss <= largest)"),
    "border_is_refused": ("bool(loss <= largest)", "bool(loss < largest)"),
    "judges_what_is_taken": ("bool(loss <= largest)", "bool(taken <= largest)"),
    "wrong_way_round": ("bool(loss <= largest)", "bool(loss > largest)"),
    "by_the_new_mean": ("bool(loss <= largest)", "bool(count < trial or loss <= new[1] + deviations * new[2] ** 0.5)"),
    "slow_from_the_start": (RATE, "1.0 - memory"),
    "slower_for_ever": (RATE, "1.0 / (count + 1.0)"),
    "smaller_rate": (RATE, "min(1.0 / (count + 1.0), 1.0 - memory)"),
    "one_over_count": (RATE, "max(1.0 / max(count, 1.0), 1.0 - memory)"),
    "memory_as_rate": (RATE, "max(1.0 / (count + 1.0), memory)"),
    "memory_of_a_hundred": (RATE, "max(1.0 / (count + 1.0), 0.01)"),
    "trial_decides_the_rate": (RATE, "1.0 / (count + 1.0) if count < trial else 1.0 - memory"),
    "variance_without_decay": (VARIANCE, "variance + rate * apart * apart"),
    "variance_half_decayed": (VARIANCE, "(1.0 - rate) * variance + rate * apart * apart"),
    "square_without_rate": (VARIANCE, "(1.0 - rate) * (variance + apart * apart)"),
    "deviation_kept": (VARIANCE, f"np.sqrt({VARIANCE})"),
    "variance_from_the_loss": ("rate * apart * apart)", "rate * (loss - mean) ** 2)"),
    "mean_from_the_loss": ("mean + rate * apart", "mean + rate * (loss - mean)"),
    "the_count_stands_still": ("[count + 1.0,", "[count,"),
    "a_refused_one_is_not_counted": ("[count + 1.0,", "[count + float(loss <= largest),"),
    "statistics_in_another_order": ("[count + 1.0, mean + rate * apart,", "[mean + rate * apart, count + 1.0,"),
    "in_place": ("return bool", "statistics[:] = new\n    return bool"),
    "numbers_that_are_none": ("if not np.isfinite(loss):", "if False:"),
    "infinity_is_taken": ("not np.isfinite(loss)", "np.isnan(loss)"),
    "none_is_counted": ("return False, statistics.copy()", "return False, statistics + np.array([1, 0, 0])"),
    "none_is_usual": ("return False, statistics.copy()", "return True, statistics.copy()"),
    "whole_numbers": ("np.array(new)", "np.array(new).astype(statistics.dtype)"),
    "rounded": ("np.array(new)", "np.round(new, 6)"),
    "floor_under_the_variance": ("np.sqrt(variance)", "np.sqrt(max(variance, 1e-6))"),
    "a_single_result": ("return bool(loss <= largest), np.array(new)", "return np.array(new)"),
    "a_list": ("np.array(new)", "new"),
}  # fmt: skip


def welford_for_ever(statistics, loss, deviations, memory=0.99, trial=100):
    """The textbook's running variance, which never forgets."""
    if not np.isfinite(loss):
        return False, statistics.copy()
    count, mean, variance = statistics
    usual = count < trial or loss <= mean + deviations * variance**0.5
    taken = loss if usual else mean + deviations * variance**0.5
    new_mean = mean + (taken - mean) / (count + 1)
    squares = count * variance + (taken - mean) * (taken - new_mean)
    return bool(usual), np.array([count + 1, new_mean, squares / (count + 1)])


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


# ---- naf_q

Z, RESULT = '"...ij,...i->...j", lower, u - mu', "value - 0.5 * np.sum(z * z, axis=-1)"

PARABOLA = {
    "not_transposed": (Z, '"...ij,...j->...i", lower, u - mu'),
    "no_half": ("0.5 * ", ""),
    "upwards": ("value - 0.5", "value + 0.5"),
    "advantage_only": ("value - 0.5", "-0.5"),
    "a_cone": ("np.sum(z * z, axis=-1)", "np.sqrt(np.sum(z * z, axis=-1))"),
    "absolute": ("z * z", "np.abs(z)"),
    "matrix_taken_for_m": (RESULT, '-0.5 * np.einsum("...i,...ij,...j->...", u - mu, lower, u - mu) + value'),
    "diagonal_only": (Z, '"...jj,...j->...j", lower, u - mu'),
    "no_matrix": (f"np.einsum({Z})", "u - mu"),
    "mu_added": ("lower, u - mu", "lower, u + mu"),
    "no_mu": ("lower, u - mu", "lower, u"),
    "a_mean": ("np.sum(z * z", "np.mean(z * z"),
    "over_the_wrong_axis": ("axis=-1", "axis=0"),
    "over_all": ("np.sum(z * z, axis=-1)", "np.sum(z * z)"),
    "the_sum_squared": ("np.sum(z * z, axis=-1)", "np.sum(z, axis=-1) ** 2"),
    "twice_l": (Z, '"...ij,...kj,...k->...i", lower, lower, u - mu'),
    "symmetrised": (Z, '"...ij,...i->...j", (lower + np.swapaxes(lower, -1, -2)) / 2, u - mu'),
    "upper_of_it": (Z, '"...ij,...i->...j", np.triu(lower), u - mu'),
    "exp_again": (Z, '"...ij,...i->...j", np.exp(lower), u - mu'),
    "first_state_only": (Z, '"ij,...i->...j", lower.reshape(-1, *lower.shape[-2:])[0], u - mu'),
    "clipped_action": ("lower, u - mu", "lower, np.clip(u - mu, -0.5, 0.5)"),
    "a_little_bowl": ("z * z,", "z * z + 1e-6,"),
    "capped": ("np.sum(z * z, axis=-1)", "np.minimum(np.sum(z * z, axis=-1), 1e6)"),
    "value_twice": ("value - 0.5", "2 * value - 0.5"),
    "whole_numbers": (f"np.asarray({RESULT})", f"np.asarray({RESULT}).astype(np.asarray(value).dtype)"),
    "spoils_the_action": ("z = np.einsum", "u -= mu\n    z = np.einsum"),
    "one_torque_only": (RESULT, "value - 0.5 * z[..., 0] ** 2"),
    "kept_axis": ("axis=-1", "axis=-1, keepdims=True"),
}


def by_matrix_products(value, mu, lower, u):
    """Right for one state and wrong for many: dot does not go state by state."""
    d = u - mu
    return np.asarray(value - 0.5 * np.sum(np.dot(d, lower.reshape(-1, *lower.shape[-2:])[-1]) ** 2, axis=-1))


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


# ---- naf_targets

TARGET = "reward_scale * rewards + discounts * (1.0 - terminated) * next_value"

TARGETS = {
    "no_mask": ("(1.0 - terminated) * ", ""),
    "mask_turned": ("(1.0 - terminated)", "terminated"),
    "no_discount": ("discounts * ", ""),
    "no_scale": ("reward_scale * ", ""),
    "scales_everything": (TARGET, TARGET.replace("rewards +", "(rewards +") + ")"),
    "plus_for_times": (") * next_value", ") + next_value"),
    "discounts_the_reward": (TARGET, "discounts * (reward_scale * rewards + (1.0 - terminated) * next_value)"),
    "loses_the_last_reward": (TARGET, "(1.0 - terminated) * (reward_scale * rewards + discounts * next_value)"),
    "minus_what_follows": ("rewards + discounts", "rewards - discounts"),
    "divides_by_the_scale": ("reward_scale * rewards", "rewards / reward_scale"),
    "scales_what_follows": (TARGET, "rewards + reward_scale * discounts * (1.0 - terminated) * next_value"),
    "unscales_what_follows": ("* next_value", "* next_value / reward_scale"),
    "reward_only": ("discounts * (1.0 - terminated) * next_value", "0.0 * next_value"),
    "first_discount": ("discounts *", "np.ravel(discounts)[:1].sum() *"),
    "largest_discount": ("discounts *", "np.max(discounts, initial=0.0) *"),
    "never_negative": ("* next_value", "* np.maximum(next_value, 0.0)"),
    "discount_of_0_98": ("discounts *", "0.98 *"),
    "scale_of_a_tenth": ("reward_scale *", "0.1 *"),
    "any_end_ends_all": ("1.0 - terminated", "1.0 - np.max(terminated, initial=0)"),
    "ends_one_late": ("1.0 - terminated", "1.0 - np.roll(terminated, 1)"),
    "value_one_late": ("* next_value", "* np.roll(next_value, 1)"),
    "discount_squared": ("discounts *", "discounts**2 *"),
    "a_mean": (f"np.asarray({TARGET})", f"np.mean({TARGET})"),
    "clipped": (f"np.asarray({TARGET})", f"np.clip({TARGET}, -1e3, 1e3)"),
    "rounded": (f"np.asarray({TARGET})", f"np.round({TARGET}, 6)"),
    "whole_numbers": (f"np.asarray({TARGET})", f"np.asarray({TARGET}).astype(rewards.dtype)"),
    "spoils_the_rewards": ("return ", "rewards *= 1\n    rewards[terminated == 1] += 0.5\n    return "),
    "flat": (f"np.asarray({TARGET})", f"np.ravel({TARGET})"),
}


def mask_of_a_half(rewards, discounts, terminated, next_value, reward_scale):
    """Both ends taken for the same: what follows an end counts half."""
    return reward_scale * rewards + discounts * (1 - 0.5 * terminated) * next_value


def targets_by_where(rewards, discounts, terminated, next_value, reward_scale):
    return np.where(np.asarray(terminated).astype(bool), 0.0, discounts * next_value) + reward_scale * rewards


def targets_in_place(rewards, discounts, terminated, next_value, reward_scale):
    following = (discounts * next_value).astype(np.result_type(float, next_value))
    following[terminated == 1] = 0
    return following + rewards * reward_scale


def targets_by_multiply(rewards, discounts, terminated, next_value, reward_scale):
    goes_on = 1 - np.array(terminated, dtype=float)
    return np.multiply(rewards, reward_scale) + np.multiply(np.multiply(goes_on, discounts), next_value)


# ---- as an examiner wrote them, who knew the lecture and no check


def a_tolerance(steps, warm_up, ratio, done):
    return max(0, int(ratio * max(0, steps - warm_up) + 0.001) - done)


def two_digits(steps, warm_up, ratio, done):
    return max(0, int(round(ratio * max(0, steps - warm_up), 2)) - done)


def ratio_of_two_digits(steps, warm_up, ratio, done):
    return max(0, int(round(ratio, 2) * max(0, steps - warm_up)) - done)


def due_in_single_precision(steps, warm_up, ratio, done):
    return max(0, int(np.float32(ratio) * np.float32(max(0, steps - warm_up))) - done)


def due_in_32_bits(steps, warm_up, ratio, done):
    return max(0, int(np.array(np.floor(ratio * max(0, steps - warm_up))).astype(np.int64).astype(np.int32)) - done)


def the_same_array_for_nan(statistics, loss, *rest, **named):
    usual, new = judged(statistics, loss, *rest, **named)
    return usual, new if np.isfinite(loss) else statistics


def statistics_in_single_precision(statistics, *rest, **named):
    usual, new = judged(statistics, *rest, **named)
    return usual, new.astype(np.float32)


def absolute_loss(statistics, loss, *rest, **named):
    return judged(statistics, abs(loss), *rest, **named)


def one_buffer_of_statistics(statistics, *rest, **named):
    usual, buffer[:] = judged(statistics, *rest, **named)
    return usual, buffer


buffer = np.zeros(3)


def actions_cut_to_1(value, mu, lower, u):
    u = np.clip(u, -1, 1)
    z = np.einsum("...ij,...i->...j", lower, u - mu)
    return value - 0.5 * (z * z).sum(-1)


def early_end(value, mu, lower, u):
    q = np.array(value, dtype=float)
    for place in np.ndindex(*q.shape):
        d = u[place] - mu[place]
        if not d.any():
            break
        z = lower[place].T @ d
        q[place] -= 0.5 * z @ z
    return q


def close_is_equal(value, mu, lower, u):
    d = np.where(np.isclose(u, mu), 0.0, u - mu)
    z = np.einsum("...ij,...i->...j", lower, d)
    return value - 0.5 * (z * z).sum(-1)


def no_reward_no_target(rewards, discounts, terminated, next_value, reward_scale):
    return np.where(rewards != 0, reward_scale * rewards + discounts * (1.0 - terminated) * next_value, 0.0)


WRONG = {
    "updates_due": [every_so_many_steps],
    "judged": [welford_for_ever],
    "naf_q": [by_matrix_products],
    "naf_targets": [mask_of_a_half],
}

# the right source with something changed: {exercise: {what: (old text, new text)}}
EDITS = {"updates_due": DUE, "judged": JUDGED, "naf_q": PARABOLA, "naf_targets": TARGETS}

for name, some in {
    "updates_due": [a_tolerance, two_digits, ratio_of_two_digits, due_in_single_precision, due_in_32_bits],
    "judged": [the_same_array_for_nan, statistics_in_single_precision, absolute_loss, one_buffer_of_statistics],
    "naf_q": [actions_cut_to_1, early_end, close_is_equal],
    "naf_targets": [no_reward_no_target],
}.items():
    WRONG[name] = [*WRONG[name], *some]

RIGHT = {
    "updates_due": [due_by_floor, due_by_numpy, due_by_counting_down],
    "judged": [judged_by_two_means, judged_with_branches, judged_by_clipping],
    "naf_q": [q_by_the_matrix, q_by_matmul, q_in_a_loop],
    "naf_targets": [targets_by_where, targets_in_place, targets_by_multiply],
}
