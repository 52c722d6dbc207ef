"""Several copies of an environment behind one `step`, each in its own lane; here with Gymnasium's own step."""

import math
from typing import Any, Protocol

import gymnasium
import numpy as np

from minitrpo.experience.environments import EnvironmentSpec, make, one_line
from minitrpo.policies import Array


class LaneFailed(RuntimeError):
    """The environment in `lane` raised, or returned something that is not finite."""

    def __init__(self, lane: int, cause: str) -> None:
        super().__init__(cause)
        self.lane = lane


class Simulators(Protocol):
    """Copies of one environment, one per lane; a lane's numbers never depend on the other lanes."""

    width: int
    stepping: Array  # (1,) integers: where to say which lane's environment is at work, -1 if none or all

    def reset(self, lane: int, seed: int) -> Array: ...
    def step(self, lanes: Array, actions: Array) -> tuple[Array, Array, Array, Array]: ...
    def close(self) -> None: ...


class GymnasiumSimulators:
    """Any Gymnasium id through its own `step`, one environment object per lane, made when first used."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        self.spec = spec
        self.width = width
        self.stepping = np.full(1, -1)
        self._environments: dict[int, gymnasium.Env[Any, Any]] = {}
        self._first_action = 0

    def reset(self, lane: int, seed: int) -> Array:
        """Begin an episode in a lane and return its first observation (D,)."""
        if lane not in self._environments:
            self.adopt(lane, make(self.spec.id))
        try:
            self.stepping[0] = lane
            observation, _ = self._environments[lane].reset(seed=seed)
            self.stepping[0] = -1
        except Exception as error:
            raise LaneFailed(lane, f"reset raised {type(error).__name__}: {one_line(error)}") from error
        observation = np.asarray(observation, dtype=np.float64).ravel()
        if not np.all(np.isfinite(observation)):
            raise LaneFailed(lane, "reset returned an observation that is not finite")
        return observation

    def adopt(self, lane: int, env: gymnasium.Env[Any, Any]) -> None:
        """Put an environment into a lane."""
        self._environments[lane] = env
        if self.spec.discrete:
            self._first_action = int(env.action_space.start)  # type: ignore[attr-defined]

    def step(self, lanes: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step k lanes with the policy's actions; return observations (k, D), rewards, terminated, truncated (k,)."""
        k = len(lanes)
        observations = np.empty((k, self.spec.observation_size))
        rewards, terminated, truncated = np.empty(k), np.zeros(k, bool), np.zeros(k, bool)
        for i, (lane, action) in enumerate(zip(lanes.tolist(), self.to_environment(actions), strict=True)):
            self.stepping[0] = lane
            try:
                observation, rewards[i], terminated[i], truncated[i], _ = self._environments[lane].step(action)
            except Exception as error:
                raise LaneFailed(lane, f"step raised {type(error).__name__}: {one_line(error)}") from error
            observations[i] = np.ravel(observation)
        self.stepping[0] = -1
        check_finite(lanes, observations, rewards)
        return observations, rewards, terminated, truncated

    def to_environment(self, actions: Array) -> Any:
        """Return the actions as the environment takes them: integers, or [-1, 1] stretched to the bounds, clipped."""
        if self.spec.discrete:
            return (actions + self._first_action).tolist()
        shape = next(iter(self._environments.values())).action_space.shape or ()
        return self.spec.stretched(actions).reshape(len(actions), *shape)

    def close(self) -> None:
        """Close all environments."""
        for env in self._environments.values():
            env.close()


def check_finite(lanes: Array, observations: Array, rewards: Array) -> None:
    """Raise LaneFailed for the first lane whose observation or reward is NaN or infinite."""
    if math.isfinite(observations.sum() + rewards.sum()):
        return  # a sum of finite numbers may overflow, but no other sum is finite
    bad = ~(np.isfinite(rewards) & np.isfinite(observations).all(axis=1))
    if bad.any():
        i = int(np.argmax(bad))
        what = "a reward" if not np.isfinite(rewards[i]) else "an observation"
        raise LaneFailed(int(lanes[i]), f"step returned {what} that is not finite")
