"""What lectures say of a few recorded runs, a seed each: steps to a goal, differences, ratios, and a verdict."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from minitrpo.policies import Array
from minitrpo.reports.statistics import CANNOT_TELL, difference_interval, rank_test, ratio_interval

WINDOW = 100  # returns in the mean that a log shows
STEPS_OF_AN_EPISODE = {"Pendulum-v1": 200, "Reacher-v5": 50}  # where all are as long; else a step pays 1
CHANCE = 0.05


class Runs(NamedTuple):
    """A member's runs on a task: a number for each seed; infinity where the goal was not reached."""

    steps: Array  # environment steps to the goal, (N,)
    seconds: Array  # to the goal, where they were recorded; else NaN
    last: Array  # the mean return at the end
    lengths: Array  # environment steps of the run
    floor: float  # steps of the episodes that show the goal: none if fresh ones did, else those of the log's window

    @property
    def before(self) -> Array:
        """Return the steps before the episodes began whose mean is at the goal."""
        return self.steps - self.floor


def family_of(path: Path) -> dict[tuple[str, str], Runs]:
    """Return {(task, member): its runs} of a record of the family, a row for each run."""
    rows: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in csv.DictReader(path.read_text("utf-8").splitlines()):
        rows.setdefault((row["env"], row["algorithm"]), []).append(row)
    return {key: _runs(some) for key, some in rows.items()}


def _runs(rows: list[dict[str, str]]) -> Runs:
    columns = ("steps_to_goal", "seconds_to_goal", "last_return", "env_steps")
    steps, seconds, last, lengths = (np.array([float(row.get(c, "nan") or "inf") for row in rows]) for c in columns)
    fresh, goal = rows[0].get("fresh") == "1", rows[0]["goal"]
    each = STEPS_OF_AN_EPISODE.get(rows[0]["env"], float(goal or "nan"))
    return Runs(steps, seconds, last, lengths, 0.0 if fresh else WINDOW * each)


def ratio_in_words(one: ArrayLike, other: ArrayLike) -> str:
    """Return how many times one is the other: by Welch's interval of logarithms, or, where runs never arrive, by ranks.

    The words end with "cannot tell" where a ratio of 1 cannot be ruled out.
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    if np.isfinite([*one, *other]).all():
        ratio = ratio_interval(one, other)
        told = f"; {CANNOT_TELL} it from 1" if ratio.low <= 1 <= ratio.high else ""
        return f"{ratio.middle:.3g} times, 95 % interval {ratio.low:.3g} to {ratio.high:.3g}{told}"
    p = rank_test(one, other)
    ratio_of_medians = np.median(one) / np.median(other)
    told = f"; {CANNOT_TELL} it from 1" if p >= CHANCE else ""
    return f"{ratio_of_medians:.3g} times by the medians (a run never arrives; ranks: p = {p:.2g}){told}"


def difference_in_words(one: ArrayLike, other: ArrayLike) -> str:
    """Return the difference of two means with Welch's interval; "cannot tell" where the interval holds 0."""
    gap = difference_interval(one, other)
    told = f"; {CANNOT_TELL} it from 0" if gap.low <= 0 <= gap.high else ""
    return f"{gap.middle:.3g}, 95 % interval {gap.low:.3g} to {gap.high:.3g}{told}"


def corrected(chances: ArrayLike) -> Array:
    """Return p values for several questions asked at once, each for all that are smaller, too (Holm 1979)."""
    p = np.asarray(chances, float)
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(raised, 1.0)[np.argsort(order)]
