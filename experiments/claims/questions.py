"""What is asked of the runs of a claim: a number of each run, and the kinds of questions that are made of such numbers.

A number is NaN where a run is too short to have it, and then the question is not asked. Every number has its interval
from course.statistics.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from experiments.harness import Runs
from experiments.tables import Run, curve
from minitrpo.course.statistics import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    LEVEL,
    Interval,
    difference_interval,
    mean_interval,
    median_interval,
    rank_test,
    ratio_interval,
    steps_to,
    verdict,
)
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array

SLACK = 0.98  # of what was asked for: the last update of a run may end a little early
UNTESTED = "not tested"


class Quantity(NamedTuple):
    """A number of a run, and what it is called."""

    words: str
    of: Callable[[Run], float]


class Part(NamedTuple):
    """One question: `ask(runs, level)` returns what was found, with its 95 % interval, and the verdict at a level.

    None: the runs are too few or too short. untested: the claim is about runs more than twice as long as ours, or about
    something that these runs measure only in part.
    """

    words: str
    ask: Callable[[Runs, float], tuple[str, str] | None]
    untested: bool = False


# --- numbers of a run


def mean_between(ends: Array, values: Array, low: float, high: float) -> float:
    """Return the mean of what rows that end at `ends` have between two places; NaN if they do not reach that far."""
    if not len(ends) or ends[-1] < SLACK * high:
        return float("nan")
    begins = np.concatenate([[0.0], ends[:-1]])
    overlap = np.clip(np.minimum(ends, high) - np.maximum(begins, low), 0.0, None)
    overlap[~np.isfinite(values)] = 0.0
    return float(np.dot(overlap, np.nan_to_num(values)) / overlap.sum()) if overlap.any() else float("nan")


def return_at(steps: int, width: int = 20_000) -> Quantity:
    """Return the mean return of the last `width` environment steps before `steps`."""
    words = f"return after {steps:,} steps"
    return Quantity(words, lambda run: mean_between(*curve(run), max(0, steps - width), steps))


def return_after(updates: int, width: int = 5) -> Quantity:
    """Return the mean return of the last `width` updates before `updates`."""
    words = f"return after {updates} updates"
    return Quantity(words, lambda run: mean_between(*curve(run, "iteration"), updates - width, updates))


def area(steps: int, column: str = "mean_return") -> Quantity:
    """Return the mean return over all environment steps up to `steps`: the area under the curve."""
    kind = "evaluation return" if column == "eval_return" else "return"
    words = f"mean {kind} over the first {steps:,} steps"
    return Quantity(words, lambda run: mean_between(*curve(run, y=column), 0, steps))


def last_tenth(steps: int) -> Quantity:
    """Return the mean return over the last tenth of `steps` environment steps."""
    words = f"return over the last tenth of {steps:,} steps"
    return Quantity(words, lambda run: mean_between(*curve(run), 0.9 * steps, steps))


def steps_to_goal(goal: float, within: int) -> Quantity:
    """Return the steps at which fresh episodes reach the goal; infinity if they need more than `within`."""

    def steps(run: Run) -> float:
        ends, returns = curve(run, y="eval_return")
        return steps_to(goal, ends, returns) if len(ends) and ends[-1] >= SLACK * within else float("nan")

    return Quantity(f"steps to an evaluation return of {goal:g}", steps)


def seconds_at(steps: int) -> Quantity:
    """Return the seconds at which a run has taken `steps` environment steps."""

    def at(run: Run) -> float:
        ends, clock = curve(run, y="time_s")
        return float(np.interp(steps, ends, clock)) if ends[-1] >= SLACK * steps else float("nan")

    return Quantity(f"seconds until {steps:,} steps", at)


def seconds(phase: str) -> Quantity:
    """Return the median seconds of an update that a phase takes, without the first row."""
    words = "seconds to collect" if phase == "collect" else f"seconds to {phase}"
    return Quantity(words, lambda run: float(np.median(curve(run, y=f"{phase}_s")[1][1:])))


def share(phase: str) -> Quantity:
    """Return which part of an update a phase takes, each phase the median of all updates."""
    words = f"share of an update's seconds spent {phase}ing"
    return Quantity(words, lambda run: seconds(phase).of(run) / sum(seconds(each).of(run) for each in PHASES))


def times_real_time(step: float) -> Quantity:
    """Return how many seconds of a task's own time a second of collecting holds; step: seconds of a task's step."""

    def factor(run: Run) -> float:
        (ends, collect), updates = curve(run, y="collect_s"), np.diff(curve(run, "iteration", "collect_s")[0])
        return float(np.median(np.diff(ends) * step / (collect[1:] * updates)))

    return Quantity("simulated seconds per second of collecting", factor)


def turns(run: Run) -> float:
    """Return which part of the rule's decisions, in the second half of a run, took back the one before; NaN: too few.

    Decisions that come from noise alone take back the one before in two of three cases: of three numbers, the middle
    one is the largest or the smallest.
    """
    at, asked = (run["decisions"][name] for name in ("env_steps", "steps_per_update"))
    signs = np.sign(np.diff(asked))
    signs = signs[(at[1:] > curve(run)[0][-1] / 2) & (signs != 0)]
    return float(np.mean(signs[1:] != signs[:-1])) if len(signs) > 4 else float("nan")


def steps_asked(run: Run) -> float:
    """Return the mean steps/update over the second half of a run's updates."""
    asked = curve(run, y="steps_per_update")[1]
    return float(np.mean(asked[len(asked) // 2 :]))


# --- questions


def values(runs: Runs, name: str, env: str, quantity: Quantity) -> Array | None:
    """Return a quantity of every seed; None if there is no run, or one is too short for it."""
    found = np.array([quantity.of(run) for run in runs.get((name, env), [])])
    return found if len(found) and not np.isnan(found).any() else None


Answer = Callable[..., tuple[str, str]]


def compared(words: str, arms: tuple[str, ...], env: str, quantity: Quantity, answer: Answer) -> Part:
    """Return the question that `answer(a value for each seed of each arm, level=...)` answers."""

    def ask(runs: Runs, level: float = LEVEL) -> tuple[str, str] | None:
        found = [values(runs, name, env, quantity) for name in arms]
        return None if any(each is None for each in found) else answer(*found, level=level)

    return Part(f"{env}, {quantity.words}{words}", ask)


def higher(quantity: Quantity, one: str, other: str, env: str, by: float = 0.0) -> Part:
    """Return the question whether one arm's mean is more than `by` above another's: Welch's interval."""

    def answer(a: Array, b: Array, level: float) -> tuple[str, str]:
        return told(difference_interval(a, b), ".3g"), verdict(difference_interval(a, b, level), by)

    return compared(f": {one} minus {other}, claimed above {by:g}", (one, other), env, quantity, answer)


def ratio(quantity: Quantity, one: str, other: str, env: str, most: float, about: float = 0.0, cores: int = 0) -> Part:
    """Return the question whether one arm takes less than `most` times another's: Welch's interval of logarithms.

    about: > 0 asks whether it is `most` ± about. cores: a machine with fewer cannot answer.
    """
    claimed = f"{most:.3g} ± {about:g}" if about else f"below {most:.3g}"

    def answer(a: Array, b: Array, level: float) -> tuple[str, str]:
        interval = ratio_interval(a, b, level)
        result = within(interval, most, about) if about else verdict(interval, most, above=False)
        return told(ratio_interval(a, b), ".2g"), result

    part = compared(f": {one} divided by {other}, claimed {claimed}", (one, other), env, quantity, answer)

    def ask(runs: Runs, level: float = LEVEL) -> tuple[str, str] | None:
        found = part.ask(runs, level)
        there = min((run["machine"]["cores"] for run in runs.get((one, env), [])), default=cores)
        few = f"{found[0]}; the question needs {cores} cores, and there were {there}" if found else ""
        return (few, CANNOT_TELL) if found and there < cores else found

    return part._replace(ask=ask)


def sooner(quantity: Quantity, one: str, other: str, env: str) -> Part:
    """Return the question whether one arm needs less, infinity among the values: medians and a rank test."""

    def answer(a: Array, b: Array, level: float) -> tuple[str, str]:
        p, less = rank_test(a, b), np.median(np.argsort(np.argsort(np.concatenate([a, b])))[: len(a)])
        first, second = median_interval(a)[0].middle, median_interval(b)[0].middle
        better = first < second or (first == second and less < (len(a) + len(b) - 1) / 2)
        found = f"medians {first:,.0f} and {second:,.0f}, p = {p:.2g}"
        return found, CANNOT_TELL if p >= 1 - level else HOLDS if better else DOES_NOT_HOLD

    return compared(f": {one}, claimed below {other}", (one, other), env, quantity, answer)


def level(quantity: Quantity, name: str, env: str, claimed: float, above: bool = True, about: float = 0.0) -> Part:
    """Return the question whether an arm's mean is above (below) what was claimed, or about it: Student's interval."""
    wanted = f"{claimed:,g} ± {about:g}" if about else f"{'above' if above else 'below'} {claimed:,g}"

    def answer(a: Array, level: float) -> tuple[str, str]:
        interval, form = mean_interval(a, level), ",.0f" if abs(np.mean(a)) >= 1000 else ".3g"
        result = within(interval, claimed, about) if about else verdict(interval, claimed, above)
        return told(mean_interval(a), form), result

    return compared(f", {name}: claimed {wanted}", (name,), env, quantity, answer)


def trend(quantity: Quantity, arms: dict[str, float], env: str) -> Part:
    """Return the question whether a quantity rises with a number: the slopes of the seeds, for a doubling."""

    def ask(runs: Runs, level: float = LEVEL) -> tuple[str, str] | None:
        found = {x: values(runs, name, env, quantity) for name, x in arms.items()}
        known = {x: v for x, v in found.items() if v is not None}
        if len(known) < 2:
            return None
        seeds = min(map(len, known.values()))
        slopes = np.polyfit(np.log2(list(known)), np.array([v[:seeds] for v in known.values()]), 1)[0]
        return told(mean_interval(slopes), ".3g"), verdict(mean_interval(slopes, level), 0.0)

    return Part(f"{env}, {quantity.words}: gain per doubling of the simulators, claimed above 0", ask)


def same_bits(env: str, names: tuple[str, ...]) -> Part:
    """Return the question whether all arms end with the same parameters, to the bit, seed by seed."""

    def ask(runs: Runs, level: float = LEVEL) -> tuple[str, str] | None:
        found = [runs.get((name, env), []) for name in names]
        seeds = min(map(len, found))
        alike = sum(len({run["theta"] for run in same}) == 1 for same in zip(*found, strict=False))
        return (f"on {alike} of {seeds} seeds", HOLDS if alike == seeds else DOES_NOT_HOLD) if seeds else None

    return Part(f"{env}, bit-identical parameters with {', '.join(names)}", ask)


def told(interval: Interval, form: str) -> str:
    """Return an interval in words."""
    return f"{interval.middle:{form}}, one run" if np.isnan(interval.low) else f"{interval:{form}}"


def within(interval: Interval, claimed: float, about: float) -> str:
    """Return HOLDS if an interval lies in claimed +- about, DOES_NOT_HOLD if it lies outside, or neither."""
    if np.isnan(interval.low) or np.isnan(interval.high):
        return CANNOT_TELL
    low, high = claimed - about, claimed + about
    if low <= interval.low and interval.high <= high:
        return HOLDS
    return DOES_NOT_HOLD if interval.high < low or interval.low > high else CANNOT_TELL
