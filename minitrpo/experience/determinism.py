"""Whether an environment repeats itself: the promise of equal bits holds only for those that do."""

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.vector_env import EnvironmentFailed, GymnasiumVectorEnv
from minitrpo.policies import Array
from minitrpo.supervision import status

STEPS = 4  # enough for global random numbers, the clock and what is kept over a reset; a sample, no proof


def differences(spec: EnvironmentSpec, steps: int = STEPS) -> list[str]:
    """Return a note, if the same seed and the same actions twice give different observations or rewards.

    Plays a few steps of one episode in one environment, again in the same, in another, and with another begun beside
    it; `steps` in each. What fails here is left to the run, which names the episode.
    """
    env = GymnasiumVectorEnv(spec, 2)
    actions = np.zeros(1, np.int64) if spec.discrete else np.zeros((1, spec.action_size))
    try:
        first, second, third = (_played(env, slot, actions, steps) for slot in (0, 0, 1))
        fourth = _played(env, 0, actions, steps, beside=1)
        env.close()
    except EnvironmentFailed:
        return []
    finally:
        status.end()
    others = {"after another reset": second, "in another copy of it": third, "beside a copy in use": fourth}
    where = next((place for place, numbers in others.items() if not np.array_equal(first, numbers)), None)
    if where is None:
        return []
    return [
        f"note: {spec.id} is not deterministic: the same seed and actions gave other numbers {where}; "
        "equal bits on any number of ranks and an exact --resume cannot be promised for it"
    ]


def looked_at(env_id: str, steps: int = 200) -> tuple[bool, str]:
    """Return whether an environment can be trained on and repeats itself for some steps, and what was seen of it."""
    try:
        spec = describe(env_id)
        failure = failing(spec, steps)
        if failure:
            return False, f"{env_id} fails when it is played at random: {failure}"
        odd = differences(spec, steps)
    except BadInput as error:
        return False, str(error)
    kind = f"{spec.observation_size} observations, {spec.action_size} {'choices' if spec.discrete else 'actions'}"
    return not odd, odd[0] if odd else f"{env_id}: {kind}; it repeats itself"


def failing(spec: EnvironmentSpec, steps: int) -> str:
    """Return how an environment fails within some steps of random actions, episode after episode; "" if it does not."""
    env, rng, slot = GymnasiumVectorEnv(spec, 1), np.random.default_rng(0), np.zeros(1, int)
    try:
        env.reset(0, 0)
        for step in range(steps):
            random = (
                rng.integers(spec.action_size, size=1) if spec.discrete else rng.uniform(-1, 1, (1, spec.action_size))
            )
            _, _, terminated, truncated = env.step(slot, random)
            if terminated[0] or truncated[0]:
                env.reset(0, step + 1)
        env.close()
    except EnvironmentFailed as error:
        return str(error)
    finally:
        status.end()
    return ""


def _played(env: GymnasiumVectorEnv, slot: int, actions: Array, steps: int, beside: int | None = None) -> Array:
    """Return observations and rewards of a few steps as one vector; `beside`: a slot that begins meanwhile."""
    numbers, one = [env.reset(slot, 12345)], np.array([slot])
    if beside is not None:
        env.reset(beside, 54321)
    for _ in range(steps):
        observations, rewards, terminated, truncated = env.step(one, actions)
        numbers += [observations[0], rewards]
        if terminated[0] or truncated[0]:
            break
    return np.concatenate(numbers)
