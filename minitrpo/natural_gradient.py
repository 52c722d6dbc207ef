"""Lecture 02: distance between policies, and the Fisher matrix that measures it, one product at a time.

KL(old || new) is 0 at theta_old and so is its gradient; its second derivative there is the Fisher matrix F.
F has P x P entries, but conjugate gradient only asks for F v, which costs about four passes of the network.

`fisher_vector_product` is the lecture's: autograd takes its derivatives. Below it stands the same product by hand,
which a run takes.
"""

from collections.abc import Callable
from typing import Any

import autograd.numpy as np
import numpy
from autograd.differential_operators import make_ggnvp

from minitrpo.perceptron import Linearisation, count_parameters
from minitrpo.policies import Array, Policy, formulas_serve


def mean_kl(policy: Policy, old: Array, new: Array) -> Array:
    """Return KL(old || new) averaged over the states of `old` and `new`, both (N, K), in nats."""
    return np.mean(policy.kl(old, new))


def every_kth(observations: Array, fraction: float) -> Array:
    """Return about `fraction` of the rows, equally spaced: enough to estimate F, without random numbers.

    Source: Schulman et al. 2015 (TRPO), appendix C: 10 % of the states serve the Fisher-vector product.
    """
    rows = len(observations)
    count = min(rows, max(1, round(fraction * rows)))
    return observations[np.arange(count) * rows // max(count, 1)]


def fisher_vector_product(
    policy: Policy, theta: Array, observations: Array, damping: float
) -> Callable[[Array], Array]:
    """Return the function v -> (F + damping I) v, with F the mean Fisher matrix over the observations.

    F is the mean of J' M J over the rows, where J is the Jacobian of the distribution parameters in theta, and M is the
    Hessian of KL(old || new) in the distribution parameters. autograd calls this the generalised Gauss-Newton product.
    F itself, P x P numbers, is never written down.

    Args:
        policy: has `distribution(theta, observations)`, (N, K), and `kl(old, new)`, (N,).
        theta: the parameters of the old policy, (P,).
        observations: the states, (N, D).
        damping: is added to the diagonal of F.

    Returns:
        A function from v, (P,), to the product, (P,).

    Source: Schulman et al. 2015 (TRPO), appendix C.1; Martens 2014 for F = Gauss-Newton.
    """
    old = policy.distribution(theta, observations)
    # 1. F v, summed over the rows: the tape is built here, once
    summed: Callable[[Array], Array] = make_ggnvp(
        lambda theta: policy.distribution(theta, observations), lambda new: np.sum(policy.kl(old, new))
    )(theta)
    # 2. the mean over the rows, and the damping
    return lambda v: summed(v) / len(observations) + damping * v


# --- the same product by hand


def fisher_vector_product_by_hand(
    policy: Any, theta: Array, observations: Array, damping: float
) -> Callable[[Array], Array]:
    """Return what `fisher_vector_product` returns, without a tape: J, M and J' are written down.

    J and J' are `Linearisation.product` and `.transposed_product`. M is the Hessian of KL(old || new) in the
    distribution parameters of one row: of a Gaussian 1 / std^2 in its mean and 2 in log_std, of logits diag(p) - p p'.

    Args:
        policy: the policy; for one that is not the package's own, autograd takes the derivatives.
        theta: its parameters, (P,); all sums have their precision.
        observations: (N, D).
        damping: what is added to the diagonal of F.

    Returns:
        The function v -> (F + damping I) v, (P,) to (P,).

    """
    if not formulas_serve(policy):
        return fisher_vector_product(policy, theta, observations, damping)
    rows, split = len(observations), count_parameters(policy.sizes)
    network = Linearisation(theta[:split], policy.sizes, observations)
    hessian = policy.kl_hessian(theta, network.outputs)

    def product(v: Array) -> Array:
        # 1. J v: how the outputs of the network move
        moved = network.product(v[:split])
        # 2. M J v, then J' M J v; behind the network theta has only log_std, where M is 2
        f_v = 2 * v
        numpy.divide(network.transposed_product(hessian(moved)), rows, out=f_v[:split])
        return f_v + damping * v if damping else f_v

    return product
