"""Lectures 09a and 09b: right answers in other styles, and wrong ones."""

import math
import statistics
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from minitrpo.adaptive import AdaptiveState, Decision, clip, improved, turn
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.step_noise import Measured
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient


def improved_decimal_numbers(recent, before, margin):
    recent, before, margin = (Decimal(str(float(x))) for x in (recent, before, margin))
    return recent >= before + margin * abs(before)


def improved_fractions(recent, before, margin):
    recent, before, margin = (Fraction(str(x)) for x in (recent, before, margin))
    return (recent - before) - margin * abs(before) >= 0


def turn_by_branches(steps, kl, better, config):
    new_steps = steps - config.steps_by if better else steps + config.steps_by
    new_kl = kl + config.kl_by if better else kl - config.kl_by
    if config.mode == "none":
        return steps, kl
    if config.mode == "steps":
        return clip(steps, new_steps, config.steps_limits), kl
    if config.mode == "kl":
        return steps, clip(kl, new_kl, config.kl_limits)
    return clip(steps, new_steps, config.steps_limits), clip(kl, new_kl, config.kl_limits)


def turn_by_table(steps, kl, better, config):
    moved = []
    for name, old, by in (("steps", steps, -config.steps_by), ("kl", kl, config.kl_by)):
        low, high = getattr(config, f"{name}_limits")
        new = np.clip(old + by if better else old - by, min(low, old), max(high, old))
        moved.append(new if config.mode in (name, "both") else old)
    return moved


def adapt_with_numpy(state, mean_return, config):
    together = np.append(np.array(state.returns), mean_return)
    if together.size != config.window:
        return AdaptiveState(state.steps_per_update, state.max_kl, tuple(together), state.before), None
    s = np.sum(together)
    steps, kl, answer, needed = state.steps_per_update, state.max_kl, None, None
    if state.before is not None:
        needed = state.before * (1 + config.margin * np.sign(state.before))
        answer = s >= needed
        steps, kl = turn_by_table(steps, kl, answer, config)
    return AdaptiveState(steps, kl, (), s), Decision(answer, state.before, s, needed, steps, kl)


def adapt_at_one_exit(state, mean_return, config):
    returns, decision = state.returns + (float(mean_return),), None  # noqa: RUF005
    if len(returns) >= config.window:
        recent, steps, kl, better, needed = math.fsum(returns), state.steps_per_update, state.max_kl, None, None
        if state.before is not None:
            better = improved(recent, state.before, config.margin)
            needed = state.before + config.margin * abs(state.before)
            steps, kl = turn(steps, kl, better, config)
        decision = Decision(better, state.before, recent, needed, steps, kl)
        state, returns = AdaptiveState(steps, kl, before=recent), ()
    return replace(state, returns=returns), decision


def part(batch, rows):
    return Batch(batch.observations[rows], batch.actions[rows], batch.advantages[rows])


def measure_noise_by_one_half_less_all(policy, theta, batch, g, step, iterations, damping, fraction):
    """d = g_a - g, as g is the mean of the two."""
    n = len(batch.advantages)
    d = surrogate_gradient(policy, theta, part(batch, slice(0, n // 2))) - g
    product = damped_fisher(policy, theta, batch, damping, fraction)
    promised = g @ step
    both = promised * promised / (step @ product(step)) if np.any(step) else 0.0
    return Measured(noise=d @ conjugate_gradient(product, d, iterations)[0], both=both, steps=n)


def measure_noise_with_a_solution_of_its_own(policy, theta, batch, g, step, iterations, damping, fraction):
    """g'F^-1 g from conjugate gradient, as the step had it."""
    first = np.arange(len(batch.advantages)) < len(batch.advantages) // 2
    g_a, g_b = (surrogate_gradient(policy, theta, part(batch, rows)) for rows in (first, ~first))
    fisher = damped_fisher(policy, theta, batch, damping, fraction)
    x, y = (conjugate_gradient(fisher, v, iterations)[0] for v in (g, (g_a - g_b) / 2))
    return Measured(float((g_a - g_b) @ y / 2), float(g @ x) if step.any() else 0.0, batch.advantages.size)


RIGHT = {
    "improved": r"""
        not_worse: return not (before + max(margin * before, -margin * before) > recent)
        gain: return bool(recent - before >= margin * before if before >= 0 else recent - before >= -margin * before)
        relative_gain: return recent >= 0 if before == 0 else (recent - before) / abs(before) >= margin
        close: return recent > before + margin * abs(before) or math.isclose(recent, before + margin * abs(before))
        tolerance: return recent - before + 1e-12 * max(before, -before) >= max(before, -before) * margin
        truth_of_numpy: return np.greater_equal(recent, np.add(before, margin * np.abs(before)))
    """,
    "turn": r"""
        without_rounding: 1 if better else -1 => 2 * int(better) - 1 && round(clip( => clip( && , 12) =>
        far_limits: clip(kl, kl + sign * config.kl_by, config.kl_limits) => \
            max(min(kl + sign * config.kl_by, max(config.kl_limits[1], kl)), min(config.kl_limits[0], kl))
        dictionary: config.mode in ('steps', 'both') => {"steps": 1, "both": 1}.get(config.mode) && \
            config.mode in ('kl', 'both') => {"kl": 1, "both": 1}.get(config.mode)
    """,
    "adapt": r"""
        exact_sums: recent = sum(returns) => recent = math.fsum(returns)
        mean: recent = sum(returns) => recent = statistics.fmean(returns) * len(returns)
        backwards: recent = sum(returns) => recent = sum(reversed(returns))
        threshold_alone: better = improved(recent, state.before, config.margin) => \
            better = recent >= state.before + abs(config.margin * state.before)
        close: better = improved(recent, state.before, config.margin) => better = recent - state.before \
            + 1e-12 * abs(state.before) >= config.margin * abs(state.before)
    """,
    "measure_noise": r"""
        numbers_of_numpy: float(d @ conjugate_gradient(product, d, iterations)[0]) => \
            np.vdot(d, conjugate_gradient(product, d, iterations)[0]) && float(g @ step) ** 2 => np.vdot(g, step) ** 2
        a_step_of_length_1: product = damped => step = step / (np.linalg.norm(step) or 1.0)\n    product = damped
        weights: signs = np.where(np.arange(rows) < rows // 2, 1.0, -1.0) => \
            signs = np.repeat([1.0, -1.0], [rows // 2, rows - rows // 2])
        scipy: conjugate_gradient(product, d, iterations)[0] => cg(LinearOperator((len(d), len(d)), matvec=product, \
            dtype=float), d, rtol=1e-10, atol=0.0, maxiter=iterations)[0]
    """,
}

WRONG = {
    "improved": r"""
        five_per_cent_always: margin * abs => 0.05 * abs
        any_change: return abs(recent - before) >= margin * abs(before)
        how_much_better: return recent - before - margin * abs(before)
        nearly_is_enough_in_parts: recent >= before + margin * abs(before) => recent >= before + margin * abs(before) \
            * (1 - 1e-7)
        rounded: recent >= before + margin * abs(before) => round(recent, 6) >= round(before + margin * abs(before), 6)
        a_number: recent >= before + margin * abs(before) => int(recent >= before + margin * abs(before))
        a_float: recent >= before + margin * abs(before) => float(recent >= before + margin * abs(before))
        a_word: recent >= before + margin * abs(before) => 'improved' if recent >= before + margin * abs(before) else \
            'stuck'
        zero_has_size_1: abs(before) => abs(before or 1.0)
        a_little_more_than_the_size: abs(before) => (abs(before) + 1e-8)
        a_margin_always: margin * => (margin or 0.05) *
        margin_at_most_a_half: margin * => min(margin, 0.5) *
        strictly_above_before: recent >= before + margin * abs(before) => recent > before and recent >= before + \
            margin * abs(before)
        nothing_below_zero: recent >= before + margin * abs(before) => recent > 0 and recent >= before + margin * \
            abs(before)
        numbers_may_be_equal: recent >= before + margin * abs(before) => recent == before or recent >= before + \
            margin * abs(before)
    """,
    "turn": r"""
        both_is_no_mode: steps', 'both'): => steps',): && kl', 'both'): => kl',):
        modes_exchanged: in ('steps', 'both') => != 'steps' && in ('kl', 'both') => != 'kl'
        by_a_factor: sign * config.steps_by => sign * int(0.1 * steps) && sign * config.kl_by => sign * 0.1 * kl
        only_when_stuck: sign = 1 if better else -1 => if better:\n        return steps, kl\n    sign = -1
        limit_asked_before_the_step: steps = clip(steps, steps - sign * config.steps_by, config.steps_limits) => low, \
            high = config.steps_limits; steps -= sign * config.steps_by * (steps > low if better else steps < high)
        limits_of_the_author: config.steps_limits => (1000, 20_000)
        kl_limits_of_the_author: config.kl_limits => (0.001, 0.01)
        steps_as_floats: return (steps, kl => return (float(steps), kl
        the_kl_alone: (steps, kl) => kl
        lower_limit_only: clip(steps, steps - sign * config.steps_by, config.steps_limits) => max(steps - sign * \
            config.steps_by, config.steps_limits[0])
        upper_limit_only: clip(steps, steps - sign * config.steps_by, config.steps_limits) => min(steps - sign * \
            config.steps_by, config.steps_limits[1])
        refuses_the_last_notch_of_the_kl: clip(kl, kl + sign * config.kl_by, config.kl_limits) => (kl + sign * \
            config.kl_by if clip(kl, kl + sign * config.kl_by, config.kl_limits) == kl + sign * config.kl_by else kl)
        old_and_new_exchanged: steps, steps - sign * config.steps_by, => steps - sign * config.steps_by, steps,
        steps_to_hundreds: clip(steps, steps - sign * config.steps_by, config.steps_limits) => round(clip(steps, \
            steps - sign * config.steps_by, config.steps_limits), -2)
        not_false_itself: 1 if better else -1 => -1 if better is False else 1
        anything_but_kl: in ('steps', 'both') => != 'kl'
        anything_but_steps: in ('kl', 'both') => != 'steps'
        every_mode: config.mode in ('kl', 'both') => 'kl' or 'both'
        kl_only_inside: :\n        kl => :\n        if not config.kl_limits[0] < kl < \
            config.kl_limits[1]:\n            return (steps, kl)\n        kl
        nothing_moves_at_a_limit: -1\n    if => -1\n    if steps in config.steps_limits:\n        return (steps, \
            kl)\n    if
        steps_stop_with_the_kl: -1\n    if => -1\n    if kl in config.kl_limits:\n        return (steps, kl)\n    if
        start_outside_stays: -1\n    if => -1\n    if not config.steps_limits[0] <= steps <= \
            config.steps_limits[1]:\n        return (steps, kl)\n    if
        start_outside_is_pulled_in_whatever_the_mode: -1\n    if => -1\n    steps = min(max(steps, \
            config.steps_limits[0]), config.steps_limits[1])\n    if
        kl_is_pulled_in_whatever_the_mode: -1\n    if => -1\n    kl = min(max(kl, config.kl_limits[0]), \
            config.kl_limits[1])\n    if
        a_tenth_of_it: steps, steps - sign * config.steps_by, => steps, round(steps * (1 - 0.06 * sign)),
        steps_at_least_1000: return (steps, kl => return (max(1000, steps), kl
        a_float: clip(steps, steps - sign * config.steps_by, config.steps_limits) => float(clip(steps, steps - sign * \
            config.steps_by, config.steps_limits))
        steps_by_of_the_author: config.steps_by => min(300, config.steps_by)
        kl_by_of_the_author: config.kl_by => max(0.0005, config.kl_by)
        limits_of_the_kl_for_both: kl + sign * config.kl_by, config.kl_limits => kl + sign * config.kl_by, (0.001, 0.02)
        limits_one_notch_inside: config.steps_limits) => (config.steps_limits[0] + 1, config.steps_limits[1] - 1))
        a_dictionary: (steps, kl) => {'steps': steps, 'kl': kl}
        changes_only: return (steps, kl => return (sign * config.steps_by, kl
        stuck_moves_the_kl_alone: 1\n    if config => 1\n    if better and config
    """,
    "adapt": r"""
        first_window_is_stuck: Decision(None, None, recent => Decision(False, None, recent
        compares_with_the_first: AdaptiveState(steps, kl, (), recent) => AdaptiveState(steps, kl, (), state.before)
        margin_as_a_factor: improved(recent, state.before, config.margin => recent >= state.before * (1 + config.margin
        never_turns: turn(state.steps_per_update, state.max_kl, better, config) => state.steps_per_update, state.max_kl
        decision_tells_the_recent_as_before: Decision(better, state.before, => Decision(better, recent,
        threshold_with_the_wrong_sign: + config.margin * abs(state.before) => * (1 + config.margin)
        remembers_outside_of_the_state: returns = (*state.returns, float(mean_return)) => adapt.seen = returns = \
            (*getattr(adapt, "seen", ()), float(mean_return)) && recent = sum(returns) => recent, adapt.seen = \
            sum(returns), ()
        turns_at_every_update: if len(returns) < config.window: => if len(returns) < config.window and state.before \
            is not None and state.returns:\n        steps, kl = turn(state.steps_per_update, state.max_kl, \
            mean_return >= state.returns[-1], config)\n        return replace(state, returns=returns, \
            steps_per_update=steps, max_kl=kl), None\n    if len(returns) < config.window:
        whole_returns: float(mean_return) => int(mean_return)
        rounded_returns: float(mean_return) => round(float(mean_return), 3)
        never_negative: float(mean_return) => max(0.0, float(mean_return))
        windows_of_two_at_least: len(returns) < config.window => len(returns) < max(2, config.window)
        windows_of_ten_at_most: len(returns) < config.window => len(returns) < min(10, config.window)
        the_new_return_is_forgotten: recent = sum(returns) => recent = sum(state.returns)
        the_first_return_is_forgotten: recent = sum(returns) => recent = sum(returns[1:])
        largest_return: recent = sum(returns) => recent = max(returns)
        ten_times_the_mean: recent = sum(returns) => recent = 10 * sum(returns) / len(returns)
        five_per_cent_always: improved(recent, state.before, config.margin) => improved(recent, state.before, 0.05)
        exchanged: improved(recent, state.before, config.margin) => improved(state.before, recent, config.margin)
        not_better: improved(recent, state.before, config.margin) => not improved(recent, state.before, config.margin)
        strictly: improved(recent, state.before, config.margin) => recent > state.before + config.margin * \
            abs(state.before)
        threshold_of_five_per_cent: config.margin * abs(state.before) => 0.05 * abs(state.before)
        threshold_of_the_recent: config.margin * abs(state.before) => config.margin * abs(recent)
        threshold_is_before: threshold = state.before + config.margin * abs(state.before) => threshold = state.before
        state_keeps_the_settings: AdaptiveState(steps, kl, (), recent) => replace(state, returns=(), before=recent)
        only_the_steps_are_kept: AdaptiveState(steps, kl, (), recent) => AdaptiveState(steps, state.max_kl, (), recent)
        only_the_kl_is_kept: (steps, kl, (), recent) => (state.steps_per_update, kl, (), recent)
        before_is_forgotten: AdaptiveState(steps, kl, (), recent) => AdaptiveState(steps, kl, (), None)
        before_is_the_sum_of_all: (steps, kl, (), recent) => (steps, kl, (), recent + state.before)
        half_a_window_overlaps: (steps, kl, (), recent) => (steps, kl, returns[len(returns) // 2 + 1 :], recent)
        first_threshold_is_0: None, recent, None, state.steps_per_update, => None, recent, 0.0, state.steps_per_update,
        first_before_is_0: , None, recent, None, state.steps_per_update, => , 0.0, recent, None, state.steps_per_update,
        first_window_is_compared_with_0: if state.before is => state = replace(state, before=state.before or \
            0.0)\n    if state.before is
        first_window_keeps_its_returns: replace(state, returns=(), before=recent) => replace(state, before=recent)
        first_window_keeps_no_sum: replace(state, returns=(), before=recent) => replace(state, returns=())
        no_decision_in_mode_none: )\n    better => )\n    if config.mode == 'none':\n        return (replace(state, \
            returns=(), before=recent), None)\n    better
        no_decision_without_a_change: )\n    return => )\n    if steps == state.steps_per_update:\n        return \
            (replace(state, returns=(), before=recent), None)\n    return
        turned_twice: turn(state.steps_per_update, state.max_kl, better, config) => \
            turn(*turn(state.steps_per_update, state.max_kl, better, config), better, config)
        turned_between_windows: return (replace(state, returns=returns => now = turn(state.steps_per_update, \
            state.max_kl, True, config)\n        return (AdaptiveState(*now, returns, state.before
        decision_at_every_update: , None) => , Decision(None, None, sum(returns), None, state.steps_per_update, \
            state.max_kl))
        a_margin_of_more_than_0: (recent, state.before, config.margin) => (recent, state.before, config.margin or 0.05)
        only_windows_above_0: if state.before is None => if state.before is None or state.before < 0
        an_answer_of_1_or_0: Decision(better, => Decision(int(better),
    """,
    "measure_noise": r"""
        the_curvature_itself: float(g @ step) ** 2 / curvature if curvature > 0.0 else 0.0 => curvature
        length_of_g: float(g @ step) ** 2 / curvature if curvature > 0.0 else 0.0 => float(g @ g)
        one_iteration_more: d, iterations) => d, iterations + 1)
        advantages_without_their_mean: signs * batch.advantages => signs * (batch.advantages - batch.advantages.mean())
        signs_alone: =signs * batch.advantages => =signs
        twice_the_rows: , rows) => , 2 * rows)
    """,
}

ODD = {
    "improved": r"""
        margin_at_most_1: margin * => min(margin, 1.0) *
        ends_at_zero: recent >= before + margin * abs(before) => before < 0 <= recent or recent >= before + margin * \
            abs(before)
    """
}

EQUAL = {
    "turn": r"""
        thirteen_digits: 12 => 13
        twenty_four_digits: 12 => 24
    """,
    "adapt": r"""
        there_are_never_more_returns_than_the_window: < config.window => != config.window
    """,
    "measure_noise": r"""
        the_other_half_has_the_sign: < rows // 2 => >= rows // 2
        a_curvature_is_never_negative: curvature > 0.0 => curvature != 0.0
    """,
}
