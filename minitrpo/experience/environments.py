"""Environments: what an id offers, and several copies of it behind one `step`, each in its own lane."""

import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import gymnasium
import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


@dataclass(frozen=True)
class EnvironmentSpec:
    """The shape of one environment; `low` and `high` (A,) bound its continuous actions."""

    id: str
    observation_size: int
    action_size: int
    discrete: bool
    max_episode_steps: int | None
    low: Array
    high: Array

    def policy(self, hidden: tuple[int, ...], initial_log_std: float = 0.0) -> Policy:
        """Return a policy of the right kind: categorical for discrete actions, Gaussian otherwise."""
        if self.discrete:
            return CategoricalPolicy(self.observation_size, self.action_size, hidden)
        return GaussianPolicy(self.observation_size, self.action_size, hidden, initial_log_std)

    @cached_property
    def _centre_and_half(self) -> tuple[Array, Array]:
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        centre = np.where(bounded, (self.high + self.low) / 2, 0.0)
        return centre, np.where(bounded, (self.high - self.low) / 2, 1.0)

    def stretched(self, actions: Array) -> Array:
        """Return continuous actions (k, A) as the environment takes them: [-1, 1] stretched to the bounds, clipped."""
        centre, half = self._centre_and_half
        return np.clip(centre + half * actions, self.low, self.high).astype(np.float32)


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


def describe(env_id: str) -> EnvironmentSpec:
    """Return the spec of a Gymnasium id ("Reacher-v5", "module:Name-v0"); BadInput if it cannot be trained on."""
    env = make(env_id)
    try:
        observations, actions = env.observation_space, env.action_space
        if not isinstance(observations, gymnasium.spaces.Box):
            raise BadInput(f"{env_id} has {_kind(observations)} observations; minitrpo needs a Box of numbers")
        limit = env.spec.max_episode_steps if env.spec else None
        size = int(np.prod(observations.shape))
        none = np.zeros(0)
        if isinstance(actions, gymnasium.spaces.Discrete):
            return EnvironmentSpec(env_id, size, int(actions.n), True, limit, none, none)
        if isinstance(actions, gymnasium.spaces.Box) and np.issubdtype(actions.dtype, np.floating):
            low, high = actions.low.ravel().astype(np.float64), actions.high.ravel().astype(np.float64)
            return EnvironmentSpec(env_id, size, len(low), False, limit, low, high)
        raise BadInput(f"{env_id} has {_kind(actions)} actions; minitrpo needs a Box of floats or Discrete")
    finally:
        env.close()


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return one environment of this id; BadInput with the nearest ids if there is none."""
    module = env_id.partition(":")[0] if ":" in env_id else None
    if module:
        _import(module, env_id)
    try:
        with without_mujoco_warnings() if _uses_mujoco(env_id) else contextlib.nullcontext():
            return gymnasium.make(env_id, disable_env_checker=True, **options)
    except gymnasium.error.DependencyNotInstalled as error:
        raise BadInput(f"{env_id} needs a package that is not installed: {_one_line(error)}") from error
    except (gymnasium.error.Error, ImportError) as error:
        raise BadInput(f"unknown environment {env_id!r}: {_one_line(error)}{_suggestion(env_id)}") from error


@contextlib.contextmanager
def without_stderr() -> Iterator[None]:
    """Silence the C-level stderr: graphics drivers talk while they draw."""
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


@contextlib.contextmanager
def without_mujoco_warnings() -> Iterator[None]:
    """Silence MuJoCo: it warns about Gymnasium's own model files at every load, on stderr and in MUJOCO_LOG.TXT."""
    import mujoco

    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(handler)


def _uses_mujoco(env_id: str) -> bool:
    registered = gymnasium.registry.get(env_id.rpartition(":")[2])
    return "mujoco" in sys.modules or (registered is not None and "mujoco" in str(registered.entry_point))


def _import(module: str, env_id: str) -> None:
    if os.getcwd() not in sys.path:  # `mpiexec python script.py` looks beside the script, a user means "here"
        sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise BadInput(f"cannot import the module of {env_id!r}: {_one_line(error)}") from error


def _suggestion(env_id: str) -> str:
    near = difflib.get_close_matches(env_id.lower(), {name.lower(): name for name in gymnasium.registry}, n=3)
    names = [name for name in gymnasium.registry if name.lower() in near]
    return f" Did you mean {', '.join(sorted(names))}?" if names else " Any id that gymnasium.make knows will do."


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _kind(space: gymnasium.Space[Any]) -> str:
    return type(space).__name__


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
            raise LaneFailed(lane, f"reset raised {type(error).__name__}: {_one_line(error)}") from error
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
                raise LaneFailed(lane, f"step raised {type(error).__name__}: {_one_line(error)}") from error
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
    bad = ~(np.isfinite(rewards) & np.isfinite(observations).all(axis=1))
    if bad.any():
        i = int(np.argmax(bad))
        what = "a reward" if not np.isfinite(rewards[i]) else "an observation"
        raise LaneFailed(int(lanes[i]), f"step returned {what} that is not finite")
