"""A bar where a person watches, a line now and then elsewhere. Under mpiexec: test_interfaces.py."""

import os
import sys
import termios

import pytest

from minitrpo.reports import progress
from minitrpo.reports.progress import Progress, clock

NOT_YET = float("nan")


def row(iteration, steps, **changes):
    seconds = {"collect_s": 0.5, "wait_s": 0.1, "gather_s": 0.1, "update_s": 0.3, "iteration_s": 1.0}
    return {"iteration": iteration, "env_steps": steps, "mean_return": -5.0, "kl": 0.01, **seconds, **changes}


@pytest.fixture
def now(monkeypatch):
    """The time, as a list of one number."""
    time = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: time[0])
    return time


def test_lines_come_every_so_often_and_the_last_is_shown_once(now, capsys):
    for rows in (10, 1):
        display = Progress("lines", 1000, 0)
        for i in range(1, rows + 1):
            now[0] += 0.1
            display.update(row(i, 100 * i))
        display.close()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["1", "10", "1"]
    assert "collect 50% wait 10% gather 10% update 30%" in lines[0]


def test_a_line_shows_what_the_algorithm_wants_to_be_seen_and_the_last_number_that_was(now, capsys):
    Progress("lines", 1000, 0, ()).update(row(1, 100))
    display = Progress("lines", 1000, 0, ("gradient_norm", "kl"))
    for number, returned in enumerate((NOT_YET, 7.5, NOT_YET), start=1):
        now[0] += 10.0
        display.update(row(number, 100 * number, mean_return=returned, kl=NOT_YET, gradient_norm=12345.678))
    without, first, *later = capsys.readouterr().out.splitlines()
    assert "kl" not in without
    assert "| return         - | gradient norm 1.235e+04 | kl - |" in first
    assert [line.count("| return      7.50 |") for line in later] == [1, 1]


def test_the_time_left_follows_the_last_updates_not_a_slow_first_one(now, capsys):
    display = Progress("lines", 100_000, 0)
    now[0] += 600.0
    display.update(row(1, 10))  # ten minutes for ten steps
    for number in range(1, 61):
        now[0] += 3.0
        display.update(row(1 + number, 10 + 1000 * number))
    assert "|     333 steps/s | 2:00 left |" in capsys.readouterr().out.splitlines()[-1]
    assert [clock(seconds) for seconds in (0, 61, 3661)] == ["0:00", "1:01", "1:01:01"]


def test_none_shows_only_notes(capsys):
    display = Progress("none", 1000, 0)
    display.update(row(1, 100))
    for _ in range(2):
        display.note("a rank is idle")
    display.close()
    assert capsys.readouterr().out == "a rank is idle\n"


@pytest.mark.parametrize("columns", [0, 72])
def test_a_bar_fits_the_terminal_or_one_that_does_not_know_its_size(columns, monkeypatch):
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (0 if columns == 0 else 24, columns))
    with os.fdopen(theirs, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        display = Progress("auto", 1000, 0)
        for i in range(1, 8):
            display.update(row(i, 100 * i))
        display.note("a rank is idle")
        display.close()
        screen.flush()
        text = os.read(ours, 65536).decode()
    os.close(ours)
    bars = [line for part in text.split("\n") for line in part.split("\r") if "steps/s" in line]
    assert len(bars) >= 7, "redrawn with every update"
    assert max(map(len, bars)) <= (columns or 110)
    assert "return -5" in bars[-1]
    assert "a rank is idle" in text
