"""Lecture 02: distance between policies, and the Fisher matrix that measures it, one product at a time.

KL(old || new) is 0 at theta_old and so is its gradient; its second derivative there is the Fisher matrix F.
F has P x P entries, but conjugate gradient only asks for F v, which costs about four passes of the network.
"""

from collections.abc import Callable

import autograd.numpy as np
from autograd.differential_operators import make_ggnvp

from minitrpo.policies import Array, Policy


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
    """Return the function v -> (F + damping I) v, with F the mean Fisher matrix at `theta` over `observations` (N, D).

    F = mean of J' H J, where J is the Jacobian of the distribution parameters and H the Hessian of the KL in
    them: autograd's generalised Gauss-Newton product. Its tape is built here, once, and replayed by every product.
    F itself, P x P numbers, is never written down.
    Source: Schulman et al. 2015 (TRPO), appendix C.1; Martens 2014 for F = Gauss-Newton.
    """
    old = policy.distribution(theta, observations)
    # 1. F v, summed over the rows: the tape is built here, once
    summed: Callable[[Array], Array] = make_ggnvp(
        lambda theta: policy.distribution(theta, observations), lambda new: np.sum(policy.kl(old, new))
    )(theta)
    # 2. the mean over the rows, and the damping
    return lambda v: summed(v) / len(observations) + damping * v
