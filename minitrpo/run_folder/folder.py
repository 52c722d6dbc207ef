"""The run folder: all that a run leaves on the disk, and the only file that says what lies where.

- config.json: the settings, and what made the run (`provenance`), also of every time that it was resumed;
- metrics.csv: a row for each update (or --record-every of them), written as the run goes on;
- checkpoint.npz and checkpoint_before.npz: the newest state of the run and the one before, arrays without pickle;
- learning_curve.png, and what commands add: trace.json, video.mp4, filmstrip.png;
- failure.txt: why the first rank failed that did (`supervision.watchdog`).

Nothing in it is ever half written.
"""

import csv
import fcntl
import hashlib
import io
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.metrics_csv import known_rows, read_cell, read_rows

LOCKS: list[int] = []  # of the folders in which this process works
FORMAT = 5  # of what lies in the folder; another number is another version's
CHECKPOINTS = ("checkpoint.npz", "checkpoint_before.npz")  # the newest, and the one before it


# --- the folder


class RunFolder:
    """One run on disk; only the root writes."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # an environment may change the working directory
        self._log = self.path / "metrics.csv"

    @classmethod
    def create(
        cls, out: str | None, env: str, seed: int, columns: tuple[str, ...], here: Path | None = None
    ) -> "RunFolder":
        """Make the folder of a new run.

        Args:
            out: its name; None: the next free runs/ENV-seedS-NN.
            env: the environment.
            seed: the seed of the run.
            columns: the names of the columns of metrics.csv.
            here: the folder in which relative names begin, by default the working directory.

        Returns:
            The folder, with an empty metrics.csv in it.

        Raises:
            BadInput: something lies there already, or nothing can be written there.

        """
        here = here or Path.cwd()
        name = f"{env.rpartition(':')[2].replace('/', '-')}-seed{seed}"
        try:
            folder = cls(_new_numbered(here / "runs", name) if out is None else here / out)
            folder.path.mkdir(parents=True, exist_ok=True)
            folder.lock()
            check_free(folder.path)
            write_atomically(folder._log, (",".join(columns) + "\n").encode())
        except OSError as error:
            raise BadInput(f"cannot write to {out or 'runs'}: {error.strerror}; choose another --out") from error
        return folder

    @classmethod
    def open(cls, path: str) -> "RunFolder":
        """Return an existing run; BadInput if the folder does not hold one."""
        if not os.path.isdir(path):
            raise BadInput(f"there is no folder {path!r}; give the folder of a run, the one with config.json in it")
        for name in ("config.json", "metrics.csv"):
            if not os.path.isfile(os.path.join(path, name)):
                raise BadInput(f"{path} holds no {name}: it is not the folder of a run")
        return cls(Path(path))

    def lock(self) -> None:
        """Keep other runs out until this process ends, or `release_locks` does; BadInput if one is at work here."""
        try:
            LOCKS.append(os.open(self.path, os.O_RDONLY))
            fcntl.flock(LOCKS[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(f"another run is writing into {self.path}: wait for its end, or stop it first") from error
        except OSError:
            return  # a file system without locks

    def write_config(
        self, settings: dict[str, Any], provenance: dict[str, Any], resumed: list[Any] | None = None
    ) -> None:
        """Write the settings and what made the run: command, versions, cores, ranks, date; the same of resumptions."""
        config = {"format": FORMAT, "settings": settings, "provenance": provenance, "resumed": resumed or []}
        try:
            (self.path / "failure.txt").unlink(missing_ok=True)  # of the run before: its ranks would be mute
            write_atomically(self.path / "config.json", json.dumps(config, indent=2).encode())
        except OSError as error:
            raise BadInput(f"cannot write to {self.path}: {error.strerror}") from error

    def read_config(self) -> dict[str, Any]:
        """Return {"settings": ..., "provenance": ..., "resumed": [...]}; BadInput if it is damaged, or too old."""
        config = read_json(self.path / "config.json")
        if config.get("format") != FORMAT:
            raise BadInput(f"{self.path / 'config.json'} was written by another version of minitrpo")
        return config

    @cached_property
    def header(self) -> list[str]:
        """Return the names of the columns of metrics.csv."""
        return self._log.read_text("utf-8").partition("\n")[0].split(",")

    def append(self, row: dict[str, Any]) -> None:
        """Add one update to metrics.csv; a number that is not known leaves its cell empty, as pandas has it."""
        cells = {name: "" if value != value else value for name, value in row.items()}
        header = self.header
        with self._log.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, header, lineterminator="\n").writerow(cells)

    def rows(self) -> list[dict[str, str]]:
        """Return the rows of metrics.csv as text; BadInput if that is not the log of a run."""
        return read_rows(self._log)

    def columns(self) -> dict[str, Array]:
        """Return the numeric columns of metrics.csv as arrays, one entry per update, NaN where a cell is empty."""
        rows, numeric = self.rows(), {}
        for name in self.header:
            try:
                numeric[name] = np.array([read_cell(row[name]) for row in rows])
            except ValueError:  # a column of words
                continue
        return numeric

    def check_log(self, iteration: int, env_steps: int, columns: tuple[str, ...], every: int) -> int:
        """Compare metrics.csv with the checkpoint of the same run.

        Args:
            iteration: the update after which the checkpoint was made.
            env_steps: the environment steps taken until then.
            columns: the names of the columns that metrics.csv must have.
            every: how many updates lie between two rows at most.

        Returns:
            How many rows metrics.csv has beyond this update.

        Raises:
            BadInput: a column, or an update up to this one, is missing.

        """
        rows = self.rows()
        known = known_rows(rows, iteration)
        apart = np.diff([int(row["iteration"]) for row in known], prepend=0)
        last = (int(known[-1]["iteration"]), int(known[-1]["env_steps"])) if known else (0, 0)
        whole = last == (iteration, env_steps) and all((apart > 0) & (apart <= every))
        if not whole or tuple(self.header) != columns:
            raise BadInput(
                f"{self._log} does not have the columns, or updates 1 to {iteration}, that the checkpoint has: "
                "it was changed, or is another run's; put back the file that belongs to this run"
            )
        return len(rows) - len(known)

    def forget_after(self, iteration: int) -> None:
        """Drop the rows of updates that the checkpoint of `iteration` does not know."""
        text = io.StringIO(newline="")
        log = csv.DictWriter(text, self.header, lineterminator="\n")
        log.writeheader()
        log.writerows(known_rows(self.rows(), iteration))
        write_atomically(self._log, text.getvalue().encode())

    def save_checkpoint(self, arrays: dict[str, Array]) -> None:
        """Write checkpoint.npz at once or not at all; the one before is kept, and the log is on the disk first."""
        with self._log.open("rb") as file:
            os.fsync(file.fileno())
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        last, before = (self.path / name for name in CHECKPOINTS)
        write_atomically(last, content.getvalue(), keep=before)

    def load_checkpoint(self) -> dict[str, Array]:
        """Return the arrays of the newest whole checkpoint, {} if there is none yet."""
        return newest(self.path)[0]


def check_free(*paths: Path) -> None:
    """Raise BadInput if the folder of a new run has any files, except those of a run that never began."""
    for path in paths:
        log = path / "metrics.csv"
        names = {file.name for file in path.iterdir()} if path.is_dir() else {path.name}
        never_began = names <= {"metrics.csv", "metrics.csv.tmp", "config.json.tmp"}
        if log.exists() and log.read_bytes().count(b"\n") > 1:
            never_began = False
        if path.exists() and not never_began:
            raise BadInput(f"--out {path} is not empty: choose another, or continue: --resume {shlex.quote(str(path))}")


def read_json(place: Path) -> dict[str, Any]:
    """Return what a config.json holds; BadInput if that is not settings, whatever else there is."""
    try:
        config: dict[str, Any] = json.loads(place.read_text("utf-8"))
        if not isinstance(config["settings"], dict):
            raise TypeError
    except OSError as error:
        raise BadInput(f"cannot read {place}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{place} is damaged: it is not the settings of a run") from error
    return config


@contextmanager
def release_locks() -> Iterator[None]:
    """Release, after the body of a `with`, the folders that were kept from other runs in it."""
    before = len(LOCKS)
    try:
        yield
    finally:
        while len(LOCKS) > before:
            os.close(LOCKS.pop())


def sha256(theta: Array) -> str:
    """Return the hash of the policy's parameters by which runs are compared."""
    return hashlib.sha256(np.ascontiguousarray(theta, dtype=np.float64).tobytes()).hexdigest()


def _new_numbered(parent: Path, name: str) -> Path:
    """Return a new folder parent/name-NN, made at once, so that two runs started together do not share it."""
    for number in count(1):
        path = parent / f"{name}-{number:02d}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        break
    return path


# --- what stands in its files


def newest(folder: Path) -> tuple[dict[str, Array], str]:
    """Read the newest whole checkpoint of a run.

    Args:
        folder: the folder of the run.

    Returns:
        Its arrays, {} if the run has not got as far as its first; and a note if a newer one is damaged, else "".

    Raises:
        BadInput: there are checkpoints, and none is whole; or one cannot be read at this moment.

    """
    damaged = []
    for place in (folder / name for name in CHECKPOINTS):
        try:
            content = place.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:  # too many open files, a bad wire: it passes, and is no damage
            raise BadInput(f"cannot read {place}: {error.strerror}; nothing was changed") from error
        try:
            arrays = read_arrays(content)
        except Exception:  # numpy and zipfile raise a dozen kinds, depending on where a bit has flipped
            damaged.append(f"{place} is damaged")
            continue
        return arrays, f"note: {damaged[0]}; continuing from {place.name}" if damaged else ""
    if damaged:
        raise BadInput(f"{'; '.join(damaged)}; the run cannot be resumed")
    return {}, ""


def read_arrays(content: bytes) -> dict[str, Array]:
    """Return the arrays of a checkpoint; raise any exception if it is none, or not as it was written."""
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        number = int.from_bytes(content[-12:-10], "little")  # of arrays, as the end of a zip file has it
        if loaded.zip.testzip() is not None or len(loaded.files) != number:
            raise ValueError("an array is not as it was written, or is missing")
        arrays = dict(loaded)
    if "theta" not in arrays:
        raise ValueError("there is no theta in it")
    return arrays
