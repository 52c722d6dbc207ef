"""What an algorithm takes over from a checkpoint: only arrays that it could have written itself."""

import math

import numpy as np

from minitrpo.algorithms.interface import Arrays
from minitrpo.policies import Array

NEVER_NEGATIVE = ("square", "updates")  # Adam's second moments, and how often it has moved
POSITIVE = ("scale",)  # what targets are divided by


def accepted(arrays: Arrays, fresh: Arrays, prefix: str = "") -> Arrays:
    """Return the arrays called prefix + name, for each name in `fresh`; ValueError if one differs in kind or is wrong.

    fresh: what a new algorithm has under these names, of the same shape and dtype. All of them must be finite.
    """
    taken = {}
    for name, like in fresh.items():
        array = arrays[prefix + name]
        if (array.shape, array.dtype) != (like.shape, like.dtype):
            raise ValueError(f"{prefix}{name} is {kind(array)}, where {kind(like)} is needed")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{prefix}{name} is not finite")
        if (name in NEVER_NEGATIVE and np.any(array < 0)) or (name in POSITIVE and np.any(array <= 0)):
            raise ValueError(f"{prefix}{name} goes down to {array.min():g}, which no update makes of it")
        taken[name] = array
    return taken


def within(name: str, value: float, low: float, high: float) -> float:
    """Return a number that lies in [low, high]; ValueError if it does not, or is NaN."""
    if not low <= value <= high:
        raise ValueError(f"{name} is {value:g}, where this run has only values in [{low:g}, {high:g}]")
    return value


def finite_numbers(name: str, array: Array, most: int) -> tuple[float, ...]:
    """Return at most so many finite numbers (n,); ValueError if they are something else."""
    if array.ndim != 1 or array.dtype.kind != "f" or len(array) > most or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} is {kind(array)}, where at most {most} finite numbers are needed")
    return tuple(array.tolist())


def whole(name: str, value: float) -> int:
    """Return a number without fraction as an integer; ValueError if it has one."""
    if not (math.isfinite(value) and value == int(value)):
        raise ValueError(f"{name} is {value:g}, which is no whole number")
    return int(value)


def kind(array: Array) -> str:
    """Return what an array is, for a message."""
    return f"{array.dtype} of shape {array.shape}"
