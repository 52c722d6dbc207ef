"""A walk of ten steps, some members of which are replaced: with what hangs or ends the process, or by a test.

Tables of {name: what its message names}; the environment of a name is Hostile-NAME-v0.
"""

import mmap
import os
import signal
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

HANGING, CRASHING = {}, {}
ACTIONS = {"continuous": Box(-1, 1, (1,), np.float32), "discrete": Discrete(2)}
SCALES = {"rewards": (1.0, 9e98), "observations": (1e98, 1.0)}
FREE = Box(-np.inf, np.inf, (3,), np.float64)
STUCK = mmap.mmap(-1, 1)  # shared with the watchdog of a fork: 1 while something hangs


class Walk(gymnasium.Env):
    observation_space, action_space, length = FREE, Discrete(2), 10

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.see(), {}

    def step(self, action):
        self.t += 1
        return self.see(), 1.0, self.t >= self.length, False, {}

    def see(self):
        return self.np_random.standard_normal(3)


class Generous(Walk):
    """Noise: observations and rewards of a size that is finite, allowed, and too large for what follows from it."""

    def __init__(self, actions, large):
        self.action_space = ACTIONS[actions]
        self.seen, self.paid = SCALES[large]

    def see(self):
        return self.seen * super().see()

    def step(self, action):
        seen, _, terminated, truncated, info = super().step(action)
        return seen, self.paid * self.np_random.standard_normal(), terminated, truncated, info


def walk(table, name, said="", base=Walk, **members):
    gymnasium.register(f"Hostile-{name}-v0", entry_point=type("Hostile", (base,), members))
    table[name] = said


def later(do):
    """Return a step that does something else the sixth time: after the look at whether the environment repeats."""
    return lambda self, action: do(self) if self.t == 5 else Walk.step(self, action)


def raising(error):
    def do(*_, **__):
        raise error

    return do


def hang(*_, **__):
    STUCK[0] = 1
    time.sleep(1000)


for call in ("reset", "close"):
    walk(HANGING, f"{call}-hangs", call, **{call: hang})
walk(HANGING, "step-hangs", "step", step=later(lambda self: hang() if os.fork() else time.sleep(1000)))  # with a worker
walk(HANGING, "constructor-hangs", "constructor", __init__=hang)
walk(HANGING, "space-hangs", "constructor", observation_space=property(hang))
walk(HANGING, "deletion-hangs", "close", __del__=hang)
ENDS = {"killed": lambda *_: os.kill(os.getpid(), signal.SIGKILL), "leaves": lambda *_: os._exit(7)}
ENDS |= {"segfault": lambda *_: os.kill(os.getpid(), signal.SIGSEGV)}
for name, do in ENDS.items():
    walk(CRASHING, f"{name}-in-step", "while playing Hostile-", step=later(do))
walk(CRASHING, "killed-in-constructor", "in the constructor of Hostile-", __init__=lambda self, **_: ENDS["killed"]())
for kind in ACTIONS:
    for size in SCALES:
        gymnasium.register(f"Generous-{kind}-{size}-v0", entry_point=Generous, kwargs={"actions": kind, "large": size})
