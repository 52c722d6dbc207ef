"""Folders for the results of an experiment: never over others, and gone again if nothing came of it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minitrpo.errors import BadInput


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
