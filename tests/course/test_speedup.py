"""Speed-up: the laws against jobs timed piece by piece, intervals against the truth, and the command."""

import csv
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import run
from scipy.stats import bootstrap

from minitrpo.course.speedup.experiment import by_turns, compared
from minitrpo.course.speedup.statistics import (
    amdahl,
    efficiency,
    interval,
    karp_flatt,
    speedup,
    speedup_interval,
    speedup_interval_of_rounds,
)  # fmt: skip
from minitrpo.parallel import this_process as module
from minitrpo.parallel.this_process import cores


@given(st.floats(0.0, 100.0), st.floats(0.01, 100.0), st.integers(2, 10_000))
def test_the_laws_are_jobs_timed_piece_by_piece(serial_s, parallel_s, ranks):
    alone = serial_s + parallel_s
    fraction = serial_s / alone
    factor = amdahl(fraction, ranks)
    assert factor == pytest.approx(alone / (serial_s + parallel_s / ranks))
    assert karp_flatt(factor, ranks) == pytest.approx(fraction, abs=1e-9)
    assert karp_flatt(np.array([factor]), np.array([ranks])) == pytest.approx(fraction, abs=1e-9)


@pytest.mark.parametrize("n", [2, 15, 16])
def test_the_interval_is_scipys_up_to_the_luck_of_the_draw_and_moves_with_the_data(n):
    samples = np.random.default_rng(n).gamma(3.0, 0.1, n)
    scipys = bootstrap((samples,), np.median, confidence_level=0.9, n_resamples=9999, method="percentile", rng=1)
    ordered = np.sort(samples)  # ends may differ by the step to a neighbouring measurement
    for own, theirs in zip(interval(samples, 0.9, resamples=9999), scipys.confidence_interval, strict=True):
        assert abs(np.searchsorted(ordered, own) - np.searchsorted(ordered, theirs)) <= 1
    assert interval(1000 * samples) == pytest.approx(tuple(1000 * end for end in interval(list(samples))))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, truth = np.random.default_rng(0), np.log(2.0)  # the median of an exponential
    ends = np.array([interval(rng.exponential(size=25), resamples=400, seed=i) for i in range(400)])
    assert 0.91 < np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) < 0.99
    for refused in (lambda: interval([1.0]), lambda: karp_flatt(1.0, 1)):
        with pytest.raises(ValueError, match="at least 2"):
            refused()


def test_a_speed_up_is_a_ratio_of_medians_with_its_interval():
    assert speedup([2.0, 100.0, 4.0], [1.0, 2.0, 50.0]) == 2.0
    assert efficiency(3.0, 4) == 0.75
    rng = np.random.default_rng(0)
    alone, together = rng.normal(4.0, 0.1, 15), rng.normal(2.0, 0.05, 12)
    low, high = speedup_interval(alone, together)
    assert 1.9 < low < speedup(alone, together) < high < 2.1
    wider = speedup_interval(alone, together, 0.99)
    assert wider[0] < low < high < wider[1]
    found = compared(alone, together, 4)
    assert found == {"speedup": speedup(alone, together), "speedup_interval": (low, high),
                     "efficiency": found["speedup"] / 4, "karp_flatt": karp_flatt(found["speedup"], 4)}  # fmt: skip
    assert list(compared(alone, alone, 1).values()) == [1.0, (1.0, 1.0), 1.0, None]


def test_an_interval_over_rounds_covers_where_updates_of_a_run_resemble_each_other():
    """Three quarters of the variance are between runs: intervals that take updates as independent are too narrow."""
    rng, covered = np.random.default_rng(0), np.zeros((300, 2), bool)
    for row in covered:
        shared, rest = rng.normal(0.0, 0.05, (2, 4, 1)), rng.normal(0.0, 0.03, (2, 4, 4))
        alone, together = np.exp(shared + rest)  # the true speed-up is 1
        for place, (low, high) in enumerate(
            (speedup_interval(alone.ravel(), together.ravel()), speedup_interval_of_rounds(alone, together))
        ):
            row[place] = low <= 1 <= high
    by_updates, by_rounds = covered.mean(axis=0)
    assert by_updates < 0.85
    assert 0.92 < by_rounds < 0.985
    with pytest.raises(ValueError, match="at least 2 rounds"):
        speedup_interval_of_rounds([[1.0, 2.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        speedup_interval_of_rounds([[1.0], [2.0]], [[1.0], [2.0], [3.0]])


@given(st.integers(1, 4), st.integers(1, 5))
def test_after_an_even_number_of_rounds_a_drift_has_hit_all_alike(pairs, keys):
    places = Counter()
    for place, (_, key) in enumerate(by_turns(2 * pairs, range(keys))):
        places[key] += place
    assert len(set(places.values())) == 1


def test_a_containers_quota_counts_as_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUOTA", tmp_path / "cpu.max")
    without = cores()
    for text, most in (("100000 100000", 1), ("max 100000", without), ("250", without), ("1 100000", 1)):
        (tmp_path / "cpu.max").write_text(text + "\n")
        assert cores() == min(without, most)


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("weak", [[], ["--weak"]])
def test_the_command_leaves_a_table_a_json_and_a_picture(tmp_path, weak):
    small = ("--env", "Reacher-v5", "--steps-per-update", 400, "--updates", 2, "--rounds", 1, "--ranks", "1,2", *weak)
    outcome = run("speedup.py", *small, "--out", tmp_path / "new", "--", "--critic", "linear", "--oversubscribe")
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    rows = list(csv.DictReader((tmp_path / "new" / "speedup.csv").open()))
    assert {(row["ranks"], row["steps"]) for row in rows} == {("1", "400"), ("2", "800" if weak else "400")}
    assert {row["update"] for row in rows} == {"2", "3"}, "the first update is warm-up"
    for row in rows:
        assert sum(float(row[p]) for p in ("collect_s", "wait_s", "gather_s", "update_s")) <= float(row["iteration_s"])
    first, last = json.loads((tmp_path / "new" / "speedup.json").read_text())["summary"]
    ratio = first["median_iteration_s"] / last["median_iteration_s"]
    assert (first["speedup"], last["speedup"]) == (1.0, pytest.approx(2 * ratio if weak else ratio))
    assert last["efficiency"] == pytest.approx(last["speedup"] / 2)
    assert last["karp_flatt"] == (None if weak else pytest.approx(karp_flatt(last["speedup"], 2)))
    assert last["oversubscribed"] == (cores() < 2)
    assert (tmp_path / "new" / "speedup.png").read_bytes().startswith(b"\x89PNG")


def test_bad_input_is_one_line_exit_code_2_and_writes_nothing(tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    for words, said in (
        (("--ranks", "2,4"), "--ranks"),
        (("--ranks", "1,x"), "--ranks"),
        (("--ranks", "0,1"), "--ranks"),
        (("--env", "Reachr-v5"), "Reacher-v5"),
        (("--updates", "0"), "--updates"),
        (("--warm-up", "-1"), "--warm-up"),
        (("--updates", "1", "--rounds", "1"), "--rounds"),
        (("--", "--out", "x"), "--out"),
        (("--", "--max-kl", "-1"), "--max-kl"),
        (("--out", "full"), "full"),
    ):
        done = run("speedup.py", *words, cwd=tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert said in done.err
        assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")] == ["full", "full/thesis.txt"]
    monkeypatch.setenv("PMI_RANK", "0")
    assert run("speedup.py").code == 2, "under mpiexec it says that it starts that itself"
