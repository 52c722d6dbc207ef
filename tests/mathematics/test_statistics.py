"""Intervals cover as often as they say, on five seeds, too; verdicts are wrong no more often than they may."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minitrpo.reports.statistics import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    Interval,
    difference_interval,
    mean_interval,
    median_interval,
    rank_test,
    ratio_interval,
    steps_to,
    verdict,
)

TRIALS = 2000


def coverage(draw, truth, interval, trials=TRIALS, seed=0):
    rng = np.random.default_rng(seed)
    found = [interval(draw(rng)) for _ in range(trials)]
    return np.mean([low <= truth <= high for _, low, high in found])


def test_students_interval_of_five_seeds_covers_in_95_of_100_cases_and_a_bootstrap_does_not():
    def bootstrap(values):
        rng = np.random.default_rng(int(abs(values[0]) * 1e6) % 2**32)
        means = rng.choice(values, (1000, 5)).mean(axis=1)
        return Interval(values.mean(), *np.quantile(means, [0.025, 0.975]))

    def draw(rng):
        return rng.normal(3, 2, 5)

    assert coverage(draw, 3, mean_interval) == pytest.approx(0.95, abs=0.015)
    assert coverage(draw, 3, bootstrap, 500) < 0.9


def test_welchs_interval_covers_where_spreads_and_numbers_differ():
    rng = np.random.default_rng(1)
    found = [difference_interval(rng.normal(1, 5, 5), rng.normal(0, 1, 8)) for _ in range(TRIALS)]
    assert np.mean([low <= 1 <= high for _, low, high in found]) == pytest.approx(0.95, abs=0.02)


def test_a_ratio_of_seconds_is_covered():
    rng = np.random.default_rng(2)
    found = [ratio_interval(rng.lognormal(1, 0.3, 6), rng.lognormal(0, 0.1, 6)) for _ in range(TRIALS)]
    assert np.mean([low <= np.e <= high for _, low, high in found]) == pytest.approx(0.95, abs=0.02)
    with pytest.raises(ValueError, match="positive"):
        ratio_interval([1.0, 0.0], [1.0, 2.0])


@pytest.mark.parametrize("n", [5, 6, 10, 21])
def test_a_medians_interval_covers_as_often_as_it_says_also_where_runs_never_end(n):
    rng, hits = np.random.default_rng(n), 0
    for _ in range(TRIALS):
        values = rng.lognormal(0, 1, n)
        values[values > 3] = np.inf  # 14 in 100 never get there
        (_, low, high), level = median_interval(values)
        hits += low <= 1 <= high
    assert hits / TRIALS == pytest.approx(level, abs=0.02)
    assert level == pytest.approx(0.9375) if n == 5 else level >= 0.95
    (middle, _, _), _ = median_interval(np.full(n, np.inf))
    assert middle == np.inf


@pytest.mark.parametrize(("n", "level", "k"), [(6, 0.78125, 1), (7, 0.875, 1), (6, 0.7813, 0)])
def test_a_medians_interval_that_covers_just_as_often_as_it_has_to_is_not_made_wider(n, level, k):
    (_, low, high), reached = median_interval(np.arange(n), level)
    assert (low, high) == (k, n - 1 - k)
    assert reached >= level


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.lists(st.integers(0, 9), min_size=2, max_size=6))
def test_the_rank_test_is_exact_with_ties_and_without(one, other):
    """By its definition: over all ways to deal the values out, how often a side has as small a sum of ranks, twice."""
    p = rank_test(one, other)
    assert 0 < p <= 1
    assert p == pytest.approx(rank_test(other, one))
    ranks = stats.rankdata([*one, *other])
    sums = np.array([ranks[list(chosen)].sum() for chosen in combinations(range(len(ranks)), len(one))])
    tails = np.mean(sums <= ranks[: len(one)].sum() + 1e-9), np.mean(sums >= ranks[: len(one)].sum() - 1e-9)
    assert p == pytest.approx(min(1.0, 2 * min(tails)))


def test_runs_that_never_reached_the_goal_are_the_last_in_rank():
    assert rank_test([1, 2, 3, 4, 5], [np.inf] * 5) == pytest.approx(2 / 252)
    assert rank_test([np.inf] * 5, [np.inf] * 5) == 1
    assert rank_test(np.arange(15), np.append(np.arange(14) + 0.5, np.inf)) > 0.5


def test_the_rank_test_raises_no_more_false_alarms_than_it_may():
    rng = np.random.default_rng(3)
    alarms = [rank_test(*np.round(rng.exponential(3, (2, 5)))) <= 0.05 for _ in range(600)]
    assert np.mean(alarms) <= 0.07


def test_steps_to_a_goal_are_those_of_the_first_evaluation_that_reached_it():
    assert steps_to(475, [5000, 10000, 15000], [100, 480, 300]) == 10000
    assert steps_to(475, [5000, 10000], [100, np.nan]) == np.inf


def test_a_verdict_needs_the_whole_interval():
    assert verdict(Interval(3, 2, 4), 1) == HOLDS
    assert verdict(Interval(3, 2, 4), 4) == DOES_NOT_HOLD
    assert verdict(Interval(3, 2, 4), 3) == CANNOT_TELL
    assert verdict(Interval(3, 2, 4), 5, above=False) == HOLDS
    assert verdict(Interval(3, np.nan, np.nan), 1) == CANNOT_TELL
    assert f"{Interval(1.25, 0.5, 2):.2f}" == "1.25 (0.50 to 2.00)"


def test_where_one_side_has_no_spread_the_other_decides_and_nothing_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ratio_interval([400.0, 500.0, 600.0], [7.0, 7.0, 7.0])
    alone = np.log([400.0, 500.0, 600.0]) - np.log(7)
    assert np.log([found.low, found.high]) == pytest.approx(list(mean_interval(alone)[1:]))


def test_equal_numbers_have_no_spread_and_one_number_says_nothing():
    assert mean_interval([2, 2, 2]) == (2, 2, 2)
    assert difference_interval([2, 2], [1, 1]) == (1, 1, 1)
    assert np.isnan(mean_interval([2]).low)
    assert np.isnan(difference_interval([2], [1, 2]).low)
