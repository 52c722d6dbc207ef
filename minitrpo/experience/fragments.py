"""Fragments of episodes as flat arrays and masks: what rollouts return, digests read and the root sorts.

A fragment is an unbroken run of steps of one episode: the whole episode, or the part of it that a segment saw.
"""

from dataclasses import dataclass, field, fields, replace

import numpy as np

from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.policies import Array


@dataclass(frozen=True)
class Fragments:
    """N steps in E fragments, one fragment after the other; E-arrays say where a fragment stands and how it stopped."""

    observations: Array  # (N, D), as the environment gave them
    actions: Array  # (N, A) floats or (N,) integers, as the policy chose them
    rewards: Array  # (N,)
    final_observations: Array  # (E, D): after the last step of each fragment
    numbers: Array  # (E,): the episode's number, the key of its random numbers
    lengths: Array  # (E,): steps in this fragment
    starts: Array  # (E,): steps of the episode before this fragment
    terminated: Array  # (E,) bool: the task ended, the value after it is 0
    truncated: Array  # (E,) bool: the time limit cut it; neither of the two: a segment's end cut it
    returns: Array  # (E,): sum of the environment's rewards since the episode began
    policy_states: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (E, S): before each fragment

    @property
    def steps(self) -> int:
        """Return N, the number of environment steps."""
        return len(self.rewards)

    @property
    def ended(self) -> Array:
        """Return which fragments finish their episode, (E,) bool; only those have an episode return."""
        return self.terminated | self.truncated

    @property
    def last(self) -> Array:
        """Return the mask (N,) of the last step of each fragment."""
        mask = np.zeros(self.steps, bool)
        mask[np.cumsum(self.lengths) - 1] = True
        return mask

    @property
    def terminated_steps(self) -> Array:
        """Return the mask (N,) of the steps after which the value is 0."""
        mask = np.zeros(self.steps, bool)
        mask[(np.cumsum(self.lengths) - 1)[self.terminated]] = True
        return mask

    @property
    def timesteps(self) -> Array:
        """Return how many steps of its episode came before each step, (N,) floats."""
        first_rows = np.cumsum(self.lengths) - self.lengths
        return np.arange(self.steps, dtype=float) + np.repeat(self.starts - first_rows, self.lengths)

    def filtered(self, frozen: ObservationFilter) -> "Fragments":
        """Return the same with observations as the policy saw them."""
        seen = {"observations": frozen(self.observations), "final_observations": frozen(self.final_observations)}
        return replace(self, **seen)


def in_order(numbers: Array, starts: Array) -> Array:
    """Return the positions (E,) at which to find the fragments sorted by episode number, those of one by their start.

    `numbers[in_order(numbers, starts)]` ascends; no fragments give no positions, and still integers.
    """
    return np.lexsort((starts, numbers))


def rows_of(order: Array, lengths: Array) -> Array:
    """Return the positions (N,) of the steps of fragments taken in this order; lengths (E,) are in the old one."""
    stops = np.cumsum(lengths)
    return np.concatenate([np.arange(0), *(np.arange(stops[i] - lengths[i], stops[i]) for i in order)])


def concatenate(parts: list[Fragments]) -> Fragments:
    """Return all fragments as one, in the order given; at least one."""
    return Fragments(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Fragments)})
