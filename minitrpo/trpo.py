"""Lecture 05: one update of Trust Region Policy Optimization, (theta, batch) -> (theta', report)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import LineSearch, backtracking, step_scale
from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import policy_gradient, surrogate


@dataclass(frozen=True)
class Batch:
    """What an update learns from: N steps in a fixed order. Advantages should be standardised."""

    observations: Array  # (N, D), as the policy saw them
    actions: Array  # (N, A) floats or (N,) integers
    advantages: Array  # (N,)


@dataclass(frozen=True)
class Report(LineSearch):
    """What an update did, for the log: how its line search ended, and where it began."""

    gradient_norm: float
    entropy: float  # of the old policy, mean over the states, in nats


def trpo_step(
    policy: Policy,
    theta: Array,
    batch: Batch,
    max_kl: float,
    cg_iterations: int = 10,
    cg_damping: float = 0.1,
    fisher_fraction: float = 1.0,
) -> tuple[Array, Report]:
    """Return theta' (P,) that raises the surrogate within KL(old || new) <= max_kl, and a report; theta stays as it is.

    Source: Schulman et al. 2015 (TRPO), appendix C; Frans & Hafner 2016, Algorithm 1, line 6.
    """
    # 1. the gradient g of the surrogate at theta
    g = policy_gradient(policy, theta, batch.observations, batch.actions, batch.advantages)
    # 2. the natural direction: (F + damping I) x = g
    some = every_kth(batch.observations, fisher_fraction)
    product = fisher_vector_product(policy, theta, some, cg_damping)
    x, residual = conjugate_gradient(product, g, cg_iterations)
    # 3. as far as the KL limit allows, were F exact; then back until the step keeps its promise
    full_step = step_scale(max_kl, float(x @ (g - residual))) * x
    evaluate, old = _objective(policy, theta, batch)
    search = backtracking(evaluate, theta, full_step, float(g @ full_step), max_kl)
    norm = float(np.linalg.norm(g))
    reason = search.reason if np.isfinite(norm) else "not finite"
    found = vars(search) | {"reason": reason}
    return search.theta, Report(**found, gradient_norm=norm, entropy=float(np.mean(policy.entropy(old))))


def _objective(policy: Policy, theta: Array, batch: Batch) -> tuple[Callable[[Array], tuple[float, float]], Array]:
    """Return the function theta' -> (surrogate gain, mean KL) and the old distribution rows."""
    old = policy.distribution(theta, batch.observations)
    old_log_prob = policy.log_prob(old, batch.actions)
    before = float(np.mean(batch.advantages))  # the surrogate at ratio 1

    def evaluate(candidate: Array) -> tuple[float, float]:
        rows = policy.distribution(candidate, batch.observations)
        gain = float(surrogate(policy, rows, old_log_prob, batch.actions, batch.advantages)) - before
        return gain, float(mean_kl(policy, old, rows))

    return evaluate, old
