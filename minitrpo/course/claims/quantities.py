"""What is read off one recorded run: a number, or NaN where the run is too short to have it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minitrpo.course.claims.claim import Run
from minitrpo.course.statistics import steps_to
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array

SLACK = 0.98  # of what was asked for: the last update of a run may end a little early


class Quantity(NamedTuple):
    """A number of a run, and what it is called."""

    words: str
    of: Callable[[Run], float]


def rows(run: Run, axis: str = "env_steps", column: str = "mean_return") -> tuple[Array, Array]:
    """Return where the rows of a run end on an axis, and a column of them; `fresh`: returns of fresh episodes."""
    if column == "fresh":
        steps, returns = np.array(run["fresh"], float).reshape(-1, 2).T
        return steps, returns
    return np.array(run["rows"][axis], float), np.array(run["rows"][column], float)


def mean_between(ends: Array, values: Array, low: float, high: float) -> float:
    """Return the mean of what rows that end at `ends` have between two places; NaN if they do not reach that far."""
    if not len(ends) or ends[-1] < SLACK * high:
        return float("nan")
    begins = np.concatenate([[0.0], ends[:-1]])
    overlap = np.clip(np.minimum(ends, high) - np.maximum(begins, low), 0.0, None)
    overlap[~np.isfinite(values)] = 0.0
    return float(np.dot(overlap, np.nan_to_num(values)) / overlap.sum()) if overlap.any() else float("nan")


def return_at(steps: int, width: int = 20_000) -> Quantity:
    """Return the mean return of the last `width` environment steps before so many."""
    return Quantity(f"return after {steps:,} steps", lambda run: mean_between(*rows(run), max(0, steps - width), steps))


def return_after(updates: int, width: int = 5) -> Quantity:
    """Return the mean return of the last `width` updates before so many."""
    place = (updates - width, updates)
    return Quantity(f"return after {updates} updates", lambda run: mean_between(*rows(run, "iteration"), *place))


def area(steps: int, column: str = "mean_return") -> Quantity:
    """Return the mean return over all environment steps up to so many: the area under the curve."""
    kind = "fresh episodes" if column == "fresh" else "return"
    words = f"mean {kind} over the first {steps:,} steps"
    return Quantity(words, lambda run: mean_between(*rows(run, column=column), 0, steps))


def last_tenth(steps: int) -> Quantity:
    """Return the mean return over the last tenth of so many environment steps."""
    return Quantity(
        f"return over the last tenth of {steps:,} steps", lambda run: mean_between(*rows(run), 0.9 * steps, steps)
    )


def steps_to_goal(goal: float, within: int) -> Quantity:
    """Return the steps at which fresh episodes reach the goal; infinity if they do not `within` so many."""

    def steps(run: Run) -> float:
        ends, returns = rows(run, column="fresh")
        return steps_to(goal, ends, returns) if len(ends) and ends[-1] >= SLACK * within else float("nan")

    return Quantity(f"steps until fresh episodes return {goal:g}", steps)


def seconds_at(steps: int) -> Quantity:
    """Return the seconds at which a run has taken so many environment steps."""

    def at(run: Run) -> float:
        ends, clock = rows(run, column="time_s")
        return float(np.interp(steps, ends, clock)) if ends[-1] >= SLACK * steps else float("nan")

    return Quantity(f"seconds until {steps:,} steps", at)


def seconds(name: str) -> Quantity:
    """Return the median seconds of an update that a phase takes (`iteration`: all of them), without the first row."""
    words = {"collect": "seconds to collect", "iteration": "seconds of an update"}.get(name, f"seconds to {name}")
    return Quantity(words, lambda run: float(np.median(rows(run, column=f"{name}_s")[1][1:])))


def share(name: str) -> Quantity:
    """Return which part of an update a phase takes."""
    return Quantity(f"share of the update that is {name}ing", lambda run: seconds(name).of(run) / all_of(run))


def all_of(run: Run) -> float:
    """Return the seconds of an update's phases together, each the median of all updates."""
    return sum(seconds(phase).of(run) for phase in PHASES)


def times_real_time(step: float) -> Quantity:
    """Return how many seconds of a task's own time a second of collecting holds; step: seconds of a task's step."""

    def factor(run: Run) -> float:
        steps = np.diff(rows(run)[0])
        return float(np.median(steps * step / (rows(run, column="collect_s")[1][1:] * per_row(run))))

    return Quantity("seconds of simulated time for each second of collecting", factor)


def per_row(run: Run) -> Array:
    """Return how many updates stand in each row but the first."""
    return np.diff(rows(run, column="iteration")[1])


def turns(run: Run) -> float:
    """Return which part of the rule's decisions, in the second half of a run, took back the one before; NaN: too few.

    Decisions that come from noise alone take back the one before in two of three cases: of three numbers, the middle
    one is the largest or the smallest.
    """
    steps = np.array([asked for _, _, asked, _ in run["decisions"]])
    late = np.array([at for _, at, _, _ in run["decisions"]]) > run["rows"]["env_steps"][-1] / 2
    signs = np.sign(np.diff(steps))
    signs = signs[late[1:] & (signs != 0)]
    return float(np.mean(signs[1:] != signs[:-1])) if len(signs) > 4 else float("nan")


def steps_asked(run: Run) -> float:
    """Return the mean steps/update over the second half of a run's updates."""
    asked = rows(run, column="steps_per_update")[1]
    return float(np.mean(asked[len(asked) // 2 :]))
