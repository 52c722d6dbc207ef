"""What lectures say of a few seeds is what was recorded, and nothing goes beyond the ranks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.family import lines
from minitrpo.course.seeds import corrected, difference_in_words, family_of, rank_chance, ratio_in_words

HEAD = "algorithm,env,seed,env_steps,goal,steps_to_goal,last_return"
RECORDED = Path(__file__).parents[2] / "notebooks" / "recorded"


def written(folder, head, *rows):
    """Return a record with these lines."""
    path = folder / "family.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_a_record_has_a_number_for_each_seed(tmp_path):
    path = written(tmp_path, HEAD, "a2c,CartPole-v1,0,200000,475,5000,480", "a2c,CartPole-v1,1,199000,475,,300")
    runs = family_of(path)["CartPole-v1", "a2c"]
    assert runs.steps.tolist() == [5000, np.inf]
    assert runs.last.tolist() == [480, 300]
    assert runs.lengths.tolist() == [200_000, 199_000]


def test_the_lectures_show_what_is_recorded_of_the_family():
    told = {(task, name): runs.steps.tolist() for (task, name), runs in family_of(RECORDED / "family.csv").items()}
    for line in lines():
        task = line["env"].rpartition(":")[2]
        steps = told.pop((task, line["algorithm"]))
        assert len(steps) == line["seeds"]
        assert np.isfinite(steps).sum() == (line["reached"] or 0)
    assert not told


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


def test_a_single_run_has_no_interval():
    assert ratio_in_words([6], [2, 3, 4]).endswith("(a single run has no interval: cannot tell it from 1)")
    assert difference_in_words([6], [2, 3, 4]) == "3 (a single run has no interval: cannot tell it from 0)"


def test_many_questions_want_more_of_each():
    assert corrected([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.5, 0.9]).tolist() == pytest.approx([1.0, 1.0])
    assert corrected([0.02]).tolist() == [0.02]


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
