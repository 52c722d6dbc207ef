"""Lecture 11b: one-step Q, Sarsa and n-step Q without a barrier: gradients of what was pulled, applied as they come.

Each worker, until the work is over (parallel/parameter_server.py: work_through),

    1. pulls theta and theta- .......................... parallel/parameter_server.py: ParameterServer.pull
    2. steps epsilon-greedily, t_max times ............. algorithms/q_learning/epsilon_greedy.py: epsilon_greedy
    3. y by theta-, gradient of 1/2 (Q(s, a) - y)^2 .... algorithms/q_learning/n_step_q.py: fragment_gradient
    4. pushes the gradient ............................. parallel/parameter_server.py: ParameterServer.push
    5. a step of the shared optimiser .................. algorithms/asynchronous.py: descend
    6. theta- = theta every I steps of all workers ..... algorithms/q_learning/async_q.py: AsynchronousNStepQ.apply

Source: Mnih et al. 2016, algorithms 1, S1 and S2.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Context, Preset
from minitrpo.algorithms.asynchronous import AsynchronousAlgorithm, AsynchronousSettings, Moment, descend
from minitrpo.algorithms.q_learning.epsilon_greedy import EpsilonGreedy, epsilon_greedy_policy, exploration_left
from minitrpo.algorithms.q_learning.n_step_q import (
    COLUMNS,
    OPTIMISER,
    QSettings,
    fragment_gradient,
    mean_gradient,
    metrics,
)
from minitrpo.algorithms.q_learning.targets import n_step_q, one_step_q, sarsa_one_step
from minitrpo.experience.fragments import Fragments
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import in_place, initial_state
from minitrpo.policies import Policy


@dataclass(frozen=True)
class AsynchronousQSettings(QSettings, AsynchronousSettings):
    """What the asynchronous forms can be told."""


class AsynchronousNStepQ(AsynchronousAlgorithm):
    """n-step Q-learning without a barrier: gradients of what a worker pulled are applied as they come."""

    Settings = AsynchronousQSettings
    targets = staticmethod(n_step_q)
    columns = COLUMNS
    pulled = ("theta", "target")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    actions = ("Discrete",)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments",
            {"t_max": 16, "envs_per_worker": 8},
            {"CartPole-v1": {"total_steps": 500_000, "anneal": "step-size"}},
        )
    }

    def __init__(self, settings: AsynchronousQSettings, context: Context) -> None:
        self.settings, self.context, self.step_size = settings, context, settings.step_size_in(context)
        self.policy = cast(EpsilonGreedy, context.policy)

    @staticmethod
    def make_policy(settings: AsynchronousQSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def state(self) -> Arrays:
        """Return what all workers share: Q, its older copy and of when it is, the optimiser's arrays."""
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        own = {"theta": theta, "target": theta.copy(), "renewed": np.zeros(1, np.int64)}
        optimiser = initial_state(self.settings.optimiser, len(theta))
        return own | {OPTIMISER + name: array for name, array in optimiser.items()}

    def gradient(
        self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Return the mean gradient at the pulled theta."""
        s = self.settings
        g, sums = fragment_gradient(self.policy, shared["theta"], shared["target"], fragment, self.targets, s)
        g = mean_gradient(g, sums, s.gradient_clip)
        return {"gradient": g}, metrics(g, sums, shared["theta"])

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Take one step, and renew theta- if it is due by the steps of all workers."""
        s, theta = self.settings, shared["theta"]
        descend(shared, gradient["gradient"], in_place(s.optimiser), self.step_size(now.env_steps), OPTIMISER)
        if self.context.holds_last:
            theta[-1] = exploration_left(now.env_steps, s.exploration_steps)
        if now.env_steps // s.target_every > shared["renewed"][0] // s.target_every:
            shared["target"][:], shared["renewed"][:] = theta, now.env_steps


class AsynchronousOneStepQ(AsynchronousNStepQ):
    """One-step Q-learning without a barrier."""

    targets = staticmethod(one_step_q)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments; one step ahead, news travels slowly",
            {"t_max": 16, "envs_per_worker": 8, "final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000, "anneal": "step-size", "step_size": 3e-3}},
        )
    }


class AsynchronousSarsa(AsynchronousNStepQ):
    """One-step Sarsa without a barrier."""

    targets = staticmethod(sarsa_one_step)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments; one step ahead, news travels slowly",
            {"t_max": 16, "envs_per_worker": 8, "final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000}},  # both found on seeds 100 and 101
        )
    }
