"""Lecture 11: the asynchronous advantage actor critic (Mnih et al. 2016): every worker at its own pace."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.actor_critic import (
    BY_ENV,
    LOGGED,
    OPTIMISER,
    ActorCritic,
    ActorCriticSettings,
    Steps,
    actor_critic_gradient,
)
from minitrpo.algorithms.asynchronous import Arrays, AsynchronousSettings, Moment, descend
from minitrpo.algorithms.interface import Context, Design, Preset
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.policies import Policy


@dataclass(frozen=True)
class A3CSettings(ActorCriticSettings, AsynchronousSettings):
    """What A3C can be told."""


class A3C:
    """Workers play t_max steps with the policy they pulled and push the gradient of the loss of both networks."""

    Settings = A3CSettings
    columns = LOGGED
    chart, chart_label = ("entropy",), "entropy (nats)"
    design = Design(
        "every n steps", "asynchronous", "gradients", "shared memory or server", "on-policy, late", "Mnih et al. 2016"
    )
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "a gradient from 5 steps of each of a worker's 8 environments: gradients of one environment are noisier",
            {"envs_per_worker": 8, "steps_per_update": 2_000, "step_size": 3e-3},
            BY_ENV,
        ),
        "paper": Preset(
            "as Mnih et al. 2016 ran it: a gradient from 5 steps of one environment, a shared RMSProp",
            {"t_max": 5, "steps_per_update": 2_000, "optimiser": "rmsprop"},
        ),
    }

    def __init__(self, settings: A3CSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.model: Any = context.policy

    @staticmethod
    def make_policy(settings: A3CSettings, policy: Policy) -> ActorCritic:
        """Return the policy with a value function beside it in theta."""
        return ActorCritic(policy)

    def state(self) -> Arrays:
        """Return what all workers share: theta and the optimiser's arrays."""
        theta = self.model.initialise(self.context.generator(Purpose.POLICY))
        optimiser = initial_state(self.settings.optimiser, len(theta))
        return {"theta": theta} | {OPTIMISER + name: array for name, array in optimiser.items()}

    def gradient(
        self, shared: Arrays, fragment: Episodes, now: Moment, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Return the gradient of the loss at the pulled theta."""
        f = fragment
        steps = Steps(f.observations, f.actions, f.rewards, f.last, f.terminated_steps, f.final_observations)
        gradient, told = actor_critic_gradient(self.model, shared["theta"], steps, self.settings)
        return {"gradient": gradient}, told

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Step theta with the shared optimiser."""
        s = self.settings
        descend(shared, gradient["gradient"], OPTIMISERS[s.optimiser], s.step_size_at(now.env_steps), OPTIMISER)
