"""metrics.csv: its columns, its cells and its rows.

A row is made of a `Record`. COLUMNS says of each column what it is called, what it means, and how it follows from the
record, so a new column is one more entry there. The algorithm's own columns stand before the last ones.
"""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.errors import BadInput
from minitrpo.parallel.parameter_server import staleness_of
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array


class Gradients(NamedTuple):
    """What became of the gradients of an asynchronous algorithm, and how old the applied ones were."""

    applied: int
    refused: int
    lost: int
    histogram: Array  # (BINS,), applied gradients by staleness


@dataclass(frozen=True)
class Record:
    """What a row is made of: all updates since the row before. The loop makes it, and the log adds the times."""

    iteration: int
    env_steps: int
    steps_per_update: int
    episodes: int  # that ended
    returns: float  # sum of the returns of these episodes
    lengths: float  # sum of their numbers of steps
    columns: dict[str, Any]  # the algorithm's own
    evaluation: float | None = None  # mean return of an evaluation, if there was one
    gradients: Gradients | None = None  # of an asynchronous algorithm
    seconds: dict[str, float] = field(default_factory=dict)  # by column, see `Timeline.row`
    time_s: float = 0.0
    ranks: int = 1


def read_cell(cell: str) -> float:
    """Return the number of a cell, NaN of an empty one; ValueError if it is none."""
    return float(cell or "nan")


class Column(NamedTuple):
    """A column that does not depend on the algorithm."""

    name: str
    meaning: str
    value: Callable[[Any], Any]  # from a Record; NaN leaves the cell empty
    group: str = "first"  # evaluation: with --eval-every; gradients: of asynchronous algorithms; last: at the end
    read: Callable[[str], float] = read_cell


def _mean(total: float, episodes: int) -> float:
    return total / episodes if episodes else float("nan")


def _seconds(phase: str, meaning: str) -> Column:
    return Column(f"{phase}_s", meaning, lambda record: record.seconds[f"{phase}_s"], "last")


COLUMNS = (
    Column("iteration", "number of the row's last update", lambda r: r.iteration, read=int),
    Column("env_steps", "environment steps since the run began", lambda r: r.env_steps, read=int),
    Column(
        "time_s",
        "seconds since the run began; an evaluation counts only where other ranks train meanwhile",
        lambda r: r.time_s,
        read=float,
    ),
    Column("episodes", "episodes that ended since the row before", lambda r: r.episodes, read=int),
    Column("mean_return", "their mean return; empty if none ended", lambda r: _mean(r.returns, r.episodes)),
    Column("mean_length", "their mean number of steps", lambda r: _mean(r.lengths, r.episodes)),
    Column("steps_per_update", "steps that the last update asked for", lambda r: r.steps_per_update, read=float),
    Column(
        "eval_return",
        "mean return of new episodes of the most probable action",
        lambda r: float("nan") if r.evaluation is None else r.evaluation,
        "evaluation",
    ),
    Column("applied", "gradients applied since the row before", lambda r: r.gradients.applied, "gradients"),
    Column("refused", "gradients refused", lambda r: r.gradients.refused, "gradients"),
    Column("lost", "updates lost because two ranks wrote at once", lambda r: r.gradients.lost, "gradients"),
    Column(
        "staleness_mean",
        "mean number of gradients applied between a gradient's pull and its push",
        lambda r: staleness_of(r.gradients.histogram)[0],
        "gradients",
    ),
    Column("staleness_max", "the largest", lambda r: staleness_of(r.gradients.histogram)[1], "gradients"),
    _seconds("collect", "seconds in which rank 0 played"),
    _seconds("wait", "seconds in which rank 0 waited for the other ranks, or for their messages"),
    _seconds("gather", "seconds in which rank 0 received what the others had played"),
    _seconds("update", "seconds of the update on rank 0; waiting for ranks that share it is included"),
    _seconds("iteration", "seconds since the row before; evaluations count as in `time_s`"),
    Column("ranks", "number of processes", lambda r: r.ranks, "last"),
)


def _names(group: str) -> tuple[str, ...]:
    return tuple(column.name for column in COLUMNS if column.group == group)


FIRST, EVALUATION, GRADIENTS, LAST = map(_names, ("first", "evaluation", "gradients", "last"))
SECONDS = (*(f"{phase}_s" for phase in PHASES), "iteration_s")
TIMINGS = ("time_s", *LAST)  # differ run by run


def row_of(record: Record, header: list[str]) -> dict[str, Any]:
    """Return the cells of a row by column; of the columns that do not depend on the algorithm, those in `header`."""
    return {column.name: column.value(record) for column in COLUMNS if column.name in header} | record.columns


def read_rows(place: Path) -> list[dict[str, str]]:
    """Return the rows of a log as text; BadInput if it is not the log of a run.

    A last line without an end is left out: a run was killed while it wrote it.
    """
    try:
        text = place.read_bytes().decode("utf-8")
        header, *lines = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        for column in (column for column in COLUMNS if column.group == "first"):
            for row in rows:
                column.read(row[column.name])
    except OSError as error:
        raise BadInput(f"cannot read {place}: {error.strerror}") from error
    except (ValueError, KeyError, csv.Error) as error:
        raise BadInput(f"{place} is damaged: it is not the log of a run") from error
    return rows


def known_rows(rows: list[dict[str, str]], iteration: int) -> list[dict[str, str]]:
    """Return the rows up to that of an update; none if there is no such row."""
    return rows[: next((i for i, row in enumerate(rows, 1) if int(row["iteration"]) == iteration), 0)]
