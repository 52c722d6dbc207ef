"""Algorithms that hang, forget, or draw random numbers that nobody keyed; each is REINFORCE with one change."""

import random
import sys
from pathlib import Path

import numpy as np
from hostile_envs import hang

sys.path.append(str(Path(__file__).parent.parent.parent))
from minitrpo.algorithms.actor_critic import A3C
from minitrpo.course.reinforce import Reinforce


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
    def prepare(self, plan, fragment):
        random.random()
        return super().prepare(plan, fragment)


class Unkeyed(Reinforce):
    """Has its noise from a generator that nobody seeded."""

    def learn(self, batch, rng):
        self.theta = self.theta + 1e-3 * np.random.default_rng().standard_normal(len(self.theta))
        return super().learn(batch, rng)


class Counting(Reinforce):
    """Scales what it sends by how many fragments this rank has played."""

    fragments = 0

    def prepare(self, plan, fragment):
        self.fragments += 1
        rows = super().prepare(plan, fragment)
        return rows | {"returns": rows["returns"] * self.fragments}


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


class PicklesMemory(A3C):
    def worker_state(self):
        return {"odd": np.array([{}], dtype=object)}

    def restore_worker(self, arrays):
        pass


class OverflowsAtTheEnd(A3C):
    """By the last gradients the last number of theta is lost; no worker pulls it, and no gradient spreads it."""

    def gradient(self, shared, fragment, now, rng):
        pushed, logged = super().gradient(shared, fragment, now, rng)
        return {name: np.zeros_like(array) for name, array in pushed.items()}, logged

    def apply(self, shared, gradient, now):
        super().apply(shared, gradient, now)
        if now.env_steps >= 1000:  # all steps of the test's run
            shared["theta"][-1] = np.nan


class Changing(Reinforce):
    """Does something to theta in every update."""

    def learn(self, batch, rng):
        columns = super().learn(batch, rng)
        self.theta = self.changed(self.theta)
        return columns


CHANGES = {"Rounds": lambda theta: theta.astype(np.float32), "Loses": lambda theta: theta[1:]}
CHANGES |= {"Overflows": lambda theta: theta * np.nan, "Exits": lambda theta: sys.exit(0)}
for name, change in CHANGES.items():
    globals()[name] = type(name, (Changing,), {"changed": staticmethod(change)})


class Raises(Reinforce):
    def prepare(self, plan, fragment):
        raise ZeroDivisionError("no steps")


class Uneven(Reinforce):
    def prepare(self, plan, fragment):
        return super().prepare(plan, fragment) | {"z": np.zeros((fragment.steps, 1 + fragment.steps % 2))}


HANGING = {"constructor": (Reinforce, "__init__"), "gradient": (A3C, "gradient"), "apply": (A3C, "apply")}
HANGING |= {name: (Reinforce, name) for name in ("plan", "prepare", "learn", "state", "restore")}
for called, (base, method) in HANGING.items():
    globals()[f"Hangs_{called}"] = type(f"Hangs_{called}", (base,), {method: hang})
