"""The observation filter: running mean and variance, frozen while episodes are played, merged afterwards.

Merging in episode order on one rank makes the filter the same to the bit on any number of ranks.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minitrpo.policies import Array


@dataclass(frozen=True)
class ObservationFilter:
    """Count, mean (D,) and sum of squared deviations (D,) of all observations merged so far."""

    count: float
    mean: Array
    squares: Array
    clip: float = 10.0

    @classmethod
    def identity(cls, size: int, clip: float = 10.0) -> "ObservationFilter":
        """Return a filter that has seen nothing; it only clips."""
        return cls(0.0, np.zeros(size), np.zeros(size), clip)

    @cached_property
    def std(self) -> Array:
        """Return the standard deviations (D,); 1 after fewer than two observations, or after equal ones.

        Equal up to rounding: relative to the mean, or to the largest deviation.
        """
        if self.count < 2:
            return np.ones_like(self.mean)
        std = np.sqrt(self.squares / self.count)
        return np.where(std > 1e-12 * np.maximum(np.abs(self.mean), std.max()), std, 1.0)

    def __call__(self, observations: Array) -> Array:
        """Return (observations - mean) / std, clipped, shape (N, D)."""
        filtered = observations - self.mean
        filtered /= self.std
        np.minimum(filtered, self.clip, out=filtered)  # np.clip takes three times as long on a tick's few rows
        return np.maximum(filtered, -self.clip, out=filtered)

    def merged(self, observations: Array) -> "ObservationFilter":
        """Return the filter that has also seen `observations` (N, D)."""
        return self.merged_moments(len(observations), *moments(observations)) if len(observations) else self

    def merged_moments(self, n: int, mean: Array, squares: Array) -> "ObservationFilter":
        """Return the filter that has also seen n observations with these `moments`, (D,) each.

        Source: Chan, Golub & LeVeque 1979.
        """
        delta = mean - self.mean
        count = self.count + float(n)
        return ObservationFilter(
            count,
            self.mean + delta * (n / count),
            self.squares + squares + delta**2 * (self.count * n / count),
            self.clip,
        )

    def merged_parts(self, counts: Array, means: Array, squares: Array) -> "ObservationFilter":
        """Return the filter that has also seen E parts with these `moments`, (E,) and (E, D) twice, one by one."""
        whole = self
        for count, mean, square in zip(counts.tolist(), means, squares, strict=True):
            if count > 0:
                whole = whole.merged_moments(int(count), mean, square)
        return whole

    def to_vector(self) -> Array:
        """Return (count, clip, mean, squares) as one vector (2 + 2D,), for a broadcast or a checkpoint."""
        return np.concatenate([[self.count, self.clip], self.mean, self.squares])

    @classmethod
    def from_vector(cls, vector: Array) -> "ObservationFilter":
        """Return the filter that `to_vector` wrote down."""
        size = (len(vector) - 2) // 2
        return cls(float(vector[0]), vector[2 : 2 + size].copy(), vector[2 + size :].copy(), float(vector[1]))


def merged(vectors: Array) -> ObservationFilter:
    """Return the filter of all that several filters have seen, from their vectors (W, 2 + 2D), in their order."""
    size = (vectors.shape[1] - 2) // 2
    counts, means, squares = vectors[1:, 0], vectors[1:, 2 : 2 + size], vectors[1:, 2 + size :]
    return ObservationFilter.from_vector(vectors[0]).merged_parts(counts, means, squares)


def moments(observations: Array) -> tuple[Array, Array]:
    """Return mean and sum of squared deviations, (D,) each, of observations (N, D)."""
    mean = observations.mean(axis=0)
    return mean, ((observations - mean) ** 2).sum(axis=0)
