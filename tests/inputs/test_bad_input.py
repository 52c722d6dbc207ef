"""Bad input gets one line that says what was wrong and what to do, exit code 2, before any work starts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import ROOT, SCRIPTS, run

BAD = {
    "unknown environment": (("--env", "Reachr-v5"), "Reacher-v5"),
    "unknown module": (("--env", "no_such_module:Thing-v0"), "no_such_module"),
    "environment unknown to its module": (("--env", "failing_envs:Nothing-v0"), "Nothing"),
    "actions of another kind": (("--env", "failing_envs:TupleActions-v0"), "MultiDiscrete"),
    "observations of another kind": (("--env", "failing_envs:DictObservations-v0"), "Dict"),
    "discrete observations": (("--env", "FrozenLake-v1"), "Box"),
    "negative steps": (("--total-steps", "-5"), "--total-steps must lie in [1, "),
    "no steps": (("--steps-per-update", "0"), "--steps-per-update must lie in [1, "),
    "steps that are no number": (("--total-steps", "many"), "invalid integer"),
    "half a step": (("--total-steps", "0.5"), "invalid integer"),
    "negative kl": (("--max-kl", "-0.1"), "--max-kl must lie in (0, 1000], not -0.1"),
    "kl that is no number": (("--max-kl", "nan"), "--max-kl must be a finite number, not nan"),
    "kl without end": (("--max-kl", "inf"), "--max-kl must be a finite number, not inf"),
    "discount above 1": (("--discount", "1.5"), "--discount must lie in (0, 1], not 1.5"),
    "negative seed": (("--seed", "-1"), "--seed must lie in [0, "),
    "checkpoints that never come": (("--checkpoint-every", "0"), "such as 20 or 30s, not '0'"),
    "too many environments": (("--envs-per-rank", "1025"), "--envs-per-rank must lie in [1, 1024], not 1025"),
    "unknown choice": (("--pool", "swimming"), "dynamic"),
    "unknown flag": (("--steps", "5"), "unrecognized arguments: --steps"),
    "hidden layers": (("--hidden", "64,x"), "64,64"),
    "limits crossed": (
        ("--adapt-min-steps", "9000", "--adapt-max-steps", "10"),
        "--adapt-min-steps 9000 is above --adapt-max-steps 10",
    ),
    "no such option": (("--lanes", "16"), "unrecognized arguments: --lanes"),
    "unknown algorithm": (("--algorithm", "trop"), "unknown --algorithm 'trop': did you mean trpo? There is trpo"),
    "no folder to resume": (("--resume", "nowhere"), "nowhere"),
    "two folders": (("--resume", "a", "--out", "b"), "--out"),
    "more ranks than slots": (("--requests", "segments", "--num-envs", "1"), "choose --num-envs 2 or more"),
}


def is_one_clear_line(outcome, words):
    assert outcome.code == 2, outcome.out + outcome.err
    lines = outcome.err.strip().splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("train.py: ")
    assert words in lines[0]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_on_two_ranks(case, tmp_path):
    arguments, words = BAD[case]
    is_one_clear_line(run("train.py", *arguments, ranks=2, cwd=tmp_path), words)
    assert list(tmp_path.iterdir()) == [], "something was written"


def test_bad_input_alone(tmp_path):
    is_one_clear_line(run("train.py", "--env", "Reachr-v5", cwd=tmp_path), "Reacher-v5")


def test_a_folder_that_is_taken(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("precious")
    is_one_clear_line(run("train.py", "--out", tmp_path / "taken", ranks=2), "not empty")
    assert (tmp_path / "taken" / "thesis.txt").read_text() == "precious"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    is_one_clear_line(run("train.py", "--out", tmp_path / "file" / "run"), "--out")


def test_resume_of_another_environment(cartpole_run):
    is_one_clear_line(run("train.py", "--resume", cartpole_run, "--env", "Pendulum-v1", ranks=2), "CartPole-v1")
    is_one_clear_line(run("train.py", "--resume", cartpole_run, "--seed", 3), "--seed")


@pytest.mark.parametrize("damage", ["config.json", "checkpoint.npz", "metrics.csv"])
def test_resume_of_a_damaged_run(damage, cartpole_run, tmp_path):
    for name in ("config.json", "checkpoint.npz", "metrics.csv"):
        content = (cartpole_run / name).read_bytes()
        if name != damage:
            (tmp_path / name).write_bytes(content)
        elif name != "metrics.csv":
            (tmp_path / name).write_bytes(content[: len(content) // 2])
    is_one_clear_line(run("train.py", "--resume", tmp_path), damage)


def test_resume_of_a_folder_that_is_no_run(tmp_path):
    is_one_clear_line(run("train.py", "--resume", tmp_path), "config.json")


def test_resume_keeps_what_it_was_given(cartpole_run):
    settings = json.loads((cartpole_run / "config.json").read_text())["settings"]
    assert settings["env"] == "CartPole-v1"
    assert settings["steps_per_update"] == 1000


@pytest.mark.parametrize("script", ["watch.py", "replay.py"])
def test_scripts_that_read_a_run(script, tmp_path):
    outcome = run(script, tmp_path / "nowhere", *([0] if script == "replay.py" else []))
    assert outcome.code == 2
    assert len(outcome.err.strip().splitlines()) == 1
    assert "nowhere" in outcome.err


def test_help_is_printed_once_and_explains_every_setting():
    outcome = run("train.py", "--help", ranks=2)
    assert outcome.code == 0
    assert outcome.out.count("usage:") == 1
    assert "Frans 2016" in outcome.out
    assert "(default: 0.01; source: TRPO paper)" in " ".join(outcome.out.split())


def test_an_unknown_command_names_those_there_are():
    outcome = run("trian")
    assert outcome.code == 2
    commands = "train, evaluate, plot, new, check, watch, replay, doctor, speedup, parallel-sgd, scaling, grade, entry"
    assert outcome.err == f"minitrpo: there is no command 'trian'; there are {commands}; see --help\n"
    assert (run("").code, run("").err.count("\n")) == (2, 1)
    assert run("--help").code == 0
    assert "python -m minitrpo replay RUN EPISODE" in run("--help").out


def test_a_command_calls_itself_what_was_typed(tmp_path):
    outcome = run("train", "--max-kl", "-1", ranks=2, cwd=tmp_path)
    assert outcome.code == 2
    assert outcome.err == "minitrpo train: --max-kl must lie in (0, 1000], not -1.0\n"
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_the_default_algorithm_whatever_was_chosen():
    algorithm = ("--algorithm", "mpi_scripts.own.reinforce:Reinforce")
    text = " ".join(run("train.py", "--help", *algorithm, cwd=ROOT).out.split())
    assert "class of your own as module:Class (default: trpo)" in text
    assert "the algorithm mpi_scripts.own.reinforce:Reinforce" in text


def test_ranks_with_different_command_lines_are_refused(tmp_path):
    """A launcher can start other programs on other ranks: the result would be nobody's."""
    train_py = [sys.executable, str(SCRIPTS / "train.py"), "--env", "CartPole-v1", "--total-steps", "1000"]
    command = ["mpiexec", "-n", "1", *train_py, "--out", str(tmp_path / "run"), ":"]
    command += ["-n", "1", *train_py, "--out", str(tmp_path / "run"), "--seed", "7"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("rank 1 was given other options than rank 0") == 1
    assert not (tmp_path / "run").exists()
