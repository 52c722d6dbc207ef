"""What lectures lean on: jobs that cannot hang a notebook, guesses, budgets, alt texts, and word of a busy machine."""

import sys

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from test_notebooks import build

from minitrpo.course import machine
from minitrpo.course.alt_text import LINES, MOST, describe
from minitrpo.course.checks import check, mine, names, target
from minitrpo.course.classroom import (
    JobFailed, budget, busy, compare, mpiexec, mpiexec_code, play, recorded, reveal, say_if_busy, train,
)  # fmt: skip


def test_budget_follows_the_environment(monkeypatch):
    monkeypatch.delenv("MINITRPO_BUDGET", raising=False)
    assert budget(100, 1) == 100
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    assert budget(100, 1) == 1


@pytest.mark.slow
@pytest.mark.mpi
def test_ranks_see_each_other_and_a_job_that_fails_hangs_or_is_launched_wrong_is_an_error(tmp_path, monkeypatch):
    hello = "from mpi4py import MPI; c = MPI.COMM_WORLD; t = c.allreduce(1); c.rank or print('ranks', t, c.size)"
    assert mpiexec_code(2, hello) == "ranks 2 2\n"
    assert "mpi4py" not in sys.modules, "the process that launches never starts MPI"
    with pytest.raises(JobFailed, match="the second rank is ill"):
        mpiexec_code(2, "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: raise SystemExit('the second rank is ill')")
    with pytest.raises(JobFailed, match="no end after 1 s"):
        mpiexec_code(1, "import time; time.sleep(1000)", timeout=1)
    fake = tmp_path / "mpiexec"  # that starts processes which do not see each other: the classic silent failure
    fake.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr("minitrpo.supervision.jobs.launcher", lambda: str(fake))
    with pytest.raises(JobFailed, match="2 ranks were started and this one sees 1"):
        mpiexec(2, "train", "--env", "CartPole-v1", "--out", tmp_path / "run")
    with pytest.raises(JobFailed, match="--max-kl"):
        train(1, "--max-kl", -1)


def test_a_recorded_file_is_found_near_the_notebook_or_in_the_clone(monkeypatch, tmp_path):
    for folder in (tmp_path / "recorded", tmp_path / "solutions"):
        folder.mkdir()
    monkeypatch.chdir(tmp_path / "solutions")
    assert recorded("05_seeds.csv").read_text().startswith("env,seed,")
    (tmp_path / "recorded" / "05_seeds.csv").write_text("here")
    assert recorded("05_seeds.csv").read_text() == "here"
    with pytest.raises(FileNotFoundError):
        recorded("no_such.csv")


def test_play_gives_whole_episodes_and_the_same_bits():
    one, two = play("CartPole-v1", 120), play("CartPole-v1", 120)
    assert one.episodes.steps >= 120
    assert one.episodes.ended.all()
    assert np.array_equal(one.episodes.observations, two.episodes.observations)


# --- guesses


def in_front_of_jupyter(monkeypatch):
    """Pretend that a person looks on; return the list of what is displayed."""
    shown = []
    monkeypatch.setenv("JPY_SESSION_NAME", "notebook.ipynb")
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr("IPython.display.display", shown.append)
    return shown


def test_in_jupyter_a_failed_check_is_shown_and_run_all_goes_on(monkeypatch):
    """A kernel that Jupyter started knows its notebook; there a failure is a box instead of an error."""
    shown, name = in_front_of_jupyter(monkeypatch), names()[0]

    def stub(*arguments):
        raise NotImplementedError("write the body")

    for answer in (lambda *arguments: 0.0, stub, target(name)):
        check(name, answer)
    for box, said in zip(shown, ("not right yet", "not attempted yet", "right."), strict=True):
        assert said in box.data
    vars(mine).clear()


def test_a_measurement_waits_for_the_guess_or_the_button_and_is_shown_beside_it(monkeypatch, capsys):
    reveal(None, lambda: compare("length", None, 4.0))
    assert capsys.readouterr().out.endswith("measured 4\n"), "where nobody looks on nobody has to guess"
    shown = in_front_of_jupyter(monkeypatch)
    reveal((3, "b"), lambda: compare("parameters", 60, 5772, "numbers"))
    assert capsys.readouterr().out == "parameters: you predicted 60 numbers, measured 5,772 numbers\n"
    reveal((3, None), lambda: print("43"))
    assert capsys.readouterr().out == ""
    (box,) = shown
    button = box.children[0].children[1]
    button.click()
    button.click()
    assert capsys.readouterr().out.count("43") == 1


# --- a busy machine


def test_a_busy_machine_is_told_in_one_line_and_nothing_is_recorded_on_it(monkeypatch, tmp_path, capsys):
    """The first line of /proc/stat before and after: 60 of 100 ticks used, then 5 of 100."""
    monkeypatch.setattr(machine, "STAT", tmp_path / "stat")
    monkeypatch.setattr("sys.argv", ["06_timing.py"])
    for used in (60, 5):

        def later(seconds, used=used):
            machine.STAT.write_text(f"cpu {100 + used} 0 100 {795 - used} 105 0 0 0 0 0\n")

        def measured(look):
            machine.STAT.write_text("cpu 100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n")
            return look()

        monkeypatch.setattr("time.sleep", later)
        measured(say_if_busy)
        assert capsys.readouterr().out.count("\n") == (used == 60)
        assert measured(busy) == (used == 60)
        if used == 60:
            with pytest.raises(SystemExit, match="--even-if-busy"):
                measured(machine.Recording)
        else:
            assert "5% of the cores before it" in measured(machine.Recording).conditions()


def test_what_others_use_is_what_is_used_less_our_own(monkeypatch, tmp_path):
    """Of 200 ticks of two cores 150 were used, 50 of them by us and our children: others used half of all."""
    monkeypatch.setattr(machine, "STAT", tmp_path / "stat")
    assert np.isnan(machine.Others().share()), "where the system does not say"
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    times = [(0.0,) * 5, (0.1, 0.1, 0.2, 0.1, 9.0)]
    monkeypatch.setattr("os.times", lambda: times.pop(0))
    machine.STAT.write_text("cpu 100 0 100 700 100 0 0 0 0 0\n")
    others = machine.Others()
    machine.STAT.write_text("cpu 200 0 150 740 110 0 0 0 0 0\n")
    assert others.share() == 0.5
    machine.STAT.unlink()
    monkeypatch.setattr("os.getloadavg", lambda: (1.0, 9.0, 9.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert machine.busy_share() == 0.5, "the load average stands in"


# --- alt texts


def test_the_alt_text_of_a_figure_says_its_panels_axes_and_where_curves_begin_and_end():
    figure = Figure()
    axis = figure.add_subplot(3, 2, 1)
    axis.plot([0, 1, 2], [1.0, 5.0, 3.0], label="ours")
    axis.plot([0, 2], [1.0, 2000.0], label="$x^2$")
    axis.set(xlabel="steps", ylabel="return", title="Reacher")
    assert "Reacher: return against steps; ours from 1 to 3 (within 1 to 5); x^2 from 1 to 2,000" in describe(figure)
    figure.add_subplot(3, 2, 2).barh(["a", "b"], [3, 4])
    figure.add_subplot(3, 2, 3).imshow(np.eye(2))
    below = figure.add_subplot(3, 2, 4, sharex=axis)
    below.errorbar([1, 2], [3.0, 4.0], [0.1, 0.1], label="measured")
    below.plot([0, 1], [np.nan, np.inf], label="lost")
    for said in ("Chart of 4 panels", "2 bars of 3 to 4", "1 picture", "steps; lost", "measured from 3 to 4"):
        assert said in describe(figure)
    many = figure.add_subplot(3, 2, 5)
    for k in range(LINES + 3):
        many.plot([0, 1], [k, k + 1], label=f"curve {k} {'long ' * 30}")
    assert "and 3 more" in describe(many.figure) or "more of the kind" in describe(many.figure)
    assert len(describe(figure)) < MOST + 50


@pytest.mark.slow
def test_the_build_executes_keeps_the_alt_text_and_knows_what_was_shown():
    drawn = (
        "from matplotlib import pyplot as plt\nfrom minitrpo.course.classroom import BLUE\n"
        "plt.plot([0, 1, 2], [1, 5, 3], color=BLUE, label='ours')\nplt.gca().set(xlabel='steps', ylabel='y')\nplt.show()"
    )
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(drawn)], metadata={"kernelspec": build.KERNEL})
    before = build.without_outputs(made)
    build.execute(made)
    told = "Chart. y against steps; ours from 1 to 3 (within 1 to 5)."
    assert made.cells[0].outputs[-1].metadata == {"image/png": {"alt": told}}
    assert made.cells[0].metadata["mystnb"] == {"image": {"alt": told}}
    assert build.without_outputs(made) == before
    again = nbformat.reads(nbformat.writes(made), 4)
    assert build.outputs_digest(again) == build.outputs_digest(made)
