"""What lectures say of a few recorded runs, a seed each: collapses, steps to a goal, differences, ratios, a verdict."""

import csv
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from minitrpo.course.statistics import Interval, difference_interval, rank_test, ratio_interval
from minitrpo.policies import Array

CHANCE, UNSURE = 0.05, "; no significant difference"
COLLAPSED, GOAL = 15.0, 450.0  # scores of lecture 11a

Actors = dict[tuple[str, int, int, int], dict[float, list[Array]]]


class Runs(NamedTuple):
    """A member's runs on a task: a number for each seed."""

    steps: Array  # environment steps after which fresh episodes were at the goal; infinity where they never were
    last: Array  # the mean return of fresh episodes after the run
    lengths: Array  # environment steps of the run


def numbers_of(path: Path, column: str, *keys: str) -> dict[Any, Array]:
    """Return {what the rows of a table say in these columns, as text: numbers in another, NaN where there is none}."""
    found: dict[Any, list[float]] = {}
    for row in csv.DictReader(path.read_text("utf-8").splitlines()):
        key = row[keys[0]] if len(keys) == 1 else tuple(row[name] for name in keys)
        found.setdefault(key, []).append(float(row[column] or "nan"))
    return {key: np.array(some) for key, some in found.items()}


def family_of(path: Path) -> dict[tuple[str, str], Runs]:
    """Return {(task, member): its runs} of a record of the family, a row for each run."""
    runs: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for row in csv.DictReader(path.read_text("utf-8").splitlines()):
        numbers = tuple(float(row[name] or "inf") for name in ("steps_to_goal", "last_return", "env_steps"))
        runs.setdefault((row["env"], row["algorithm"]), []).append(numbers)
    return {key: Runs(*np.array(some).T) for key, some in runs.items()}


def actors_of(path: Path) -> Actors:
    """Return {(what, workers, envs, n): {step size: a curve for each seed, environment steps and scores (T, 2)}}."""
    points: dict[tuple[str, int, int, int], dict[float, dict[str, list[list[float]]]]] = {}
    for row in csv.DictReader(path.read_text("utf-8").splitlines()):
        key = row["what"], int(row["workers"]), int(row["envs"]), int(row["n"])
        curve = points.setdefault(key, {}).setdefault(float(row["step_size"]), {}).setdefault(row["seed"], [])
        curve.append([float(row["env_steps"]), float(row["score"])])
    return {
        key: {size: [np.array(c) for c in seeds.values()] for size, seeds in sizes.items()}
        for key, sizes in points.items()
    }


def collapsed(curves: list[Array]) -> int:
    """Return how many runs score below 15 at some mark."""
    return sum(bool(np.min(curve[:, 1]) < COLLAPSED) for curve in curves)


def steps_to_goal(sizes: dict[float, list[Array]]) -> tuple[float, Array]:
    """Return the step size of the best median, and its seeds' steps to a score of 450; infinity: not reached."""
    ends = {size: np.array([c[-1, 0] if c[-1, 1] >= GOAL else np.inf for c in cs]) for size, cs in sizes.items()}
    best = min(ends, key=lambda size: float(np.median(ends[size])))
    return best, ends[best]


def steps_in_words(name: str, runs: Runs) -> str:
    """Return a line: after how many thousand steps each seed was at the goal."""
    never = f">{runs.lengths.min() / 1000:.0f}"
    text = ", ".join(f"{s / 1000:.0f}" if np.isfinite(s) else never for s in np.sort(runs.steps))
    return f"{name:16s} {text}"


def ratio_in_words(one: ArrayLike, other: ArrayLike) -> str:
    """Return the ratio with Welch's interval of logarithms; where runs never arrive, with a rank test.

    The words end with "no significant difference" where a ratio of 1 cannot be ruled out.
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    if np.isfinite([*one, *other]).all():
        return _in_words(ratio_interval(one, other), " times", 1)
    p = rank_test(one, other)
    never = int(np.isinf([*one, *other]).sum())
    arrive = f"{never} run{'s' * (never > 1)} never arrive{'s' * (never == 1)}"
    medians = np.median(one) / np.median(other)
    return f"ratio of the medians {medians:.3g}; {arrive}; rank-sum test p = {p:.2g}{UNSURE * (p >= CHANCE)}"


def difference_in_words(one: ArrayLike, other: ArrayLike) -> str:
    """Return the difference of two means with Welch's interval; "no significant difference" where it contains 0."""
    return _in_words(difference_interval(one, other), "", 0)


def _in_words(found: Interval, unit: str, nothing: int) -> str:
    """Return an interval in words, with a warning if it holds the number that stands for no difference at all."""
    if np.isnan(found.low):
        return f"{found.middle:.3g}{unit} (a single run has no interval){UNSURE}"
    words = f"{found.middle:.3g}{unit}, 95 % interval {found.low:.3g} to {found.high:.3g}"
    return words + UNSURE * bool(found.low <= nothing <= found.high)


def interquartile_mean(scores: ArrayLike) -> float:
    """Return the mean of the middle half of some scores.

    A quarter of the scores is left out at each end; if a quarter is no whole number, it is rounded down.

    Args:
        scores: one number for each run, (n,), in any order.

    Returns:
        The interquartile mean. Source: Agarwal et al. 2021; statistics calls it the 25 % trimmed mean.
    """
    # 1. the scores in order of size
    ordered = np.sort(np.asarray(scores, float))
    # 2. how many are left out at each end
    cut = len(ordered) // 4
    # 3. the mean of those in between
    return float(np.mean(ordered[cut : len(ordered) - cut]))


def probability_of_improvement(one: ArrayLike, other: ArrayLike) -> float:
    """Return how often a run of `one`, drawn at random, has a higher score than a run of `other`.

    Args:
        one: the scores of the first method, (n,).
        other: the scores of the second method, (m,).

    Returns:
        The fraction of the n m pairs that `one` wins, between 0 and 1; a pair of equal scores counts one half.
        Source: Agarwal et al. 2021; Mann & Whitney 1947.
    """
    # 1. all pairs: a column against a row, (n, m)
    column, row = np.asarray(one, float)[:, None], np.asarray(other, float)[None, :]
    # 2. the fraction that `one` wins, and half of those that are equal
    return float(np.mean(column > row) + 0.5 * np.mean(column == row))


def rank_chance(one: ArrayLike, other: ArrayLike) -> float:
    """Return the chance that luck alone parts n and m numbers at least as far in rank as `one` (n,) and `other` (m,).

    In both directions. Infinity, a run that never arrives, is a number like any other, larger than all. All ways to
    deal the ranks out are tried: 252 of 5 and 5, 184,756 of 10 and 10. Source: Wilcoxon 1945; Mann & Whitney 1947.
    """
    # 1. the ranks of all n + m numbers together, 1 for the smallest; equal ones share the mean of theirs: rankdata
    ranks = rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()])
    # 2. the sum of n ranks, for each way to choose n of them: itertools.combinations
    sums = np.array([sum(some) for some in combinations(ranks.tolist(), np.size(one))])
    # 3. how far each sum lies from the mean of all sums, and how far that of `one` does
    apart, ours = np.abs(sums - sums.mean()), abs(ranks[: np.size(one)].sum() - sums.mean())
    # 4. the share of the ways that lie at least as far off; 1e-9 is for rounding
    return float(np.mean(apart >= ours - 1e-9))


def corrected(chances: ArrayLike) -> Array:
    """Return p values (k,) for k questions asked at once, in the order of `chances` (k,): Holm's correction.

    The smallest counts k times, the next k - 1 times, and so on; none is smaller than one before it, or above 1.
    Source: Holm 1979.
    """
    p = np.asarray(chances, float)
    # 1. the order from the smallest to the largest
    order = np.argsort(p)
    # 2. the smallest times k, the next times k - 1, ..., the largest times 1
    raised = p[order] * np.arange(len(p), 0, -1)
    # 3. the largest so far, at most 1: the corrected values must have the same order as the p values
    raised = np.minimum(np.maximum.accumulate(raised), 1.0)
    # 4. back into the order in which they came
    found = np.empty(len(p))
    found[order] = raised
    return found
