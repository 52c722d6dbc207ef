"""Whether an environment repeats itself: equal bits of two runs are guaranteed only if it does.

Gymnasium's own `env_checker` tests less: it rounds, tests one copy, and refuses an environment without `np_random`.
"""

import numpy as np

from minitrpo.errors import BadInput, EnvironmentFailed
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status

STEPS = 4  # enough for global random numbers, the clock and what is kept over a reset; no proof
RESTLESS = (
    "note: {} does not repeat itself: the same seed and actions gave other numbers. No two runs are equal to the bit, "
    "--resume begins its episodes anew, a replay is another episode, and what a wrapper has learned "
    "(gymnasium.wrappers.NormalizeObservation) is forgotten when a process ends"
)
GYM = "; Gymnasium's reset takes a seed and returns observation, info; its step returns five values, not four"
SPACE = "; reset and step must return observations that observation_space contains"
CURES = {  # by what stands in the message of an environment that fails
    "keyword argument 'seed'": GYM,
    "to unpack": GYM,
    "argument must be": SPACE,
    "only integers, slices": SPACE,
    "element with a sequence": "; a reward is one number: gymnasium.wrappers.TransformReward(env, sum) makes it so",
}


def repeats(spec: EnvironmentSpec, steps: int = STEPS, copies: int = 2) -> bool:
    """Play random actions three times: in a copy alone, in it while another one begins, and in the other one.

    Args:
        spec: the environment.
        steps: how many steps are played each time.
        copies: how many copies may be made; with 1, the same one plays all three times.

    Returns:
        Whether the numbers were the same.

    Raises:
        BadInput: the environment fails.

    """
    envs = VectorEnv(spec, copies)
    try:
        first = _play(envs, 0, steps)
        beside_another = _play(envs, 0, steps, another=copies > 1)
        in_the_other = _play(envs, copies - 1, steps)
    except EnvironmentFailed as error:
        cure = next((text for words, text in CURES.items() if words in str(error)), "")
        raise BadInput(f"{spec.id} fails when it is played at random: {error}{cure}") from error
    finally:
        status.end()
        envs.close()
    return np.array_equal(first, beside_another) and np.array_equal(first, in_the_other)


def _play(envs: VectorEnv, slot: int, steps: int, another: bool = False) -> Array:
    """Return all observations and rewards of some steps as one vector; another: the next slot begins meanwhile."""
    rng = np.random.default_rng(0)
    numbers = [envs.reset(slot, 12345)]
    if another:
        envs.reset(slot + 1, 54321)
    for step in range(steps):
        actions = envs.spec.random_actions(rng, 1)
        observations, rewards, terminated, truncated = envs.step(np.array([slot]), actions)
        numbers += [observations[0], rewards]
        if terminated[0] or truncated[0]:
            numbers.append(envs.reset(slot, step))
    return np.concatenate(numbers)
