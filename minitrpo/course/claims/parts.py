"""The kinds of questions that a claim is made of; every number has its interval from course.statistics."""

import numpy as np

from minitrpo.course.claims.claim import Part, Runs
from minitrpo.course.claims.quantities import Quantity
from minitrpo.course.statistics import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    Interval,
    difference_interval,
    mean_interval,
    median_interval,
    rank_test,
    ratio_interval,
    verdict,
)
from minitrpo.policies import Array

SURE = 0.05  # p of a rank test below which a difference is one


def values(runs: Runs, name: str, env: str, quantity: Quantity) -> Array | None:
    """Return a quantity of every seed; None if there is no run, or one is too short for it."""
    found = np.array([quantity.of(run) for run in runs.get((name, env), [])])
    return found if len(found) and not np.isnan(found).any() else None


def higher(quantity: Quantity, one: str, other: str, env: str, by: float = 0.0) -> Part:
    """Return the question whether one arm's mean is more than `by` above another's: Welch's interval."""

    def ask(runs: Runs) -> tuple[str, str] | None:
        a, b = values(runs, one, env, quantity), values(runs, other, env, quantity)
        if a is None or b is None:
            return None
        interval = difference_interval(a, b)
        return told(interval, ".3g"), verdict(interval, by)

    return Part(f"{env}, {quantity.words}: {one} above {other}; the difference", ask)


def ratio(quantity: Quantity, one: str, other: str, env: str, most: float, about: float = 0.0, cores: int = 0) -> Part:
    """Return the question whether one arm takes less than `most` times another's: Welch's interval of logarithms.

    about: > 0 asks whether it is `most`, give or take so much. cores: fewer on the machine cannot tell.
    """
    claimed = f"{most:g}, give or take {about:g}" if about else f"below {most:g}"

    def ask(runs: Runs) -> tuple[str, str] | None:
        a, b = values(runs, one, env, quantity), values(runs, other, env, quantity)
        if a is None or b is None:
            return None
        interval = ratio_interval(a, b)
        there = min(run["usable_cores"] for run in runs[one, env])
        if there < cores:
            return f"{told(interval, '.2g')}; it takes {cores} cores, not {there}", CANNOT_TELL
        return told(interval, ".2g"), within(interval, most, about) if about else verdict(interval, most, above=False)

    return Part(f"{env}, {quantity.words}: {one} / {other} is {claimed}; the ratio", ask)


def told(interval: Interval, form: str) -> str:
    """Return an interval in words."""
    return f"{interval.middle:{form}} (one seed)" if np.isnan(interval.low) else f"{interval:{form}}"


def within(interval: Interval, claimed: float, about: float) -> str:
    """Return HOLDS if an interval lies in claimed +- about, DOES_NOT_HOLD if it lies outside, or neither."""
    if np.isnan(interval.low) or np.isnan(interval.high):
        return CANNOT_TELL
    low, high = claimed - about, claimed + about
    if low <= interval.low and interval.high <= high:
        return HOLDS
    return DOES_NOT_HOLD if interval.high < low or interval.low > high else CANNOT_TELL


def sooner(quantity: Quantity, one: str, other: str, env: str) -> Part:
    """Return the question whether one arm needs less, infinity among the values: medians and a rank test."""

    def ask(runs: Runs) -> tuple[str, str] | None:
        a, b = values(runs, one, env, quantity), values(runs, other, env, quantity)
        if a is None or b is None:
            return None
        p, less = rank_test(a, b), np.median(np.argsort(np.argsort(np.concatenate([a, b])))[: len(a)])
        first, second = median_interval(a)[0], median_interval(b)[0]
        better = first.middle < second.middle or (first.middle == second.middle and less < (len(a) + len(b) - 1) / 2)
        found = f"medians {first.middle:,.0f} and {second.middle:,.0f}, p = {p:.2g}"
        return found, CANNOT_TELL if p >= SURE else HOLDS if better else DOES_NOT_HOLD

    return Part(f"{env}, {quantity.words}: {one} sooner than {other}", ask)


def level(quantity: Quantity, name: str, env: str, claimed: float, above: bool = True, about: float = 0.0) -> Part:
    """Return the question whether an arm's mean is above (below) what was claimed, or about it: Student's interval."""
    wanted = f"{claimed:,g}, give or take {about:g}" if about else f"{'above' if above else 'below'} {claimed:,g}"

    def ask(runs: Runs) -> tuple[str, str] | None:
        a = values(runs, name, env, quantity)
        if a is None:
            return None
        interval = mean_interval(a)
        form = ",.0f" if abs(interval.middle) >= 1000 else ".3g"
        return told(interval, form), within(interval, claimed, about) if about else verdict(interval, claimed, above)

    return Part(f"{env}, {quantity.words}, {name}: {wanted}", ask)


def trend(quantity: Quantity, arms: dict[str, float], env: str) -> Part:
    """Return the question whether a quantity rises with a number: the slopes of the seeds, for a doubling."""

    def ask(runs: Runs) -> tuple[str, str] | None:
        found = {x: values(runs, name, env, quantity) for name, x in arms.items()}
        known = {x: v for x, v in found.items() if v is not None}
        if len(known) < 2:
            return None
        seeds = min(map(len, known.values()))
        x = np.log2(list(known))
        slopes = np.polyfit(x, np.array([v[:seeds] for v in known.values()]), 1)[0]
        interval = mean_interval(slopes)
        return told(interval, ".3g"), verdict(interval, 0.0)

    return Part(f"{env}, {quantity.words}: rises with every doubling; by", ask)


def same_bits(env: str, names: tuple[str, ...]) -> Part:
    """Return the question whether all arms end with the same parameters, to the bit, seed by seed."""

    def ask(runs: Runs) -> tuple[str, str] | None:
        found = [runs.get((name, env), []) for name in names]
        seeds = min(map(len, found))
        if not seeds:
            return None
        alike = sum(len({run["theta_sha256"] for run in same}) == 1 for same in zip(*found, strict=False))
        return f"{alike} of {seeds} seeds", HOLDS if alike == seeds else DOES_NOT_HOLD

    return Part(f"{env}: the same parameters, to the bit, with {', '.join(names)}", ask)
