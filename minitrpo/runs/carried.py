"""Whether state() and restore() carry over all that an update changes: else a resumed run is not the same run."""

import pickle
import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitrpo.algorithms.interface import Arrays, Context
from minitrpo.errors import told

MOST = 100_000  # numbers of an array, and entries of a list, that are looked at
DEPTH = 4  # an object in an object in an object
LEAVES = (bool, int, float, complex, str, bytes, type(None), np.generic)
RANDOM = (np.random.Generator, np.random.RandomState, random.Random)
OURS = (Context, types.ModuleType, types.FunctionType, types.MethodType, type)
Prints = dict[str, bytes]


def fingerprints(thing: Any) -> Prints:
    """Return what stands in the attributes of an object, and of the objects in them, name by name."""
    return dict(_walk(thing, "", DEPTH))


def not_carried(algorithm: Any, before: Prints, fresh: Callable[[], Any]) -> str:
    """Return what a fresh algorithm lacks after restore(state()) of one that has just learned; "" if nothing.

    before: the fingerprints of `algorithm` before it learned. What learning did not change is no loss.
    """
    kind, after = type(algorithm).__name__, fingerprints(algorithm)
    try:
        state = algorithm.state()
        resumed = fresh()
        resumed.restore(copied(state))
        odd = changed(state, resumed.state())
    except Exception as error:
        return f"restore() of {kind} cannot take over what state() returned: {told(error)}"
    if odd:
        return f"restore() of {kind} does not bring back {odd!r} of state()"
    there = fingerprints(resumed)
    lost = [name for name in after if before.get(name) != after[name] != there.get(name)]
    if lost:
        return (
            f"{kind}.{min(lost, key=len)} changes in learn(), and restore() does not bring it back: if learn() needs it"
        )
    return ""


def copied(state: Arrays) -> Arrays:
    """Return the same arrays in memory of their own."""
    return {name: np.array(array) for name, array in state.items()}


def changed(state: Arrays, other: Arrays) -> str:
    """Return the name of an array whose numbers are others in `other`, "" if there is none."""
    return next((name for name in state if not _same(state[name], other.get(name))), "")


def _same(one: Any, other: Any) -> bool:
    if np.asarray(one).dtype.kind in "fc" and np.asarray(other).dtype.kind in "fc":
        return np.array_equal(one, other, equal_nan=True)
    return np.array_equal(one, other)


def _walk(thing: Any, name: str, depth: int) -> Iterator[tuple[str, bytes]]:
    if isinstance(thing, OURS):
        return
    if isinstance(thing, (*LEAVES, *RANDOM, np.ndarray)):
        yield name, _print(thing)
    elif depth > 0:
        for key, part in _parts(thing):
            yield from _walk(part, f"{name}.{key}" if name else key, depth - 1)


def _parts(thing: Any) -> list[tuple[str, Any]]:
    """Return what an object, a list or a dict is made of, by name."""
    if isinstance(thing, list | tuple | deque):
        parts = [(str(i), part) for i, part in enumerate(list(thing)[-MOST:])]
        return [("len", len(thing)), *parts]
    if isinstance(thing, dict):
        return [(str(key), part) for key, part in list(thing.items())[-MOST:]]
    return list(getattr(thing, "__dict__", {}).items())


def _print(value: Any) -> bytes:
    """Return bytes that are equal where values are, NaN included."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        some = value.ravel()[:: 1 + value.size // MOST]
        return f"{value.dtype} {value.shape}".encode() + some.tobytes()
    if isinstance(value, np.random.Generator):
        value = value.bit_generator.state
    try:
        return pickle.dumps(value)
    except Exception:  # what cannot be written down cannot be compared
        return b""
