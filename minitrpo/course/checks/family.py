"""Checks of lecture 16: how likely luck parts two groups of runs so far, and what many questions leave of it."""

from collections.abc import Iterator

import numpy as np

from minitrpo.course.checks.differential import Case, case
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise

CHANCE, CORRECTED = (f"minitrpo.course.seeds:{name}" for name in ("rank_chance", "corrected"))

AT_LEAST, APART = "apart >= ours - 1e-9", "np.abs(sums - sums.mean())"
CHANCE_SLIPS = {
    "It counts the ways that lie further off: ours is one of them, and counts, too.": (
        AT_LEAST, "apart > ours + 1e-9"),
    "It looks in one direction only: who is sooner was not known before.": (
        APART, "sums.mean() - sums", "abs(ranks[: np.size(one)].sum() - sums.mean())",
        "sums.mean() - ranks[: np.size(one)].sum()"),
    "It counts the ways that lie nearer.": (AT_LEAST, "apart <= ours + 1e-9"),
    "That is a number of ways: their share is wanted.": ("np.mean(", "np.sum("),
    "That is the chance of the opposite.": ("float(np.mean(apart", "1 - float(np.mean(apart"),
    "The sums are of the numbers themselves, not of their ranks.": (
        "rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()])", "np.append(one, other)"),
    "Equal numbers share the mean of their ranks: here each has its own.": (
        "tolist()])", 'tolist()], method="ordinal")'),
    "Equal numbers share the mean of their ranks, not the least of them.": (
        "tolist()])", 'tolist()], method="min")'),
    "It deals out as many ranks as `other` has.": (
        "combinations(ranks.tolist(), np.size(one))", "combinations(ranks.tolist(), np.size(other))"),
    "The mean is that of all ranks together; that of the sums is wanted.": (
        "abs(ranks[: np.size(one)].sum() - sums.mean())", "abs(ranks[: np.size(one)].sum() - ranks.mean())"),
}  # fmt: skip


@exercise(
    "rank_chance",
    CHANCE,
    hints=(
        "If luck alone is at work every choice of n of the n + m ranks is as likely as every other.",
        "combinations(ranks, n) gives all choices; the sum of each says how soon its group is. Ours is one of them.",
        "Count the sums that lie at least as far from the middle as ours, above or below, and divide by how many there "
        "are.",
    ),
    mistakes=edits(CHANCE, CHANCE_SLIPS),
)
def rank_chance_cases() -> Iterator[Case]:
    """Yield groups that are apart, mixed, unequal in size, with ties and with runs that never arrive."""
    yield case("two and two, apart", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    yield case("two and two, mixed", np.array([1.0, 4.0]), np.array([2.0, 3.0]))
    yield case("one and three", np.array([1.0]), np.array([2.0, 3.0, 4.0]))
    yield case("three and one", np.array([2.0, 3.0, 9.0]), np.array([1.0]))
    yield case("the later group first", np.array([30.0, 40.0, 50.0]), np.array([1.0, 2.0, 3.0]))
    yield case("equal numbers", np.array([1.0, 2.0, 2.0]), np.array([2.0, 3.0, 4.0]))
    yield case("all equal", np.ones(3), np.ones(4))
    yield case("a run that never arrives", np.array([1.0, 2.0, np.inf]), np.array([3.0, 4.0, 5.0]))
    yield case("several never arrive", np.array([1.0, np.inf, np.inf]), np.array([3.0, 4.0, np.inf]))
    yield case("five and five, apart", np.arange(5.0), np.arange(5.0, 10.0))
    yield case("whole numbers", np.array([3, 1, 2]), np.array([5, 2, 9]))
    yield case("lists", [64_000, 76_000, 64_000], [46_720.0, 50_000.0])
    rng = np.random.default_rng(0)
    for n, m in ((2, 3), (4, 4), (3, 6), (5, 5), (6, 4), (8, 8)):
        for shift in (0.0, 1.0, -2.0):
            yield case("numbers at random", rng.standard_normal(n), rng.standard_normal(m) + shift)
            yield case("numbers with ties", rng.integers(0, 5, n), rng.integers(0, 5, m) + int(shift))


TIMES, RUNNING = "p[order] * np.arange(len(p), 0, -1)", "np.maximum.accumulate(raised)"
CORRECTED_SLIPS = {
    "All count k times (Bonferroni): the next smallest counts k - 1 times.": (TIMES, "p[order] * len(p)"),
    "The smallest counts once, the largest k times: it is the other way round.": (
        TIMES, "p[order] * np.arange(1, len(p) + 1)"),
    "The factors begin with k - 1.": (TIMES, "p[order] * np.maximum(np.arange(len(p) - 1, -1, -1), 1)"),
    "A larger p has got a smaller corrected one: take the largest so far.": (RUNNING, "raised"),
    "That is the smallest so far: the largest is wanted.": (RUNNING, "np.minimum.accumulate(raised)"),
    "That is the smallest of those behind it (Hochberg's rule): Holm takes the largest so far.": (
        RUNNING, "np.minimum.accumulate(raised[::-1])[::-1]"),
    "A chance is at most 1.": ("np.minimum(np.maximum.accumulate(raised), 1.0)", RUNNING),
    "They are in order of size, not in the order in which they came.": ("found[order] = raised", "found[:] = raised"),
    "They are put back in the wrong places: the i-th of the sorted ones came from place order[i].": (
        "found[order] = raised", "found[:] = raised[order]"),
    "The largest is taken over the order in which they came.": (
        RUNNING, "raised", "found[order] = raised", "found[order] = raised; found = np.maximum.accumulate(found)"),
    "It divides by the rank: that is Benjamini & Hochberg's rule, for another question.": (
        TIMES, "p[order] * len(p) / np.arange(1, len(p) + 1)", RUNNING, "np.minimum.accumulate(raised[::-1])[::-1]"),
}  # fmt: skip


@exercise(
    "corrected",
    CORRECTED,
    hints=(
        "np.argsort gives the places in order of size: p[order] is sorted. np.arange(k, 0, -1) are the factors.",
        "np.maximum.accumulate is the largest so far.",
        "found[order] = sorted values puts each back where it came from.",
    ),
    mistakes=edits(CORRECTED, CORRECTED_SLIPS),
)
def corrected_cases() -> Iterator[Case]:
    """Yield few and many chances, sorted and not, equal ones, and such that grow beyond 1."""
    yield case("one question", np.array([0.03]))
    yield case("two questions", np.array([0.01, 0.2]))
    yield case("the larger one first", np.array([0.2, 0.01]))
    yield case("three, in no order", np.array([0.04, 0.01, 0.02]))
    yield case("one that another holds up", np.array([0.03, 0.031, 0.032]))
    yield case("some grow beyond 1", np.array([0.5, 0.6, 0.001]))
    yield case("equal chances", np.array([0.02, 0.02, 0.02]))
    yield case("chances of 0 and 1", np.array([1.0, 0.0, 0.5]))
    yield case("a list", [0.01, 0.5, 0.02, 0.02])
    yield case("no question", np.zeros(0))
    rng = np.random.default_rng(0)
    for count in (4, 7, 11, 30):
        for size in (1.0, 0.1, 0.01):
            yield case("chances at random", size * rng.random(count))
    yield case("the least of five seeds, eleven times", np.full(11, 2 / 252))
