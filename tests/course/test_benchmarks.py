"""The benchmarks: what they compare is the same work, their statistics are right, and what was recorded is whole.

That the tables of the pages are what was recorded, by these statistics, is a rule of tests/tools/lint.py.
"""

import json

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import family_picture, report, rules, scaling, seconds
from benchmarks.limit import OpenLoop, RecordingVectorEnv, Step
from benchmarks.record import RESULTS, read_json, thinned
from benchmarks.returns import FEW_SEEDS, STEPS, curve_of
from benchmarks.rules import FIXED, Run, returns_over_steps
from benchmarks.rules_report import improvement, over_environments, over_seconds
from benchmarks.scaling import Experiment
from benchmarks.summaries import iqm, iqm_interval
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.commands.command_line import choice_of
from minitrpo.course.statistics import mean_interval
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.supervision.jobs import flags
from minitrpo.training.settings import MAY_CHANGE

RENAMED = {"lanes": "num_envs", "min_steps": "adapt_min_steps", "max_steps": "adapt_max_steps"}  # since 0.1.0
RENAMED |= {"min_kl": "adapt_min_kl", "kl_ceiling": "adapt_max_kl"}


def test_open_loop_physics_ends_where_the_rollouts_did():
    spec = describe("Hopper-v5")
    envs = RecordingVectorEnv(spec, 4)
    policy, numbers = spec.policy((8,)), iter(range(9))
    theta = policy.initialise(np.random.default_rng(0))
    frozen = ObservationFilter.identity(spec.observation_size)
    played = Rollouts(spec, policy, envs, run_seed=1).play(theta, frozen, 1, lambda: next(numbers, None), 4)
    assert sum(fragment.steps for fragment in played) == sum(len(c.slots) for c in envs.calls if isinstance(c, Step))
    bare = OpenLoop(envs.model, 4, envs.task.frame_skip, envs.calls)
    bare.run()
    for mine, name in zip(bare.fields, ("qpos", "qvel"), strict=False):
        assert np.array_equal(mine, envs._fields[name])
        assert np.any(mine)


def test_every_experiment_is_compared_with_one_rank_of_the_same(monkeypatch):
    monkeypatch.setattr(scaling, "cores", lambda: 4)
    planned = scaling.experiments(["A", "B"], ["root", "sharded"], ["dynamic"], [8, 2])
    assert {(e.ranks, e.separate) for e in planned} == {(1, False), (2, False), (8, False), (4, True)}
    assert len(planned) == len(set(planned)) == len({e.name for e in planned}) == 2 * (2 * 3 + 1)
    assert all(e.alone in planned and (e.alone == e) == (e.ranks == 1) for e in planned)
    times = np.outer(np.ones(3), [4.0, 1.0, 1.0, 2.0, 8.0])
    row = scaling.line(Experiment("A", "root", "dynamic", 2), times, 2 * times)
    assert (row["speedup"], row["collect_speedup"], row["efficiency"]) == (2.0, 2.0, 1.0)


def test_a_curve_is_the_mean_of_the_last_100_episodes_and_is_thinned():
    rng = np.random.default_rng(0)
    episodes, returns = rng.integers(1, 40, 30), rng.standard_normal(30)
    columns = {"env_steps": 1000.0 * np.arange(1, 31), "episodes": episodes.astype(float), "mean_return": returns}
    for steps, mean in curve_of(columns):
        each = np.repeat(returns[: int(steps) // 1000][::-1], episodes[: int(steps) // 1000][::-1])
        updates = np.flatnonzero(np.cumsum(episodes[: int(steps) // 1000][::-1]) >= 100)  # the last of them as a whole
        whole = episodes[: int(steps) // 1000][::-1][: updates[0] + 1].sum() if len(updates) else len(each)
        assert mean == pytest.approx(each[:whole].mean())
    few = thinned([(i, float(i)) for i in range(489)])
    assert (len(few) <= 100, few[-1]) == (True, (488, 488.0))


def test_the_interquartile_mean_is_the_mean_of_the_middle_half():
    scores = np.array([9000.0, 1.0, 4.0, 3.0, -80.0, 2.0, 5.0, 6.0])
    assert iqm(scores) == pytest.approx(np.mean([2.0, 3.0, 4.0, 5.0]))
    assert iqm_interval(scores)[0] < 3.5 < iqm_interval(scores)[1]


def test_the_first_fixed_arm_is_what_is_typed():
    for env, steps in rules.STEPS.items():
        typed = choice_of(flags({"env": env, "total_steps": steps, "seed": 0})).flat()
        assert choice_of(flags(Run(env, FIXED, (1, 1), 0).settings)).flat() == typed


def test_scores_are_means_over_steps_or_over_seconds():
    columns = {"env_steps": [100, 200, 300, 400], "episodes": [1, 0, 2, 1], "mean_return": [0.0, np.nan, 20.0, 40.0]}
    columns = {name: np.array(values) for name, values in columns.items()}
    assert np.mean(returns_over_steps(columns, 400)) == pytest.approx((0 * 100 + 10 * 200 + 30 * 100) / 400)
    run = {"curve": [[100, 0.0], [200, 10.0]], "seconds": [[100, 1.0], [200, 2.0]]}
    assert over_seconds(run, 4.0) == pytest.approx((0.0 * 1 + 5.0 * 1 + 10.0 * 2) / 4, abs=0.01)


def test_the_probability_of_improvement_counts_pairs_and_environments_the_same():
    up, down = (np.ones(3), np.zeros(3)), (np.zeros(3), np.ones(3))
    assert improvement([[(np.array([1.0, 3.0]), np.array([2.0, 0.0]))]])[0] == 0.75
    middle, over_seeds, both = improvement([[up], [up], [up], [down]])
    assert (middle, over_seeds) == (0.75, (0.75, 0.75, 0.75))
    assert (both.low, both.high) == (0.25, 1.0)
    assert improvement([[up], [up, down]])[0] == 0.75, "whatever the number of pairs"
    arm = np.arange(6.0)
    over_seeds = improvement([[(arm, arm), (arm, arm)]])[1]
    assert over_seeds == pytest.approx((0.5, 0.5, 0.5)), "a run that is drawn is drawn for all pairs of its arm"


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Scores are normal, and so is by how much an environment suits the rule: P = Phi(difference / sqrt(2))."""
    rng, held = np.random.default_rng(1), []
    for _ in range(150):
        suits = rng.normal(0.3, 1.0, 8)
        pairs = [[(each + rng.standard_normal(10), rng.standard_normal(10))] for each in suits]
        _, over_seeds, both = improvement(pairs, 200)
        of_these, of_others = norm.cdf(suits / np.sqrt(2)).mean(), norm.cdf(0.3 / np.sqrt(3))
        held.append((over_seeds.low <= of_these <= over_seeds.high, both.low <= of_others <= both.high))
    assert np.all(np.mean(held, axis=0) > 0.84), "95 % of many; of eight environments and ten seeds somewhat fewer"
    many = [mean_interval(over_environments(list(rng.standard_normal((8, 10))))) for _ in range(400)]
    assert np.mean([low <= 0 <= high for _, low, high in many]) == pytest.approx(0.95, abs=0.04)


def test_recorded_runs_are_complete_and_their_commands_still_mean_what_they_meant():
    runs = {path.stem: json.loads(path.read_text()) for path in (RESULTS / "returns").glob("*.json")}
    for stem, run in runs.items():
        made = run["provenance"]
        assert stem == f"{run['system']}_{run['env']}_{run['seed']}"
        assert run["seed"] < 5, "seeds from 100 up were tuned on"
        assert run["curve"][-1][0] == pytest.approx(STEPS[run["env"]], rel=0.03), stem
        assert f"--seed {run['seed']}" in made["command"]
        assert made.keys() >= {"date", "machine", "python", "versions"}
        if stem.startswith("minitrpo"):
            today = choice_of(made["command"][made["command"].index(" --") :].split()).flat()
            then = {RENAMED.get(name, name): value for name, value in run["settings"].items() if name != "overlap"}
            assert {name: today[name] for name in then.keys() - set(MAY_CHANGE)}.items() <= then.items(), stem
    for env in STEPS:
        assert sum(run["env"] == env for run in runs.values()) >= 2 * (2 if env in FEW_SEEDS else 4), env


def test_seconds_to_a_return_are_those_of_the_recorded_curves():
    recorded = read_json(RESULTS / "seconds.json")
    for line in recorded["lines"]:
        assert json.loads(json.dumps(seconds.line(line["env"], recorded["rates"][line["env"]]))) == line


@pytest.mark.slow
def test_every_picture_is_drawn_from_what_was_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(report.plt.Figure, "savefig", lambda figure, path, **_: (tmp_path / path.name).touch())
    report.draw()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in RESULTS.glob("*.png")}
    assert {f"{name}.json" for name in report.results()} >= {path.name for path in RESULTS.glob("*.json")}
    assert set(family_picture.COLORS) == set(ALGORITHMS)
