"""Lecture 14: the cost as one network, fitted to all rewards of an update, and as a quadratic near any path.

A convex quadratic for a whole episode has one curvature everywhere. A distance to a target has another at every
place: it hardly bends far away and bends sharply near its end. The network is one for all first states, since the
reward is, and it remembers what it learned in earlier updates. At every step of a path it is expanded to the second
order, which is what LQR takes.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms.guided_policy_search.imitation import Targets, imitate
from minitrpo.algorithms.guided_policy_search.lqr import Cost
from minitrpo.block_sums import SERIAL, Reduction
from minitrpo.perceptron import Linearisation, initialise_mlp, layer_sizes
from minitrpo.policies import Array

HIDDEN = (64, 64)  # widths of its tanh layers
STEP = 1e-2  # of the differences that second derivatives are taken by, in standard deviations


@dataclass(frozen=True)
class CostNetwork:
    """cost(z) = mean + size * network of the standardised z = [x; u]: w (P,), units (2, p + 1), z (p,).

    units: mean and standard deviation of every number of [z; cost] in the first update, and zeros before it.
    """

    w: Array
    units: Array

    @classmethod
    def fresh(cls, p: int, rng: np.random.Generator) -> "CostNetwork":
        """Return one that says the same of every z of p numbers, and has seen nothing."""
        return cls(initialise_mlp(rng, layer_sizes(p, HIDDEN, 1), 0.0), np.zeros((2, p + 1)))

    def fitted(self, Z: Array, costs: Array, rounds: int, reduction: Reduction = SERIAL) -> "CostNetwork":
        """Return it after so many Gauss-Newton steps towards the costs (R,) at Z (R, p)."""
        both, units = np.column_stack([Z, costs]), self.units
        if not np.any(units):
            mean, size = both.mean(axis=0), both.std(axis=0)
            units = np.stack([mean, np.where(size > 1e-8 * (1 + np.abs(mean)), size, 1.0)])
        both = (both - units[0]) / units[1]
        to = Targets(both[:, :-1], both[:, -1:], np.ones((len(both), 1, 1)), reduction)
        return CostNetwork(imitate(self.w, self._sizes(), to, rounds)[0], units)

    def value(self, Z: Array) -> Array:
        """Return the costs (R,) at Z (R, p)."""
        return self.units[0, -1] + self.units[1, -1] * self._at(self._standardised(Z)).outputs[:, 0]

    def expansion(self, Z: Array) -> Cost:
        """Return the quadratic near each of the places Z (T, p): value and gradient there, and the convex part of C."""
        p, size, unit = Z.shape[1], self.units[1, :-1], self.units[1, -1]
        z = self._standardised(Z)
        # 1. second derivatives: by differences of the first ones
        there = STEP * np.eye(p)
        H = np.stack([self._gradient(z + h) - self._gradient(z - h) for h in there], axis=1) / (2 * STEP)
        # 2. the nearest convex one, as LQR needs
        values, vectors = np.linalg.eigh((H + H.swapaxes(1, 2)) / 2)
        H = (vectors * np.maximum(values, 0)[:, None]) @ vectors.swapaxes(1, 2)
        # 3. in units of z, around 0
        C = unit * H / np.outer(size, size)
        C = (C + C.swapaxes(1, 2)) / 2
        moved = np.einsum("tij,tj->ti", C, Z)
        c = unit * self._gradient(z) / size - moved
        return Cost(C, c, self.value(Z) - np.sum(c * Z, axis=1) - 0.5 * np.sum(moved * Z, axis=1))

    def _sizes(self) -> list[tuple[int, int]]:
        return layer_sizes(self.units.shape[1] - 1, HIDDEN, 1)

    def _standardised(self, Z: Array) -> Array:
        return np.asarray((Z - self.units[0, :-1]) / self.units[1, :-1])

    def _at(self, z: Array) -> Linearisation:
        return Linearisation(self.w, self._sizes(), z)

    def _gradient(self, z: Array) -> Array:
        """Return the derivative of the network in its standardised inputs, (T, p)."""
        return np.asarray(self._at(z).input_product(np.ones((len(z), 1))))
