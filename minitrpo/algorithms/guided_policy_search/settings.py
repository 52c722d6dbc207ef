"""What guided policy search can be told: its settings with their sources, and the presets."""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms.algorithm import Preset
from minitrpo.algorithms.options import option
from minitrpo.errors import BadInput
from minitrpo.policies import Array


@dataclass(frozen=True)
class GuidedPolicySearchSettings:
    """What guided policy search can be told."""

    samples: int = option(8, "episodes from every first state per update", "Finn's gps: 5", least=2, most=10_000)
    horizon: int = option(
        100,
        "steps that a local controller plans for, at most; what an episode has beyond is not learned from",
        least=1,
        most=10_000,
    )
    local_kl: float = option(
        1.0,
        "how far a local controller may be from the policy, nats per step, before the limit adapts",
        "Finn's gps: 1",
        above=0,
        most=1e3,
    )
    prior_strength: float = option(
        1.0, "as how many samples the pooled prior of a local model counts", "", above=0, most=1e6
    )
    state_cost: str = option(
        "", "cost of a state: weights of its squared numbers, with commas; nothing: estimated from the rewards"
    )
    cost_network: int = option(
        0,
        "Gauss-Newton steps per update of a network that is fitted to all rewards and is the cost; 0: a convex "
        "quadratic for each first state",
        least=0,
        most=10_000,
    )
    control_cost: float = option(0.1, "with --state-cost: weight of the squared actions", above=0, most=1e6)
    imitation_rounds: int = option(10, "Gauss-Newton steps of the policy per update", least=1)
    cg_iterations: int = option(30, "conjugate-gradient iterations per Gauss-Newton step", least=1)
    least_std: float = option(
        0.05, "standard deviation that the policy's noise keeps: without it nothing can be fitted", above=0, most=100
    )

    def check(self) -> None:
        """Raise BadInput for weights that are none, and for two costs."""
        if self.state_cost:
            if self.cost_network:
                raise BadInput(f"--state-cost {self.state_cost} is the cost: leave out --cost-network, which fits one")
            try:
                weights = self.state_weights
            except ValueError:
                weights = np.array([-1.0])
            if not (np.all(np.isfinite(weights)) and np.all(weights >= 0) and np.any(weights > 0)):
                raise BadInput(f"--state-cost must be weights of 0 or more, such as 1,10,0.1, not {self.state_cost!r}")

    def idle(self) -> dict[str, str]:
        """Return the settings that nothing listens to, and why."""
        idle = {"steps_per_update": "guided policy search: --samples says how many episodes an update has"}
        return idle | ({} if self.state_cost else {"control_cost": "a cost that is estimated from the rewards"})

    @property
    def state_weights(self) -> Array:
        """Return the weights of the squared numbers of a state."""
        return np.array([float(weight) for weight in self.state_cost.split(",")])


PRESETS = {
    "default": Preset(
        "four first states, new ones in every update, so that returns are of states it has not yet learned from; "
        "observations as they are: a filter that moves would move the policy between two updates; by environment: "
        "32 first states and a network for the cost of Reacher-v5, a cost for InvertedPendulum-v5",
        {"first_states": 4, "renew_first_states": 1, "filter": "none", "initial_log_std": -1.0, "total_steps": 200_000},
        {
            # its reward is 1 as long as the pole stands: nothing to fit a cost to
            "InvertedPendulum-v5": {"state_cost": "1,10,0.1,0.1", "control_cost": 0.1},
            "Reacher-v5": {"first_states": 32, "samples": 3, "horizon": 50, "cost_network": 5, "total_steps": 96_000},
            "minitrpo.course.linear_quadratic:LinearQuadratic-v0": {"horizon": 50, "total_steps": 16_000},
        },
    )
}
