"""The benchmarks: what they compare is the same work, what they say is what was recorded."""

import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import (  # noqa: E402
    as_typed,
    family_parts,
    family_picture,
    on_its_back,
    pictures,
    record,
    report,
    returns,
    scaling,
    seconds,
    tables,
    whole,
)
from benchmarks.limit import Case, OpenLoop, RecordingVectorEnv, Step, summary  # noqa: E402
from benchmarks.published import PUBLISHED  # noqa: E402
from benchmarks.record import RESULTS, machine_of, origin, read_json, thinned, write_json  # noqa: E402
from benchmarks.returns import FEW_SEEDS, STEPS, curve_of  # noqa: E402
from benchmarks.scaling import Experiment  # noqa: E402
from benchmarks.seconds import crossing  # noqa: E402
from benchmarks.summaries import interval, iqm, iqm_interval, median, rounded  # noqa: E402
from benchmarks.systems import FAMILIES  # noqa: E402
from benchmarks.workload import timed  # noqa: E402
from minitrpo.algorithms.registry import ALGORITHMS  # noqa: E402
from minitrpo.commands.command_line import parse  # noqa: E402
from minitrpo.experience.environments import describe  # noqa: E402
from minitrpo.experience.observation_filter import ObservationFilter  # noqa: E402
from minitrpo.experience.rollouts import Rollouts  # noqa: E402
from minitrpo.run_folder.columns import SECONDS  # noqa: E402
from minitrpo.training.settings import MAY_CHANGE  # noqa: E402

RUNS = sorted((RESULTS / "returns").glob("*.json"))
OURS = [path for path in RUNS if path.stem.startswith("minitrpo")]
MEASUREMENTS = sorted([*RESULTS.glob("*.json"), *(RESULTS / "other").glob("*.json")])
RENAMED = {  # settings of runs recorded by minitrpo 0.1.0; all of them asked for segments
    "lanes": "num_envs",
    "min_steps": "adapt_min_steps",
    "max_steps": "adapt_max_steps",
    "min_kl": "adapt_min_kl",
    "kl_ceiling": "adapt_max_kl",
}


@pytest.mark.parametrize("env", ["Reacher-v5", "Hopper-v5"])
def test_open_loop_physics_ends_where_the_rollouts_did(env):
    spec = describe(env)
    envs = RecordingVectorEnv(spec, 4)
    policy, numbers = spec.policy((8,)), iter(range(9))
    rollouts = Rollouts(spec, policy, envs, run_seed=1)
    theta = policy.initialise(np.random.default_rng(0))
    frozen = ObservationFilter.identity(spec.observation_size)
    steps = sum(fragment.steps for fragment in rollouts.play(theta, frozen, 1, lambda: next(numbers, None), 4))
    assert steps == sum(len(call.slots) for call in envs.calls if isinstance(call, Step))
    bare = OpenLoop(envs.model, 4, envs.task.frame_skip, envs.calls)
    bare.run()
    qpos, qvel, _ = bare.fields
    assert np.array_equal(qpos, envs._fields["qpos"])
    assert np.array_equal(qvel, envs._fields["qvel"])
    assert np.any(qpos)


def fresh(env):
    """Return what a run has before it has learned anything."""
    spec = describe(env)
    theta = spec.policy((64, 64)).initialise(np.random.default_rng(0))
    return {"theta": theta, "run_filter": ObservationFilter.identity(spec.observation_size).to_vector()}


def test_a_case_plays_enough_steps_and_measures_both_ways_round():
    case = Case("Reacher-v5", fresh("Reacher-v5"), envs=3, steps=400)
    assert (case.episodes, case.steps) == (9, 450)  # threes of 50 steps each, until there are 400
    rates = [case.measure(bare_first=bare_first) for bare_first in (True, False)]
    assert np.all(np.array(rates) > 0)
    line = summary(case, [(100.0, 50.0), (100.0, 70.0)])
    assert (line["envs"], line["limit"], line["ours"], line["ratio"]) == (3, 100.0, 60.0, 0.6)


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
    assert iqm(scores) == pytest.approx(np.mean([2.0, 3.0, 4.0, 5.0]))
    low, high = iqm_interval(scores)
    assert low < 3.5 < high
    assert np.isnan(iqm_interval(np.ones(1))).all()


def test_medians_and_intervals_have_four_digits():
    samples = np.random.default_rng(0).gamma(3.0, 0.1234567, 9)
    assert median(samples) == float(f"{np.median(samples):.4g}")
    low, high = interval(samples)
    assert low < median(samples) < high


def test_results_are_written_whole_and_read_again(tmp_path):
    content = {"provenance": origin(("pytest", "no-such-package")), "lines": [{"a": 1.5}]}
    write_json(tmp_path / "new" / "x.json", content)
    assert json.loads((tmp_path / "new" / "x.json").read_text()) == content
    assert "pytest" in content["provenance"]["versions"]
    assert "no-such-package" not in content["provenance"]["versions"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.json"]


def test_results_of_before_are_read_as_those_of_today(tmp_path):
    old = {
        "provenance": {"machine": "2 cores, AMD EPYC"},
        "settings": {"lanes": "16,32"},
        "lines": [{"lanes": 32, "learner": "separate"}, {"learner": "root"}],
    }
    write_json(tmp_path / "old.json", old)
    result = read_json(tmp_path / "old.json")
    assert result["lines"][0] == {"envs": 32, "learner": "separate", "separate": True}
    assert not result["lines"][1]["separate"]
    today = {"provenance": {"machine": "Linux x86_64, AMD EPYC", "cores": 64, "usable_cores": 2}}
    assert machine_of(result) == machine_of(today) == "2 cores, AMD EPYC"


@pytest.mark.parametrize("path", MEASUREMENTS, ids=lambda path: path.stem)
def test_every_measurement_can_be_reported(path):
    told, drawn = report.REPORTS[max((name for name in report.REPORTS if path.stem.startswith(name)), key=len)]
    result = read_json(path)
    text = told(result)
    assert f"{machine_of(result)}; {result['provenance']['date'][:10]}" in text
    assert len(text.splitlines()) >= 4 + len(result["lines"])
    plt.close(drawn(result))


def test_a_new_measurement_can_be_reported():
    lines = [scaling.line(Experiment("E", "root", "dynamic", n), np.ones((3, 5)), np.ones((3, 5))) for n in (1, 2)]
    result = json.loads(json.dumps({"provenance": origin(), "cores": 2, "settings": {}, "lines": lines}))
    assert f"; {machine_of(result)}; 20" in tables.scaling(result)
    assert "| E, root, dynamic | 2 |" in tables.scaling(result)


def test_the_readme_says_what_was_recorded():
    text = report.README.read_text()
    assert report.filled(text) == text, "python -m benchmarks.report has not been run since the last result"
    names = re.findall(r"\]\((results/[\w/]+\.\w+)\)", text)
    assert names
    assert all((report.README.parent / name).exists() for name in names)


def test_a_picture_is_drawn_for_every_benchmark(monkeypatch, tmp_path):
    for module in (record, report):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.png"))
    report.draw()
    assert {path.name for path in tmp_path.glob("*.png")} == {f"{name}.png" for name in report.results()}


def test_a_member_has_one_colour_in_the_familys_picture_and_every_record_is_in_it():
    colors = family_picture.COLORS
    assert set(colors) == set(ALGORITHMS)
    assert len(set(colors.values())) == len(colors)
    figure = family_picture.family_picture(None)
    texts = [text for part in figure.subfigs for axis in part.axes for text in axis.texts]
    named = {text.get_text(): text.get_color() for text in texts if text.get_text() in colors}
    recorded = {path.name.rpartition("_")[0].rpartition("_")[0] for path in (RESULTS / "family").glob("*.json")}
    shown = {name: color for name, color in colors.items() if name in recorded}
    assert named == shown, "each stands beside its curve, in its colour"
    ordered = [label.get_text() for label in figure.subfigs[1].axes[0].get_yticklabels()]
    assert sorted(ordered) == sorted(name for group in family_picture.GROUPS.values() for name in group)
    family_picture.plt.close(figure)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_names_beside_curves_are_apart_and_in_their_order(places):
    found = list(family_picture.apart(places, [f"{place}" for place in places], 0.1))
    above = [place for place, _ in found]
    assert all(high - low >= 0.1 - 1e-9 for high, low in itertools.pairwise(above))
    assert [float(name) for _, name in found] == sorted(places, reverse=True)
    assert all(place <= float(name) for place, name in found)


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_is_complete_and_says_what_made_it(path):
    recorded = json.loads(path.read_text())
    assert path.stem == f"{recorded['system']}_{recorded['env']}_{recorded['seed']}"
    assert recorded["seed"] < 5, "seeds from 100 up were tuned on"
    assert 0.97 * STEPS[recorded["env"]] <= recorded["curve"][-1][0] <= 1.03 * STEPS[recorded["env"]]
    assert {"command", "date", "machine", "python", "versions"} <= recorded["provenance"].keys()
    assert f"--seed {recorded['seed']}" in recorded["provenance"]["command"]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_the_command_of_a_recorded_run_still_means_what_it_meant(path):
    recorded = json.loads(path.read_text())
    command, settings = recorded["provenance"]["command"], recorded["settings"]
    words = command[command.index(" --") :].split()
    today = parse(words).choice().flat()
    assert settings["requests"] == "segments"
    renamed = {RENAMED.get(name, name): value for name, value in settings.items()}
    deciding = renamed.keys() - set(MAY_CHANGE)
    assert {name: renamed[name] for name in deciding} == {name: today[name] for name in deciding}


def test_a_run_is_timed_without_its_first_update():
    times = scaling.run(Experiment("Pendulum-v1", "root", "dynamic", 1), steps=200, updates=3)
    assert times.shape == (2, len(SECONDS))
    assert np.all(times[:, -1] >= times[:, :-1].sum(axis=1))


def test_separate_runs_that_do_not_slow_each_other_down_count_as_twice_as_fast(monkeypatch):
    both_are_here, started = threading.Barrier(2, timeout=30), []

    def timed_run(ranks, words):
        started.append(ranks)
        both_are_here.wait()
        return dict(zip(SECONDS, np.outer([4.0, 1.0, 1.0, 2.0, 8.0], np.ones(5)), strict=True))

    monkeypatch.setattr(scaling, "timed_run", timed_run)
    experiment = Experiment("Reacher-v5", "root", "dynamic", 2, separate=True)
    times = scaling.run(experiment, steps=200, updates=5)
    assert started == [1, 1]
    assert times.tolist() == [[2.0, 0.5, 0.5, 1.0, 4.0]] * 8
    row = scaling.line(experiment, times, 2 * times)
    assert (row["speedup"], row["collect_speedup"], row["efficiency"]) == (2.0, 2.0, 1.0)


def test_every_experiment_is_compared_with_one_rank_of_the_same(monkeypatch):
    monkeypatch.setattr(scaling, "cores", lambda: 4)
    planned = scaling.experiments(["A", "B"], ["root", "sharded"], ["dynamic"], [8, 2])
    assert {(e.ranks, e.separate) for e in planned} == {(1, False), (2, False), (8, False), (4, True)}
    assert len(planned) == len(set(planned)) == len({e.name for e in planned}) == 2 * (2 * 3 + 1)
    for experiment in planned:
        assert experiment.alone in planned
        assert (experiment.alone == experiment) == (experiment.ranks == 1)


def test_the_table_and_the_picture_of_scaling_name_separate_runs():
    result = read_json(RESULTS / "scaling.json")
    rows = [x for x in result["lines"] if x["separate"]]
    text, figure = tables.scaling(result), pictures.scaling(result)
    assert rows
    for row in rows:
        assert f"| {row['env']}, separate runs | {row['ranks']} |" in text
    for axis in figure.axes:
        assert f"{rows[0]['ranks']} separate runs" in axis.get_legend_handles_labels()[1]
    plt.close(figure)


def test_updates_of_the_same_work_are_put_together_and_no_others():
    seconds = {("root", 1): 8.0, ("root", 2): 99.0, ("root", 4): 4.0, ("sharded", 4): 2.0, ("sharded", 8): 2.0}
    times = {Experiment("Reacher-v5", learner, "dynamic", ranks): s for (learner, ranks), s in seconds.items()}
    times[Experiment("Reacher-v5", "root", "dynamic", 4, separate=True)] = 99.0
    result = {"cores": 4, "lines": [asdict(experiment) for experiment in times]}
    result |= {experiment.name: [[s / 2, 0, 0, s / 2, s]] * 3 for experiment, s in times.items()}
    rows = tables.same_work([result, result]).splitlines()[2:]
    root = "| Reacher-v5, root, 4 ranks or more | {} | {} | 2.00 | 2.00 to 2.00 | 2.00 | 2.00 to 2.00 |"
    assert rows == [
        root.format(2, 6),
        "| Reacher-v5, sharded, 4 ranks or more | 2 | 12 | 4.00 | 4.00 to 4.00 | 4.00 | 4.00 to 4.00 |",
    ]
    # a day when the machine was quicker and the root learner was not measured on 4 ranks
    lines = [x for x in result["lines"] if (x["learner"], x["ranks"]) != ("root", 4)]
    quicker = {name: (np.array(x) / 3).tolist() for name, x in result.items() if name.startswith("Reacher")}
    rows = tables.same_work([result, *[quicker | {"cores": 4, "lines": lines}] * 2]).splitlines()[2:]
    assert rows[0] == root.format(1, 3)
    assert rows[1].startswith("| Reacher-v5, sharded, 4 ranks or more | 3 | 18 |")


def test_measurements_of_another_machine_or_version_are_not_put_together(monkeypatch, tmp_path):
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    here, elsewhere = "2 cores, here", "2 cores, elsewhere"
    for number, (machine, version) in enumerate(((here, "2"), (elsewhere, "2"), (here, "2"), (here, "1")), start=1):
        result = {"number": number, "provenance": {"machine": machine, "versions": {"minitrpo": version}}}
        (tmp_path / "other" / f"scaling_repeat_{number}.json").write_text(json.dumps(result))
    chosen = report.repeats_of({"provenance": {"machine": here, "versions": {"minitrpo": "2"}}})
    assert [x["number"] for x in chosen] == [1, 3]


def test_every_environment_has_enough_seeds():
    for env in STEPS:
        seeds = [path for path in RUNS if path.stem.startswith(f"minitrpo_{env}_")]
        assert len(seeds) >= (2 if env in FEW_SEEDS else 5), env
    assert list(STEPS) == list(PUBLISHED)


def test_calls_are_timed_one_by_one():
    spans = []
    call = timed(lambda x: x / 0 if x == 3 else x, spans)
    call(1)
    call(2)
    with pytest.raises(ZeroDivisionError):
        call(3)
    assert len(spans) == 2
    assert spans[0][0] <= spans[0][1] <= spans[1][0] <= spans[1][1]


def test_every_system_has_its_module():
    for family in FAMILIES.values():
        assert family.reference in family.systems
        for name, (module, options) in family.systems.items():
            text = (ROOT / "benchmarks" / "systems" / f"{module}.py").read_text()
            (signature,) = re.findall(
                rf"^def train\(workload: .*{family.workload.__name__}(.*)\) -> Times:$", text, re.MULTILINE
            )
            assert re.findall(r", (\w+): ", signature) == list(options), name


@pytest.mark.parametrize("family", FAMILIES)
def test_one_system_says_what_its_updates_took(family):
    name = [name for name in FAMILIES[family].systems if name.startswith("minitrpo, 2 ranks")][-1]
    env, steps = ("Reacher-v5", "200") if family in ("trpo", "ppo") else ("CartPole-v1", "3200")
    words = (family, name, "--env", env, "--steps", steps, "--updates", "3")
    command = [sys.executable, "-m", "benchmarks.one_peer", *words]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout
    result = json.loads(output.splitlines()[-1])
    assert len(result["times"]) == 2
    assert all(collect > 0 and update > 0 for collect, update in result["times"])
    assert result["peak_mb"] > 50


# --- seconds to a return


def test_curves_cross_a_target_at_the_first_common_step_at_which_their_middle_reaches_it():
    slow, quick = [(10, 0.0), (20, 10.0), (40, 30.0)], [(5, 0.0), (15, 20.0), (35, 40.0)]
    assert crossing([quick], 20.0) == 15
    assert crossing([slow, quick], 17.5) == 20  # at 15: 5 and 20; at 20: 10 and 25
    assert crossing([slow, quick], 0.0) == 10  # not before both have begun
    assert crossing([slow, quick], 33.0) is None  # nor after one has ended
    assert crossing([[(1, 3.0)]], 3.0) == 1


@pytest.mark.parametrize("env", sorted(STEPS))
def test_seconds_are_steps_at_the_measured_rates(env):
    one = seconds.line(env, {returns.OURS: [2e4, 1e4, 4e4], returns.THEIRS: [2e3, 1e3, 4e3]})
    for system, rate in ((returns.OURS, 2e4), (returns.THEIRS, 2e3)):
        if one["steps"][system]:
            assert one["seconds"][system] == one["steps"][system] / rate
    assert one["steps"][returns.THEIRS] is not None  # their own final return
    if one["ratio"]:
        assert one["ratio"] == pytest.approx(10 * one["steps"][returns.THEIRS] / one["steps"][returns.OURS])


def test_a_command_as_typed_is_run_whole(tmp_path):
    done = as_typed.run(returns.OURS, "CartPole-v1", 3000, 0)
    assert done["steps"] == 3000
    assert done["seconds"] > 0
    assert done["peak_mb"] > 20
    assert done["curve"][-1][0] >= 3000
    line = as_typed.line("CartPole-v1", returns.OURS, [done, done], [done, done])
    assert (line["ratio"], line["threshold_s"] is not None, line["reached"]) == (1.0, True, "2 of 2")
    result = {"provenance": record.origin(), "lines": [line], "settings": {"rounds": 2}}
    assert "CartPole-v1, minitrpo" in tables.as_typed(result)
    pictures.as_typed(result)


def test_a_whole_run_is_compared_with_its_physics():
    case = Case("InvertedPendulum-v5", fresh("InvertedPendulum-v5"), 4, 200, threads=2)
    assert whole.physics_seconds(case.open_loop, case.steps, 400) > 0
    run = whole.summary("InvertedPendulum-v5", 400, [(1.0, 2.0), (2.0, 6.0), (1.0, 2.5)])
    assert (run["physics_s"], run["run_s"], run["ratio"]) == (1.0, 2.5, 2.5)
    table = tables.whole({"lines": [run], "provenance": record.origin(), "settings": {"rounds": 3}})
    assert "| 2.50 |" in table
    assert "lowest to highest of 3" in table


@pytest.mark.parametrize("count", range(2, 13))
def test_bounds_of_few_measurements_are_called_a_range(count):
    values = np.random.default_rng(count).normal(size=count)
    is_range = interval(values) == (rounded(values.min()), rounded(values.max()))
    assert (tables.spread(count) == f"lowest to highest of {count}") == is_range


TICK = "rollouts.py:_tick\nrollouts.py:advance\nsynchronous.py:root_loop"
UPDATE = "learner.py:learn\nsynchronous.py:root_loop"


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (f"gymnasium/envs/classic_control/cartpole.py:step\nvector_env.py:step\n{TICK}", "environment"),
        (f"mujoco/batch.py:step\nvector_env.py:step\n{TICK}", "environment"),
        (f"perceptron.py:activations\npolicies.py:<lambda>\n{TICK}", "policy"),
        (f"observation_filter.py:__call__\n{TICK}", "rest of a tick"),
        (f"perceptron.py:activations\ntargets.py:next_q\n{UPDATE}", "network"),
        (f"targets.py:next_q\n{UPDATE}", "advantages and targets"),
        (f"optimisers.py:adam\nbatch_ppo.py:climb\n{UPDATE}", "optimiser"),
        (f"replay_buffer.py:sample\n{UPDATE}", "replay"),
        (f"batch_ppo.py:climb\n{UPDATE}", "rest of an update"),
        ("csv.py:writerow\nminitrpo/run_folder/folder.py:append\nsynchronous.py:root_loop", "log and checkpoint"),
        ("minitrpo/training/rank.py:collect\nsynchronous.py:root_loop", "episodes and messages"),
        ("synchronous.py:root_loop", family_parts.REST),
    ],
)
def test_a_sample_belongs_to_one_part(stack, part):
    assert family_parts.part_of(stack) == part


def test_samples_are_counted_while_a_run_lasts_and_make_up_its_time():
    x = family_parts.measured("a2c", "CartPole-v1", 4000)
    assert x["samples"] > 5
    assert sum(x["parts"].values()) == pytest.approx(x["step_us"])
    assert x["parts"]["environment"] > 0
    assert "a2c, CartPole-v1" in family_parts.table({"lines": [x], "provenance": record.origin()})


class Pitching:
    """An environment of four steps, whose trunk has these pitches after them."""

    def __init__(self, pitches):
        self.pitches, self.unwrapped = list(pitches), self
        self.data = SimpleNamespace(qpos=np.zeros(9))

    def reset(self, seed):
        return np.zeros(17), {}

    def step(self, action):
        self.data.qpos[2] = self.pitches.pop(0)
        return np.zeros(17), 1.5, False, not self.pitches, {}

    def close(self):
        pass


@pytest.mark.parametrize(("pitches", "down"), [((0, 1, -1, 6), 0.0), ((0, 3, 1, 1), 0.25), ((3, -3, 9.4, 2), 1.0)])
def test_a_cheetah_is_upside_down_where_its_trunk_points_down(monkeypatch, pitches, down):
    monkeypatch.setattr("gymnasium.make", lambda env: Pitching(pitches))
    assert on_its_back.look(lambda observation: np.zeros(6), 0) == (6.0, down)


def test_a_cheetah_that_does_nothing_stays_upright():
    assert on_its_back.look(lambda observation: np.zeros(6, np.float32), 0)[1] == 0.0
