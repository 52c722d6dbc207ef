"""The doctor says one line for each thing and gives the cure for what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import TOYS

from minitrpo.experience.determinism import looked_at


def doctor(path, *words):
    own = os.pathsep.join([str(TOYS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "minitrpo.doctor", *words], env={**os.environ, "PATH": path, "PYTHONPATH": own},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_machine_that_runs_these_tests_is_well():
    done = doctor(os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith("      cure")]
    assert {line.split()[1] for line in lines} >= {"python", "packages", "launcher", "ranks", "blas", "rendering"}
    assert all(line.startswith("ok") for line in lines if "rendering" not in line)


def test_without_mpiexec_it_names_the_cure(tmp_path):
    done = doctor(str(tmp_path))
    assert done.returncode == 1
    assert "FAIL  launcher     no mpiexec on the PATH" in done.stdout
    assert "cure: put" in done.stdout


@pytest.mark.parametrize(
    ("env", "well", "words"),
    [
        ("CartPole-v1", True, "CartPole-v1: 4 observations, 2 choices; it repeats itself"),
        ("Pendulum-v1", True, "3 observations, 1 actions"),
        ("restless_envs:Restless-random-v0", False, "is not deterministic"),
        ("Nope-v0", False, "unknown environment 'Nope-v0'"),
        ("FrozenLake-v1", False, "Discrete observations"),
    ],
)
def test_it_looks_at_an_environment(env, well, words, monkeypatch):
    monkeypatch.syspath_prepend(str(TOYS))
    result, seen = looked_at(env)
    assert (result, words in seen) == (well, True), seen


def test_it_is_told_the_environment_on_its_command_line(tmp_path):
    done = doctor(str(tmp_path), "--env", "restless_envs:Restless-memory-v0")
    assert "FAIL  environment  note: restless_envs:Restless-memory-v0 is not deterministic" in done.stdout
    assert doctor(str(tmp_path), "--enw", "x").returncode == 2


FAILS_LATE = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
class Late(CartPoleEnv):
    calls = 0
    def step(self, action):
        Late.calls += 1
        if Late.calls == 150:
            raise LookupError("the wheel came off")
        return super().step(action)
gymnasium.register("Late-v0", entry_point=Late, max_episode_steps=500)
"""


def test_an_environment_that_fails_after_a_while_is_not_well(tmp_path, monkeypatch):
    (tmp_path / "fails_late.py").write_text(FAILS_LATE)
    monkeypatch.syspath_prepend(tmp_path)
    well, seen = looked_at("fails_late:Late-v0")
    assert not well
    assert "the wheel came off" in seen
