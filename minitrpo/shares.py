"""Sums over blocks of rows, always in one order: the same bits whether one process adds them up or many share them.

Floating-point sums depend on their order. So a batch is cut into blocks by its number of rows alone, and the blocks'
parts are added from the first to the last, whoever computed them.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import numpy as np

from minitrpo.perceptron import Array

BLOCK = 1280  # rows whose activations stay in the cache of one core


def blocks(rows: int, size: int = BLOCK) -> list[slice]:
    """Return slices that cover `rows` rows in order, of about equal length, at most `size`; a function of these two."""
    count = -(-rows // size)
    stops = [(i + 1) * rows // count for i in range(count)]
    return [slice(start, stop) for start, stop in pairwise([0, *stops])]


class Shares(Protocol):
    """Who computes which of several parts of a sum."""

    def total(self, parts: Callable[[slice], Array], count: int, like: Array) -> Array: ...


class Whole:
    """One process computes all parts."""

    def total(self, parts: Callable[[slice], Array], count: int, like: Array) -> Array:
        """Return the sum of `count` parts, added in their order, in shape and dtype like `like`.

        parts: slice(i, j) -> parts i to j - 1, an array (j - i, *like.shape).
        """
        return added(parts(slice(0, count)))


WHOLE = Whole()


def added(parts: Array) -> Array:
    """Return parts[0] + parts[1] + ... in this order, whatever numpy thinks of it."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def mean_over_blocks(f: Callable[[slice], Array], rows: int, size: int, shares: Shares = WHOLE) -> Array:
    """Return the mean over all rows of what f says of a block of them, (size,), itself a mean over the block's rows."""
    cut = blocks(rows)

    def parts(mine: slice) -> Array:
        weighted = [f(block) * ((block.stop - block.start) / rows) for block in cut[mine]]
        return np.array(weighted, dtype=np.float64).reshape(-1, size)

    return shares.total(parts, len(cut), np.empty(size))
