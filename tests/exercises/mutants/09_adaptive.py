"""Lecture 09: right answers in other styles, and wrong ones, most of them as edits of the package."""

import functools
import math
import operator
import statistics
from collections import deque
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from minitrpo.adaptive import AdaptiveState, Decision
from minitrpo.adaptive import clip as right_clip
from minitrpo.adaptive import improved as right_improved
from minitrpo.adaptive import turn as right_turn
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.noise import Measured
from minitrpo.policy_gradient import policy_gradient
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient


def gradients_of_halves(policy, theta, batch):
    first = np.arange(len(batch.advantages)) < len(batch.advantages) // 2
    return [
        surrogate_gradient(policy, theta, Batch(batch.observations[i], batch.actions[i], batch.advantages[i]))
        for i in (first, ~first)
    ]


def clip_case_by_case(old, new, limits):
    """Inwards is always allowed as far as the far limit; outwards as far as the near one, or not at all."""
    low, high = limits
    if new >= old:
        return old if old >= high else min(new, high)
    return old if old <= low else max(new, low)


def turn_by_table(steps, kl, better, config):
    """Both settings in one loop."""
    direction = np.array([-1, 1]) * (1 if better else -1)
    used = (config.mode in ("steps", "both"), config.mode in ("kl", "both"))
    new = [
        clip_case_by_case(old, old + d * by, limits) if on else old
        for old, d, by, limits, on in zip(
            (steps, kl),
            direction,
            (config.steps_by, config.kl_by),
            (config.steps_limits, config.kl_limits),
            used,
            strict=True,
        )
    ]
    return new[0], new[1]


def adapt_step_by_step(state, mean_return, config):
    """With numpy, a list, and the window asked for first."""
    together = np.append(np.array(state.returns), mean_return)
    if together.size != config.window:
        return AdaptiveState(state.steps_per_update, state.max_kl, list(together), state.before), None
    s = np.sum(together)
    steps, kl, answer, needed = state.steps_per_update, state.max_kl, None, None
    if state.before is not None:
        needed = state.before * (1 + config.margin * np.sign(state.before))
        answer = s >= needed
        steps, kl = turn_by_table(steps, kl, answer, config)
    return AdaptiveState(steps, kl, [], s), Decision(answer, state.before, s, needed, steps, kl)


def by_the_gain(recent, before, margin):
    gain = recent - before
    return bool(gain >= margin * before) if before >= 0 else np.greater_equal(gain, -margin * before)


def by_the_relative_gain(recent, before, margin):
    if before == 0:
        return recent >= 0
    return (recent - before) / abs(before) >= margin


def by_being_close(recent, before, margin):
    level = before + margin * abs(before)
    return recent > level or math.isclose(recent, level)


def by_decimal_numbers(recent, before, margin):
    recent, before, margin = (Decimal(str(float(x))) for x in (recent, before, margin))
    return recent >= before + margin * abs(before)


def turn_by_branches(steps, kl, better, config):
    new_steps = steps - config.steps_by if better else steps + config.steps_by
    new_kl = kl + config.kl_by if better else kl - config.kl_by
    if config.mode == "none":
        return steps, kl
    if config.mode == "steps":
        return right_clip(steps, new_steps, config.steps_limits), kl
    if config.mode == "kl":
        return steps, right_clip(kl, new_kl, config.kl_limits)
    return right_clip(steps, new_steps, config.steps_limits), right_clip(kl, new_kl, config.kl_limits)


def turn_with_numpy(steps, kl, better, config):
    way = 2 * int(better) - 1
    on = {"none": (0, 0), "steps": (1, 0), "kl": (0, 1), "both": (1, 1)}[config.mode]
    if on[0]:
        low, high = min(config.steps_limits[0], steps), max(config.steps_limits[1], steps)
        steps = np.clip(steps - way * config.steps_by, low, high)
    if on[1]:
        low, high = min(config.kl_limits[0], kl), max(config.kl_limits[1], kl)
        kl = float(np.clip(kl + way * config.kl_by, low, high))
    return [steps, kl]


def adapt_by_early_returns(state, mean_return, config):
    window = [*state.returns, mean_return]
    if len(window) < config.window:
        return replace(state, returns=tuple(window)), None
    total = float(np.sum(window))
    closed = replace(state, returns=(), before=total)
    if state.before is None:
        first = {"improved": None, "before": None, "recent": total, "threshold": None}
        return closed, Decision(**first, steps_per_update=state.steps_per_update, max_kl=state.max_kl)
    needed = state.before + abs(config.margin * state.before)
    better = total >= needed
    steps, kl = turn_by_branches(state.steps_per_update, state.max_kl, better, config)
    closed = replace(closed, steps_per_update=steps, max_kl=kl)
    return closed, Decision(better, state.before, total, needed, steps, kl)


def adapt_at_one_exit(state, mean_return, config):
    returns, decision = state.returns + (float(mean_return),), None  # noqa: RUF005
    if len(returns) >= config.window:
        recent, steps, kl, better, needed = math.fsum(returns), state.steps_per_update, state.max_kl, None, None
        if state.before is not None:
            better = right_improved(recent, state.before, config.margin)
            needed = state.before + config.margin * abs(state.before)
            steps, kl = right_turn(steps, kl, better, config)
        decision = Decision(better, state.before, recent, needed, steps, kl)
        state, returns = AdaptiveState(steps, kl, before=recent), ()
    return replace(state, returns=returns), decision


def noise_by_one_half_less_all(policy, theta, batch, g, step, iterations, damping, fraction):
    """d = g_a - g, as g is the mean of the two."""
    n = len(batch.advantages)
    half = slice(0, n // 2)
    g_a = policy_gradient(policy, theta, batch.observations[half], batch.actions[half], batch.advantages[half])
    product = damped_fisher(policy, theta, batch, damping, fraction)
    y, _ = conjugate_gradient(product, g_a - g, iterations)
    promised = g @ step
    both = promised * promised / (step @ product(step)) if np.any(step) else 0.0
    return Measured(noise=(g_a - g) @ y, both=both, steps=n)


def noise_with_a_solution_of_its_own(policy, theta, batch, g, step, iterations, damping, fraction):
    """g'F^-1 g from conjugate gradient, as the step had it; a step of zeros is asked for."""
    g_a, g_b = gradients_of_halves(policy, theta, batch)
    fisher = damped_fisher(policy, theta, batch, damping, fraction)
    x, y = (conjugate_gradient(fisher, v, iterations)[0] for v in (g, (g_a - g_b) / 2))
    return Measured(float((g_a - g_b) @ y / 2), float(g @ x) if step.any() else 0.0, batch.advantages.size)


def improved_fraction(recent, before, margin):
    r, b, m = map(Fraction, map(str, (recent, before, margin)))
    return (r - b) - m * abs(b) >= 0


def improved_copysign(recent, before, margin):
    if not before:
        return recent >= 0
    goal = before * (1 + math.copysign(margin, before))
    digits = 10 - math.ceil(math.log10(abs(before)))
    return round(recent - goal, digits) >= 0


def improved_closure(recent, before, margin):
    def reaches(value, goal):
        return value >= goal or abs(value - goal) < 1e-10 * abs(goal)

    if before == 0:
        return recent >= 0
    return reaches(recent, before * (1 + margin) if before > 0 else before * (1 - margin))


def improved_max(recent, before, margin):
    size = max(before, -before)
    return recent - before + 1e-12 * size >= size * margin


def turn_terse(steps, kl, better, config):
    return (
        right_clip(steps, steps + (1 - 2 * better) * config.steps_by, config.steps_limits)
        if config.mode in "steps both" and config.mode != ""
        else steps,
        right_clip(kl, kl - (1 - 2 * better) * config.kl_by, config.kl_limits) if config.mode in "kl both" else kl,
    )


def turn_match(steps, kl, better, config):
    way = +1 if better else -1
    fewer = right_clip(steps, steps - way * config.steps_by, config.steps_limits)
    further = right_clip(kl, kl + way * config.kl_by, config.kl_limits)
    match config.mode:
        case "both":
            return fewer, further
        case "steps":
            return fewer, kl
        case "kl":
            return steps, further
        case _:
            return steps, kl


def turn_closure(steps, kl, better, config):
    def moved(old, by, limits, up):
        return right_clip(old, old + by if up else old - by, limits)

    moves = {"steps": (True, False), "kl": (False, True), "both": (True, True), "none": (False, False)}
    has_steps, has_kl = moves[config.mode]
    return (
        moved(steps, config.steps_by, config.steps_limits, not better) if has_steps else steps,
        moved(kl, config.kl_by, config.kl_limits, better) if has_kl else kl,
    )


def turn_zero(steps, kl, better, config):
    steps_by = config.steps_by * (config.mode in ("steps", "both"))
    kl_by = config.kl_by * (config.mode in ("kl", "both"))
    if not better:
        steps_by, kl_by = -steps_by, -kl_by
    return (
        right_clip(steps, steps - steps_by, config.steps_limits) if steps_by else steps,
        right_clip(kl, kl + kl_by, config.kl_limits) if kl_by else kl,
    )


def turn_early(steps, kl, better, config):
    mode = config.mode
    if mode == "none":
        return steps, kl
    if mode == "both":
        steps, _ = turn_early(steps, kl, better, replace(config, mode="steps"))
        return turn_early(steps, kl, better, replace(config, mode="kl"))
    if mode == "steps":
        return right_clip(
            steps, steps - config.steps_by if better else steps + config.steps_by, config.steps_limits
        ), kl
    return steps, right_clip(kl, kl + config.kl_by if better else kl - config.kl_by, config.kl_limits)


def turn_by_hand(steps, kl, better, config):
    def into(old, new, limits):
        low, high = limits
        return max(min(new, max(high, old)), min(low, old))

    if config.mode == "none":
        return steps, kl
    if config.mode != "kl":
        steps = into(steps, steps - config.steps_by if better else steps + config.steps_by, config.steps_limits)
    if config.mode != "steps":
        kl = into(kl, kl + config.kl_by if better else kl - config.kl_by, config.kl_limits)
    return steps, kl


def adapt_terse(state, mean_return, config):
    s, k, b = state.steps_per_update, state.max_kl, state.before
    if len(seen := (*state.returns, mean_return)) < config.window:
        return replace(state, returns=seen), None
    total = sum(seen)
    good = right_improved(total, b, config.margin) if b is not None else None
    s, k = turn_terse(s, k, good, config) if b is not None else (s, k)
    goal = b + config.margin * abs(b) if b is not None else None
    return AdaptiveState(s, k, (), total), Decision(good, b, total, goal, s, k)


def adapt_backwards(state, mean_return, config):
    if len(state.returns) + 1 < config.window:
        return replace(state, returns=(*state.returns, mean_return)), None
    recent = mean_return
    for value in reversed(state.returns):
        recent = recent + value
    if state.before is None:
        return AdaptiveState(state.steps_per_update, state.max_kl, before=recent), Decision(
            None, None, recent, None, state.steps_per_update, state.max_kl
        )
    threshold = state.before + abs(state.before) * config.margin
    better = recent >= threshold
    steps, kl = turn_match(state.steps_per_update, state.max_kl, better, config)
    return AdaptiveState(steps, kl, before=recent), Decision(better, state.before, recent, threshold, steps, kl)


def adapt_class(state, mean_return, config):
    class Window:
        def __init__(self, returns, size):
            self.returns, self.size = deque(returns), size

        def add(self, value):
            self.returns.append(value)
            return len(self.returns) >= self.size

        def total(self):
            return functools.reduce(operator.add, self.returns)

    window = Window(state.returns, config.window)
    if not window.add(mean_return):
        return replace(state, returns=tuple(window.returns)), None
    recent = window.total()
    following = replace(state, returns=(), before=recent)
    if state.before is None:
        return following, Decision(None, None, recent, None, following.steps_per_update, following.max_kl)
    better = by_being_close(recent, state.before, config.margin)
    steps, kl = turn_closure(state.steps_per_update, state.max_kl, better, config)
    following = replace(following, steps_per_update=steps, max_kl=kl)
    threshold = state.before + config.margin * abs(state.before)
    return following, Decision(better, state.before, recent, threshold, steps, kl)


def adapt_mean(state, mean_return, config):
    x = (*state.returns, mean_return)
    if len(x) < config.window:
        return AdaptiveState(state.steps_per_update, state.max_kl, x, state.before), None
    S = statistics.fmean(x) * len(x)
    if state.before is None:
        return (
            AdaptiveState(state.steps_per_update, state.max_kl, (), S),
            Decision(None, None, S, None, state.steps_per_update, state.max_kl),
        )
    T = state.before + config.margin * abs(state.before)
    ok = improved_max(S, state.before, config.margin)
    n, d = turn_zero(state.steps_per_update, state.max_kl, ok, config)
    return AdaptiveState(n, d, (), S), Decision(ok, state.before, S, T, n, d)


def adapt_nested(state, mean_return, config):
    def first(total):
        return (None, None, total, None, state.steps_per_update, state.max_kl)

    def compare_with(before, total):
        better = improved_closure(total, before, config.margin)
        return (
            better,
            before,
            total,
            before + config.margin * abs(before),
            *turn_by_hand(state.steps_per_update, state.max_kl, better, config),
        )

    *older, newest = *state.returns, mean_return
    if len(older) + 1 < config.window:
        return replace(state, returns=(*older, newest)), None
    total = sum(older) + newest
    fields = first(total) if state.before is None else compare_with(state.before, total)
    told = Decision(*fields)
    return AdaptiveState(steps_per_update=fields[-2], max_kl=fields[-1], returns=(), before=total), told


def measure_noise_terse(policy, theta, batch, g, step, iterations, damping, fraction):
    h, F = len(batch.advantages) // 2, damped_fisher(policy, theta, batch, damping, fraction)
    at = lambda i: surrogate_gradient(  # noqa: E731
        policy, theta, Batch(batch.observations[i], batch.actions[i], batch.advantages[i])
    )
    d = (at(slice(h)) - at(slice(h, None))) / 2
    both = (g @ step) ** 2 / bend if (bend := step @ F(step)) else 0.0
    return Measured(d @ conjugate_gradient(F, d, iterations)[0], both, len(batch.advantages))


def measure_noise_signs(policy, theta, batch, g, step, iterations, damping, fraction):
    n = len(batch.advantages)
    a = n // 2
    weight = np.empty(n)
    weight[:a] = n / (2 * a)
    weight[a:] = -n / (2 * (n - a))
    d = surrogate_gradient(policy, theta, replace(batch, advantages=weight * batch.advantages))
    F = damped_fisher(policy, theta, batch, damping, fraction)
    y = conjugate_gradient(F, d, iterations)[0]
    if not np.any(step):
        return Measured(y @ d, 0.0, n)
    unit = step / np.linalg.norm(step)  # of length 1 first: the length of the step cancels
    return Measured(y @ d, (g @ unit) ** 2 / (unit @ F(unit)), n)


def measure_noise_whole(policy, theta, batch, g, step, iterations, damping, fraction):
    n = len(batch.advantages)
    n_a = n // 2
    half_a = Batch(batch.observations[:n_a], batch.actions[:n_a], batch.advantages[:n_a])
    d = (surrogate_gradient(policy, theta, half_a) - g) * (n / (2 * (n - n_a)))
    F = damped_fisher(policy, theta, batch, damping, fraction)
    y = conjugate_gradient(F, d, iterations)[0]
    gs = np.dot(g, step)
    return Measured(np.dot(y, d), gs * (gs / np.dot(step, F(step))) if gs != 0 else 0, n)


def measure_noise_class(policy, theta, batch, g, step, iterations, damping, fraction):
    class Metric:
        def __init__(self):
            self.product = damped_fisher(policy, theta, batch, damping, fraction)

        def inverse_norm(self, vector):
            return np.inner(vector, conjugate_gradient(self.product, vector, iterations)[0])

        def norm(self, vector):
            return np.inner(vector, self.product(vector))

    def gradients():
        for rows in np.array_split(np.arange(len(batch.advantages)), 2):
            yield surrogate_gradient(
                policy, theta, Batch(batch.observations[rows], batch.actions[rows], batch.advantages[rows])
            )

    metric = Metric()
    g_a, g_b = gradients()
    both = 0.0 if (step == 0).all() else np.inner(g, step) ** 2 / metric.norm(step)
    return Measured(metric.inverse_norm(0.5 * g_a - 0.5 * g_b), both, len(batch.advantages))


def measure_noise_masks(policy, theta, batch, g, step, iterations, damping, fraction):
    N = batch.advantages.shape[0]
    a = np.arange(N) < N // 2
    d = np.zeros_like(g)
    for mask, sign in ((a, 1), (~a, -1)):
        d += sign * surrogate_gradient(
            policy, theta, Batch(batch.observations[mask], batch.actions[mask], batch.advantages[mask])
        )
    d *= 0.5
    F = damped_fisher(policy, theta, batch, damping, fraction)
    y = conjugate_gradient(F, d, iterations)[0]
    out = SimpleNamespace(noise=(d * y).sum(), both=0)
    if np.abs(step).sum() > 0:
        out.both = (g * step).sum() ** 2 / (step * F(step)).sum()
    return Measured(out.noise, out.both, N)


def measure_noise_scipy(policy, theta, batch, g, step, iterations, damping, fraction):
    n = len(batch.advantages)
    parts = [replace(batch, observations=batch.observations[i], actions=batch.actions[i],
                     advantages=batch.advantages[i]) for i in (np.s_[: n // 2], np.s_[n // 2 :])]  # fmt: skip
    d = np.subtract(*(surrogate_gradient(policy, theta, part) for part in parts)) / 2
    F = damped_fisher(policy, theta, batch, damping, fraction)
    y, _ = cg(LinearOperator((len(d), len(d)), matvec=F, dtype=float), d, rtol=1e-10, atol=0.0, maxiter=iterations)
    noise = np.vdot(d, y)
    both = np.vdot(g, step) ** 2 / np.vdot(step, F(step)) if np.linalg.norm(step) > 0 else 0.0
    return Measured(float(noise), float(both), n)


RIGHT = {
    "improved": [
        lambda recent, before, margin: not (before + max(margin * before, -margin * before) > recent),
        *(by_the_gain, by_the_relative_gain, by_being_close, by_decimal_numbers),
        *(improved_fraction, improved_copysign, improved_closure, improved_max),
    ],
    "turn": [
        *(turn_by_table, turn_by_branches, turn_with_numpy),
        *(turn_terse, turn_match, turn_closure, turn_zero, turn_early, turn_by_hand),
    ],
    "adapt": [
        *(adapt_step_by_step, adapt_by_early_returns, adapt_at_one_exit),
        *(adapt_terse, adapt_backwards, adapt_class, adapt_mean, adapt_nested),
    ],
    "measure_noise": [
        *(noise_by_one_half_less_all, noise_with_a_solution_of_its_own, measure_noise_terse, measure_noise_signs),
        *(measure_noise_whole, measure_noise_class, measure_noise_masks, measure_noise_scipy),
    ],
}

EDITS = {
    "improved": r"""
        relative_change_guarded_by_a_small_number: return (recent - before) / (abs(before) + 1e-8) >= margin
        five_per_cent_always: margin * abs => 0.05 * abs
        any_change: return abs(recent - before) >= margin * abs(before)
        how_much_better: return recent - before - margin * abs(before)
        nearly_is_enough: recent >= before + margin * abs(before) => recent >= before + margin * abs(before) - 1e-6
        nearly_is_enough_in_parts: recent >= before + margin * abs(before) => recent >= before + margin * abs(before) \
            * (1 - 1e-7)
        rounded: recent >= before + margin * abs(before) => round(recent, 6) >= round(before + margin * abs(before), 6)
        rounded_to_a_whole: return round(recent) >= round(before + margin * abs(before))
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
        kl_to_four_digits: , 12) => , 4)
        kl_to_six_digits: , 12) => , 6)
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
        twice_as_far_when_stuck: 1 if better else -1 => 1 if better else -2
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
        the_residual: d, iterations)[0] => d, iterations)[1]
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
