"""Lecture 14: what guided policy search does for one first state: samples in, a better linear controller out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.guided_policy_search.local_models import (
    CostNetwork,
    fit_cost,
    fit_dynamics,
    linearise,
    weighted_cost,
)
from minitrpo.algorithms.guided_policy_search.lqr import Controller, Cost, expected_costs, forward, kl_limited
from minitrpo.policies import Array, Policy

FACTORS = (0.5, 5.0)  # between which the factor on a condition's KL limit stays


@dataclass(frozen=True)
class Samples:
    """N episodes from one first state: states X (N, T + 1, n), controls U (N, T, m), rewards and `alive` (N, T)."""

    X: Array
    U: Array
    rewards: Array
    alive: Array  # whether the episode still went on when it came to that step

    @property
    def horizon(self) -> int:
        """Return for how many steps half of the episodes, and two at least, go on."""
        return int(np.sum(self.alive.sum(axis=0) >= max(2, len(self.alive) / 2)))

    def steps(self) -> tuple[Array, Array]:
        """Return z = [x; u] of all steps taken, (R, n + m), and their costs, minus the rewards, (R,)."""
        Z = np.concatenate([self.X[:, :-1], self.U], axis=2)
        return Z[self.alive], -self.rewards[self.alive]

    def until(self, T: int) -> "Samples":
        """Return their first T steps."""
        return Samples(self.X[:, : T + 1], self.U[:, :T], self.rewards[:, :T], self.alive[:, :T])


def new_factor(factor: float, promised: float, kept: float) -> float:
    """Return the factor on a KL limit after an update; it predicted to lower the cost by `promised`, and did by `kept`.

    With s in units of the old factor, the cost is modelled as -promised s + (promised - kept) s^2, and its minimum lies
    at promised / (2 (promised - kept)). Source: Montgomery & Levine 2016; the limits, a tenth and five times the old
    factor, are those of Finn's gps.
    """
    missed = max(promised - kept, 1e-4 * abs(promised), 1e-12)
    return float(np.clip(factor * np.clip(promised / (2 * missed), 0.1, 5.0), *FACTORS))


def improved(
    policy: Policy,
    theta: Array,
    samples: Samples,
    settings: Any,
    previous: dict[str, float],
    network: CostNetwork | None = None,
) -> Arrays:
    """Return the controller of one condition, along its samples, and what its next update needs to know.

    previous: factor, eta, promised and cost of the update before (NaN in the first of a condition). network: the cost,
    if it was fitted for all conditions. Returns new values of these four, T, expected_cost, and what `along` returns.
    """
    # 1. local models of the dynamics, the policy and the cost
    T = samples.horizon
    some = samples.until(T)
    X, U, alive = some.X[:, :-1], some.U, some.alive
    dynamics = fit_dynamics(some.X, U, alive, settings.prior_strength)
    means = policy.mode(policy.distribution(theta, X.reshape(-1, X.shape[2]))).reshape(U.shape)
    pbar = linearise(X, means, np.exp(theta[-policy.action_size :]), alive, settings.prior_strength)
    cost, sampled = cost_of(some, settings, network)
    # 2. the KL limit, from the gain that the last update predicted and its actual gain
    factor, kept = previous["factor"], previous["cost"] - sampled
    if np.isfinite(kept + previous["promised"]):
        factor = new_factor(factor, previous["promised"], kept)
    # 3. the controller of least cost within that distance of the policy
    mu0, Sigma0 = X[:, 0].mean(axis=0), np.cov(X[:, 0].T, bias=True)
    limit = factor * settings.local_kl * T
    with np.errstate(over="ignore", invalid="ignore"):  # models that explode: the policy stays
        best = kl_limited(dynamics, cost, pbar, mu0, Sigma0, limit, previous["eta"])
        before = np.mean(expected_costs(cost, forward(dynamics, pbar, mu0, Sigma0)))
        expected = np.mean(expected_costs(cost, best.at))
    # 4. its predicted gain, and its actions in the states of the samples
    numbers = {"factor": factor, "eta": best.eta, "promised": before - expected, "cost": sampled, "T": float(T)}
    numbers["expected_cost"] = float(expected)
    return {name: np.array([number]) for name, number in numbers.items()} | along(best.p, X, alive)


def cost_of(samples: Samples, settings: Any, network: CostNetwork | None = None) -> tuple[Cost, float]:
    """Return the cost that the settings name, or the one estimated from the rewards, and the samples' mean per step."""
    (_, T, m), alive = samples.U.shape, samples.alive
    Z, costs = samples.steps()
    if settings.state_cost:
        cost = weighted_cost(T, settings.state_weights, settings.control_cost, m)
        return cost, float(np.mean(0.5 * np.einsum("ri,ij,rj->r", Z, cost.C[0], Z)))
    if network is not None:
        where = np.concatenate([samples.X[:, :-1], samples.U], axis=2) * alive[:, :, None]
        return network.expansion(where.sum(axis=0) / alive.sum(axis=0)[:, None]), float(np.mean(costs))
    C, c, e = fit_cost(Z, costs)
    return Cost(np.tile(C, (T, 1, 1)), np.tile(c, (T, 1)), np.full(T, e)), float(np.mean(costs))


def along(p: Controller, X: Array, alive: Array) -> Arrays:
    """Return x (R, n), the controller's mean controls u there (R, m) and its noise S (R, m, m), for all steps taken."""
    u = np.einsum("tij,ntj->nti", p.K, X) + p.k
    S = np.broadcast_to(p.S, (*alive.shape, *p.S.shape[1:]))
    return {"x": X[alive], "u": u[alive], "S": S[alive]}
