"""Lecture 08: what measured seconds say about speed, and how sure one may be of it.

S is the speed-up on p ranks, T_1 / T_p. Sources: Amdahl 1967; Karp & Flatt 1990; Efron 1979.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from minitrpo.course.statistics import mean_interval
from minitrpo.policies import Array

Number = TypeVar("Number", float, Array)


def speedup(serial_s: ArrayLike, parallel_s: ArrayLike) -> float:
    """Return how many times faster the median parallel measurement is than the median serial one."""
    return float(np.median(np.asarray(serial_s)) / np.median(np.asarray(parallel_s)))


def efficiency(speedup: Number, ranks: Number) -> Number:
    """Return the fraction of the ranks' time that bought speed: 1 is ideal."""
    return speedup / ranks


def amdahl(serial_fraction: float, ranks: Number) -> Number:
    """Return the speed-up of a fixed job on `ranks` ranks of which one part does not get faster (Amdahl's law).

    serial_fraction: the fraction of the time on ONE rank that this part takes, 0 to 1. ranks: a number, or an array
    of them, which gives an array.
    """
    # 1. with a time of 1 on one rank, how long does the job take on `ranks`?
    # 2. how many times less is that?
    return 1 / (serial_fraction + (1 - serial_fraction) / ranks)


def karp_flatt(speedup: Number, ranks: Number) -> Number:
    """Return the serial fraction with which Amdahl's law would give exactly the measured speed-up.

    Constant in `ranks`: a serial part is the limit. Growing: something gets worse with ranks. Negative: faster than
    ideal. speedup, ranks: numbers, or arrays of them, or one of each. Raises ValueError unless every number of ranks
    is above 1: one rank says nothing about it.
    """
    # 1. every number of ranks must be above 1
    if np.any(np.asarray(ranks) <= 1):
        raise ValueError("the Karp-Flatt serial fraction needs at least 2 ranks")
    # 2. Amdahl's law, solved for the fraction
    return (1 / speedup - 1 / ranks) / (1 - 1 / ranks)


def interval(samples: ArrayLike, confidence: float = 0.95, resamples: int = 2000, seed: int = 0) -> tuple[float, float]:
    """Return (low, high): the median of endlessly many such measurements lies there with about this confidence.

    A bootstrap: what might have been measured instead is imitated by drawing from what was measured; of the medians
    of such draws the middle fraction `confidence` lies between low and high. The same seed gives the same interval,
    others other draws. samples: (n,), an array or a list, n at least 2; ValueError for fewer. confidence: from 0, the
    median of the medians twice, to 1, the least and the largest of them. resamples: how many draws.
    scipy.stats.bootstrap(method="percentile") does the same.
    """
    # 1. one measurement has no spread
    measured = np.asarray(samples, dtype=float)
    if measured.size < 2:
        raise ValueError(f"an interval needs at least 2 measurements, not {measured.size}")
    # 2. draw `resamples` data sets of the same size, with replacement, from a generator with this seed
    draws = np.random.default_rng(seed).choice(measured, (resamples, measured.size))
    # 3. the median of each
    medians = np.median(draws, axis=1)
    # 4. cut off the same fraction at both ends
    low, high = np.quantile(medians, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def speedup_interval(serial_s: ArrayLike, parallel_s: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap interval of a speed-up, of which both medians are uncertain.

    The measurements must be independent of one another. Updates of one run are not: take `speedup_interval_of_rounds`.
    serial_s: (n,), parallel_s: (m,); ValueError if either has fewer than 2 measurements.
    """
    from scipy.stats import bootstrap  # a second to import

    options = {"method": "percentile", "n_resamples": 2000, "rng": np.random.default_rng(0)}
    result = bootstrap((serial_s, parallel_s), _ratio, confidence_level=confidence, **options)
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def median_interval_of_rounds(rounds: Sequence[ArrayLike], confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval of the median seconds of a round, from a few rounds.

    Updates of one run share what slows this run down, so they are not independent measurements, and only rounds are
    repetitions. Each round counts once, by the logarithm of its median; the interval is Student's, and with two rounds
    it is very wide.

    Args:
        rounds: the seconds (n,) of all updates of a round, for each round; n may differ from round to round.
        confidence: between 0 and 1.

    Returns:
        Both ends, in seconds.

    Raises:
        ValueError: there are fewer than 2 rounds.

    """
    return _of_logarithms([float(np.median(np.asarray(seconds))) for seconds in rounds], confidence)


def speedup_interval_of_rounds(
    serial_s: Sequence[ArrayLike], parallel_s: Sequence[ArrayLike], confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a speed-up that was measured in a few rounds, each on one rank and on several.

    Each round gives one speed-up, and what slows a whole round down cancels in it. The interval is Student's, of the
    logarithms of these speed-ups.

    Args:
        serial_s: the seconds (n,) of all updates on one rank, for each round.
        parallel_s: the seconds (m,) of all updates on several ranks, for each round in the same order.
        confidence: between 0 and 1.

    Returns:
        Both ends: how many times as fast.

    Raises:
        ValueError: there are fewer than 2 rounds, or not the same number of rounds on one rank and on several.

    """
    return _of_logarithms([speedup(*both) for both in zip(serial_s, parallel_s, strict=True)], confidence)


def _of_logarithms(values: list[float], confidence: float) -> tuple[float, float]:
    if len(values) < 2:
        raise ValueError(f"an interval over rounds needs at least 2 rounds, not {len(values)}")
    _, low, high = mean_interval(np.log(values), confidence)
    return float(np.exp(low)), float(np.exp(high))


def _ratio(serial_s: Array, parallel_s: Array, axis: int) -> Array:
    return np.median(serial_s, axis=axis) / np.median(parallel_s, axis=axis)
