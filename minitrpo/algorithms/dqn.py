"""DQN with replay, and sample-parallel: actors add transitions, minibatches of them move Q towards one-step targets."""

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
from minitrpo.algorithms.off_policy import OffPolicy, ReplaySettings
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning import q_gradient_sums
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.policies import Array, Policy


@dataclass(frozen=True)
class DQNSettings(ReplaySettings, ExplorationSettings):
    """What DQN can be told beside what every method with a memory can."""

    huber: float = option(1e6, "errors count linearly beyond this", "Mnih et al. 2015: 1", above=0)


class DQN:
    """Q, its memory, and how far exploration has gone."""

    Settings = DQNSettings
    columns = ("td_loss", "mean_q", "exploration", "updates")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    assists_with = ("segments",)
    design = Design(
        "every n steps", "barrier", "samples", "root or all", "replay, shared or sharded", "Mnih et al. 2015"
    )
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "16 steps of 4 environments, then 16 updates, towards targets that look 8 steps ahead",
            {"requests": "segments", "num_envs": 4, "steps_per_update": 64, "filter": "none", "total_steps": 100_000}
            | {"n_step": 8, "batch": 128, "replay_ratio": 0.25, "replay_size": 20_000, "exploration_steps": 10_000}
            | {"record_every": 10, "checkpoint_every": "30s"},
        ),
    }

    def __init__(self, settings: DQNSettings, context: Context) -> None:
        self.settings, self.policy = settings, cast(EpsilonGreedy, context.policy)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.core = OffPolicy(settings, context, 0, self.theta[:-1], self._gradient_sums)

    @staticmethod
    def make_policy(settings: DQNSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def plan(self) -> Plan:
        """Return the network that acts."""
        return Plan(self.theta)

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the transitions."""
        return self.core.remember(fragment)

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Keep everybody's transitions and make the updates that are due."""
        before = self.core.updates
        loss, q = np.broadcast_to(self.core.learn(batch, rng), 2).tolist()
        left = exploration_left(self.core.steps, self.settings.exploration_steps)
        self.theta = np.append(self.core.theta, left)
        return {"td_loss": loss, "mean_q": q, "exploration": left, "updates": self.core.updates - before}

    def assist(self, plan: Plan, rng: np.random.Generator) -> None:
        """Make the same updates from this rank's shards."""
        self.core.assist(rng)

    def state(self) -> Arrays:
        """Return who acts, the network, the memory."""
        return {"theta": self.theta, **self.core.state()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        self.theta = arrays["theta"]
        self.core.restore(arrays)

    def _gradient_sums(self, theta: Array, target: Array, rows: Arrays, weights: Array) -> tuple[Array, Array]:
        s = self.settings
        return q_gradient_sums(theta, target, self.policy.sizes, rows, weights, s.huber)
