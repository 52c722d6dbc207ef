"""Checks of lecture 08: speed-up, its laws, and its uncertainty."""

from typing import Any

import numpy as np

from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import close
from minitrpo.checks.register import examined as exercise
from minitrpo.policies import Array

HERE = "minitrpo.parallel.speedup"
FRACTIONS = (0.0, 0.01, 0.073, 0.25, 0.5, 0.9, 1.0)


@exercise(
    "amdahl",
    f"{HERE}:amdahl",
    "Call the time on one rank 1. How much of it is serial, how much is left, and what do P ranks make of the rest?",
    "The time on P ranks is the serial fraction plus the remaining fraction divided by P.",
    "The speed-up is 1 divided by that time.",
)
def amdahl(candidate: Candidate) -> None:
    """Check Amdahl's law: by hand, at its ends, against a job that is timed piece by piece, with arrays."""
    close(
        candidate(0.25, 3),
        2.0,
        "A job of 4 s, 1 s of it serial, takes 1 + 3/3 = 2 s on 3 ranks: twice as fast as on one",
    )
    close(candidate(0.0, 8), 8.0, "Without a serial part, 8 ranks should be 8 times as fast")
    close(candidate(1.0, 8), 1.0, "A job that is all serial should get no faster")
    for fraction in FRACTIONS:
        close(candidate(fraction, 1), 1.0, "On one rank the speed-up is 1, whatever the serial fraction")
    close(candidate(0.073, 10**9), 1 / 0.073, "However many ranks, the speed-up ends near 1 / serial fraction", 1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        serial_s, parallel_s, ranks = rng.uniform(0.1, 5), rng.uniform(0.1, 50), int(rng.integers(2, 200))
        total = serial_s + parallel_s
        close(
            candidate(serial_s / total, ranks),
            total / (serial_s + parallel_s / ranks),
            f"{serial_s:.2f} s serial and {parallel_s:.2f} s shared by {ranks} ranks: wrong speed-up",
        )
    _many_ranks_at_once(candidate, lambda fraction, ranks: 1 / (fraction + (1 - fraction) / ranks))


@exercise(
    "gustafson",
    f"{HERE}:gustafson",
    "The time on P ranks is 1 now. In the serial fraction of it one rank works, in the rest all P do.",
    "So the work done is the serial fraction, once, plus the rest, P times; one rank would need that long.",
)
def gustafson(candidate: Candidate) -> None:
    """Check Gustafson's law: by hand, at its ends, against Amdahl's law with its own fraction, with arrays."""
    close(
        candidate(0.25, 4),
        3.25,
        "Of 1 s on 4 ranks one works alone for 0.25 s, all work for 0.75 s: that is 0.25 + 4 * 0.75 s of work",
    )
    close(candidate(0.0, 8), 8.0, "If all ranks work all the time, 8 ranks do 8 times the work")
    close(candidate(1.0, 8), 1.0, "If one works and the others watch, it is the work of one")
    for fraction in FRACTIONS:
        close(candidate(fraction, 1), 1.0, "On one rank the work is 1, whatever the serial fraction")
    rng = np.random.default_rng(1)
    for _ in range(20):
        serial_s, each_s, ranks = rng.uniform(0.1, 5), rng.uniform(0.1, 50), int(rng.integers(2, 200))
        fraction_on_all = serial_s / (serial_s + each_s)
        close(
            candidate(fraction_on_all, ranks),
            (serial_s + ranks * each_s) / (serial_s + each_s),
            f"{ranks} ranks with {each_s:.2f} s each, then {serial_s:.2f} s on one of them: one rank alone would do "
            "all the pieces one after the other",
        )
    _many_ranks_at_once(candidate, lambda fraction, ranks: fraction + (1 - fraction) * ranks)


def _many_ranks_at_once(candidate: Candidate, law: Any) -> None:
    for ranks in (np.array([1, 2, 4, 8]), np.array([3.0]), np.array([[2, 5], [16, 64]])):
        for fraction in FRACTIONS:
            close(
                candidate(fraction, ranks),
                law(fraction, ranks),
                f"For an array of ranks of shape {ranks.shape} it should return as many speed-ups",
            )


@exercise(
    "karp_flatt",
    f"{HERE}:karp_flatt",
    "Write Amdahl's law as 1/S = e + (1 - e)/P and collect what has an e in it.",
    "1/S - 1/P = e (1 - 1/P).",
    "Ask for ranks that are too few first: np.any(np.asarray(ranks) <= 1) serves for a number and for an array.",
)
def karp_flatt(candidate: Candidate) -> None:
    """Check the fraction: by hand, recovered from planted ones, faster than ideal, slower than serial, refusals."""
    close(candidate(2.0, 3), 0.25, "Twice as fast on 3 ranks is what a serial fraction of 1/4 gives")
    close(candidate(8.0, 8), 0.0, "The ideal speed-up leaves no serial fraction")
    close(candidate(1.0, 8), 1.0, "No speed-up at all is what a serial fraction of 1 gives")
    for ranks in (2, 3, 8, 1000):
        for fraction in FRACTIONS:
            close(
                candidate(1 / (fraction + (1 - fraction) / ranks), ranks),
                fraction,
                f"A serial fraction of {fraction} was planted in the speed-up on {ranks} ranks, and should come back",
                1e-7,
            )
    close(candidate(4.0, 2), -0.5, "Faster than ideal (4 times on 2 ranks) should show, as a negative fraction")
    close(candidate(0.5, 4), 7 / 3, "Slower than one rank (half as fast on 4) should show, as a fraction above 1")
    several, measured = np.array([2, 3, 4, 8]), np.array([1.9, 2.8, 3.2, 3.4])
    one_by_one = (several - measured) / (measured * (several - 1))
    close(candidate(measured, several), one_by_one, "Arrays should give one fraction for each number of ranks")
    close(candidate(measured[:1], several[:1]), one_by_one[:1], "An array of one entry should give one of one entry")
    for speedups, too_few in ((1.0, 1), (np.array([1.0, 1.9]), np.array([1, 2])), (np.ones(1), np.ones(1))):
        _refused(
            candidate, "With 1 rank among the ranks there is no fraction to find (0 divided by 0)", speedups, too_few
        )


def _refused(candidate: Candidate, why: str, *arguments: Any) -> None:
    try:
        answer = candidate(*arguments)
    except ValueError:
        return
    raise AssertionError(f"{why}: it should raise ValueError, but it returned {answer}")


@exercise(
    "interval",
    f"{HERE}:interval",
    "np.random.default_rng(seed).choice(data, shape) draws with replacement.",
    "Make an array with a row for each resample, as many columns as there are measurements, and take a median a row.",
    "For 95 % the two ends are the quantiles 0.025 and 0.975 of the medians.",
)
def interval(candidate: Candidate) -> None:
    """Check the bootstrap: its form, what it is an interval of, how wide it is, and that it can be repeated."""
    close(_ends(candidate, np.full(5, 1.25)), [1.25, 1.25], "Five equal measurements leave no doubt: low = high")
    _of_the_median(candidate)
    _width(candidate)
    _few_numbers(candidate)
    _repeatable(candidate)


def _ends(candidate: Candidate, samples: Array, **options: Any) -> Array:
    """Return (low, high) as an array; AssertionError if that is not what came back."""
    try:
        result = candidate(samples, **options)
    except ValueError as error:
        raise AssertionError(f"it refused {len(samples)} measurements: {error}") from error
    close(np.shape(result), (2,), "It should return two numbers, low and high")
    ends = np.asarray(result, dtype=float)
    close(ends, ends, "Both ends should be finite")
    assert ends[0] <= ends[1], f"low is {ends[0]:.4g} and high is {ends[1]:.4g}: which comes first?"
    return ends


def _of_the_median(candidate: Candidate) -> None:
    """Seconds with a few hiccups: the mean and the range run away, medians do not. Then measurements that double."""
    rng = np.random.default_rng(3)
    for n in (15, 40):
        seconds = rng.normal(1.0, 0.02, n)
        seconds[: n // 10] = 30.0
        low, high = _ends(candidate, rng.permutation(seconds))
        middle = float(np.median(seconds))
        assert low <= middle <= high, (
            f"the median of the measurements, {middle:.3f}, should lie between low and high, {low:.3f} and {high:.3f}"
        )
        assert high < 1.1, (
            f"{n} measurements of about 1 s with {n // 10} of 30 s among them gave {low:.3g} to {high:.3g}: "
            "a few hiccups should hardly move an interval of the median"
        )
        assert low > 0.9, f"no measurement was below 0.9, but low is {low:.3g}: do the ends come from medians of draws?"
    powers = 2.0 ** np.arange(15)
    low, high = np.log2(np.maximum(_ends(candidate, rng.permutation(powers)), 1e-9))
    assert 2.5 < low < 4.5, "the measurements 1, 2, 4, ... 2^14 have an interval from 2^3 or 2^4 " + _ended(low, high)
    assert 9.5 < high < 11.5, "the measurements 1, 2, 4, ... 2^14 have an interval to 2^10 or 2^11 " + _ended(low, high)


def _ended(low: float, high: float) -> str:
    low_text = "a number below 0" if low < -20 else f"2^{low:.1f}"
    return f"(medians of draws are measurements here), but it went from {low_text} to 2^{high:.1f}"


def _width(candidate: Candidate) -> None:
    """The numbers 0 ... n - 1: an end is a rank, and half the width is z sqrt(n) / 2 ranks for many measurements."""
    rng = np.random.default_rng(4)
    n, z = 101, {0.95: 1.960, 0.5: 0.674}
    for confidence, deviations in z.items():
        # `confidence` is left to its default for 0.95
        options = {} if confidence == 0.95 else {"confidence": confidence}
        ends = np.array([_ends(candidate, rng.permutation(n).astype(float), seed=s, **options) for s in range(8)])
        expected = deviations * np.sqrt(n) / 2
        low, high = (ends - (n - 1) / 2).mean(axis=0) / expected
        said = f"{confidence:.0%} " + ("(the default)" if not options else "(as asked)")
        advice = "Look at how many numbers a draw has, which way the medians are taken, and what is cut off at each end"
        assert high - low > 2 * 0.9, (
            f"at {said} it is too narrow: {(high - low) / 2:.2f} times the width it should have. {advice}"
        )
        assert high - low < 2 * 1.1, (
            f"at {said} it is too wide: {(high - low) / 2:.2f} times the width it should have. {advice}"
        )
        assert abs(high + low) < 0.25, (
            f"at {said} it lies to one side: the same fraction should be cut off at both ends"
        )


def _few_numbers(candidate: Candidate) -> None:
    close(
        _ends(candidate, np.array([3.0, 1.0])),
        [1.0, 3.0],
        "From (3, 1) a quarter of all draws is (1, 1) and a quarter (3, 3): the middle 95 % of the medians is 1 to 3",
    )
    samples = np.random.default_rng(2).gamma(2.0, 1.0, 12)
    low, high = _ends(candidate, samples, resamples=1)
    assert low == high, "with resamples=1 there is one median only, so low = high; does it use `resamples`?"
    for few in ([], [1.5]):
        _refused(candidate, f"{len(few)} measurement(s) have no spread to look at", np.array(few))


def _repeatable(candidate: Candidate) -> None:
    rng = np.random.default_rng(5)
    for n in (20, 31, 50):
        samples = rng.gamma(2.0, 1.0, n)
        once, again = _ends(candidate, samples, resamples=60), _ends(candidate, samples, resamples=60)
        close(again, once, "Asked twice about the same measurements it gave two answers: seed the generator")
        default = _ends(candidate, samples, resamples=60, seed=0)
        close(default, once, "Without a seed it should take seed 0")
    once = _ends(candidate, samples)
    others = {tuple(_ends(candidate, samples, resamples=9, seed=seed)) for seed in range(10)}
    assert len(others) > 1, "ten different seeds all drew the same: does it use `seed`?"
    for factor, shift in ((1000.0, 0.0), (1.0, 5.0)):
        close(
            _ends(candidate, factor * samples + shift),
            factor * once + shift,
            f"The same seconds, times {factor:g} plus {shift:g}: the interval should move along",
            1e-6,
        )
