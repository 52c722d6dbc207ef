"""metrics.csv as text: the rows of updates that a checkpoint knows are looked at as closely as its arrays."""

import csv
import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array
from minitrpo.run_folder.columns import FIRST, OF_EPISODES

LOG = "run_log"  # the checksum of metrics.csv as it was, among a checkpoint's arrays


def written_cell(value: Any) -> Any:
    """Return what stands in a cell: nothing for a number that is not known, as pandas has it."""
    return "" if isinstance(value, float | np.floating) and math.isnan(value) else value


def read_cell(cell: str, may_be_empty: bool = True) -> float:
    """Return the number of a cell, NaN of an empty one; ValueError if it is none."""
    return float(cell or "nan") if may_be_empty else float(cell)


def read_rows(place: Path) -> list[dict[str, str]]:
    """Return the rows of a log as text; BadInput if it is not the log of a run."""
    try:
        with place.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        check_rows(list(reader.fieldnames or ()), rows)
    except OSError as error:
        raise BadInput(f"cannot read {place}: {error.strerror}") from error
    except (ValueError, TypeError, csv.Error) as error:
        raise BadInput(f"{place} is damaged: it is not the log of a run") from error
    return rows


def check_rows(header: list[str], rows: list[dict[str, Any]]) -> None:
    """Raise ValueError unless these are the names and cells of a log: numbers in the columns that every run has.

    The last row may be cut short: a run was killed while it wrote it.
    """
    if not set(FIRST) <= set(header):
        raise ValueError(f"no column {min(set(FIRST) - set(header))}")
    whole = rows[:-1] if rows and None in rows[-1].values() else rows
    for row in whole:
        for name in FIRST:
            read_cell(row[name], name in OF_EPISODES)


class Checksum:
    """The checksum of a log's lines, however they end; it goes on row by row: a long log is not read again."""

    def __init__(self, *lines: str) -> None:
        self._hash, self._between = hashlib.blake2b(digest_size=16), b""
        self.add(*lines)

    def add(self, *lines: str) -> None:
        """Go on with these lines."""
        for line in lines:
            self._hash.update(self._between + line.encode())
            self._between = b"\n"

    def value(self) -> Array:
        """Return the checksum, (16,) bytes, of all lines so far."""
        return np.frombuffer(self._hash.digest(), np.uint8)


def known_lines(lines: list[str], iteration: int) -> list[str]:
    """Return the header and the rows up to that of an update; the header alone if there is no such row."""
    ends = (i for i, line in enumerate(lines) if i and line.partition(",")[0] == str(iteration))
    return lines[: next(ends, 0) + 1]


def check_log(place: Path, iteration: int, columns: tuple[str, ...], every: int, written: Array | None) -> int:
    """Return how many rows a log has beyond this update; BadInput if it is not as the run wrote it up to there.

    every: how many updates lie between two rows at most. written: its checksum when the checkpoint was made.
    """
    try:
        lines = place.read_text("utf-8").splitlines()
        known = known_lines(lines, iteration)
        header, *rows = list(csv.reader(known))
        numbers, *_ = [[read_cell(row[header.index(name)], name in OF_EPISODES) for row in rows] for name in FIRST]
        apart = np.diff(numbers, prepend=0)
    except OSError as error:
        raise BadInput(f"cannot read {place}: {error.strerror}") from error
    except (ValueError, IndexError, csv.Error) as error:
        raise BadInput(f"{place} is damaged: it is not the log of a run") from error
    if lines[0] != ",".join(columns):
        raise BadInput(f"{place} has other columns than this run: it was changed, or is another run's or version's")
    if (numbers or [0])[-1] != iteration or not all((apart > 0) & (apart <= every)):
        raise BadInput(
            f"{place} does not have the updates 1 to {iteration} that the checkpoint has: "
            "it was changed; put back the file that belongs to this run"
        )
    if written is not None and not np.array_equal(Checksum(*known).value(), written):
        raise BadInput(
            f"{place} is not as the run wrote it up to update {iteration}: it was changed, or is another run's; "
            "put back the file that belongs to this run"
        )
    return len(lines) - len(known)
