"""metrics.csv: its columns, its cells and its rows.

A row stands for an update; the algorithm's own columns stand between the first and the last.
"""

import csv
import io
from collections.abc import Callable
from pathlib import Path

from minitrpo.errors import BadInput
from minitrpo.parallel.timing import PHASES


def read_cell(cell: str) -> float:
    """Return the number of a cell, NaN of an empty one; ValueError if it is none."""
    return float(cell or "nan")


FIRST: dict[str, Callable[[str], float]] = {  # with what their cells are
    "iteration": int,
    "env_steps": int,
    "time_s": float,
    "episodes": int,
    "mean_return": read_cell,  # empty where no episode ended, as the next
    "mean_length": read_cell,
    "steps_per_update": float,
}
EVALUATION = ("eval_return",)  # with --eval-every: mean return of fresh episodes of the mean action, or empty
SECONDS = (*(f"{phase}_s" for phase in PHASES), "iteration_s")
LAST = (*SECONDS, "ranks")
# What became of the gradients of an asynchronous algorithm since the last row, and how old they were
GRADIENTS = ("applied", "refused", "lost", "staleness_mean", "staleness_max")
TIMINGS = ("time_s", *LAST)  # differ run by run


def read_rows(place: Path) -> list[dict[str, str]]:
    """Return the rows of a log as text; BadInput if it is not the log of a run.

    A last line without an end is left out: a run was killed while it wrote it.
    """
    try:
        text = place.read_bytes().decode("utf-8")
        header, *lines = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        for row in rows:
            for name, number in FIRST.items():
                number(row[name])
    except OSError as error:
        raise BadInput(f"cannot read {place}: {error.strerror}") from error
    except (ValueError, KeyError, csv.Error) as error:
        raise BadInput(f"{place} is damaged: it is not the log of a run") from error
    return rows


def known_rows(rows: list[dict[str, str]], iteration: int) -> list[dict[str, str]]:
    """Return the rows up to that of an update; none if there is no such row."""
    return rows[: next((i for i, row in enumerate(rows, 1) if int(row["iteration"]) == iteration), 0)]
