"""Several copies of an environment behind one `step`, each in a slot of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from minitrpo.errors import BadInput, EnvironmentFailed, describe_error, shorten
from minitrpo.experience.environments import EnvironmentSpec, make
from minitrpo.parallel.this_process import launched_rank
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status

FLAG = (bool, np.bool_, int, np.integer, np.ndarray)
HUGE = 1e100  # numbers beyond it are refused: their squares, summed, leave the range of float64


class VectorEnv:
    """Copies of any environment, an object per slot, made when first used; no slot's numbers depend on the others."""

    def __init__(self, spec: EnvironmentSpec, num_envs: int) -> None:
        self.spec, self.num_envs = spec, num_envs
        self.environments: dict[int, gymnasium.Env[Any, Any]] = {}
        if OPEN:
            OPEN[-1].append(self)

    def reset(self, slot: int, seed: int) -> Array:
        """Begin an episode in a slot and return its first observation (D,)."""
        try:
            if slot not in self.environments:
                with status.at("make"):
                    self.environments[slot] = make(self.spec.id)
            status.begin("reset", slot)
            observation, _ = self.environments[slot].reset(seed=seed)
            first = self._numbers(observation).flatten()
        except BadInput as error:
            made = len(self.environments)
            of_each = "--num-envs, --envs-per-rank or --envs-per-worker"
            cure = f"; there is room for {made}: give {of_each} {made}, and no --eval-every" if made else ""
            raise EnvironmentFailed(slot, f"{error}{cure}") from error
        except (Exception, SystemExit) as error:
            raise EnvironmentFailed(slot, f"reset raised {describe_error(error)}") from error
        status.end()
        check_finite(np.array([slot]), first[None], np.zeros(1))
        return first

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step k slots with the policy's actions; return observations (k, D), rewards, terminated, truncated (k,)."""
        k = len(slots)
        observations, rewards = np.empty((k, self.spec.observation_size)), np.empty(k)
        terminated, truncated = np.zeros(k, bool), np.zeros(k, bool)
        theirs: Any = self.spec.to_environment(actions)
        if self.spec.discrete:
            theirs = theirs.tolist()  # Python's own integers
        for i, (slot, action) in enumerate(zip(slots.tolist(), theirs, strict=True)):
            status.begin("step", slot)
            try:
                observation, rewards[i], ended, cut, _ = self.environments[slot].step(action)
                if not isinstance(ended, FLAG) or not isinstance(cut, FLAG):
                    raise TypeError(f"terminated = {shorten(ended)}, truncated = {shorten(cut)}: each is True or False")
                terminated[i], truncated[i] = ended, cut
                observations[i] = self._numbers(observation).ravel()
            except (Exception, SystemExit) as error:
                raise EnvironmentFailed(slot, f"step raised {describe_error(error)}") from error
        status.end()
        check_finite(slots, observations, rewards)
        return observations, rewards, terminated, truncated

    def close(self) -> None:
        """Close all environments, and let go of them; EnvironmentFailed if one could not be closed."""
        failed = None
        for slot in list(self.environments):
            with status.at("close"):  # which watches over `__del__`, too
                try:
                    self.environments.pop(slot).close()
                except (Exception, SystemExit) as error:
                    failed = EnvironmentFailed(slot, f"close raised {describe_error(error)}")
        if failed is not None:
            raise failed

    def _numbers(self, observation: Any) -> Array:
        """Return an observation as an array of floats; ValueError if it has not the shape that its space announces."""
        array = np.asarray(observation, np.float64)
        if array.shape != self.spec.observation_shape:
            raise ValueError(f"an observation of shape {array.shape}; its space says {self.spec.observation_shape}")
        return array


OPEN: list[list[VectorEnv]] = []  # those that are to be closed, by the `with` in which they were made


@contextmanager
def closed_environments() -> Iterator[None]:
    """Close, after the body of a `with`, the environments that were made in it."""
    OPEN.append([])
    try:
        yield
    finally:
        for envs in OPEN.pop():
            try:
                envs.close()
            except EnvironmentFailed as error:  # what was done is done
                print(f"minitrpo: rank {launched_rank()} could not close an environment: {error}", file=sys.stderr)


def check_finite(slots: Array, observations: Array, rewards: Array) -> None:
    """Raise EnvironmentFailed for the first slot whose observation or reward is NaN, infinite or beyond HUGE."""
    if np.vdot(observations, observations) <= HUGE**2 and np.vdot(rewards, rewards) <= HUGE**2:
        return  # as nearly always, and soon known; False for NaN, too
    for i, slot in enumerate(slots.tolist()):
        for value, name in ((rewards[i : i + 1], "a reward"), (observations[i], "an observation")):
            if not np.all(np.abs(value) <= HUGE):
                raise EnvironmentFailed(
                    slot, f"returned {name} that is not finite, or beyond {HUGE:g}: {shorten(value)}"
                )
