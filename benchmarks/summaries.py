"""What is said of many measurements: medians, interquartile means and their bootstrap intervals."""

from typing import Any

import numpy as np
from scipy import stats

from minitrpo.course.speedup import statistics as speedup
from minitrpo.policies import Array


def rounded(number: Any) -> float:
    """Return a number with four digits, all that a measurement deserves."""
    return float(f"{float(number):.4g}")


def median(values: Any) -> float:
    """Return the median, with four digits."""
    return rounded(np.median(values))


def interval(values: Any) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median, with four digits."""
    low, high = speedup.interval(np.asarray(values, dtype=float))
    return rounded(low), rounded(high)


def iqm(scores: Array, axis: int = -1) -> Array:
    """Return the interquartile mean: the mean of the middle half (Agarwal et al. 2021)."""
    return np.asarray(stats.trim_mean(scores, 0.25, axis=axis))


def iqm_interval(scores: Array) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the interquartile mean over seeds; NaN for a single one."""
    if len(scores) < 2:
        return float("nan"), float("nan")
    options = {"method": "percentile", "n_resamples": 10_000, "rng": np.random.default_rng(0), "vectorized": True}
    bounds = stats.bootstrap((scores,), iqm, axis=0, **options).confidence_interval
    return float(bounds.low), float(bounds.high)
