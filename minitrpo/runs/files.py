"""Files that are never half written, and files of arrays that are read without running what is in them."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array

SEAL = "run_seal"  # the checksum of a checkpoint's arrays, among them


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file at once or not at all, and to the disk: a kill at any instant leaves the old one or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:  # a full disk, for example: what could not be written takes no room
        with suppress(OSError):
            temporary.unlink()
        raise


def new_folder(out: str | None, name: str) -> Path:
    """Return a new folder for results: `out`, or runs/name-NN; BadInput if it holds something or cannot be made."""
    free = (Path("runs") / f"{name}-{number:02d}" for number in range(1, 10_000))
    path = Path(out) if out else next(path for path in free if not path.exists())
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = any(path.iterdir())
    except OSError as error:
        raise BadInput(f"cannot make {path}: {error.strerror}; choose another --out") from error
    if taken:
        raise BadInput(f"--out {path} exists and is not empty: choose another folder")
    return path


@contextmanager
def gone_if_empty(path: Path | None) -> Iterator[None]:
    """Remove a folder in the end if nothing was written into it, because what should have been done failed."""
    try:
        yield
    finally:
        if path is not None:
            with suppress(OSError):  # there is something in it
                path.rmdir()


def unborn(path: Path) -> bool:
    """Return whether a folder holds no more than a run leaves that was ended before it had written config.json."""
    log, names = path / "metrics.csv", {each.name for each in path.iterdir()}
    begun = names <= {"metrics.csv", "metrics.csv.tmp", "config.json.tmp"}
    return begun and (not log.exists() or log.read_bytes().count(b"\n") <= 1)


def sync(path: Path) -> None:
    """Return when a file is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def keep_before(path: Path, before: Path) -> None:
    """Keep the present file under another name, too, whatever becomes of its own."""
    if not path.exists():
        return
    temporary = before.with_name(before.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(path, temporary)
    except OSError:  # a file system without links
        shutil.copyfile(path, temporary)
    temporary.replace(before)


def check_readable(path: Path) -> None:
    """Raise BadInput if a file cannot be read: that is no damage, and what is in it must not be overwritten."""
    if not path.is_file():  # a pipe would be waited for
        raise BadInput(f"{path} is not a file: put back the one that was there, or remove it")
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; nothing was changed") from error


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a checkpoint; ValueError if it is none. Every array has a checksum in the file."""
    loaded = np.load(path, allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise ValueError("it is not a file of arrays")
    with loaded:
        arrays = dict(loaded)
    if "theta" not in arrays:
        raise ValueError("there is no theta in it")
    return arrays


def seal(arrays: Mapping[str, Array]) -> Array:
    """Return a checksum, (16,) bytes, of names, kinds, shapes and contents: a file that was edited has another."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays.keys() - {SEAL}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {np.shape(arrays[name])} ".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


def new_numbered(parent: Path, name: str) -> Path:
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
