"""Lecture 11: the asynchronous advantage actor-critic, A3C (Mnih et al. 2016)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.actor_critic import ActorCritic, Losses, Steps, actor_critic_gradient
from minitrpo.algorithms.asynchronous import Arrays, AsynchronousSettings, Moment, descend
from minitrpo.algorithms.interface import Context, Preset
from minitrpo.algorithms.options import option
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.policies import Policy

OPTIMISER = "optimiser_"  # how its arrays are called among the shared ones


@dataclass(frozen=True)
class A3CSettings(AsynchronousSettings):
    """What A3C can be told."""

    step_size: float = option(1e-3, "of the optimiser", "", above=0, most=1e3)
    optimiser: str = option("adam", "shared by all workers", "Mnih et al. 2016: rmsprop", tuple(OPTIMISERS))
    discount: float = option(0.99, "discount per step (gamma)", "Mnih et al. 2016", above=0, most=1)
    entropy_weight: float = option(0.01, "how much entropy is worth, per nat", "Mnih et al. 2016", least=0, most=1e3)
    value_weight: float = option(0.5, "weight of the value function's error", "baselines: 0.5", above=0, most=1e3)
    max_gradient_norm: float = option(
        0.5, "longer gradients are shortened to it, policy and value each", "baselines: 0.5", above=0
    )


class A3C:
    """Workers play t_max steps with the policy they pulled and push the gradient of their actor-critic loss."""

    Settings = A3CSettings
    columns = ("entropy", "value_loss", "value", "gradient_norm")
    chart, chart_label = ("entropy",), "entropy (nats)"
    presets: ClassVar[dict[str, Preset]] = {"default": Preset("small", {"steps_per_update": 2_000})}

    def __init__(self, settings: A3CSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.model: Any = context.policy
        s = settings
        self.losses = Losses(s.discount, s.entropy_weight, s.value_weight, s.max_gradient_norm)

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
        g, told = actor_critic_gradient(self.model, shared["theta"], steps, self.losses)
        return {"gradient": g}, told | {"gradient_norm": float(np.sqrt(g @ g))}

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Step theta with the shared optimiser."""
        optimiser = OPTIMISERS[self.settings.optimiser]
        descend(shared, gradient["gradient"], optimiser, self.settings.step_size, OPTIMISER)
