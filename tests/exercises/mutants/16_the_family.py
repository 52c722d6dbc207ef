"""Lecture 16: right answers in other styles, and wrong ones, most of them as edits of the package."""

from itertools import combinations
from math import comb

import numpy as np
from scipy.stats import rankdata


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


def by_u(one, other):
    """Mann and Whitney's way: how many pairs has `one` won?"""
    both, n = np.append(one, other).astype(float), np.size(one)

    def won(some):
        mine, theirs = both[list(some)], np.delete(both, list(some))
        return np.sum(mine[:, None] > theirs) + 0.5 * np.sum(mine[:, None] == theirs)

    middle = n * np.size(other) / 2
    ours = abs(won(range(n)) - middle)
    return sum(abs(won(some) - middle) >= ours for some in combinations(range(len(both)), n)) / comb(len(both), n)


def in_arrays(one, other):
    one, other = np.asarray(one, float), np.asarray(other, float)
    ranks = rankdata(np.concatenate([one, other]))
    sums = ranks[np.array(list(combinations(range(len(ranks)), len(one))))].sum(axis=1)
    apart = np.abs(sums - len(one) * ranks.mean())
    return np.mean(apart > apart[0] - 1e-6)


def in_a_loop(chances):
    p = [float(x) for x in chances]
    found, largest = np.zeros(len(p)), 0.0
    for done, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - done) * p[i]))
        found[i] = largest
    return found


def by_the_inverse_order(chances):
    p = np.asarray(chances, float)
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    return np.clip(raised, 0, 1)[np.argsort(order)]


def by_definition(chances):
    """The largest of (k - how many are before) p over all chances up to this one."""
    p = np.asarray(chances, float)
    places = np.empty(len(p), int)
    places[np.argsort(p, kind="stable")] = np.arange(len(p))
    return np.array([min(1.0, max((len(p) - places[j]) * p[j] for j in range(len(p)) if places[j] <= places[i]))
                     for i in range(len(p))])  # fmt: skip


RIGHT = {"rank_chance": [by_u, in_arrays, by_counting], "corrected": [in_a_loop, by_the_inverse_order, by_definition]}

EDITS = {
    "rank_chance": r"""
        a_thousand_shuffles: sums = np.array([sum(some) for some in combinations(ranks.tolist(), np.size(one))]) => \
            rng, n = np.random.default_rng(0), np.size(one)\n    sums = np.array([rng.permutation(ranks)[:n].sum() \
            for _ in range(1000)])
        other_side_only: apart >= ours => sums >= ranks[:np.size(one)].sum()
        as_far_exactly: apart >= ours - 1e-09)) => np.isclose(apart, ours)))
        values_for_ranks: ranks = rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => ranks = \
            np.minimum(np.append(one, other), 1e9)
        dense_ranks: [*np.asarray(one).tolist(), *np.asarray(other).tolist()] => [*np.asarray(one).tolist(), \
            *np.asarray(other).tolist()], method='dense'
        largest_of_equal_ranks: [*np.asarray(one).tolist(), *np.asarray(other).tolist()] => \
            [*np.asarray(one).tolist(), *np.asarray(other).tolist()], method='max'
        ranks_within_each_group: ranks = rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => ranks \
            = np.append(rankdata(one), rankdata(other))
        order_for_ranks: ranks = rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => ranks = \
            np.argsort(np.append(one, other)) + 1.0
        those_that_arrive_only: ranks = rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()]) => ranks = \
            np.nan_to_num(rankdata(np.append(one, other)) * np.isfinite(np.append(one, other)))
        half_of_them: (ranks.tolist(), np.size(one)) => (ranks.tolist(), (np.size(one) + np.size(other)) // 2)
        first_choices_only: [sum(some) for some in combinations(ranks.tolist(), np.size(one))] => [sum(some) for some \
            in combinations(ranks.tolist(), np.size(one))][:200]
        squares_against_distance: np.abs => && )), => )) ** 2,
    """,
    "corrected": r"""
        sidak: raised = p[order] * np.arange(len(p), 0, -1) => raised = 1 - (1 - p[order]) ** np.arange(len(p), 0, -1)
        factors_from_k_minus_1: = p[order] * np.arange(len(p), 0, -1) => = p[order] * np.arange(len(p) - 1, -1, -1)
        factors_to_2: raised = p[order] * np.arange(len(p), 0, -1) => raised = p[order] * np.arange(len(p) + 1, 1, -1)
        maximum_of_two_neighbours: np.maximum.accumulate(raised), => np.maximum(raised, np.append(0.0, raised)[:-1]),
        capped_at_a_half: (np.maximum.accumulate(raised), 1.0) => (np.maximum.accumulate(raised), 0.5)
        in_reverse: found[order] = raised => found[order[::-1]] = raised
        largest_first: order = np.argsort(p) => order = np.argsort(-p)
        not_sorted: order = np.argsort(p) => order = np.arange(len(p))
        not_corrected: raised = p[order] * np.arange(len(p), 0, -1) => raised = p[order]
        divided: raised = p[order] * np.arange(len(p), 0, -1) => raised = p[order] / np.arange(len(p), 0, -1)
        only_the_smallest: p[order] * np.arange(len(p), 0, -1) => p[order] * np.where(np.arange(len(p)) == 0, len(p), 1)
        stops_at_5_per_cent: found[order] = raised => found[order] = np.where(np.cumsum(raised > 0.05) > 0, 1.0, raised)
        verdicts: found[order] = raised => found[order] = raised < 0.05
    """,
}
