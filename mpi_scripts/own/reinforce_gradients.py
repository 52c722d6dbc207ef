"""REINFORCE that sends gradients instead of samples: only prepare() and learn() differ from course/reinforce.py.

mpiexec -n 2 python mpi_scripts/train.py --algorithm mpi_scripts.own.reinforce_gradients:Reinforce --env CartPole-v1
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.advantages import discounted_sums
from minitrpo.algorithms import Algorithm, Plan, Preset, Purpose, option
from minitrpo.policy_gradient import policy_gradient


@dataclass(frozen=True)
class Settings:  # --help shows them, their limits are checked
    step_size: float = option(0.05, "how far an update moves theta, the gradient's length being 1", above=0)
    discount: float = option(0.99, "discount per step (gamma)", above=0, most=1)


class Reinforce(Algorithm):
    """Monte-Carlo policy gradient with the batch's mean as baseline (Williams 1992), in steps of one length."""

    Settings = Settings
    columns = ("gradient_norm",)  # what learn() adds to metrics.csv
    presets = {"default": Preset("many small updates", {"steps_per_update": 2_000})}  # optional

    def __init__(self, settings, context):  # the same on every rank
        self.settings, self.policy = settings, context.policy
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))

    def plan(self):  # on the root: what to play next
        return Plan(self.theta)

    def prepare(self, plan, fragment):  # on the rank that played it: two sums of gradients in one row; see learn()
        returns = discounted_sums(fragment.rewards, self.settings.discount, fragment.last)
        weights, steps = (returns, np.ones(fragment.steps)), fragment.steps
        u, v = (policy_gradient(self.policy, plan.theta, fragment.observations, fragment.actions, w) for w in weights)
        return {"gradients": np.concatenate([steps * u, steps * v, [returns.sum(), steps]])[None]}

    def learn(self, batch, rng):  # on the root: the gradient is linear in the baseline, which is known only now
        u, v, (returns, steps) = np.split(batch["gradients"].sum(axis=0), [len(self.theta), 2 * len(self.theta)])
        g = (u - returns / steps * v) / steps
        norm = np.linalg.norm(g)
        self.theta = self.theta + self.settings.step_size * g / (norm + 1e-8)
        return {"gradient_norm": norm}

    def state(self):  # what a checkpoint holds: a dict of arrays, theta among them
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]
