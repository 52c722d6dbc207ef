"""Lecture 16: right answers in other styles, and wrong ones, most of them as edits of the package."""

import functools
import heapq
import itertools
import math
from itertools import combinations
from math import comb

import numpy as np
import scipy.stats
from scipy.stats import rankdata


def by_u(one, other):
    """Mann and Whitney's way: how many pairs has `one` won?"""
    both, n = np.append(one, other).astype(float), np.size(one)

    def won(some):
        mine, theirs = both[list(some)], np.delete(both, list(some))
        return np.sum(mine[:, None] > theirs) + 0.5 * np.sum(mine[:, None] == theirs)

    middle = n * np.size(other) / 2
    ours = abs(won(range(n)) - middle)
    return sum(abs(won(some) - middle) >= ours for some in combinations(range(len(both)), n)) / comb(len(both), n)


def by_counting(one, other):
    """Count the ways to each sum, rank after rank, without listing them: a table (chosen, twice the sum)."""
    ranks, n = np.round(2 * rankdata(np.append(one, other))).astype(int), np.size(one)
    ways = np.zeros((n + 1, ranks.sum() + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    apart = np.abs(np.arange(ways.shape[1]) - n * ranks.mean())
    far = apart >= abs(ranks[:n].sum() - n * ranks.mean()) - 1e-9
    return ways[n, far].sum() / ways[n].sum()


def _ranks_by_hand(numbers):
    """1 for the smallest; equal ones share the mean of theirs."""
    found = []
    for x in numbers:
        below = sum(1 for y in numbers if y < x)
        equal = sum(1 for y in numbers if y == x)
        found.append(below + (equal + 1) / 2)
    return found


def chance_plain(one, other):
    """Plain loops and lists, even the ranks."""
    one, other = list(one), list(other)
    ranks = _ranks_by_hand(one + other)
    n = len(one)
    middle = n * (len(ranks) + 1) / 2
    off = abs(sum(ranks[:n]) - middle)
    far = ways = 0
    for some in combinations(ranks, n):
        ways += 1
        if abs(sum(some) - middle) >= off - 1e-9:
            far += 1
    return far / ways


def chance_vector(one, other):
    """Vectorised over all ways."""
    ranks = rankdata(np.concatenate([one, other]))
    n = len(one)
    sums = np.array(list(combinations(ranks, n))).sum(axis=1)
    off = np.abs(sums - sums.mean())
    return np.mean(off >= abs(ranks[:n].sum() - sums.mean()) - 1e-9)


def chance_permutation_test(one, other):
    """scipy's permutation test, with the distance from the mean as its statistic."""
    n, m = len(one), len(other)
    ranks = rankdata([*one, *other])
    middle = n * (n + m + 1) / 2

    def off(some, rest, axis):
        return np.round(np.abs(some.sum(axis=axis) - middle), 6)

    data = ranks[:n], ranks[n:]
    if min(n, m) == 1:  # scipy wants two observations in each; here a way is a place for the single one
        single = np.abs(ranks - ranks.mean())
        return float(np.mean(single >= single[0 if n == 1 else -1] - 1e-9))
    found = scipy.stats.permutation_test(data, off, n_resamples=np.inf, alternative="greater", vectorized=True)
    return float(found.pvalue)


def chance_terse(one, other):
    r = rankdata([*one, *other]) - (len(one) + len(other) + 1) / 2
    d = [abs(sum(c)) for c in combinations(r.tolist(), len(one))]  # the first way is how it came
    return sum(x >= d[0] - 1e-9 for x in d) / len(d)


def chance_recursive(one, other):
    """Recursive with a memory: take the next rank, or leave it."""
    ranks = tuple(rankdata(list(one) + list(other)).tolist())
    n = len(one)
    middle = n * (len(ranks) + 1) / 2
    off = abs(sum(ranks[:n]) - middle)

    @functools.cache
    def ways(i, left, total):
        if left == 0:
            return int(abs(total - middle) >= off - 1e-9)
        if len(ranks) - i < left:
            return 0
        return ways(i + 1, left - 1, total + ranks[i]) + ways(i + 1, left, total)

    return ways(0, n, 0.0) / math.comb(len(ranks), n)


def chance_other(one, other):
    """Chooses the others' ranks: those of `one` are what is left, and the distance is the same."""
    together = np.append(one, other)
    ranks = rankdata(together)
    m = len(other)
    expected = m * (len(together) + 1) / 2
    got = abs(ranks[len(one) :].sum() - expected)
    hits = [abs(sum(some) - expected) > got - 1e-9 for some in itertools.combinations(ranks, m)]
    return np.mean(hits)


def by_definition(chances):
    """The largest of (k - how many are before) p over all chances up to this one."""
    p = np.asarray(chances, float)
    places = np.empty(len(p), int)
    places[np.argsort(p, kind="stable")] = np.arange(len(p))
    return np.array([min(1.0, max((len(p) - places[j]) * p[j] for j in range(len(p)) if places[j] <= places[i]))
                     for i in range(len(p))])  # fmt: skip


def by_the_inverse_order(chances):
    p = np.asarray(chances, float)
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    return np.clip(raised, 0, 1)[np.argsort(order)]


def corrected_defensive(chances):
    p = np.array(chances, dtype=float)
    assert p.ndim == 1
    assert np.all((p >= 0) & (p <= 1))
    k = p.size
    order = np.argsort(p, kind="mergesort")
    scaled = np.zeros(k)
    for place in range(k):
        scaled[place] = min(1.0, p[order[place]] * (k - place))
        if place > 0:
            scaled[place] = max(scaled[place], scaled[place - 1])
    result = np.zeros(k)
    result[order] = scaled
    assert result.shape == p.shape
    assert np.all(result >= p)
    assert np.all(result <= 1)
    return result


def corrected_terse(chances):
    """One expression: the largest of all that are not larger, each times those that are not smaller."""
    p = np.array(chances, float)
    return np.array([min(1, max(q * (p >= q).sum() for q in p[p <= x])) for x in p])


def corrected_matrix(chances):
    """The same as a matrix: no order, no loop."""
    p = np.asarray(chances, dtype=float)
    not_smaller = (p[None, :] >= p[:, None]).sum(axis=1)
    alone = p * not_smaller
    return np.minimum(1.0, np.where(p[:, None] <= p[None, :], alone[:, None], 0.0).max(axis=0))


def corrected_accumulate(chances):
    """itertools.accumulate, zip and sorted."""
    k = len(chances)
    pairs = sorted((float(p), i) for i, p in enumerate(chances))
    holm = itertools.accumulate((min(1.0, (k - place) * p) for place, (p, _) in enumerate(pairs)), max)
    return np.array([value for _, value in sorted(zip((i for _, i in pairs), holm, strict=False))])


def corrected_heap(chances):
    """A heap and a closure."""
    heap = [(float(p), i) for i, p in enumerate(chances)]
    heapq.heapify(heap)
    out, so_far = np.zeros(len(heap)), 0.0

    def smallest_left():
        nonlocal so_far
        left = len(heap)
        p, i = heapq.heappop(heap)
        so_far = max(so_far, left * p)
        return i, min(so_far, 1.0)

    while heap:
        i, value = smallest_left()
        out[i] = value
    return out


def corrected_recursive(chances):
    """Recursive: the smallest, then the others with it as their floor."""
    p = np.array(chances, dtype=float)

    def rest(order, floor):
        if not order:
            return {}
        here = max(floor, min(1.0, len(order) * p[order[0]]))
        return {order[0]: here} | rest(order[1:], here)

    found = rest(np.argsort(p).tolist(), 0.0)
    return np.array([found[i] for i in range(len(p))])


def corrected_careless(chances):
    """In place on own arrays."""
    p = np.sort(chances) * 1.0
    order = np.argsort(chances)
    n = len(p)
    for i in range(n):
        p[i] *= n - i
        if i and p[i] < p[i - 1]:
            p[i] = p[i - 1]
    p[p > 1] = 1
    out = np.zeros_like(p)
    for i, j in enumerate(order):
        out[j] = p[i]
    return out


RIGHT = {
    "rank_chance": [by_u, by_counting, chance_plain, chance_vector, chance_permutation_test, chance_terse,
        chance_recursive, chance_other],
    "corrected": [by_definition, by_the_inverse_order, corrected_defensive, corrected_terse, corrected_matrix,
        corrected_accumulate, corrected_heap, corrected_recursive, corrected_careless],
}  # fmt: skip

EDITS = {
    "rank_chance": r"""
        a_thousand_shuffles: sums = np.array([sum(some) for some in combinations(ranks.tolist(), np.size(one))]) \
            => rng, n = np.random.default_rng(0), np.size(one)\n    sums = np.array([rng.permutation(ranks)[:n].sum() \
            for _ in range(1000)])
        other_side_only: apart >= ours => sums >= ranks[:np.size(one)].sum()
        as_far_exactly: apart >= ours - 1e-09 => np.isclose(apart, ours)
        values_for_ranks: rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => \
            np.minimum(np.append(one, other), 1e9)
        dense_ranks: [*np.asarray(one).tolist(), *np.asarray(other).tolist()] => [*np.asarray(one).tolist(), \
            *np.asarray(other).tolist()], method='dense'
        largest_of_equal_ranks: [*np.asarray(one).tolist(), *np.asarray(other).tolist()] => \
            [*np.asarray(one).tolist(), *np.asarray(other).tolist()], method='max'
        order_for_ranks: rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => \
            np.argsort(np.append(one, other)) + 1.0
        those_that_arrive_only: rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => \
            np.nan_to_num(rankdata(np.append(one, other)) * np.isfinite(np.append(one, other)))
        half_of_them: , np.size(one) => , (np.size(one) + np.size(other)) // 2
        first_choices_only: [sum(some) for some in combinations(ranks.tolist(), np.size(one))] => [sum(some) for \
            some in combinations(ranks.tolist(), np.size(one))][:200]
        squares_against_distance: np.abs =>  && )), => )) ** 2,
    """,
    "corrected": r"""
        sidak: p[order] * => 1 - (1 - p[order]) **
        factors_from_k_minus_1: (p), 0 => (p) - 1, -1
        factors_to_2: (p), 0 => (p) + 1, 1
        maximum_of_two_neighbours: .accumulate(raised) => (raised, np.append(0.0, raised)[:-1])
        capped_at_a_half: , 1.0 => , 0.5
        in_reverse: [order] = => [order[::-1]] =
        largest_first: argsort(p) => argsort(-p)
        not_sorted: argsort(p) => arange(len(p))
        divided: * np => / np
        only_the_smallest: arange(len(p), 0, -1) => where(np.arange(len(p)) == 0, len(p), 1)
        stops_at_5_per_cent: = raised => = np.where(np.cumsum(raised > 0.05) > 0, 1.0, raised)
        verdicts: = raised => = raised < 0.05
    """,
}
