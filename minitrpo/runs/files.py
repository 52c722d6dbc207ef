"""Files that are never half written."""

import os
import shutil
from contextlib import suppress
from pathlib import Path


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
