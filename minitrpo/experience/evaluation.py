"""Evaluation: how well a policy does by its best actions, from first states that training never sees, on all ranks.

`Evaluator` plays the episodes, `Evaluation` is what came of them, with the interval of their mean.

Episode n is the same whichever rank plays it, so the returns are the same to the bit on any number of ranks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Rollouts
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.episode_pool import StaticPool, concurrency, gather_in_order
from minitrpo.policies import ActFunction, Acting, Array, Policy


class BestActions(Acting):
    """A policy without chance: in every state the mean action, or that of the largest probability or value."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.discrete = policy, policy.discrete  # type: ignore[misc]

    def act_function(self, theta: Array) -> ActFunction:
        """Return the function (observations, noise, rows in use) -> actions that collecting calls at every tick."""
        return lambda observations, noise, used: self.policy.mode(self.policy.distribution(theta, observations))


class Evaluator:
    """One rank's part of evaluating, with environments of its own."""

    def __init__(self, envs: VectorEnv, policy: Policy, seed: int, comm: Comm, sample: bool = False) -> None:
        """Make ready. sample: draw actions as in training, instead of the best ones."""
        actor: Any = policy if sample else BestActions(policy)
        self._rollouts = Rollouts(envs.spec, actor, envs, seed, purpose=Purpose.EVALUATION)
        self._comm, self._pool = comm, StaticPool(comm)

    def returns(self, theta: Array, frozen: ObservationFilter, iteration: int, episodes: int) -> Array:
        """Return the returns (episodes,) in the order of the episodes' numbers, on the root (others: none); collective.

        iteration: the update after which they are played, with which their random numbers are keyed. EpisodeFailed
        if the environment fails.
        """
        draw = self._pool.draw_from(episodes)
        side_by_side = concurrency(episodes, self._comm.size, self._rollouts.num_envs)
        played = self._rollouts.play(theta, frozen, iteration, draw, side_by_side)
        totals = [(int(fragment.numbers[0]), float(fragment.returns[0])) for fragment in played]
        return np.array(gather_in_order(self._comm, totals))


def half_interval(values: Array, level: float = 0.95) -> Array:
    """Return half of Student's interval of a mean.

    Args:
        values: N rows, independent of each other, (N, K).
        level: how often the interval covers the true mean, if the values are normally distributed.

    Returns:
        Half the width of the interval of each column's mean, (K,); NaN if N is 1.

    """
    from scipy.special import stdtrit  # training needs nothing of scipy

    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(stdtrit(n - 1, (1 + level) / 2) * np.std(values, axis=0, ddof=1) / np.sqrt(n))


@dataclass(frozen=True)
class Evaluation:
    """What the episodes of an evaluation returned, in their order; `interval`: Student's of 95 % about their mean."""

    returns: Array

    @property
    def mean(self) -> float:
        """Return the mean return of an episode."""
        return float(np.mean(self.returns))

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % interval of the mean; NaN if there is only one episode."""
        half = float(half_interval(self.returns[:, None])[0])
        return self.mean - half, self.mean + half

    def __str__(self) -> str:
        n, (low, high) = len(self.returns), self.interval
        about = f", 95 % interval {low:.4g} to {high:.4g}" if n > 1 else ""
        return f"mean return {self.mean:.4g}{about}, of {n} fresh episode{'s' * (n > 1)}"
