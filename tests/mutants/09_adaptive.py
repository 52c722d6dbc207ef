"""Wrong answers to the exercises of lecture 09, and right ones written in another style."""

from dataclasses import replace

import numpy as np

from minitrpo.adaptive import AdaptiveState, Decision
from minitrpo.adaptive import clip as right_clip
from minitrpo.adaptive import improved as right_improved
from minitrpo.adaptive import turn as right_turn


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


# --- clip


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


def admits_everything_from_outside(old, new, limits):
    low, high = limits
    if not low <= old <= high:
        return new
    return min(max(new, low), high)


def stays_outside(old, new, limits):
    low, high = limits
    if not low <= old <= high:
        return old
    return min(max(new, low), high)


def lower_limit_first(old, new, limits):
    """min and max of the ends exchanged."""
    low, high = limits
    return max(min(new, max(low, old)), min(high, old))


def to_the_nearer_limit_from_outside(old, new, limits):
    """A start outside is pulled in as soon as it moves inwards."""
    low, high = limits
    if old > high and new > high:
        return high if new < old else old
    if old < low and new < low:
        return low if new > old else old
    return min(max(new, low), high)


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


RIGHT = {
    "improved": lambda recent, before, margin: not (before + max(margin * before, -margin * before) > recent),
    "turn": turn_by_table,
    "adapt": adapt_step_by_step,
}
