"""Files that are never half written."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file at once or not at all, and to the disk: a kill at any instant leaves the old one or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
