"""What lectures 11a and 11b compute besides their exercises, and what lectures say of a few recorded seeds."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, trim_mean

from minitrpo.course.cliff import GOAL, move, walk_the_cliff, way_of
from minitrpo.course.seeds import (
    actors_of,
    collapsed,
    corrected,
    difference_in_words,
    family_of,
    interquartile_mean,
    numbers_of,
    probability_of_improvement,
    rank_chance,
    ratio_in_words,
    steps_in_words,
    steps_to_goal,
)


def test_a_record_of_runs_says_who_collapsed_and_when_the_goal_was_reached(tmp_path):
    rows = ("0.1,0,6000,14.9", "0.1,0,12000,450", "0.1,1,6000,15", "0.1,1,12000,449.9", "0.2,0,6000,500",
            "0.2,1,6000,460")  # fmt: skip
    head = "what,workers,envs,n,step_size,seed,env_steps,score"
    (tmp_path / "actors.csv").write_text("\n".join([head, *("late,4,8,5," + row for row in rows)]))
    sizes = actors_of(tmp_path / "actors.csv")["late", 4, 8, 5]
    assert collapsed(sizes[0.1]) == 1
    best, steps = steps_to_goal(sizes)
    assert (best, steps.tolist()) == (0.2, [6000, 6000])
    assert steps_to_goal({0.1: sizes[0.1]})[1].tolist() == [12000, np.inf]


# --- the cliff


def test_the_cliff_is_that_of_the_book_and_q_has_the_values_of_the_shortest_way():
    assert move(0, 1) == (0, -100.0, False)
    assert move(23, 2) == (GOAL, -1.0, True)
    assert [move(0, action)[0] for action in (0, 2, 3)] == [12, 0, 0]
    assert [move(47, action) for action in (0, 1)] == [(47, -1.0, False)] * 2
    seen = []

    def best(rewards, over, next_q, then):
        seen.append((len(rewards), over))
        return rewards + (0.0 if over else next_q.max())

    q, returns = walk_the_cliff(best, seed=0, steps=20_000, epsilon=0.5)
    np.testing.assert_allclose(q[0, 0], -13.0, atol=1e-3)
    assert returns.max() <= -13.0
    assert way_of(q).tolist() == [0, *range(12, 24), 11]
    assert len(way_of(np.zeros((48, 4)))) == 40  # up, for ever
    seen.clear()
    walk_the_cliff(lambda *a: best(*a) * np.zeros(len(a[0])), seed=0, steps=20_000, epsilon=1.0, n=5)
    assert {length for length, over in seen if not over} == {5}
    assert {length for length, over in seen if over} <= {1, 2, 3, 4, 5}
    assert 20_000 <= sum(length for length, _ in seen) < 20_005


# --- a few seeds


def test_a_record_of_the_family_has_a_number_for_each_seed(tmp_path):
    head = "algorithm,env,seed,env_steps,goal,steps_to_goal,last_return"
    lines = [head, "a2c,CartPole-v1,0,200000,475,5000,480", "a2c,CartPole-v1,1,199000,475,,300"]
    (tmp_path / "family.csv").write_text("\n".join(lines))
    found = numbers_of(tmp_path / "family.csv", "steps_to_goal", "env", "algorithm")["CartPole-v1", "a2c"]
    np.testing.assert_array_equal(found, [5000, np.nan])
    assert numbers_of(tmp_path / "family.csv", "last_return", "algorithm")["a2c"].tolist() == [480, 300]
    runs = family_of(tmp_path / "family.csv")["CartPole-v1", "a2c"]
    assert [each.tolist() for each in runs] == [[5000, np.inf], [480, 300], [200_000, 199_000]]
    assert steps_in_words("a2c", runs).split() == ["a2c", "5,", ">199"]


def test_what_is_said_of_a_few_seeds_goes_no_further_than_their_interval_or_their_ranks():
    ten, one, never = [10, 11, 12, 10, 11], [1, 1.1, 1.2, 1, 1.1], [10, 11, 12, 13, np.inf]
    assert ratio_in_words(ten, one).startswith("10 times")
    assert re.findall(r"[\d.]+", ratio_in_words(never, [1, 2, 3, 4, 5]))[0] == "4"
    assert difference_in_words(ten, one).startswith("9.72, 95 % interval")
    for sure in (ratio_in_words(ten, one), ratio_in_words(never, one), difference_in_words(ten, one)):
        assert "no significant" not in sure
    for unsure in (ratio_in_words([1, 2, 4, 8, 9], [2, 3, 3, 5, 4]), ratio_in_words([1, 2, 12, 13, np.inf], ten),
                   ratio_in_words([6], one), difference_in_words([6], one), difference_in_words(one, one)):  # fmt: skip
        assert "no significant" in unsure


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.lists(st.integers(0, 9), min_size=2, max_size=6))
def test_the_chance_by_ranks_is_scipys_where_nothing_is_tied_and_symmetric_always(one, other):
    assert rank_chance(one, other) == pytest.approx(rank_chance(other, one))
    assert 0 < rank_chance(one, other) <= 1
    apart = np.arange(len(one)) * 2.5, np.arange(len(other)) * 2.0 + 0.3
    chance = pytest.approx(mannwhitneyu(*apart, method="exact").pvalue)
    assert rank_chance(*apart) == chance
    assert rank_chance(apart[0], [*apart[1][:-1], 1e9]) == rank_chance(apart[0], [*apart[1][:-1], np.inf])


def test_many_questions_want_more_of_each():
    assert corrected([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.5, 0.9]).tolist() == pytest.approx([1.0, 1.0])


@settings(max_examples=40)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=20), st.lists(st.integers(-9, 9), min_size=1, max_size=20))
def test_the_two_summaries_of_a_few_runs_are_scipys(one, other):
    assert interquartile_mean(one) == pytest.approx(trim_mean(one, 0.25))
    pairs = mannwhitneyu(one, other).statistic / (len(one) * len(other))
    assert probability_of_improvement(one, other) == pytest.approx(pairs)
    assert probability_of_improvement(one, other) + probability_of_improvement(other, one) == pytest.approx(1)
