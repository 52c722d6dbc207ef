"""Environments that misbehave in a chosen way, in about one episode of seven, on their 20th step."""

import os
import signal
import time

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import PendulumEnv

MODES = ("raise", "nan", "kill", "segfault", "stuck", "unlucky-reset")


class FailingEnv(PendulumEnv):
    def __init__(self, mode, **options):
        super().__init__(**options)
        self.mode, self.steps, self.fails = mode, 0, False

    def reset(self, *, seed=None, options=None):
        self.steps, self.fails = 0, seed % 7 == 3
        if self.fails and self.mode == "unlucky-reset":
            raise RuntimeError("the arm does not move")
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.steps += 1
        observation, reward, terminated, truncated, info = super().step(action)
        if self.fails and self.steps == 20:
            match self.mode:
                case "raise":
                    raise RuntimeError("the arm fell off")
                case "nan":
                    observation = np.full(3, np.nan)
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "segfault":
                    os.kill(os.getpid(), signal.SIGSEGV)
                case "stuck":
                    time.sleep(1000)
        return observation, reward, terminated, truncated, info


class TupleActions(PendulumEnv):
    def __init__(self, **options):
        super().__init__(**options)
        self.action_space = gymnasium.spaces.MultiDiscrete([2, 2])


class DictObservations(PendulumEnv):
    def __init__(self, **options):
        super().__init__(**options)
        self.observation_space = gymnasium.spaces.Dict({"angle": gymnasium.spaces.Box(-1, 1)})


for mode in MODES:
    gymnasium.register(f"Failing-{mode}-v0", entry_point=FailingEnv, kwargs={"mode": mode}, max_episode_steps=200)
gymnasium.register("TupleActions-v0", entry_point=TupleActions)
gymnasium.register("DictObservations-v0", entry_point=DictObservations)
