"""Lecture 11a: the synchronous advantage actor-critic: all environments take t_max steps, then one step of theta.

    1. t_max steps of every environment, on all ranks ... experience/rollouts.py: Rollouts.advance
    2. the samples travel to the root, or 4's sums do ... algorithms/actor_critic/a2c.py: A2C.digest
    3. R_t = r_t + gamma R_{t+1}, from V or 0 at a cut .. algorithms/actor_critic/loss.py: bootstrapped_returns
    4. grad log pi (R - V) + c grad H, and grad (R - V)^2 algorithms/actor_critic/loss.py: loss_gradient
    5. one step of the optimiser ........................ algorithms/actor_critic/a2c.py: A2C.learn

As typed samples travel: the root learns from 5 steps of 16 environments in less time than it would take to add up 16
gradients of ten thousand numbers each. With `--travels gradients` the rank that played a fragment sends the sum of its
gradients; the root adds all sums in the order of the environments and shortens the result, once. Each has the same bits
on any number of ranks; the two agree up to rounding.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.actor_critic.loss import (
    BY_ENV,
    LONGER,
    ActorCriticMember,
    ActorCriticSettings,
    Steps,
    actor_critic_gradient,
    gradient_sums,
    pooled_gradient,
)
from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan, Preset
from minitrpo.algorithms.options import option
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array

SEGMENTS = {"requests": "segments", "num_envs": 16}


@dataclass(frozen=True)
class A2CSettings(ActorCriticSettings):
    """What the synchronous ones can be told."""

    travels: str = option(
        "samples", "what ranks send: their samples, or sums of their gradients; the same up to rounding", "",
        ("samples", "gradients"),
    )  # fmt: skip


class A2C(ActorCriticMember, Algorithm):
    """Every update is one step of the actor-critic loss over num_envs x t_max steps; t_max by --steps-per-update."""

    Settings = A2CSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "5 steps of 16 environments an update",
            {**SEGMENTS, "steps_per_update": 80, "record_every": 50, "step_size": 5e-3},
            BY_ENV | {env: BY_ENV[env] | {"steps_per_update": 128} for env in LONGER},
        )
    }

    theta: Array
    optimiser: Arrays
    env_steps: int

    def __init__(self, settings: A2CSettings, context: Context) -> None:
        super().__init__(settings, context)
        self.restore({**super().state(), "env_steps": np.zeros(1, np.int64)})

    def plan(self) -> Plan:
        """Return the policy that is to play."""
        return Plan(self.theta)

    def digest(self, plan: Plan, fragment: Fragments) -> Arrays:
        """Return the samples, or the sums of their gradients."""
        steps = Steps.of(fragment)
        if self.settings.travels == "samples":
            return vars(steps)
        return {"sums": gradient_sums(self.model, plan.theta, steps, self.settings)[None]}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step down the loss of everybody's samples."""
        s = self.settings
        if s.travels == "samples":
            gradient, metrics = actor_critic_gradient(self.model, self.theta, Steps(**batch), s)
            steps = len(batch["rewards"])
        else:
            gradient, metrics, steps = pooled_gradient(self.model, batch["sums"], s)
        self.optimiser, step = OPTIMISERS[s.optimiser](self.optimiser, gradient, self.step_size(self.env_steps))
        self.theta = self.theta - step
        self.env_steps += steps
        return metrics

    def state(self) -> Nested:
        """Return theta, the optimiser's arrays, and the steps by which the step size falls."""
        return {"theta": self.theta, "optimiser": self.optimiser, "env_steps": np.array([self.env_steps])}

    def restore(self, arrays: Nested) -> None:
        """Take over what `state` returned."""
        self.theta, self.optimiser = arrays["theta"], arrays["optimiser"]
        self.env_steps = int(arrays["env_steps"][0])


class OnlineActorCritic(A2C):
    """The same with t_max = 1: an update after every step of the environments.

    Unlike the book's: 16 environments, Adam, an entropy term, and no factor gamma^t at the t-th step of an episode.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "one step of 16 environments an update",
            {**SEGMENTS, "steps_per_update": 16, "record_every": 250, "step_size": 2e-3},
            BY_ENV,
        )
    }
