"""The benchmarks: what they compare is the same work, what they say is what was recorded."""

import argparse
import json
import re
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import report, scaling  # noqa: E402
from benchmarks.limit import OpenLoop, Scribe  # noqa: E402
from benchmarks.record import RESULTS, interval, median, provenance, thinned, write_json  # noqa: E402
from benchmarks.returns import FEW_SEEDS, STEPS, curve_of  # noqa: E402
from minitrpo.experience.environments import describe  # noqa: E402
from minitrpo.experience.filters import ObservationFilter  # noqa: E402
from minitrpo.experience.rollouts import Rollouts  # noqa: E402
from minitrpo.runs.command_line import parse  # noqa: E402

RUNS = sorted((RESULTS / "returns").glob("*.json"))


@pytest.mark.parametrize("env", ["Reacher-v5", "Hopper-v5"])
def test_open_loop_physics_ends_where_the_rollouts_did(env):
    spec = describe(env)
    scribe = Scribe(spec, 4)
    policy, numbers = spec.policy((8,)), iter(range(9))
    rollouts = Rollouts(spec, policy, scribe, run_seed=1)
    theta = policy.initialise(np.random.default_rng(0))
    steps = rollouts.play(
        theta, ObservationFilter.identity(spec.observation_size), 1, lambda: next(numbers, None), 4
    ).steps
    assert steps == sum(len(slots) for _, slots, numbers in scribe.asked if numbers.ndim == 2)
    bare = OpenLoop(scribe.model, 4, scribe.task.frame_skip, scribe.asked)
    bare.run()
    qpos, qvel, _ = bare.fields
    assert np.array_equal(qpos, scribe._fields["qpos"])
    assert np.array_equal(qvel, scribe._fields["qvel"])
    assert np.any(qpos)


def test_a_curve_is_the_mean_of_the_last_100_episodes():
    rng = np.random.default_rng(0)
    episodes = rng.integers(0, 40, 30)
    returns = np.where(episodes > 0, rng.standard_normal(30), np.nan)
    columns = {"env_steps": 1000.0 * np.arange(1, 31), "episodes": episodes.astype(float), "mean_return": returns}
    points = dict(curve_of(columns))
    assert list(points) == [1000 * (i + 1) for i in range(30) if episodes[i]]
    for i in np.flatnonzero(episodes):
        each, first = [], i
        while first >= 0 and len(each) < 100:
            each += [returns[first]] * int(episodes[first])
            first -= 1
        assert points[1000 * (i + 1)] == pytest.approx(np.mean(each))


@pytest.mark.parametrize("n", [1, 99, 100, 101, 489])
def test_a_thinned_curve_is_short_and_keeps_its_end(n):
    points = [(i, float(i)) for i in range(n)]
    few = thinned(points)
    assert len(few) <= 100
    assert few[-1] == points[-1]
    assert few == sorted(few)


def test_the_interquartile_mean_is_the_mean_of_the_middle_half():
    scores = np.array([9000.0, 1.0, 4.0, 3.0, -80.0, 2.0, 5.0, 6.0])
    assert report.iqm(scores) == pytest.approx(np.mean([2.0, 3.0, 4.0, 5.0]))
    low, high = report.iqm_interval(scores)
    assert low < 3.5 < high
    assert np.isnan(report.iqm_interval(np.ones(1))).all()


def test_medians_and_intervals_have_four_digits():
    samples = np.random.default_rng(0).gamma(3.0, 0.1234567, 9)
    assert median(samples) == float(f"{np.median(samples):.4g}")
    low, high = interval(samples)
    assert low < median(samples) < high


def test_results_are_written_whole_and_read_again(tmp_path):
    content = {"provenance": provenance(("scipy", "no-such-package")), "lines": [{"a": 1.5}]}
    write_json(tmp_path / "new" / "x.json", content)
    assert json.loads((tmp_path / "new" / "x.json").read_text()) == content
    assert "scipy" in content["provenance"]["versions"]
    assert "no-such-package" not in content["provenance"]["versions"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.json"]


def test_the_readme_says_what_was_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "save", lambda figure, name: report.plt.close(figure))
    text = report.README.read_text()
    assert report.filled(text) == text, "python -m benchmarks.report has not been run since the last result"
    assert all((report.README.parent / picture).exists() for picture in re.findall(r"\]\((results/\w+\.png)\)", text))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_is_complete_and_says_what_made_it(path):
    recorded = json.loads(path.read_text())
    assert path.stem == f"{recorded['system']}_{recorded['env']}_{recorded['seed']}"
    assert recorded["seed"] < 5, "seeds from 100 up were tuned on"
    assert 0.97 * STEPS[recorded["env"]] <= recorded["curve"][-1][0] <= 1.03 * STEPS[recorded["env"]]
    assert {"command", "date", "machine", "python", "versions"} <= recorded["provenance"].keys()
    assert f"--seed {recorded['seed']}" in recorded["provenance"]["command"]


@pytest.mark.parametrize(
    "path", [path for path in RUNS if path.stem.startswith("minitrpo")], ids=lambda path: path.stem
)
def test_the_command_of_a_recorded_run_still_means_what_it_meant(path):
    recorded = json.loads(path.read_text())
    words = recorded["provenance"]["command"].split()[2:]  # without: python mpi_scripts/train.py
    assert asdict(parse(words).settings()) == recorded["settings"]


def test_a_run_is_timed_without_its_first_update():
    times = scaling.run(("Pendulum-v1", "root", "dynamic", 1), argparse.Namespace(steps=200, updates=3))
    assert times.shape == (2, len(scaling.PHASES))
    assert np.all(times[:, -1] >= times[:, :-1].sum(axis=1))


def test_separate_runs_that_do_not_slow_each_other_down_count_as_twice_as_fast(monkeypatch):
    both_are_here, launched = threading.Barrier(2, timeout=30), []

    def launch(ranks, *words, timeout):
        launched.append(ranks)
        both_are_here.wait()

    columns = dict(zip(scaling.PHASES, np.outer([4.0, 1.0, 1.0, 2.0, 8.0], np.ones(5)), strict=True))
    monkeypatch.setattr(scaling, "launch", launch)
    monkeypatch.setattr(scaling.RunFolder, "columns", lambda folder: columns)
    key = ("Reacher-v5", scaling.SEPARATE, "dynamic", 2)
    times = scaling.run(key, argparse.Namespace(steps=200, updates=5))
    assert launched == [1, 1]
    assert times.tolist() == [[2.0, 0.5, 0.5, 1.0, 4.0]] * 8
    row = scaling.line(key, times, 2 * times)
    assert (row["speedup"], row["collect_speedup"], row["efficiency"]) == (2.0, 2.0, 1.0)


def test_the_table_of_scaling_names_separate_runs(monkeypatch):
    pictures = []
    monkeypatch.setattr(report, "save", lambda figure, name: pictures.append(figure))
    found = report.load("scaling")
    rows = [x for x in found["lines"] if x["learner"] == scaling.SEPARATE]
    text = report.scaling(found)
    assert rows
    for row in rows:
        assert f"| {row['env']}, separate runs | {row['ranks']} |" in text
    for axis in pictures[0].axes:
        assert f"{rows[0]['ranks']} separate runs" in axis.get_legend_handles_labels()[1]
    report.plt.close(pictures[0])


def test_updates_of_the_same_work_are_put_together_and_no_others():
    seconds = {("root", 1): 8.0, ("root", 2): 99.0, ("root", 4): 4.0, ("sharded", 4): 2.0, ("sharded", 8): 2.0}
    seconds |= {(scaling.SEPARATE, 4): 99.0}
    found = {"cores": 4, "lines": []}
    for (learner, ranks), s in seconds.items():
        found["lines"].append({"env": "Reacher-v5", "learner": learner, "pool": "dynamic", "ranks": ranks})
        found[f"Reacher-v5, {learner}, dynamic, {ranks}"] = [[s / 2, 0, 0, s / 2, s]] * 3
    rows = report.same_work([found, found]).splitlines()[2:]
    root = "| Reacher-v5, root, 4 ranks or more | {} | {} | 2.00 | 2.00 to 2.00 | 2.00 | 2.00 to 2.00 |"
    assert rows == [
        root.format(2, 6),
        "| Reacher-v5, sharded, 4 ranks or more | 2 | 12 | 4.00 | 4.00 to 4.00 | 4.00 | 4.00 to 4.00 |",
    ]
    # a day when the machine was quicker and the root learner was not measured on 4 ranks
    lines = [x for x in found["lines"] if (x["learner"], x["ranks"]) != ("root", 4)]
    quicker = {name: (np.array(x) / 3).tolist() for name, x in found.items() if name.startswith("Reacher")}
    rows = report.same_work([found, *[quicker | {"cores": 4, "lines": lines}] * 2]).splitlines()[2:]
    assert rows[0] == root.format(1, 3)
    assert rows[1].startswith("| Reacher-v5, sharded, 4 ranks or more | 3 | 18 |")


def test_measurements_of_another_machine_are_not_put_together(monkeypatch, tmp_path):
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    for number, machine in enumerate(("2 cores, here", "2 cores, elsewhere", "2 cores, here"), start=1):
        found = {"number": number, "provenance": {"machine": machine}}
        (tmp_path / "other" / f"scaling_repeat_{number}.json").write_text(json.dumps(found))
    chosen = report.repeats_of({"provenance": {"machine": "2 cores, here"}})
    assert [x["number"] for x in chosen] == [1, 3]


def test_every_environment_has_enough_seeds():
    for env in STEPS:
        seeds = [path for path in RUNS if path.stem.startswith(f"minitrpo_{env}_")]
        assert len(seeds) >= (2 if env in FEW_SEEDS else 5), env
