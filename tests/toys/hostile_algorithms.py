"""Algorithms that hang, forget, or draw random numbers that nobody keyed; each is REINFORCE with one change."""

import inspect
import os
import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent.parent.parent))
from minitrpo.algorithms.actor_critic.a3c import A3C
from mpi_scripts.own.reinforce import Reinforce


class Deep(Reinforce):
    """Says under how many frames it learns."""

    columns = ("frames",)

    def learn(self, batch, rng):
        super().learn(batch, rng)
        return {"frames": len(inspect.stack()) - 1}


class Busy(Reinforce):
    def learn(self, batch, rng):
        while True:
            pass


class Shared(Reinforce):
    def assist(self, plan, rng):
        time.sleep(1000)


class Forgetful(Reinforce):
    """Its updates have a momentum, which is in no checkpoint."""

    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.velocity = np.zeros_like(self.theta)

    def learn(self, batch, rng):
        before = self.theta
        columns = super().learn(batch, rng)
        self.velocity = 0.9 * self.velocity + self.theta - before
        self.theta = before + self.velocity
        return columns


class Mindful(Forgetful):
    def state(self):
        return {"theta": self.theta, "velocity": self.velocity}

    def restore(self, arrays):
        self.theta, self.velocity = arrays["theta"], arrays["velocity"]


class HalfMindful(Mindful):
    """Writes down what it does not take over."""

    def restore(self, arrays):
        self.theta = arrays["theta"]


class OwnGenerator(Reinforce):
    """Draws from a generator that it has kept since the beginning."""

    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.rng = np.random.default_rng(0)

    def learn(self, batch, rng):
        self.theta = self.theta + 1e-3 * self.rng.standard_normal(len(self.theta))
        return super().learn(batch, rng)


class NumpyRandom(Reinforce):
    def learn(self, batch, rng):
        np.random.standard_normal(3)  # noqa: NPY002
        return super().learn(batch, rng)


class PythonRandom(Reinforce):
    def digest(self, plan, fragment):
        random.random()
        return super().digest(plan, fragment)


class Unkeyed(Reinforce):
    """Has its noise from a generator that nobody seeded."""

    def learn(self, batch, rng):
        self.theta = self.theta + 1e-3 * np.random.default_rng().standard_normal(len(self.theta))
        return super().learn(batch, rng)


class Counting(Reinforce):
    """Scales what it sends by how many fragments this rank has played."""

    fragments = 0

    def digest(self, plan, fragment):
        self.fragments += 1
        digest = super().digest(plan, fragment)
        return digest | {"returns": digest["returns"] * self.fragments}


class Rounding(Reinforce):
    """Does not take over what it wrote, to the bit."""

    def restore(self, arrays):
        self.theta = arrays["theta"].round(3)


class Refusing(Mindful):
    """Takes over the first checkpoint alone."""

    def restore(self, arrays):
        if np.any(arrays["velocity"] != 0):
            raise ValueError("too quick")
        super().restore(arrays)


class Leaving(Reinforce):
    def learn(self, batch, rng):
        os._exit(0)


class Meta(type):
    def __getattribute__(cls, name):
        if name in ("presets", "columns", "__signature__"):
            raise RuntimeError("do not look at me")
        return super().__getattribute__(name)


class Shy(Reinforce, metaclass=Meta):
    pass


class HangsInit(Reinforce):
    def __init__(self, settings, context):
        time.sleep(1000)


class HangsPlan(Reinforce):
    def plan(self):
        time.sleep(1000)


class HangsDigest(Reinforce):
    def digest(self, plan, fragment):
        time.sleep(1000)


class HangsLearn(Reinforce):
    def learn(self, batch, rng):
        time.sleep(1000)


class HangsState(Reinforce):
    def state(self):
        time.sleep(1000)


class HangsRestore(Reinforce):
    def restore(self, arrays):
        time.sleep(1000)


class HangsGradient(A3C):
    def gradient(self, shared, fragment, now, rng):
        time.sleep(1000)


class HangsApply(A3C):
    def apply(self, shared, gradient, now):
        time.sleep(1000)


class PicklesMemory(A3C):
    def worker_state(self):
        return {"odd": np.array([{}], dtype=object)}

    def restore_worker(self, arrays):
        pass


class Rounds(Reinforce):
    """Its theta becomes float32 in the first update."""

    def learn(self, batch, rng):
        columns = super().learn(batch, rng)
        self.theta = self.theta.astype(np.float32)
        return columns


class Exiting(Reinforce):
    def learn(self, batch, rng):
        sys.exit(0)


class Uneven(Reinforce):
    def digest(self, plan, fragment):
        return super().digest(plan, fragment) | {"z": np.zeros((fragment.steps, 1 + fragment.steps % 2))}
