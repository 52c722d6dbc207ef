"""Checks of lecture 08: speed-up, its laws, and its uncertainty."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import bdtrc, comb

from minitrpo.course.checks.framework.differential import Candidate, Case, Need, case, need
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short, value_words
from minitrpo.policies import Array


@exercise(
    "minitrpo.course.speedup.statistics:interval",
    r"""
        ? np.random.default_rng(seed).choice(data, shape) draws with replacement.
        ? Make an array with a row for each resample, a column for each measurement, and take the median of each row.
        ? For 95 % the two ends are the quantiles 0.025 and 0.975 of the medians.
        axis=1 => axis=0 :: takes the medians down the columns :: take them along the rows, each of which is a draw
        np.median( => np.mean( :: takes means of the draws :: take their medians
        quantile(medians => quantile(measured :: tells where single measurements lie :: tell where their median lies
        95 => 9 :: is one of 90 % by default :: be one of 95 %
        [(1 - confidence) / 2, (1 + confidence) / 2] => [1 - confidence, confidence] \
            :: leaves out all that may be left out at each end :: leave out half of it at each
        [(1 - confidence) / 2, (1 + confidence) / 2] => [0.025, 0.975] :: does not use `confidence` :: cut off by it
        np.median(draws, axis=1) => np.sort(draws)[:, measured.size // 2] \
            :: takes the upper of the two middle numbers :: take the mean of the two
    """,
    lecture="08",
)
def _interval() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    skewed = rng.gamma(1.0, 1.0, 60)
    hiccups = np.where(np.arange(20) % 10 == 4, 30.0, rng.normal(1.0, 0.02, 20))
    for few in ([], [1.5], np.zeros(0), np.ones(1)):
        yield case("too few measurements", few)
    for samples in ([1.25] * 5, [3.0, 1.0]):
        yield Case("measurements that leave no doubt", partial(ends, samples=samples), shown=f"samples = {samples}")
    for n in (9, 12, 40):
        yield among("skewed measurements", skewed[:n])
    yield among("seconds with hiccups", hiccups)
    for n, confidence in ((6, 0.5), (25, 0.5), (24, 0.8), (24, 0.99), (60, 0.9)):
        yield among("another confidence", skewed[:n], confidence=confidence)
    dense = np.random.default_rng(6).gamma(1.0, 1.0, 151)  # whose medians lie close together
    yield among("many measurements", dense, confidence=0.5)
    yield among("10,000 draws", skewed[:8], resamples=10_000)
    yield among("ties", np.array([1.0, 2.0, 2.0, 2.0, 5.0, 5.0, 9.0, 9.5]))
    for scale, shift in ((1e-9, 0.0), (1e9, 0.0), (-1.0, 0.0), (1.0, -3.0), (1e-3, 100.0)):
        yield among("small, large, negative measurements", scale * skewed[:24] + shift)
    yield among("another seed", skewed[:24], seed=12345)
    for confidence in (1.0, 0.0):
        run = partial(ends, samples=[9.0, 1.0, 2.0], confidence=confidence)
        yield Case("a confidence of 0, and of 1", run, shown=f"samples = [9, 1, 2], confidence = {confidence:g}")
    one, shown = {"confidence": 1.0, "resamples": 1}, "12 numbers, confidence = 1: low = high"
    yield Case("resamples = 1", lambda f: np.ptp(ends(f, skewed[:12], **one)), shown=shown)
    repeating = partial(repeats, samples=rng.gamma(2.0, 1.0, 120))
    yield Case("what must repeat, and what must not", repeating, shown="120 numbers")


def laws() -> Iterator[Case]:
    """Yield serial fractions from nothing to everything with one rank, many, and arrays of them."""
    several = (np.array([1, 2, 4, 8]), np.array([3.0]), np.array([[2, 5], [16, 64]]), np.geomspace(1, 1e3, 50))
    for few in ((0.25, 3), (0.25, 4), (0.0, 8), (1.0, 8), (0.5, 2), (0.25, 1)):
        yield case("a fraction and a few ranks", *few)
    for pair in product((0.25, 0.0, 1.0, 0.073), several):
        yield case("arrays of ranks", *pair, each=True)
    for fraction in (0.25, 0.0, 1.0, 1e-9):
        yield case("a billion ranks", fraction, 1e9, rtol=1e-6)


exercise(
    "minitrpo.course.speedup.statistics:amdahl",
    r"""
        ? Call the time on one rank 1. How much of it is serial, how much is left, what do p ranks make of the rest?
        ? The time on p ranks is the serial fraction plus the remaining fraction divided by p.
        ? The speed-up is 1 divided by that time.
        return serial_fraction + (1 - serial_fraction) * ranks :: lets the job grow :: keep it the same
        return right(1 - serial_fraction, ranks) :: shares the serial fraction and not the rest :: do the reverse
        1 / (serial_fraction + (1 - serial_fraction) / ranks) => serial_fraction + (1 - serial_fraction) / ranks \
            :: is the time on these ranks :: be the speed-up, 1 divided by it
        (serial_fraction + => ( :: shares the whole job :: add the serial fraction to the time
        (1 - serial_fraction) => 1 :: shares the serial fraction, too :: share the rest, 1 - serial_fraction
    """,
    lecture="08",
)(laws)


@exercise(
    "minitrpo.course.speedup.statistics:karp_flatt",
    r"""
        ? Write Amdahl's law as 1/S = e + (1 - e)/p and collect what has an e in it.
        ? 1/S - 1/p = e (1 - 1/p).
        ? Ask for ranks that are too few first: np.any(np.asarray(ranks) <= 1) serves for a number and for an array.
        (1 / speedup - 1 / ranks) => (1 / speedup) :: leaves in what the ranks explain :: take away 1/p
        / (1 - 1 / ranks) => :: does not divide :: divide by 1 - 1/p
        return (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => return 1 - speedup / ranks \
            :: is the lost efficiency, 1 - S/p :: be (1/S - 1/p) / (1 - 1/p)
        return np.maximum(right(speedup, ranks), 0) :: is 0 where it is faster than ideal :: be negative there
        raise ValueError => return 0 * ranks # :: returns 0 for a single rank :: raise ValueError there
        if np.any => if np.all :: accepts single ranks among others :: raise ValueError for one that is not above 1
    """,
    lecture="08",
)
def _karp_flatt() -> Iterator[Case]:
    several, measured = np.array([2, 3, 4, 8]), np.array([1.9, 2.8, 3.2, 3.4])
    for pair in ((2.0, 3), (1.6, 2), (3.0, 4), (8.0, 8), (1.0, 8), (4.0, 2), (0.5, 4)):
        yield case("a speed-up and a few ranks", *pair, atol=1e-12)
    for ranks, e in product((2, 8, 1_000), (0.0, 1e-9, 0.01, 0.25, 0.9, 1.0)):
        yield case("a planted fraction", 1 / (e + (1 - e) / ranks), ranks, atol=1e-12)
    table = np.array([[1.9, 9.0], [0.1, 3.4]]), several.reshape(2, 2)
    for arrays in ((measured, several), (measured[:1], several[:1]), (1.7, several), (measured, 4), table):
        yield case("arrays", *arrays, atol=1e-12)
    for few in (1, 0):
        yield case("a single rank or none", 0.9, few)
    for at in np.eye(4, dtype=bool):
        yield case("single ranks among others", measured, np.where(at, 1, several))
    yield case("many speed-ups on a single rank", measured, 1)


def ends(f: Candidate, samples: Any, **options: Any) -> Array:
    """Return (low, high) as an array, if that is what comes back."""
    try:
        result = f(samples, **options)
    except ValueError as error:
        raise Need(f"it refused {len(samples)} measurements: {error}") from error
    need(np.shape(result) == (2,), f"it returned {value_words(result)}, not two numbers, low and high")
    both = np.asarray(result, dtype=float)
    need(both[0] <= both[1], f"low is {both[0]:.6g} and high is {both[1]:.6g}: low comes first")
    return both


def medians_of_draws(samples: Any) -> tuple[Array, Array]:
    """Return every median that a draw with replacement can have, and its probability: exact, without drawing.

    The lower of the two middle numbers is among the i smallest if at least half of the n numbers drawn are; that the
    two middle numbers are i-th and j-th means that one half of the draw ends with i, and the other begins with j.
    """
    x, n = np.sort(np.asarray(samples, dtype=float)), len(samples)
    i, half = np.arange(n + 1) / n, (n + 1) // 2
    probability = np.diag(np.diff(bdtrc(half - 1, n, i)))
    if n % 2 == 0:
        apart = np.triu(comb(n, half) * np.outer(np.diff(i**half), -np.diff((1 - i) ** half)), 1)
        probability += apart - np.diag(apart.sum(axis=1))
    return ((x[:, None] + x) / 2).ravel(), probability.ravel()


def level(samples: Any, end: float, wanted: float, resamples: int) -> float:
    """Return which fraction of all medians lies below an end: `wanted` if chance could have put the end there.

    A right end is off by more than five standard deviations about once in a million draws.
    """
    medians, probability = medians_of_draws(samples)
    close = 1e-9 * np.ptp(medians)
    least, most = probability[medians < end - close].sum(), probability[medians <= end + close].sum()
    found = float(np.clip(wanted, least, most))
    chance = 5 * np.sqrt(wanted * (1 - wanted) / resamples) + 2 / resamples
    return wanted if abs(found - wanted) <= chance else found


def among(kind: str, samples: Any, **options: Any) -> Case:
    """Return a case that asks where the ends lie among the medians of all draws; the error of chance is allowed."""
    confidence, resamples = options.get("confidence", 0.95), options.get("resamples", 2000)

    def run(f: Candidate) -> dict[str, float]:
        low, high = ends(f, samples, **options)
        below = {"low": (low, (1 - confidence) / 2), "high": (high, (1 + confidence) / 2)}
        return {
            f"% of the medians of all draws below {end}": 100 * level(samples, *at, resamples)
            for end, at in below.items()
        }

    shown = ", ".join([f"samples = {short(samples)}", *(f"{name} = {short(value)}" for name, value in options.items())])
    # less than `level` allows; two that make one mistake are as far apart as this
    return Case(kind, run, atol=0.75, shown=shown)


def repeats(f: Candidate, samples: Array) -> bool:
    """Return True if one question has one answer, also by default, and if other seeds and confidences have others."""
    seeded = {tuple(ends(f, samples, resamples=99, seed=3)) for _ in range(5)}
    need(len(seeded) == 1, "asked five times with seed = 3, it did not always give the same: draw from that seed")
    usual = ends(f, samples)
    for name, value in {"seed": 0, "resamples": 2000, "confidence": 0.95}.items():
        again = ends(f, samples, **{name: value})
        text = f"it gave {short(usual)}, and {short(again)} with {name} = {value}, which is the default"
        need(np.array_equal(usual, again), text)
    inner, outer = (ends(f, samples, confidence=confidence) for confidence in (0.955, 0.965))
    text = f"it gave {short(inner)} with confidence = 0.955, and {short(outer)} with 0.965: the second should be wider"
    need(outer[0] < inner[0] and inner[1] < outer[1], text)
    others = {tuple(ends(f, samples, resamples=9, seed=seed)) for seed in range(10)}
    need(len(others) > 1, "ten seeds all gave the same interval: each should draw anew")
    return True
