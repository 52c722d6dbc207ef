"""Checks of lecture 12: the clip and its slope, fragments of many simulators, the value at the last step."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.batch_ppo import clipped_objective as right_objective
from minitrpo.algorithms.batch_ppo import objective_slope as right_slope
from minitrpo.course.checks.differential import Candidate, Case, case
from minitrpo.course.checks.register import exercise
from minitrpo.course.continuous import cuts as right_cuts
from minitrpo.course.last_step import READINGS
from minitrpo.course.last_step import values_after as right_values
from minitrpo.policies import Array


def clipped(r: Array, clip: float) -> Array:
    """Return the ratio, clipped."""
    return np.asarray(np.clip(r, 1 - clip, 1 + clip))


def beyond(r: Array, clip: float) -> Array:
    """Return which ratios are beyond the clip."""
    return (r > 1 + clip) | (r < 1 - clip)


@exercise(
    "clipped_objective",
    "minitrpo.algorithms.batch_ppo:clipped_objective",
    hints=(
        "Two products per step: the ratio times A, and the clipped ratio times A. Then the smaller of the two.",
        "np.clip holds an array between two numbers, np.minimum takes the smaller of two arrays, entry by entry.",
        "Multiply first, compare then: for a negative A the smaller product belongs to the larger ratio.",
    ),
    mistakes={
        "The smaller ratio is not the smaller product: multiply by A first, then compare.": lambda r, a, clip: (
            np.minimum(r, clipped(r, clip)) * a
        ),
        "That is the larger of the two products.": lambda r, a, clip: np.maximum(r * a, clipped(r, clip) * a),
        "It takes the clipped product everywhere, and so forgets mistakes that are to be mended.": lambda r, a, clip: (
            clipped(r, clip) * a
        ),
        "Nothing is clipped.": lambda r, a, clip: r * a,
        "A loss has the opposite sign: this is an objective, to be climbed.": lambda r, a, clip: (
            -right_objective(r, a, clip)
        ),
        "It clips the product: the ratio is what is clipped.": lambda r, a, clip: np.minimum(
            r * a, np.clip(r * a, 1 - clip, 1 + clip)
        ),
        "The clip holds from above only.": lambda r, a, clip: np.minimum(r * a, np.minimum(r, 1 + clip) * a),
        "The clip holds from below only.": lambda r, a, clip: np.minimum(r * a, np.maximum(r, 1 - clip) * a),
        "It clips to -clip and clip, and a ratio is near 1.": lambda r, a, clip: np.minimum(
            r * a, np.clip(r, -clip, clip) * a
        ),
        "The lower border is 1 - clip, not 1 / (1 + clip).": lambda r, a, clip: np.minimum(
            r * a, np.clip(r, 1 / (1 + clip), 1 + clip) * a
        ),
        "The advantages lost their sign.": lambda r, a, clip: right_objective(r, np.abs(a), clip),
        "Beyond the clip it is 0: it should stay at its value on the border.": lambda r, a, clip: np.where(
            beyond(r, clip), 0.0, r * a
        ),
        "The ratio is given: it is not a logarithm.": lambda r, a, clip: right_objective(np.exp(r), a, clip),
        "That is the mean over the steps: one number per step is wanted.": lambda r, a, clip: np.mean(
            right_objective(r, a, clip)
        ),
    },
)
def clipped_objective_cases() -> Iterator[Case]:
    """Yield the four corners, the inside, borders, and ratios of every size."""
    yield from steps_of_a_batch()
    for ratio in (0.75, 1.25, 0.5, 1.5):
        for clip in (0.25, 0.5):
            yield case("a ratio on the border", np.array([ratio, ratio]), np.array([2.0, -2.0]), clip)


def objective_at(slope: Any) -> Candidate:
    """Return slopes that are slope(r, a, where r is too large, where it is too small)."""
    return lambda r, a, clip: np.asarray(slope(r, a, r > 1 + clip, r < 1 - clip))


@exercise(
    "objective_slope",
    "minitrpo.algorithms.batch_ppo:objective_slope",
    hints=(
        "Where the first of the two products is the smaller one, the slope is that of ratio A; where the clipped one "
        "is, it does not depend on theta: slope 0.",
        "The slope is wanted in log pi, and ratio = exp(log pi - log pi_old): so d ratio / d log pi = ratio.",
        "It is 0 for A > 0 with ratio > 1 + clip, and for A < 0 with ratio < 1 - clip; everywhere else ratio A.",
    ),
    mistakes={
        "That is the slope in the ratio: in log pi it has another factor.": lambda r, a, clip: np.where(
            right_slope(r, a, clip) == 0, 0.0, a
        ),
        "It leaves all four corners alone: two of them are mistakes to be mended.": objective_at(
            lambda r, a, high, low: np.where(high | low, 0.0, r * a)
        ),
        "It leaves the wrong two corners alone.": objective_at(
            lambda r, a, high, low: np.where((a > 0) & low | (a < 0) & high, 0.0, r * a)
        ),
        "The clip has no effect.": lambda r, a, clip: r * a,
        "A good action that is likelier by the clip already should be left alone.": objective_at(
            lambda r, a, high, low: np.where((a < 0) & low, 0.0, r * a)
        ),
        "A bad action that is rarer by the clip already should be left alone.": objective_at(
            lambda r, a, high, low: np.where((a > 0) & high, 0.0, r * a)
        ),
        "Large ratios are left alone whatever the advantage is.": objective_at(
            lambda r, a, high, low: np.where(high | (a < 0) & low, 0.0, r * a)
        ),
        "Small ratios are left alone whatever the advantage is.": objective_at(
            lambda r, a, high, low: np.where((a > 0) & high | low, 0.0, r * a)
        ),
        "Large ratios are left alone for either sign, and small ones for none.": objective_at(
            lambda r, a, high, low: np.where(high, 0.0, r * a)
        ),
        "It takes the clipped ratio times A: a clipped ratio does not change with theta at all.": lambda r, a, clip: (
            clipped(r, clip) * a
        ),
        "That is the objective, not its slope.": right_objective,
        "Downhill: a loss has the opposite sign.": lambda r, a, clip: -right_slope(r, a, clip),
        "It divides by the number of steps: one slope per step is wanted.": lambda r, a, clip: (
            right_slope(r, a, clip) / len(r)
        ),
        "The advantages lost their sign.": lambda r, a, clip: np.abs(right_slope(r, a, clip)),
        "On the border itself the slope is still ratio A.": lambda r, a, clip: np.where(
            (a > 0) & (r >= 1 + clip) | (a < 0) & (r <= 1 - clip), 0.0, r * a
        ),
    },
)
def objective_slope_cases() -> Iterator[Case]:
    """Yield the four corners, the inside, borders, and ratios of every size."""
    yield from steps_of_a_batch()
    for sign, ratio, clip in ((1.0, 1.25, 0.25), (-1.0, 0.75, 0.25), (1.0, 1.5, 0.5), (-1.0, 0.5, 0.5)):
        near = ratio * (1 + np.array([-1e-12, 0.0, 1e-12]))
        yield case("on, above and below the border", near, np.full(3, 3.0 * sign), clip, each=True)


def steps_of_a_batch() -> Iterator[Case]:
    """Yield ratios, advantages and a clip: what both functions get."""
    for clip, ratio, advantage in product((0.2, 0.1), (1.3, 0.7), (2.0, -2.0)):
        yield case("the four corners", np.array([ratio]), np.array([advantage]), clip)
    for ratio, advantage in product((1.1, 0.9, 1.0), (2.0, -2.0, 0.0)):
        yield case("ratios within the clip", np.array([ratio]), np.array([advantage]), 0.2)
    four, signs = np.array([1.3, 0.7, 1.3, 0.7]), np.array([2.0, 2.0, -2.0, -2.0])
    yield case("all corners at once", four, signs, 0.2)
    yield case("integer advantages", four, np.array([3, 1, -2, -4]), 0.2)
    yield case("advantages of 0", four, np.zeros(4), 0.2)
    rng = np.random.default_rng(0)
    for clip in (0.05, 0.1, 0.2, 0.5, 0.9):
        for n in (1, 2, 7, 64):
            ratios, advantages = np.exp(0.5 * rng.standard_normal(n)), rng.standard_normal(n)
            yield case("ratios and advantages at random", ratios, advantages, clip, each=True)
            yield case("advantages that are all positive", ratios, np.abs(advantages), clip, each=True)
            yield case("advantages that are all negative", ratios, -np.abs(advantages), clip, each=True)
    ratios, advantages = np.exp(0.5 * rng.standard_normal(9)), rng.standard_normal(9)
    yield case("a clip beyond 1", ratios * 2, advantages, 1.5, each=True)
    yield case("a clip that no ratio reaches", ratios, advantages, 1e6, each=True)
    yield case("no clip, which is one of inf", ratios, np.where(np.arange(9) == 4, 0.0, advantages), np.inf, each=True)
    yield case("whole ratios", np.array([1, 2, 0, 3]), np.array([0.5, 1.25, -0.5, -0.75]), 0.2, each=True)
    wide = np.array([1e-9, 1e-3, 1e3, 1e9, 1e-9, 1e-3, 1e3, 1e9])
    both = np.repeat([1.0, -1.0], 4)
    for size in (1e-9, 1.0, 1e9):
        yield case("ratios and advantages of every size", wide, size * both, 0.2, each=True)
    ratios, advantages = np.exp(0.3 * rng.standard_normal(20_000)), rng.standard_normal(20_000)
    yield case("20,000 steps", ratios, advantages, 0.2, each=True)
    half = ratios.astype(np.float32), advantages.astype(np.float32)
    yield case("numbers of single precision", *(x[:64] for x in half), 0.5, rtol=1e-5)


def rebuilt(rows: Any) -> Candidate:
    """Return fragments that are rows(simulator, first, stop, T, N) of each right one; those that are None are lost."""

    def fragments(ended: Array) -> Array:
        found = (rows(*row, *ended.shape) for row in right_cuts(ended).tolist())
        return np.array([row for row in found if row is not None], dtype=int).reshape(-1, 3)

    return fragments


def with_empty_ones(ended: Array) -> Array:
    """Return fragments with an empty one behind every end at the last step."""
    rows = right_cuts(ended)
    empty = [[n, len(ended), len(ended)] for n in np.flatnonzero(ended[-1])]
    rows = np.concatenate([rows, np.array(empty, dtype=int).reshape(-1, 3)])
    return np.asarray(rows[np.lexsort((rows[:, 1], rows[:, 0]))])


@exercise(
    "cuts",
    "minitrpo.course.continuous:cuts",
    hints=(
        "Take one simulator: np.flatnonzero of its column gives the steps with which episodes ended. A fragment stops "
        "one step behind.",
        "The last fragment stops behind the last step, whether an episode ended there or not; but never twice.",
        "Each fragment begins where the one before it stopped, the first at step 0: stops = [3, 8] gives the rows "
        "(n, 0, 3) and (n, 3, 8).",
    ),
    mistakes={
        "The steps behind a simulator's last end are lost: their episode goes on, and they are a fragment, too.": (
            lambda ended: np.array([r for r in right_cuts(ended).tolist() if ended[r[2] - 1, r[0]]], int).reshape(-1, 3)
        ),
        "There is an empty fragment where an episode ends with the very last step.": with_empty_ones,
        "The third number is the step after the last, as in a slice, not the last step.": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first, stop - 1)
        ),
        "The third number is where the fragment stops, not how long it is.": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first, stop - first)
        ),
        "The ends are ignored: an episode's border is a border.": lambda ended: np.array(
            [(n, 0, len(ended)) for n in range(ended.shape[1])]
        ),
        "Time and simulator are exchanged: ended has a row per step and a column per simulator.": lambda ended: (
            right_cuts(ended.T)
        ),
        "A fragment begins one step too early: the step with which an episode ended belongs to the one before.": (
            rebuilt(lambda n, first, stop, steps, simulators: (n, max(first - 1, 0), stop))
        ),
        "It is cut before the step with which the episode ended, not behind it.": lambda ended: right_cuts(
            np.concatenate([ended[1:], np.zeros_like(ended[:1])])
        ),
        "Steps are counted through all simulators: each has its own steps 0, 1, 2, ...": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first + n * steps, stop + n * steps)
        ),
        "The order is that of the ends in time; simulator by simulator is wanted.": lambda ended: right_cuts(ended)[
            np.argsort(right_cuts(ended)[:, 2], kind="stable")
        ],
        "The columns are in another order: simulator, first step, step after the last.": lambda ended: right_cuts(
            ended
        )[:, [1, 2, 0]],
        "Fragments of a single step are lost.": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first, stop) if stop - first > 1 else None
        ),
    },
)
def cuts_cases() -> Iterator[Case]:
    """Yield ends by hand and at random, many simulators and long segments."""
    three = np.array([[False], [True], [False]])
    yield case("an end in the middle", three)
    yield case("no end", np.zeros((3, 1), bool))
    yield case("an end at the last step", np.array([[False], [False], [True]]))
    yield case("an end at the first step", np.array([[True], [False], [False]]))
    yield case("ends at every step", np.ones((3, 1), bool))
    yield case("two ends in a row", np.array([[False], [True], [True], [False]]))
    yield case("two simulators", np.array([[False, True], [True, False], [False, False]]))
    yield case("two simulators, one without an end", np.array([[False, False], [True, False], [False, False]]))
    yield case("two simulators that end together", np.array([[False, False], [False, False], [True, True]]))
    yield case("a single step", np.array([[True, False, True]]))
    yield case("as many steps as simulators", np.eye(3, dtype=bool))
    rng = np.random.default_rng(0)
    for steps, simulators in ((4, 3), (3, 4), (7, 1), (1, 7), (5, 5), (12, 2)):
        for often in (0.1, 0.4, 0.9):
            yield case("ends at random", rng.random((steps, simulators)) < often)
    at_200 = np.arange(1, 2049)[:, None] % 200 == 0
    yield case("2,048 steps of one simulator", at_200)
    yield case("128 steps of 16 simulators", rng.random((128, 16)) < 0.03)
    yield case("8 steps of 256 simulators", rng.random((8, 256)) < 0.05)
    for steps, simulators in ((0, 1), (0, 3), (3, 0), (0, 0)):
        yield case("no steps, or no simulators", np.zeros((steps, simulators), bool))


def read_as(other: str) -> Candidate:
    """Return the values of one reading, whatever was asked for."""
    return lambda reading, *rest: right_values(other, *rest)


def exchanged(one: str, other: str) -> Candidate:
    """Return values in which two readings are taken for each other."""
    swap = {one: other, other: one}
    return lambda reading, *rest: right_values(swap.get(reading, reading), *rest)


def leaks(reading: str, values: Array, final: Array, first: Array, last: Array, terminated: Array) -> Array:
    """Return values that do not see the borders of fragments."""
    after = np.append(values[1:], final[-1])
    return np.asarray(np.where(terminated & (reading != "literal"), 0.0, after))


@exercise(
    "values_after",
    "minitrpo.course.last_step:values_after",
    hints=(
        "Begin with values[1:], one place to the left; what stands in the last place does not matter yet.",
        "after[last] = x puts one number per fragment, in order, behind each fragment's last step; x depends on the "
        "reading.",
        "At the end, three of the four readings put 0 where the task terminated.",
    ),
    mistakes={
        "Every reading is taken for `final`.": read_as("final"),
        "Every reading is taken for `zero`.": read_as("zero"),
        "Every reading is taken for `next`.": read_as("next"),
        "Every reading is taken for `literal`.": read_as("literal"),
        "`final` and `next` are exchanged.": exchanged("final", "next"),
        "`final` and `literal` are exchanged.": exchanged("final", "literal"),
        "`zero` and `final` are exchanged.": exchanged("zero", "final"),
        "`zero` and `literal` are exchanged.": exchanged("zero", "literal"),
        "`zero` is 0 behind every end, a cut, too.": lambda reading, *rest: right_values(
            "final" if reading == "zero" else reading, *rest
        ),
        "`final` is 0 only where the task terminated, not behind a cut.": lambda reading, *rest: right_values(
            "zero" if reading == "final" else reading, *rest
        ),
        "`literal` has no 0 at all: V(final observation) at true ends, too.": lambda reading, *rest: right_values(
            "final" if reading == "literal" else reading, *rest
        ),
        "`next` asks for first_values behind a cut.": lambda reading, *rest: right_values(
            "final" if reading == "next" else reading, *rest
        ),
        "Where the task terminated, `next` is 0, too.": lambda reading, values, final, first, last, terminated: (
            np.where(last, np.repeat(first, np.diff(np.flatnonzero(np.append(True, last)))), 0)
            + np.where(last, 0, np.append(values[1:], 0))
            if reading == "next"
            else right_values(reading, values, final, first, last, terminated)
        ),
        "It leaks over the border of a fragment: what follows there is another episode.": leaks,
        "That is each step's own value: the value of the next state is wanted.": lambda reading, values, *rest: (
            right_values(reading, np.append(0.0, values[:-1]), *rest)
        ),
        "The fragments' values are in reverse order.": lambda reading, values, final, first, last, terminated: (
            right_values(reading, values, final[::-1], first[::-1], last, terminated)
        ),
        "Every fragment gets the first fragment's value.": lambda reading, values, final, first, last, terminated: (
            right_values(
                reading, values, np.full_like(final, final[0]), np.full_like(first, first[0]), last, terminated
            )
        ),
    },
)
def values_after_cases() -> Iterator[Case]:
    """Yield fragments by hand and at random, cut and terminated, in all readings."""
    values, final, first = np.array([1.0, 2.0, 3.0, 4.0]), np.array([30.0, 40.0]), np.array([50.0, 60.0])
    two = np.array([False, True, False, True])
    for reading in READINGS:
        yield case("a fragment that was cut", reading, values[:2], final[:1], first[:1], two[:2], np.zeros(2, bool))
        yield case("a fragment that terminated", reading, values[:2], final[:1], first[:1], two[:2], two[:2])
    for reading in READINGS:
        for kind, terminated in (
            ("a cut before a termination", np.array([False, False, False, True])),
            ("a termination before a cut", np.array([False, True, False, False])),
            ("two cuts", np.zeros(4, bool)),
            ("two terminations", two),
        ):
            yield case(kind, reading, values, final, first, two, terminated)
        one, none = np.ones(1, bool), np.zeros(1, bool)
        for over in (one, none):
            yield case("a single step", reading, values[:1], final[:1], first[:1], one, over)
        yield case("integer values", reading, *(x.astype(int) for x in (values, final, first)), two, two)
    rng = np.random.default_rng(0)
    for lengths in ((1, 1, 1), (3, 1, 5), (7, 2), (12,), (2, 2, 2, 2)):
        for reading in READINGS:
            yield values_case("fragments at random", rng, reading, lengths)
    for reading in READINGS:
        for size in (1e-9, 1e9):
            yield values_case("very small and very large values", rng, reading, (3, 4, 2), size)
        yield values_case("2,048 steps", rng, reading, (200,) * 10 + (48,))
    none = np.zeros(4, bool)
    for reading in READINGS:
        put = "".join([*reading])
        yield case("a reading that was put together", put, values, final, first, two, two & (values > 3))
        whole = values.astype(int)
        yield case("integer values and other ends", reading, whole, final + 0.5, first + 0.25, two, none)
        yield case("values and whole ends", reading, values / 4, final.astype(int), first.astype(int), two, none)
        yield case("ends of 0", reading, values, np.array([0.0, 40.0]), np.array([50.0, 0.0]), two, none)
        yield case("equal values", reading, 2 * np.ones(4), final, first, two, none)
        yield case("equal ends", reading, values, 7 * np.ones(2), 9 * np.ones(2), two, none)


def values_case(kind: str, rng: np.random.Generator, reading: str, lengths: tuple[int, ...], size: float = 1.0) -> Case:
    """Return a case of fragments of these lengths, of which about half terminated."""
    n, last = sum(lengths), np.zeros(sum(lengths), bool)
    last[np.cumsum(lengths) - 1] = True
    terminated = last & (rng.random(n) < 0.5)
    values, final, first = (size * rng.standard_normal(k) for k in (n, len(lengths), len(lengths)))
    return case(kind, reading, values, final, first, last, terminated, each=True)
