"""The benchmarks: what they compare is the same work, their statistics are right, and what was recorded is whole.

That the tables of the pages are what was recorded, by these statistics, is a rule of tests/tools/lint.py.
"""

import numpy as np
import pytest

from benchmarks import report, scaling
from benchmarks.limit import OpenLoop, RecordingVectorEnv, Step
from benchmarks.record import RESULTS
from benchmarks.scaling import Experiment
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts


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


@pytest.mark.slow
def test_every_picture_is_drawn_from_what_was_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(report.plt.Figure, "savefig", lambda figure, path, **_: (tmp_path / path.name).touch())
    report.draw()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in RESULTS.glob("*.png")}
    assert {f"{name}.json" for name in report.results()} >= {path.name for path in RESULTS.glob("*.json")}
