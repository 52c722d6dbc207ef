"""What ranks are promised to share is the same on all of them, field by field, whatever a digest reads of it."""

import dataclasses

import numpy as np
import pytest
from runs import train

from minitrpo.algorithms.algorithm import Context, Plan
from minitrpo.experience.collectors import Request
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.packing import packed, unpacked
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.rank import received

JOB = ("--algorithm", "shared_objects:Tells", "--env", "CartPole-v1", "--total-steps", 600, "--steps-per-update", 200)
ASKS = {
    "nothing": (),
    "steps": ("--plan-steps", 150),
    "episodes": ("--plan-episodes", 9),
    "segments": ("--requests", "segments", "--num-envs", 6, "--plan-steps", 150),
}


@pytest.mark.parametrize("asks", ASKS)
def test_every_field_of_what_ranks_share_is_the_same_on_all_of_them(asks, tmp_path):
    outcomes = [train(tmp_path / str(ranks), *JOB, *ASKS[asks], ranks=ranks) for ranks in (0, 2, 3)]
    assert len({outcome.sha256 for outcome in outcomes}) == 1
    for ranks in (0, 2, 3):
        columns = RunFolder(tmp_path / str(ranks)).columns()
        assert (columns["distinct"] == 1).all(), f"{ranks} ranks saw other plans or contexts"
        shared = len(dataclasses.fields(Plan)) + len(dataclasses.fields(Context)) - 4
        assert (columns["fields"] == shared).all()
        scale = {"steps": 1.0, "episodes": 0.5, "nothing": 0.25, "segments": 1.0}[asks]
        assert (columns["scale"] == scale).all(), "CartPole pays 1 a step"


class Recorder:
    """A communicator that keeps what the root sent."""

    def broadcast(self, arrays, root=0):
        self.sent = packed(arrays)
        return arrays


@pytest.mark.parametrize("steps", [None, 7, np.int64(7)])
@pytest.mark.parametrize("episodes", [None, 3])
@pytest.mark.parametrize("due", [False, True])
def test_the_root_uses_the_plan_that_the_others_get(steps, episodes, due):
    from minitrpo.training.rank import Rank

    rng, recorder = np.random.default_rng(0), Recorder()
    seen = ObservationFilter.identity(3).merged(rng.standard_normal((9, 3)))
    plan = Plan(rng.standard_normal(8), steps, {"a": rng.standard_normal((4, 3)).T, "b": np.array(1)}, episodes)
    request = Request(5, 11, plan.theta, seen)
    rank = Rank(None, None, None, None, plans=recorder)
    on_root = rank.broadcast(plan, request, due)
    *elsewhere, told = received(unpacked(recorder.sent))
    assert told is due
    for mine, theirs in zip(on_root, elsewhere, strict=True):
        for f in dataclasses.fields(mine):
            assert_same(getattr(mine, f.name), getattr(theirs, f.name))
    assert (on_root[0].steps, on_root[0].episodes) == (steps, episodes)
    assert type(on_root[0].steps) in (int, type(None))
    np.testing.assert_array_equal(on_root[0].arrays["a"], plan.arrays["a"])
    with pytest.raises(ValueError, match="read-only"):
        on_root[0].arrays["a"][0, 0] = 1.0
    assert plan.arrays["a"].flags.writeable, "the algorithm's own array"


def assert_same(mine, theirs):
    if isinstance(mine, dict):
        assert list(mine) == list(theirs)
        for name in mine:
            assert_same(mine[name], theirs[name])
    elif isinstance(mine, np.ndarray):
        assert (mine.tobytes(), mine.shape, mine.dtype) == (theirs.tobytes(), theirs.shape, theirs.dtype)
        assert mine.flags.c_contiguous == theirs.flags.c_contiguous
        assert mine.flags.writeable == theirs.flags.writeable
    elif isinstance(mine, ObservationFilter):
        assert_same(vars(mine)["mean"], vars(theirs)["mean"])
        assert_same(mine.to_vector(), theirs.to_vector())
    else:
        assert (type(mine), mine) == (type(theirs), theirs)
