"""Files that are never half written."""

import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: bytes, keep: Path | None = None) -> None:
    """Write a file at once or not at all, and to the disk: a kill at any instant leaves the old one or the new one.

    Args:
        path: the file. A link is replaced, and not followed.
        content: all that will be in it.
        keep: the name under which the old file stays; None: it does not.

    Raises:
        OSError: the file cannot be written; the old one stays.

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
    except BaseException:  # a full disk or Ctrl-C, for example: what is not whole does not stay
        with suppress(OSError):
            temporary.unlink()
        raise
