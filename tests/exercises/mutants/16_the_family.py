"""Wrong answers to the exercises of lecture 16, mostly edits of the right source, and right ones in other styles."""

from itertools import combinations
from math import comb

import numpy as np
from scipy.stats import rankdata

# ---- rank_chance

RANKS = "ranks = rankdata([*np.asarray(one).tolist(), *np.asarray(other).tolist()])"
SUMS = "sums = np.array([sum(some) for some in combinations(ranks.tolist(), np.size(one))])"
APART = "apart, ours = np.abs(sums - sums.mean()), abs(ranks[: np.size(one)].sum() - sums.mean())"
SHARE = "float(np.mean(apart >= ours - 1e-9))"

CHANCE = {
    "strictly_further": ((SHARE, SHARE.replace(">= ours - 1e-9", "> ours + 1e-9")),),
    "one_sided": ((SHARE, "float(np.mean(sums <= ranks[: np.size(one)].sum() + 1e-9))"),),
    "other_side_only": ((SHARE, "float(np.mean(sums >= ranks[: np.size(one)].sum() - 1e-9))"),),
    "smaller_side_not_doubled": (
        (SHARE, "float(min(np.mean(sums <= sums[0] + 1e-9), np.mean(sums >= sums[0] - 1e-9)))"),
    ),
    "nearer": ((SHARE, SHARE.replace(">= ours - 1e-9", "<= ours + 1e-9")),),
    "as_far_exactly": ((SHARE, "float(np.mean(np.isclose(apart, ours)))"),),
    "a_count": ((SHARE, SHARE.replace("np.mean", "np.sum")),),
    "its_complement": ((SHARE, f"1 - {SHARE}"),),
    "per_cent": ((SHARE, f"100 * {SHARE}"),),
    "ours_twice": ((SHARE, "float((np.sum(apart >= ours - 1e-9) + 1) / (len(sums) + 1))"),),
    "values_for_ranks": ((RANKS, "ranks = np.minimum(np.append(one, other), 1e9)"),),
    "ordinal_ranks": ((RANKS, RANKS.replace("()])", "()], method='ordinal')")),),
    "dense_ranks": ((RANKS, RANKS.replace("()])", "()], method='dense')")),),
    "largest_of_equal_ranks": ((RANKS, RANKS.replace("()])", "()], method='max')")),),
    "ranks_within_each_group": ((RANKS, "ranks = np.append(rankdata(one), rankdata(other))"),),
    "order_for_ranks": ((RANKS, "ranks = np.argsort(np.append(one, other)) + 1.0"),),
    "those_that_arrive_only": (
        (RANKS, "ranks = np.nan_to_num(rankdata(np.append(one, other)) * np.isfinite(np.append(one, other)))"),
    ),
    "groups_exchanged_in_size": ((SUMS, SUMS.replace("np.size(one)", "np.size(other)")),),
    "half_of_them": ((SUMS, SUMS.replace("np.size(one)", "(np.size(one) + np.size(other)) // 2")),),
    "means_beside_sums": ((SUMS, SUMS.replace("sum(some)", "sum(some) / len(some)")),),
    "first_choices_only": ((SUMS, SUMS.replace("])", "][:200])")),),
    "middle_of_the_ranks": ((APART, APART.replace(".sum() - sums.mean()", ".sum() - ranks.mean()")),),
    "squares_against_distance": ((APART, APART.replace("np.abs(sums - sums.mean())", "(sums - sums.mean()) ** 2")),),
    "distance_from_the_least": ((APART, APART.replace("sums.mean()", "sums.min()")),),
    "sum_of_the_other": ((APART, APART.replace("ranks[: np.size(one)]", "ranks[np.size(one) :]")),),
}  # fmt: skip


def normal_approximation(one, other):
    """Good for many runs, and not for five."""
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(one, other, method="asymptotic", use_continuity=False).pvalue)


def a_thousand_shuffles(one, other):
    rng, both = np.random.default_rng(0), rankdata(np.append(one, other))
    middle, n = both.mean() * np.size(one), np.size(one)
    found = [abs(rng.permutation(both)[:n].sum() - middle) for _ in range(1000)]
    return float(np.mean(np.array(found) >= abs(both[:n].sum() - middle) - 1e-9))


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


# ---- corrected

ORDER, TIMES = "order = np.argsort(p)", "raised = p[order] * np.arange(len(p), 0, -1)"
RUNNING, BACK = "np.minimum(np.maximum.accumulate(raised), 1.0)", "found[order] = raised"

CORRECTED = {
    "bonferroni": ((TIMES, "raised = p[order] * len(p)"),),
    "hochberg": (
        (TIMES, "raised = p[order] * np.arange(len(p), 0, -1)"),
        (RUNNING, "np.minimum.accumulate(np.minimum(raised, 1.0)[::-1])[::-1]"),
    ),
    "benjamini_hochberg": (
        (TIMES, "raised = p[order] * len(p) / np.arange(1, len(p) + 1)"),
        (RUNNING, "np.minimum.accumulate(np.minimum(raised, 1.0)[::-1])[::-1]"),
    ),
    "sidak": ((TIMES, "raised = 1 - (1 - p[order]) ** np.arange(len(p), 0, -1)"),),
    "factors_upside_down": ((TIMES, "raised = p[order] * np.arange(1, len(p) + 1)"),),
    "factors_from_k_minus_1": ((TIMES, "raised = p[order] * np.arange(len(p) - 1, -1, -1)"),),
    "factors_to_2": ((TIMES, "raised = p[order] * np.arange(len(p) + 1, 1, -1)"),),
    "no_running_maximum": ((RUNNING, "np.minimum(raised, 1.0)"),),
    "running_minimum": ((RUNNING, "np.minimum(np.minimum.accumulate(raised), 1.0)"),),
    "maximum_of_two_neighbours": ((RUNNING, "np.minimum(np.maximum(raised, np.append(0.0, raised)[:-1]), 1.0)"),),
    "no_cap": ((RUNNING, "np.maximum.accumulate(raised)"),),
    "capped_at_a_half": ((RUNNING, RUNNING.replace("1.0", "0.5")),),
    "left_sorted": ((BACK, "found[:] = raised"),),
    "gathered": ((BACK, "found[:] = raised[order]"),),
    "in_reverse": ((BACK, "found[order[::-1]] = raised"),),
    "largest_first": ((ORDER, "order = np.argsort(-p)"),),
    "not_sorted": ((ORDER, "order = np.arange(len(p))"),),
    "not_corrected": ((TIMES, "raised = p[order]"),),
    "divided": ((TIMES, "raised = p[order] / np.arange(len(p), 0, -1)"),),
    "only_the_smallest": ((TIMES, "raised = p[order] * np.where(np.arange(len(p)) == 0, len(p), 1)"),),
    "stops_at_5_per_cent": ((BACK, "found[order] = np.where(np.cumsum(raised > 0.05) > 0, 1.0, raised)"),),
    "equal_ones_share_a_factor": (
        (TIMES, "raised = p[order] * np.array([np.sum(p > x) + 1 for x in p[order]])"),
        (RUNNING, "np.minimum(raised, 1.0)"),
    ),
    "verdicts": ((BACK, "found[order] = raised < 0.05"),),
}  # fmt: skip


def by_sum_of_the_rest(chances):
    """The factor counts those that are larger, and forgets the chance itself."""
    p = np.asarray(chances, float)
    return np.minimum([x * max(np.sum(p > x), 1) for x in p.tolist()], 1.0)


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


WRONG = {"rank_chance": [normal_approximation, a_thousand_shuffles], "corrected": [by_sum_of_the_rest]}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    name: {what: tuple(text for change in changes for text in change) for what, changes in edits.items()}
    for name, edits in (("rank_chance", CHANCE), ("corrected", CORRECTED))
}

RIGHT = {"rank_chance": [by_u, in_arrays, by_counting], "corrected": [in_a_loop, by_the_inverse_order, by_definition]}
