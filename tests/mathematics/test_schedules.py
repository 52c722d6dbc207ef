"""A schedule runs over the whole of what was asked for, and a run is never another one than it says."""

import numpy as np
import pytest
from runs import run, train

from minitrpo.algorithms import Context
from minitrpo.algorithms.algorithm import AnnealingSettings, remaining
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.settings import algorithm_of, presets

SMALL = ("--env", "CartPole-v1", "--hidden", 8, "--steps-per-update", 100, "--record-every", 1)
ANNEALED = {
    "a2c": ("--num-envs", 4),
    "a3c": ("--transport", "events"),
    "batch-ppo": ("--num-envs", 4, "--epochs", 1),
    "schedules:Falls": (),
}


def test_what_is_left_falls_in_a_line_from_1_to_0():
    assert [remaining(steps, 1000) for steps in (0, 250, 500, 1000, 2000)] == [1.0, 0.75, 0.5, 0.0, 0.0]
    assert remaining(123, 0) == 1.0


@pytest.mark.parametrize("own", [0, 400])
def test_a_schedule_is_that_of_the_run_or_of_its_own_length(own):
    context = Context(None, 0, 100, _total_steps=800)
    left = context.schedule(own)
    assert [left(steps) for steps in (0, 200, 400)] == ([1.0, 0.75, 0.5] if own == 0 else [1.0, 0.5, 0.0])
    assert context.scheduled == ([800] if own == 0 else [])
    assert bool(context.notes) == bool(own), "one that ends before the run is said"


def test_a_step_size_falls_only_where_that_was_asked_for():
    context = Context(None, 0, 100, _total_steps=800)
    still = AnnealingSettings(step_size=0.5).step_size_in(context)
    assert [still(steps) for steps in (0, 400, 4000)] == [0.5, 0.5, 0.5]
    assert context.scheduled == []
    falls = AnnealingSettings(step_size=0.5, anneal="step-size").step_size_in(context)
    assert [falls(steps) for steps in (0, 400, 4000)] == [0.5, 0.25, 0.0]


def test_no_preset_stands_still_before_the_end():
    """A preset's schedule has no length of its own: it falls over however many steps are asked for."""
    for name in ALGORITHMS:
        given = [v for preset in presets(algorithm_of(name)).values() for v in (preset.values, *preset.by_env.values())]
        assert not any("anneal_steps" in values for values in given), name
        assert getattr(algorithm_of(name).Settings(), "anneal_steps", 0) == 0, name


@pytest.mark.parametrize("name", ANNEALED)
def test_a_run_with_a_schedule_is_never_given_more_steps_unnoticed(name, tmp_path):
    train(tmp_path / "short", "--algorithm", name, *SMALL, *ANNEALED[name], "--total-steps", 400)
    before = (tmp_path / "short" / "checkpoint.npz").read_bytes()
    outcome = run("train.py", "--resume", tmp_path / "short", "--total-steps", 800)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "400 steps" in outcome.err
    assert (tmp_path / "short" / "checkpoint.npz").read_bytes() == before
    assert run("train.py", "--resume", tmp_path / "short", "--progress", "none").code == 0, "it may go on as it was"


def test_a_schedule_of_its_own_length_lets_a_run_go_on_as_if_it_had_been_asked_for_at_once(tmp_path):
    job = ("--algorithm", "a2c", *SMALL, *ANNEALED["a2c"], "--anneal-steps", 500)
    train(tmp_path / "short", *job, "--total-steps", 300)
    said = train(tmp_path / "whole", *job, "--total-steps", 800).out
    assert "500 of 800 steps" in said, "where it ends before the run"
    resumed = run("train.py", "--resume", tmp_path / "short", "--total-steps", 800, "--progress", "none")
    assert resumed.code == 0, resumed.err
    thetas = [RunFolder(tmp_path / which).load_checkpoint()["theta"] for which in ("short", "whole")]
    np.testing.assert_array_equal(*thetas)
