"""Environments: what an id offers, and how one is made without noise on the screen."""

import contextlib
import difflib
import importlib
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np

from minitrpo.errors import BadInput, one_line, shown, told
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy

MOST_OBSERVATIONS, MOST_ACTIONS = 1_000_000, 100_000  # numbers in one: beyond, networks fill the memory
NO_BOUND = 1e30  # the largest float32 stands for "unbounded" in many environments


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
    observation_shape: tuple[int, ...] = ()
    action_shape: tuple[int, ...] = ()
    action_dtype: str = "float32"

    def policy(self, hidden: tuple[int, ...], initial_log_std: float = 0.0) -> Policy:
        """Return a policy of the right kind: categorical for discrete actions, Gaussian otherwise."""
        if self.discrete:
            return CategoricalPolicy(self.observation_size, self.action_size, hidden)
        return GaussianPolicy(self.observation_size, self.action_size, hidden, initial_log_std)

    @cached_property
    def _centre_and_half(self) -> tuple[Array, Array]:
        bounded = (np.abs(self.low) < NO_BOUND) & (np.abs(self.high) < NO_BOUND)
        low, high = np.where(bounded, self.low, -1.0), np.where(bounded, self.high, 1.0)
        return (high + low) / 2, (high - low) / 2

    def stretched(self, actions: Array) -> Array:
        """Return continuous actions (k, A) as the environment takes them: [-1, 1] stretched to the bounds, clipped."""
        centre, half = self._centre_and_half
        stretched = centre + half * actions
        np.minimum(stretched, self.high, out=stretched)
        return np.maximum(stretched, self.low, out=stretched).astype(self.action_dtype)


def describe(env_id: str, status: RankStatus | None = None) -> EnvironmentSpec:
    """Return the spec of a Gymnasium id ("Reacher-v5", "module:Name-v0"); BadInput if it cannot be trained on.

    status: where to say that an environment is being made and closed.
    """
    status = status or RankStatus.private()
    with status.at(Doing.MAKING):
        env = make(env_id)
    try:
        with status.at(Doing.MAKING), _as_bad_input(f"{env_id} has spaces that cannot be read"):
            return _spec(env_id, env)
    finally:
        with status.at(Doing.CLOSING), _as_bad_input(f"{env_id} cannot be closed"):
            env.close()
            del env  # its `__del__` is watched, too


def _spec(env_id: str, env: gymnasium.Env[Any, Any]) -> EnvironmentSpec:
    observations, actions = _space(env_id, env, "observation"), _space(env_id, env, "action")
    if not isinstance(observations, gymnasium.spaces.Box):
        raise BadInput(f"{env_id} has {_kind(observations)} observations; minitrpo needs a Box of numbers")
    if 0 in observations.shape:
        raise BadInput(f"{env_id} has observations of shape {observations.shape}: there is nothing to see")
    size = math.prod(observations.shape)
    if size > MOST_OBSERVATIONS:
        raise BadInput(f"{env_id} has {size} numbers in an observation; minitrpo takes at most {MOST_OBSERVATIONS}")
    limit = env.spec.max_episode_steps if env.spec else None
    if isinstance(actions, gymnasium.spaces.Discrete):
        count, none = _action_size(env_id, int(actions.n)), np.zeros(0)
        return EnvironmentSpec(env_id, size, count, True, limit, none, none, observations.shape)
    if isinstance(actions, gymnasium.spaces.Box) and np.issubdtype(actions.dtype, np.floating):
        _action_size(env_id, math.prod(actions.shape))
        low, high = actions.low.ravel().astype(np.float64), actions.high.ravel().astype(np.float64)
        if not np.all(low <= high):
            raise BadInput(f"{env_id} has bounds of its actions that are NaN, or crossed: see its action_space")
        shapes = (observations.shape, actions.shape, str(actions.dtype))
        return EnvironmentSpec(env_id, size, len(low), False, limit, low, high, *shapes)
    raise BadInput(f"{env_id} has {_kind(actions)} actions; minitrpo needs a Box of floats or Discrete")


def _action_size(env_id: str, size: int) -> int:
    """Return the number of actions, or of numbers in one; BadInput if it is none or too many."""
    if size < 1:
        raise BadInput(f"{env_id} has an action_space with nothing in it: there is nothing to choose")
    if size > MOST_ACTIONS:
        raise BadInput(f"{env_id} has an action_space of {size}; minitrpo takes at most {MOST_ACTIONS}")
    return size


def _space(env_id: str, env: gymnasium.Env[Any, Any], which: str) -> Any:
    with _as_bad_input(f"{env_id} does not say what its {which}s are"):
        space = getattr(env, f"{which}_space")
    if not isinstance(space, gymnasium.spaces.Space):
        raise BadInput(f"{env_id} has {which}_space = {shown(space)}; minitrpo needs one of gymnasium.spaces")
    return space


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return one environment of this id; BadInput with the nearest ids if there is none or it cannot be made."""
    module = env_id.partition(":")[0] if ":" in env_id else None
    if module:
        _import(module, env_id)
    try:
        with without_mujoco_warnings() if _uses_mujoco(env_id) else contextlib.nullcontext():
            return gymnasium.make(env_id, disable_env_checker=True, **options)
    except gymnasium.error.DependencyNotInstalled as error:
        raise BadInput(f"{env_id} needs a package that is not installed: {one_line(error)}") from error
    except (gymnasium.error.Error, ImportError) as error:
        if env_id.rpartition(":")[2] in gymnasium.registry:
            raise BadInput(f"{env_id} is registered, but cannot be made: {told(error)}") from error
        raise BadInput(f"unknown environment {env_id!r}: {one_line(error)}{_suggestion(env_id)}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a constructor of a user's raises anything
        raise BadInput(f"{env_id} cannot be made: {told(error)}") from error


@contextlib.contextmanager
def _as_bad_input(what: str) -> Iterator[None]:
    """Turn whatever an environment raises into BadInput."""
    try:
        yield
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BadInput(f"{what}: {told(error)}") from error


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module of a user's fails in any way
        why = one_line(error) if isinstance(error, ImportError) else told(error)
        raise BadInput(f"cannot import the module of {env_id!r}: {why}") from error


def _suggestion(env_id: str) -> str:
    near = difflib.get_close_matches(env_id.lower(), {name.lower(): name for name in gymnasium.registry}, n=3)
    names = [name for name in gymnasium.registry if name.lower() in near]
    return f" Did you mean {', '.join(sorted(names))}?" if names else " Any id that gymnasium.make knows will do."


def _kind(space: gymnasium.Space[Any]) -> str:
    return type(space).__name__
