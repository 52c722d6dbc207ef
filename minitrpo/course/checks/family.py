"""Checks of lecture 16: the chance that two groups of runs differ this much by chance, and Holm's correction."""

from collections.abc import Iterator

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.register import exercise


@exercise(
    "minitrpo.course.seeds:rank_chance",
    r"""
        ? If luck alone is at work every choice of n of the n + m ranks is as likely as every other.
        ? combinations(ranks, n) gives all choices; the sum of each says how soon its group is. Ours is one of them.
        ? Count the sums that lie at least as far from the middle as ours, above or below, and divide by how many \
            there \
            are.
        >= ours - => > ours + :: leaves out the ways that lie as far off as ours :: count these, too
        (np.abs(sums - sums.mean()), abs(ranks => (sums.mean() - sums, sums.mean() - ranks && ) - sums.mean() => \
            :: looks in one direction only :: count both, as who is sooner was not known before
        np.mean( => np.sum( :: is a number of ways :: be their share
        rankdata([ => np.array([ :: adds up the numbers themselves :: add up their ranks
        tolist()]) => tolist()], method="ordinal") :: ranks equal numbers as they come :: give each the mean of theirs
        tolist()]) => tolist()], method="min") :: gives equal numbers the least rank :: give each the mean of theirs
        (one))] => (other))] :: chooses as many ranks as `other` has :: choose as many as `one` has
    """,
    lecture="16",
)
def _rank_chance() -> Iterator[Case]:
    yield case("two and two, apart", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    yield case("one and three", np.array([1.0]), np.array([2.0, 3.0, 4.0]))
    yield case("three and one", np.array([2.0, 3.0, 9.0]), np.array([1.0]))
    yield case("the later group first", np.array([30.0, 40.0, 50.0]), np.array([1.0, 2.0, 3.0]))
    yield case("equal numbers", np.array([2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    yield case("all equal", np.ones(3), np.ones(4))
    yield case("a run that never arrives", np.array([1.0, 2.0, np.inf]), np.array([3.0, 4.0, 5.0]))
    yield case("several never arrive", np.array([1.0, np.inf, np.inf]), np.array([3.0, np.inf]))
    yield case("five and five, apart", range(5), range(5, 10))
    rng = np.random.default_rng(0)
    for n, m in ((2, 3), (3, 6), (6, 4), (7, 7)):
        for shift in (0, 1, -2):
            yield case("numbers at random", rng.integers(0, 9, n) / 2, (rng.integers(0, 9, m) + shift) / 2)


@exercise(
    "minitrpo.course.seeds:corrected",
    r"""
        ? np.argsort gives the places in order of size: p[order] is sorted. np.arange(k, 0, -1) are the factors.
        ? np.maximum.accumulate is the largest so far.
        ? found[order] = sorted values puts each back where it came from.
        np.arange(len(p), 0, -1) => len(p) :: counts every p k times (Bonferroni) :: count the next smallest k - 1 times
        np.arange(len(p), 0, -1) => np.arange(1, len(p) + 1) :: counts the largest k times :: count the smallest k times
        np.maximum.accumulate(raised) => raised :: lets a corrected p be below one before it :: take the largest so far
        accumulate(raised), 1.0) => accumulate(raised), np.inf) :: has chances above 1 :: cut them at 1
        [order] = raised => [:] = raised :: is in order of size :: be in the order of `chances`
        [order] = raised => [:] = raised[order] :: puts them back in wrong places :: put the i-th one at place order[i]
        * np.arange(len(p), 0, -1) =>  :: is not corrected :: count the smallest k times, and so on
    """,
    lecture="16",
)
def _corrected() -> Iterator[Case]:
    yield case("one question", np.array([0.03]))
    yield case("two questions", np.array([0.01, 0.2]))
    yield case("the larger one first", np.array([0.2, 0.01]))
    yield case("three, in no order", np.array([0.04, 0.01, 0.02]))
    yield case("one that another holds up", np.array([0.03, 0.031, 0.032]))
    yield case("some grow beyond 1", np.array([0.6, 0.7, 0.001]))
    yield case("equal chances", np.array([0.02, 0.02, 0.02]))
    yield case("a list", [0.01, 0.5, 0.02, 0.02])
    rng = np.random.default_rng(0)
    for count in (4, 7, 11, 30):
        for size in (1.0, 0.1, 0.01):
            yield case("chances at random", size * rng.random(count))
    yield remark(case("no question", np.zeros(0)))
