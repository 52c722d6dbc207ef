"""Environments that are hostile, or only odd: each with what is to be seen of it.

`hostile(name, code, words, ...)` registers a walk of ten steps with some of its members replaced. code: of train's
exit; 0 where the environment is odd but fine. words: what the one message has to say. kind: "hang" and "crash" where
the process cannot speak for itself.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

CASES = {}
FREE = Box(-np.inf, np.inf, (3,), np.float64)
MADE = []  # copies of environments of this module


@dataclass(frozen=True)
class Case:
    env: str
    code: int
    words: str
    kind: str
    arguments: tuple


class Walk(gymnasium.Env):
    observation_space, action_space, length = FREE, Discrete(2), 10

    def __init__(self, **options):
        MADE.append(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.see(), {}

    def step(self, action):
        self.t += 1
        return self.see(), 1.0, self.t >= self.length, False, {}

    def see(self):
        return self.np_random.standard_normal(3)


def hostile(name, code=0, words="", kind="", arguments=(), base=Walk, limit=None, **members):
    env = f"Hostile-{name}-v0"
    made = type(f"Hostile{len(CASES)}", (base,), members)
    gymnasium.register(env, entry_point=made, max_episode_steps=limit)
    CASES[name] = Case(f"hostile_envs:{env}", code, words, kind, tuple(map(str, arguments)))


def later_on(do, at=6):
    """Return a step that does something else the sixth time: after the look at whether the environment repeats."""

    def step(self, action):
        result = Walk.step(self, action)
        return do(self, action, result) if self.t == at else result

    return step


def returning(place, value):
    """Return a step that once returns another value in one place."""

    def do(self, action, result):
        changed = list(result)
        changed[place] = value(self) if callable(value) else value
        return tuple(changed)

    return later_on(do)


def raising(error):
    def do(self, *_, **__):
        raise error() if callable(error) else error

    return do


def doing(action, at=6):
    """Return a step that once does something beside."""

    def do(self, _, result):
        action()
        return result

    return later_on(do, at)


# --- what a step returns

OBSERVATION, REWARD, TERMINATED, TRUNCATED, INFO = range(5)
SHAPES = {
    "scalar": 1.0, "numpy-scalar": np.float64(1), "empty": [], "one": [1.0], "two": [1.0, 2.0], "four": np.ones(4),
    "row": np.ones((1, 3)), "column": np.ones((3, 1)), "zero-d": np.array(1.0), "cube": np.ones((3, 3, 3)),
}  # fmt: skip
for name, value in SHAPES.items():
    hostile(f"observation-{name}", 1, "an observation of shape", step=returning(OBSERVATION, value))
NO_NUMBERS = {
    "none": None, "string": "abc", "strings": ["1", "2", "3"], "bytes": b"123", "dict": {"a": 1}, "ragged": [1, [2], 3],
    "object": object(), "objects": np.array([1, None, 2]), "complex": np.ones(3, complex), "set": {1, 2, 3},
    "date": np.array(["2026-01-01"] * 3, "M8[D]"), "whole": [10**400, 0, 0], "function": len,
    "pair": (np.ones(3), {}), "masked": np.ma.masked_array(np.ones(3), [False, True, False]),
}  # fmt: skip
for name, value in NO_NUMBERS.items():
    hostile(f"observation-{name}", 1, "step returned", step=returning(OBSERVATION, lambda self, value=value: value))
BAD = {"nan": np.nan, "inf": np.inf, "minus-inf": -np.inf, "1e160": 1e160, "1e308": -1e308}
for name, value in BAD.items():
    words = "beyond 1e+100" if name.startswith("1") else "not finite"
    hostile(f"observation-{name}", 1, words, step=returning(OBSERVATION, [0.0, value, 0.0]))
    hostile(f"reward-{name}", 1, f"a reward that is {words}".replace("that is beyond", "of"),
            step=returning(REWARD, value)) if words == "not finite" else hostile(
            f"reward-{name}", 1, words, step=returning(REWARD, value))  # fmt: skip
    hostile(f"reset-{name}", 1, words, reset=lambda self, value=value, **_: (np.array([value, 0, 0]), {}))
hostile("observation-long-double", 1, "not finite", step=returning(OBSERVATION, np.full(3, np.longdouble("1e4000"))))
REWARDS = {
    "none": None, "string": "1", "list": [1.0], "two": np.ones(2), "complex": 1j, "bool": True, "dict": {},
    "numpy-bool": np.True_, "zero-d-bool": np.array(True),
    "whole": 10**400, "fraction": Fraction(1, 3), "decimal": Decimal(1), "one-element": np.ones(1),
    "seconds": np.timedelta64(1, "s"), "nanoseconds": np.timedelta64(5, "ns"),
    "unwilling": type("Unwilling", (float,), {"__float__": lambda self: 1 / 0})(1.0),
}  # fmt: skip
for name, value in REWARDS.items():
    hostile(f"reward-{name}", 1, "reward", step=returning(REWARD, value))
FLAGS = {"none": None, "string": "False", "float": 0.5, "array": np.array([True]), "dict": {}, "two": 2, "nan": np.nan,
         "duration": np.timedelta64(0, "s")}  # fmt: skip
for name, value in FLAGS.items():
    hostile(f"terminated-{name}", 1, "terminated", step=returning(TERMINATED, value))
    hostile(f"truncated-{name}", 1, "truncated", step=returning(TRUNCATED, value))
for name, value in {"none": None, "list": [], "string": "ok", "number": 0}.items():
    hostile(f"info-{name}", 1, "info", step=returning(INFO, value))
RESULTS = {"none": None, "observation": np.ones(3), "old-four": (np.ones(3), 1.0, False, {}), "six": (1,) * 6,
           "list": [np.ones(3), 1.0, False, False, {}], "generator": iter(()), "unshowable": Exception}  # fmt: skip
for name, value in RESULTS.items():
    hostile(f"step-returns-{name}", 1, "step returned", step=later_on(lambda s, a, r, value=value: value))
RESETS = {"none": None, "old": np.ones(3), "old-two": np.ones(2), "list": [np.ones(3), {}],
          "three": (np.ones(3), {}, 0), "info-none": (np.ones(3), None), "shape": (np.ones(4), {}),
          "dict": {}, "text": ("abc", {})}  # fmt: skip
for name, value in RESETS.items():
    hostile(f"reset-returns-{name}", 1, "reset returned", reset=lambda self, value=value, **_: value)


class Unshowable:
    def __repr__(self):
        raise ValueError("no")


hostile("reward-unshowable", 1, "reward", step=returning(REWARD, Unshowable()))
hostile("step-returns-unshowable-object", 1, "step returned", step=later_on(lambda s, a, r: Unshowable()))

# --- what is raised, and where


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class OwnBaseException(BaseException):
    pass


def deep(n=0):
    return deep(n + 1)


ERRORS = {
    "runtime": (RuntimeError("the arm fell off"), "RuntimeError: the arm fell off"),
    "assertion": (AssertionError(), "AssertionError"),
    "exit": (SystemExit(3), "SystemExit: 3"),
    "exit-0": (SystemExit(0), "SystemExit: 0"),
    "generator-exit": (GeneratorExit(), "GeneratorExit"),
    "own-base": (OwnBaseException("odd"), "OwnBaseException: odd"),
    "stop-iteration": (StopIteration(5), "StopIteration: 5"),
    "memory": (MemoryError("no room"), "MemoryError: no room"),
    "recursion": (deep, "RecursionError"),
    "mute": (MuteError(), "MuteError"),
    "lines": (ValueError("one\ntwo\r\nthree\x1b[31m"), "ValueError: one two three"),
    "long": (ValueError("x" * 100_000), "ValueError: xxx"),
    "umlaut": (ValueError("Größe ≠ 3 🦾"), "ValueError: Größe"),
    "surrogate": (ValueError("\udcff"), "ValueError"),
    "group": (ExceptionGroup("many", [ValueError(1), KeyError(2)]), "ExceptionGroup: many"),
    "os": (OSError(28, "No space left on device"), "OSError: [Errno 28] No space left"),
    "pipe": (BrokenPipeError(32, "Broken pipe"), "BrokenPipeError"),
    "key": (KeyError("torque"), "KeyError: 'torque'"),
    "not-implemented": (NotImplementedError(), "NotImplementedError"),
    "warning": (UserWarning("careful"), "UserWarning: careful"),
    "unicode": (UnicodeDecodeError("utf8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError"),
    "timeout": (TimeoutError("simulator"), "TimeoutError: simulator"),
}
for name, (error, words) in ERRORS.items():
    hostile(f"step-raises-{name}", 1, f"step raised {words}", step=later_on(raising(error)))
    hostile(f"reset-raises-{name}", 1, f"reset raised {words}", reset=raising(error))
    hostile(f"constructor-raises-{name}", 2, words, __init__=raising(error))
for name in ("runtime", "exit", "own-base", "mute", "lines", "generator-exit"):
    error, words = ERRORS[name]
    hostile(f"close-raises-{name}", 2, words, close=raising(error))
    hostile(f"space-raises-{name}", 2, words, observation_space=property(raising(error)))
hostile("interrupt-in-step", 130, "", step=later_on(raising(KeyboardInterrupt())))
hostile("interrupt-in-reset", 130, "", reset=raising(KeyboardInterrupt()))


def counted(limit, error):
    """Return a constructor that fails from a later copy on."""

    def init(self, **options):
        MADE.append(1)
        if len(MADE) > limit:
            raise error

    return init


for limit in (1, 2, 3, 4):
    words = "RuntimeError: no more licences"
    hostile(f"copy-{limit + 1}-fails", 1, words, __init__=counted(limit, RuntimeError("no more licences")))
hostile("copy-5-exits", 1, "SystemExit", __init__=counted(4, SystemExit(1)))


def third(self, *, seed=None, options=None):
    self.resets = getattr(self, "resets", 0) + 1
    if self.resets == 3:
        raise RuntimeError("the arm does not move")
    return Walk.reset(self, seed=seed)


hostile("third-reset-raises", 1, "the arm does not move", reset=third)
hostile("reset-without-seed", 1, "TypeError", reset=lambda self: (np.ones(3), {}))
hostile("step-without-action", 1, "TypeError", step=lambda self: None)
hostile("constructor-needs-an-argument", 2, "TypeError", __init__=lambda self, model: None)
hostile("time-limit-and-old-step", 1, "step raised", limit=5, step=lambda self, a: (np.ones(3), 1.0, False, {}))

# --- what it says it is

SPACES = {
    "none": None, "number": 3, "class": Box, "dict": {"a": 1}, "tuple-space": Tuple([FREE]), "dict-space": Dict(a=FREE),
    "discrete": Discrete(3), "multi-discrete": MultiDiscrete([2, 2]), "multi-binary": MultiBinary(3), "text": Text(3),
    "empty": Box(-1, 1, (0,)), "empty-rows": Box(-1, 1, (3, 0)),
}  # fmt: skip
for name, value in SPACES.items():
    hostile(f"observations-{name}", 2, "observation", observation_space=value)
    if name != "discrete":
        hostile(f"actions-{name}", 2, "action", action_space=value)
hostile("actions-whole", 2, "actions", action_space=Box(0, 5, (2,), np.int64))
hostile("actions-bool", 2, "actions", action_space=Box(0, 1, (2,), bool))
NAN = Box(-1, 1, (2,), np.float64)
NAN.low[0] = np.nan
hostile("actions-nan-bounds", 2, "bounds", action_space=NAN)
CROSSED = Box(-1, 1, (2,), np.float64)
CROSSED.low[0] = 3
hostile("actions-crossed-bounds", 2, "bounds", action_space=CROSSED)
HUGE = Discrete(2)
HUGE.n = 10**12
hostile("actions-huge", 2, "1000000000000", action_space=HUGE)
NONE = Discrete(2)
NONE.n = 0
hostile("actions-none-at-all", 2, "nothing to choose", action_space=NONE)
WIDE = Box(-1, 1, (1,), np.float64)
WIDE._shape = (10**7, 10**7)
hostile("observations-huge", 2, "observations", observation_space=WIDE)
hostile("no-observation-space", 2, "observation", base=gymnasium.Env, step=Walk.step, reset=Walk.reset)
hostile("no-action-space", 2, "action", base=gymnasium.Env, observation_space=FREE)
hostile("no-step", 1, "NotImplementedError", base=gymnasium.Env, observation_space=FREE, action_space=Discrete(2),
        reset=lambda self, **_: (np.ones(3), {}))  # fmt: skip
hostile("no-reset", 1, "reset returned None", base=gymnasium.Env, observation_space=FREE, action_space=Discrete(2))
gymnasium.register("Hostile-function-v0", entry_point=lambda **_: None)
CASES["function"] = Case("hostile_envs:Hostile-function-v0", 2, "cannot be made", "", ())
gymnasium.register("Hostile-object-v0", entry_point=lambda **_: object())
CASES["object"] = Case("hostile_envs:Hostile-object-v0", 2, "cannot be made", "", ())
gymnasium.register("Hostile-lost-v0", entry_point="no_such_module:Env")
CASES["lost"] = Case("hostile_envs:Hostile-lost-v0", 2, "registered, but cannot be made: ModuleNotFound", "", ())
gymnasium.register("Hostile-nameless-v0", entry_point="hostile_envs:Nothing")
CASES["nameless"] = Case("hostile_envs:Hostile-nameless-v0", 2, "Nothing", "", ())
gymnasium.register("Hostile-no-time-v0", entry_point=Walk, max_episode_steps=-1)
CASES["no-time"] = Case("hostile_envs:Hostile-no-time-v0", 2, "cannot be made", "", ())

# --- odd, but fine


def within(space, length=10):
    """Return members of an environment whose actions are checked."""

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        return Walk.step(self, action)

    return {"action_space": space, "step": step}


def seen(change):
    return {"see": lambda self: change(Walk.see(self))}


ODD = {
    "discrete-start": within(Discrete(3, start=7)),
    "discrete-negative-start": within(Discrete(3, start=-5)),
    "discrete-one": within(Discrete(1)),
    "discrete-many": within(Discrete(500)),
    "box-half": within(Box(-0.1, 0.1, (2,), np.float16)),
    "box-single": within(Box(-0.1, 0.1, (2,), np.float32)),
    "box-double": within(Box(-0.1, 0.1, (2,), np.float64)),
    "box-long": within(Box(-0.1, 0.1, (2,), np.longdouble)),
    "box-matrix": within(Box(-1, 1, (2, 3))),
    "box-zero-d": within(Box(-1, 1, ())),
    "box-free": within(Box(-np.inf, np.inf, (2,), np.float64)),
    "box-half-free": within(Box(np.array([-np.inf, 0]), np.array([0, np.inf]), dtype=np.float64)),
    "box-point": within(Box(2.0, 2.0, (2,), np.float64)),
    "box-as-wide-as-floats": within(Box(-1.7e308, 1.7e308, (2,), np.float64)),
    "box-as-wide-as-singles": within(Box(np.finfo(np.float32).min, np.finfo(np.float32).max, (2,))),
    "box-uneven": within(Box(np.array([-1, 0, 100.0]), np.array([1, 1e-9, 1e6]), dtype=np.float64)),
    "observation-list": seen(list),
    "observation-tuple": seen(tuple),
    "observation-whole": seen(lambda x: [int(v) for v in x]),
    "observation-bools": seen(lambda x: x > 0),
    "observation-bytes": seen(lambda x: (x > 0).astype(np.uint8)),
    "observation-half": seen(lambda x: x.astype(np.float16)),
    "observation-long": seen(lambda x: x.astype(np.longdouble)),
    "observation-big-endian": seen(lambda x: x.astype(">f8")),
    "observation-strided": seen(lambda x: np.repeat(x, 2)[::2]),
    "observation-backwards": seen(lambda x: x[::-1]),
    "observation-read-only": seen(lambda x: np.broadcast_to(x[:1], (3,))),
    "observation-matrix": seen(lambda x: np.asmatrix(x).A1),
    "observation-zero-d": {"observation_space": Box(-9, 9, ()), **seen(lambda x: x[0])},
    "observation-image": {"observation_space": Box(0, 255, (4, 5, 3), np.uint8),
                          **seen(lambda x: np.full((4, 5, 3), 7, np.uint8))},
    "observation-constant": seen(lambda x: np.zeros(3)),
    "observation-large": seen(lambda x: 1e90 * x),
    "observation-tiny": seen(lambda x: 1e-300 * x),
    "observation-outside": {"observation_space": Box(0, 1, (3,)), **seen(lambda x: 100 * x)},
    "reward-whole": {"step": returning(REWARD, 3)},
    "reward-single": {"step": returning(REWARD, np.float32(3))},
    "reward-long": {"step": returning(REWARD, np.longdouble(3))},
    "reward-byte": {"step": returning(REWARD, np.uint8(3))},
    "reward-zero-d": {"step": returning(REWARD, np.array(3.0))},
    "reward-zero": {"step": lambda s, a: (*Walk.step(s, a)[:1], 0.0, s.t >= 9, False, {})},
    "reward-large": {"step": returning(REWARD, 1e90)},
    "flag-whole": {"step": returning(TERMINATED, 1)},
    "flag-numpy": {"step": returning(TRUNCATED, np.bool_(True))},
    "flags-both": {"step": lambda s, a: (*Walk.step(s, a)[:2], s.t > 4, s.t > 4, {})},
    "ends-at-once": {"length": 1},
    "truncated-at-once": {"step": lambda s, a: (*Walk.step(s, a)[:2], False, True, {})},
    "info-full": {"step": returning(INFO, {"x": object(), 3: np.ones(10**5)})},
    "info-own-dict": {"step": returning(INFO, type("Info", (dict,), {})())},
}  # fmt: skip
for name, members in ODD.items():
    hostile(f"odd-{name}", **members)
hostile("odd-without-end", arguments=("--requests", "segments"), length=10**9)
hostile("odd-time-limit-of-one", limit=1)


class Alias(Walk):
    def __init__(self, **options):
        self.array = np.zeros(3)

    def see(self):
        self.array[:] = Walk.see(self)
        return self.array


hostile("odd-same-array", base=Alias)
hostile("odd-same-array-segments", base=Alias, arguments=("--requests", "segments"))
hostile("odd-view-of-its-own", base=Alias, see=lambda self: Alias.see(self)[:])
hostile("odd-array-changes-later", base=Alias,
        step=lambda self, a: (self.array.fill(7), *Walk.step(self, a))[1:])  # fmt: skip


def spoiling(self, action):
    result = Walk.step(self, action)
    action[:] = np.nan
    return result


hostile("odd-spoils-the-action", action_space=Box(-1, 1, (2,)), step=spoiling)
hostile("odd-keeps-actions", action_space=Box(-1, 1, (2,)),
        step=lambda self, a: (self.__dict__.setdefault("kept", []).append(a), *Walk.step(self, a))[1:])  # fmt: skip

# --- what it does to the process beside


class OnlyWrites:
    def write(self, text):
        return len(text)

    def flush(self):
        pass


def close_python_files():
    sys.stdout.close()
    sys.stderr.close()


def forks():
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(1)
        os._exit(0)


SIDE_EFFECTS = {
    "chdir": lambda: os.chdir("/"),
    "seeds": lambda: np.random.seed(0),  # noqa: NPY002
    "float-errors": lambda: np.seterr(all="raise"),
    "warnings": lambda: warnings.simplefilter("error"),
    "warns": lambda: warnings.warn("careful", RuntimeWarning, stacklevel=1),
    "environ": os.environ.clear,
    "signals": lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
    "alarm-off": lambda: signal.set_wakeup_fd(-1),
    "prints": lambda: print("x" * 10**5),
    "prints-binary": lambda: os.write(1, bytes(range(256))),
    "thread": lambda: threading.Thread(target=time.sleep, args=(1,), daemon=True).start(),
    "forks": forks,
    "starts": lambda: subprocess.Popen(["sleep", "1"], stderr=subprocess.DEVNULL),
    "recursion-limit": lambda: sys.setrecursionlimit(200),
    "closes-descriptors": lambda: os.closerange(10, 100),
    "sets-a-locale": lambda: __import__("locale").setlocale(0, "C"),
    "collects-no-garbage": lambda: __import__("gc").disable(),
    "umask": lambda: os.umask(0o077),
    "path": sys.path.clear,
    "no-words": sys.argv.clear,
    "no-command-line": lambda: setattr(sys, "argv", None),
    "numbers-for-words": lambda: setattr(sys, "argv", [1, 2]),
    "stdout-that-only-writes": lambda: setattr(sys, "stdout", OnlyWrites()),
}
for name, action in SIDE_EFFECTS.items():
    hostile(f"odd-{name}", step=doing(action))
hostile("odd-chdir-in-constructor", __init__=lambda self, **_: os.chdir("/"))
hostile("odd-chdir-in-reset", reset=lambda self, **k: (os.chdir("/"), Walk.reset(self, **k))[1])
hostile("odd-leaves-a-thread", 0, "", "slow", arguments=("--total-steps", 10, "--steps-per-update", 10),
        step=doing(threading.Thread(target=time.sleep, args=(1000,)).start))  # fmt: skip
hostile("odd-no-hook-for-threads", 0, "", "slow", arguments=("--total-steps", 10, "--steps-per-update", 10),
        step=doing(lambda: setattr(threading, "excepthook", None)))  # fmt: skip
hostile("closes-stdout", 1, "stdout", "mute", step=doing(lambda: sys.stdout.close()))
hostile("closes-stderr", 0, "", "mute", step=doing(lambda: sys.stderr.close()))
hostile("closes-descriptor-1", 1, "stdout", "mute", step=doing(lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1)))
hostile("closes-descriptor-2", 0, "", "mute", step=doing(lambda: os.closerange(2, 3)))


def muted_and_raising(mute):
    """Return a step that takes away what messages are written to, and raises."""
    return doing(lambda: (mute(), ERRORS["runtime"][0])[1] and raising(ERRORS["runtime"][0])(None))


MUTES = {
    "descriptor-2": lambda: os.close(2),
    "stderr": lambda: sys.stderr.close(),
    "both": lambda: os.closerange(1, 3),
    "all": lambda: os.closerange(0, 256),
    "nowhere": lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2),
    "to-stdout": lambda: os.dup2(1, 2),
    "replaced": lambda: setattr(sys, "stderr", None),
}
for name, mute in MUTES.items():
    kind, said = ("mute", "") if name == "all" else ("", "the arm fell off")  # failure.txt has it
    hostile(f"mute-{name}-and-raises", 1, said, kind, step=muted_and_raising(mute))
    hostile(f"mute-{name}-constructor", 2, said, kind,
            __init__=lambda self, mute=mute, **_: (mute(), raising(ERRORS["runtime"][0])(None)))  # fmt: skip


class Meta(type(gymnasium.Env)):
    def __call__(cls, *args, **kwargs):
        raise RuntimeError("the class does not want to")


class Unwilling(Walk, metaclass=Meta):
    pass


gymnasium.register("Hostile-unwilling-v0", entry_point=Unwilling)
CASES["unwilling"] = Case("hostile_envs:Hostile-unwilling-v0", 2, "RuntimeError: the class does not want to", "", ())
hostile("space-hangs", -9, "is stuck: constructor has not returned for 1 s", "hang",
        observation_space=property(lambda self: time.sleep(1000)))  # fmt: skip
hostile("deletion-hangs", -9, "is stuck: close has not returned for 1 s", "hang",
        __del__=lambda self: time.sleep(1000))  # fmt: skip
hostile("closes-everything", 0, "", "slow", step=doing(lambda: os.closerange(3, 256)))
hostile("closes-everything-and-dies", -1, "crashed while playing", "crash",
        step=doing(lambda: (os.closerange(3, 256), time.sleep(3), os.kill(os.getpid(), signal.SIGKILL)),
                   ), arguments=("--stuck-after", 9))  # fmt: skip


def at_exit(self, **_):
    MADE.append(1)
    atexit.register(time.sleep, 1000)


def cycle(self, **_):
    self.me = self


hostile("atexit-hangs", 0, "", "slow", __init__=at_exit)
hostile("close-raises-late", 0, "could not close an environment", "late",
        close=lambda self: len(MADE) > 3 and raising(RuntimeError("the arm is stuck"))(self))  # fmt: skip
hostile("deletion-in-a-cycle-hangs", 0, "", "slow", __init__=cycle, __del__=lambda self: time.sleep(1000))

# --- what only the watchdog can tell

CRASHES = {
    "kills-itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "abort": os.abort,
    "leaves": lambda: os._exit(7),
    "leaves-with-0": lambda: os._exit(0),
    "killed-with-a-child": lambda: (os.fork() == 0 and (os.closerange(0, 3), time.sleep(8), os._exit(0)),
                                    time.sleep(0.1), os.kill(os.getpid(), signal.SIGKILL)),
}  # fmt: skip
hostile("step-asks-for-the-end", 143, "stopped by SIGTERM after update", "stop", arguments=("--total-steps", 900),
        step=doing(lambda: os.kill(os.getpid(), signal.SIGTERM)))  # fmt: skip
for name, action in CRASHES.items():
    words = f"was left by os._exit({int(name == 'leaves') * 7})" if "leaves" in name else "crashed"
    hostile(f"step-{name}", -1, f"{words} while playing", "crash", step=doing(action))
    if name in ("kills-itself", "leaves", "leaves-with-0"):
        hostile(f"reset-{name}", -1, words, "crash", reset=lambda s, action=action, **k: action())
        hostile(f"constructor-{name}", -1, f"{words} in the constructor", "crash",
                __init__=lambda self, action=action, **_: action())  # fmt: skip


def sleep(*_, **__):
    time.sleep(1000)


def run_for_ever(*_, **__):
    while True:
        pass


for name, action in (("sleep", sleep), ("busy", run_for_ever)):
    words = "is stuck: no environment step for 1 s while playing"
    hostile(f"step-hangs-{name}", -9, words, "hang", step=later_on(action))
hostile("reset-hangs", -9, "is stuck: reset has not returned for 1 s", "hang", reset=sleep)
hostile("constructor-hangs", -9, "is stuck: constructor has not returned for 1 s", "hang", __init__=sleep)
hostile("close-hangs", -9, "is stuck: close has not returned for 1 s", "hang", close=sleep)


def patient(self, *_, **__):
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(1000)


hostile("step-hangs-and-catches-all", -9, "is stuck: no environment step", "hang", step=patient)
hostile("step-hangs-early", -9, "is stuck: no environment step for 1 s in the step", "hang", step=sleep)
hostile("step-segfault-early", -1, "crashed in the step", "crash", step=doing(CRASHES["segfault"], 1))


def slowly(call, seconds):
    return lambda self, *a, **k: (time.sleep(seconds), call(self, *a, **k))[1]


hostile("slow-step", 0, "", "slow", step=slowly(Walk.step, 0.3), arguments=("--total-steps", 10))
hostile("slow-reset", 0, "", "slow", reset=slowly(Walk.reset, 0.6), arguments=("--total-steps", 10))
hostile("slow-constructor", 0, "", "slow", __init__=slowly(Walk.__init__, 0.6), arguments=("--total-steps", 10))
hostile("slow-reset-segments", 0, "", "slow", reset=slowly(Walk.reset, 0.6),
        arguments=("--total-steps", 10, "--requests", "segments"))  # fmt: skip
