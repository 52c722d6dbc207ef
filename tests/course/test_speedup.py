"""Speed-up: the laws against jobs timed piece by piece, intervals against scipy and against the truth, the script."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import run
from scipy.stats import bootstrap

from minitrpo.course.speedup.statistics import (
    amdahl,
    efficiency,
    gustafson,
    interval,
    karp_flatt,
    speedup,
    speedup_interval,
)
from minitrpo.parallel import cores as module
from minitrpo.parallel.cores import cores

fractions = st.floats(0.0, 1.0)
several = st.integers(2, 10_000)


def test_a_speed_up_is_a_ratio_of_medians():
    assert speedup([2.0, 100.0, 4.0], [1.0, 2.0, 50.0]) == 2.0
    assert speedup(3.0, 1.5) == 2.0
    assert efficiency(3.0, 4) == 0.75


@given(serial_s=st.floats(0.0, 100.0), parallel_s=st.floats(0.01, 100.0), ranks=several)
def test_amdahl_is_a_fixed_job_timed_piece_by_piece(serial_s, parallel_s, ranks):
    alone = serial_s + parallel_s
    assert amdahl(serial_s / alone, ranks) == pytest.approx(alone / (serial_s + parallel_s / ranks))


@given(serial_s=st.floats(0.0, 100.0), each_s=st.floats(0.01, 100.0), ranks=several)
def test_gustafson_is_a_growing_job_timed_piece_by_piece(serial_s, each_s, ranks):
    together = serial_s + each_s
    assert gustafson(serial_s / together, ranks) == pytest.approx((serial_s + ranks * each_s) / together)


@given(fraction=fractions, ranks=several)
def test_the_two_laws_agree_when_each_gets_its_own_fraction(fraction, ranks):
    fraction_on_all = fraction / (fraction + (1 - fraction) / ranks)
    assert gustafson(fraction_on_all, ranks) == pytest.approx(amdahl(fraction, ranks))


@given(fraction=fractions, ranks=several)
def test_no_law_beats_the_ideal_and_more_ranks_never_hurt(fraction, ranks):
    for law in (amdahl, gustafson):
        assert 1 - 1e-12 <= law(fraction, ranks) <= ranks * (1 + 1e-12)
        assert law(fraction, ranks) <= law(fraction, ranks + 1) * (1 + 1e-12)
    assert fraction == 0 or amdahl(fraction, ranks) <= 1 / fraction * (1 + 1e-12)


@given(fraction=fractions, ranks=st.lists(several, min_size=1, max_size=8))
def test_karp_flatt_finds_the_fraction_that_was_planted(fraction, ranks):
    ranks = np.array(ranks)
    np.testing.assert_allclose(karp_flatt(amdahl(fraction, ranks), ranks), fraction, atol=1e-9)


def test_karp_flatt_says_what_is_not_amdahls():
    assert karp_flatt(5.0, 4) < 0 < karp_flatt(3.9, 4)
    assert karp_flatt(0.5, 4) > 1
    threads = np.arange(2, 9)
    fractions_of_a_ceiling = karp_flatt(np.minimum(threads, 3.5), threads)
    assert np.all(np.diff(fractions_of_a_ceiling[1:]) > 0)


@pytest.mark.parametrize("ranks", [1, 0, np.array([1]), np.array([1, 2])])
def test_karp_flatt_needs_two_ranks(ranks):
    with pytest.raises(ValueError, match="at least 2"):
        karp_flatt(1.0, ranks)


@pytest.mark.parametrize("n", [2, 5, 15, 16, 101])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_interval_is_scipys_up_to_the_luck_of_the_draw(n, confidence):
    samples = np.random.default_rng(n).gamma(3.0, 0.1, n)
    rng = np.random.default_rng(1)
    theirs = bootstrap(
        (samples,), np.median, confidence_level=confidence, n_resamples=20_000, method="percentile", rng=rng
    ).confidence_interval
    ours = interval(samples, confidence, resamples=20_000)
    ordered = np.sort(samples)  # ends may differ by the step to a neighbouring measurement
    for own, scipys in zip(ours, theirs, strict=True):
        assert abs(np.searchsorted(ordered, own) - np.searchsorted(ordered, scipys)) <= 1


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    runs, truth = 400, np.log(2.0)  # the median of an exponential
    ends = np.array([interval(rng.exponential(size=25), resamples=400, seed=i) for i in range(runs)])
    hits = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    assert 0.91 < hits < 0.99


def test_an_interval_is_repeatable_and_moves_with_the_data():
    samples = np.random.default_rng(0).gamma(3.0, 0.1, 20)
    assert interval(samples) == interval(samples.copy()) == interval(list(samples))
    assert interval(1000 * samples) == pytest.approx(tuple(1000 * end for end in interval(samples)))
    assert interval([2.0, 2.0, 2.0]) == (2.0, 2.0)


@pytest.mark.parametrize("few", [[], [1.0]])
def test_too_few_measurements_have_no_interval(few):
    with pytest.raises(ValueError, match="at least 2"):
        interval(few)
    with pytest.raises(ValueError):  # noqa: PT011 (scipy's own words)
        speedup_interval([1.0, 2.0], few)


def test_the_interval_of_a_speed_up():
    rng = np.random.default_rng(0)
    serial_s, parallel_s = rng.normal(4.0, 0.1, 15), rng.normal(2.0, 0.05, 12)
    low, high = speedup_interval(serial_s, parallel_s)
    assert low < speedup(serial_s, parallel_s) < high
    assert 1.9 < low < 2.0 < high < 2.1
    assert speedup_interval([4.0, 4.0], [2.0, 2.0, 2.0]) == (2.0, 2.0)
    wider = speedup_interval(serial_s, parallel_s, 0.99)
    assert wider[0] < low < high < wider[1]


@pytest.mark.parametrize(("text", "most"), [("100000 100000", 1), ("max 100000", None), ("250", None), ("1 100000", 1)])
def test_a_containers_quota_counts_as_cores(text, most, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUOTA", tmp_path / "nowhere")
    without = cores()
    assert without >= 1
    (tmp_path / "cpu.max").write_text(text + "\n")
    monkeypatch.setattr(module, "QUOTA", tmp_path / "cpu.max")
    assert cores() == (without if most is None else most)


# --- the script

SMALL = ("--env", "CartPole-v1", "--steps-per-update", 400, "--updates", 2, "--rounds", 1)


def test_the_script_leaves_a_table_a_csv_a_json_and_a_picture(tmp_path):
    out = tmp_path / "new"
    many = cores() + 1
    outcome = run("speedup.py", *SMALL, "--ranks", f"1,{many}", "--out", out, "--", "--critic", "linear")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"round 1 of 1, {many} rank(s)" in outcome.out
    assert f"{many}*" in outcome.out
    assert "oversubscribed" in outcome.out
    with (out / "speedup.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["ranks"] for row in rows} == {"1", str(many)}
    for row in rows:
        phases = sum(float(row[phase]) for phase in ("collect_s", "wait_s", "gather_s", "update_s"))
        assert 0 < phases <= float(row["iteration_s"])
    work = [[(row["update"], row["steps"]) for row in rows if row["ranks"] == ranks] for ranks in ("1", str(many))]
    assert work[0] == work[1], "on any number of ranks the same steps were taken"
    assert min(int(update) for update, _ in work[0]) == 2, "the first update is warm-up"
    about = json.loads((out / "speedup.json").read_text())
    assert about["settings"]["more"] == ["--critic", "linear"]
    assert about["provenance"]["usable_cores"] == cores()
    first, last = about["summary"]
    assert (first["speedup"], first["oversubscribed"], last["oversubscribed"]) == (1.0, False, True)
    assert last["speedup_interval"][0] <= last["speedup"] <= last["speedup_interval"][1]
    assert last["efficiency"] == pytest.approx(last["speedup"] / many)
    assert last["karp_flatt"] == pytest.approx(karp_flatt(last["speedup"], many))
    assert (out / "speedup.png").read_bytes().startswith(b"\x89PNG")


def test_weak_scaling_grows_the_job(tmp_path):
    small = ("--env", "Reacher-v5", "--steps-per-update", 400, "--updates", 2, "--rounds", 1)
    outcome = run("speedup.py", *small, "--ranks", "1,2", "--weak", "--out", tmp_path / "new")
    assert outcome.code == 0, outcome.err
    with (tmp_path / "new" / "speedup.csv").open() as file:
        steps = {(row["ranks"], row["steps"]) for row in csv.DictReader(file)}
    assert steps == {("1", "400"), ("2", "800")}
    summary = json.loads((tmp_path / "new" / "speedup.json").read_text())["summary"]
    costs = [line["median_iteration_s"] for line in summary]
    assert summary[1]["speedup"] == pytest.approx(2 * costs[0] / costs[1])
    assert summary[1]["karp_flatt"] is None


BAD = {
    "no base": (("--ranks", "2,4"), "lacks 1"),
    "ranks that are none": (("--ranks", "1,x"), "1,2,4"),
    "no ranks": (("--ranks", "0,1"), "positive"),
    "unknown environment": (("--env", "Reachr-v5"), "Reacher-v5"),
    "no updates": (("--updates", "0"), "--updates must be 1 or more"),
    "negative warm-up": (("--warm-up", "-1"), "--warm-up must be 0 or more"),
    "one measurement": (("--updates", "1", "--rounds", "1"), "2 or more"),
    "no number": (("--steps-per-update", "many"), "integer"),
    "its own option": (("--", "--out", "x"), "after --"),
    "train.py's refusal": (("--", "--max-kl", "-1"), "--max-kl"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case, tmp_path):
    arguments, words = BAD[case]
    outcome = run("speedup.py", *arguments, cwd=tmp_path)
    assert outcome.code == 2, outcome.out + outcome.err
    assert len(outcome.err.strip().splitlines()) == 1, outcome.err
    assert words in outcome.err
    assert list(tmp_path.iterdir()) == [], "something was written"


def test_a_folder_that_is_taken_stays_as_it_is(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    outcome = run("speedup.py", "--out", tmp_path)
    assert outcome.code == 2
    assert "not empty" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_under_mpiexec_it_says_how_it_is_meant():
    outcome = run("speedup.py", ranks=2)
    assert outcome.code == 2
    assert outcome.err.count("plain python") == 1


def test_a_run_that_fails_ends_it_with_the_ranks_own_words(tmp_path):
    outcome = run("speedup.py", "--env", "failing_envs:Failing-raise-v0", "--ranks", 1, "--out", tmp_path / "new")
    assert outcome.code == 1
    assert outcome.err.startswith("speedup.py: ")
    assert "episode" in outcome.err
    assert "Traceback" not in outcome.err.splitlines()[0]
    assert not (tmp_path / "new").exists(), "nothing was measured"
