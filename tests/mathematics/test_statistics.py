"""Intervals against their formulas, and how often they cover; exact ranks; a verdict needs the whole interval."""

import warnings
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from minitrpo.course.statistics import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    Interval,
    difference_interval,
    half_interval,
    iqm,
    mean_interval,
    median_interval,
    rank_test,
    ratio_interval,
    steps_to,
    verdict,
)

QUICK = settings(max_examples=25)
FEW = st.lists(st.integers(0, 9), min_size=2, max_size=6)
SPREAD = st.lists(st.floats(0.1, 100), min_size=2, max_size=8, unique=True)


def test_students_interval_of_five_seeds_covers_in_95_of_100_cases_and_a_bootstrap_does_not():
    rng = np.random.default_rng(0)
    values = rng.normal(3, 2, (5, 20_000))
    assert np.mean(np.abs(values.mean(axis=0) - 3) <= half_interval(values)) == pytest.approx(0.95, abs=0.005)
    means = values[rng.integers(5, size=(5, 200)), :2000].mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    assert np.mean((low <= 3) & (high >= 3)) < 0.9


@given(SPREAD, SPREAD, st.sampled_from([0.8, 0.95]))
@QUICK
def test_intervals_are_students_and_welchs_and_of_a_ratio_those_of_the_logarithms(one, other, level):
    """Welch's by his formulas: spreads and numbers may differ."""
    half = stats.t.ppf((1 + level) / 2, len(one) - 1) * stats.sem(one)
    assert mean_interval(one, level) == pytest.approx((np.mean(one), np.mean(one) - half, np.mean(one) + half))

    def welch(one, other):
        a, b = (np.var(x, ddof=1) / len(x) for x in (one, other))
        freedom = (a + b) ** 2 / (a**2 / (len(one) - 1) + b**2 / (len(other) - 1))
        middle, half = np.mean(one) - np.mean(other), stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(a + b)
        return np.array([middle, middle - half, middle + half])

    assert difference_interval(one, other, level) == pytest.approx(welch(one, other), rel=1e-6, abs=1e-6)
    expected = np.exp(welch(np.log(one), np.log(other)))
    assert ratio_interval(one, other, level) == pytest.approx(expected, rel=1e-5)


def test_without_a_spread_an_interval_is_a_point_and_one_number_says_nothing():
    assert mean_interval([2, 2, 2]) == (2, 2, 2)
    assert difference_interval([2, 2], [1, 1]) == (1, 1, 1)
    assert np.isnan(mean_interval([2]).low)
    assert np.isnan(difference_interval([2], [1, 2]).low)
    with warnings.catch_warnings():  # where one side has none the other decides, and nothing is warned of
        warnings.simplefilter("error")
        found = ratio_interval([400.0, 500.0, 600.0], [7.0, 7.0, 7.0])
    alone = mean_interval(np.log([400.0, 500.0, 600.0]) - np.log(7))
    assert np.log([found.low, found.high]) == pytest.approx([alone.low, alone.high])
    with pytest.raises(ValueError, match="positive"):
        ratio_interval([1.0, 0.0], [1.0, 2.0])


@pytest.mark.parametrize("level", [0.78125, 0.95])  # the first is reached exactly by six values
@pytest.mark.parametrize("n", [1, 4, 5, 6, 10, 21])
def test_a_medians_interval_is_the_narrowest_that_covers_as_often_as_it_says(n, level):
    """Exact: k values of n lie below the median in comb(n, k) of 2^n cases. Where no interval will do: the widest."""

    def covers(cut):
        return sum(comb(n, k) for k in range(cut + 1, n - cut)) / 2**n

    (middle, low, high), reached = median_interval(np.arange(n)[::-1], level)
    assert (middle, high) == ((n - 1) / 2, n - 1 - low)
    assert reached == pytest.approx(covers(int(low)))
    assert low == 0 or reached >= level
    assert low + 1 > (n - 1) // 2 or covers(int(low) + 1) < level


def test_the_median_of_runs_of_which_some_never_end():
    assert median_interval([3, np.inf, 1, np.inf, np.inf])[0] == (np.inf, 1, np.inf)
    assert median_interval([3, 1, np.inf, 2])[0] == (2.5, 1, np.inf)
    assert median_interval(np.full(4, np.inf))[0] == (np.inf,) * 3


@given(FEW, FEW)
@QUICK
def test_the_rank_test_is_exact_with_ties_and_without(one, other):
    """By its definition: over all ways to deal the values out, how often a side has as small a sum of ranks, twice."""
    p = rank_test(one, other)
    assert p == pytest.approx(rank_test(other, one))
    ranks = stats.rankdata([*one, *other])
    sums = np.array([ranks[list(chosen)].sum() for chosen in combinations(range(len(ranks)), len(one))])
    tails = np.mean(sums <= ranks[: len(one)].sum() + 1e-9), np.mean(sums >= ranks[: len(one)].sum() - 1e-9)
    assert p == pytest.approx(min(1.0, 2 * min(tails)))


def test_the_rank_test_of_many_values_and_of_runs_that_never_reached_the_goal():
    assert rank_test([1, 2, 3, 4, 5], [np.inf] * 5) == pytest.approx(2 / 252)
    assert rank_test([np.inf] * 5, [np.inf] * 5) == 1
    assert rank_test(np.arange(15), np.append(np.arange(14) + 0.5, np.inf)) > 0.5
    rng = np.random.default_rng(0)  # many, with ties: against 5,000 of all ways to deal them out
    one, other = rng.integers(0, 6, 20), rng.integers(1, 7, 20)
    ranks = stats.rankdata([*one, *other])
    dealt = np.array([rng.permutation(ranks)[:20].sum() for _ in range(5000)])
    expected = 2 * np.mean(dealt <= ranks[:20].sum())
    assert rank_test(one, other) == pytest.approx(expected, abs=4 * np.sqrt(expected / 2500))


def test_steps_to_a_goal_are_those_of_the_first_evaluation_that_reached_it():
    assert steps_to(475, [5000, 10000, 15000], [100, 480, 475]) == 10000
    assert steps_to(475, [5000, 10000], [475, 480]) == 5000
    assert steps_to(475, [5000, 10000], [100, np.nan]) == np.inf


def test_a_verdict_needs_the_whole_interval():
    for claimed, above, below in (
        (1, HOLDS, DOES_NOT_HOLD),
        (2, CANNOT_TELL, DOES_NOT_HOLD),
        (3, CANNOT_TELL, CANNOT_TELL),
        (4, DOES_NOT_HOLD, CANNOT_TELL),
        (5, DOES_NOT_HOLD, HOLDS),
    ):
        assert verdict(Interval(3, 2, 4), claimed) == above
        assert verdict(Interval(3, 2, 4), claimed, above=False) == below
    assert verdict(Interval(3, np.nan, np.nan), 1) == verdict(Interval(3, np.nan, 4), 1) == CANNOT_TELL
    assert f"{Interval(1.25, 0.5, 2):.2f}" == "1.25 (0.50 to 2.00)"


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_interquartile_mean_is_scipys_trimmed_mean(n, columns, seed):
    scores = np.random.default_rng(seed).standard_normal((n, columns)).round(1)  # with ties
    for axis in (0, 1):
        np.testing.assert_array_equal(iqm(scores, axis=axis), stats.trim_mean(scores, 0.25, axis=axis))
