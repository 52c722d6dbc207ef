"""Recorded numbers on disk: a folder has runs.csv, tables of points, and origin.json, which says what made them.

A row of runs.csv is a run: `run` is its number, `version` is minitrpo's; `setting` and `machine` are numbers of entries
in origin.json. Another table, such as curves.csv, has a row for each point, and in `run` the run that it is of. Text
stands in quotes, numbers do not, and what there is not is "". A table of more than 300 kB is packed: curves.csv.gz.
"""

import csv
import fcntl
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.statistics import Interval
from minitrpo.policies import Array
from minitrpo.run_folder.atomic_files import write_atomically

DATA = Path(__file__).parent / "data"
PACKED = 300_000  # bytes
Columns = dict[str, list[Any]]
Points = Mapping[str, Mapping[str, Any]]  # name of a table -> its columns
Run = dict[str, Any]  # a row of runs.csv, its setting and machine as such, and {name of a table: {column: (points,)}}


@cache
def load(folder: Path) -> list[Run]:
    """Return all runs that are recorded in a folder, in the order in which they were."""
    tables, origin = read(folder)
    rows = tables.pop("runs", {"run": []})
    runs = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    for run in runs:
        run["setting"] = origin["settings"][str(int(run["setting"]))]
        run["machine"] = origin["machines"][str(int(run["machine"]))]
    for name, columns in tables.items():
        arrays = {column: array(cells) for column, cells in columns.items()}
        whose = arrays.pop("run")
        for run in runs:
            there = slice(*np.searchsorted(whose, [run["run"], run["run"] + 1]))
            run[name] = {column: cells[there] for column, cells in arrays.items()}
    return runs


def curve(run: Run, x: str = "env_steps", y: str = "mean_return") -> tuple[Array, Array]:
    """Return two columns of a run's points, from the first of its tables that has both; empty if there is none."""
    found = (points for points in run.values() if isinstance(points, dict) and x in points and y in points)
    points = next(found, {x: np.zeros(0), y: np.zeros(0)})
    return points[x], points[y]


def aligned(curves: list[tuple[Array, Array]], spacing: Callable[[float, float], Array]) -> tuple[Array, Array]:
    """Return places that all curves cover, spaced between the first and the last, and the curves there, (n, places)."""
    places = spacing(max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves))
    return places, np.array([np.interp(places, *one) for one in curves])


def markdown(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], text: int = 1) -> str:
    """Return a table of a page; the first columns are text, the others numbers."""
    rule = ("---",) * text + ("---:",) * (len(header) - text)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def ranged(cells: Mapping[str, Any], form: str) -> str:
    """Return the median ratio of a few rounds, and the lowest and the highest of them."""
    return f"{cells['ratio']:{form}}, range {cells['lowest']:{form}} to {cells['highest']:{form}}"


def written(interval: Interval, form: str) -> str:
    """Return a number with its interval, or alone where one seed allows none."""
    return f"{interval:{form}}" if np.isfinite(interval.low) else f"{interval.middle:{form}}"


def array(cells: list[Any]) -> Array:
    """Return a column as an array: NaN for numbers that there are not."""
    text = any(isinstance(cell, str) and cell for cell in cells)
    return np.array([np.nan if cell == "" and not text else cell for cell in cells])


def add(folder: Path, row: Mapping[str, Any], setting: Any, machine: Any, points: Points) -> None:
    """Record a run. Several processes may do so at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        tables, origin = read(folder)
        number = 1 + int(max((number for columns in tables.values() for number in columns["run"]), default=0))
        ids = {"setting": id_of(origin["settings"], setting), "machine": id_of(origin["machines"], machine)}
        extend(tables.setdefault("runs", {}), {key: [value] for key, value in ({"run": number, **row} | ids).items()})
        for name, columns in points.items():
            count = len(next(iter(columns.values())))
            extend(tables.setdefault(name, {}), {"run": [number] * count} | dict(columns))
        write(folder, tables, origin)
    load.cache_clear()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time write into a folder."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def id_of(known: dict[str, Any], thing: Any) -> int:
    """Return the number of an entry of origin.json, which gets it if it is new."""
    number = next((number for number, other in known.items() if other == thing), str(len(known) + 1))
    known[number] = thing
    return int(number)


def extend(columns: Columns, more: Mapping[str, Any]) -> None:
    """Add rows to columns; what either side has not is ""."""
    old, new = (len(next(iter(each.values()), [])) for each in (columns, more))
    for name in {**columns, **more}:
        columns[name] = [*columns.get(name, [""] * old), *map(plain, more.get(name, [""] * new))]


def plain(value: Any) -> Any:
    """Return a value as a table has it: integers whole, seven digits of other numbers, "" for NaN and None."""
    if value is None or isinstance(value, str):
        return value or ""
    return "" if np.isnan(value) else int(value) if value == int(value) else float(f"{value:.7g}")


def read(folder: Path) -> tuple[dict[str, Columns], dict[str, dict[str, Any]]]:
    """Return the tables of a folder and what made them, all of it empty where nothing is recorded."""
    tables: dict[str, Columns] = {}
    # A process that was killed while it wrote leaves NAME.tmp, which is no table.
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]):
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        head, *rows = csv.reader(io.StringIO(text), quoting=csv.QUOTE_NONNUMERIC)
        cells = zip(*rows, strict=True) if rows else ([] for _ in head)
        tables[path.name.partition(".")[0]] = {name: list(column) for name, column in zip(head, cells, strict=True)}
    origin = folder / "origin.json"
    return tables, json.loads(origin.read_text()) if origin.exists() else {"settings": {}, "machines": {}}


def write(folder: Path, tables: Mapping[str, Columns], origin: Mapping[str, Any]) -> None:
    """Write tables and what made them; runs.csv, which says what counts, comes last."""
    parts = []
    for kind, known in origin.items():
        lines = ",\n".join(f"{json.dumps(number)}: {json.dumps(thing)}" for number, thing in known.items())
        parts.append(f"{json.dumps(kind)}: {{\n{lines}\n}}")
    write_atomically(folder / "origin.json", ("{\n" + ",\n".join(parts) + "\n}\n").encode())
    for name in sorted(tables, key=lambda name: name == "runs"):
        text = io.StringIO()
        rows = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        rows.writerow(tables[name])
        rows.writerows(zip(*([plain(cell) for cell in column] for column in tables[name].values()), strict=True))
        content, path = text.getvalue().encode(), folder / f"{name}.csv"
        packed = len(content) > PACKED
        write_atomically(Path(f"{path}.gz") if packed else path, gzip.compress(content, mtime=0) if packed else content)
        (path if packed else Path(f"{path}.gz")).unlink(missing_ok=True)
