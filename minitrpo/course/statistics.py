"""What a few seeds allow to say: intervals, comparisons and verdicts, the same for every table, picture and lecture.

Five seeds are few. A percentile bootstrap of five covers the mean in 82 to 88 of 100 cases where it says 95, so means
have Student's interval and differences Welch's. Where runs never reached a goal, means do not exist: medians and rank
tests take their place. A question whose interval lies on neither side of the claim is CANNOT_TELL: inconclusive.
"""

import warnings
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from minitrpo.experience.evaluation import half_interval
from minitrpo.policies import Array

LEVEL = 0.95
HOLDS, DOES_NOT_HOLD, CANNOT_TELL = "holds", "does not hold", "inconclusive"


class Interval(NamedTuple):
    """An estimate and the ends of its interval; NaN for ends that one value does not allow."""

    middle: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        """Return `middle (low to high)`, each number in this format."""
        return f"{self.middle:{form}} ({self.low:{form}} to {self.high:{form}})"


def mean_interval(values: ArrayLike, level: float = LEVEL, within: tuple[float, float] = (-np.inf, np.inf)) -> Interval:
    """Return the mean of a few values, one for each seed, with Student's interval.

    Args:
        values: one number for each seed, (N,).
        level: how often the interval is to cover the true mean.
        within: the least and the greatest possible value, for example (0, 100) of per cent. The interval ends there:
            the true mean lies between them, so what is cut off never covered it.

    """
    values = np.asarray(values, float)
    middle, half = float(np.mean(values)), float(half_interval(values[:, None], level)[0])
    low, high = np.clip([middle - half, middle + half], *within).tolist()
    return Interval(middle, low, high)


def difference_interval(one: ArrayLike, other: ArrayLike, level: float = LEVEL) -> Interval:
    """Return the difference of two means, one - other, with Welch's interval: spreads and numbers may differ."""
    from scipy.stats import ttest_ind  # a second to import

    one, other = np.asarray(one, float), np.asarray(other, float)
    middle = float(np.mean(one) - np.mean(other))
    if min(len(one), len(other)) < 2:
        return Interval(middle, np.nan, np.nan)
    if np.ptp(one) == 0 and np.ptp(other) == 0:
        return Interval(middle, middle, middle)
    with warnings.catch_warnings():  # of equal numbers, whose spread is 0, scipy fears that digits were lost
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        low, high = ttest_ind(one, other, equal_var=False).confidence_interval(level)
    return Interval(middle, float(low), float(high))


def ratio_interval(one: ArrayLike, other: ArrayLike, level: float = LEVEL) -> Interval:
    """Return how many times `one` is `other`, by Welch's interval of their logarithms; ValueError unless all are > 0.

    Seconds and steps vary in proportion to themselves; the ratio is that of the geometric means.
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    if min(one.min(), other.min()) <= 0:
        raise ValueError("a ratio needs positive numbers")
    return Interval(*np.exp(difference_interval(np.log(one), np.log(other), level)).tolist())


def median_interval(values: ArrayLike, level: float = LEVEL) -> tuple[Interval, float]:
    """Return the median with the narrowest pair of order statistics that covers it at this level, and its true level.

    Infinity is a run that never got there. Five values reach no more than 93.75 %: then lowest and highest are given.
    """
    from scipy.stats import binom

    values = np.sort(np.asarray(values, float))
    n = len(values)
    levels = [1 - 2 * float(binom.cdf(k, n, 0.5)) for k in range((n + 1) // 2)]  # of the k-th from each end
    k = max((k for k, reached in enumerate(levels) if reached >= level), default=0)
    middle = values[n // 2] if n % 2 else _between(values[n // 2 - 1], values[n // 2])
    return Interval(float(middle), float(values[k]), float(values[n - 1 - k])), levels[k]


def _between(low: float, high: float) -> float:
    return float(low if low == high else (low + high) / 2)


def rank_test(one: ArrayLike, other: ArrayLike) -> float:
    """Return the two-sided p of "neither is smaller than the other as a rule", by ranks; infinities may be among them.

    Mann & Whitney 1947: exact, with ties over all ways to deal the values out if these are at most 20,000.
    """
    from scipy.stats import PermutationMethod, mannwhitneyu

    one, other = np.asarray(one, float), np.asarray(other, float)
    both = np.unique(np.concatenate([one, other]))
    one, other = np.searchsorted(both, one), np.searchsorted(both, other)  # ranks do as well, and are finite
    if len(both) == 1:
        return 1.0
    tied, few = len(both) < len(one) + len(other), comb(len(one) + len(other), len(one)) <= 20_000
    method: Any = "exact" if not tied else PermutationMethod(n_resamples=np.inf) if few else "asymptotic"
    return float(mannwhitneyu(one, other, method=method, use_continuity=not (tied and few)).pvalue)


def iqm(scores: Array, axis: int = -1) -> Array:
    """Return the interquartile mean: the mean of the middle half (Agarwal et al. 2021).

    The same as `scipy.stats.trim_mean(scores, 0.25, axis)`, whose checks take ten times as long as the mean itself: a
    bootstrap calls this function thousands of times.
    """
    scores = np.moveaxis(np.asarray(scores, float), axis, -1)
    n, cut = scores.shape[-1], int(0.25 * scores.shape[-1])
    return np.asarray(np.partition(scores, (cut, n - cut - 1), axis=-1)[..., cut : n - cut].mean(axis=-1))


def iqm_interval(scores: Array) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the interquartile mean over seeds; NaN for a single one."""
    from scipy.stats import bootstrap

    if len(scores) < 2:
        return float("nan"), float("nan")
    options: dict[str, Any] = {"method": "percentile", "n_resamples": 10_000, "vectorized": True}
    options |= {"rng": np.random.default_rng(0)}
    bounds = bootstrap((scores,), iqm, axis=0, **options).confidence_interval
    return float(bounds.low), float(bounds.high)


def steps_to(goal: float, steps: ArrayLike, returns: ArrayLike) -> float:
    """Return the first of `steps` at which the mean return of fresh episodes is at least the goal; inf if never."""
    reached = np.asarray(returns, float) >= goal
    return float(np.asarray(steps)[np.argmax(reached)]) if reached.any() else np.inf


def verdict(interval: Any, claimed: float, above: bool = True) -> str:
    """Return HOLDS if the whole interval lies beyond what was claimed, DOES_NOT_HOLD if none of it does, or neither.

    above: beyond is more than `claimed`; else less. An interval with a NaN end: CANNOT_TELL.
    """
    low, high = float(interval.low), float(interval.high)
    if np.isnan(low) or np.isnan(high):
        return CANNOT_TELL
    beyond, short = (low > claimed, high <= claimed) if above else (high < claimed, low >= claimed)
    return HOLDS if beyond else DOES_NOT_HOLD if short else CANNOT_TELL
