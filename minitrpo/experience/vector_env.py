"""Several copies of an environment behind one `step`, each in a slot of its own, and whether it repeats itself."""

from typing import Any

import gymnasium
import numpy as np

from minitrpo.errors import BadInput, describe_error, shorten
from minitrpo.experience.environments import EnvironmentSpec, describe, make
from minitrpo.policies import Array
from minitrpo.supervision import status

FLAG = (bool, np.bool_, int, np.integer)
SAMPLE = 4  # steps: enough for global random numbers, the clock and what is kept over a reset; no proof
HUGE = 1e100  # numbers beyond it are refused: their squares, summed, leave the range of float64


class EnvironmentFailed(RuntimeError):
    """The environment in `slot` raised, or returned something that is not finite."""

    def __init__(self, slot: int, cause: str) -> None:
        super().__init__(cause)
        self.slot = slot


class VectorEnv:
    """Copies of any environment, an object per slot, made when first used; no slot's numbers depend on the others."""

    def __init__(self, spec: EnvironmentSpec, num_envs: int) -> None:
        self.spec, self.num_envs = spec, num_envs
        self.environments: dict[int, gymnasium.Env[Any, Any]] = {}

    def reset(self, slot: int, seed: int) -> Array:
        """Begin an episode in a slot and return its first observation (D,)."""
        try:
            if slot not in self.environments:
                with status.at("make"):
                    self.environments[slot] = make(self.spec.id)
            status.begin("reset", slot)
            observation, _ = self.environments[slot].reset(seed=seed)
            first = self._numbers(observation).flatten()
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


# --- whether an environment repeats itself: the promise of equal bits holds only for those that do. Gymnasium's own
# `env_checker` asks less: it rounds, looks at one copy, and refuses what has no `np_random`.


def differences(spec: EnvironmentSpec) -> list[str]:
    """Return a note if the same seeds and actions give other numbers; what fails is left to the run, which names it."""
    try:
        if repeats(spec, SAMPLE):
            return []
    except EnvironmentFailed:
        return []
    return [
        f"note: {spec.id} is not deterministic: the same seed and actions gave other numbers the next time, or in "
        "another copy; equal bits on any number of ranks and an exact --resume cannot be promised for it"
    ]


def looked_at(env_id: str, steps: int = 200) -> tuple[bool, str]:
    """Return whether an environment can be trained on and repeats itself for some steps, and what was seen of it."""
    try:
        spec = describe(env_id)
        if not repeats(spec, steps):
            return False, f"{env_id} is not deterministic: the same seed and actions gave other numbers"
    except BadInput as error:
        return False, str(error)
    except EnvironmentFailed as error:
        return False, f"{env_id} fails when it is played at random: {error}"
    kind = f"{spec.observation_size} observations, {spec.action_size} {'choices' if spec.discrete else 'actions'}"
    return True, f"{env_id}: {kind}; it repeats itself"


def repeats(spec: EnvironmentSpec, steps: int) -> bool:
    """Return whether some steps of random actions give the same numbers alone, beside a copy in use, and in that copy.

    EnvironmentFailed if the environment does.
    """
    envs = VectorEnv(spec, 2)
    try:
        first, *others = (_played(envs, slot, steps, beside) for slot, beside in ((0, False), (0, True), (1, False)))
        envs.close()
    finally:
        status.end()
    return all(np.array_equal(first, other) for other in others)


def _played(envs: VectorEnv, slot: int, steps: int, beside: bool) -> Array:
    """Return observations and rewards of some steps as one vector; beside: another slot begins meanwhile."""
    spec, rng, one = envs.spec, np.random.default_rng(0), np.array([slot])
    numbers = [envs.reset(slot, 12345)]
    if beside:
        envs.reset(slot + 1, 54321)
    for step in range(steps):
        actions = rng.integers(spec.action_size, size=1) if spec.discrete else rng.uniform(-1, 1, (1, spec.action_size))
        observations, rewards, terminated, truncated = envs.step(one, actions)
        numbers += [observations[0], rewards]
        if terminated[0] or truncated[0]:
            numbers.append(envs.reset(slot, step))
    return np.concatenate(numbers)
