"""Several copies of an environment behind one `step`, each in a slot of its own; here with Gymnasium's own step."""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Protocol

import gymnasium
import numpy as np

from minitrpo.errors import BadInput, describe_error, shorten
from minitrpo.experience.environments import EnvironmentSpec, make, spec_of
from minitrpo.policies import Array
from minitrpo.supervision import status

HUGE = 1e100  # numbers beyond it are refused: their squares, summed, leave the range of float64
WHOLE = (bool, int, np.bool_, np.integer)
REAL = (int, float, np.integer, np.floating)
PLAIN = {(0, kind) for kind in "fiu"}  # dimensions and kind of an array that is one number
STEP = "(observation, reward, terminated, truncated, info)"


class EnvironmentFailed(RuntimeError):
    """The environment in `slot` raised, or returned something that is not finite."""

    def __init__(self, slot: int, cause: str) -> None:
        super().__init__(cause)
        self.slot = slot


class VectorEnv(Protocol):
    """Copies of one environment, one per slot; a slot's numbers never depend on the other slots."""

    num_envs: int

    def reset(self, slot: int, seed: int) -> Array: ...
    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]: ...
    def close(self) -> None: ...


class GymnasiumVectorEnv:
    """Any Gymnasium id through its own `step`, one environment object per slot, made when first used."""

    def __init__(self, spec: EnvironmentSpec, num_envs: int) -> None:
        self.spec = spec
        self.num_envs = num_envs
        self._environments: dict[int, gymnasium.Env[Any, Any]] = {}

    def reset(self, slot: int, seed: int) -> Array:
        """Begin an episode in a slot and return its first observation (D,)."""
        if slot not in self._environments:
            with status.at("make"):
                env = self._asked(slot, "its constructor", lambda: make(self.spec.id))
                if not alike(self._asked(slot, "its spaces", lambda: spec_of(self.spec.id, env)), self.spec):
                    raise EnvironmentFailed(slot, "its spaces are not those of another copy of it")
                self.adopt(slot, env)
        status.begin("reset", slot)
        result = self._asked(slot, "reset", lambda: self._environments[slot].reset(seed=seed))
        status.end()
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            raise EnvironmentFailed(slot, f"reset returned {shorten(result)}; it must return (observation, info dict)")
        observation = self._observation(slot, "reset", result[0])
        if not np.all(np.abs(observation) <= HUGE):
            raise EnvironmentFailed(slot, f"reset returned {what_is_wrong(observation, 'an observation')}")
        return observation

    def adopt(self, slot: int, env: gymnasium.Env[Any, Any]) -> None:
        """Put an environment into a slot."""
        self._environments[slot] = env

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step k slots with the policy's actions; return observations (k, D), rewards, terminated, truncated (k,)."""
        k = len(slots)
        observations = np.empty((k, self.spec.observation_size))
        rewards, terminated, truncated = np.empty(k), np.zeros(k, bool), np.zeros(k, bool)
        theirs: Any = self.spec.to_environment(actions)
        if self.spec.discrete:
            theirs = theirs.tolist()  # Python's own integers
        for i, (slot, action) in enumerate(zip(slots.tolist(), theirs, strict=True)):
            status.begin("step", slot)
            try:
                result = self._environments[slot].step(action)
            except BaseException as error:  # not `_asked`: a call takes a fiftieth of a quick step
                raise failure(slot, "step", error) from error
            if not (isinstance(result, tuple) and len(result) == 5):
                raise EnvironmentFailed(slot, f"step returned {shorten(result)}; it must return {STEP}")
            observation, rewards[i], terminated[i], truncated[i] = self._checked(slot, result)
            observations[i] = observation
        status.end()
        check_finite(slots, observations, rewards)
        return observations, rewards, terminated, truncated

    def close(self) -> None:
        """Close all environments, and let go of them; EnvironmentFailed if one could not be closed."""
        failed = None
        for slot in list(self._environments):
            with status.at("close"):  # which watches over `__del__`, too
                try:
                    self._asked(slot, "close", self._environments.pop(slot).close)
                except EnvironmentFailed as error:
                    failed = error
        if failed is not None:
            raise failed

    def _checked(self, slot: int, result: Any) -> tuple[Array, float, bool, bool]:
        """Return what a step returned, of the right kinds; EnvironmentFailed if it is not."""
        observation, reward, terminated, truncated, info = result
        for name, value in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(value, WHOLE) or isinstance(value, np.timedelta64) or value not in (0, 1):
                raise EnvironmentFailed(slot, f"step returned {name} = {shorten(value)}; it must be True or False")
        if isinstance(reward, bool | np.timedelta64) or not isinstance(reward, REAL):  # numpy's durations are integers
            reward = self._scalar(slot, reward)
        if not isinstance(info, dict):
            raise EnvironmentFailed(slot, f"step returned info = {shorten(info)}; it must be a dict")
        try:
            number = as_float(reward)
        except Exception as error:  # of a class of the user's
            raise EnvironmentFailed(
                slot, f"step returned a reward of which float() raised {describe_error(error)}"
            ) from error
        return self._observation(slot, "step", observation), number, bool(terminated), bool(truncated)

    def _scalar(self, slot: int, reward: Any) -> float:
        """Return a reward that is an array of one number as that number."""
        if isinstance(reward, np.ndarray) and not np.ma.is_masked(reward) and (reward.ndim, reward.dtype.kind) in PLAIN:
            return float(reward)
        hint = "; True is none, but float(True) is" if isinstance(reward, bool | np.bool_) else ""
        raise EnvironmentFailed(slot, f"step returned reward = {shorten(reward)}; it must be one number{hint}")

    def _observation(self, slot: int, call: str, observation: Any) -> Array:
        """Return an observation as a vector (D,); EnvironmentFailed if it is not what the space announces."""
        array = observation if type(observation) is np.ndarray else as_array(observation)
        if array.dtype.kind not in "fiub":
            raise EnvironmentFailed(slot, f"{call} returned observation {shorten(observation)}, not numbers")
        if array.shape != self.spec.observation_shape:
            raise EnvironmentFailed(
                slot,
                f"{call} returned an observation of shape {array.shape}; its observation_space says "
                f"{self.spec.observation_shape}",
            )
        if array.dtype != np.float64:
            with np.errstate(over="ignore"):  # of a long double: it becomes infinite, and is refused as such
                array = array.astype(np.float64)
        return array.ravel()

    def _asked(self, slot: int, call: str, ask: Callable[[], Any]) -> Any:
        """Return what an environment answers; whatever it raises becomes EnvironmentFailed."""
        try:
            return ask()
        except BaseException as error:
            raise failure(slot, call, error) from error


def alike(one: EnvironmentSpec, other: EnvironmentSpec) -> bool:
    """Return whether two environments have actions and observations of the same kind, within the same bounds."""
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(EnvironmentSpec))


def failure(slot: int, call: str, error: BaseException) -> BaseException:
    """Return what to raise for whatever an environment raised: SystemExit is no end of ours, but Ctrl-C is."""
    if isinstance(error, KeyboardInterrupt):
        return error
    if isinstance(error, BadInput):  # from `make`
        return EnvironmentFailed(slot, str(error))
    return EnvironmentFailed(slot, f"{call} raised {describe_error(error)}")


def as_array(value: Any) -> Array:
    """Return a list, a scalar or an array of another class as an array; of objects, if it has no numbers or lacks some.

    numpy would make numbers of texts, dates and the masked entries of an array.
    """
    try:
        return np.asarray(None if np.ma.is_masked(value) else value)
    except Exception:  # whatever an object of a user's raises when it is looked at
        return np.asarray(None)


def as_float(number: float) -> float:
    """Return a number as a float; an integer beyond all floats is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def check_finite(slots: Array, observations: Array, rewards: Array) -> None:
    """Raise EnvironmentFailed for the first slot whose observation or reward is NaN, infinite or beyond HUGE."""
    if np.vdot(observations, observations) <= HUGE**2 and np.vdot(rewards, rewards) <= HUGE**2:
        return  # as nearly always, and soon known; False for NaN, too
    for i, slot in enumerate(slots.tolist()):
        for value, name in ((rewards[i : i + 1], "a reward"), (observations[i], "an observation")):
            if not np.all(np.abs(value) <= HUGE):
                raise EnvironmentFailed(slot, f"step returned {what_is_wrong(value, name)}")


def what_is_wrong(values: Array, name: str) -> str:
    """Return why numbers are refused."""
    if not np.all(np.isfinite(values)):
        return f"{name} that is not finite"
    return f"{name} of {float(np.abs(values).max()):.3g}: beyond {HUGE:g}, sums of squares overflow"
