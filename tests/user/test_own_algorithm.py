"""A user's own algorithm gets what every member of the family gets; what it breaks is named, by `check` and by a run.

Equal bits on any number of ranks and across a resume: tests/bits/test_conformance.py. What is no algorithm at all, and
what plan, state, prepare and learn may not return: tests/inputs/test_user_classes.py.
"""

import importlib
import shutil
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from runs import MAINS, ROOT, SCRIPTS, TOYS, forked, run, train

import minitrpo
import minitrpo.course.classroom  # one thread
from minitrpo.commands import check
from minitrpo.course.reinforce import Reinforce
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision import mpiexec as mpiexec_module

EXAMPLE = ROOT / "minitrpo/course/reinforce.py"
SAMPLES, GRADIENTS = "reinforce:Reinforce", "reinforce_gradients:Reinforce"
SMALL = {"steps_per_update": 60, "total_steps": 120, "hidden": "4", "progress": "none"}
KEPT = ("gradient", "fisher", "actions", "environment", "random", "trains", "again", "2 ranks", "resumed")


@pytest.fixture
def folder(tmp_path):
    """A folder of a user's, who has copied the two examples there."""
    for file in (EXAMPLE, SCRIPTS / "own/reinforce_gradients.py"):
        shutil.copy(file, tmp_path)
    return tmp_path


def test_gradients_and_samples_take_the_same_first_step(folder):
    """What travels differs, the mathematics does not: after an update theta agrees but for rounding."""
    thetas = []
    for algorithm in (SAMPLES, GRADIENTS):
        job = ("--algorithm", algorithm, "--env", "Pendulum-v1", "--steps-per-update", 2000, "--total-steps", 2000)
        train(algorithm, *job, cwd=folder)
        thetas.append(RunFolder(folder / algorithm).load_checkpoint()["theta"])
    np.testing.assert_allclose(thetas[0], thetas[1], rtol=0, atol=1e-7)


def test_it_has_help_settings_columns_a_picture_and_every_command(folder):
    own = ("--algorithm", SAMPLES)
    text = " ".join(run("train.py", *own, "--help", cwd=folder).out.split())
    assert ("--step-size" in text, "--max-kl" in text) == (True, False)
    assert "(default: 2000)" in text.partition("--steps-per-update N environment")[2][:80], "its own default"
    train("run", *own, "--env", "CartPole-v1", "--step-size", 0.02, "--total-steps", 4000, cwd=folder, new=True)
    made = RunFolder(folder / "run")
    assert made.read_config()["settings"]["step_size"] == 0.02
    assert (made.columns()["gradient_norm"] > 0).all()
    assert (folder / "run" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert run("watch.py", "run", *own, "--steps", 20, "--frames", 5, cwd=folder).code == 0
    assert "episode 0 of iteration" in run("replay.py", "run", 0, *own, cwd=folder).out
    for bad in (("--step-size", 0), ("--max-kl", 0.1)):
        refused = run("train.py", *own, *bad, cwd=folder)
        assert (refused.code, refused.err.count("\n"), bad[0] in refused.err) == (2, 1, True)
    assert check.main(["trpo", "--updates", "1"]) == 2, "too few to check"


def test_new_begins_with_the_example_and_overwrites_nothing(tmp_path):
    for name, code in (("mine", 0), ("mine", 2), ("numpy", 2), ("3x", 2)):
        assert run("new", name, cwd=tmp_path).code == code
    assert (tmp_path / "mine.py").read_text() == EXAMPLE.read_text().replace("reinforce:", "mine:")


def test_a_restore_that_changes_theta_is_named(tmp_path):
    def restore(own, arrays):
        Reinforce.restore(own, arrays)
        own.theta = own.theta + 1

    mine = type("Mine", (Reinforce,), {"restore": restore})
    with pytest.raises(minitrpo.BadInput, match="restore"):
        minitrpo.train("CartPole-v1", algorithm=mine, out=tmp_path / "run", **SMALL)


# --- minitrpo check: one rank trains in a fork of this process; two are tried for real in one test


@pytest.fixture
def checked(monkeypatch, tmp_path):
    """Return a function that checks an algorithm: the exit code, "ok" or "FAIL" by promise, all that was printed."""
    monkeypatch.setitem(MAINS, "check", check.main)
    place = nullcontext(str(tmp_path))  # a fork that ends would remove a temporary folder
    monkeypatch.setattr(check.tempfile, "TemporaryDirectory", lambda prefix: place)

    def look(name, *more, two_ranks=False):
        def mpiexec(ranks, command, *words, timeout):
            if ranks == 2 and two_ranks and "--resume" not in words:
                mpiexec_module.mpiexec(ranks, command, *words, timeout=timeout)
                return
            kept = sys.stdout, sys.stderr  # a fork in a fork would close what it writes to
            done = forked(command, *words, cwd=tmp_path, timeout=120)
            if done.code and kept:
                raise mpiexec_module.JobFailed(f"exit code {done.code}\n{done.err}", done.code)

        monkeypatch.setattr(check, "mpiexec", mpiexec)
        words = (name, "--", "--hidden", 4, "--steps-per-update", 60, *more)
        done = forked("check", *words, cwd=tmp_path, timeout=120)
        lines = [line for line in done.out.splitlines() if line[:4] in ("ok  ", "FAIL")]
        return done.code, {line[6:18].strip(): line[:4].strip() for line in lines}, str(done)

    return look


@pytest.mark.mpi
def test_two_ranks_must_end_with_the_same_numbers(checked, tmp_path):
    code, found, text = checked("hostile_algorithms:Mindful", two_ranks=True)
    assert (code, found) == (0, dict.fromkeys(KEPT, "ok")), text
    for folder in tmp_path.iterdir():
        shutil.rmtree(folder)
    code, found, text = checked("hostile_algorithms:Counting", "--pool", "static", two_ranks=True)
    assert (code, next(each for each, well in found.items() if well == "FAIL")) == (1, "2 ranks"), text


@pytest.mark.parametrize(
    ("name", "promise", "named"),
    [
        *(("Unkeyed", "again", ""), ("Refusing", "resumed", "too quick")),
        *((name, "resumed", "restore()") for name in ("Forgetful", "HalfMindful", "OwnGenerator")),
    ],
)
def test_a_run_that_ends_with_other_numbers_breaks_a_promise(name, promise, named, checked):
    code, found, text = checked(f"hostile_algorithms:{name}")
    assert (code, [each for each, well in found.items() if well == "FAIL"]) == (1, [promise]), text
    assert named in text.partition("FAIL")[2]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shares"), [("trpo", True), ("a3c", False)])
def test_a_member_that_can_share_its_update_is_tried_so_too(name, shares, checked):
    code, found, text = checked(name)
    assert (code, found) == (0, dict.fromkeys((*KEPT, *["sharded"] * shares), "ok")), text


class RootAlone(Reinforce):
    def prepare(self, plan, fragment):  # by what the root alone has learned
        return super().prepare(plan, fragment) | {"returns": fragment.timesteps ** abs(self.theta[0])}


@pytest.mark.parametrize(
    ("name", "broken"),
    [("Mindful", []), ("NumpyRandom", ["random"]), ("PythonRandom", ["random"]), ("Forgetful", ["resumed"]),
     ("RootAlone", ["prepare"]), ("Rounding", ["begins"]), ("Raises", ["trains"])],
)  # fmt: skip
def test_a_class_is_checked_in_this_process(name, broken, monkeypatch, capfd):
    """As in a cell, where no other process could find it."""
    monkeypatch.syspath_prepend(str(TOYS))
    mine = RootAlone if name == "RootAlone" else getattr(importlib.import_module("hostile_algorithms"), name)
    well = minitrpo.check(mine, "CartPole-v1", steps_per_update=60, hidden=4)
    found = [line.split()[1] for line in capfd.readouterr().out.splitlines() if line.startswith("FAIL")]
    assert (found, well) == (broken, not broken)
