"""How far the predicted seconds of an iteration are from measured ones, as `mpi_scripts/scaling.py check` found.

The rows of one machine are what `check` printed, with its digits; those over a cable between two hosts are what
`tests/tools/hosts.py` printed.
"""

from typing import Any, NamedTuple

import numpy as np

from experiments import tables
from experiments.tables import markdown as table

FOLDER = tables.DATA / "scaling_check"
COLUMNS = ("task", "ranks", "learner", "pool", "predicted_s", "measured_s", "low_s", "high_s")


class Errors(NamedTuple):
    """Relative errors of the predictions without their sign: over all rows, and where each rank has a core."""

    count: int
    median: float
    largest: float
    own_core: float
    over_cable: float


def recorded() -> dict[str, Any]:
    """Return the newest recorded check: its columns in "rows", its machine, version and date."""
    return tables.load(FOLDER)[-1]


def off(rows: dict[str, Any]) -> tables.Array:
    """Return the relative error of every row, (n,): positive if the prediction is too long."""
    return np.asarray(rows["predicted_s"] / rows["measured_s"] - 1)


def errors() -> Errors:
    """Return how large the errors of the recorded check are."""
    run = recorded()
    rows, size = run["rows"], np.abs(off(run["rows"]))
    cable = np.array(["hosts" in task for task in rows["task"]])
    own_core = (rows["ranks"] <= run["machine"]["cores"]) & ~cable
    medians = (float(np.median(size[which])) for which in (own_core, cable))
    return Errors(len(size), float(np.median(size)), float(size.max()), *medians)


def made() -> str:
    """Return what made the recorded check, in a few words."""
    run = recorded()
    return f"{run['machine']['cores']} cores, {run['machine']['machine'].partition(', ')[2]}; {run['date']}"


def report() -> str:
    """Return all rows of the recorded check, and their median errors."""
    run = recorded()
    rows, cells = run["rows"], []
    for n, error in enumerate(off(rows)):
        ranks = f"{rows['ranks'][n]:.0f}{'*' * int(rows['ranks'][n] > run['machine']['cores'])}"
        measured = f"{rows['measured_s'][n]:.3g} ({rows['low_s'][n]:.3g} to {rows['high_s'][n]:.3g})"
        words = (rows["task"][n], ranks, rows["learner"][n], rows["pool"][n])
        cells.append((*words, f"{rows['predicted_s'][n]:.3g}", measured, f"{100 * error:+.0f} %"))
    header = ("task", "ranks", "learner", "pool", "predicted, s", "measured, s (95 %)", "error")
    found = errors()
    medians = f"all {found.count} rows {100 * found.median:.0f} %, a core for every rank {100 * found.own_core:.0f} %"
    note = f"Median errors: {medians}, over a slow cable {100 * found.over_cable:.0f} %. \\* more ranks than cores."
    return f"{table(header, cells, 4)}\n\n{note}\n\n*{made()}; version {run['version']}; `{run['setting']}`.*"
