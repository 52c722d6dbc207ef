"""What lectures lean on: MPI jobs that cannot hang a notebook, predictions, budgets, checks seen through Jupyter."""

import sys

import numpy as np
import pytest

from minitrpo.course.checks import check, mine, names, target
from minitrpo.course.classroom import JobFailed, budget, compare, mpiexec, mpiexec_code, play, recorded, reveal, train

HELLO = "from mpi4py import MPI; c = MPI.COMM_WORLD; t = c.allreduce(1); c.rank or print('ranks', t, c.size)"


def test_budget_follows_the_environment(monkeypatch):
    monkeypatch.delenv("MINITRPO_BUDGET", raising=False)
    assert budget(100, 1) == 100
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    assert budget(100, 1) == 1


def test_compare_prints_guess_and_measurement(capsys):
    compare("length", 3, 4.0, "m")
    compare("length", None, 4.0)
    compare("parameters", 60, 5772)
    compare("which", "the first", np.float64(0.012345))
    assert capsys.readouterr().out.splitlines() == [
        "length: you predicted 3 m, measured 4 m",
        "length: no prediction was typed; measured 4",
        "parameters: you predicted 60, measured 5,772",
        "which: you predicted the first, measured 0.0123",
    ]


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_piece_of_code_runs_on_ranks_that_see_each_other(ranks):
    assert mpiexec_code(ranks, HELLO) == f"ranks {ranks} {ranks}\n"
    assert "mpi4py" not in sys.modules, "the process that launches never starts MPI"


def test_a_failing_rank_is_shown():
    with pytest.raises(JobFailed, match="the second rank is ill"):
        mpiexec_code(
            2, "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 1: raise SystemExit('the second rank is ill')"
        )


def test_a_job_that_does_not_end_is_ended():
    with pytest.raises(JobFailed, match="no end after 2 s"):
        mpiexec_code(2, "import time; time.sleep(1000)", timeout=2)


def test_ranks_of_a_foreign_launcher_are_noticed(monkeypatch, tmp_path):
    """An mpiexec that starts processes which do not see each other: the classic silent failure."""
    fake = tmp_path / "mpiexec"
    fake.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr("minitrpo.supervision.jobs.launcher", lambda: str(fake))
    with pytest.raises(JobFailed, match="2 ranks were started and this one sees 1"):
        mpiexec(2, "train", "--env", "CartPole-v1", "--out", tmp_path / "run")


def test_train_returns_the_run_folder():
    folder = train(2, "--env", "CartPole-v1", "--total-steps", 1000, "--steps-per-update", 500)
    assert folder.columns()["ranks"].tolist()[-1] == 2
    assert folder.load_checkpoint()["run_counters"][1] >= 1000


def test_a_recorded_file_is_found_near_the_notebook_or_in_the_clone(monkeypatch, tmp_path):
    for folder in (tmp_path / "recorded", tmp_path / "solutions"):
        folder.mkdir()
    monkeypatch.chdir(tmp_path / "solutions")
    assert recorded("05_seeds.csv").read_text().startswith("env,seed,")
    (tmp_path / "recorded" / "05_seeds.csv").write_text("here")
    assert recorded("05_seeds.csv").read_text() == "here"
    with pytest.raises(FileNotFoundError, match=r"no recorded/no_such\.csv"):
        recorded("no_such.csv")


def test_a_wrong_setting_is_shown_as_the_script_says_it():
    with pytest.raises(JobFailed, match="--max-kl must lie in"):
        train(1, "--max-kl", -1)


@pytest.mark.parametrize("env", ["CartPole-v1", "Reacher-v5"])
def test_play_gives_whole_episodes_and_the_same_bits(env):
    one, two = play(env, 120), play(env, 120)
    assert one.episodes.steps >= 120
    assert one.episodes.ended.all()
    assert np.array_equal(one.episodes.observations, two.episodes.observations)
    assert len(one.policy.log_prob(one.policy.distribution(one.theta, one.episodes.observations), one.actions)) > 0


def test_in_jupyter_a_failed_check_is_shown_and_run_all_goes_on(monkeypatch):
    """A kernel that Jupyter started knows its notebook; there a failure is a coloured box instead of an error."""
    shown = []
    monkeypatch.setenv("JPY_SESSION_NAME", "notebook.ipynb")
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr("IPython.display.display", lambda thing: shown.append(thing.data))
    check(names()[0], lambda *arguments: 0.0)
    assert "not right yet" in shown[0]

    def stub(*arguments):
        raise NotImplementedError("write the body")

    check(names()[0], stub)
    assert "not attempted yet" in shown[1]
    check(names()[0], target(names()[0]))
    assert "right." in shown[2]
    assert "cases: " in shown[2]  # a success says what was checked, in a box like that of a failure
    assert all("background: none" in box and "color: inherit" in box for box in shown)  # light and dark
    vars(mine).clear()


def in_front_of_jupyter(monkeypatch):
    """Pretend that a person looks on; return the list of what is displayed."""
    shown = []
    monkeypatch.setattr("minitrpo.course.classroom.in_jupyter", lambda: True)
    monkeypatch.setattr("IPython.display.display", shown.append)
    return shown


def test_a_measurement_is_shown_where_nobody_has_to_guess(capsys):
    reveal(None, lambda: print("42"))
    assert capsys.readouterr().out == "42\n"


def test_a_measurement_waits_for_the_guess_or_the_button(monkeypatch, capsys):
    shown = in_front_of_jupyter(monkeypatch)
    reveal((3, "b"), lambda: print("42"))
    assert (capsys.readouterr().out, shown) == ("42\n", [])
    reveal((3, None), lambda: print("43"))
    assert capsys.readouterr().out == ""
    (box,) = shown
    button = box.children[0].children[1]
    button.click()
    button.click()
    assert capsys.readouterr().out.count("43") == 1
