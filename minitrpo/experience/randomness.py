"""Random numbers keyed by what they are for, never by who draws them: the root of every reproducible bit.

A key is (run seed, iteration, episode number, purpose). Whichever rank plays an episode, and whenever, it draws
the same numbers; no generator is shared, so nothing depends on the order of arrival.
"""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream of random numbers is for; the values are part of every result and never change."""

    RESET = 0
    ACTIONS = 1
    POLICY = 2
    CRITIC = 3
    UPDATE = 4
    DELAY = 10


def generator(seed: int, iteration: int, number: int, purpose: Purpose) -> np.random.Generator:
    """Return the generator of one key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, iteration, number, purpose])))


def reset_seed(seed: int, iteration: int, number: int) -> int:
    """Return the seed of `env.reset` for one episode, a 31-bit integer."""
    return int(np.random.SeedSequence([seed, iteration, number, Purpose.RESET]).generate_state(1)[0] >> 1)
