"""Checks of lecture 05c: two summaries of a few runs, the chance that luck parts two groups, Holm's correction."""

from collections.abc import Iterator

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.register import exercise


@exercise(
    "minitrpo.course.seeds:interquartile_mean",
    r"""
        ? np.sort puts the scores in order of size.
        ? With n scores, n // 4 are left out at each end: of 8 scores two and two, of 5 scores one and one.
        ? Take a slice of the sorted scores, and its mean.
        np.sort(np.asarray(scores, float)) => np.asarray(scores, float) :: does not sort the scores :: sort them first
        len(ordered) // 4 => 0 :: is the mean of all scores :: leave out a quarter at each end
        return float(np.mean(ordered[cut:len(ordered) - cut])) => return float(np.median(ordered)) \
            :: is the median :: be the mean of the middle half
        ordered[cut:len(ordered) - cut] => ordered[cut:] :: leaves out the lowest scores only :: leave out both ends
        ordered[cut:len(ordered) - cut] => ordered[:len(ordered) - cut] :: leaves out the highest scores only \
            :: leave out both ends
        len(ordered) // 4 => -(-len(ordered) // 4) :: rounds a quarter up :: round it down
        len(ordered) // 4 => round(len(ordered) / 4) :: rounds a quarter to the nearest number :: round it down
        return right(scores) + np.subtract(*np.percentile(scores, [75, 25])) - right(scores) \
            :: is the interquartile range :: be the mean of the scores in it
        np.mean(ordered[cut:len(ordered) - cut]) => np.mean(ordered[(ordered >= np.percentile(ordered, 25)) \
            & (ordered <= np.percentile(ordered, 75))]) :: takes the scores between two percentiles \
            :: leave out n // 4 scores at each end
        np.mean(ordered[cut:len(ordered) - cut]) => np.mean(np.percentile(ordered, [25, 75])) \
            :: is the middle of the two quartiles :: be the mean of all scores between them
    """,
    lecture="05c",
)
def _interquartile_mean() -> Iterator[Case]:
    yield case("four scores", np.array([1.0, 2.0, 4.0, 9.0]))
    yield case("four scores, in no order", np.array([9.0, 2.0, 1.0, 4.0]))
    yield case("eight scores", np.array([12.0, 480.0, 490.0, 500.0, 100.0, 470.0, 500.0, 460.0]))
    yield case("five scores", np.array([10.0, 0.0, 1.0, 2.0, 30.0]))
    yield case("six scores", np.array([10.0, 0.0, 1.0, 2.0, 30.0, -7.0]))
    yield case("seven scores", np.array([10.0, 0.0, 1.0, 2.0, 30.0, -7.0, 5.0]))
    yield case("three scores, of which none is left out", np.array([3.0, 1.0, 20.0]))
    yield case("one score", np.array([3.0]))
    yield case("equal scores", np.full(8, 500.0))
    yield case("a list", [4, 1, 2, 8])
    rng = np.random.default_rng(0)
    for n in (9, 10, 11, 16, 50):
        for scale in (1.0, -1e6, 1e-6):
            yield case("scores at random", scale * rng.lognormal(size=n))


@exercise(
    "minitrpo.course.seeds:probability_of_improvement",
    r"""
        ? There are n times m pairs. one[:, None] > other[None, :] compares all of them: a table of truth values.
        ? The mean of a table of truth values is the fraction of them that are true.
        ? A pair of equal scores counts one half: add half of the fraction of equal pairs.
        + 0.5 * np.mean(column == row) =>  :: takes a pair of equal scores for a loss :: count it one half
        column > row => column >= row && + 0.5 * np.mean(column == row) =>  \
            :: takes a pair of equal scores for a win :: count it one half
        column > row => column < row :: is how often `other` wins :: be how often `one` wins
        return float(np.mean(np.asarray(one) > np.mean(other))) :: compares with the mean of `other` \
            :: compare every run of one with every run of the other
        return float(np.mean(np.median(one) > np.asarray(other))) :: compares the median of `one` alone \
            :: compare every run of one with every run of the other
        return float(np.mean(one) > np.mean(other)) :: compares the two means :: compare every pair of runs
        return float(np.mean([a > b for a, b in zip(one, other)])) :: compares only runs at the same place \
            :: compare every run of one with every run of the other
        return float(np.mean([(a > b) + 0.5 * (a == b) for a, b in zip(one, other)])) \
            :: compares only runs at the same place :: compare every run of one with every run of the other
        return right(one, other) * len(one) * len(other) :: is a number of pairs :: divide it by the number of all pairs
        return right(one, other) - right(other, one) :: is wins minus losses :: be the fraction of wins
    """,
    lecture="05c",
)
def _probability_of_improvement() -> Iterator[Case]:
    yield case("two runs and two runs", np.array([3.0, 1.0]), np.array([2.0, 0.0]))
    yield case("all better", np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    yield case("all worse", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    yield case("equal scores", np.array([500.0, 500.0]), np.array([500.0, 400.0]))
    yield case("all equal", np.ones(3), np.ones(2))
    yield case("two and three runs", np.array([3.0, 1.0]), np.array([2.0, 0.0, 5.0]))
    yield case("one large score", np.array([1000.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]))
    yield case("lists", [4, 1, 2], [2, 0, 8, 1])
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (2, 3), (5, 5), (8, 8), (10, 4)):
        for shift in (0, 2, -1):
            yield case("scores at random", rng.integers(0, 9, n) / 2 + shift, rng.integers(0, 9, m) / 2)


@exercise(
    "minitrpo.course.seeds:rank_chance",
    r"""
        ? If luck alone is at work every choice of n of the n + m ranks is as likely as every other.
        ? combinations(ranks, n) gives all choices; the sum of each says how soon its group is. Ours is one of them.
        ? Count the sums that lie at least as far from the middle as ours, above or below, and divide by how many \
            there are.
        >= ours - => > ours + :: leaves out the ways that lie as far off as ours :: count these, too
        (np.abs(sums - sums.mean()), abs(ranks => (sums.mean() - sums, sums.mean() - ranks && ) - sums.mean() => \
            :: looks in one direction only :: count both, as who is sooner was not known before
        np.mean( => np.sum( :: is a number of ways :: be their share
        rankdata([ => np.array([ :: adds up the numbers themselves :: add up their ranks
        tolist()]) => tolist()], method="ordinal") :: ranks equal numbers as they come :: give each the mean of theirs
        tolist()]) => tolist()], method="min") :: gives equal numbers the least rank :: give each the mean of theirs
        (one))] => (other))] :: chooses as many ranks as `other` has :: choose as many as `one` has
    """,
    lecture="05c",
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
    lecture="05c",
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
