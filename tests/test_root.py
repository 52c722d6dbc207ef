"""The root's books: when a checkpoint is due."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from minitrpo.classroom import one_process
from minitrpo.experience.collectors import Request
from minitrpo.runs.context import RunContext
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.root import Root
from minitrpo.runs.settings import FIRST, LAST, chosen


@pytest.fixture
def books(tmp_path):
    """Make the books of a run with these settings, of which no step has been taken."""

    def make(**settings):
        learner, worker = one_process(env="CartPole-v1", **settings)
        folder = RunFolder.create(str(tmp_path / "run"), "CartPole-v1", 0, (*FIRST, *LAST))
        context = RunContext(chosen({"env": "CartPole-v1", **settings}), worker.collector.rollouts.spec, folder, {})
        return Root(context, learner, worker.collector, "none", 1, 1)

    return make


def request(iteration, amount=5):
    return Request(iteration, amount, np.zeros(0), None)


def clock(seconds):
    return SimpleNamespace(now=lambda: seconds, span=lambda name: nullcontext())


@pytest.mark.parametrize("every", [1, 3, 20])
def test_a_checkpoint_is_due_after_so_many_updates(every, books):
    root = books(checkpoint_every=str(every))
    due = [i for i in range(1, 61) if root.checkpoint_due(request(i), now=1000.0 * i)]
    assert due == list(range(every, 61, every))


def test_a_checkpoint_is_due_so_many_seconds_after_the_last(books):
    root = books(checkpoint_every="2.5s")
    assert [root.checkpoint_due(request(1), now) for now in (0.0, 2.4, 2.5, 9.0)] == [False, False, True, True]
    root.save({}, clock(4.0))
    assert [root.checkpoint_due(request(2), now) for now in (4.1, 6.4, 6.5)] == [False, False, True]


@pytest.mark.parametrize("every", ["20", "1000s"])
def test_the_last_segments_are_saved_whenever_they_come(every, books):
    """The unfinished episodes are asked for before the root has learned; of whole episodes there are none."""
    segments = {"requests": "segments", "num_envs": 4, "total_steps": 100}
    root = books(checkpoint_every=every, **segments)
    root.learner.env_steps = 79
    assert [root.checkpoint_due(request(7, amount), now=1.0) for amount in (5, 6)] == [False, True]


def test_a_new_run_has_a_checkpoint_before_its_first_update(books):
    root = books(checkpoint_every="1000s")
    assert root.folder.load_checkpoint()["run_counters"].tolist() == [0, 0]
