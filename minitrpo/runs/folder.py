"""The run folder: config.json, metrics.csv, checkpoint.npz, learning_curve.png. Nothing in it is ever half written."""

import csv
import hashlib
import io
import json
import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array
from minitrpo.runs.files import write_atomically
from minitrpo.runs.settings import Choice


class RunFolder:
    """One run on disk; only the root writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, out: str | None, env: str, seed: int, columns: tuple[str, ...]) -> "RunFolder":
        """Return a new folder: `out`, or the next free runs/ENV-seedS-NN. BadInput if something is already there.

        columns: of metrics.csv.
        """
        if out is not None:
            path = Path(out)
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise BadInput(
                    f"--out {out} exists and is not empty: choose another folder, or go on with --resume {out}"
                )
        name = f"{env.rpartition(':')[2].replace('/', '-')}-seed{seed}"
        try:
            path = _next_free(Path("runs"), name) if out is None else Path(out)
            path.mkdir(parents=True, exist_ok=True)
            (path / "metrics.csv").write_text(",".join(columns) + "\n")
        except OSError as error:
            raise BadInput(f"cannot write to {out or 'runs'}: {error.strerror}; choose another --out") from error
        return cls(path)

    @classmethod
    def open(cls, path: str) -> "RunFolder":
        """Return an existing run; BadInput if the folder does not hold one."""
        folder = cls(Path(path))
        if not folder.path.is_dir():
            raise BadInput(f"there is no folder {path}; give the folder of a run, the one with config.json in it")
        for name in ("config.json", "metrics.csv", "checkpoint.npz"):
            if not (folder.path / name).is_file():
                raise BadInput(f"{path} holds no {name}: it is not the folder of a run that has begun")
        return folder

    def write_config(self, choice: Choice, provenance: dict[str, Any]) -> None:
        """Write the settings and what made the run: command, versions, cores, ranks, date."""
        text = json.dumps({"settings": choice.flat(), "provenance": provenance}, indent=2)
        write_atomically(self.path / "config.json", text.encode())

    def read_config(self) -> dict[str, Any]:
        """Return {"settings": ..., "provenance": ...}; BadInput if the file is damaged."""
        try:
            config: dict[str, Any] = json.loads((self.path / "config.json").read_text())
            config["settings"]["env"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{self.path / 'config.json'} is damaged: it is not the settings of a run") from error
        return config

    @cached_property
    def header(self) -> list[str]:
        """Return the names of the columns of metrics.csv."""
        with (self.path / "metrics.csv").open(newline="") as file:
            return next(csv.reader(file))

    def append(self, row: dict[str, Any]) -> None:
        """Add one update to metrics.csv."""
        with (self.path / "metrics.csv").open("a", newline="") as file:
            csv.DictWriter(file, self.header, lineterminator="\n").writerow(row)

    def rows(self) -> list[dict[str, str]]:
        """Return the rows of metrics.csv as text."""
        with (self.path / "metrics.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def columns(self) -> dict[str, Array]:
        """Return the numeric columns of metrics.csv as arrays, one entry per update."""
        rows, numeric = self.rows(), {}
        for name in self.header:
            try:
                numeric[name] = np.array([float(row[name]) for row in rows])
            except ValueError:  # a column of words
                continue
        return numeric

    def forget_after(self, iteration: int) -> None:
        """Drop the rows of updates that the checkpoint of `iteration` does not know, and the report of a failure."""
        lines = (self.path / "metrics.csv").read_text().splitlines()[: 1 + iteration]
        write_atomically(self.path / "metrics.csv", ("\n".join(lines) + "\n").encode())
        (self.path / "failure.txt").unlink(missing_ok=True)

    def save_checkpoint(self, arrays: dict[str, Array]) -> None:
        """Write checkpoint.npz at once or not at all: a kill at any instant leaves the old one or the new one."""
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        write_atomically(self.path / "checkpoint.npz", content.getvalue())

    def load_checkpoint(self) -> dict[str, Array]:
        """Return the arrays of checkpoint.npz, read without pickle; BadInput if it is damaged."""
        try:
            with np.load(self.path / "checkpoint.npz", allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise BadInput(f"{self.path / 'checkpoint.npz'} is damaged: {error}") from error


def _next_free(parent: Path, name: str) -> Path:
    """Return a new folder parent/name-NN, made at once, so that two runs started together do not share it."""
    number = 1
    while True:
        path = parent / f"{name}-{number:02d}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return path


def sha256(theta: Array) -> str:
    """Return the hash of the policy's parameters by which runs are compared."""
    return hashlib.sha256(np.ascontiguousarray(theta, dtype=np.float64).tobytes()).hexdigest()
