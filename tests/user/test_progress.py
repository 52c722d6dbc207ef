"""A bar where a person watches, a line now and then elsewhere."""

import os
import sys

import pytest

from minitrpo.reports import progress
from minitrpo.reports.progress import Progress

NOT_YET = float("nan")


def row(iteration, steps, **changes):
    seconds = {"collect_s": 0.5, "wait_s": 0.1, "gather_s": 0.1, "update_s": 0.3, "iteration_s": 1.0}
    return {"iteration": iteration, "env_steps": steps, "mean_return": -5.0, "kl": 0.01, **seconds, **changes}


@pytest.mark.parametrize("rows", [1, 64])
def test_a_line_now_and_then_and_of_the_last_row_says_where_the_run_stands(rows, monkeypatch, capsys):
    """A slow first update, ten minutes for ten steps, sixty of three seconds, and three quick ones."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    display = Progress("lines", 100_000, 0, ("gradient_norm", "kl"))
    for number in range(rows):
        now[0] += 600.0 if number == 0 else 3.0 if number <= 60 else 0.1
        numbers = {"mean_return": 7.5 if number == 1 else NOT_YET, "gradient_norm": 12345.678, "kl": NOT_YET}
        display.update(row(1 + number, 10 + 1000 * number, **numbers))
    display.close()
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[1]) for line in lines] == [*range(1, 62), 64][: min(rows, 62)]
    assert "| return - | gradient norm 12346 | kl - |" in lines[0]
    assert "collect 50% wait 10% gather 10% update 30%" in lines[0]
    if rows > 1:
        assert "|     333 steps/s | 02:00 left |" in lines[60], "as fast as of late"
        assert "| return 7.5 |" in lines[60], "the last that is known"


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
    monkeypatch.setenv("COLUMNS", str(columns))
    with os.fdopen(theirs, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        display = Progress("auto", 1000, 0)
        for i in range(1, 8):
            display.update(row(i, 100 * i))
        display.note("a rank is idle")
        display.close()
        screen.write("the end\n")
        screen.flush()
        text = ""
        while "the end" not in text:  # a terminal hands over what has arrived, not all that was written
            text += os.read(ours, 65536).decode()
    os.close(ours)
    bars = [line for part in text.split("\n") for line in part.split("\r") if "steps/s" in line]
    assert max(map(len, bars)) <= (columns or 110)
    assert "return -5" in bars[-1]
    assert "a rank is idle" in text
