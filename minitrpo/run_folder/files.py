"""Files that are never half written, or that have names of their own."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from minitrpo.errors import BadInput

SMALL = 2**24  # bytes
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on every system


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file at once or not at all, and to the disk: a kill at any instant leaves the old one or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with new_file(temporary) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:  # a full disk, for example: what could not be written takes no room
        with suppress(OSError):
            temporary.unlink()
        raise


def new_file(path: Path) -> IO[bytes]:
    """Return a file that was not there, to be written; whatever had its name is removed, and a link is not followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | NO_LINK, 0o666), "wb")


def no_link(path: str, flags: int) -> int:
    """Open a file for `open`, but no link."""
    return os.open(path, flags | NO_LINK)


def read_small(path: Path) -> str:
    """Return the text of a file; ValueError if it is larger than any that is written here, OSError if it is none."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device read without end
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    with path.open("rb") as file:
        content = file.read(SMALL + 1)
    if len(content) > SMALL:
        raise ValueError(f"{path} is too large")
    return content.decode("utf-8")


def check_links(folder: Path) -> None:
    """Raise BadInput if there is a link in a folder: what is read or written in it would lie somewhere else."""
    link = next((each for each in sorted(folder.iterdir()) if each.is_symlink()), None)
    if link is not None:
        raise BadInput(f"{link} is a symbolic link, which a run never makes: remove it, or put the file itself there")


def is_empty_run(path: Path) -> bool:
    """Return whether a folder holds no more than a run leaves that was ended before it had written config.json."""
    log, names = path / "metrics.csv", {each.name for each in path.iterdir()}
    if any(each.is_symlink() for each in path.iterdir()):
        return False
    begun = names <= {"metrics.csv", "metrics.csv.tmp", "config.json.tmp"}
    return begun and (not log.exists() or log.read_bytes().count(b"\n") <= 1)


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing; if that fails, they go again."""
    missing = [each for each in (path, *path.parents) if not os.path.lexists(each)]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


def take_away(path: Path | None, made: bool) -> None:
    """Remove what was begun from a folder that could not be filled, and the folder, too, if it was made for it."""
    if path is None:
        return
    with suppress(OSError):
        if is_empty_run(path):
            for each in path.iterdir():
                each.unlink()
    with suppress(OSError):  # which works without a free descriptor, too
        if made:
            path.rmdir()


def check_free(names: list[str | None], here: Path) -> None:
    """Raise BadInput if the first of several new runs could begin, and a later one could not."""
    for name in names[1:]:
        path = here / (name or "")
        if name is not None and path.exists() and not (path.is_dir() and is_empty_run(path)):
            raise BadInput(f"--out {name} exists and is not empty: choose another folder, or move it away")


def sync(path: Path) -> None:
    """Return when a file is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def check_readable(path: Path) -> None:
    """Raise BadInput if a file cannot be read: that is no damage, and what is in it must not be overwritten."""
    if not path.is_file():  # a pipe would be waited for
        raise BadInput(f"{path} is not a file: put back the one that was there, or remove it")
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; nothing was changed") from error


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
