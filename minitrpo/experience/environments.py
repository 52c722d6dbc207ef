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

from minitrpo.errors import BadInput, describe_error, shorten
from minitrpo.experience.modules import GIVEN, TYPED, Untyped, imported
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.supervision import status

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
    try:
        with status.at("make"):
            env = make(env_id)
            spec = spec_of(env_id, env)
        with status.at("close"):
            env.close()
            del env  # its `__del__` is watched, too
    except BadInput:
        raise
    except (Exception, SystemExit) as error:  # of its spaces, or of `close`
        raise BadInput(f"{env_id} cannot be trained on: {describe_error(error)}") from error
    return spec


def spec_of(env_id: str, env: gymnasium.Env[Any, Any]) -> EnvironmentSpec:
    """Return the spec of an environment that was made; BadInput if it cannot be trained on."""
    sight, choice = env.observation_space, env.action_space
    if not isinstance(sight, gymnasium.spaces.Box) or 0 in sight.shape:
        raise BadInput(
            f"{env_id} has observation_space = {shorten(sight)}; minitrpo needs a Box of numbers: wrap it in "
            "gymnasium.wrappers.FlattenObservation, where you register it"
        )
    size, limit = math.prod(sight.shape), env.spec.max_episode_steps if env.spec else None
    if isinstance(choice, gymnasium.spaces.Discrete):
        count, first, none = int(choice.n), int(choice.start), np.zeros(0)
        return EnvironmentSpec(env_id, size, count, True, limit, none, none, sight.shape, first_action=first)
    if isinstance(choice, gymnasium.spaces.Box) and choice.dtype.kind == "f" and 0 not in choice.shape:
        low, high = choice.low.ravel().astype(np.float64), choice.high.ravel().astype(np.float64)
        shapes = (sight.shape, choice.shape, str(choice.dtype))
        return EnvironmentSpec(env_id, size, len(low), False, limit, low, high, *shapes)
    raise BadInput(
        f"{env_id} has action_space = {shorten(choice)}; minitrpo needs a Box of floats or Discrete: wrap it in "
        "gymnasium.wrappers.TransformAction, which makes them of one of the two"
    )


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return one environment of this id; BadInput if there is none, or if it cannot be made."""
    try:
        factory = _factory(env_id)
        with without_mujoco_warnings() if _uses_mujoco(env_id) else contextlib.nullcontext():
            if factory is None:
                return gymnasium.make(env_id, disable_env_checker=True, **options)
            env = factory(**options)
    except BadInput:
        raise
    except gymnasium.error.UnregisteredEnv as error:
        known = {name.lower(): name for name in gymnasium.registry}
        near = [known[name] for name in difflib.get_close_matches(env_id.lower(), known)]
        cure = f"did you mean {', '.join(near)}?" if near else "any id that gymnasium.make knows will do"
        raise BadInput(f"there is no environment {shorten(env_id)}: {cure}") from error
    except (Exception, SystemExit) as error:  # whatever a module or a constructor of a user's raises
        raise BadInput(f"--env {shorten(env_id)} cannot be made: {describe_error(error)}") from error
    if not isinstance(env, gymnasium.Env):
        raise BadInput(f"{env_id} makes {shorten(env)}, which is no gymnasium.Env")
    return env


def _factory(env_id: str) -> Any:
    """Return what was handed over under this name, or what its module calls so; None for an id that is registered."""
    attribute = env_id.partition(":")[2]
    if env_id in GIVEN or not attribute:
        return GIVEN.get(env_id)
    factory = getattr(imported(env_id, "--env"), attribute, None)
    if factory is None or attribute in gymnasium.registry:
        return None
    if not (isinstance(factory, type) and issubclass(factory, gymnasium.Env)) and env_id not in TYPED:
        raise Untyped(env_id, "--env", f"{env_id} is no class of environments")  # any function could be named
    return factory


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
