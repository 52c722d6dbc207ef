"""Lecture 11b: one-step Q, Sarsa and n-step Q as algorithms: many actors, no replay buffer, gradients travel.

    1. every actor steps epsilon-greedily .............. algorithms/q_learning/epsilon_greedy.py: epsilon_greedy
    2. y = r + gamma max Q(s', .; theta-), or n steps .. algorithms/q_learning/targets.py: one_step_q, n_step_q
       or Q(s', a') of the a' it takes next (Sarsa) .... algorithms/q_learning/targets.py: sarsa_one_step
    3. sum of grad 1/2 (Q(s, a; theta) - y)^2 .......... algorithms/q_learning/n_step_q.py: fragment_gradient
    4. add everybody's sums, one step of theta ......... algorithms/q_learning/n_step_q.py: NStepQ.learn
    5. theta- = theta every I steps of all actors ...... algorithms/q_learning/n_step_q.py: NStepQ.learn

Every actor turns what it has just seen into a gradient; all gradients are summed, and one step is taken. theta- is
renewed, and exploration wanes, with the steps of all actors together.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan, Preset
from minitrpo.algorithms.annealing import AnnealingSettings
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning.epsilon_greedy import (
    EpsilonGreedy,
    ExplorationSettings,
    epsilon_greedy_policy,
    exploration_left,
)
from minitrpo.algorithms.q_learning.targets import Targets, n_step_q, one_step_q, sarsa_one_step, td_gradient, td_loss
from minitrpo.algorithms.samples import named, part_of
from minitrpo.experience.fragments import Fragments
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.policies import Array, Policy

OPTIMISER = "optimiser_"  # how its arrays are called among others


@dataclass(frozen=True)
class QSettings(AnnealingSettings, ExplorationSettings):
    """What the methods without a replay buffer can be told."""

    discount: float = option(0.99, "discount per step (gamma)", above=0, most=1)
    optimiser: str = option("adam", "what makes a step of a gradient", "Mnih et al. 2016: rmsprop", ("adam", "rmsprop"))
    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    gradient_clip: float = option(1e6, "a longer gradient is shortened to this length", above=0)
    target_every: int = option(
        1_000,
        "steps of all actors together after which theta- is renewed",
        "Mnih et al. 2016: 40,000 on Atari",
        least=1,
    )


COLUMNS = ("td_loss", "gradient_norm", "mean_q", "exploration")


def fragment_gradient(
    policy: EpsilonGreedy, theta: Array, target: Array, fragment: Fragments, targets: Targets, settings: QSettings
) -> tuple[Array, Array]:
    """Return the gradient of a fragment's loss, (P + 1,), that in the exploration left being 0; and what it is made of.

    The sums (4,) are those of loss and Q, and how many steps were learned from and taken. theta- is `target`.
    """
    y, known = targets(lambda observations: policy.distribution(target, observations), fragment, settings.discount)
    observations, actions, ones = fragment.observations[known], fragment.actions[known], np.ones(len(y))
    g, error = td_gradient(policy.split(theta)[0], policy.sizes, observations, actions, y, ones, settings.huber)
    sums = [td_loss(error, settings.huber).sum(), (y + error).sum(), len(y), fragment.steps]
    return np.append(g, 0.0), np.array(sums)


def mean_gradient(gradient: Array, sums: Array, longest: float) -> Array:
    """Return the gradient per step learned from, not longer than `longest`."""
    return clipped_norm(gradient / max(sums[2], 1.0), longest)


def metrics(gradient: Array, sums: Array, theta: Array) -> dict[str, float]:
    """Return the columns of the log."""
    loss, q = (sums[:2] / sums[2]).tolist() if sums[2] else (np.nan, np.nan)
    return {"td_loss": loss, "mean_q": q, "gradient_norm": float(np.linalg.norm(gradient)), "exploration": theta[-1]}


class NStepQ(Algorithm):
    """n-step Q-learning of one run: Q, its older copy, and the update from everybody's gradients."""

    Settings = QSettings
    targets = staticmethod(n_step_q)
    columns = COLUMNS
    chart, chart_label = ("td_loss",), "loss (return^2)"
    actions = ("Discrete",)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"},
            {"CartPole-v1": {"total_steps": 500_000, "anneal": "step-size"}},
        )
    }

    def __init__(self, settings: QSettings, context: Context) -> None:
        self.settings, self.step_size = settings, settings.step_size_in(context)
        self.policy = cast(EpsilonGreedy, context.policy)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.target = self.theta.copy()
        self.optimiser_state = initial_state(settings.optimiser, len(self.theta))
        self.steps = 0

    @staticmethod
    def make_policy(settings: QSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def plan(self) -> Plan:
        """Return the network that acts, and the older one for the targets."""
        return Plan(self.theta, arrays={"target": self.target})

    def digest(self, plan: Plan, fragment: Fragments) -> Arrays:
        """Return the sums over a fragment that travel: the gradient, and loss, Q, steps learned from, steps taken."""
        g, sums = fragment_gradient(
            self.policy, plan.theta, plan.arrays["target"], fragment, self.targets, self.settings
        )
        return {"gradients": g[None], "sums": sums[None]}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step along everybody's gradients, and renew theta- if it is due."""
        s, sums = self.settings, batch["sums"].sum(axis=0)
        g = mean_gradient(batch["gradients"].sum(axis=0), sums, s.gradient_clip)
        self.optimiser_state, step = OPTIMISERS[s.optimiser](self.optimiser_state, g, self.step_size(self.steps))
        before, self.steps = self.steps, self.steps + int(sums[-1])
        self.theta = self.theta - step
        self.theta[-1] = exploration_left(self.steps, s.exploration_steps)
        if self.steps // s.target_every > before // s.target_every:
            self.target = self.theta.copy()
        return metrics(g, sums, self.theta)

    def state(self) -> Arrays:
        """Return Q, its older copy, the optimiser's state and the count of steps."""
        own = {"theta": self.theta, "target": self.target, "steps": np.array([self.steps])}
        return own | named(OPTIMISER, self.optimiser_state)

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        self.theta, self.target, self.steps = arrays["theta"], arrays["target"], int(arrays["steps"][0])
        self.optimiser_state = part_of(OPTIMISER, arrays)


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
        )
    }
