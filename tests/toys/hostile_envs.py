"""Environments of users who made a mistake, and some that are only odd: a walk of ten steps with members replaced.

Tables of {name: what its message names}; the environment of a name is Hostile-NAME-v0.
"""

import itertools
import mmap
import os
import signal
import threading
import time
import warnings

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

REFUSED, FAILING, ODD, HANGING, CRASHING = {}, {}, {}, {}, {}
FREE = Box(-np.inf, np.inf, (3,), np.float64)
STUCK = mmap.mmap(-1, 1)  # shared with the watchdog of a fork: 1 while something hangs
OBSERVATION, REWARD, TERMINATED, TRUNCATED, INFO = range(5)


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


def walk(table, name, said="", base=Walk, **members):
    gymnasium.register(f"Hostile-{name}-v0", entry_point=type("Hostile", (base,), members))
    table[name] = said


def later(do):
    """Return a step that does something else the sixth time: after the look at whether the environment repeats."""
    return lambda self, action: do(self) if self.t == 5 else Walk.step(self, action)


def returning(place, value):
    """Return a step that returns another value in one place, once."""
    return later(lambda self: (*(result := Walk.step(self, 0))[:place], value, *result[place + 1 :]))


def raising(error):
    def do(*_, **__):
        raise error

    return do


def hang(*_, **__):
    STUCK[0] = 1
    time.sleep(1000)


class Unshowable:
    def __repr__(self):
        raise ValueError("no")


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class OwnBaseError(BaseException):
    pass


MASKED = np.ma.masked_array(np.ones(3), [False, True, False])
DATES, LONG = np.array(["2026-01-01"] * 3, "M8[D]"), np.full(3, np.longdouble("1e4000"))
OBSERVATIONS = [1.0, np.ones((3, 1)), None, ["1", "2", "3"], [1, [2], 3], np.ones(3, complex), MASKED, DATES,
                [10**400, 0, 0], [np.nan, 0, 0], [0, 0, -1e160], LONG]  # fmt: skip
REWARDS = [None, "1", True, np.ones(1), np.timedelta64(1, "s"), np.ma.masked, Unshowable(), np.nan, 1e160, 10**400]
FLAGS = [None, 0.5, np.array([True]), 2, np.timedelta64(0, "s")]
SPOILT = {"observation": (OBSERVATION, OBSERVATIONS), "reward": (REWARD, REWARDS), "info": (INFO, [None])}
SPOILT |= {"terminated": (TERMINATED, FLAGS), "truncated": (TRUNCATED, FLAGS[-1:])}
for name, (place, values) in SPOILT.items():
    for number, value in enumerate(values):
        walk(FAILING, f"{name}-{number}", name, step=returning(place, value))
RESULTS = [None, (np.ones(3), 1.0, False, {}), (1,) * 6, [np.ones(3), 1.0, False, False, {}], Unshowable()]
for number, value in enumerate(RESULTS):
    walk(FAILING, f"step-{number}", "step returned", step=later(lambda self, value=value: value))
RESETS = [None, np.ones(2), (np.ones(3), {}, 0), (np.ones(3), None), (np.ones(4), {}), (np.array([np.nan, 0, 0]), {})]
for number, value in enumerate(RESETS):
    walk(FAILING, f"reset-{number}", "reset returned", reset=lambda self, value=value, **_: value)
ERRORS = [RuntimeError("the arm fell off"), SystemExit(0), GeneratorExit(), OwnBaseError(), StopIteration(5),
          MuteError(), ValueError("one\ntwo\r\nthree\x1b[31m"), ValueError("x" * 100_000), ValueError("\udcff Größe"),
          OSError(28, "No space left"), BrokenPipeError(32, "pipe")]  # fmt: skip
for number, error in enumerate(ERRORS):
    name = type(error).__name__
    walk(FAILING, f"step-raises-{number}", f"step raised {name}", step=later(raising(error)))
    walk(REFUSED, f"constructor-raises-{number}", name, __init__=raising(error))
for error in (RuntimeError("no"), SystemExit(0)):
    name = type(error).__name__
    walk(FAILING, f"reset-raises-{name}", f"reset raised {name}", reset=raising(error))
    walk(REFUSED, f"close-raises-{name}", name, close=raising(error))
    walk(REFUSED, f"space-raises-{name}", name, observation_space=property(raising(error)))
COPIES = itertools.count(1)
walk(FAILING, "fourth-copy", "RuntimeError", __init__=lambda self, **_: raising(ERRORS[0])() if next(COPIES) > 3 else None)
walk(FAILING, "reset-without-seed", "TypeError", reset=lambda self: (np.ones(3), {}))
walk(FAILING, "no-step", "NotImplementedError", gymnasium.Env, observation_space=FREE, action_space=Discrete(2),
     reset=lambda self, **_: (np.ones(3), {}))  # fmt: skip
walk(REFUSED, "needs-an-argument", "TypeError", __init__=lambda self, model: None)


def changed(space, **members):
    """Return a space with members that its constructor would refuse."""
    vars(space).update(members)
    return space


SPACES = [None, 3, Box, Tuple([FREE]), Dict(a=FREE), MultiDiscrete([2, 2]), MultiBinary(3), Text(3), Box(-1, 1, (0,)),
          Box(-1, 1, (3, 0))]  # fmt: skip
PAIR, ONE = Box(-1, 1, (2,), np.float64), Box(-1, 1, (1,), np.float64)
ACTIONS = [*SPACES, Box(0, 5, (2,), np.int64), Box(0, 1, (2,), bool), changed(Discrete(2), n=0),
           changed(Discrete(2), n=10**12), changed(PAIR, low=np.array([np.nan, -1])),
           changed(Box(-1, 1, (2,), np.float64), low=np.array([3.0, -1]))]  # fmt: skip
for number, space in enumerate((*SPACES, Discrete(3), changed(ONE, _shape=(10**7, 10**7)))):
    walk(REFUSED, f"observations-{number}", "observation", observation_space=space)
for number, space in enumerate(ACTIONS):
    walk(REFUSED, f"actions-{number}", "action", action_space=space)
walk(REFUSED, "no-spaces", "observation", gymnasium.Env)
for name, entry in {"function": lambda **_: None, "object": object, "lost": "no_such_module:Env"}.items():
    gymnasium.register(f"Hostile-{name}-v0", entry_point=entry)
    REFUSED[name] = "cannot be made"

# --- odd, but right


def checking(self, action):
    assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
    return Walk.step(self, action)


INF, SINGLE = np.inf, np.finfo(np.float32).max
BOXES = [Box(-0.1, 0.1, (2,), np.float16), Box(-0.1, 0.1, (2,), np.longdouble), Box(-1, 1, (2, 3)), Box(-1, 1, ()),
         Box(np.array([-INF, 0]), np.array([0, INF]), dtype=float), Box(2.0, 2.0, (2,), np.float64),
         Box(-1.7e308, 1.7e308, (2,), np.float64), Box(-SINGLE, SINGLE, (2,)),
         Box(np.array([-1, 0, 100.0]), np.array([1, 1e-9, 1e6]), dtype=float)]  # fmt: skip
for number, space in enumerate([*BOXES, Discrete(3, start=-5), Discrete(1), Discrete(500)]):
    walk(ODD, f"odd-actions-{number}", action_space=space, step=checking)
SIGHTS = [list, lambda x: x > 0, lambda x: x.astype(np.float16), lambda x: x.astype(np.longdouble),
          lambda x: x.astype(">f8"), lambda x: np.broadcast_to(x[:1], (3,)), lambda x: np.zeros(3), lambda x: 1e90 * x,
          lambda x: 1e-300 * x]  # fmt: skip
for number, change in enumerate(SIGHTS):
    walk(ODD, f"odd-observation-{number}", see=lambda self, change=change: change(Walk.see(self)))
walk(ODD, "odd-zero-d", observation_space=Box(-9, 9, ()), see=lambda self: Walk.see(self)[0])
PICTURE = Box(0, 255, (4, 5, 3), np.uint8)
walk(ODD, "odd-picture", observation_space=PICTURE, see=lambda self: np.full((4, 5, 3), 7, np.uint8))
walk(ODD, "odd-outside", observation_space=Box(0, 1, (3,)), see=lambda self: 100 * Walk.see(self))
RIGHT = {REWARD: [3, np.longdouble(3), np.uint8(3), np.array(3.0), 1e90], TERMINATED: [1, np.True_],
         INFO: [type("Info", (dict,), {})()]}  # fmt: skip
for place, values in RIGHT.items():
    for number, value in enumerate(values):
        walk(ODD, f"odd-{place}-{number}", step=returning(place, value))
walk(ODD, "odd-both-flags", step=lambda self, action: (*Walk.step(self, action)[:2], self.t > 4, self.t > 4, {}))
walk(ODD, "odd-ends-at-once", length=1)
walk(ODD, "odd-cut-at-once", step=lambda self, action: (*Walk.step(self, action)[:2], False, True, {}))
BESIDE = {
    "chdir": lambda: os.chdir("/"),
    "float-errors": lambda: np.seterr(all="raise"),
    "warnings": lambda: warnings.simplefilter("error"),
    "prints": lambda: print("x" * 10**5),
    "thread": lambda: threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start(),
}
for name, do in BESIDE.items():
    walk(ODD, f"odd-{name}", step=later(lambda self, do=do: (Walk.step(self, 0), do())[0]))


class Alias(Walk):
    """Returns the same array every time."""

    def see(self):
        self.__dict__.setdefault("array", np.zeros(3))[:] = Walk.see(self)
        return self.array


walk(ODD, "odd-same-array", base=Alias, step=lambda self, action: (self.array.fill(7), *Walk.step(self, action))[1:])


def spoils(self, action):
    result = Walk.step(self, action)
    action[:] = np.nan
    return result


walk(ODD, "odd-spoils-actions", action_space=Box(-1, 1, (2,)), step=spoils)

# --- what the process itself cannot tell

for call in ("reset", "step", "close"):
    walk(HANGING, f"{call}-hangs", call, **{call: later(hang) if call == "step" else hang})
walk(HANGING, "constructor-hangs", "constructor", __init__=hang)
walk(HANGING, "space-hangs", "constructor", observation_space=property(hang))
walk(HANGING, "deletion-hangs", "close", __del__=hang)
ENDS = {"killed": lambda *_: os.kill(os.getpid(), signal.SIGKILL), "leaves": lambda *_: os._exit(7)}
ENDS |= {"segfault": lambda *_: os.kill(os.getpid(), signal.SIGSEGV)}
for name, do in ENDS.items():
    walk(CRASHING, f"{name}-in-step", "while playing Hostile-", step=later(do))
walk(CRASHING, "killed-in-constructor", "in the constructor of Hostile-", __init__=lambda self, **_: ENDS["killed"]())
