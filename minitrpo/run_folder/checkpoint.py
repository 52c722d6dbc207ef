"""Files that are never half written; checkpoints: the newest and the one before, read without pickle."""

import io
import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array

CHECKPOINTS = ("checkpoint.npz", "checkpoint_before.npz")  # the newest, and the one before it


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
    except BaseException:  # a full disk or Ctrl-C, for example: what is not whole does not stay
        with suppress(OSError):
            temporary.unlink()
        raise


def newest(folder: Path) -> tuple[dict[str, Array], str]:
    """Return the arrays of the newest whole checkpoint, and a note if a newer one is damaged.

    {} if the run has not got as far as its first. BadInput if there are some, and none is whole.
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
