"""Lecture 05: one update of Trust Region Policy Optimization, (theta, batch) -> (theta', report)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import LineSearch, backtracking, step_scale
from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import policy_gradient, surrogate
from minitrpo.shares import WHOLE, Shares, mean_over_blocks


@dataclass(frozen=True)
class Batch:
    """What an update learns from: N steps in a fixed order. Advantages should be standardised."""

    observations: Array  # (N, D), as the policy saw them
    actions: Array  # (N, A) floats or (N,) integers
    advantages: Array  # (N,)
    shares: Shares = WHOLE  # who computes which blocks of these rows

    def mean(self, f: Callable[[slice], Array], size: int) -> Array:
        """Return the mean over all N steps of f(block), (size,), which is a mean over a block of them."""
        return mean_over_blocks(f, len(self.advantages), size, self.shares)


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
    g = _gradient(policy, theta, batch)
    # 2. the natural direction: (F + damping I) x = g
    product = _fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x, residual = conjugate_gradient(product, g, cg_iterations)
    # 3. as far as the KL limit allows, were F exact; then back until the step keeps its promise
    full_step = step_scale(max_kl, float(x @ (g - residual))) * x
    evaluate, entropy = _objective(policy, theta, batch)
    search = backtracking(evaluate, theta, full_step, float(g @ full_step), max_kl)
    norm = float(np.linalg.norm(g))
    reason = search.reason if np.isfinite(norm) else "not finite"
    return search.theta, Report(**vars(search) | {"reason": reason}, gradient_norm=norm, entropy=entropy)


def _gradient(policy: Policy, theta: Array, batch: Batch) -> Array:
    """Return the policy gradient of the batch, (P,), block by block."""

    def of_block(rows: slice) -> Array:
        return policy_gradient(policy, theta, batch.observations[rows], batch.actions[rows], batch.advantages[rows])

    return batch.mean(of_block, len(theta))


def _fisher(policy: Policy, theta: Array, batch: Batch, damping: float, fraction: float) -> Callable[[Array], Array]:
    """Return the function v -> (F + damping I) v over a share of the states, block by block, in single precision.

    It decides only where the line search looks; that, and the gradient, are in double precision.
    """
    theta, some = theta.astype(np.float32), every_kth(batch.observations, fraction).astype(np.float32)
    products: dict[int, Callable[[Array], Array]] = {}  # tapes of the blocks that this process computes

    def of_block(rows: slice, v: Array) -> Array:
        if rows.start not in products:
            products[rows.start] = fisher_vector_product(policy, theta, some[rows], damping)
        return products[rows.start](v)

    def product(v: Array) -> Array:
        v = v.astype(np.float32)
        return mean_over_blocks(lambda rows: of_block(rows, v), len(some), len(theta), batch.shares)

    return product


def _objective(policy: Policy, theta: Array, batch: Batch) -> tuple[Callable[[Array], tuple[float, float]], float]:
    """Return the function theta' -> (surrogate gain, mean KL), and the mean entropy of the old policy."""
    before: dict[int, tuple[Array, Array]] = {}  # rows and log probabilities of the old policy, of a block

    def entropy_of_block(rows: slice) -> Array:
        old = policy.distribution(theta, batch.observations[rows])
        before[rows.start] = old, policy.log_prob(old, batch.actions[rows])
        return np.mean(policy.entropy(old), keepdims=True)

    def of_block(rows: slice, candidate: Array) -> Array:
        old, old_log_prob = before[rows.start]
        new, advantages = policy.distribution(candidate, batch.observations[rows]), batch.advantages[rows]
        after = surrogate(policy, new, old_log_prob, batch.actions[rows], advantages)
        return np.array([after - np.mean(advantages), mean_kl(policy, old, new)])

    def evaluate(candidate: Array) -> tuple[float, float]:
        gain, kl = batch.mean(lambda rows: of_block(rows, candidate), 2).tolist()
        return gain, kl

    return evaluate, float(batch.mean(entropy_of_block, 1)[0])
