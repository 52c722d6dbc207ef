"""Lecture 11: one-step Q, Sarsa and n-step Q without a barrier (Mnih et al. 2016, algorithms 1, S1 and S2).

A worker's gradient is of what it pulled, and is applied when it comes. theta- is renewed, and exploration wanes, with
the steps of all workers together.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.asynchronous import AsynchronousSettings, Moment, descend
from minitrpo.algorithms.epsilon_greedy import EpsilonGreedy, epsilon_greedy_policy, exploration_left
from minitrpo.algorithms.interface import Arrays, Context, Design, Preset
from minitrpo.algorithms.online_q_learning import (
    COLUMNS,
    OPTIMISER,
    QSettings,
    fragment_gradient,
    mean_gradient,
    told,
)
from minitrpo.algorithms.q_learning import n_step_q, one_step_q, sarsa_one_step
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.policies import Policy


@dataclass(frozen=True)
class AsynchronousQSettings(QSettings, AsynchronousSettings):
    """What the asynchronous forms can be told."""


class AsynchronousNStepQ:
    """n-step Q-learning without a barrier: gradients of what a worker pulled are applied as they come."""

    Settings = AsynchronousQSettings
    targets = staticmethod(n_step_q)
    columns = COLUMNS
    pulled = ("theta", "target")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    design = Design(
        "every n steps", "asynchronous", "gradients", "shared memory or server", "on-policy, late", "Mnih et al. 2016"
    )
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments",
            {"t_max": 16, "envs_per_worker": 8},
            {"CartPole-v1": {"total_steps": 500_000, "anneal_steps": 500_000}},
        )
    }

    def __init__(self, settings: AsynchronousQSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.policy = cast(EpsilonGreedy, context.policy)

    @staticmethod
    def make_policy(settings: AsynchronousQSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def state(self) -> Arrays:
        """Return what all workers share: Q, its older copy and of when it is, the optimiser's arrays."""
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        own = {"theta": theta, "target": theta.copy(), "renewed": np.zeros(1, np.int64)}
        memory = initial_state(self.settings.optimiser, len(theta))
        return own | {OPTIMISER + name: array for name, array in memory.items()}

    def gradient(
        self, shared: Arrays, fragment: Episodes, now: Moment, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Return the mean gradient at the pulled theta."""
        s = self.settings
        g, sums = fragment_gradient(self.policy, shared["theta"], shared["target"], fragment, self.targets, s)
        g = mean_gradient(g, sums, s.gradient_clip)
        return {"gradient": g}, told(g, sums, shared["theta"])

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Take one step, and renew theta- if it is due by the steps of all workers."""
        s, theta = self.settings, shared["theta"]
        descend(shared, gradient["gradient"], OPTIMISERS[s.optimiser], s.step_size_at(now.env_steps), OPTIMISER)
        theta[-1] = exploration_left(now.env_steps, s.exploration_steps)
        if now.env_steps // s.target_every > shared["renewed"][0] // s.target_every:
            shared["target"][:], shared["renewed"][:] = theta, now.env_steps


class AsynchronousOneStepQ(AsynchronousNStepQ):
    """One-step Q-learning without a barrier."""

    targets = staticmethod(one_step_q)


class AsynchronousSarsa(AsynchronousNStepQ):
    """One-step Sarsa without a barrier."""

    targets = staticmethod(sarsa_one_step)
