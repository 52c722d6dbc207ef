"""What a rollout keeps per environment slot: the random numbers to come, and the steps that have been taken."""

from dataclasses import dataclass

import numpy as np

from minitrpo.policies import Array, Policy

CHUNK = 64  # ticks whose random numbers are drawn at once; an episode's stream is the same for any value


class ActionNoise:
    """The random numbers of all slots, tick by tick; each slot has the generator of its episode."""

    def __init__(self, policy: Policy, height: int) -> None:
        self._policy = policy
        self._chunk = np.zeros((CHUNK, height, policy.noise_size))
        self._generators: dict[int, np.random.Generator] = {}
        self._tick = 0

    def begin(self, slot: int, generator: np.random.Generator, used: int = 0) -> None:
        """Give a slot the stream of its episode, of which `used` steps have been taken already."""
        self._generators[slot] = generator
        self._policy.draw_noise(generator, used)
        self._draw(slot)

    def next(self, slots: Array) -> Array:
        """Return the next step's random numbers (height, noise_size); those of `slots` count, the others are stale."""
        if self._tick == CHUNK:
            self._tick = 0
            for slot in slots.tolist():
                self._draw(slot)
        self._tick += 1
        return self._chunk[self._tick - 1]

    def _draw(self, slot: int) -> None:
        left = CHUNK - self._tick
        self._chunk[self._tick :, slot] = self._policy.draw_noise(self._generators[slot], left)


class StepBuffer:
    """Observations, actions and rewards of all slots, tick by tick, in arrays that grow when they must."""

    def __init__(self, observations: Array, actions: Array) -> None:
        """Take the shapes and dtypes of a row of observations (height, D) and of actions (height, ...)."""
        self._arrays = [np.empty((CHUNK, *a.shape), a.dtype) for a in (observations, actions, np.zeros(len(actions)))]
        self.ticks = 0

    def append(self, observations: Array, actions: Array, slots: Array | slice, rewards: Array) -> None:
        """Keep a tick; rewards (k,) are of these slots, observations and actions of all rows."""
        if self.ticks == len(self._arrays[0]):
            self._arrays = [np.concatenate([a, np.empty_like(a)]) for a in self._arrays]
        all_observations, all_actions, all_rewards = self._arrays
        all_observations[self.ticks], all_actions[self.ticks] = observations, actions
        all_rewards[self.ticks, slots] = rewards
        self.ticks += 1

    def since(self, tick: int, slot: int) -> tuple[Array, Array, Array]:
        """Return copies of a slot's observations (t, D), actions (t, A) or (t,) and rewards (t,) since a tick."""
        observations, actions, rewards = (a[tick : self.ticks, slot].copy() for a in self._arrays)
        return observations, actions, rewards


@dataclass(frozen=True)
class UnfinishedEpisode:
    """An episode cut by a segment's end: its number, its last observation, and the actions that lead there."""

    number: int
    actions: Array  # (t, A) or (t,): all actions so far
    observation: Array  # (D,)
    state: Array  # (S,), of the policy


def as_arrays(episodes: list[UnfinishedEpisode]) -> dict[str, Array]:
    """Return unfinished episodes, at least one, as arrays for a checkpoint; states only if the policy has any."""
    arrays = {
        "numbers": np.array([e.number for e in episodes], np.int64),
        "lengths": np.array([len(e.actions) for e in episodes], np.int64),
        "actions": np.concatenate([e.actions for e in episodes]),
        "observations": np.array([e.observation for e in episodes]),
        "states": np.array([e.state for e in episodes]),
    }
    return arrays if arrays["states"].size else {n: a for n, a in arrays.items() if n != "states"}


def from_arrays(arrays: dict[str, Array]) -> list[UnfinishedEpisode]:
    """Return what `as_arrays` was given."""
    numbers, observations = arrays["numbers"].tolist(), arrays["observations"]
    past = np.split(arrays["actions"], np.cumsum(arrays["lengths"])[:-1])
    states = arrays.get("states", np.zeros((len(numbers), 0)))
    return [UnfinishedEpisode(*parts) for parts in zip(numbers, past, observations, states, strict=True)]
