"""Environments that know which of their episodes are played to evaluate: these have reset seeds of 2^31 and more."""

import os
import signal
import time

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv


class Examined(CartPoleEnv):
    """Fails on the fifth step of an evaluation, in a chosen way; `none`: not at all."""

    def __init__(self, mode="raise", **options):
        super().__init__(**options)
        self.mode, self.steps, self.examined = mode, 0, False

    def reset(self, *, seed=None, options=None):
        self.steps, self.examined = 0, seed >= 2**31
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.steps += 1
        if self.examined and self.steps == 5:
            match self.mode:
                case "raise":
                    raise RuntimeError("the pole is glued")
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "stuck":
                    time.sleep(1000)
        return super().step(action)


for mode in ("raise", "kill", "stuck", "none"):
    gymnasium.register(f"Examined-{mode}-v0", entry_point=Examined, max_episode_steps=100, kwargs={"mode": mode})
