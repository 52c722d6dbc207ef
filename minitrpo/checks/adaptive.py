"""Checks of lecture 09: the controller of steps/update and max-KL."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState, Decision
from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import close
from minitrpo.checks.register import examined as exercise

IMPROVED = "minitrpo.adaptive:improved"
CLIP = "minitrpo.adaptive:clip"
TURN = "minitrpo.adaptive:turn"
ADAPT = "minitrpo.adaptive:adapt"

# recent, before, margin, improved; every tie is exact in binary
COMPARISONS = (
    (111.0, 100.0, 0.1, True, "more by 11 % of 100"),
    (109.0, 100.0, 0.1, False, "more by 9 % of 100 only"),
    (104.0, 100.0, 0.05, False, "more by 4 % of 100 only"),
    (106.0, 100.0, 0.05, True, "more by 6 % of 100"),
    (-89.0, -100.0, 0.1, True, "above -100 by 11 % of 100: less negative is better"),
    (-91.0, -100.0, 0.1, False, "above -100 by 9 % of 100 only"),
    (-105.0, -100.0, 0.1, False, "worse than -100, although it is more than -110"),
    (-111.0, -100.0, 0.1, False, "worse than -100"),
    (-99.0, -100.0, 0.0, True, "better than -100, and there is no margin"),
    (1.0, -1.0, 0.25, True, "above -1 by twice its size"),
    (-1.0, 1.0, 0.25, False, "below 1"),
    (-0.5, -1.0, 1.0, False, "above -1 by half its size only"),
    (0.5, -1.0, 1.0, True, "above -1 by 1.5 times its size"),
    (500.0, 400.0, 0.25, True, "exactly the margin: that is enough"),
    (-300.0, -400.0, 0.25, True, "exactly the margin: that is enough"),
    (7.0, 7.0, 0.0, True, "equal, and without a margin not being worse is enough"),
    (-7.0, -7.0, 0.0, True, "equal, and without a margin not being worse is enough"),
    (7.0, 7.0, 0.05, False, "no more than before"),
    (0.0, 0.0, 0.05, True, "equal to 0, of which a margin is 0"),
    (0.001, 0.0, 0.05, True, "above 0, of which a margin is 0"),
    (-0.001, 0.0, 0.05, False, "below 0"),
    (0.02, 0.01, 0.05, True, "twice 0.01"),
    (0.2, 0.1, 3.0, False, "twice 0.1, where four times was asked for"),
)


@exercise(
    "improved",
    IMPROVED,
    "Draw before and the level to be reached on a number line, once for before = 100, once for before = -100.",
    "The level to be reached is always above before. By how much? By a fraction of its size, whatever its sign.",
)
def improved(candidate: Candidate) -> None:
    """Check the comparison with a table by hand, and for units and monotony."""
    for recent, before, margin, expected, why in COMPARISONS:
        case = f"recent {recent:g}, before {before:g}, margin {margin:g}"
        answer = truth(candidate(recent, before, margin))
        assert answer == expected, f"For {case} it should be {expected}: the recent window is {why}"
    rng = np.random.default_rng(0)
    for before, margin in product(rng.normal(0.0, 50.0, 12), (0.0, 0.05, 0.3, 2.0)):
        needed = margin * abs(before)
        for times in (-1.5, 0.5, 0.98, 1.02, 3.0):
            recent = before + times * max(needed, 0.01)
            expected = times > 1.0 if margin > 0 else times > 0
            answers = [truth(candidate(unit * recent, unit * before, margin)) for unit in (1.0, 1e-3, 1e3)]
            case = f"recent {recent:.6g}, before {before:.6g}, margin {margin:g}"
            assert answers[0] == expected, f"For {case} it should be {expected}"
            assert len(set(answers)) == 1, f"For {case} the answer changes with the unit in which rewards are counted"


def truth(answer: Any) -> bool:
    """Return a yes or no as a bool; anything else is refused."""
    if isinstance(answer, np.ndarray) and answer.shape == ():
        answer = answer.item()
    assert answer is not None, "it returned None: is there a return statement?"
    assert isinstance(answer, bool | np.bool_), f"it should return True or False, not {type(answer).__name__}"
    return bool(answer)


# old, new, clipped to limits (10, 100)
CLIPPED = (
    (50, 60, 60, "inside the limits nothing is clipped"),
    (12, 9, 10, "a step over the lower limit ends at the limit, it is not refused"),
    (95, 105, 100, "a step over the upper limit ends at the limit"),
    (10, 7, 10, "at the lower limit there is no way down"),
    (100, 103, 100, "at the upper limit there is no way up"),
    (10, 13, 13, "from the lower limit the way up is free"),
    (100, 97, 97, "from the upper limit the way down is free"),
    (200, 197, 197, "a start above the limits comes down step by step, not by a jump to 100"),
    (200, 203, 200, "a start above the limits does not go further out"),
    (5, 8, 8, "a start below the limits comes up step by step, not by a jump to 10"),
    (5, 2, 5, "a start below the limits does not go further out"),
    (5, 150, 100, "the far limit holds for a start outside, too"),
    (200, 1, 10, "the far limit holds for a start outside, too"),
)


@exercise(
    "clip",
    CLIP,
    "Inside the limits it is min(max(new, low), high). What has to change for an old value outside of them?",
    "An old value outside moves the limit on its side: the range is from min(low, old) to max(high, old).",
)
def clip(candidate: Candidate) -> None:
    """Check against a table by hand: whole numbers stay whole, the sign and the scale do not matter."""
    for old, new, expected, why in CLIPPED:
        answer = candidate(old, new, (10, 100))
        close(
            answer,
            expected,
            f"From {old} to {new} with limits (10, 100) it should give {expected}, not {answer}: {why}",
        )
        whole(answer, "clipped")
        answer = candidate(old * 1e-4, new * 1e-4, (0.001, 0.01))
        close(answer, expected * 1e-4, f"From {old}e-4 to {new}e-4 with limits (0.001, 0.01): {why}")
        answer = candidate(-old, -new, (-100, -10))
        close(answer, -expected, f"From {-old} to {-new} with limits (-100, -10): {why}")
    close(candidate(3, 8, (5, 5)), 5, "From 3 to 8 with limits (5, 5) it should give 5")


def whole(number: Any, what: str) -> None:
    """Assert that a number of steps is an integer."""
    kind = type(number).__name__
    assert isinstance(number, Integral), f"the {what} steps/update are a {kind}: whole numbers should stay whole"


OTHER = AdaptiveConfig(mode="both", steps_by=170, kl_by=0.002, steps_limits=(900, 6_000), kl_limits=(0.0005, 0.03))


@exercise(
    "turn",
    TURN,
    "Which way does each setting go when learning goes well? The two go opposite ways.",
    "One sign for both: +1 if better, else -1. Steps change by -sign * config.steps_by, the KL by "
    "+sign * config.kl_by.",
    "Ask before each change: does config.mode move this setting? And each result goes through clip.",
)
def turn(candidate: Candidate) -> None:
    """Check directions, modes, constants and limits of one decision."""
    for mode, better in product(("both", "steps", "kl", "none"), (True, False)):
        config, sign = AdaptiveConfig(mode=mode), 1 if better else -1
        steps, kl = pair(candidate(5000, 0.005, better, config))
        case = f'With mode "{mode}", 5000 steps, max-KL 0.005 and better = {better}'
        moves = mode in ("both", "steps")
        want = 5000 - 300 * sign * moves
        assert steps == want, f"{case} steps/update should {'become' if moves else 'stay'} {want}, not {steps}"
        moves = mode in ("both", "kl")
        want_kl = round(0.005 + 0.0005 * sign * moves, 6)
        symptom = f"{case} max-KL should {'become' if moves else 'stay'} {want_kl}, not {float(kl):.6g}"
        close(kl, want_kl, symptom, 1e-9)
        whole(steps, "new")
    _other_constants(candidate)
    _limits_of_turning(candidate)


def _other_constants(candidate: Candidate) -> None:
    for steps, kl, better in product((1200, 3001, 5500), (0.004, 0.02), (True, False)):
        sign = 1 if better else -1
        got = pair(candidate(steps, kl, better, OTHER))
        case = f"A config with steps_by=170 and kl_by=0.002, from {steps} steps and max-KL {kl}, better = {better}: "
        close(got[0], steps - 170 * sign, f"{case}steps/update should be {steps - 170 * sign}, not {got[0]}")
        symptom = f"{case}max-KL should be {kl + 0.002 * sign:.4g}, not {float(got[1]):.4g}"
        close(got[1], kl + 0.002 * sign, symptom, 1e-9)


def _limits_of_turning(candidate: Candidate) -> None:
    cases = (  # from where, better, to where, why
        ((1100, 0.0199), True, (1000, 0.02), "a step over a default limit ends at the limit"),
        ((1000, 0.02), True, (1000, 0.02), "at the limits it should stay"),
        ((19_900, 0.0012), False, (20_000, 0.001), "a step over a default limit ends at the limit"),
        ((20_000, 0.001), False, (20_000, 0.001), "at the limits it should stay"),
        ((500, 0.03), False, (800, 0.0295), "a start outside the limits comes in step by step"),
        ((500, 0.03), True, (500, 0.03), "a start outside the limits should not go further out"),
        ((25_000, 0.0002), True, (24_700, 0.0007), "a start outside the limits comes in step by step"),
    )
    for (steps, kl), better, (want, want_kl), why in cases:
        got, got_kl = pair(candidate(steps, kl, better, AdaptiveConfig()))
        case = f"From {steps} steps and max-KL {kl}, better = {better}: {why}"
        close(got, want, f"{case}: {want} steps/update, not {got}")
        close(got_kl, want_kl, f"{case}: max-KL {want_kl}, not {float(got_kl):.6g}", 1e-9)
    got, _ = pair(candidate(1000, 0.005, True, OTHER))
    assert got == 900, f"the limits of steps/update should come from config.steps_limits: 900, not {got}"
    got, got_kl = pair(candidate(5_900, 0.001, False, OTHER))
    assert got == 6_000, f"the limits of steps/update should come from config.steps_limits: 6000, not {got}"
    close(got_kl, 0.0005, "The limits of max-KL should come from config.kl_limits: 0.0005", 1e-9)


def pair(result: Any) -> tuple[Any, Any]:
    """Return the two things that it should have returned."""
    assert result is not None, "it returned None: is there a return statement?"
    assert isinstance(result, tuple | list), f"it should return two things, not {type(result).__name__}"
    assert len(result) == 2, f"it should return two things, not {len(result)}"
    return result[0], result[1]


START = AdaptiveState(5000, 0.005)
THREE = AdaptiveConfig(window=3)


@exercise(
    "adapt",
    ADAPT,
    "Until config.window returns are together, remember the new one and decide nothing: (replace(state, ...), None).",
    "When a window closes, its sum becomes the next `before`, and the collected returns are empty again.",
    "The first window has no `before` (None, which is not 0): both settings stay, and Decision.improved is None.",
)
def adapt(candidate: Candidate) -> None:
    """Check the controller on streams with a table by hand, and that its state is all in `AdaptiveState`."""
    _first_window(candidate)
    _by_hand(candidate)
    _any_stream(candidate)
    _state_is_all_there_is(candidate)


def follow(
    candidate: Candidate, state: AdaptiveState, returns: Sequence[float], config: AdaptiveConfig
) -> list[tuple[AdaptiveState, Any]]:
    """Return (state, decision) after each update."""
    trace = []
    for value in returns:
        state, decision = pair(candidate(state, value, config))
        assert isinstance(state, AdaptiveState), (
            f"the first thing it returns should be AdaptiveState, not {type(state).__name__}"
        )
        if decision is not None:
            assert isinstance(decision, Decision), (
                f"the second thing should be a Decision or None, not {type(decision).__name__}"
            )
        trace.append((state, decision))
    return trace


def _first_window(candidate: Candidate) -> None:
    remembered = ((1.0,), (1.0, 2.5), (), (4.0,), (4.0, 5.0), ())
    trace = follow(candidate, START, [1.0, 2.5, -7.0, 4.0, 5.0, 6.0], THREE)
    for update, ((state, decision), returns) in enumerate(zip(trace, remembered, strict=True), 1):
        assert (decision is not None) == (update in (3, 6)), (
            f"With windows of 3 updates and six returns there was {'no' if decision is None else 'a'} decision after "
            f"update {update}: one falls after the third and one after the sixth"
        )
        got = tuple(state.returns)
        assert len(got) == len(returns), (
            f"After update {update} of windows of 3 the state should remember {len(returns)} return(s), not {len(got)}"
        )
        close(got, returns, f"After update {update} the state should remember the returns {returns}")
        assert update == 6 or (state.steps_per_update, state.max_kl) == (5000, 0.005), (
            f"after update {update} of windows of 3 no two windows have been compared, and the settings have changed"
        )
        assert update > 2 or state.before is None, (
            f"after update {update} no window of 3 has closed: `before` should still be None"
        )
    first = trace[2][1]
    assert first.improved is None, (
        f"the first window has nothing to be compared with: improved should be None, not {first.improved}"
    )
    assert first.before is None, "the decision of the first window should have before = None"
    assert first.threshold is None, "the decision of the first window should have threshold = None"
    close(first.recent, -3.5, "The returns 1, 2.5, -7 sum to -3.5: `recent` is a sum")
    close(trace[2][0].before, -3.5, "After the window of 1, 2.5, -7 `before` should be its sum, -3.5")


def _by_hand(candidate: Candidate) -> None:
    """Windows of 3 equal returns: level, improved?, steps, max-KL; margin 5 %."""
    table = (
        (-100.0, None, 5000, 0.005),
        (-104.0, False, 5300, 0.0045),  # more than -105, and worse than -100
        (-90.0, True, 5000, 0.005),
        (-88.0, False, 5300, 0.0045),  # better, by less than the margin
        (-84.0, False, 5600, 0.004),  # better than -90 by more than the margin, but not than -88
        (-10.0, True, 5300, 0.0045),
        (0.0, True, 5000, 0.005),
        (-1.0, False, 5300, 0.0045),  # compared with a sum of 0
        (20.0, True, 5000, 0.005),
        (20.5, False, 5300, 0.0045),
        (22.0, True, 5000, 0.005),
    )
    returns = [level for level, *_ in table for _ in range(3)]
    trace = follow(candidate, START, returns, THREE)
    for number, (level, better, steps, kl) in enumerate(table):
        state, decision = trace[3 * number + 2]
        before = None if number == 0 else 3 * table[number - 1][0]
        case = f"Window {number + 1} of 3 returns of {level:g}, after a window of {table[max(number - 1, 0)][0]:g}"
        assert decision is not None, f"{case}: a window closed and there is no decision"
        assert decision.improved == better, f"{case}: improved should be {better}, not {decision.improved}"
        close(decision.recent, 3 * level, f"{case}: `recent` is the sum of the window")
        if before is not None:
            assert decision.before is not None, f"{case}: there is a window before, `before` should not be None"
            close(decision.before, before, f"{case}: `before` is the sum of the window just before, not of another")
            assert decision.threshold is not None, f"{case}: there is a window before, `threshold` should not be None"
            close(decision.threshold, before + 0.05 * abs(before), f"{case}: `threshold` is what had to be reached")
        _settings(case, state, decision, steps, kl)
        if number + 1 < len(table):
            later = trace[3 * number + 4][0]
            held = (later.steps_per_update, later.max_kl) == (state.steps_per_update, state.max_kl)
            assert held, f"{case}: the settings changed again before the next window was full"


def _settings(case: str, state: AdaptiveState, decision: Any, steps: int, kl: float) -> None:
    got = state.steps_per_update
    assert got == steps, f"{case}: steps/update should now be {steps}, not {got}"
    close(state.max_kl, kl, f"{case}: max-KL should now be {kl}, not {float(state.max_kl):.6g}", 1e-9)
    told = (decision.steps_per_update, decision.max_kl)
    symptom = f"{case}: the decision reports {told}, the settings that follow are {(got, state.max_kl)}"
    assert decision.steps_per_update == got, symptom
    close(decision.max_kl, state.max_kl, symptom, 1e-9)


def _any_stream(candidate: Candidate) -> None:
    """Other windows, margins, modes and constants, on noise around levels of any sign."""
    rng = np.random.default_rng(3)
    for (window, level, margin), mode in product(((1, -20.0, 0.0), (2, 3.0, 0.1), (7, 0.0, 0.05)), ("both", "kl")):
        config = replace(OTHER, mode=mode, window=window, margin=margin)
        returns = level + 5.0 * rng.standard_normal(6 * window)
        trace = follow(candidate, START, returns.tolist(), config)
        sums = returns.reshape(6, window).sum(axis=1)
        steps, kl = 5000, 0.005
        for number in range(6):
            case = f"Windows of {window} around {level:g}, margin {margin:g}, mode {mode}, window {number + 1}"
            state, decision = trace[(number + 1) * window - 1]
            assert decision is not None, f"{case}: no decision when the window was full"
            close(decision.recent, sums[number], f"{case}: `recent` is the sum of the window")
            close(state.before, sums[number], f"{case}: `before` of the next comparison is the sum of this window")
            if number > 0:
                better = bool(sums[number] >= sums[number - 1] + margin * abs(sums[number - 1]))
                assert decision.improved == better, f"{case}: improved should be {better}, not {decision.improved}"
                sign = 1 if better else -1
                if mode == "both":
                    steps = min(max(steps - sign * 170, 900), 6_000)
                kl = min(max(kl + sign * 0.002, 0.0005), 0.03)
            _settings(case, state, decision, steps, kl)


def _state_is_all_there_is(candidate: Candidate) -> None:
    config = AdaptiveConfig(window=2)
    up, down = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [-1.0, -1.0, -2.0, -2.0, -3.0, -3.0]
    alone = [follow(candidate, START, stream, config)[-1][0] for stream in (up, down)]
    one, two = START, START
    for a, b in zip(up, down, strict=True):
        (one, _), (two, _) = pair(candidate(one, a, config)), pair(candidate(two, b, config))
    symptom = "Two runs at once get in each other's way: everything that it remembers must be in the state"
    for together, single, steps in ((one, alone[0], 4400), (two, alone[1], 5600)):
        assert together.steps_per_update == single.steps_per_update == steps, symptom
        close(tuple(together.returns), tuple(single.returns), symptom)
        close(together.before, single.before, symptom)
    state, decision = pair(candidate(AdaptiveState(4000, 0.002, (5.0,), 8.0), 6.0, config))
    case = "A controller resumed with one return of 5 and a window of 8 before, given 6"
    assert decision is not None, f"{case}: the window is full, there should be a decision"
    assert decision.improved, f"{case}: 11 is better than 8"
    close(decision.recent, 11.0, f"{case}: `recent` should be 11")
    _settings(case, state, decision, 3700, 0.0025)
