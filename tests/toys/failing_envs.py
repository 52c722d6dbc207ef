"""Environments that misbehave in a chosen way, in about one episode of seven; not while TOYS_BEHAVE is set."""

import os
import signal
import time

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv

MODES = ("raise", "nan", "kill", "slow-kill", "segfault", "stuck", "stopped", "leave", "unlucky-reset")


class FailingEnv(PendulumEnv):
    """Fails on its step `at`, or in reset, in the episodes that runs.fails names."""

    def __init__(self, mode, at=20, **options):
        super().__init__(**options)
        self.mode, self.at, self.steps, self.fails = mode, at, 0, False

    def reset(self, *, seed=None, options=None):
        self.steps, self.fails = 0, seed % 7 == 3 and "TOYS_BEHAVE" not in os.environ
        if self.fails and self.mode == "unlucky-reset":
            raise RuntimeError("the arm does not move")
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.steps += 1
        observation, reward, terminated, truncated, info = super().step(action)
        if self.fails and self.steps == self.at:
            match self.mode:
                case "raise":
                    raise RuntimeError("the arm fell off")
                case "nan":
                    observation = np.full(3, np.nan)
                case "kill" | "slow-kill":
                    time.sleep(0.3 if self.mode == "slow-kill" else 0.0)  # the other ranks are waiting by then
                    os.kill(os.getpid(), signal.SIGKILL)
                case "segfault":
                    os.kill(os.getpid(), signal.SIGSEGV)
                case "stuck":
                    time.sleep(1000)
                case "stopped":
                    os.kill(os.getpid(), signal.SIGSTOP)
                case "leave":
                    os._exit(7)
        return observation, reward, terminated, truncated, info


class Examined(CartPoleEnv):
    """Fails on the fifth step of an evaluation, which has reset seeds of 2^31 and more."""

    def __init__(self, mode, **options):
        super().__init__(**options)
        self.mode, self.steps, self.examined = mode, 0, False

    def reset(self, *, seed=None, options=None):
        self.steps, self.examined = 0, seed >= 2**31
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.steps += 1
        if self.examined and self.steps == 5:
            if self.mode == "raise":
                raise RuntimeError("the pole is glued")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class TupleActions(PendulumEnv):
    def __init__(self, **options):
        super().__init__(**options)
        self.action_space = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)])


class DictObservations(PendulumEnv):
    def __init__(self, **options):
        super().__init__(**options)
        self.observation_space = gymnasium.spaces.Dict(
            {"angles": gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))}
        )


for mode in MODES:
    for name, at, limit in (("", 20, 200), ("late-", 120, 200), ("short-", 20, 25)):
        how = {"mode": mode, "at": at}
        gymnasium.register(f"Failing-{name}{mode}-v0", entry_point=FailingEnv, kwargs=how, max_episode_steps=limit)
gymnasium.register("TupleActions-v0", entry_point=TupleActions)
gymnasium.register("DictObservations-v0", entry_point=DictObservations)
for mode in ("raise", "kill"):
    gymnasium.register(f"Examined-{mode}-v0", entry_point=Examined, max_episode_steps=100, kwargs={"mode": mode})
