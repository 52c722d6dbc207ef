"""Replay buffer: the newest transitions in plain arrays, in shards, of which minibatches are drawn uniformly.

A transition is what an off-policy method learns from: what was seen, done, received and seen next, and whether the task
ended there. A shard is the buffer of one environment slot. It may lie on the rank that plays the slot, or all of them
together on one: the draw is the same, and so are its bits.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.advantages import n_step_returns
from minitrpo.errors import TOO_LARGE, AlgorithmFailed
from minitrpo.experience.rollouts import Fragments
from minitrpo.policies import Array

Arrays = dict[str, Array]


def transitions(fragment: Fragments) -> Arrays:
    """Return every step as a transition.

    The next observation of a fragment's last step is its final observation. A step that a time limit ended is not
    terminated: it has a future.

    Args:
        fragment: N steps of one or several fragments.

    Returns:
        observations, actions, rewards, next_observations and terminated, an array of N rows each.

    """
    nexts = np.empty_like(fragment.observations)
    nexts[:-1] = fragment.observations[1:]
    nexts[fragment.last] = fragment.final_observations
    return {
        "observations": fragment.observations,
        "actions": fragment.actions,
        "rewards": fragment.rewards,
        "next_observations": nexts,
        "terminated": fragment.terminated_steps,
    }


def multi_step(fragment: Fragments, n: int, discount: float) -> Arrays:
    """Return every step as a transition that looks n steps ahead, or to the end of its fragment.

    Where another policy acted in between than the one that learns, this is an approximation (Hessel et al. 2018,
    section 3).

    Args:
        fragment: N steps of one or several fragments.
        n: how many steps a transition looks ahead, at most.
        discount: gamma.

    Returns:
        What `transitions` returns, but rewards are r_t + discount r_{t+1} + ... of the k <= n steps in between, and
        next_observations and terminated are those of the last of these steps. discounts, (N,), are discount^k, the
        weights of what follows.

    """
    rows, ends = transitions(fragment), np.cumsum(fragment.lengths)
    ahead = np.minimum(np.arange(1, fragment.steps + 1) + n - 1, np.repeat(ends, fragment.lengths)) - 1
    steps = ahead - np.arange(fragment.steps) + 1
    rewards = n_step_returns(fragment.rewards, np.zeros(fragment.steps), fragment.last, discount, n)
    seen = {name: rows[name][ahead] for name in ("next_observations", "terminated")}
    return {**rows, **seen, "rewards": rewards, "discounts": discount ** steps.astype(float)}


@dataclass(frozen=True)
class Draw:
    """A minibatch: how many rows of each shard, and which."""

    counts: Array  # (S,)
    positions: Array  # (S, M), M being the largest of the counts

    @property
    def weights(self) -> Array:
        """Return 1 for what was drawn, 0 for what only fills a shard's row up to M, shape (S, M)."""
        return (np.arange(self.positions.shape[1]) < self.counts[:, None]).astype(np.float32)


def draw(rng: np.random.Generator, batch: int, sizes: Array) -> Draw:
    """Return rows drawn uniformly, with repetition, from the union of all shards.

    Shard w gives b_w rows, b ~ Multinomial(batch, sizes / sum(sizes)). Equal b_w of unequal shards would prefer the
    rows of the small ones. The random numbers are those of all shards, whichever of them this process holds.

    Args:
        rng: where the random numbers come from.
        batch: the number of rows.
        sizes: how many rows each shard holds, (S,).

    Returns:
        The rows of each shard.

    """
    counts = rng.multinomial(batch, sizes / sizes.sum())
    uniform = rng.random((len(sizes), counts.max()))
    return Draw(counts, np.floor(uniform * sizes[:, None]).astype(np.int64))


def updates_due(steps: int, warm_up: int, ratio: float, done: int) -> int:
    """Return how many updates are due after `steps` steps: `ratio` for each step after the warm-up, minus `done`.

    A whole number, never below 0: what all steps so far are worth, rounded down, minus the `done` updates already made.

    Args:
        steps: environment steps so far.
        warm_up: how many of them come before the first update.
        ratio: updates for each step after the warm-up.
        done: updates already made.

    Returns:
        The number of updates to make now.

    """
    # 1. the updates that the steps after the warm-up are worth, rounded down
    owed = int(ratio * max(0, steps - warm_up))
    # 2. minus those that were made
    return max(0, owed - done)


class ReplayBuffer:
    """S shards of the newest `capacity` rows each, as arrays (S, capacity, ...): rings, written in order of arrival.

    All but actions that are integers is kept as float32, in which networks learn from it, too: half of a checkpoint and
    of the time. `terminated` is 1 or 0.
    """

    def __init__(self, shards: int, capacity: int, observation_size: int, action_size: int) -> None:
        """Make an empty buffer.

        Args:
            shards: S.
            capacity: of each shard, in transitions.
            observation_size: numbers in an observation.
            action_size: numbers in an action, 0 for actions that are integers.

        """
        real, seen = np.float32, (shards, capacity, observation_size)
        self.capacity = capacity
        self.added = np.zeros(shards, np.int64)  # rows that were ever added to each shard
        self._arrays: Arrays = {
            "observations": np.zeros(seen, real),
            "actions": np.zeros((shards, capacity, action_size), real) if action_size else np.zeros(seen[:2], np.int32),
            "rewards": np.zeros(seen[:2], real),
            "next_observations": np.zeros(seen, real),
            "terminated": np.zeros(seen[:2], real),
            "discounts": np.zeros(seen[:2], real),
        }

    @property
    def sizes(self) -> Array:
        """Return how many rows each shard holds, (S,)."""
        return np.minimum(self.added, self.capacity)

    def add(self, shard: int, rows: Arrays) -> None:
        """Write rows behind those that a shard has, over its oldest when it is full.

        Args:
            shard: its number.
            rows: what `multi_step` returns.

        Raises:
            AlgorithmFailed: if a number is finite, but beyond float32: it would come back from every draw as infinity.

        """
        count = len(rows["rewards"])
        kept = min(count, self.capacity)
        positions = (self.added[shard] + np.arange(count - kept, count)) % self.capacity
        for name, array in self._arrays.items():
            new = rows[name][count - kept :]
            with np.errstate(over="ignore"):
                array[shard, positions] = new
            if not np.isfinite(array[shard, positions]).all():
                raise AlgorithmFailed(
                    f"the replay buffer keeps float32, and one of the {name.replace('_', ' ')} is "
                    f"{new.flat[np.abs(new).argmax()]:.1g}. {TOO_LARGE}"
                )
        self.added[shard] += count

    def take(self, drawn: Draw, which: slice = slice(None)) -> Arrays:
        """Return the transitions that were drawn from some of the shards.

        Args:
            drawn: from all shards.
            which: k of the shards.

        Returns:
            The arrays of a transition, (k, M, ...) each.

        """
        shards, positions = np.arange(len(self.added))[which, None], drawn.positions[which]
        return {name: array[shards, positions] for name, array in self._arrays.items()}

    def state(self) -> Arrays:
        """Return what a checkpoint must hold to go on exactly: the rows in use, not copied, and how many came."""
        used = int(self.sizes.max())
        return {"added": self.added, **{name: array[:, :used] for name, array in self._arrays.items()}}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        self.added[:] = arrays["added"]
        used = int(self.sizes.max())
        for name, array in self._arrays.items():
            array[:, :used] = arrays[name]
