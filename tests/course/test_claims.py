"""The claims of the seeds: each is whole, judges tell the truth where it is known, nothing is measured twice."""

import json
import os
import re
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from runs import ROOT, Forked, forked

from minitrpo.algorithms import registry as algorithms
from minitrpo.commands.command_line import parse
from minitrpo.course.claims import measuring, page
from minitrpo.course.claims.claim import FULL, QUICK, Arm, Claim, Size, judge
from minitrpo.course.claims.drawing import curves
from minitrpo.course.claims.measuring import Busy, decisions, read_off, record
from minitrpo.course.claims.panels import look, names
from minitrpo.course.claims.parts import higher, level, ratio, same_bits, sooner, trend
from minitrpo.course.claims.quantities import Quantity, area, mean_between, return_at, steps_to_goal, turns
from minitrpo.course.claims.registry import CLAIMS, find
from minitrpo.course.claims.store import CHECKOUT, jobs, missing, place_in, read, recorded, shown, state_of
from minitrpo.reports.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS

TASK = "CartPole-v1"
VALUE = Quantity("value", lambda run: run["value"])


def runs(**arms):
    """Return runs that have these values: {name: values}."""
    return {
        (name, TASK): [{"value": v, "usable_cores": 2, "theta_sha256": str(v)} for v in values]
        for name, values in arms.items()
    }


# --- the list of claims


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_is_whole(claim):
    assert claim.parts
    assert len(claim.sentence) > 20
    assert len({(arm.name, arm.env) for arm in claim.arms}) == len(claim.arms)
    home = CLAIMS[claim.home]
    assert (claim.arms, claim.full, claim.quick, claim.seconds) == (home.arms, home.full, home.quick, home.seconds)
    assert home.home == home.name
    assert claim.full.seeds >= 5
    assert claim.chosen(QUICK)
    assert set(claim.full.steps) == {arm.env for arm in claim.arms} >= set(claim.quick.steps)
    for env, steps in claim.quick.steps.items():
        assert steps <= claim.full.steps[env]
        assert claim.quick.seeds < claim.full.seeds


@pytest.mark.parametrize("claim", [c for c in CLAIMS.values() if not c.data], ids=lambda c: c.name)
def test_train_understands_what_it_is_told(claim):
    for arm in claim.arms:
        choice = parse(["--env", arm.env, "--total-steps", "1000000", *arm.words.split()]).choice()
        assert choice.algorithm in map(algorithms.find, algorithms.ALGORITHMS)


@pytest.mark.parametrize("kind", [QUICK, FULL])
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_every_question_names_arms_that_are_there_and_the_full_set_answers_all(claim, kind):
    """Runs of the length that is asked for, whose returns are their seed's noise."""
    rng = np.random.default_rng(0)
    made = {}
    for job in jobs(claim, kind):
        made.setdefault((job.arm.name, job.arm.env), []).append(made_up(job, rng))
    verdict, findings = judge(claim, made)
    assert verdict in (HOLDS, DOES_NOT_HOLD, CANNOT_TELL)
    if kind == FULL:
        assert len(findings) == len(claim.parts)
    figure = Figure(layout="constrained")
    claim.draw(figure, claim, made)
    assert all(axis.get_xlabel() or axis.get_ylabel() for axis in figure.axes)
    assert all("seed" in axis.get_title() for axis in figure.axes)


def made_up(job, rng):
    """Return what a run would have recorded."""
    words = parse(["--env", job.arm.env, "--total-steps", str(job.steps), *job.arm.words.split()]).choice().common
    updates = -(-words.total_steps // words.steps_per_update)
    count = min(60, updates)
    iterations = np.linspace(0, updates, count + 1)[1:]
    steps = iterations * words.steps_per_update
    names = ("collect_s", "wait_s", "gather_s", "update_s")
    columns = {
        "iteration": iterations,
        "env_steps": steps,
        "time_s": np.arange(1.0, count + 1),
        "mean_return": rng.normal(size=count),
        "steps_per_update": 1000.0 + 300 * rng.integers(0, 4, count),
        "max_kl": np.full(count, 0.001),
        "eval_return": rng.normal(size=count),
        "iteration_s": np.ones(count),
        **{name: rng.uniform(0.2, 0.3, count) for name in names},
    }
    return {"usable_cores": 2, "theta_sha256": "0", "arm": job.arm.name, **read_off(columns, True)}


def test_an_arm_has_one_look_everywhere():
    looks = {}
    for claim in CLAIMS.values():
        for name in names(claim):
            looks.setdefault(name, []).append(look(claim, name))
    for name, found in looks.items():
        assert all(each == found[0] for each in found), name


def test_what_is_no_claim_is_refused_in_one_line(tmp_path):
    done = forked("figures", "S9", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "there is no claim S9" in done.err
    (tmp_path / "file").write_text("")
    for words in (("S1", "--ranks", "0"), ("S1", "--folder", tmp_path / "file"), ("S1", "--only", "nothing"), ()):
        done = forked("figures", *words, cwd=tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1), done
    assert find(["all"]) == list(CLAIMS.values())


# --- judges, where the truth is known


def test_higher_holds_does_not_and_cannot_tell():
    part = higher(VALUE, "a", "b", TASK)
    up, down, near = [5.0, 5.1, 4.9], [1.0, 1.1, 0.9], [5.05, 4.0, 6.0]
    assert part.ask(runs(a=up, b=down))[1] == HOLDS
    assert part.ask(runs(a=down, b=up))[1] == DOES_NOT_HOLD
    assert part.ask(runs(a=up, b=near))[1] == CANNOT_TELL
    assert part.ask(runs(a=[5.0], b=[1.0]))[1] == CANNOT_TELL, "one seed has no interval"
    assert part.ask(runs(a=up)) is None
    assert part.ask(runs(a=[*up, np.nan], b=down)) is None


def test_higher_is_seldom_wrong_where_there_is_no_difference():
    """Five seeds of the same: in about five of a hundred cases an interval lies beside 0."""
    rng = np.random.default_rng(1)
    part = higher(VALUE, "a", "b", TASK)
    told = [part.ask(runs(a=rng.normal(size=5), b=rng.normal(size=5)))[1] for _ in range(400)]
    assert told.count(CANNOT_TELL) > 0.91 * len(told)


def test_ratio_is_below_about_or_needs_more_cores():
    half, whole = [0.5, 0.51, 0.49], [1.0, 1.01, 0.99]
    assert ratio(VALUE, "a", "b", TASK, 0.6).ask(runs(a=half, b=whole))[1] == HOLDS
    assert ratio(VALUE, "a", "b", TASK, 0.3).ask(runs(a=half, b=whole))[1] == DOES_NOT_HOLD
    assert ratio(VALUE, "a", "b", TASK, 0.5, about=0.1).ask(runs(a=half, b=whole))[1] == HOLDS
    assert ratio(VALUE, "a", "b", TASK, 0.8, about=0.1).ask(runs(a=half, b=whole))[1] == DOES_NOT_HOLD
    assert ratio(VALUE, "a", "b", TASK, 0.55, about=0.05).ask(runs(a=half, b=whole))[1] == CANNOT_TELL
    found, told = ratio(VALUE, "a", "b", TASK, 0.6, cores=3).ask(runs(a=half, b=whole))
    assert told == CANNOT_TELL
    assert "it takes 3 cores, not 2" in found


def test_sooner_with_runs_that_never_get_there():
    part, never = sooner(VALUE, "a", "b", TASK), np.inf
    early, late = [1, 2, 3, 4, 5], [6, 7, never, never, never]
    assert part.ask(runs(a=early, b=late))[1] == HOLDS
    assert part.ask(runs(a=late, b=early))[1] == DOES_NOT_HOLD
    assert part.ask(runs(a=[never] * 5, b=[never] * 5))[1] == CANNOT_TELL
    assert part.ask(runs(a=[1, never], b=[2, never]))[1] == CANNOT_TELL


def test_level_trend_and_the_same_bits():
    assert level(VALUE, "a", TASK, 0.5).ask(runs(a=[0.9, 0.91, 0.92]))[1] == HOLDS
    assert level(VALUE, "a", TASK, 0.93, about=0.05).ask(runs(a=[0.75, 0.76, 0.74]))[1] == DOES_NOT_HOLD
    assert level(VALUE, "a", TASK, 4, above=False).ask(runs(a=[1.0, 9.0, 3.0]))[1] == CANNOT_TELL
    rising = trend(VALUE, {"a": 1.0, "b": 2.0, "c": 16.0}, TASK)
    found, told = rising.ask(runs(a=[0.0, 0.1, 0.2], b=[1.0, 1.1, 1.2], c=[4.0, 4.1, 4.2]))
    assert (found[:5], told) == ("1 (1 ", HOLDS)
    assert rising.ask(runs(a=[4.0, 4.1, 4.2], c=[0.0, 0.3, 0.2]))[1] == DOES_NOT_HOLD
    assert rising.ask(runs(a=[4.0, 4.1, 4.2])) is None
    same = same_bits(TASK, ("a", "b"))
    assert same.ask(runs(a=[1, 2], b=[1, 2])) == ("2 of 2 seeds", HOLDS)
    assert same.ask(runs(a=[1, 2], b=[1, 3])) == ("1 of 2 seeds", DOES_NOT_HOLD)


def test_a_claim_holds_only_if_all_of_it_was_asked_and_holds():
    claim = CLAIMS["S1"]
    yes, no = level(VALUE, "a", TASK, 0.5), level(VALUE, "a", TASK, 2.0)
    unasked, unclear = level(VALUE, "b", TASK, 0.5), level(VALUE, "c", TASK, 0.5)
    found = runs(a=[1.0, 1.01], c=[0.4, 0.7])
    for parts, told in (
        ((yes,), HOLDS),
        ((yes, no), DOES_NOT_HOLD),
        ((yes, unasked), CANNOT_TELL),
        ((yes, unclear), CANNOT_TELL),
        ((no, unasked, unclear), DOES_NOT_HOLD),
        ((unasked,), CANNOT_TELL),
    ):
        assert judge(replace(claim, parts=parts), found)[0] == told


# --- what is read off a run


def test_a_mean_between_two_places_counts_rows_by_their_part():
    ends, values = np.array([10.0, 20.0, 40.0]), np.array([1.0, 3.0, 5.0])
    assert mean_between(ends, values, 0, 40) == pytest.approx((10 + 30 + 100) / 40)
    assert mean_between(ends, values, 15, 30) == pytest.approx((5 * 3 + 10 * 5) / 15)
    assert np.isnan(mean_between(ends, values, 0, 50)), "the run ended before"
    assert mean_between(ends, np.array([1.0, np.nan, 5.0]), 0, 20) == 1.0


def test_what_is_kept_of_a_long_run_has_its_means():
    count = 1_003
    rng = np.random.default_rng(2)
    columns = {"iteration": np.arange(1.0, count + 1), "env_steps": 50.0 * np.arange(1, count + 1)}
    columns |= {"mean_return": rng.normal(size=count), "steps_per_update": np.full(count, 50.0)}
    kept = read_off(columns, with_seconds=False)
    assert len(kept["rows"]["iteration"]) <= 100
    assert kept["rows"]["env_steps"][-1] == 50 * count
    whole = mean_between(columns["env_steps"], columns["mean_return"], 0, 50 * count)
    assert area(50 * count).of(kept) == pytest.approx(whole, abs=1e-5)
    assert "time_s" not in kept["rows"]
    assert (kept["fresh"], kept["decisions"]) == ([], [])
    assert np.isnan(return_at(60_000).of(kept))
    assert np.isnan(steps_to_goal(1.0, 50_000).of(kept))


def test_rows_in_which_no_episode_ended_are_empty_and_count_nowhere():
    columns = {"iteration": np.arange(1.0, 5), "env_steps": 100.0 * np.arange(1, 5)}
    columns |= {
        "mean_return": np.array([np.nan, 2.0, np.nan, 4.0]),
        "eval_return": np.array([np.nan, np.nan, 7.5, np.nan]),
    }
    kept = json.loads(json.dumps(read_off(columns, with_seconds=False), allow_nan=False))
    assert kept["rows"]["mean_return"] == [None, 2, None, 4]
    assert kept["fresh"] == [[300, 7.5]]
    assert area(400).of(kept) == 3.0
    assert steps_to_goal(7.0, 0).of(kept) == 300


def test_decisions_of_pure_noise_take_back_the_one_before_in_two_of_three_cases():
    rng = np.random.default_rng(3)
    sums = rng.normal(size=3_000)
    asked = np.repeat(np.cumsum(np.where(np.diff(sums) > 0, -300.0, 300.0)), 10)
    count = len(asked)
    columns = {"iteration": np.arange(1.0, count + 1), "env_steps": 1000.0 * np.arange(1, count + 1)}
    columns |= {"steps_per_update": asked, "max_kl": np.full(count, 0.01)}
    run = {"decisions": decisions(columns), "rows": {"env_steps": [1000 * count]}}
    assert turns(run) == pytest.approx(2 / 3, abs=0.04)


# --- measuring


def test_some_arms_may_be_trained_longer(small):
    longer = replace(small, full=Size(2, {TASK: 900}, times={"300 steps": 3}))
    assert {(job.arm.name, job.steps) for job in jobs(longer, FULL)} == {("200 steps", 900), ("300 steps", 2_700)}


@pytest.fixture
def small():
    """Put a claim of two arms and two seeds on CartPole in the place of all others."""
    arms = tuple(Arm(f"{n} steps", TASK, f"--preset episodes --hidden 4 --steps-per-update {n}") for n in (200, 300))
    parts = (higher(area(600), "200 steps", "300 steps", TASK),)
    size = Size(2, {TASK: 900})
    claim = Claim("C1", "Small", "a test", "A sentence.", parts, curves(), size, size, arms)
    kept = dict(CLAIMS)
    CLAIMS.clear()
    CLAIMS["C1"] = claim
    yield claim
    CLAIMS.clear()
    CLAIMS.update(kept)


@pytest.mark.slow
def test_measuring_goes_on_where_it_was_interrupted_and_measures_nothing_twice(small, tmp_path):
    place, first = place_in(str(tmp_path)), jobs(small, QUICK)[0]
    whole = record(place, small, first, 1)
    before = place.record(first).read_bytes()
    place.record(first).unlink()

    # a run that was ended in the middle: its folder is where it was, with a checkpoint and fewer rows
    folder = place.work / first.claim / first.kind / f"{first.name}-{first.digest}"
    words = [*first.arm.words.split(), "--env", TASK, "--seed", "0", "--total-steps", "900", "--checkpoint-every", "1"]
    cut = forked("train", *words, "--out", folder, "--progress", "none", cwd=tmp_path)
    assert cut.code == 0, cut
    (folder / "checkpoint_before.npz").replace(folder / "checkpoint.npz")

    done = forked("figures", "C1", "--quick", "--folder", str(tmp_path), cwd=tmp_path, timeout=120)
    assert done.code == 0, done
    assert re.findall(r"C1 quick: (\d) of 4", done.out) == list("1234")
    again = json.loads(place.record(first).read_text())
    assert again["resumed"]
    assert not whole["resumed"]
    assert {name: again[name] for name in ("rows", "theta_sha256")} == {n: whole[n] for n in ("rows", "theta_sha256")}
    assert json.loads(before)["rows"] == again["rows"]
    assert not folder.exists()

    told = forked("figures", "C1", "--quick", "--folder", str(tmp_path), cwd=tmp_path)
    assert told.code == 0, told
    assert " of 4" not in told.out, "nothing is measured twice"
    assert re.search(r"C1: Small: (HOLDS|DOES NOT HOLD|CANNOT TELL)", told.out)
    assert place.page.read_text() == page.text(place)
    assert (tmp_path / "claims" / "C1-quick.png").exists()
    assert missing(place, small, QUICK) == []
    longer = replace(small, quick=Size(2, {TASK: 901}))
    assert len(missing(place, longer, QUICK)) == 4, "runs of other settings are not taken for these"


def test_a_claim_about_seconds_is_refused_on_a_busy_machine(small, tmp_path, monkeypatch):
    timed, place = replace(small, seconds=True), place_in(str(tmp_path))
    monkeypatch.setitem(CLAIMS, "C1", timed)
    monkeypatch.setattr(measuring, "busy_share", lambda seconds: 0.9)
    done = forked("figures", "C1", "--quick", "--folder", str(tmp_path), cwd=tmp_path)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "C1 is about seconds, and other programs use" in done.err
    assert not place.data.joinpath("C1").exists()

    # quiet before and busy meanwhile: the run is not recorded
    monkeypatch.setattr(measuring, "busy_share", lambda seconds: 0.0)
    monkeypatch.setattr(measuring.Others, "share", lambda self: 0.5)
    job = jobs(timed, QUICK)[0]
    with pytest.raises(Busy):
        record(place, timed, job, 1)
    assert read(place, job) is None

    monkeypatch.setattr(measuring.Others, "share", lambda self: 0.06)
    run = record(place, timed, job, 1)
    assert run["busy_share_of_others"] == 0.06
    assert run["rows"]["time_s"] == sorted(run["rows"]["time_s"])


def test_a_claim_about_learning_does_not_care(small, tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "busy_share", lambda seconds: 1.0)
    monkeypatch.setattr(measuring.Others, "share", lambda self: 1.0)
    run = record(place_in(str(tmp_path)), small, jobs(small, QUICK)[0], 1)
    assert run["busy_share_of_others"] is None
    assert "time_s" not in run["rows"]


@pytest.mark.slow
def test_ctrl_c_ends_it_and_what_is_recorded_stays(small, tmp_path, monkeypatch):
    monkeypatch.setitem(CLAIMS, "C1", replace(small, quick=Size(9, {TASK: 900})))
    place = place_in(str(tmp_path))
    job = Forked("figures", ["C1", "--quick", "--folder", str(tmp_path)], tmp_path)
    until = time.monotonic() + 60
    while not list(place.data.glob("C1/quick/*.json")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(job.pid, signal.SIGINT)
    done = job.end(timeout=90)
    assert done.code == 130, done
    kept = recorded(place, CLAIMS["C1"], QUICK)
    assert 1 <= sum(map(len, kept.values())) < 18


# --- what is recorded


def test_a_lecture_draws_what_is_recorded_and_else_says_the_command(monkeypatch, tmp_path, capsys):
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf()))
    page.show_claims("B1")
    said = capsys.readouterr().out
    assert said.startswith("B1: Collecting is the bottleneck: ")
    assert "Others used at most" in said
    assert len(drawn) == 1
    assert drawn[0].axes
    plt.close("all")
    monkeypatch.setattr(page, "CHECKOUT", place_in(str(tmp_path)))
    page.show_claims("B1", "A1")
    assert capsys.readouterr().out.splitlines()[1].endswith("not measured yet: python mpi_scripts/figures.py A1")
    assert len(drawn) == 1


def test_the_page_is_current():
    assert CHECKOUT.page.read_text() == page.text(CHECKOUT), "python mpi_scripts/figures.py all --only plot"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_picture_shows_what_is_recorded_and_nothing_else_lies_there(claim):
    kind, found = shown(CHECKOUT, claim)
    picture = CHECKOUT.picture(claim, kind)
    if found:
        assert Image.open(picture).text["Description"] == state_of(found)
    for each in (QUICK, FULL):
        known = {CHECKOUT.record(job) for job in jobs(claim, each)}
        assert set((CHECKOUT.data / claim.home / each).glob("*")) <= known


def test_recorded_runs_are_of_these_settings_and_say_what_made_them():
    for claim in (c for c in CLAIMS.values() if not c.data):
        for kind in (QUICK, FULL):
            for job in jobs(claim, kind):
                if CHECKOUT.record(job).exists():
                    run = read(CHECKOUT, job)
                    assert run, f"{CHECKOUT.record(job)} is of other settings"
                    assert (run["set"], run["seed"], run["arm"]) == (kind, job.seed, job.arm.name)
                    assert {"command", "date", "versions", "cores"} <= run["provenance"].keys()
                    assert str(ROOT) not in json.dumps(run)
                    if claim.seconds:
                        assert run["busy_share_of_others"] <= 0.2
