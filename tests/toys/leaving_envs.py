"""Environments that leave their process, or double it, in the step that an environment variable says."""

import os
import time

from gymnasium.envs.classic_control import CartPoleEnv

MASKED = []  # what is to be the reward
WHAT, WHEN = os.environ.get("LEAVE", "pass"), int(os.environ.get("LEAVE_AT", "5"))


class Leaving(CartPoleEnv):
    taken = 0  # steps of this copy

    def step(self, action):
        self.taken += 1
        if self.taken == WHEN:
            exec(WHAT, {"os": os, "time": time, "MASKED": MASKED})
        observation, reward, *rest = super().step(action)
        return observation, MASKED[0] if MASKED else reward, *rest


async def late():
    """Make no environment."""
