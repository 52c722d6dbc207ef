"""Lecture 14: local models from a few samples: dynamics and policy linear, the cost quadratic or a network.

N samples of a condition begin in the same state. X (N, T + 1, n) are their states and U (N, T, m) their controls; a
sample that ended early is shorter, and `alive` (N, T) marks its steps. The fit of a step is a Gaussian over
y = [z; x'] or y = [x; u]; its mean, conditioned on the first part, is linear in that part. N samples are too few for
the 2n + m directions of y, so the pooled scatter of all steps serves as a prior.

A convex quadratic for a whole episode has one curvature everywhere. A distance to a target has another at every
place: it hardly bends far away and bends sharply near its end. So the cost may be one network, fitted to all rewards of
an update, and a quadratic near any path. It is one for all first states, since the reward is, and it remembers what it
learned in earlier updates. At every step of a path it is expanded to the second order, which is what LQR takes.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms.guided_policy_search.imitation import Targets, imitate
from minitrpo.algorithms.guided_policy_search.lqr import Controller, Cost, Dynamics
from minitrpo.block_sums import SERIAL, Reduction
from minitrpo.perceptron import Linearisation, Sizes, initialise_mlp, layer_sizes
from minitrpo.policies import Array

RIDGE = 1e-6  # added to the correlation matrix of what a line is fitted to
HIDDEN = (64, 64)  # widths of the cost network's tanh layers
STEP = 1e-2  # of the differences that its second derivatives are taken by, in standard deviations


def scatter(Y: Array, alive: Array) -> tuple[Array, Array, Array]:
    """Return how many samples every step has, their mean, and their summed squares around it.

    Args:
        Y: (N, T, p).
        alive: which of the samples count, (N, T); a step needs one.

    Returns:
        The count (T,), the mean (T, p), and the squares (T, p, p).

    """
    w = alive.astype(float)
    count = w.sum(axis=0)
    mean = np.einsum("it,itp->tp", w, Y) / count[:, None]
    apart = (Y - mean) * w[:, :, None]
    return count, mean, np.einsum("itp,itq->tpq", apart, apart)


def gaussians(Y: Array, alive: Array, strength: float) -> tuple[Array, Array]:
    """Return mean and covariance of every step, with a prior that counts as `strength` samples.

    The prior is the pooled covariance: how samples scatter around the mean of their own step, over all steps; a
    covariance divides by the number of samples, not by one less. The prior leaves the mean as it is.

    Args:
        Y: (N, T, p).
        alive: which of the samples count, (N, T); every step has one at least.
        strength: 0 or more.

    Returns:
        The mean (T, p) and the covariance (T, p, p).

    """
    # 1. how many samples every step has, their mean, and their summed squares around it
    count, mean, squares = scatter(Y, alive)
    # 2. the covariance of all steps together: all their squares, by all their samples
    pooled = squares.sum(axis=0) / count.sum()
    # 3. every step's own squares and `strength` samples that scatter like the pooled ones
    return mean, (squares + strength * pooled) / (count + strength)[:, None, None]


def conditioned(mean: Array, cov: Array, n: int) -> tuple[Array, Array, Array]:
    """Return the distribution of a Gaussian's last part given its first n numbers: y_2 ~ N(F y_1 + f, D).

    F = Sigma_21 Sigma_11^-1, f = mu_2 - F mu_1, D = Sigma_22 - F Sigma_12; a ridge on the correlations of y_1 keeps
    directions that were not seen out of F.

    Args:
        mean: of every step, (T, p).
        cov: (T, p, p).
        n: how many numbers are known.

    Returns:
        F (T, p - n, n), f (T, p - n) and D (T, p - n, p - n).

    """
    size = np.sqrt(np.maximum(np.einsum("tii->ti", cov[:, :n, :n]), 1e-16))  # a number that never changes has 1e-8
    correlation = cov[:, :n, :n] / (size[:, :, None] * size[:, None, :]) + RIDGE * np.eye(n)
    F = np.linalg.solve(correlation, cov[:, :n, n:] / size[:, :, None]).swapaxes(1, 2) / size[:, None, :]
    f = mean[:, n:] - np.einsum("tij,tj->ti", F, mean[:, :n])
    D = cov[:, n:, n:] - F @ cov[:, :n, n:]
    return F, f, (D + D.swapaxes(1, 2)) / 2


def fit_dynamics(X: Array, U: Array, alive: Array, strength: float) -> Dynamics:
    """Return the linear dynamics of every step: a Gaussian fitted to [x; u; x'], conditioned on [x; u].

    Args:
        X: the states, (N, T + 1, n).
        U: the controls, (N, T, m).
        alive: which steps were taken, (N, T).
        strength: of the prior, in samples.

    """
    Y = np.concatenate([X[:, :-1], U, X[:, 1:]], axis=2)
    return Dynamics(*conditioned(*gaussians(Y, alive, strength), X.shape[2] + U.shape[2]))


def linearise(X: Array, means: Array, std: Array, alive: Array, strength: float) -> Controller:
    """Return the linear controller nearest to a policy: a Gaussian fitted to [x; mean(x)], conditioned on x.

    Args:
        X: the states, (N, T, n).
        means: the policy's mean actions there, (N, T, m).
        std: the deviation of its noise, (m,), which is added.
        alive: which steps were taken, (N, T).
        strength: of the prior, in samples.

    """
    K, k, S = conditioned(*gaussians(np.concatenate([X, means], axis=2), alive, strength), X.shape[2])
    return Controller(K, k, S + np.diag(std**2))


def weighted_cost(T: int, state_weights: Array, control_weight: float, m: int) -> Cost:
    """Return the cost sum_i w_i x_i^2 + w_u u'u of every step.

    Args:
        T: the number of steps.
        state_weights: w, (n,).
        control_weight: w_u.
        m: the size of u.

    """
    weights = np.concatenate([state_weights, np.full(m, control_weight)])
    size = len(weights)
    return Cost(np.tile(2 * np.diag(weights), (T, 1, 1)), np.zeros((T, size)), np.zeros(T))


def fit_cost(Z: Array, costs: Array) -> tuple[Array, Array, float]:
    """Return the convex quadratic 1/2 z'C z + c'z + e that is near some costs, by regression.

    Three steps: a ridge regression on all products of two numbers of the standardised z; negative eigenvalues of C set
    to 0, as LQR needs; c and e fitted once more to what that C leaves.

    Args:
        Z: where the costs were paid, (R, n + m).
        costs: (R,).

    Returns:
        C (n + m, n + m), c (n + m,) and e.

    """
    # 1. standardise, so that one ridge serves all units
    mean, size = Z.mean(axis=0), Z.std(axis=0)
    varies = size > 1e-8 * (1 + np.abs(mean))
    z = (Z[:, varies] - mean[varies]) / size[varies]
    i, j = np.triu_indices(z.shape[1])
    products = z[:, i] * z[:, j]
    C = np.zeros((z.shape[1], z.shape[1]))
    C[i, j] = ridge(np.column_stack([products, z, np.ones(len(z))]), costs)[: len(i)]
    # 2. the nearest convex one: x_i x_j stands once among the products and twice in z'C z
    C = C + C.T
    values, vectors = np.linalg.eigh(C)
    C = (vectors * np.maximum(values, 0)) @ vectors.T
    # 3. the linear part for this C
    left = costs - 0.5 * np.einsum("ri,ij,rj->r", z, C, z)
    *c, e = ridge(np.column_stack([z, np.ones(len(z))]), left)
    # 4. the coefficients for Z itself; a number that never changes has none
    size, full_C, full_c = size[varies], np.zeros((len(mean), len(mean))), np.zeros(len(mean))
    full_C[np.ix_(varies, varies)] = C / np.outer(size, size)
    full_c[varies] = np.array(c) / size
    shift = full_C @ mean
    return full_C, full_c - shift, float(e) - float(full_c @ mean) + 0.5 * float(mean @ shift)


def ridge(features: Array, targets: Array) -> Array:
    """Return the coefficients b that minimise |targets - features b|^2 + ridge |b|^2.

    Args:
        features: (R, p), of about unit size.
        targets: (R,).

    Returns:
        b, (p,).

    """
    normal = features.T @ features
    return np.linalg.solve(normal + RIDGE * len(features) * np.eye(len(normal)), features.T @ targets)


@dataclass(frozen=True)
class CostNetwork:
    """cost(z) = mean + size * network of the standardised z = [x; u]: w (P,), units (2, p + 1), z (p,).

    units: mean and standard deviation of every number of [z; cost] in the first update, and zeros before it.
    """

    w: Array
    units: Array

    @classmethod
    def fresh(cls, p: int, rng: np.random.Generator) -> "CostNetwork":
        """Return an unfitted network that gives the same cost for every z of p numbers."""
        return cls(initialise_mlp(rng, layer_sizes(p, HIDDEN, 1), 0.0), np.zeros((2, p + 1)))

    def fitted(self, Z: Array, costs: Array, rounds: int, reduction: Reduction = SERIAL) -> "CostNetwork":
        """Return the network after some Gauss-Newton steps towards costs.

        Args:
            Z: where the costs were paid, (R, p).
            costs: (R,).
            rounds: the number of steps.
            reduction: who computes which rows.

        """
        both, units = np.column_stack([Z, costs]), self.units
        if not np.any(units):
            mean, size = both.mean(axis=0), both.std(axis=0)
            units = np.stack([mean, np.where(size > 1e-8 * (1 + np.abs(mean)), size, 1.0)])
        both = (both - units[0]) / units[1]
        to = Targets(both[:, :-1], both[:, -1:], np.ones((len(both), 1, 1)), reduction)
        return CostNetwork(imitate(self.w, self._sizes, to, rounds)[0], units)

    def value(self, Z: Array) -> Array:
        """Return the costs (R,) at Z (R, p)."""
        return self.units[0, -1] + self.units[1, -1] * Linearisation(self.w, self._sizes, self._z(Z)).outputs[:, 0]

    def expansion(self, Z: Array) -> Cost:
        """Return the quadratic near each of the places Z (T, p): value and gradient there, and the convex part of C."""
        p, size, unit = Z.shape[1], self.units[1, :-1], self.units[1, -1]
        z = self._z(Z)
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

    @property
    def _sizes(self) -> Sizes:
        return layer_sizes(self.units.shape[1] - 1, HIDDEN, 1)

    def _z(self, Z: Array) -> Array:
        """Return the standardised z of every place, (R, p)."""
        return np.asarray((Z - self.units[0, :-1]) / self.units[1, :-1])

    def _gradient(self, z: Array) -> Array:
        """Return the derivative of the network in its standardised inputs, (T, p)."""
        return np.asarray(Linearisation(self.w, self._sizes, z).input_product(np.ones((len(z), 1))))
