"""Lecture 11a: the asynchronous advantage actor critic: every worker at its own pace.

Each worker, until the work is over (parallel/parameter_server.py: work_through),

    1. pulls theta ...................................... parallel/parameter_server.py: ParameterServer.pull
    2. plays t_max steps of its environments ............ experience/rollouts.py: Rollouts.advance
    3. R_t = r_t + gamma R_{t+1}, from V or 0 at a cut .. algorithms/actor_critic/loss.py: bootstrapped_returns
    4. grad log pi (R - V) + c grad H, and grad (R - V)^2 algorithms/actor_critic/loss.py: loss_gradient
    5. pushes the gradient, however old by now .......... parallel/parameter_server.py: ParameterServer.push
    6. a step of the shared optimiser, where theta is ... algorithms/asynchronous_algorithm.py: descend

Source: Mnih et al. 2016, algorithm S3.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minitrpo.algorithms.actor_critic.loss import (
    BY_ENV,
    LONGER,
    ActorCriticMember,
    ActorCriticSettings,
    Steps,
    actor_critic_gradient,
)
from minitrpo.algorithms.algorithm import Arrays, Preset
from minitrpo.algorithms.asynchronous_algorithm import (
    OPTIMISER,
    AsynchronousAlgorithm,
    AsynchronousSettings,
    Moment,
    descend,
)
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import in_place


@dataclass(frozen=True)
class A3CSettings(ActorCriticSettings, AsynchronousSettings):
    """What A3C can be told."""


class A3C(ActorCriticMember, AsynchronousAlgorithm):
    """Workers play t_max steps with the policy they pulled and push the gradient of the loss of both networks."""

    Settings = A3CSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "a gradient from 5 steps of each of a worker's 8 environments: gradients of one environment are noisier",
            {"envs_per_worker": 8, "steps_per_update": 2_000, "step_size": 3e-3},
            BY_ENV | {env: BY_ENV[env] | {"t_max": 8} for env in LONGER},
        ),
        "paper": Preset(
            "nearer to Mnih et al. 2016: 5 steps of one environment, a shared RMSProp, a step size that falls over the "
            "run; but two networks, the mean over the steps where theirs is the sum, gradients shortened to 0.5 each",
            {"t_max": 5, "steps_per_update": 2_000, "optimiser": "rmsprop", "anneal": "step-size"},
        ),
    }

    def gradient(
        self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Return the gradient of the loss at the pulled theta."""
        gradient, metrics = actor_critic_gradient(self.model, shared["theta"], Steps.of(fragment), self.settings)
        return {"gradient": gradient}, metrics

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Step theta with the shared optimiser."""
        s = self.settings
        descend(shared, gradient["gradient"], in_place(s.optimiser), self.step_size(now.env_steps), OPTIMISER)
