"""The doctor says one line for each thing and gives the cure for what is missing."""

from itertools import count, pairwise

import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from runs import TOYS

from minitrpo.commands import doctor


@pytest.mark.mpi
@pytest.mark.slow
def test_a_machine_that_runs_these_tests_is_well(capfd):
    code = doctor.main([])
    lines = [line for line in capfd.readouterr().out.splitlines() if not line.startswith("      cure")]
    assert {line.split()[1] for line in lines} >= {"python", "packages", "launcher", "blas", "rendering"}
    assert all(line.startswith("ok") for line in lines if "rendering" not in line), lines
    assert code == 0


def test_what_is_missing_has_a_cure_and_what_fails_is_one_line(tmp_path, monkeypatch, capfd):
    def ill():
        raise LookupError("no such thing")

    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "nosuchpackage"))
    monkeypatch.setattr(doctor, "rendering", ill)
    assert doctor.main(["--env", "restless_envs:Restless-memory-v0"]) == 1
    lines = capfd.readouterr().out.splitlines()
    failing = {line.split()[1]: cure for line, cure in pairwise(lines) if line[:4] == "FAIL"}
    assert failing.keys() == {"packages", "launcher", "environment", "ill"}
    assert all(cure.startswith("      cure: ") for cure in failing.values())
    assert "nosuchpackage" in failing["packages"]


@pytest.mark.parametrize(
    ("env", "well", "words"),
    [
        ("CartPole-v1", True, "4 observations, 2 choices"),
        ("Pendulum-v1", True, "3 observations, 1 actions"),
        ("restless_envs:Restless-random-v0", False, "deterministic"),
        ("Nope-v0", False, "'Nope-v0'"),
    ],
)
def test_it_looks_at_an_environment(env, well, words, monkeypatch):
    monkeypatch.syspath_prepend(str(TOYS))
    found = doctor.environment(env)
    assert (found.well, words in found.seen) == (well, True), found


def test_it_sees_an_environment_that_fails_late(monkeypatch):
    calls, step = count(), CartPoleEnv.step
    monkeypatch.setattr(CartPoleEnv, "step", lambda env, action: step(env, action) if next(calls) < 150 else 1 / 0)
    found = doctor.environment("CartPole-v1")
    assert (found.well, "ZeroDivisionError" in found.seen) == (False, True)
