"""Several copies of an environment behind one `step`, each in a slot of its own; here with Gymnasium's own step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import gymnasium
import numpy as np

from minitrpo.errors import BadInput
from minitrpo.experience.environments import EnvironmentSpec, make, one_line
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.policies import Array

HUGE = 1e100  # numbers beyond it are refused: their squares, summed, leave the range of float64
WHOLE = (bool, int, np.bool_, np.integer)
REAL = (int, float, np.integer, np.floating)
STEP = "(observation, reward, terminated, truncated, info)"


class EnvironmentFailed(RuntimeError):
    """The environment in `slot` raised, or returned something that is not finite."""

    def __init__(self, slot: int, cause: str) -> None:
        super().__init__(cause)
        self.slot = slot


class VectorEnv(Protocol):
    """Copies of one environment, one per slot; a slot's numbers never depend on the other slots."""

    width: int
    status: RankStatus  # where to say which slot's environment is asked for what

    def reset(self, slot: int, seed: int) -> Array: ...
    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]: ...
    def close(self) -> None: ...


class GymnasiumVectorEnv:
    """Any Gymnasium id through its own `step`, one environment object per slot, made when first used."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        self.spec = spec
        self.width = width
        self.status = RankStatus.private(width)
        self._environments: dict[int, gymnasium.Env[Any, Any]] = {}
        self._first_action = 0

    def reset(self, slot: int, seed: int) -> Array:
        """Begin an episode in a slot and return its first observation (D,)."""
        if slot not in self._environments:
            with self._failure_of(slot, "its constructor"), self.status.at(Doing.MAKING):
                self.adopt(slot, make(self.spec.id))
        with self._failure_of(slot, "reset"):
            self.status.begin(Doing.RESETTING, slot)
            result = self._environments[slot].reset(seed=seed)
            self.status.end()
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            raise EnvironmentFailed(slot, f"reset returned {shown(result)}; it must return (observation, info dict)")
        observation = self._observation(slot, "reset", result[0])
        if not np.all(np.abs(observation) <= HUGE):
            raise EnvironmentFailed(slot, f"reset returned {what_is_wrong(observation, 'an observation')}")
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
            self.status.begin(Doing.STEPPING, slot)
            try:
                result = self._environments[slot].step(action)
            except Exception as error:  # not `_failure_of`: a context takes a twentieth of a quick step
                raise self._raised(slot, "step", error) from error
            if not (isinstance(result, tuple) and len(result) == 5):
                raise EnvironmentFailed(slot, f"step returned {shown(result)}; it must return {STEP}")
            observation, rewards[i], terminated[i], truncated[i] = self._checked(slot, result)
            observations[i] = observation
        self.status.end()
        check_finite(slots, observations, rewards)
        return observations, rewards, terminated, truncated

    def to_environment(self, actions: Array) -> Any:
        """Return the actions as the environment takes them: integers, or [-1, 1] stretched to the bounds, clipped."""
        if self.spec.discrete:
            return (actions + self._first_action).tolist()
        return self.spec.stretched(actions).reshape(len(actions), *self.spec.action_shape)

    def close(self) -> None:
        """Close all environments."""
        for slot, env in self._environments.items():
            with self._failure_of(slot, "close"), self.status.at(Doing.CLOSING):
                env.close()
        self._environments.clear()

    def _checked(self, slot: int, result: Any) -> tuple[Array, float, bool, bool]:
        """Return what a step returned, of the right kinds; EnvironmentFailed if it is not."""
        observation, reward, terminated, truncated, info = result
        for name, value in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(value, WHOLE) or value not in (0, 1):
                raise EnvironmentFailed(slot, f"step returned {name} = {shown(value)}; it must be True or False")
        if isinstance(reward, bool) or not isinstance(reward, REAL):
            reward = self._scalar(slot, reward)
        if not isinstance(info, dict):
            raise EnvironmentFailed(slot, f"step returned info = {shown(info)}; it must be a dict")
        return self._observation(slot, "step", observation), float(reward), bool(terminated), bool(truncated)

    def _scalar(self, slot: int, reward: Any) -> float:
        """Return a reward that is an array of one number as that number."""
        if isinstance(reward, np.ndarray) and reward.ndim == 0 and reward.dtype.kind in "fiu":
            return float(reward)
        raise EnvironmentFailed(slot, f"step returned reward = {shown(reward)}; it must be one number")

    def _observation(self, slot: int, call: str, observation: Any) -> Array:
        """Return an observation as a vector (D,); EnvironmentFailed if it is not what the space announces."""
        try:
            array = np.asarray(observation, dtype=np.float64)
        except (TypeError, ValueError):
            raise EnvironmentFailed(slot, f"{call} returned observation {shown(observation)}, not numbers") from None
        if array.shape != self.spec.observation_shape:
            raise EnvironmentFailed(
                slot,
                f"{call} returned an observation of shape {array.shape}; its observation_space says "
                f"{self.spec.observation_shape}",
            )
        return array.ravel()

    @contextmanager
    def _failure_of(self, slot: int, call: str) -> Iterator[None]:
        """Turn whatever an environment raises into EnvironmentFailed."""
        try:
            yield
        except BadInput as error:  # from `make`
            raise EnvironmentFailed(slot, str(error)) from error
        except Exception as error:
            raise self._raised(slot, call, error) from error

    def _raised(self, slot: int, call: str, error: Exception) -> EnvironmentFailed:
        return EnvironmentFailed(slot, f"{call} raised {type(error).__name__}: {one_line(error)}")


def shown(value: Any) -> str:
    """Return a value for a message, in a few words."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_finite(slots: Array, observations: Array, rewards: Array) -> None:
    """Raise EnvironmentFailed for the first slot whose observation or reward is NaN, infinite or beyond HUGE."""
    if np.abs(observations).max() <= HUGE and np.abs(rewards).max() <= HUGE:  # False for NaN, too
        return
    for i, slot in enumerate(slots.tolist()):
        for value, name in ((rewards[i : i + 1], "a reward"), (observations[i], "an observation")):
            if not np.all(np.abs(value) <= HUGE):
                raise EnvironmentFailed(slot, f"step returned {what_is_wrong(value, name)}")


def what_is_wrong(values: Array, name: str) -> str:
    """Return why numbers are refused."""
    if not np.all(np.isfinite(values)):
        return f"{name} that is not finite"
    return f"{name} of {float(np.abs(values).max()):.3g}: beyond {HUGE:g}, sums of squares overflow"
