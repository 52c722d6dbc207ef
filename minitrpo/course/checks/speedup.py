"""Checks of lecture 08: speed-up, its laws, and its uncertainty."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import bdtrc, comb

from minitrpo.course.checks.differential import Candidate, Case, Need, Raised, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short, value_words
from minitrpo.policies import Array

HERE = "minitrpo.course.speedup.statistics"
AMDAHL, GUSTAFSON, KARP_FLATT, INTERVAL = (f"{HERE}:{n}" for n in ("amdahl", "gustafson", "karp_flatt", "interval"))
ON_P = "serial_fraction + (1 - serial_fraction) / ranks"  # the time on p ranks, if it takes 1 on one
WORK = "serial_fraction + (1 - serial_fraction) * ranks"  # the work of p ranks in a time of 1


AMDAHL_SLIPS = {
    "That is Gustafson's law: here the job stays the same.": (f"1 / ({ON_P})", WORK),
    "The serial fraction is what does not get faster.": (ON_P, "1 - serial_fraction + serial_fraction / ranks"),
    "That is the time: the speed-up is 1 divided by it.": (f"1 / ({ON_P})", ON_P),
    "All of the job is shared: what is serial takes its time, too.": (ON_P, "(1 - serial_fraction) / ranks"),
    "Only 1 - serial_fraction is shared.": ("(1 - serial_fraction)", "1"),
    "A fraction is not in per cent.": ("return", "serial_fraction /= 100; return"),
}
GUSTAFSON_SLIPS = {
    "That is Amdahl's law: here the fraction is one of the time on all the ranks.": (WORK, f"1 / ({ON_P})"),
    "The two fractions are exchanged.": (WORK, "1 - serial_fraction + serial_fraction * ranks"),
    "In the serial fraction one rank works: that is work, too.": ("serial_fraction + (", "("),
    "In the serial fraction one rank works on: it is lost for the others only.": (WORK, "ranks - serial_fraction"),
    "That is the ideal: in the serial fraction only one rank works.": (WORK, "ranks + 0 * serial_fraction"),
}


def laws() -> Iterator[Case]:
    """Yield serial fractions from nothing to everything with one rank, many, and arrays of them, for both laws."""
    fractions: tuple[float, ...] = (0.25, 0.0, 1.0, 0.01, 0.073, 0.5, 0.9, 1e-9)
    several = (np.array([1, 2, 4, 8]), np.array([3.0]), np.array([[2, 5], [16, 64]]), np.geomspace(1, 1e3, 50))
    rng = np.random.default_rng(0)
    few = ((0.25, 3), (0.25, 4), (0.0, 8), (1.0, 8), (0.5, 2))
    yield from (case("a fraction and a few ranks", *pair) for pair in few)
    yield from (case("a single rank", fraction, 1) for fraction in fractions)
    yield from (case("arrays of ranks", *pair, each=True) for pair in product(fractions, several))
    yield from (case("any fraction", float(rng.random()), int(rng.integers(2, 200))) for _ in range(20))
    yield from (case("a billion ranks", fraction, 1e9, rtol=1e-6) for fraction in fractions)
    yield from (case("a whole number for the fraction", fraction, 8.0) for fraction in (0, 1))
    yield case("numbers of numpy", np.float64(0.1), np.int64(7))


exercise(
    "amdahl",
    AMDAHL,
    hints=(
        "Call the time on one rank 1. How much of it is serial, how much is left, what do p ranks make of the rest?",
        "The time on p ranks is the serial fraction plus the remaining fraction divided by p.",
        "The speed-up is 1 divided by that time.",
    ),
    mistakes=edits(AMDAHL, AMDAHL_SLIPS),
)(laws)

exercise(
    "gustafson",
    GUSTAFSON,
    hints=(
        "The time on p ranks is 1 now. In the serial fraction of it one rank works, in the rest all p do.",
        "So the work done is the serial fraction, once, plus the rest, p times; one rank would need that long.",
    ),
    mistakes=edits(GUSTAFSON, GUSTAFSON_SLIPS),
)(laws)


FRACTION = "(1 / speedup - 1 / ranks) / (1 - 1 / ranks)"
KARP_FLATT_SLIPS = {
    "Take away what the ranks explain: 1/p.": ("(1 / speedup - 1 / ranks)", "(1 / speedup)"),
    "Divide by 1 - 1/p.": (" / (1 - 1 / ranks)", ""),
    "That is the lost efficiency, 1 - S/p.": (FRACTION, "1 - speedup / ranks"),
    "That is (p - S) / (p - 1): divide by the speed-up, too.": (FRACTION, "(ranks - speedup) / (ranks - 1)"),
    "Faster than ideal should show, as a negative fraction.": (FRACTION, f"np.maximum({FRACTION}, 0)"),
    "Slower than one rank should show, as a fraction above 1.": (FRACTION, f"np.minimum({FRACTION}, 1)"),
    "The sign matters: negative is faster than ideal.": (FRACTION, f"np.abs({FRACTION})"),
    "With 1 rank there is nothing to find (0 / 0): raise ValueError.": ("raise ValueError", "return 0 * ranks #"),
    "One entry of 1 among the ranks is enough to refuse.": ("np.any", "np.all"),
}


@exercise(
    "karp_flatt",
    KARP_FLATT,
    hints=(
        "Write Amdahl's law as 1/S = e + (1 - e)/p and collect what has an e in it.",
        "1/S - 1/p = e (1 - 1/p).",
        "Ask for ranks that are too few first: np.any(np.asarray(ranks) <= 1) serves for a number and for an array.",
    ),
    mistakes=edits(KARP_FLATT, KARP_FLATT_SLIPS),
)
def karp_flatt_cases() -> Iterator[Case]:
    """Yield speed-ups by hand, planted fractions, faster than ideal, slower than one rank, and too few ranks."""
    hand = ((2.0, 3), (1.6, 2), (3.0, 4), (8.0, 8), (1.0, 8), (4.0, 2), (0.5, 4), (2.5, 2), (0.9, 2), (2, 4), (1, 3))
    several, measured = np.array([2, 3, 4, 8]), np.array([1.9, 2.8, 3.2, 3.4])
    square = np.array([[1.9, 9.0], [0.1, 3.4]])
    rng = np.random.default_rng(0)
    yield from (case("a speed-up and a few ranks", *pair, atol=1e-12) for pair in hand)
    for ranks, e in product((2, 3, 8, 1_000), (0.0, 1e-9, 0.01, 0.073, 0.25, 0.5, 0.9, 1.0)):
        yield case("a planted fraction", 1 / (e + (1 - e) / ranks), ranks, atol=1e-12)
    yield from (case("arrays", measured[:n], several[:n], atol=1e-12) for n in (4, 1))
    yield case("arrays of two rows", square, several.reshape(2, 2), atol=1e-12)
    yield case("arrays of whole numbers", np.array([1, 2, 5, 4]), several, atol=1e-12)
    yield case("numbers of numpy", np.float64(1.7), np.int64(2), atol=1e-12)
    yield case("300 numbers", rng.uniform(0.1, 9.0, 300), rng.integers(2, 100, 300), each=True, atol=1e-12)
    yield from (case("extreme speed-ups", speedup, 16, each=True) for speedup in (1e-9, 1e9))
    for speedup, too_few in ((1.0, 1), (0.9, 1.0), (1.0, 0), (np.float64(2.0), np.int64(1))):
        yield case("a single rank or none", speedup, too_few)
    for place in range(4):
        yield case("a single rank among others", measured, np.where(np.arange(4) == place, 1, several))
    yield case("single ranks only", np.ones(2), np.ones(2, int))
    yield case("one speed-up and many ranks", 1.7, several, atol=1e-12)
    yield case("many speed-ups on equally many ranks", measured, 4, atol=1e-12)
    yield case("one speed-up and many ranks", np.float64(1.7), several.reshape(2, 2), atol=1e-12)
    yield case("many speed-ups on equally many ranks", square, np.int64(4), atol=1e-12)
    yield case("many speed-ups on a single rank", measured, 1)


LEVELS, SIZE, ENDS = "[(1 - confidence) / 2, (1 + confidence) / 2]", "measured.size))", "return float(low), float(high)"
MEDIAN, MIDDLE = "np.median(draws, axis=1)", "np.median(measured)"
INTERVAL_SLIPS = {
    "The medians go down the columns: a draw is a row.": ("axis=1", "axis=0"),
    "Those are means: the interval is one of the median.": ("np.median(", "np.mean("),
    "That is where single measurements lie, not their median.": ("quantile(medians", "quantile(measured"),
    "Draw with replacement: without it every draw is the same.": (SIZE, "measured.size)) * 0 + measured"),
    "A draw has as many numbers as were measured.": (SIZE, "(measured.size + 1) // 2))"),
    "The default is 95 %.": ("= 0.95", "= 0.9"),
    "Half of what is left out lies at each end.": (LEVELS, "[1 - confidence, confidence]"),
    "`confidence` is not used.": (LEVELS, "[0.025, 0.975]"),
    "All of what is left out lies at one end.": (LEVELS, "[0.0, confidence]"),
    "The interval is reflected at the median.": (ENDS, f"return 2 * {MIDDLE} - high, 2 * {MIDDLE} - low"),
    "The upper of the two middle numbers is no median.": (MEDIAN, "np.sort(draws)[:, measured.size // 2]"),
    "The lower of the two middle numbers is no median.": (MEDIAN, "np.sort(draws)[:, (measured.size - 1) // 2]"),
}


@exercise(
    "interval",
    INTERVAL,
    hints=(
        "np.random.default_rng(seed).choice(data, shape) draws with replacement.",
        "Make an array with a row for each resample, a column for each measurement, and take the median of each row.",
        "For 95 % the two ends are the quantiles 0.025 and 0.975 of the medians.",
    ),
    mistakes=edits(INTERVAL, INTERVAL_SLIPS),
)
def interval_cases() -> Iterator[Case]:
    """Yield what leaves no doubt, then where the ends lie among the medians of all draws, then what must repeat."""
    rng = np.random.default_rng(5)
    skewed = rng.gamma(1.0, 1.0, 60)
    hiccups = np.where(np.arange(20) % 10 == 4, 30.0, rng.normal(1.0, 0.02, 20))
    levels = ((6, 0.5), (25, 0.5), (24, 0.8), (24, 0.99), (60, 0.9))
    scales = ((1e-9, 0.0), (1e9, 0.0), (-1.0, 0.0), (1.0, -3.0), (1e-3, 100.0))
    yield from (case("too few measurements", few) for few in ([], [1.5], (2.0,), np.zeros(0), np.ones(1)))
    yield tried("equal measurements", lambda f: ends(f, [1.25] * 5), shown="samples = [1.25] * 5")
    yield from (among("skewed measurements", skewed[:n]) for n in (9, 12, 40))
    yield tried("measurements of 3 and 1", lambda f: ends(f, [3.0, 1.0]), shown="samples = [3.0, 1.0]")
    yield among("seconds with hiccups", hiccups)
    yield from (among("another confidence", skewed[:n], confidence=confidence) for n, confidence in levels)
    yield from (among("10,000 draws", skewed[:n], resamples=10_000) for n in (4, 5, 8))
    yield among("a list of whole numbers", [7, 1, 2, 12, 4, 3])
    yield among("whole numbers", np.array([9, 1, 2, 14, 5, 3, 20, 0]))
    yield among("a list of floats", skewed[:15].tolist())
    yield among("ties", np.array([1.0, 2.0, 2.0, 2.0, 5.0, 5.0, 9.0, 9.5]))
    yield from (among("small, large, negative measurements", scale * skewed[:24] + shift) for scale, shift in scales)
    yield among("300 measurements", rng.gamma(2.0, 1.0, 300))
    yield from (among("other seeds", skewed[:24], seed=seed) for seed in (1, 12345))
    for shown, samples, options in (
        ("samples = [1, 2], confidence = 0.2", [1, 2], {"confidence": 0.2}),
        ("samples = array of 3, 4, confidence = 0.2", np.array([3, 4]), {"confidence": 0.2}),
        ("samples = [9, 1, 2], confidence = 1", [9, 1, 2], {"confidence": 1.0}),
        ("samples = [9, 1, 2], confidence = 1", [9, 1, 2], {"confidence": 1}),
        ("samples = [9, 1, 2], confidence = 0", [9, 1, 2], {"confidence": 0.0}),
    ):
        kind = "whole numbers with a median between" if len(samples) == 2 else "a confidence of 0, and of 1"
        yield tried(kind, partial(ends, samples=samples, **options), shown=shown)
    for n in (20, 50):
        yield tried("what is left out, what must repeat", partial(repeats, samples=skewed[:n]), shown=f"{n} numbers")
    yield tried("confidences half a per cent apart", lambda f: finer(f, rng.gamma(2.0, 1.0, 300)), shown="300 numbers")
    one, shown = {"confidence": 1, "resamples": 1}, "12 numbers, confidence = 1: low = high"
    yield tried("resamples = 1", lambda f: np.ptp(ends(f, skewed[:12], **one)), shown=shown)
    yield tried("ten seeds", lambda f: differ(f, skewed[:50]), shown="50 numbers, resamples = 9, seed = 0 to 9")


def ends(f: Candidate, samples: Any, **options: Any) -> Array:
    """Return (low, high) as an array, if that is what comes back."""
    try:
        result = f(samples, **options)
    except ValueError as error:
        raise Need(f"it refused {len(samples)} measurements, {Raised(error)}") from error
    told = value_words(result) if result is not None else "None (is there a return statement?)"
    need(np.shape(result) == (2,), f"it returned {told}, not two numbers, low and high")
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
    return tried(kind, run, atol=0.75, shown=shown)


def repeats(f: Candidate, samples: Array) -> bool:
    """Return True if it gives one answer to one question, and has the right defaults."""
    seeded = {tuple(ends(f, samples, resamples=99, seed=3)) for _ in range(5)}
    need(len(seeded) == 1, "asked five times with seed = 3, it did not always give the same: draw from that seed")
    first = ends(f, samples)
    for options in ({"seed": 0}, {"resamples": 2000}, {"confidence": 0.95}):
        again = ends(f, samples, **options)
        words = next(f"with {name} = {value}" for name, value in options.items())
        told = f"({first[0]:.9g}, {first[1]:.9g}), and {words} ({again[0]:.9g}, {again[1]:.9g})"
        need(np.array_equal(first, again), f"it gave {told}: that should be the same")
    return True


def finer(f: Candidate, samples: Array) -> bool:
    """Return True if more confidence is a wider interval, also where whole per cents are the same."""
    inner, outer = (ends(f, samples, confidence=confidence) for confidence in (0.955, 0.965))
    told = f"({inner[0]:.9g}, {inner[1]:.9g}) with confidence = 0.955, and ({outer[0]:.9g}, {outer[1]:.9g}) with 0.965"
    need(outer[0] < inner[0] and inner[1] < outer[1], f"it gave {told}: the second should be wider")
    return True


def differ(f: Candidate, samples: Array) -> bool:
    """Return True if seeds matter: not all of ten give the same interval."""
    found = {tuple(ends(f, samples, resamples=9, seed=seed)) for seed in range(10)}
    need(len(found) > 1, "ten seeds all gave the same interval: each should draw anew")
    return True
