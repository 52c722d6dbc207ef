"""Random numbers keyed by what they are for, never by who draws them: the root of every reproducible bit.

A key is (run seed, iteration, episode number, purpose). Whichever rank plays an episode, and whenever, it draws
the same numbers; no generator is shared, so nothing depends on the order of arrival.
"""

from dataclasses import dataclass
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
    EVALUATION = 11


def generator(seed: int, iteration: int, number: int, purpose: Purpose) -> np.random.Generator:
    """Return the generator of one key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, iteration, number, purpose])))


@dataclass(frozen=True)
class EpisodeKey:
    """What decides all random numbers of an episode; iteration: 0 where episodes outlast one."""

    run_seed: int
    iteration: int
    number: int
    purpose: Purpose = Purpose.ACTIONS

    def actions(self) -> np.random.Generator:
        """Return the random numbers of its actions."""
        return generator(self.run_seed, self.iteration, self.number, self.purpose)

    def once(self) -> np.random.Generator:
        """Return those for what is drawn once in the episode; the same at whatever step it is asked for."""
        entropy = [self.run_seed, self.iteration, self.number, self.purpose]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(0,))))


def reset_seed(seed: int, iteration: int, number: int) -> int:
    """Return the seed of `env.reset` for one episode, a 31-bit integer."""
    return int(np.random.SeedSequence([seed, iteration, number, Purpose.RESET]).generate_state(1)[0] >> 1)


def first_state_seed(seed: int, iteration: int, number: int, first_states: int = 0, renewed: int = 0) -> int:
    """Return the seed of `env.reset` if episodes begin in `first_states` states in turn; 0: each in its own.

    Episode n begins like episode n % first_states, in every iteration; if `renewed` is not 0, each set of
    states lasts for `renewed` iterations. All else that the environment draws from that seed (noise) is then the same.
    """
    if not first_states:
        return reset_seed(seed, iteration, number)
    return reset_seed(seed, max(iteration - 1, 0) // renewed if renewed else 0, number % first_states)


def evaluation_seed(seed: int, iteration: int, number: int) -> int:
    """Return the seed of `env.reset` for an episode that nothing is learned from: 2^31 or more, never one of training.

    iteration: the update after which it is played, 0 for that of a run which is over.
    """
    return 2**31 + int(np.random.SeedSequence([seed, iteration, number, Purpose.EVALUATION]).generate_state(1)[0] >> 1)
