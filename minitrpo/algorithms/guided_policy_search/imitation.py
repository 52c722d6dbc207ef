"""Lecture 14: imitation, the S-step of guided policy search: one network moves towards many linear controllers.

    minimise over theta    L = 1/2 mean_i (mean_theta(x_i) - u_i)' P_i (mean_theta(x_i) - u_i)

u_i = K x_i + k is what the controller of that sample and step would do on average, and P_i how much it cares: S^-1, of
a controller that is no more certain than the policy can be. L is the part of KL(pi_theta || p) that the mean decides,
so that its Gauss-Newton matrix is the Fisher matrix of lecture 02, with the controllers' noise in the place of the
policy's own: a Gauss-Newton step is a natural gradient. For a policy linear in theta it is weighted least squares.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.block_sums import SERIAL, Blocks, Reduction
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.perceptron import Linearisation, Sizes, activations, unflatten
from minitrpo.policies import Array


@dataclass(frozen=True)
class Targets:
    """What is to be imitated."""

    x: Array  # (R, n)
    u: Array  # (R, m)
    P: Array  # (R, m, m), symmetric
    reduction: Reduction = SERIAL  # who computes which blocks of these rows


def loss(w: Array, sizes: Sizes, to: Targets) -> float:
    """Return L of the network with the parameters w (P,)."""
    blocks, losses = Blocks(len(to.x), to.reduction), []
    for rows in blocks.slices:
        r = activations(unflatten(w, sizes), to.x[rows])[-1] - to.u[rows]
        losses.append(0.5 * np.einsum("ri,rij,rj->", r, to.P[rows], r) / len(r))
    return float(blocks.mean(losses, ()))


def gauss_newton_step(w: Array, sizes: Sizes, to: Targets, damping: float, iterations: int) -> Array:
    """Return s with (J'P J + damping I) s = -J'P r, means over the rows; r are the residuals, J their Jacobian in w.

    Products are in single precision: they decide only which step is tried.

    Args:
        w: the network's parameters, (P,).
        sizes: the (inputs, outputs) of its layers.
        to: what is to be imitated.
        damping: what is added to the diagonal.
        iterations: of conjugate gradient.

    Returns:
        The step s, (P,).

    """
    blocks, single = Blocks(len(to.x), to.reduction), w.astype(np.float32)
    gradients, linearised = [], []
    for rows in blocks.slices:
        at, P = Linearisation(w, sizes, to.x[rows]), to.P[rows]
        r = at.outputs - to.u[rows]
        gradients.append(at.transposed_product(np.einsum("rij,rj->ri", P, r)) / len(r))
        linearised.append((Linearisation(single, sizes, to.x[rows].astype(np.float32)), P.astype(np.float32)))
    g = blocks.mean(gradients, w.shape)

    def product(v: Array) -> Array:
        of_blocks, single = [], v.astype(np.float32)
        for at, P in linearised:
            moved = at.product(single)
            of_blocks.append(at.transposed_product(np.einsum("rij,rj->ri", P, moved)) / len(moved))
        return blocks.mean(of_blocks, w.shape) + damping * v

    return conjugate_gradient(product, -g, iterations, tolerance=1e-16)[0]


def imitate(
    w: Array, sizes: Sizes, to: Targets, rounds: int, iterations: int = 30, damping: float = 1e-3
) -> tuple[Array, float]:
    """Return parameters that imitate better, after some damped Gauss-Newton steps.

    After a step that improves L, the damping falls to a fifth. Any other step is undone, and the damping becomes ten
    times as large.

    Args:
        w: the network's parameters, (P,).
        sizes: the (inputs, outputs) of its layers.
        to: what is to be imitated.
        rounds: Gauss-Newton steps.
        iterations: of conjugate gradient, in each of them.
        damping: of the first step.

    Returns:
        The new parameters (P,) and their L.

    Source: Levenberg 1944, Marquardt 1963; Martens 2010 for conjugate gradient within.

    """
    best = loss(w, sizes, to)
    for _ in range(rounds):
        candidate = w + gauss_newton_step(w, sizes, to, damping, iterations)
        after = loss(candidate, sizes, to)
        if after < best:
            w, best, damping = candidate, after, damping / 5
        else:
            damping *= 10
    return w, best


def imitated_std(P: Array) -> Array:
    """Return the standard deviations of the diagonal Gaussian that is nearest to several controllers' noise.

    The nearest one has the least mean of KL(policy || noise i), of which 1/2 (tr(P_i Sigma) - ln |Sigma|) depends on
    Sigma. Its minimum is at (mean of P_i)^-1; of a diagonal Sigma, entry by entry, at one over the mean of the
    precisions on the diagonal.

    Args:
        P: the precisions of the noise, (R, m, m).

    Returns:
        The standard deviations, (m,).

    Source: Montgomery & Levine 2016.

    """
    # 1. the mean precision of every action, then the standard deviation that has it
    return 1 / np.sqrt(np.einsum("rii->i", P) / len(P))
