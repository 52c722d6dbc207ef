"""Lecture 11: one-step Q, Sarsa and n-step Q as algorithms: many actors, no memory, gradients travel.

Every actor turns what it has just seen into a gradient; all gradients are summed, and one step is taken. theta- is
renewed, and exploration wanes, with the steps of all actors together.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.epsilon_greedy import (
    EpsilonGreedy,
    ExplorationSettings,
    epsilon_greedy_policy,
    exploration_left,
)
from minitrpo.algorithms.interface import Arrays, Context, Design, Plan, Preset
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning import Targets, n_step_q, one_step_q, sarsa_one_step, td_gradient, td_loss
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.policies import Array, Policy

OPTIMISER = "optimiser_"  # how its arrays are called among others


@dataclass(frozen=True)
class QSettings(ExplorationSettings):
    """What the methods without a memory can be told."""

    discount: float = option(0.99, "discount per step (gamma)", above=0, most=1)
    step_size: float = option(1e-3, "the optimiser's step size", above=0, most=10)
    anneal_steps: int = option(0, "steps in which the step size falls to 0; 0: it stays", least=0, most=10**15)
    optimiser: str = option("adam", "what makes a step of a gradient", "Mnih et al. 2016: rmsprop", ("adam", "rmsprop"))
    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    gradient_clip: float = option(1e6, "a longer gradient is shortened to this length", above=0)
    target_every: int = option(
        1_000,
        "steps of all actors together after which theta- is renewed",
        "Mnih et al. 2016: 40,000 on Atari",
        least=1,
    )

    def step_size_at(self, steps: int) -> float:
        """Return the step size after so many steps of all actors."""
        return self.step_size * max(0.0, 1.0 - steps / self.anneal_steps) if self.anneal_steps else self.step_size


COLUMNS = ("td_loss", "gradient_norm", "mean_q", "exploration")


def fragment_gradient(
    policy: EpsilonGreedy, theta: Array, target: Array, fragment: Episodes, targets: Targets, settings: QSettings
) -> tuple[Array, Array]:
    """Return the gradient of a fragment's loss, (P + 1,), that in the exploration left being 0; and what it is made of.

    The sums (4,) are those of loss and Q, and how many steps were learned from and taken. theta- is `target`.
    """
    y, known = targets(lambda observations: policy.distribution(target, observations), fragment, settings.discount)
    observations, actions, ones = fragment.observations[known], fragment.actions[known], np.ones(len(y))
    g, error = td_gradient(theta[:-1], policy.sizes, observations, actions, y, ones, settings.huber)
    sums = [td_loss(error, settings.huber).sum(), (y + error).sum(), len(y), fragment.steps]
    return np.append(g, 0.0), np.array(sums)


def mean_gradient(gradient: Array, sums: Array, longest: float) -> Array:
    """Return the gradient per step learned from, not longer than `longest`."""
    return clipped_norm(gradient / max(sums[2], 1.0), longest)


def told(gradient: Array, sums: Array, theta: Array) -> dict[str, float]:
    """Return the columns of the log."""
    loss, q = (sums[:2] / sums[2]).tolist() if sums[2] else (np.nan, np.nan)
    return {"td_loss": loss, "mean_q": q, "gradient_norm": float(np.linalg.norm(gradient)), "exploration": theta[-1]}


class NStepQ:
    """n-step Q-learning of one run: Q, its older copy, and the update from everybody's gradients."""

    Settings = QSettings
    targets = staticmethod(n_step_q)
    columns = COLUMNS
    chart, chart_label = ("td_loss",), "loss (return^2)"
    design = Design("every n steps", "barrier", "gradients", "root", "on-policy", "Mnih et al. 2016, with a barrier")
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"},
            {"CartPole-v1": {"total_steps": 500_000, "anneal_steps": 500_000}},
        ),
    }

    def __init__(self, settings: QSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.policy = cast(EpsilonGreedy, context.policy)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.target = self.theta.copy()
        self.memory = initial_state(settings.optimiser, len(self.theta))
        self.steps = 0

    @staticmethod
    def make_policy(settings: QSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def plan(self) -> Plan:
        """Return the network that acts, and the older one for the targets."""
        return Plan(self.theta, arrays={"target": self.target})

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the sums over a fragment that travel: the gradient, and loss, Q, steps learned from, steps taken."""
        g, sums = fragment_gradient(
            self.policy, plan.theta, plan.arrays["target"], fragment, self.targets, self.settings
        )
        return {"gradients": g[None], "sums": sums[None]}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step along everybody's gradients, and renew theta- if it is due."""
        s, sums = self.settings, batch["sums"].sum(axis=0)
        g = mean_gradient(batch["gradients"].sum(axis=0), sums, s.gradient_clip)
        self.memory, step = OPTIMISERS[s.optimiser](self.memory, g, s.step_size_at(self.steps))
        before, self.steps = self.steps, self.steps + int(sums[-1])
        self.theta = self.theta - step
        self.theta[-1] = exploration_left(self.steps, s.exploration_steps)
        if self.steps // s.target_every > before // s.target_every:
            self.target = self.theta.copy()
        return told(g, sums, self.theta)

    def state(self) -> Arrays:
        """Return Q, its older copy, the optimiser's memory and the count of steps."""
        own = {"theta": self.theta, "target": self.target, "steps": np.array([self.steps])}
        return own | {OPTIMISER + name: array for name, array in self.memory.items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        if arrays["target"].shape != self.target.shape or not np.all(np.isfinite(arrays["target"])):
            raise ValueError("target is not finite, or of another shape")
        self.theta, self.target, self.steps = arrays["theta"], arrays["target"], int(arrays["steps"][0])
        self.memory = {name: arrays[OPTIMISER + name] for name in self.memory}


class OneStepQ(NStepQ):
    """One-step Q-learning of one run."""

    targets = staticmethod(one_step_q)


class OneStepSarsa(NStepQ):
    """One-step Sarsa of one run."""

    targets = staticmethod(sarsa_one_step)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments; one step ahead, news travels slowly",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"}
            | {"final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000}},
        ),
    }
