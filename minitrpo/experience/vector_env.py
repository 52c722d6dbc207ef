"""Several copies of an environment behind one `step`, each in a slot of its own; here with Gymnasium's own step."""

import math
from typing import Any, Protocol

import gymnasium
import numpy as np

from minitrpo.experience.environments import EnvironmentSpec, make, one_line
from minitrpo.policies import Array


class EnvironmentFailed(RuntimeError):
    """The environment in `slot` raised, or returned something that is not finite."""

    def __init__(self, slot: int, cause: str) -> None:
        super().__init__(cause)
        self.slot = slot


class VectorEnv(Protocol):
    """Copies of one environment, one per slot; a slot's numbers never depend on the other slots."""

    width: int
    stepping: Array  # (1,) integers: where to say which slot's environment is at work, -1 if none or all

    def reset(self, slot: int, seed: int) -> Array: ...
    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]: ...
    def close(self) -> None: ...


class GymnasiumVectorEnv:
    """Any Gymnasium id through its own `step`, one environment object per slot, made when first used."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        self.spec = spec
        self.width = width
        self.stepping = np.full(1, -1)
        self._environments: dict[int, gymnasium.Env[Any, Any]] = {}
        self._first_action = 0

    def reset(self, slot: int, seed: int) -> Array:
        """Begin an episode in a slot and return its first observation (D,)."""
        if slot not in self._environments:
            self.adopt(slot, make(self.spec.id))
        try:
            self.stepping[0] = slot
            observation, _ = self._environments[slot].reset(seed=seed)
            self.stepping[0] = -1
        except Exception as error:
            raise EnvironmentFailed(slot, f"reset raised {type(error).__name__}: {one_line(error)}") from error
        observation = np.asarray(observation, dtype=np.float64).ravel()
        if not np.all(np.isfinite(observation)):
            raise EnvironmentFailed(slot, "reset returned an observation that is not finite")
        return observation

    def adopt(self, slot: int, env: gymnasium.Env[Any, Any]) -> None:
        """Put an environment into a slot."""
        self._environments[slot] = env
        if self.spec.discrete:
            self._first_action = int(env.action_space.start)  # type: ignore[attr-defined]

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step k slots with the policy's actions; return observations (k, D), rewards, terminated, truncated (k,)."""
        k = len(slots)
        observations = np.empty((k, self.spec.observation_size))
        rewards, terminated, truncated = np.empty(k), np.zeros(k, bool), np.zeros(k, bool)
        for i, (slot, action) in enumerate(zip(slots.tolist(), self.to_environment(actions), strict=True)):
            self.stepping[0] = slot
            try:
                observation, rewards[i], terminated[i], truncated[i], _ = self._environments[slot].step(action)
            except Exception as error:
                raise EnvironmentFailed(slot, f"step raised {type(error).__name__}: {one_line(error)}") from error
            observations[i] = np.ravel(observation)
        self.stepping[0] = -1
        check_finite(slots, observations, rewards)
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


def check_finite(slots: Array, observations: Array, rewards: Array) -> None:
    """Raise EnvironmentFailed for the first slot whose observation or reward is NaN or infinite."""
    if math.isfinite(observations.sum() + rewards.sum()):
        return  # a sum of finite numbers may overflow, but no other sum is finite
    bad = ~(np.isfinite(rewards) & np.isfinite(observations).all(axis=1))
    if bad.any():
        i = int(np.argmax(bad))
        what = "a reward" if not np.isfinite(rewards[i]) else "an observation"
        raise EnvironmentFailed(int(slots[i]), f"step returned {what} that is not finite")
