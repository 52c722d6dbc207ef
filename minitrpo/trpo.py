"""Lecture 05b: one update of Trust Region Policy Optimization, (theta, batch) -> (theta', report)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    Ranks can share the work: each computes some blocks of the steps, `parts`, and `mean` adds up those of all ranks.
    """

    observations: Array  # (N, D), as the policy saw them
    actions: Array  # (N, A) floats or (N,) integers
    advantages: Array  # (N,)
    reduction: Reduction = SERIAL  # who computes which parts

    @cached_property
    def blocks(self) -> Blocks:
        """Return the steps cut into blocks."""
        return Blocks(len(self.observations), self.reduction)

    @cached_property
    def parts(self) -> list["Batch"]:
        """Return the blocks of steps that this rank computes, all of them if it is alone."""
        return [
            Batch(self.observations[rows], self.actions[rows], self.advantages[rows]) for rows in self.blocks.slices
        ]

    def mean(self, of_parts: Sequence[Array | float], shape: tuple[int, ...]) -> Array:
        """Return the mean over all N steps, from the mean over each of `parts`, an array of this shape."""
        return self.blocks.mean(of_parts, shape)

    def fraction(self, fraction: float) -> "Batch":
        """Return a batch of a fraction of the steps, equally spaced."""
        observations, actions, advantages = (
            every_kth(column, fraction) for column in (self.observations, self.actions, self.advantages)
        )
        return Batch(observations, actions, advantages, self.reduction)

    def distribution(self, policy: Policy, theta: Array) -> Array:
        """Return the distribution parameters of a policy, (N, K), in double precision."""
        theta = theta.astype(self.observations.dtype)
        return policy.distribution(theta, self.observations).astype(np.float64)


@dataclass(frozen=True)
class Report:
    """What an update did, for the log: where it began, and how its line search ended."""

    search: LineSearch
    gradient: Array  # at the old theta, (P,)
    entropy: float  # of the old policy, mean over the states, in nats

    @property
    def gradient_norm(self) -> float:
        """Return the length of the gradient."""
        return float(np.linalg.norm(self.gradient))


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
    """Return the report of an update from its line search, its gradient (P,) and the old policy's mean entropy."""
    report = Report(search, g, entropy)
    if not np.isfinite(report.gradient_norm):
        report = replace(report, search=replace(search, reason="not finite"))
    return report


def surrogate_gradient(policy: Policy, theta: Array, batch: Batch) -> Array:
    """Return the gradient of the surrogate at theta, (P,): lecture 01's policy gradient, part by part."""
    single = theta.astype(batch.observations.dtype)
    gradients = [
        policy_gradient_by_hand(policy, single, part.observations, part.actions, part.advantages)
        for part in batch.parts
    ]
    return batch.mean(gradients, theta.shape)


def damped_fisher(
    policy: Policy, theta: Array, batch: Batch, damping: float, fraction: float
) -> Callable[[Array], Array]:
    """Return the function v -> (F + damping I) v over a fraction of the states, part by part, in single precision."""
    theta32, subset = theta.astype(np.float32), batch.fraction(fraction)
    products = [
        fisher_vector_product_by_hand(policy, theta32, part.observations.astype(np.float32), damping=0.0)
        for part in subset.parts
    ]

    def product(v: Array) -> Array:
        v32 = v.astype(np.float32)
        return subset.mean([of_part(v32) for of_part in products], theta.shape) + damping * v

    return product


def objective(policy: Policy, theta: Array, batch: Batch) -> tuple[Callable[[Array], tuple[float, float]], float]:
    """Return the function theta' -> (surrogate gain, mean KL), and the mean entropy of the old policy, in nats."""
    old = [part.distribution(policy, theta) for part in batch.parts]
    old_log_prob = [policy.log_prob(dist, part.actions) for dist, part in zip(old, batch.parts, strict=True)]
    entropy = batch.mean([float(np.mean(policy.entropy(dist))) for dist in old], ())

    def evaluate(candidate: Array) -> tuple[float, float]:
        gains_and_kls = []
        for part, dist, log_prob in zip(batch.parts, old, old_log_prob, strict=True):
            new = part.distribution(policy, candidate)
            after = surrogate(policy, new, log_prob, part.actions, part.advantages)
            gains_and_kls.append(np.array([after - np.mean(part.advantages), mean_kl(policy, dist, new)]))
        gain, kl = batch.mean(gains_and_kls, (2,)).tolist()
        return gain, kl

    return evaluate, float(entropy)
