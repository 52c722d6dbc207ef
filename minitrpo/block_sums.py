"""Sums over blocks of rows, always in one order: the same bits whether one process adds them up or many share them.

Floating-point sums depend on their order. So a batch is cut into blocks that depend only on its number of rows. The
blocks' parts are added from the first to the last, no matter which rank computed them. Many parts are added in groups
of neighbours, in a tree whose shape depends only on their number.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from minitrpo.perceptron import Array

BLOCK = 1280  # rows whose activations stay in the cache of one core
FAN = 32  # neighbours that are added one after the other; more parts than that make a tree


def blocks(rows: int, size: int = BLOCK) -> list[slice]:
    """Return slices that cover `rows` rows in order, of about equal length, at most `size`; a function of these two."""
    count = -(-rows // size)
    stops = [(i + 1) * rows // count for i in range(count)]
    return [slice(start, stop) for start, stop in pairwise([0, *stops])]


class Reduction:
    """Who computes which parts of a sum, and how the parts are added: here one process does all of it."""

    def share(self, count: int) -> slice:
        """Return which of `count` parts this process computes: all."""
        return slice(0, count)

    def sum(self, parts: Array, count: int) -> Array:
        """Return the sum of all parts; parts: this process's own, (count, ...)."""
        return tree_sum(parts)

    def all_gather(self, rows: Array, sizes: list[int]) -> Array:
        """Return the rows of all parts.

        Args:
            rows: those of this process's parts, in order.
            sizes: how many rows each part has.

        """
        return rows


SERIAL = Reduction()


def ordered_sum(parts: Array) -> Array:
    """Return parts[0] + parts[1] + ... in this order, whatever numpy thinks of it."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def tree_sum(parts: Array) -> Array:
    """Return the sum of parts: of each FAN neighbours from the first to the last, then of these sums alike.

    Up to FAN parts that is `ordered_sum`. Many ranks can add their own groups, and the bits stay the same.
    """
    while len(parts) > FAN:
        parts = np.array([ordered_sum(parts[start : start + FAN]) for start in range(0, len(parts), FAN)])
    return ordered_sum(parts)


class Blocks:
    """N rows cut into blocks, some of which this process computes.

    Attributes:
        slices: of the rows, one for each block of this process.

    """

    def __init__(self, rows: int, reduction: Reduction = SERIAL) -> None:
        """Cut `rows` rows; reduction: who computes which blocks."""
        self.rows, self.reduction = rows, reduction
        cut = blocks(rows)
        self.count, self.slices = len(cut), cut[reduction.share(len(cut))]

    def mean(self, values: Sequence[Array | float], shape: tuple[int, ...]) -> Array:
        """Return the mean over the rows of all blocks, those of other processes included.

        Args:
            values: for each of `slices` the mean over its rows, an array of this shape.
            shape: of one value, for a process that has no block.

        Returns:
            The mean, of this shape, with the same bits on every process.

        """
        weighted = [value * self.weight(rows) for value, rows in zip(values, self.slices, strict=True)]
        return self.reduction.sum(np.array(weighted, dtype=np.float64).reshape(-1, *shape), self.count)

    def weight(self, rows: slice) -> float:
        """Return the fraction of all rows that lies in a block."""
        return (rows.stop - rows.start) / self.rows
