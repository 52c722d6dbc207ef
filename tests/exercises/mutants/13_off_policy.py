"""Lectures 13a and 13b: right answers in other styles, and wrong ones."""

import bisect
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy.linalg.blas import dtrmv


def updates_due_branches(steps, warm_up, ratio, done):
    behind = steps - warm_up
    if behind <= 0:
        return 0
    worth = math.floor(behind * ratio)
    if worth <= done:
        return 0
    return worth - done


def updates_due_bisection(steps, warm_up, ratio, done):
    worth = (steps - warm_up) * ratio
    return max(bisect.bisect_right(range(1, max(int(worth), 0) + 2), worth) - done, 0)


def naf_q_triangular(value, mu, lower, u):
    q, A = np.array(value, float), np.shape(mu)[-1]
    triangles, apart = np.reshape(lower, (-1, A, A)), np.reshape(u - mu, (-1, A))
    z = [dtrmv(np.array(L), np.array(d), lower=1, trans=1) for L, d in zip(triangles, apart, strict=True)]
    return q - 0.5 * np.reshape([each @ each for each in z], q.shape)


def naf_q_columns(value, mu, lower, u):
    q = np.array(value, dtype=float)
    d = u - mu
    for j in range(d.shape[-1]):
        q -= 0.5 * (d * lower[..., :, j]).sum(axis=-1) ** 2
    return q


def naf_targets_in_place(rewards, discounts, terminated, next_value, reward_scale):
    y = discounts * next_value
    y[terminated.astype(bool)] = 0
    y += reward_scale * rewards
    return y


def naf_targets_of_those_that_go_on(rewards, discounts, terminated, next_value, reward_scale):
    y = np.zeros_like(next_value)
    on = terminated == False  # noqa: E712
    y[on] = discounts[on] * next_value[on]
    return y + rewards * reward_scale


RIGHT = {
    "updates_due": r"""
        numpy: return np.maximum(np.floor(ratio * (steps - warm_up)).astype(np.int64) - done, 0)
        defensive: return max(math.floor(float(ratio) * max(int(steps) - int(warm_up), 0)) - int(done), 0)
        floor_division: return int(max((steps - warm_up) * ratio // 1 - done, 0))
        truncation: int(ratio * max(0, steps - warm_up)) => math.trunc(max(steps - warm_up, 0) * ratio) && \
            max(0, owed - done) => owed - done if owed > done else 0
        fractions: return max(math.floor((int(steps) - int(warm_up)) * Fraction(Decimal(str(float(ratio))))) \
            - int(done), 0)
        tolerance: return max(0, math.floor((steps - warm_up) * ratio + 1e-9) - done)
    """,
    "naf_q": r"""
        product: z = np.einsum('...ij,...i->...j', lower, u - mu) => z = ((u - mu)[..., None, :] @ lower)[..., 0, :]
        norm: z = np.einsum('...ij,...i->...j', lower, u - mu) => \
            z = (np.swapaxes(lower, -1, -2) @ np.expand_dims(u - mu, -1)).squeeze(-1) && \
            np.sum(z * z, axis=-1) => np.linalg.norm(z, axis=-1) ** 2
        terse: return value - np.einsum("...i,...ij,...kj,...k->...", d := u - mu, lower, lower, d) / 2
        matrix: z = np.einsum('...ij,...i->...j', lower, u - mu) => M = lower @ np.swapaxes(lower, -1, -2) && \
            z * z => (u - mu) * (M @ (u - mu)[..., None])[..., 0]
    """,
    "naf_targets": r"""
        list: return np.array([reward_scale * r + discount * (1 - end) * v \
            for r, discount, end, v in zip(rewards, discounts, terminated, next_value)])
        where: return reward_scale * rewards + np.where(terminated, 0.0, discounts * next_value)
        defensive: return float(reward_scale) * np.asarray(rewards, float) + np.asarray(discounts, float) \
            * np.logical_not(np.asarray(terminated).astype(bool)) * next_value
        terse: return rewards * reward_scale + (terminated == 0) * discounts * next_value
        library: discounts * (1.0 - terminated) * next_value => \
            np.multiply(np.multiply(next_value, np.subtract(1.0, terminated)), discounts)
        entry_by_entry: return np.vectorize(lambda r, g, end, v: reward_scale * r if end else reward_scale * r + g * \
            v, otypes=[float])(rewards, discounts, terminated, next_value)
    """,
}

WRONG = {
    "updates_due": r"""
        every_so_many_steps: return int(steps > warm_up and steps % max(1, round(1 / ratio)) == 0)
        a_tolerance: max(0, steps - warm_up)) => max(0, steps - warm_up) + 0.001)
        two_digits: int(ratio * max(0, steps - warm_up)) => int(round(ratio * max(0, steps - warm_up), 2))
        ratio_of_two_digits: int(ratio * => int(round(ratio, 2) *
        due_in_single_precision: int(ratio * max(0, steps - warm_up)) => int(np.float32(ratio) * np.float32(max(0, \
            steps - warm_up)))
        a_float: int(ratio * max(0, steps - warm_up)) => ratio * max(0, steps - warm_up)
        one_too_early: int(ratio * max(0, steps - warm_up)) => int(ratio * max(0, steps - warm_up + 1))
        ratio_of_at_most_1: int(ratio * max(0, steps - warm_up)) => int(min(ratio, 1) * max(0, steps - warm_up))
        rounds_of_four: int(ratio * max(0, steps - warm_up)) => max(0, steps - warm_up) // 4
        during_the_warm_up_too: int(ratio * max(0, steps - warm_up)) => int(ratio * abs(steps - warm_up))
        only_if_something_was_made: max(0, owed - done) => max(0, owed - done) if done else 0
        a_flag: max(0, owed - done) => owed > done
    """,
    "naf_q": r"""
        actions_cut_to_1: lower, u - mu) => lower, np.clip(u, -1, 1) - mu)
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
        spoils_the_action: z = np.einsum => u -= mu\n    z = np.einsum
        one_torque_only: value - 0.5 * np.sum(z * z, axis=-1) => value - 0.5 * z[..., 0] ** 2
        kept_axis: axis=-1 => axis=-1, keepdims=True
        ends_at_the_first_best_action: lower, u - mu) => lower, u - mu) * np.logical_and.accumulate(np.any(u != mu, \
            axis=-1).ravel()).reshape(np.shape(value))[..., None]
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
        spoils_the_rewards: return => rewards *= 1\n    rewards[terminated == 1] += 0.5\n    return
    """,
}

ODD = {
    "updates_due": r"""
        due_in_32_bits: ratio * max(0, steps - warm_up) => np.int64(ratio * max(0, steps - warm_up)).astype(np.int32)
    """,
    "naf_q": r"""
        close_is_equal: lower, u - mu) => lower, np.where(np.isclose(u, mu), 0.0, u - mu))
        whole_numbers: np.asarray(value - 0.5 * np.sum(z * z, axis=-1)) => np.asarray(value - 0.5 * np.sum(z * z, \
            axis=-1)).astype(np.asarray(value).dtype)
    """,
    "naf_targets": r"""
        whole_numbers: (reward_scale * rewards + discounts * (1.0 - terminated) * next_value) => (reward_scale * \
            rewards + discounts * (1.0 - terminated) * next_value).astype(rewards.dtype)
        flat: np.asarray => np.ravel
    """,
}
