"""Named arrays as one buffer and back: what travels is a dict of arrays, in one message. Nothing is pickled."""

import json

import numpy as np

from minitrpo.policies import Array

Arrays = dict[str, Array]
ALIGNED = 16  # bytes: every array begins at a multiple of it


def packed(arrays: Arrays) -> Array:
    """Return the arrays with their names, dtypes and shapes as one buffer of bytes, (n,) uint8."""
    names = json.dumps([(name, array.dtype.str, array.shape) for name, array in arrays.items()]).encode()
    chunks = [len(names).to_bytes(8, "little"), names, *(array.tobytes() for array in arrays.values())]
    return np.frombuffer(bytearray(b"".join(chunk + bytes(-len(chunk) % ALIGNED) for chunk in chunks)), np.uint8)


def unpacked(buffer: Array) -> Arrays:
    """Return the arrays that `packed` wrote down; they are views of the buffer."""
    size = int.from_bytes(bytes(buffer[:8]), "little")
    arrays, start = {}, ALIGNED + _aligned(size)
    for name, dtype, shape in json.loads(bytes(buffer[ALIGNED : ALIGNED + size])):
        stop = start + int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = buffer[start:stop].view(dtype).reshape(shape)
        start = _aligned(stop)
    return arrays


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
