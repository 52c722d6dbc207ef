"""What lectures say of a few seeds: the window of a log is told from learning; nothing goes beyond the ranks."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from minitrpo.course.seeds import corrected, difference_in_words, family_of, rank_chance, ratio_in_words

HEAD = "algorithm,env,seed,env_steps,goal,steps_to_goal,last_return"
RECORDED = Path(__file__).parent.parent / "notebooks" / "recorded"


def written(folder, head, *rows):
    """Return a record with these lines."""
    path = folder / "family.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_the_logs_window_holds_steps_of_its_own(tmp_path):
    path = written(tmp_path, HEAD, "naf,Pendulum-v1,0,40000,-250,21600,-160", "a2c,CartPole-v1,0,200000,475,,300")
    runs = family_of(path)
    assert runs["Pendulum-v1", "naf"].floor == 100 * 200
    assert runs["Pendulum-v1", "naf"].before.tolist() == [1600]
    assert runs["CartPole-v1", "a2c"].floor == 100 * 475  # a step pays 1
    assert runs["CartPole-v1", "a2c"].before.tolist() == [np.inf]


def test_fresh_episodes_have_no_window(tmp_path):
    path = written(tmp_path, f"{HEAD},fresh", "naf,Pendulum-v1,0,40000,-250,5000,-160,1")
    assert family_of(path)["Pendulum-v1", "naf"].before.tolist() == [5000]


@pytest.mark.parametrize("lecture", [11, 12, 13, 14])
def test_no_recorded_run_arrives_before_its_window_is_full(lecture):
    for (env, name), runs in family_of(RECORDED / f"{lecture}_family.csv").items():
        assert np.isnan(runs.floor) or np.all(runs.before > 0), f"{name} on {env}"


def test_a_ratio_is_told_by_welch_or_by_ranks():
    assert ratio_in_words([10, 11, 12, 10, 11], [1, 1.1, 1.2, 1, 1.1]) == "10 times, 95 % interval 8.94 to 11.2"
    assert ratio_in_words([1, 2, 4, 8, 9], [2, 3, 3, 5, 4]).endswith("; cannot tell it from 1")
    far = ratio_in_words([10, 11, 12, 13, np.inf], [1, 2, 3, 4, 5])
    assert far == "4 times by the medians (a run never arrives; ranks: p = 0.0079)"
    assert ratio_in_words([1, 2, 12, 13, np.inf], [1, 2, 3, 4, 5]).endswith("cannot tell it from 1")


def test_a_difference_has_welchs_interval():
    # lecture 12: the percentile bootstrap of five said 28 to 110 where Welch says 4 to 131 of such numbers
    assert difference_in_words([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]).endswith("cannot tell it from 0")
    assert difference_in_words([11, 12, 13, 14, 15], [1, 2, 3, 4, 5]) == "10, 95 % interval 7.69 to 12.3"


def test_many_questions_want_more_of_each():
    assert corrected([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.5, 0.9]).tolist() == pytest.approx([1.0, 1.0])
    assert corrected([0.02]).tolist() == [0.02]


def test_a_record_takes_fresh_episodes_where_there_are_some(monkeypatch):
    monkeypatch.syspath_prepend(str(RECORDED))
    outcome = importlib.import_module("family_runs").outcome
    run = {"curve": [[100, 20.0], [200, 450.0]], "clock": [[1.0, 20.0], [2.0, 450.0]]}
    of_window = {"steps_to_goal": 200, "seconds_to_goal": 2.0, "last_return": 450.0, "fresh": 0}
    assert outcome(run, 400) == of_window
    assert outcome(run, 475)["steps_to_goal"] == ""
    assert outcome(run, None)["steps_to_goal"] == ""
    judged = outcome(run | {"fresh": [[50, 0.5, 410.0], [150, 1.5, 90.0]], "final": 470.0}, 400)
    assert judged == {"steps_to_goal": 50, "seconds_to_goal": 0.5, "last_return": 470.0, "fresh": 1}


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.lists(st.integers(0, 9), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_the_chance_by_ranks_is_scipys_where_nothing_is_tied_and_symmetric_always(one, other):
    chance = rank_chance(one, other)
    assert chance == pytest.approx(rank_chance(other, one))
    assert 0 < chance <= 1
    apart = np.arange(len(one)) * 2.5, np.arange(len(other)) * 2.0 + 0.3
    assert rank_chance(*apart) == pytest.approx(mannwhitneyu(*apart, method="exact").pvalue)


def test_a_run_that_never_arrives_is_the_last_one():
    assert rank_chance([1.0, 2.0], [3.0, np.inf]) == rank_chance([1.0, 2.0], [3.0, 4.0]) == pytest.approx(1 / 3)
    assert rank_chance([np.inf] * 3, [np.inf] * 3) == 1.0
