"""Whether an environment repeats itself: the promise of equal bits holds only for those that do."""

import numpy as np

from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.status import RankStatus
from minitrpo.experience.vector_env import EnvironmentFailed, GymnasiumVectorEnv
from minitrpo.policies import Array

STEPS = 4  # enough for global random numbers, the clock and what is kept over a reset; a sample, no proof


def differences(spec: EnvironmentSpec, status: RankStatus) -> list[str]:
    """Return a note, if the same seed and the same actions twice give different observations or rewards.

    Plays a few steps of one episode in one environment, again in the same and once in another. What fails here is
    left to the run, which names the episode.
    """
    env = GymnasiumVectorEnv(spec, 2)
    env.status = status
    actions = np.zeros(1, np.int64) if spec.discrete else np.zeros((1, spec.action_size))
    try:
        first, second, third = (_played(env, slot, actions) for slot in (0, 0, 1))
        env.close()
    except EnvironmentFailed:
        return []
    finally:
        status.end()
    if np.array_equal(first, second) and np.array_equal(first, third):
        return []
    where = "after another reset" if not np.array_equal(first, second) else "in another copy of it"
    return [
        f"note: {spec.id} is not deterministic: the same seed and actions gave other numbers {where}; "
        "equal bits on any number of ranks and an exact --resume cannot be promised for it"
    ]


def _played(env: GymnasiumVectorEnv, slot: int, actions: Array) -> Array:
    """Return observations and rewards of a few steps as one vector."""
    numbers, one = [env.reset(slot, 12345)], np.array([slot])
    for _ in range(STEPS):
        observations, rewards, terminated, truncated = env.step(one, actions)
        numbers += [observations[0], rewards]
        if terminated[0] or truncated[0]:
            break
    return np.concatenate(numbers)
