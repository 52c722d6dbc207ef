"""Checkpoints: the newest and the one before, never half written, read without pickle, judged by one checksum."""

import hashlib
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array
from minitrpo.run_folder.files import check_readable, new_file, write_atomically

CHECKPOINTS = ("checkpoint.npz", "checkpoint_before.npz")  # the newest, and the one before it
DAMAGE = (  # what numpy and zipfile raise, wherever a bit has flipped
    *(ValueError, KeyError, EOFError, TypeError, MemoryError, RuntimeError, OverflowError, IndexError),
    *(struct.error, zlib.error, zipfile.BadZipFile),
)
CHECKSUM = "run_checksum"  # of a checkpoint's arrays, among them


def write(folder: Path, arrays: dict[str, Array]) -> None:
    """Write the newest checkpoint at once or not at all; the one before is kept."""
    content = io.BytesIO()
    np.savez(content, **arrays, **{CHECKSUM: checksum(arrays)})  # type: ignore[arg-type]
    last, before = (folder / name for name in CHECKPOINTS)
    keep_before(last, before)
    write_atomically(last, content.getvalue())


def newest(folder: Path) -> tuple[dict[str, Array], str]:
    """Return the arrays of the newest whole checkpoint, and a note if that is not the newest; read without pickle.

    {} if the run has not got as far as its first. BadInput if there are some, and none is whole.
    """
    problems = []
    for name in CHECKPOINTS:
        if not os.path.lexists(folder / name):
            continue
        check_readable(folder / name)
        try:
            arrays = read_arrays(folder / name)
        except OSError as error:
            if error.errno is not None:  # too many open files, a bad wire: it passes, and is no damage
                raise BadInput(f"cannot read {folder / name}: {error.strerror}; nothing was changed") from error
            problems.append(f"{folder / name} is damaged: {' '.join(str(error).split())}")
            continue
        except DAMAGE as error:
            problems.append(f"{folder / name} is damaged: {' '.join(str(error).split()) or 'it is empty'}")
            continue
        if not np.array_equal(arrays.get(CHECKSUM, np.zeros(0)), checksum(arrays)):
            raise BadInput(f"{name} is not as the run wrote it: its checksum differs; put the right file back")
        return arrays, f"note: {problems[0]}; going on from {name}" if problems else ""
    if problems:
        raise BadInput(f"{'; '.join(problems)}; there is nothing to go on from")
    return {}, ""


def keep_before(path: Path, before: Path) -> None:
    """Keep the present file under another name, too, whatever becomes of its own."""
    if not path.exists():
        return
    temporary = before.with_name(before.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(path, temporary)
    except OSError:  # a file system without links
        with new_file(temporary) as file:
            file.write(path.read_bytes())
    temporary.replace(before)


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a checkpoint; ValueError if it is none. Every array has a checksum in the file."""
    content = path.read_bytes()  # a disk that cannot be read says so here: later it is damage
    if content[:2] != b"PK":  # numpy would take it for a pickle, and advise to allow that
        raise ValueError("it is not a file of arrays")
    loaded = np.load(io.BytesIO(content), allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise ValueError("it is not a file of arrays")
    with loaded:
        if any(part.compress_type != zipfile.ZIP_STORED for part in cast(zipfile.ZipFile, loaded.zip).infolist()):
            raise ValueError("it is compressed, which a run never does")
        arrays = dict(loaded)
    if "theta" not in arrays:
        raise ValueError("there is no theta in it")
    return arrays


def checksum(arrays: Mapping[str, Array]) -> Array:
    """Return a checksum, (16,) bytes, of names, kinds, shapes and contents: a file that was edited has another."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays.keys() - {CHECKSUM}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {np.shape(arrays[name])} ".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)
