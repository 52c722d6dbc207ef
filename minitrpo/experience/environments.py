"""Environments: what an id offers, and how one is made without noise on the screen."""

import contextlib
import difflib
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import parse_env_id

from minitrpo.errors import BadInput, describe_error, one_line, shorten
from minitrpo.experience.given import GIVEN, found, made
from minitrpo.experience.modules import TYPED, imported, untyped
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.supervision import status

MOST_OBSERVATIONS, MOST_ACTIONS = 1_000_000, 100_000  # numbers in one: beyond, networks fill the memory
FLATTEN = ": wrap it in gymnasium.wrappers.FlattenObservation, where you register it"
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
    first_action: int = 0  # the number of the first of discrete actions

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

    def to_environment(self, actions: Array) -> Array:
        """Return k of a policy's actions as the environment takes them: integers (k,), or (k, ...) of its space."""
        if self.discrete:
            return actions + self.first_action
        return self.stretched(actions).reshape(len(actions), *self.action_shape)


def describe(env_id: str) -> EnvironmentSpec:
    """Return the spec of a Gymnasium id ("Reacher-v5", "module:Name-v0") or of a class or function ("module:Name").

    BadInput if it cannot be trained on.
    """
    with status.at("make"):
        env = make(env_id)
    try:
        with status.at("make"), _as_bad_input(f"{env_id} has spaces that cannot be read"):
            return spec_of(env_id, env)
    finally:
        with status.at("close"), _as_bad_input(f"{env_id} cannot be closed"):
            env.close()
            del env  # its `__del__` is watched, too


def spec_of(env_id: str, env: gymnasium.Env[Any, Any]) -> EnvironmentSpec:
    """Return the spec of an environment that was made; BadInput if it cannot be trained on."""
    observations, actions = _space(env_id, env, "observation"), _space(env_id, env, "action")
    if not isinstance(observations, gymnasium.spaces.Box):
        raise BadInput(f"{env_id} has {_kind(observations)} observations; minitrpo needs a Box of numbers{FLATTEN}")
    if 0 in observations.shape:
        raise BadInput(f"{env_id} has observations of shape {observations.shape}: there is nothing to see")
    size = math.prod(observations.shape)
    if size > MOST_OBSERVATIONS:
        raise BadInput(f"{env_id} has {size} numbers in an observation; minitrpo takes at most {MOST_OBSERVATIONS}")
    limit = env.spec.max_episode_steps if env.spec else None
    if isinstance(actions, gymnasium.spaces.Discrete):
        count, none = _action_size(env_id, int(actions.n)), np.zeros(0)
        first = int(actions.start)
        return EnvironmentSpec(env_id, size, count, True, limit, none, none, observations.shape, first_action=first)
    if isinstance(actions, gymnasium.spaces.Box) and np.issubdtype(actions.dtype, np.floating):
        _action_size(env_id, math.prod(actions.shape))
        low, high = actions.low.ravel().astype(np.float64), actions.high.ravel().astype(np.float64)
        if not np.all(low <= high):
            raise BadInput(f"{env_id} has bounds of its actions that are NaN, or crossed: see its action_space")
        shapes = (observations.shape, actions.shape, str(actions.dtype))
        return EnvironmentSpec(env_id, size, len(low), False, limit, low, high, *shapes)
    raise BadInput(
        f"{env_id} has {_kind(actions)} actions; minitrpo needs a Box of floats or Discrete: wrap it in "
        "gymnasium.wrappers.TransformAction, which makes them of one of the two"
    )


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
        raise BadInput(f"{env_id} has {which}_space = {shorten(space)}; minitrpo needs one of gymnasium.spaces")
    return space


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return one environment of this id; BadInput with the nearest ids if there is none or it cannot be made."""
    if ":" in env_id and env_id not in GIVEN:
        _import(env_id)
    try:
        with without_mujoco_warnings() if _uses_mujoco(env_id) else contextlib.nullcontext():
            factory = found(env_id)  # an id that is registered is looked for there
            if factory is None:
                return gymnasium.make(env_id, disable_env_checker=True, **options)
            check_callable(env_id, factory)
            return made(factory, env_id, options)
    except BadInput:
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        raise BadInput(f"{env_id} needs a package that is not installed: {one_line(error)}") from error
    except (gymnasium.error.Error, ImportError) as error:
        if env_id.rpartition(":")[2] in gymnasium.registry:
            raise BadInput(f"{env_id} is registered, but cannot be made: {describe_error(error)}") from error
        why = one_line(error).partition(" Did you mean")[0]  # its own guess has no version
        raise BadInput(f"unknown environment {env_id!r}: {why}{_suggestion(env_id)}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a constructor of a user's raises anything
        raise BadInput(f"{env_id} cannot be made: {describe_error(error)}") from error


@contextlib.contextmanager
def _as_bad_input(what: str) -> Iterator[None]:
    """Turn whatever an environment raises into BadInput."""
    try:
        yield
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BadInput(f"{what}: {describe_error(error)}") from error


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


def check_callable(env_id: str, factory: Any) -> None:
    """Raise BadInput for what only a file names, if it is no class of environments: any function could be named."""
    is_class = isinstance(factory, type) and issubclass(factory, gymnasium.Env)
    if not (is_class or env_id in TYPED or env_id in GIVEN):
        raise untyped(env_id, "--env", f"{env_id} is no class of environments")


def _uses_mujoco(env_id: str) -> bool:
    registered = gymnasium.registry.get(env_id.rpartition(":")[2])
    return "mujoco" in sys.modules or (registered is not None and "mujoco" in str(registered.entry_point))


def _import(env_id: str) -> None:
    try:
        imported(env_id, "--env")
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module of a user's fails in any way
        why = one_line(error) if isinstance(error, ImportError) else describe_error(error)
        raise BadInput(f"cannot import the module of {env_id!r}: {why}") from error


def _suggestion(env_id: str) -> str:
    """Return the ids that a wrong one may mean, each in its newest version."""
    by_version = sorted(gymnasium.registry, key=lambda name: parse_env_id(name)[2] or 0)
    newest = {parse_env_id(name)[:2]: name for name in by_version}
    known = {name.lower(): name for name in newest.values()}
    names = [known[word] for word in difflib.get_close_matches(env_id.lower(), known, n=3, cutoff=0.7)]
    return f" Did you mean {', '.join(names)}?" if names else " Any id that gymnasium.make knows will do."


def _kind(space: gymnasium.Space[Any]) -> str:
    return type(space).__name__
