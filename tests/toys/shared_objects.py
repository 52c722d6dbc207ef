"""An algorithm that tells what it was given: every field of every object that all ranks are promised to share."""

import dataclasses
import hashlib

import numpy as np

from minitrpo.algorithms import Algorithm, Plan, Purpose, option
from minitrpo.algorithms.algorithm import Context

OF_THE_RANK = {"comm", "timeline", "notes", "worker"}  # all other fields are promised to be the same


def prints(thing, but=()):
    """Return a number for every field of a dataclass: of arrays their bytes, shape, kind, order, and who may write."""
    found = []
    for f in dataclasses.fields(thing):
        value = getattr(thing, f.name)
        if f.name not in but:
            text = repr({n: of_array(a) for n, a in value.items()} if isinstance(value, dict) else of_array(value))
            found.append(int.from_bytes(hashlib.sha256(f"{f.name} {text}".encode()).digest()[:6], "little"))
    return found


def of_array(value):
    if not isinstance(value, np.ndarray):
        return (type(value).__name__, repr(value))
    flags = value.flags
    return (value.tobytes(), value.shape, value.dtype.str, flags.c_contiguous, flags.f_contiguous, flags.writeable)


@dataclasses.dataclass(frozen=True)
class Settings:
    plan_steps: int = option(0, "ask for so many steps", least=0)
    plan_episodes: int = option(0, "ask for so many episodes", least=0)


class Tells(Algorithm):
    Settings, columns = Settings, ("fields", "distinct", "scale")

    def __init__(self, settings, context: Context):
        self.settings, self.context = settings, context
        self.theta = context.policy.initialise(context.generator(Purpose.POLICY))

    def plan(self):
        arrays = {"across": np.arange(12.0).reshape(3, 4).T, "every_second": np.arange(10, dtype=np.int32)[::2]}
        arrays |= {"one": np.array(2.5), "none": np.zeros((0, 3), np.float32), "yes": np.ones(3, bool)}
        steps, episodes = np.int64(self.settings.plan_steps), self.settings.plan_episodes
        return Plan(self.theta, steps or None, arrays, episodes or None)

    def prepare(self, plan, fragment):
        row = [*prints(plan), *prints(self.context, OF_THE_RANK)]
        scale = 1.0 if plan.steps else 0.5 if plan.episodes else 0.25
        x = fragment.observations  # BLAS rounds a row of a product by how many stand beside it
        products = x @ np.linspace(0.1, 0.2, x.shape[1])
        return {"prints": np.array([row]), "scaled": fragment.rewards * scale, "products": products}

    def learn(self, batch, rng):
        self.theta = self.theta + 1e-3 * batch["scaled"].sum() + 1e-3 * batch["products"].sum()
        rows = batch["prints"]
        return {"fields": rows.shape[1], "distinct": len(np.unique(rows, axis=0)), "scale": batch["scaled"].max()}

    def state(self):
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]
