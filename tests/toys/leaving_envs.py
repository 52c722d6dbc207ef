"""Environments that leave their process, or double it, in the step that an environment variable says."""

import os
import time

from gymnasium.envs.classic_control import CartPoleEnv

WHAT, WHEN = os.environ.get("LEAVE", "pass"), int(os.environ.get("LEAVE_AT", "5"))


class Leaving(CartPoleEnv):
    taken = 0  # steps of this copy

    def step(self, action):
        self.taken += 1
        if self.taken == WHEN:
            exec(WHAT, {"os": os, "time": time})
        return super().step(action)


async def late():
    """Make no environment."""
