"""Whether an environment repeats itself: the promise of equal bits holds only for those that do.

Gymnasium's own `env_checker` asks less: it rounds, looks at one copy, and refuses what has no `np_random`.
"""

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.vector_env import EnvironmentFailed, VectorEnv
from minitrpo.policies import Array
from minitrpo.supervision import status

STEPS = 4  # enough for global random numbers, the clock and what is kept over a reset; a sample, no proof


def differences(spec: EnvironmentSpec) -> list[str]:
    """Return a note if the same seeds and actions give other numbers; what fails is left to the run, which names it."""
    try:
        well = repeats(spec, STEPS)
    except EnvironmentFailed:
        return []
    note = f"note: {spec.id} is not deterministic: the same seed and actions gave other numbers the next time, or in "
    rest = "another copy; equal bits on any number of ranks and an exact --resume cannot be promised for it"
    return [] if well else [note + rest]


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
