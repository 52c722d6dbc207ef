"""Lecture 16: right answers in other styles, and wrong ones."""

import functools
import itertools
import math
from itertools import combinations

import numpy as np
import scipy.stats
from scipy.stats import rankdata


def ranks_by_hand(numbers):
    """Return 1 for the smallest; equal ones share the mean of theirs."""
    return np.array([sum(y < x for y in numbers) + (sum(y == x for y in numbers) + 1) / 2 for x in numbers])


def rank_chance_by_pairs(one, other):
    """Mann and Whitney's way: how many pairs has `one` won?"""
    both, n = np.append(one, other).astype(float), np.size(one)

    def apart(some):
        mine, theirs = both[list(some), None], np.delete(both, list(some))
        return abs(np.sum(mine > theirs) + 0.5 * np.sum(mine == theirs) - n * np.size(other) / 2)

    return np.mean([apart(some) >= apart(range(n)) for some in combinations(range(len(both)), n)])


def rank_chance_by_counting(one, other):
    """Count the ways to each sum, rank after rank, without listing them: a table (chosen, twice the sum)."""
    ranks, n = np.round(2 * rankdata(np.append(one, other))).astype(int), np.size(one)
    ways = np.zeros((n + 1, ranks.sum() + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    apart = np.abs(np.arange(ways.shape[1]) - n * ranks.mean())
    far = apart >= abs(ranks[:n].sum() - n * ranks.mean()) - 1e-9
    return ways[n, far].sum() / ways[n].sum()


def rank_chance_permutation_test(one, other):
    n, ranks = len(one), rankdata([*one, *other])
    if min(n, len(other)) == 1:  # scipy wants two observations in each; here a way is a place for the single one
        single = np.abs(ranks - ranks.mean())
        return float(np.mean(single >= single[0 if n == 1 else -1] - 1e-9))

    def off(some, rest, axis):
        return np.round(np.abs(some.sum(axis=axis) - n * ranks.mean()), 6)

    data, options = (ranks[:n], ranks[n:]), {"n_resamples": np.inf, "alternative": "greater", "vectorized": True}
    return float(scipy.stats.permutation_test(data, off, **options).pvalue)


def rank_chance_terse(one, other):
    r = rankdata([*one, *other]) - (len(one) + len(other) + 1) / 2
    d = [abs(sum(c)) for c in combinations(r.tolist(), len(one))]  # the first way is how it came
    return sum(x >= d[0] - 1e-9 for x in d) / len(d)


def rank_chance_recursive(one, other):
    ranks, n = rankdata([*one, *other]).tolist(), len(one)
    middle = n * (len(ranks) + 1) / 2

    @functools.cache
    def ways(i, left, total):
        if left == 0:
            return int(abs(total - middle) >= abs(sum(ranks[:n]) - middle) - 1e-9)
        if len(ranks) - i < left:
            return 0
        return ways(i + 1, left - 1, total + ranks[i]) + ways(i + 1, left, total)

    return ways(0, n, 0.0) / math.comb(len(ranks), n)


def corrected_by_definition(chances):
    """The largest of (k - how many are before) p over all chances up to this one."""
    p = np.asarray(chances, float)
    place = np.argsort(np.argsort(p, kind="stable"))
    alone = (len(p) - place) * p
    return np.array([min(1.0, max(a for a, at in zip(alone, place, strict=True) if at <= mine)) for mine in place])


def corrected_by_the_inverse_order(chances):
    p = np.asarray(chances, float)
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    return np.clip(raised, 0, 1)[np.argsort(order)]


def corrected_accumulate(chances):
    pairs = sorted((float(p), i) for i, p in enumerate(chances))
    holm = itertools.accumulate((min(1.0, (len(pairs) - at) * p) for at, (p, _) in enumerate(pairs)), max)
    return np.array([value for _, value in sorted(zip((i for _, i in pairs), holm, strict=True))])


def corrected_recursive(chances):
    p = np.array(chances, dtype=float)

    def rest(order, floor):
        if not order:
            return {}
        here = max(floor, min(1.0, len(order) * p[order[0]]))
        return {order[0]: here} | rest(order[1:], here)

    found = rest(np.argsort(p).tolist(), 0.0)
    return np.array([found[i] for i in range(len(p))])


def corrected_in_place(chances):
    p, order = np.sort(chances) * 1.0, np.argsort(chances)
    for i in range(len(p)):
        p[i] *= len(p) - i
        if i and p[i] < p[i - 1]:
            p[i] = p[i - 1]
    p[p > 1] = 1
    out = np.zeros_like(p)
    for i, j in enumerate(order):
        out[j] = p[i]
    return out


def corrected_matrix(chances):
    p = np.asarray(chances, dtype=float)
    alone = p * np.sum(p >= p[:, None], axis=1)
    return np.minimum(1.0, np.where(p[:, None] <= p, alone[:, None], 0.0).max(axis=0))


RIGHT = {
    "rank_chance": r"""
        ranks_by_hand: = rankdata( => = ranks_by_hand(
        numpy: sums = np.array([sum(some) for some in combinations(ranks.tolist(), np.size(one))]) => \
            sums = np.array(list(combinations(ranks, np.size(one)))).sum(axis=1) && float( => (
        the_others: , np.size(one))]) => , np.size(other))]) && [:np.size(one)] => [np.size(one):]
    """,
    "corrected": r"""
        terse: return np.array([min(1, max(q * (np.asarray(chances) >= q).sum() for q in chances if q <= p)) \
            for p in chances])
        defensive: np.asarray(chances, float) => np.array(chances, dtype=float) && found[order] = raised => \
            found[order] = np.maximum(raised, p[order])
    """,
}

WRONG = {
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

EQUAL = {
    "rank_chance": r"""
        above_what_is_close: >= ours => > ours
        exactly: 1e-09 => 0.0
        twice_as_close: 1e-09 => 2e-09
        half_as_close: 1e-09 => 5e-10
    """
}
