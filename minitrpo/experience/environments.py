"""Environments: what an id offers, and how one is made without noise on the screen."""

import contextlib
import difflib
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.wrappers import FlattenObservation

from minitrpo.errors import BadInput, describe_error, shorten
from minitrpo.experience.trust import GIVEN, TYPED, Untyped, imported
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.supervision.watchdog import status

NO_BOUND = 1e30  # the largest float32 stands for "unbounded" in many environments
NO_INTEGER_BOUND = 1e9  # and the largest integer


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
    flattened: Any = None  # the space of observations that are no Box: `make` flattens them

    @property
    def kind(self) -> str:
        """Return the kind of its actions, by the name of Gymnasium's space: "Discrete", or "Box"."""
        return "Discrete" if self.discrete else "Box"

    def policy(self, hidden: tuple[int, ...], initial_log_std: float = 0.0) -> Policy:
        """Return a policy of the right kind: categorical for discrete actions, Gaussian otherwise."""
        if self.discrete:
            return CategoricalPolicy(self.observation_size, self.action_size, hidden)
        return GaussianPolicy(self.observation_size, self.action_size, hidden, initial_log_std)

    @cached_property
    def _centre_and_half(self) -> tuple[Array, Array]:
        none = NO_BOUND if "float" in self.action_dtype else NO_INTEGER_BOUND
        below, above = np.abs(self.low) < none, np.abs(self.high) < none
        low = np.where(below, self.low, np.where(above, self.high - 2, -1.0))  # 2 from the only bound
        high = np.where(above, self.high, np.where(below, self.low + 2, 1.0))
        return (high + low) / 2, (high - low) / 2

    def stretched(self, actions: Array) -> Array:
        """Return continuous actions (k, A) as the environment takes them: [-1, 1] stretched to the bounds, clipped.

        Those of an environment that takes integers are rounded.
        """
        centre, half = self._centre_and_half
        stretched = centre + half * actions
        np.minimum(stretched, self.high, out=stretched)
        np.maximum(stretched, self.low, out=stretched)
        if "int" in self.action_dtype:
            np.rint(stretched, out=stretched)
        return stretched.astype(self.action_dtype)

    def random_actions(self, rng: np.random.Generator, steps: int) -> Array:
        """Return `steps` random actions in the form of a policy's: (steps,) integers or (steps, A) in [-1, 1]."""
        if self.discrete:
            return rng.integers(self.action_size, size=steps)
        return rng.uniform(-1, 1, (steps, self.action_size))

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
        try:
            spec = spec_of(env_id, env)
        finally:
            with status.at("close"):
                env.close()
                del env  # its `__del__` is watched, too
    except BadInput:
        raise
    except (Exception, SystemExit) as error:  # of its spaces, or of `close`
        raise BadInput(f"{env_id} fails when it is described or closed: {describe_error(error)}") from error
    return spec


def spec_of(env_id: str, env: gymnasium.Env[Any, Any]) -> EnvironmentSpec:
    """Return the spec of an environment that was made; BadInput if it cannot be trained on."""
    sight, choice = env.observation_space, env.action_space
    if not isinstance(sight, Box) or 0 in sight.shape:
        entries = sight.items() if isinstance(sight, Dict) else ()
        kept = [name for name, space in entries if isinstance(space, Box | Discrete | MultiDiscrete | MultiBinary)]
        wrapper = f"wrappers.FilterObservation(env, {kept})" if kept else "ObservationWrapper in a class of your own"
        cure = f"a fixed number of them: use gymnasium.{wrapper}"
        raise BadInput(f"{env_id} has observation_space = {shorten(sight)}; minitrpo needs numbers, {cure}")
    seen = env.env.observation_space if isinstance(env, FlattenObservation) else None
    size, limit = math.prod(sight.shape), env.spec.max_episode_steps if env.spec else None
    if isinstance(choice, Discrete):
        count, first, none = int(choice.n), int(choice.start), np.zeros(0)
        return EnvironmentSpec(env_id, size, count, True, limit, none, none, sight.shape, (), "", first, seen)
    match choice:
        case Box(dtype=dtype) if dtype.kind in "fiu":
            low, high = choice.low, choice.high
        case MultiDiscrete():
            low, high = choice.start, choice.start + choice.nvec - 1
        case MultiBinary():
            low, high = np.zeros(choice.shape), np.ones(choice.shape)
        case _:
            low = high = np.zeros(0)
    if low.size == 0:
        raise BadInput(
            f"{env_id} has action_space = {shorten(choice)}; minitrpo needs Box, Discrete, MultiDiscrete or "
            "MultiBinary: convert it in a gymnasium.ActionWrapper of your own"
        )
    low, high = low.ravel().astype(np.float64), high.ravel().astype(np.float64)
    shape, kind = tuple(choice.shape or ()), str(choice.dtype)
    return EnvironmentSpec(env_id, size, len(low), False, limit, low, high, sight.shape, shape, kind, 0, seen)


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return one environment of this id, its observations flat; BadInput if there is none, or if it cannot be made."""
    try:
        factory = _factory(env_id) or partial(gymnasium.make, env_id, disable_env_checker=True)
        registered = gymnasium.registry.get(env_id.rpartition(":")[2])
        mujoco = "mujoco" in sys.modules or "mujoco" in str(registered and registered.entry_point)
        with without_mujoco_warnings() if mujoco else contextlib.nullcontext():
            env = factory(**options)
    except BadInput:
        raise
    except gymnasium.error.UnregisteredEnv as error:
        known = {name.lower(): name for name in gymnasium.registry}
        near = [known[name] for name in difflib.get_close_matches(env_id.lower(), known)]
        cure = "type PACKAGE:ID for a package, as in ale_py:ALE/Pong-v5, and module:Name or module:ID for your own"
        cure = f"did you mean {', '.join(near)}?" if near else cure
        raise BadInput(f"there is no environment {shorten(env_id)}: {cure}") from error
    except (Exception, SystemExit) as error:  # whatever a module or a constructor of a user's raises
        cure = "; name a class or a function that needs no arguments" if isinstance(error, TypeError) else ""
        raise BadInput(f"--env {shorten(env_id)} cannot be made: {describe_error(error)}{cure}") from error
    if not isinstance(env, gymnasium.Env):
        old = any(base.__module__.startswith("gym.") for base in type(env).__mro__)
        cure = "; shimmy.GymV21CompatibilityV0(env=env), or GymV26CompatibilityV0, makes it one" if old else ""
        if isinstance(env, gymnasium.vector.VectorEnv):
            cure = f": it steps many at once; name what makes one of them, and --num-envs {env.num_envs}"
        raise BadInput(f"{env_id} makes {shorten(env)}, which is not a gymnasium.Env{cure}")
    with contextlib.suppress(NotImplementedError):  # by a space of its own kind
        if not isinstance(env.observation_space, Box) and env.observation_space.is_np_flattenable:
            return FlattenObservation(env)
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
def without_mujoco_warnings() -> Iterator[None]:
    """Silence MuJoCo: it warns about Gymnasium's own model files at every load, on stderr and in MUJOCO_LOG.TXT."""
    import mujoco

    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(handler)
