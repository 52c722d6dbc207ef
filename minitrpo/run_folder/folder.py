"""The run folder: config.json, metrics.csv, two checkpoints, learning_curve.png. Nothing in it is ever half written."""

import csv
import errno
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import BadInput, shown
from minitrpo.policies import Array
from minitrpo.run_folder.checkpoint import CHECKPOINTS, newest, write
from minitrpo.run_folder.files import (
    check_links,
    is_empty_run,
    make_folder,
    new_numbered,
    no_link,
    read_small,
    sync,
    take_away,
    write_atomically,
)
from minitrpo.run_folder.metrics_log import LOG, Checksum, check_log, known_lines, read_cell, read_rows, written_cell

LOCKS: list[int] = []  # of the folders in which this process works
FORMAT = 5  # of what lies in the folder; another number is another version's


class RunFolder:
    """One run on disk; only the root writes."""

    def __init__(self, path: Path, made: bool = False) -> None:
        self.path, self.made = path.absolute(), made  # an environment may change the working directory

    @classmethod
    def create(
        cls, out: str | None, env: str, seed: int, columns: tuple[str, ...], here: Path | None = None
    ) -> "RunFolder":
        """Return a new folder: `out`, or the next free runs/ENV-seedS-NN. BadInput if something is already there.

        columns: of metrics.csv. here: where relative names begin, by default the working directory.
        """
        here = here or Path.cwd()
        name, folder = f"{env.rpartition(':')[2].replace('/', '-')}-seed{seed}", None
        try:
            made = out is None or not (here / out).exists()
            path = new_numbered(here / "runs", name) if out is None else here / out
            make_folder(path)
            folder = cls(path, made)
            folder.lock()
            if any(path.iterdir()) and not is_empty_run(path):
                go_on = f"or go on with --resume {out}"
                raise BadInput(f"--out {out} exists and is not empty: choose another folder, {go_on}")
            write_atomically(path / "metrics.csv", (",".join(columns) + "\n").encode())
        except FileExistsError as error:
            raise BadInput(f"--out {out} exists and is no folder: choose another name") from error
        except OSError as error:
            take_away(folder.path if folder else None, bool(folder and folder.made))
            raise BadInput(f"cannot write to {out or 'runs'}: {error.strerror}; choose another --out") from error
        except UnicodeError as error:
            raise BadInput(f"--out {shown(out)} has letters that no file can have: choose another name") from error
        return folder

    @classmethod
    def open(cls, path: str, here: Path | None = None) -> "RunFolder":
        """Return an existing run; BadInput if the folder does not hold one. here: where relative names begin."""
        if not path:
            raise BadInput("the name of a folder is empty; give the folder of a run, the one with config.json in it")
        folder = cls((here or Path.cwd()) / path)
        try:
            if not folder.path.is_dir():
                raise BadInput(f"there is no folder {path}; give the folder of a run, the one with config.json in it")
            for name in ("config.json", "metrics.csv"):
                if not (folder.path / name).is_file():
                    raise BadInput(f"{path} holds no {name}: it is not the folder of a run")
            check_links(folder.path)
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror}") from error
        return folder

    def lock(self) -> None:
        """Keep other runs out until this process ends, or `let_go` does; BadInput if one is at work here."""
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        LOCKS.append(os.open(self.path, os.O_RDONLY))
        try:
            fcntl.flock(LOCKS[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(f"another run is at work in {self.path}: wait for its end, or stop it first") from error
        except OSError:
            return  # a file system without locks

    def write_config(
        self, settings: dict[str, Any], provenance: dict[str, Any], resumed: list[Any] | None = None
    ) -> None:
        """Write the settings and what made the run: command, versions, cores, ranks, date; the same of resumptions."""
        config = {"format": FORMAT, "settings": settings, "provenance": provenance, "resumed": resumed or []}
        try:
            write_atomically(self.path / "config.json", json.dumps(config, indent=2).encode())
        except OSError as error:
            take_away(self.path, self.made)
            raise BadInput(f"cannot write to {self.path}: {error.strerror}") from error

    def read_config(self) -> dict[str, Any]:
        """Return {"settings": ..., "provenance": ...}; BadInput if the file is damaged or another version's."""
        place = self.path / "config.json"
        try:
            config: dict[str, Any] = json.loads(read_small(place))
            found, resumed = config.get("format", 1), config.get("resumed")  # older formats have none
            ok = all(isinstance(key, str) for key in config["settings"]) and isinstance(config["provenance"], dict)
            ok = ok and isinstance(config["settings"]["env"], str) and (isinstance(resumed, list) or found != FORMAT)
        except OSError as error:
            raise BadInput(f"cannot read {place}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadInput(f"{place} is damaged: it is not the settings of a run") from error
        if not ok:
            raise BadInput(f"{place} is damaged: it is not the settings of a run")
        if found != FORMAT:
            raise BadInput(f"{place} was written by another version of minitrpo (format {found!r}, not {FORMAT})")
        return config

    @cached_property
    def header(self) -> list[str]:
        """Return the names of the columns of metrics.csv."""
        return (self.path / "metrics.csv").read_text("utf-8").partition("\n")[0].rstrip("\r").split(",")

    def append(self, row: dict[str, Any]) -> str:
        """Add one update to metrics.csv; return a note if somebody else wrote to it, of which nothing is kept."""
        written, text, place = self._written, io.StringIO(newline=""), self.path / "metrics.csv"
        csv.DictWriter(text, self.header, lineterminator="\n").writerow({k: written_cell(v) for k, v in row.items()})
        with open(place, "r+b", opener=no_link) as file:  # "a" would make a new one
            beyond = file.seek(0, os.SEEK_END) - self._size
            if beyond < 0:
                raise OSError(errno.EIO, "it was cut while the run was at work", str(place))
            file.seek(self._size)
            self._size += file.write(text.getvalue().encode())
            file.truncate()
        written.add(*text.getvalue().splitlines())
        return f"note: somebody else wrote {beyond} byte(s) to metrics.csv: they are cut off" if beyond else ""

    def rows(self) -> list[dict[str, str]]:
        """Return the rows of metrics.csv as text; BadInput if that is not the log of a run."""
        return read_rows(self.path / "metrics.csv")

    def columns(self) -> dict[str, Array]:
        """Return the numeric columns of metrics.csv as arrays, one entry per update, NaN where a cell is empty."""
        rows, numeric = self.rows(), {}
        for name in self.header:
            try:
                numeric[name] = np.array([read_cell(row[name]) for row in rows])
            except ValueError:  # a column of words
                continue
        return numeric

    def check_log(self, iteration: int, columns: tuple[str, ...], every: int, written: Array | None) -> int:
        """Return how many rows metrics.csv has beyond this update: see `log.check_log`."""
        return check_log(self.path / "metrics.csv", iteration, columns, every, written)

    def forget_after(self, iteration: int) -> None:
        """Drop the rows of updates that the checkpoint of `iteration` does not know."""
        known = known_lines(self._log(), iteration)
        content = ("\n".join(known) + "\n").encode()
        write_atomically(self.path / "metrics.csv", content)
        self._written, self._size = Checksum(*known), len(content)

    @cached_property
    def _written(self) -> Checksum:
        """Of metrics.csv as this run has written it."""
        self._size = (self.path / "metrics.csv").stat().st_size  # bytes
        return Checksum(*self._log())

    def _log(self) -> list[str]:
        return (self.path / "metrics.csv").read_text("utf-8").splitlines()

    def save_checkpoint(self, arrays: dict[str, Array]) -> None:
        """Write checkpoint.npz at once or not at all; the one before is kept, and the log is on the disk first."""
        sync(self.path / "metrics.csv")
        write(self.path, {**arrays, LOG: self._written.value()})

    def check_files(self) -> None:
        """Raise BadInput if something that is no file has the name of one that a run replaces."""
        begun = map("{}.tmp".format, ("config.json", *CHECKPOINTS))
        for name in ("learning_curve.png", "failure.txt", *CHECKPOINTS, *begun):
            if os.path.lexists(self.path / name) and not (self.path / name).is_file():
                raise BadInput(f"{self.path / name} is not a file: move it away")

    def load_checkpoint(self) -> dict[str, Array]:
        """Return the arrays of the newest checkpoint."""
        return self.checkpoint()[0]

    def checkpoint(self) -> tuple[dict[str, Array], str]:
        """Return the newest whole checkpoint, {} if there is none yet, and a note if one is damaged; see `newest`."""
        return newest(self.path)


@contextmanager
def let_go() -> Iterator[None]:
    """Let go, after the body of a `with`, of the folders that were kept from other runs in it."""
    before = len(LOCKS)
    try:
        yield
    finally:
        while len(LOCKS) > before:
            with suppress(OSError):  # an environment closed all that it found open
                os.close(LOCKS.pop())


def sha256(theta: Array) -> str:
    """Return the hash of the policy's parameters by which runs are compared."""
    return hashlib.sha256(np.ascontiguousarray(theta, dtype=np.float64).tobytes()).hexdigest()
