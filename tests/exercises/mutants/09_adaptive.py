"""Wrong answers to the exercises of lecture 09, and right ones written in another style."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np

from minitrpo.adaptive import AdaptiveState, Decision
from minitrpo.adaptive import clip as right_clip
from minitrpo.adaptive import improved as right_improved
from minitrpo.adaptive import turn as right_turn
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.noise import Measured
from minitrpo.policy_gradient import policy_gradient
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient


def named(name, function):
    function.__name__ = name
    return function


# --- improved


def margin_as_a_factor(recent, before, margin):
    """Right above zero only: a tenth more of -100 is -110."""
    return recent >= before * (1 + margin)


def as_the_first_commit_had_it(recent, before, margin):
    """`if recent < last * 1.1: stuck`, said the other way round."""
    stuck = recent < before * (1.0 + margin)
    return not stuck


def relative_change_with_the_sign_of_before(recent, before, margin):
    return (recent - before) / before >= margin if before != 0 else recent >= 0


def relative_change_guarded_by_a_small_number(recent, before, margin):
    """0 after 0 is called stuck, as 0 / 1e-8 < 0.05."""
    return (recent - before) / (abs(before) + 1e-8) >= margin


def relative_change_guarded_by_one(recent, before, margin):
    """The unit of the reward decides."""
    return (recent - before) / max(abs(before), 1.0) >= margin


# --- clips for turn


def plain_clip(old, new, limits):
    """A start outside jumps to the limit."""
    return min(max(new, limits[0]), limits[1])


def refuses_what_would_overshoot(old, new, limits):
    return new if limits[0] <= new <= limits[1] else old


def asks_the_old_value(old, new, limits):
    """As `if steps > low: steps -= 300`: the last step goes over the limit."""
    low, high = limits
    if new < old:
        return new if old > low else old
    return new if old < high else old


# --- turn


def turner(
    steps_sign=-1,
    kl_sign=1,
    steps_modes=("steps", "both"),
    kl_modes=("kl", "both"),
    only=None,
    steps_by=lambda config, steps: config.steps_by,
    kl_by=lambda config, kl: config.kl_by,
    clipped=right_clip,
    steps_limits=lambda config: config.steps_limits,
    kl_limits=lambda config: config.kl_limits,
    order=lambda steps, kl: (steps, kl),
    number=lambda steps: steps,
):
    """Return a turn with one thing changed."""

    def turn(steps, kl, better, config):
        if only is not None and better != only:
            return order(steps, kl)
        sign = 1 if better else -1
        if config.mode in steps_modes:
            steps = number(clipped(steps, steps + steps_sign * sign * steps_by(config, steps), steps_limits(config)))
        if config.mode in kl_modes:
            kl = clipped(kl, kl + kl_sign * sign * kl_by(config, kl), kl_limits(config))
        return order(steps, kl)

    return turn


def both_falls_through(steps, kl, better, config):
    """With "both" only the first of the two branches is taken."""
    sign = 1 if better else -1
    if config.mode in ("steps", "both"):
        return right_clip(steps, steps - sign * config.steps_by, config.steps_limits), kl
    if config.mode in ("kl", "both"):
        return steps, right_clip(kl, kl + sign * config.kl_by, config.kl_limits)
    return steps, kl


# --- adapt


def controller(
    full=lambda returns, config: len(returns) >= config.window,
    missing=lambda before: before is None,
    first=lambda state, recent, config: (None, state.steps_per_update, state.max_kl),
    total=sum,
    compared=lambda recent, last: recent,
    better=right_improved,
    next_before=lambda state, recent, better: recent,
    kept=lambda returns: (),
    start=lambda state: state.returns,
    used=lambda better: True,
    told=lambda old, new: new,
    before_told=lambda state, recent: state.before,
    threshold=lambda before, margin: before + margin * abs(before),
):
    """Return an adapt with one thing changed."""

    def adapt(state, mean_return, config):
        returns = (*start(state), float(mean_return))
        if not full(returns, config):
            return replace(state, returns=returns), None
        recent = total(returns)
        old = (state.steps_per_update, state.max_kl)
        if missing(state.before):
            word, steps, kl = first(state, recent, config)
            decision = Decision(word, None, recent, None, steps, kl)
            return AdaptiveState(steps, kl, kept(returns), recent), decision
        word = better(compared(recent, mean_return), state.before, config.margin)
        new = right_turn(*old, word, config) if used(word) else old
        decision = Decision(
            word, before_told(state, recent), recent, threshold(state.before, config.margin), *told(old, new)
        )
        return AdaptiveState(*new, kept(returns), next_before(state, recent, word)), decision

    return adapt


remembered = []


def remembers_outside_of_the_state(state, mean_return, config):
    """A list beside the function: two runs mix, and a resumed one has forgotten."""
    remembered.append(float(mean_return))
    if len(remembered) < config.window:
        return replace(state, returns=tuple(remembered)), None
    returns = tuple(remembered)
    remembered.clear()
    return controller(start=lambda state: returns[:-1])(state, mean_return, config)


def turns_at_every_update(state, mean_return, config):
    """Between two decisions the settings go on in the direction of the update before."""
    new, decision = controller()(state, mean_return, config)
    if decision is None and state.before is not None and state.returns:
        better = mean_return >= state.returns[-1]
        steps, kl = right_turn(new.steps_per_update, new.max_kl, better, config)
        new = replace(new, steps_per_update=steps, max_kl=kl)
    return new, decision


def forgets_the_update_that_closes_the_window(state, mean_return, config):
    if len(state.returns) < config.window:
        return replace(state, returns=(*state.returns, float(mean_return))), None
    closed = replace(state, returns=state.returns[:-1])
    return controller()(closed, state.returns[-1], config)


# --- measure_noise


def gradients_of_halves(policy, theta, batch, pick=lambda n: np.arange(n) < n // 2):
    """Return the gradients of the rows picked and of the others, each by itself."""
    first = pick(len(batch.advantages))
    return [
        surrogate_gradient(policy, theta, Batch(batch.observations[i], batch.actions[i], batch.advantages[i]))
        for i in (first, ~first)
    ]


def measurer(
    pick=lambda n: np.arange(n) < n // 2,
    difference=lambda a, b: (a - b) / 2,
    fisher_of=lambda batch: batch,
    noise=lambda d, y, halves, product, iterations: d @ y,
    both=lambda g, step, curvature, noise: (g @ step) ** 2 / curvature if curvature > 0 else 0.0,
    rows=lambda n: n,
):
    """Return a measurement put together from its parts."""

    def measure(policy, theta, batch, g, step, iterations, damping, fraction):
        halves = gradients_of_halves(policy, theta, batch, pick)
        d = difference(*halves)
        product = damped_fisher(policy, theta, fisher_of(batch), damping, fraction)
        y = conjugate_gradient(product, d, iterations)[0]
        found = float(noise(d, y, halves, product, iterations))
        return Measured(found, float(both(g, step, step @ product(step), found)), rows(len(batch.advantages)))

    return measure


def agreement_of_halves(d, y, halves, product, iterations):
    """g_a'F^-1 g_b: what is left without the noise."""
    a, b = halves
    return a @ conjugate_gradient(product, b, iterations)[0]


def first_half_alone(batch):
    """The Fisher matrix of one half's states."""
    rows = slice(0, len(batch.advantages) // 2)
    return Batch(batch.observations[rows], batch.actions[rows], batch.advantages[rows])


WRONG = {
    "improved": [
        margin_as_a_factor,
        as_the_first_commit_had_it,
        relative_change_with_the_sign_of_before,
        relative_change_guarded_by_a_small_number,
        relative_change_guarded_by_one,
        named("strictly_greater", lambda recent, before, margin: recent > before + margin * abs(before)),
        named("margin_of_the_recent", lambda recent, before, margin: recent >= before + margin * abs(recent)),
        named("compares_sizes", lambda recent, before, margin: abs(recent) >= abs(before) * (1 + margin)),
        named("absolute_margin", lambda recent, before, margin: recent >= before + margin),
        named("no_margin", lambda recent, before, margin: recent >= before),
        named("no_worse_by_the_margin", lambda recent, before, margin: recent >= before - margin * abs(before)),
        named("five_per_cent_always", lambda recent, before, margin: recent >= before + 0.05 * abs(before)),
        named("margin_in_per_cent", lambda recent, before, margin: recent >= before + margin / 100 * abs(before)),
        named("smaller_is_better", lambda recent, before, margin: recent <= before - margin * abs(before)),
        named("arguments_exchanged", lambda recent, before, margin: before >= recent + margin * abs(recent)),
        named("any_change", lambda recent, before, margin: abs(recent - before) >= margin * abs(before)),
        named("how_much_better", lambda recent, before, margin: recent - before - margin * abs(before)),
        named(
            "only_above_zero",
            lambda recent, before, margin: recent >= before * (1 + margin) if before > 0 else recent >= before,
        ),
        named(
            "nothing_beats_zero",
            lambda recent, before, margin: before != 0 and (recent - before) / abs(before) >= margin,
        ),
    ],
    "turn": [
        both_falls_through,
        named("the_wrong_way_round", turner(steps_sign=1, kl_sign=-1)),
        named("both_grow_together", turner(steps_sign=1)),
        named("both_shrink_together", turner(kl_sign=-1)),
        named("always_both", turner(steps_modes=("none", "steps", "kl", "both"), kl_modes=("steps", "kl", "both"))),
        named("both_is_no_mode", turner(steps_modes=("steps",), kl_modes=("kl",))),
        named("modes_exchanged", turner(steps_modes=("kl", "both"), kl_modes=("steps", "both"))),
        named("three_hundred_always", turner(steps_by=lambda config, steps: 300)),
        named("the_papers_kl_step_always", turner(kl_by=lambda config, kl: 0.0005)),
        named(
            "by_a_factor", turner(steps_by=lambda config, steps: int(0.1 * steps), kl_by=lambda config, kl: 0.1 * kl)
        ),
        named("only_when_better", turner(only=True)),
        named("only_when_stuck", turner(only=False)),
        named("no_limits", turner(clipped=lambda old, new, limits: new)),
        named("pulled_in_by_a_jump", turner(clipped=plain_clip)),
        named("limit_asked_before_the_step", turner(clipped=asks_the_old_value)),
        named("refuses_the_last_step", turner(clipped=refuses_what_would_overshoot)),
        named("limits_of_the_author", turner(steps_limits=lambda config: (1000, 20_000))),
        named("kl_limits_of_the_author", turner(kl_limits=lambda config: (0.001, 0.01))),
        named("no_limit_for_the_kl", turner(kl_limits=lambda config: (0.0, 1.0))),
        named("kl_first", turner(order=lambda steps, kl: (kl, steps))),
        named("steps_as_floats", turner(number=float)),
        named("the_kl_alone", turner(order=lambda steps, kl: kl)),
    ],
    "adapt": [
        named("window_slides", controller(kept=lambda returns: returns[1:])),
        named("keeps_the_old_returns", controller(kept=lambda returns: returns)),
        named("window_one_too_long", controller(full=lambda returns, config: len(returns) > config.window)),
        named(
            "window_one_too_short", controller(full=lambda returns, config: len(returns) >= max(config.window - 1, 1))
        ),
        named("ten_updates_always", controller(full=lambda returns, config: len(returns) >= 10)),
        named("decides_at_every_update", controller(full=lambda returns, config: True)),
        named("zero_is_no_window", controller(missing=lambda before: not before)),
        named(
            "first_window_counts_as_improving",
            controller(first=lambda state, recent, config: (True, *right_turn(*settings_of(state), True, config))),
        ),
        named("first_window_is_stuck", controller(first=lambda state, recent, config: (False, *settings_of(state)))),
        named(
            "compares_with_the_best", controller(next_before=lambda state, recent, better: max(state.before, recent))
        ),
        named("compares_with_the_first", controller(next_before=lambda state, recent, better: state.before)),
        named(
            "moves_on_only_when_better",
            controller(next_before=lambda state, recent, better: recent if better else state.before),
        ),
        named("mean_for_the_sum", controller(total=lambda returns: float(np.mean(returns)))),
        named("last_update_for_the_window", controller(compared=lambda recent, last: last)),
        named("margin_as_a_factor", controller(better=margin_as_a_factor)),
        named("without_the_margin", controller(better=lambda recent, before, margin: recent >= before)),
        named("turns_only_when_better", controller(used=lambda better: better)),
        named("never_turns", controller(used=lambda better: False)),
        named("decision_tells_the_old_settings", controller(told=lambda old, new: old)),
        named("decision_tells_the_recent_as_before", controller(before_told=lambda state, recent: recent)),
        named("threshold_with_the_wrong_sign", controller(threshold=lambda before, margin: before * (1 + margin))),
        remembers_outside_of_the_state,
        turns_at_every_update,
        forgets_the_update_that_closes_the_window,
    ],
    "measure_noise": [
        named("the_whole_difference", measurer(difference=lambda a, b: a - b)),
        named("the_sum_of_the_halves", measurer(difference=lambda a, b: (a + b) / 2)),
        named("one_half_alone", measurer(difference=lambda a, b: a / 2)),
        named("noise_of_a_half", measurer(difference=lambda a, b: (a - b) / np.sqrt(2))),
        named("every_other_row", measurer(pick=lambda n: np.arange(n) % 2 == 0)),
        named("rows_at_random", measurer(pick=lambda n: np.random.default_rng(0).permutation(n) < n // 2)),
        named("quarters", measurer(pick=lambda n: np.arange(n) < n // 4)),
        named("the_length_of_d", measurer(noise=lambda d, y, *_: d @ d)),
        named("the_length_of_y", measurer(noise=lambda d, y, *_: y @ y)),
        named("the_product_for_the_solution", measurer(noise=lambda d, y, halves, product, _: d @ product(d))),
        named("the_agreement_for_the_noise", measurer(noise=agreement_of_halves)),
        named("fisher_of_half_the_states", measurer(fisher_of=first_half_alone)),
        named("the_promise_itself", measurer(both=lambda g, step, curvature, noise: g @ step)),
        named("the_curvature_itself", measurer(both=lambda g, step, curvature, noise: curvature)),
        named("signal_for_both", measurer(both=lambda g, s, c, noise: (g @ s) ** 2 / c - noise if c else 0.0)),
        named("length_of_g", measurer(both=lambda g, step, curvature, noise: g @ g)),
        named("steps_of_a_half", measurer(rows=lambda n: n // 2)),
    ],
}


def settings_of(state):
    return state.steps_per_update, state.max_kl


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


RIGHT = {
    "improved": [
        lambda recent, before, margin: not (before + max(margin * before, -margin * before) > recent),
        by_the_gain,
        by_the_relative_gain,
        by_being_close,
        by_decimal_numbers,
    ],
    "turn": [turn_by_table, turn_by_branches, turn_with_numpy],
    "adapt": [adapt_step_by_step, adapt_by_early_returns, adapt_at_one_exit],
    "measure_noise": [noise_by_one_half_less_all, noise_with_a_solution_of_its_own, measurer()],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
REACHED, SIGN = "recent >= before + margin * abs(before)", "1 if better else -1"
STEPS = "clip(steps, steps - sign * config.steps_by, config.steps_limits)"
KL, KL_ROUNDED = "clip(kl, kl + sign * config.kl_by, config.kl_limits)", ", 12)"
FULL, CLOSED = "len(returns) < config.window", "AdaptiveState(steps, kl, (), recent)"
BETTER, TURN = (
    "improved(recent, state.before, config.margin)",
    "turn(state.steps_per_update, state.max_kl, better, config)",
)
FIRST = "Decision(None, None, recent, None, state.steps_per_update, state.max_kl)"
EDITS = {
    "improved": {
        "nearly_is_enough": (REACHED, f"{REACHED} - 1e-6"),
        "nearly_is_enough_in_parts": (REACHED, f"{REACHED} * (1 - 1e-7)"),
        "rounded": (REACHED, "round(recent, 6) >= round(before + margin * abs(before), 6)"),
        "rounded_to_a_whole": (REACHED, "round(recent) >= round(before + margin * abs(before))"),
        "a_number": (REACHED, f"int({REACHED})"),
        "a_float": (REACHED, f"float({REACHED})"),
        "a_word": (REACHED, f"'improved' if {REACHED} else 'stuck'"),
        "zero_has_size_1": ("abs(before)", "abs(before or 1.0)"),
        "size_at_least_a_thousandth": ("abs(before)", "max(abs(before), 1e-3)"),
        "a_little_more_than_the_size": ("abs(before)", "(abs(before) + 1e-8)"),
        "a_margin_always": ("margin *", "(margin or 0.05) *"),
        "margin_at_most_1": ("margin *", "min(margin, 1.0) *"),
        "margin_at_most_a_half": ("margin *", "min(margin, 0.5) *"),
        "strictly_above_before": (REACHED, f"recent > before and {REACHED}"),
        "margin_of_the_mean_size": ("abs(before)", "(abs(before) + abs(recent)) / 2"),
        "margin_of_the_difference": ("abs(before)", "abs(recent - before)"),
        "sizes_below_zero": (REACHED, f"abs(recent) >= abs(before) * (1 + margin) if before < 0 else {REACHED}"),
        "nothing_below_zero": (REACHED, f"recent > 0 and {REACHED}"),
        "squares": (REACHED, "recent * abs(recent) >= before * abs(before) * (1 + margin)"),
        "numbers_may_be_equal": (REACHED, f"recent == before or {REACHED}"),
        "ends_at_zero": (REACHED, f"before < 0 <= recent or {REACHED}"),
    },
    "turn": {
        "lower_limit_only": (STEPS, "max(steps - sign * config.steps_by, config.steps_limits[0])"),
        "upper_limit_only": (STEPS, "min(steps - sign * config.steps_by, config.steps_limits[1])"),
        "refuses_the_last_notch_of_the_kl": (
            KL,
            f"(kl + sign * config.kl_by if {KL} == kl + sign * config.kl_by else kl)",
        ),
        "old_and_new_exchanged": (STEPS, "clip(steps - sign * config.steps_by, steps, config.steps_limits)"),
        "old_and_new_exchanged_for_kl": (KL, "clip(kl + sign * config.kl_by, kl, config.kl_limits)"),
        "kl_to_four_digits": (KL_ROUNDED, ", 4)"),
        "kl_to_six_digits": (KL_ROUNDED, ", 6)"),
        "steps_to_hundreds": (STEPS, f"round({STEPS}, -2)"),
        "true_itself": (SIGN, "1 if better is True else -1"),
        "not_false_itself": (SIGN, "-1 if better is False else 1"),
        "anything_but_kl": ('config.mode in ("steps", "both")', 'config.mode != "kl"'),
        "anything_but_steps": ('config.mode in ("kl", "both")', 'config.mode != "steps"'),
        "every_mode": ('config.mode in ("kl", "both")', '"kl" or "both"'),
        "kl_only_inside": (
            "# rounded",
            "if not config.kl_limits[0] < kl < config.kl_limits[1]: return steps, kl\n        # rounded",
        ),
        "nothing_moves_at_a_limit": ("# 1. steps", "if steps in config.steps_limits: return steps, kl\n    # 1. steps"),
        "steps_stop_with_the_kl": ("# 1. steps", "if kl in config.kl_limits: return steps, kl\n    # 1. steps"),
        "start_outside_stays": (
            "# 1. steps",
            "if not config.steps_limits[0] <= steps <= config.steps_limits[1]: return steps, kl\n    # 1. steps",
        ),
        "start_outside_is_pulled_in_whatever_the_mode": (
            "# 1. steps",
            "steps = min(max(steps, config.steps_limits[0]), config.steps_limits[1])\n    # 1. steps",
        ),
        "kl_is_pulled_in_whatever_the_mode": (
            "# 1. steps",
            "kl = min(max(kl, config.kl_limits[0]), config.kl_limits[1])\n    # 1. steps",
        ),
        "twice_as_far_when_stuck": (SIGN, "1 if better else -2"),
        "a_tenth_of_it": (STEPS, "clip(steps, round(steps * (1 - 0.06 * sign)), config.steps_limits)"),
        "steps_at_least_1000": ("return steps, kl", "return max(1000, steps), kl"),
        "a_float": (STEPS, f"float({STEPS})"),
        "steps_by_of_the_author": ("config.steps_by", "min(300, config.steps_by)"),
        "kl_by_of_the_author": ("config.kl_by", "max(0.0005, config.kl_by)"),
        "limits_of_the_kl_for_both": (KL, "clip(kl, kl + sign * config.kl_by, (0.001, 0.02))"),
        "limits_one_notch_inside": (
            "config.steps_limits)",
            "(config.steps_limits[0] + 1, config.steps_limits[1] - 1))",
        ),
        "a_dictionary": ("return steps, kl", 'return {"steps": steps, "kl": kl}'),
        "changes_only": ("return steps, kl", "return sign * config.steps_by, kl"),
        "stuck_moves_the_kl_alone": ('config.mode in ("steps", "both")', 'better and config.mode in ("steps", "both")'),
    },
    "adapt": {
        "whole_returns": ("float(mean_return)", "int(mean_return)"),
        "rounded_returns": ("float(mean_return)", "round(float(mean_return), 3)"),
        "never_negative": ("float(mean_return)", "max(0.0, float(mean_return))"),
        "windows_of_two_at_least": (FULL, "len(returns) < max(2, config.window)"),
        "windows_of_ten_at_most": (FULL, "len(returns) < min(10, config.window)"),
        "the_new_return_is_forgotten": ("recent = sum(returns)", "recent = sum(state.returns)"),
        "the_first_return_is_forgotten": ("recent = sum(returns)", "recent = sum(returns[1:])"),
        "largest_return": ("recent = sum(returns)", "recent = max(returns)"),
        "ten_times_the_mean": ("recent = sum(returns)", "recent = 10 * sum(returns) / len(returns)"),
        "five_per_cent_always": (BETTER, "improved(recent, state.before, 0.05)"),
        "exchanged": (BETTER, "improved(state.before, recent, config.margin)"),
        "not_better": (BETTER, f"not {BETTER}"),
        "strictly": (BETTER, "recent > state.before + config.margin * abs(state.before)"),
        "mean_against_sum": (BETTER, "improved(recent / len(returns), state.before, config.margin)"),
        "threshold_of_five_per_cent": ("config.margin * abs(state.before)", "0.05 * abs(state.before)"),
        "threshold_of_the_recent": ("config.margin * abs(state.before)", "config.margin * abs(recent)"),
        "threshold_is_before": (
            "threshold = state.before + config.margin * abs(state.before)",
            "threshold = state.before",
        ),
        "state_keeps_the_settings": (CLOSED, "replace(state, returns=(), before=recent)"),
        "only_the_steps_are_kept": (CLOSED, "AdaptiveState(steps, state.max_kl, (), recent)"),
        "only_the_kl_is_kept": (CLOSED, "AdaptiveState(state.steps_per_update, kl, (), recent)"),
        "before_is_forgotten": (CLOSED, "AdaptiveState(steps, kl, (), None)"),
        "before_is_the_sum_of_all": (CLOSED, "AdaptiveState(steps, kl, (), recent + state.before)"),
        "half_a_window_overlaps": (CLOSED, "AdaptiveState(steps, kl, returns[len(returns) // 2 + 1 :], recent)"),
        "first_threshold_is_0": (FIRST, FIRST.replace("recent, None", "recent, 0.0")),
        "first_before_is_0": (FIRST, FIRST.replace("None, None", "None, 0.0")),
        "first_improved_is_false": (FIRST, FIRST.replace("None, None", "False, None")),
        "first_window_is_compared_with_0": (
            "if state.before is None",
            "state = replace(state, before=state.before or 0.0)\n    if state.before is None",
        ),
        "first_window_keeps_its_returns": (
            "replace(state, returns=(), before=recent)",
            "replace(state, before=recent)",
        ),
        "first_window_keeps_no_sum": ("replace(state, returns=(), before=recent)", "replace(state, returns=())"),
        "no_decision_in_mode_none": (
            "# 3. compare",
            "if config.mode == 'none': return replace(state, returns=(), before=recent), None\n    # 3. compare",
        ),
        "never_closes_in_mode_none": (FULL, f"{FULL} or config.mode == 'none'"),
        "no_decision_without_a_change": (
            "return AdaptiveState(",
            "if steps == state.steps_per_update: return replace(state, returns=(), before=recent), None\n"
            "    return AdaptiveState(",
        ),
        "turned_twice": (TURN, "turn(*turn(state.steps_per_update, state.max_kl, better, config), better, config)"),
        "turned_between_windows": (
            "return replace(state, returns=returns), None",
            "now = turn(state.steps_per_update, state.max_kl, True, config)\n"
            "        return AdaptiveState(*now, returns, state.before), None",
        ),
        "decision_at_every_update": (
            "return replace(state, returns=returns), None",
            f"return replace(state, returns=returns), {FIRST.replace('recent', 'sum(returns)')}",
        ),
        "a_margin_of_more_than_0": (BETTER, "improved(recent, state.before, config.margin or 0.05)"),
        "only_windows_above_0": ("if state.before is None", "if state.before is None or state.before < 0"),
        "an_answer_of_1_or_0": ("Decision(better,", "Decision(int(better),"),
    },
    "measure_noise": {
        "no_damping": (", damping, fraction", ", 0.0, fraction"),
        "all_states": (", damping, fraction", ", damping, 1.0"),
        "ten_iterations": ("d, iterations)", "d, 10)"),
        "one_iteration_more": ("d, iterations)", "d, iterations + 1)"),
        "the_residual": ("d, iterations)[0]", "d, iterations)[1]"),
        "advantages_without_their_mean": (
            "=signs * batch.advantages",
            "=signs * (batch.advantages - batch.advantages.mean())",
        ),
        "signs_alone": ("=signs * batch.advantages", "=signs"),
        "the_fraction_at_once": ("Measured(noise,", "Measured(noise / max(curvature, 1e-30),"),
        "nan_for_a_step_of_zeros": ("0.0 else 0.0", "0.0 else float('nan')"),
        "no_square": (" ** 2 / curvature", " / curvature"),
        "twice_the_rows": (", rows)", ", 2 * rows)"),
    },
}
