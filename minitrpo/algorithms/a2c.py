"""Lecture 11: the synchronous advantage actor-critic: all environments take t_max steps, then one step of theta.

Samples travel, not gradients: the root learns from 5 steps of 16 environments in less time than it would take to add
up 16 gradients of ten thousand numbers each. Samples are also why the bits do not depend on the ranks.
"""

from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.accepted import accepted
from minitrpo.algorithms.actor_critic import (
    BY_ENV,
    LOGGED,
    OPTIMISER,
    ActorCritic,
    ActorCriticSettings,
    Steps,
    actor_critic_gradient,
)
from minitrpo.algorithms.interface import Arrays, Context, Design, Plan, Preset
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.policies import Policy

SEGMENTS = {"requests": "segments", "num_envs": 16}


class A2C:
    """Every update is one step of the actor-critic loss over num_envs x t_max steps; t_max by --steps-per-update."""

    Settings = ActorCriticSettings
    columns = LOGGED
    chart, chart_label = ("entropy",), "entropy (nats)"
    design = Design("every n steps", "barrier", "samples", "root", "on-policy", "Mnih et al. 2016, with a barrier")
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "5 steps of 16 environments an update",
            {**SEGMENTS, "steps_per_update": 80, "record_every": 50, "step_size": 5e-3},
            BY_ENV,
        ),
    }

    def __init__(self, settings: ActorCriticSettings, context: Context) -> None:
        self.settings = settings
        self.model: Any = context.policy
        self.theta = self.model.initialise(context.generator(Purpose.POLICY))
        self.optimiser = initial_state(settings.optimiser, len(self.theta))
        self.env_steps = 0

    @staticmethod
    def make_policy(settings: ActorCriticSettings, policy: Policy) -> ActorCritic:
        """Return the policy with a value function beside it in theta."""
        return ActorCritic(policy)

    def plan(self) -> Plan:
        """Return the policy that is to play."""
        return Plan(self.theta)

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the samples."""
        return {
            "observations": fragment.observations,
            "actions": fragment.actions,
            "rewards": fragment.rewards,
            "last": fragment.last,
            "terminated": fragment.terminated_steps,
            "final_observations": fragment.final_observations,
        }

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step down the loss of everybody's samples."""
        s = self.settings
        gradient, told = actor_critic_gradient(self.model, self.theta, Steps(**batch), s)
        step_size = s.step_size_at(self.env_steps)
        self.optimiser, step = OPTIMISERS[s.optimiser](self.optimiser, gradient, step_size)
        self.theta = self.theta - step
        self.env_steps += len(batch["rewards"])
        return told

    def state(self) -> Arrays:
        """Return theta, the optimiser's arrays, and the steps by which the step size falls."""
        optimiser = {OPTIMISER + name: array for name, array in self.optimiser.items()}
        return {"theta": self.theta, "env_steps": np.array([self.env_steps]), **optimiser}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        optimiser = accepted(arrays, self.optimiser, OPTIMISER)
        self.theta, self.env_steps, self.optimiser = arrays["theta"], int(arrays["env_steps"][0]), optimiser


class OnlineActorCritic(A2C):
    """The same with t_max = 1: an update after every step of the environments."""

    design = Design("every step", "barrier", "samples", "root", "on-policy", "Sutton & Barto 2018, section 13.5")
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "one step of 16 environments an update",
            {**SEGMENTS, "steps_per_update": 16, "record_every": 250, "step_size": 2e-3},
            BY_ENV,
        ),
    }
