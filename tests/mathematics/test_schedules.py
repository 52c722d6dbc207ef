"""A schedule runs over the whole of what was asked for, and a run is never another one than it says."""

import numpy as np
import pytest
from runs import run, train

from minitrpo.algorithms import Context
from minitrpo.algorithms.algorithm import remaining
from minitrpo.algorithms.annealing import AnnealingSettings
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.commands.command_line import presets
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.settings import algorithm_of

SMALL = ("--env", "CartPole-v1", "--hidden", 8, "--steps-per-update", 100, "--record-every", 1, "--checkpoint-every", 1)
ANNEALED = {
    "a2c": ("--num-envs", 4),
    "a3c": ("--transport", "events"),
    "n-step-q": ("--num-envs", 4),
    "async-n-step-q": ("--transport", "events"),
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
    assert [note for note in context.notes if "ends after 400 of 800" in note] == context.notes
    assert bool(context.notes) == bool(own)


def test_a_step_size_falls_only_where_that_was_asked_for():
    context = Context(None, 0, 100, _total_steps=800)
    still = AnnealingSettings(step_size=0.5).step_size_in(context)
    assert [still(steps) for steps in (0, 400, 4000)] == [0.5, 0.5, 0.5]
    assert context.scheduled == []
    falls = AnnealingSettings(step_size=0.5, anneal="step-size").step_size_in(context)
    assert [falls(steps) for steps in (0, 400, 4000)] == [0.5, 0.25, 0.0]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_preset_stands_still_before_the_end(name):
    """A preset's schedule has no length of its own: it falls over however many steps are asked for."""
    for preset in presets(algorithm_of(name)).values():
        for values in (preset.values, *preset.by_env.values()):
            assert "anneal_steps" not in values
    assert getattr(algorithm_of(name).Settings(), "anneal_steps", 0) == 0


@pytest.mark.parametrize("name", ANNEALED)
def test_a_run_with_a_schedule_is_never_given_more_steps_unnoticed(name, tmp_path):
    job = ("--algorithm", name, *SMALL, *ANNEALED[name])
    train(tmp_path / "short", *job, "--total-steps", 400)
    before = (tmp_path / "short" / "checkpoint.npz").read_bytes()
    outcome = run("train.py", "--resume", tmp_path / "short", "--total-steps", 800)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "has a schedule that ends with the run, after 400 steps" in outcome.err
    assert (tmp_path / "short" / "checkpoint.npz").read_bytes() == before
    assert run("train.py", "--resume", tmp_path / "short", "--progress", "none").code == 0, "it may go on as it was"


@pytest.mark.parametrize("name", ["a2c", "batch-ppo"])
def test_a_schedule_of_its_own_length_lets_a_run_go_on_as_if_it_had_been_asked_for_at_once(name, tmp_path):
    job = ("--algorithm", name, *SMALL, *ANNEALED[name], "--anneal-steps", 5000)
    train(tmp_path / "short", *job, "--total-steps", 400)
    train(tmp_path / "whole", *job, "--total-steps", 800)
    resumed = run("train.py", "--resume", tmp_path / "short", "--total-steps", 800, "--progress", "none")
    assert resumed.code == 0, resumed.err
    thetas = [RunFolder(tmp_path / which).load_checkpoint()["theta"] for which in ("short", "whole")]
    np.testing.assert_array_equal(*thetas)


def test_a2c_learns_to_the_end_of_a_longer_run(tmp_path):
    """Its preset for CartPole was made for 200,000 steps; in a run of 220,000 the last update still moves theta."""
    job = ("--algorithm", "a2c", "--env", "CartPole-v1", "--hidden", 4, "--record-every", 100, "--checkpoint-every", 1)
    train(tmp_path / "run", *job, "--total-steps", 220_000)
    folder = RunFolder(tmp_path / "run")
    last = folder.load_checkpoint()["theta"]
    with np.load(folder.path / "checkpoint_before.npz") as before:
        assert np.abs(last - before["theta"]).max() > 0


def test_a_schedule_that_ends_before_the_run_is_said(tmp_path):
    job = ("--algorithm", "a2c", *SMALL, "--total-steps", 800, "--anneal-steps", 300)
    assert "a schedule ends after 300 of 800 steps" in train(tmp_path / "run", *job).out
    idle = ("--algorithm", "a2c", "--env", "Pendulum-v1", "--hidden", 8, "--total-steps", 100, "--anneal-steps", 300)
    assert "--anneal-steps has no effect with --anneal none" in train(tmp_path / "idle", *idle).out
