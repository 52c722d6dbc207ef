"""What is said of many measurements: medians, and their bootstrap intervals."""

from typing import Any

import numpy as np

from minitrpo.course.speedup import statistics as speedup


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
