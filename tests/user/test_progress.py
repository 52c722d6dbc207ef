"""A bar where a person watches, a line now and then elsewhere."""

import os
import sys

import pytest
from runs import SCRIPTS

from minitrpo.reports import progress
from minitrpo.reports.progress import Progress, clock, percentages


def row(iteration, steps):
    seconds = {"collect_s": 0.5, "wait_s": 0.1, "gather_s": 0.1, "update_s": 0.3, "iteration_s": 1.0}
    return {"iteration": iteration, "env_steps": steps, "mean_return": -5.0, "kl": 0.01, **seconds}


def test_lines_come_every_so_often_and_the_last_is_always_shown(capsys):
    display = Progress("lines", 1000, 0)
    for i in range(1, 11):
        display.update(row(i, 100 * i))
    display.close()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["1", "10"]
    assert "steps/s" in lines[0]
    assert "left" in lines[0]
    assert "collect 50% wait 10% gather 10% update 30%" in lines[0]


def test_a_last_line_that_was_shown_is_not_shown_again(capsys):
    display = Progress("lines", 1000, 0)
    display.update(row(1, 1000))
    display.close()
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_line_shows_what_the_algorithm_wants_to_be_seen(capsys):
    for shown in ((), ("kl",), ("gradient_norm", "kl")):
        Progress("lines", 1000, 0, shown).update(row(1, 100) | {"gradient_norm": 12345.678})
    without, one, two = capsys.readouterr().out.splitlines()
    assert "kl" not in without
    assert "| return     -5.00 | kl 0.01 |" in one
    assert "| return     -5.00 | gradient norm 1.235e+04 | kl 0.01 |" in two


def test_none_shows_only_notes(capsys):
    display = Progress("none", 1000, 0)
    display.update(row(1, 100))
    display.note("a rank is idle")
    display.close()
    assert capsys.readouterr().out == "a rank is idle\n"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61, "1:01"), (3661, "1:01:01")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_percentages_of_an_iteration():
    assert percentages(row(1, 1)) == "collect 50% wait 10% gather 10% update 30%"


def test_no_terminal_here(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(progress.os, "getppid", lambda: 1)
    assert not progress.on_terminal()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("launcher", [[], ["mpiexec", "-n", "2"]])
@pytest.mark.parametrize("columns", [0, 72])
def test_a_bar_on_a_terminal_alone_and_under_mpiexec(launcher, columns, tmp_path, monkeypatch):
    """columns 0: a terminal that does not know its size."""
    import pty

    job = ["--env", "CartPole-v1", "--total-steps", "3000", "--steps-per-update", "500"]
    screen = []

    def read(descriptor):
        screen.append(os.read(descriptor, 4096))
        return screen[-1]

    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    sized = ["sh", "-c", f'stty cols {columns}; exec "$@"', "sh"]
    command = [*sized, *launcher, sys.executable, str(SCRIPTS / "train.py"), *job, "--out", str(tmp_path / "r")]
    status = pty.spawn(command, read, lambda fd: b"")
    text = b"".join(screen).decode()
    assert status == 0, text
    assert "steps/s" in text
    assert "return " in text
    assert text.count("\r") > 5, "a bar redraws its line"
    bars = [line for part in text.split("\n") for line in part.split("\r") if "steps/s" in line]
    assert not columns or max(map(len, bars)) <= columns


def test_a_row_without_an_episode_shows_the_last_return_that_was(capsys):
    display, unknown = Progress("lines", 1000, 0, ("kl",)), float("nan")
    for number, returned in enumerate((unknown, 7.5, unknown), start=1):
        display._last = -progress.EVERY  # every row is a line
        display.update(row(number, 100 * number) | {"mean_return": returned, "kl": unknown})
    first, second, third = capsys.readouterr().out.splitlines()
    assert "| return         - | kl - |" in first
    assert "| return      7.50 | kl - |" in second
    assert "| return      7.50 | kl - |" in third


def test_the_time_left_follows_the_last_updates_not_a_slow_first_one(capsys, monkeypatch):
    clock_now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: clock_now[0])
    display = Progress("lines", 100_000, 0)
    clock_now[0] = 600.0
    display.update(row(1, 10))  # ten minutes for ten steps
    for number in range(1, 61):
        clock_now[0] += 3.0
        display.update(row(1 + number, 10 + 1000 * number))
    last = capsys.readouterr().out.splitlines()[-1]
    assert "|     333 steps/s | 2:00 left |" in last
