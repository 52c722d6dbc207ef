"""REINFORCE in one file, a start for your own: mpiexec -n 2 python -m minitrpo train --algorithm reinforce:Reinforce

`python -m minitrpo new mine` writes it to mine.py; python looks for the module in the folder you type the command in.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.advantages import discounted_sums, standardise
from minitrpo.algorithms import Algorithm, Plan, Preset, Purpose, option
from minitrpo.policy_gradient import policy_gradient


@dataclass(frozen=True)
class Settings:
    """What can be chosen: --help shows it, limits are checked."""

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

    def prepare(self, plan, fragment):  # on the rank that played it: what travels, a row for each step, or one row
        returns = discounted_sums(fragment.rewards, self.settings.discount, fragment.last)
        return {"observations": fragment.observations, "actions": fragment.actions, "returns": returns}

    def learn(self, batch, rng):  # on the root: everybody's rows, in episode order
        advantages = standardise(batch["returns"])
        g = policy_gradient(self.policy, self.theta, batch["observations"], batch["actions"], advantages)
        norm = np.linalg.norm(g)
        self.theta = self.theta + self.settings.step_size * g / (norm + 1e-8)
        return {"gradient_norm": norm}

    def state(self):  # what a checkpoint holds: a dict of arrays, theta among them
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]
