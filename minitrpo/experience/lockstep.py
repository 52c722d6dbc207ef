"""What a rollout keeps per lane: the random numbers to come, and the record of what has been."""

import numpy as np

from minitrpo.policies import Array, Policy

CHUNK = 64  # ticks whose random numbers are drawn at once; an episode's stream is the same for any value


class LaneNoise:
    """The random numbers of all lanes, tick by tick; each lane has the generator of its episode."""

    def __init__(self, policy: Policy, height: int) -> None:
        self._policy = policy
        self._chunk = np.zeros((CHUNK, height, policy.noise_size))
        self._generators: dict[int, np.random.Generator] = {}
        self._tick = 0

    def begin(self, lane: int, generator: np.random.Generator, used: int = 0) -> None:
        """Give a lane the stream of its episode, of which `used` steps have been taken already."""
        self._generators[lane] = generator
        self._policy.draw_noise(generator, used)
        self._draw(lane)

    def next(self, lanes: Array) -> Array:
        """Return the next step's random numbers (height, noise_size); those of `lanes` count, the others are stale."""
        if self._tick == CHUNK:
            self._tick = 0
            for lane in lanes.tolist():
                self._draw(lane)
        self._tick += 1
        return self._chunk[self._tick - 1]

    def _draw(self, lane: int) -> None:
        left = CHUNK - self._tick
        self._chunk[self._tick :, lane] = self._policy.draw_noise(self._generators[lane], left)


class Record:
    """Observations, actions and rewards of all lanes, tick by tick, in arrays that grow when they must."""

    def __init__(self, observations: Array, actions: Array) -> None:
        """Take the shapes and dtypes of a row of observations (height, D) and of actions (height, ...)."""
        self._arrays = [np.empty((CHUNK, *a.shape), a.dtype) for a in (observations, actions, np.zeros(len(actions)))]
        self.ticks = 0

    def append(self, observations: Array, actions: Array, lanes: Array | slice, rewards: Array) -> None:
        """Write a tick down; rewards (k,) are of these lanes, observations and actions of all rows."""
        if self.ticks == len(self._arrays[0]):
            self._arrays = [np.concatenate([a, np.empty_like(a)]) for a in self._arrays]
        seen, done, paid = self._arrays
        seen[self.ticks], done[self.ticks], paid[self.ticks, lanes] = observations, actions, rewards
        self.ticks += 1

    def since(self, tick: int, lane: int) -> tuple[Array, Array, Array]:
        """Return copies of a lane's observations (t, D), actions (t, A) and rewards (t,) since a tick."""
        seen, done, paid = (a[tick : self.ticks, lane].copy() for a in self._arrays)
        return seen, done.reshape(len(done), -1), paid
