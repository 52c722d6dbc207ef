"""What lectures lean on: jobs that cannot hang a notebook, guesses, budgets, alt texts, and word of a busy machine."""

import contextlib
import re
import sys
from collections import namedtuple
from types import SimpleNamespace

import imageio.v3 as imageio
import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from runs import forked, needs
from test_notebooks import build

from minitrpo.commands import doctor
from minitrpo.course import classroom, demo, machine
from minitrpo.course.alt_text import LINES, MOST, describe
from minitrpo.course.checks import check, mine, names, target
from minitrpo.parallel.comm import Comm
from minitrpo.reports.trained_policy import evaluate
from minitrpo.run_folder.folder import RunFolder


@pytest.mark.slow
@pytest.mark.mpi
def test_ranks_see_each_other_and_a_job_that_fails_hangs_or_is_launched_wrong_is_an_error(tmp_path, monkeypatch):
    hello = "from mpi4py import MPI; c = MPI.COMM_WORLD; t = c.allreduce(1); c.rank or print('ranks', t, c.size)"
    assert classroom.mpiexec_code(2, hello) == "ranks 2 2\n"
    assert "mpi4py" not in sys.modules, "the process that launches never starts MPI"
    ill = "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 1: raise SystemExit('the second rank is ill')"
    with pytest.raises(classroom.JobFailed, match="the second rank is ill"):
        classroom.mpiexec_code(2, ill)
    with pytest.raises(classroom.JobFailed, match="no end after 1 s"):
        classroom.mpiexec_code(1, "import time; time.sleep(1000)", timeout=1)
    fake = tmp_path / "mpiexec"  # that starts processes which do not see each other: the classic silent failure
    fake.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr("minitrpo.supervision.mpiexec.launcher", lambda: str(fake))
    with pytest.raises(classroom.JobFailed, match="2 ranks were started and this one sees 1"):
        classroom.mpiexec(2, "train", "--env", "CartPole-v1", "--out", tmp_path / "run")
    with pytest.raises(classroom.JobFailed, match="--max-kl"):
        classroom.train(1, "--max-kl", -1)


def test_a_lecture_finds_its_budget_its_recorded_files_and_the_same_episodes(monkeypatch, tmp_path):
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    assert classroom.budget(100, 1) == 1
    monkeypatch.delenv("MINITRPO_BUDGET")
    assert classroom.budget(100, 1) == 100
    monkeypatch.chdir(tmp_path)
    assert classroom.recorded("05_seeds.csv").read_text().startswith("env,seed,"), "in the clone"
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "05_seeds.csv").write_text("here")
    assert classroom.recorded("05_seeds.csv").read_text() == "here"
    with pytest.raises(FileNotFoundError):
        classroom.recorded("no_such.csv")
    one, two = classroom.play("CartPole-v1", 120).episodes, classroom.play("CartPole-v1", 120).episodes
    assert (one.steps >= 120, one.ended.all()) == (True, True)
    assert np.array_equal(one.observations, two.observations)


# --- guesses


def test_in_jupyter_a_failed_check_is_shown_and_run_all_goes_on(monkeypatch):
    """A kernel that Jupyter started knows its notebook; there a failure is a box instead of an error."""
    shown, name = [], names()[0]
    monkeypatch.setenv("JPY_SESSION_NAME", "notebook.ipynb")
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr("IPython.display.display", shown.append)

    def stub(*arguments):
        raise NotImplementedError("write the body")

    for answer in (lambda *arguments: 0.0, stub, target(name)):
        check(name, answer)
    for box, said in zip(shown, ("not right yet", "not attempted yet", "right."), strict=True):
        assert said in box.data
    vars(mine).clear()


def test_a_measurement_waits_for_the_guess_or_the_button_and_is_shown_beside_it(monkeypatch, capsys):
    classroom.reveal(None, lambda: classroom.compare("length", None, 4.0))
    assert capsys.readouterr().out.endswith("measured 4\n"), "where nobody looks on nobody has to guess"
    shown = []
    monkeypatch.setattr(classroom, "in_jupyter", lambda: True)
    monkeypatch.setattr("IPython.display.display", shown.append)
    classroom.reveal((3, "b"), lambda: classroom.compare("parameters", 60, 5772, "numbers"))
    assert capsys.readouterr().out == "parameters: you predicted 60 numbers, measured 5,772 numbers\n"
    classroom.reveal((3, None), lambda: print("43"))
    assert capsys.readouterr().out == ""
    (box,) = shown
    button = box.children[0].children[1]
    button.click()
    button.click()
    assert capsys.readouterr().out.count("43") == 1


# --- a busy machine


def test_a_busy_machine_is_told_in_one_line_and_nothing_is_recorded_on_it(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["06_timing.py"])
    for used, said in ((60.0, 1), (5.0, 0)):  # per cent of all cores
        monkeypatch.setattr("psutil.cpu_percent", lambda seconds, used=used: used)
        classroom.say_if_busy()
        assert (capsys.readouterr().out.count("\n"), classroom.busy()) == (said, bool(said))
        with contextlib.nullcontext() if not said else pytest.raises(SystemExit, match="--even-if-busy"):
            assert "5% of the cores before it" in machine.Recording().conditions()


def test_the_share_of_others_is_what_is_used_without_us_and_our_children(monkeypatch):
    times = [(1.0, 0.0, 1.0, 7.0, 1.0), (2.0, 0.0, 1.5, 7.4, 1.1)]  # 1.5 s of 2 s were used
    kinds = ("user", "nice", "system", "idle", "iowait")
    monkeypatch.setattr("psutil.cpu_times", lambda: namedtuple("Times", kinds)(*times.pop(0)))
    own = [(0.0,) * 5, (0.1, 0.1, 0.2, 0.1, 9.0)]
    monkeypatch.setattr("os.times", lambda: own.pop(0))
    assert machine.Others().share() == pytest.approx(0.5)


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
    many = Figure()
    for number in range(1, 13):
        panel = many.add_subplot(3, 4, number)
        for k in range(LINES + 3):
            panel.plot([0, 1], [k, k + 1], label=f"curve {k}")
    assert "and 3 more" in describe(many)
    assert len(describe(many)) < MOST + 50


@pytest.mark.slow
def test_the_build_executes_keeps_the_alt_text_and_knows_what_was_shown():
    drawn = (
        "from matplotlib import pyplot as plt\nfrom minitrpo.course.classroom import BLUE\n"
        "plt.plot([0, 1, 2], [1, 5, 3], color=BLUE, label='ours')\n"
        "plt.gca().set(xlabel='steps', ylabel='y')\nplt.show()"
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


def test_the_demo_goes_on_until_its_policy_is_as_good_as_it_was_and_says_what_the_last_one_returns(monkeypatch):
    nothing = float("nan")
    for best in (9000.0, -5.0):
        batches = np.array([best - 10.0, best, nothing])
        assert [demo.stands(best - part * abs(best), batches) for part in (-1.0, 0.05, 0.2)] == [True, True, False]
    assert demo.stands(-1e9, np.full(3, nothing)), "there is nothing to compare with"
    columns = {"mean_return": np.array([100.0, 40.0]), "env_steps": np.array([2000, 4000])}
    folder = SimpleNamespace(path="run", columns=lambda: columns)
    for returns, rounds in (([97.0], 0), ([30.0, 50.0, 95.0], 2), ([30.0] * 9, demo.ROUNDS)):
        left, typed = iter(returns), []
        monkeypatch.setattr(demo, "evaluated", lambda run, left=left: next(left))
        monkeypatch.setattr(demo, "run", lambda *words, typed=typed: typed.append(words))
        assert demo.train_until_it_stands("Any-v0", 2, folder) == returns[rounds]
        assert [words[-1] for words in typed] == [4000 + demo.MORE] * rounds


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("env", ["Reacher-v5", "HalfCheetah-v5"])  # in few of whose batches an episode ends
def test_the_demo_leaves_films_a_curve_and_what_each_rank_did(env, tmp_path):
    """In a fork: a process that has drawn with EGL cannot be forked any more."""
    needs("egl", doctor.rendering().well)
    out = tmp_path / "demo"
    done = forked("demo", "--env", env, "--seconds", 1, "--out", out, cwd=tmp_path)
    assert done.code == 0, str(done)
    page = (out / "index.html").read_text()
    shown = re.findall(r'src="([^"]+)"', page)
    assert shown == ["before/video.mp4", "run/video.mp4", "run/learning_curve.png", "timeline.png"]
    assert [place for place in shown if not (out / place).exists()] == []
    assert imageio.imread(out / "run" / "filmstrip.png").std() > 10, "MuJoCo draws without a screen"
    printed = re.findall(r"^return (\S+) before, (\S+) after", done.out, re.MULTILINE)
    expected = [evaluate(RunFolder(out / name), demo.EPISODES, 0, False, Comm()).mean for name in ("before", "run")]
    assert [[float(number) for number in numbers] for numbers in printed] == [pytest.approx(expected, rel=1e-3)]
    assert f"return {printed[0][1]}" in page, "what stands under the film"
    assert forked("demo", "--env", "CartPoll-v1", "--out", tmp_path / "new", cwd=tmp_path).code == 2
    assert not (tmp_path / "new").exists()
