"""Lecture 05c: right answers in other styles, and wrong ones."""

import itertools
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


RIGHT = {
    "interquartile_mean": r"""
        scipy: return scipy.stats.trim_mean(np.asarray(scores, float), 0.25)
        by_lists: s = sorted(scores)\n    k = int(0.25 * len(s))\n    s = s[k:len(s) - k]\n    return sum(s) / len(s)
    """,
    "probability_of_improvement": r"""
        two_loops: return sum((a > b) + 0.5 * (a == b) for a in one for b in other) / (len(one) * len(other))
        by_signs: return 0.5 + 0.5 * np.sign(np.subtract.outer(np.asarray(one, float), np.asarray(other, float))).mean()
        by_ranks: r = rankdata(np.append(one, other))[:len(one)].sum() - len(one) * (len(one) + 1) / 2\n    return r \
            / (len(one) * len(other))
    """,
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
    "interquartile_mean": r"""
        one_of_each_end: len(ordered) // 4 => 1 if len(ordered) > 2 else 0
        an_eighth: // 4 => // 8
        one_too_many_above: len(ordered) - cut => max(len(ordered) - cut - 1, cut + 1)
    """,
    "probability_of_improvement": r"""
        sorted_pairs: return float(np.mean(np.sort(np.resize(one, len(other))) > np.sort(other)))
        better_than_the_best: return float(np.mean(np.asarray(one) > np.max(other)))
        size_of_the_lead: return float(np.mean(np.subtract.outer(np.asarray(one, float), np.asarray(other, float))))
        rounded: return round(right(one, other), 1)
    """,
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
