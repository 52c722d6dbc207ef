"""DQN with replay, and sample-parallel: actors add transitions, minibatches of them move Q towards n-step targets."""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from minitrpo.algorithms.epsilon_greedy import (
    EpsilonGreedy,
    ExplorationSettings,
    epsilon_greedy_policy,
)
from minitrpo.algorithms.interface import Arrays, Context, Design, Preset
from minitrpo.algorithms.off_policy import LearnsFromMemory, ReplaySettings
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning import q_gradient_sums
from minitrpo.policies import Array, Policy


@dataclass(frozen=True)
class DQNSettings(ReplaySettings, ExplorationSettings):
    """What DQN can be told beside what every method with a memory can."""

    huber: float = option(1e6, "errors count linearly beyond this", "Mnih et al. 2015: 1", above=0)


class DQN(LearnsFromMemory):
    """Q, its memory, and how far exploration has gone."""

    Settings = DQNSettings
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
        super().__init__(settings, context, 0, self._gradient_sums, settings.exploration_steps)

    @staticmethod
    def make_policy(settings: DQNSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def _gradient_sums(self, theta: Array, target: Array, rows: Arrays, weights: Array) -> tuple[Array, Array]:
        s = self.settings
        return q_gradient_sums(theta, target, self.policy.sizes, rows, weights, s.huber)
