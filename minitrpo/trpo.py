"""Lecture 05b: one update of Trust Region Policy Optimization, (theta, batch) -> (theta', report)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from minitrpo.block_sums import SERIAL, Blocks, Reduction
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import LineSearch, backtracking, step_scale
from minitrpo.natural_gradient import every_kth, fisher_vector_product_by_hand, mean_kl
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import policy_gradient_by_hand, surrogate


@dataclass(frozen=True)
class Batch:
    """What an update learns from: N steps in a fixed order. Advantages should be standardised.

    The network's sums have the precision of the observations (float32: a third of the time); all else is in double.
    """

    observations: Array  # (N, D), as the policy saw them
    actions: Array  # (N, A) floats or (N,) integers
    advantages: Array  # (N,)
    reduction: Reduction = SERIAL  # who computes which blocks of these rows

    @cached_property
    def blocks(self) -> Blocks:
        """Return the rows cut into blocks."""
        return Blocks(len(self.advantages), self.reduction)

    def distribution(self, policy: Policy, theta: Array, rows: slice) -> Array:
        """Return the distribution parameters of a policy on some of the rows, (n, K), in double precision."""
        seen = self.observations[rows]
        return policy.distribution(theta.astype(seen.dtype), seen).astype(np.float64)


@dataclass(frozen=True)
class Report:
    """What an update did, for the log: how its line search ended, and where it began."""

    accepted: bool
    reason: str  # "accepted", or why the last trial of the line search failed
    trials: int  # policies evaluated
    gain: float  # surrogate gained; 0 if nothing was accepted
    kl: float  # nats; 0 if nothing was accepted
    gain_ratio: float  # actual gain / gain expected from the gradient, of the last trial
    gradient_norm: float
    entropy: float  # of the old policy, mean over the states, in nats
    gradient: Array = field(default_factory=lambda: np.zeros(0), compare=False)  # at the old theta, (P,); not logged


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
    g = surrogate_gradient(policy, theta, batch)
    # 2. the natural direction x from (F + damping I) x = g, and the residual that was left
    product = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x, residual = conjugate_gradient(product, g, cg_iterations)
    # 3. the full step: x, scaled so that the quadratic estimate of the KL equals the limit
    full_step = step_scale(max_kl, float(x @ (g - residual))) * x
    # 4. shorten it until the KL is within the limit and the surrogate has risen
    evaluate, entropy = objective(policy, theta, batch)
    search = backtracking(evaluate, theta, full_step, float(g @ full_step), max_kl)
    # 5. the new theta, and what to log of the update
    return search.theta, report_of(search, g, entropy)


def report_of(search: LineSearch, g: Array, entropy: float) -> Report:
    """Return the report of an update from its line search, its gradient and the old policy's mean entropy."""
    norm = float(np.linalg.norm(g))
    reason = search.reason if np.isfinite(norm) else "not finite"
    return Report(search.accepted, reason, search.trials, search.gain, search.kl, search.gain_ratio, norm, entropy, g)


def surrogate_gradient(policy: Policy, theta: Array, batch: Batch) -> Array:
    """Return the gradient of the surrogate at theta, (P,): lecture 01's policy gradient, block by block."""
    at = theta.astype(batch.observations.dtype)

    def of_block(rows: slice) -> Array:
        o, a, advantages = batch.observations[rows], batch.actions[rows], batch.advantages[rows]
        return policy_gradient_by_hand(policy, at, o, a, advantages)

    return batch.blocks.mean(of_block, len(theta))


def damped_fisher(
    policy: Policy, theta: Array, batch: Batch, damping: float, fraction: float
) -> Callable[[Array], Array]:
    """Return the function v -> (F + damping I) v over a fraction of the states, block by block, in single precision."""
    theta, some = theta.astype(np.float32), every_kth(np.arange(len(batch.observations)), fraction)
    blocks, o = Blocks(len(some), batch.reduction), batch.observations
    products = blocks.map(
        lambda n: fisher_vector_product_by_hand(policy, theta, o[some[n]].astype(np.float32), damping=0.0)
    )

    def product(v: Array) -> Array:
        single = v.astype(np.float32)
        return blocks.mean(lambda rows, of_block: of_block(single), len(theta), products) + damping * v

    return product


def objective(policy: Policy, theta: Array, batch: Batch) -> tuple[Callable[[Array], tuple[float, float]], float]:
    """Return the function theta' -> (surrogate gain, mean KL), and the mean entropy of the old policy, in nats."""
    blocks = batch.blocks
    old = blocks.map(lambda rows: batch.distribution(policy, theta, rows))
    old_log_prob = [policy.log_prob(dist, batch.actions[rows]) for rows, dist in zip(blocks.own, old, strict=True)]
    entropy = blocks.mean(lambda rows, old: np.mean(policy.entropy(old), keepdims=True), 1, old)

    def evaluate(candidate: Array) -> tuple[float, float]:
        def of_block(rows: slice, old: Array, old_log_prob: Array) -> Array:
            new, advantages = batch.distribution(policy, candidate, rows), batch.advantages[rows]
            after = surrogate(policy, new, old_log_prob, batch.actions[rows], advantages)
            return np.array([after - np.mean(advantages), mean_kl(policy, old, new)])

        gain, kl = blocks.mean(of_block, 2, old, old_log_prob).tolist()
        return gain, kl

    return evaluate, float(entropy[0])
