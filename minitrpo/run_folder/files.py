"""Files that are never half written."""

import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: bytes, keep: Path | None = None) -> None:
    """Write a file at once or not at all, and to the disk: a kill at any instant leaves the old one or the new one.

    keep: the name under which the old one stays. A link is replaced, and not followed.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            path.replace(keep)
        temporary.replace(path)
    except OSError:  # a full disk, for example: what could not be written takes no room
        with suppress(OSError):
            temporary.unlink()
        raise
