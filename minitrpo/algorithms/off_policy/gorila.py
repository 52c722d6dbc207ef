"""Lecture 10: Gorila: bundles of an actor, a replay buffer and a learner, and a server of parameters.

    1. pull theta and theta- ........................... parallel/parameter_server.py: ParameterServer.pull
    2. act epsilon-greedily ............................ algorithms/q_learning.py: epsilon_greedy
    3. remember, draw of what is remembered ............ algorithms/off_policy/distributed_replay.py: Bundles.gradient
    4. y by theta-, push grad 1/2 (Q(s, a) - y)^2 ...... algorithms/off_policy/distributed_replay.py: Bundles.descent_of
    5. too old, or far from usual: refused ............. algorithms/off_policy/gorila.py: judged
    6. else a step of theta; theta- = theta every C .... algorithms/off_policy/distributed_replay.py: Bundles.apply

The server refuses what it should not trust: gradients that are too old (`--max-staleness`), and those whose loss lies
far outside of what is usual. With `--transport server` rank 0 is the parameter server, and with `--learners` the
learners are processes of their own. Source: Nair et al. 2015, algorithm 1; there a learner tests its own losses, here
the server tests those of all, and the parameters of a large network are split over several servers, here one has all.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Preset
from minitrpo.algorithms.asynchronous_algorithm import Moment
from minitrpo.algorithms.off_policy.distributed_replay import Bundles, BundleSettings
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning import DeepQ, ExplorationSettings
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array

# --- the formula: what is far from usual


def judged(
    statistics: Array, loss: float, deviations: float, memory: float = 0.99, trial: int = 100
) -> tuple[bool, Array]:
    """Return whether a loss is usual, and the new statistics, with the loss taken in.

    statistics: (count, mean, variance) of the losses before. Usual: at most mean + deviations * standard deviation; and
    any finite loss while count < trial. Of a loss that is too large the statistics take in only the largest value that
    would have been usual, so they get used to losses that rise for good. NaN and infinity are refused and not taken in.
    memory: the fraction of the old mean that a new loss leaves, in the long run.
    """
    # 1. NaN, infinity: not usual, and a copy of the statistics as they were
    if not np.isfinite(loss):
        return False, statistics.copy()
    count, mean, variance = statistics.tolist()
    # 2. the largest loss that is usual (none is too large while count < trial), and what is taken in: at most that
    largest = mean + deviations * np.sqrt(variance) if count >= trial else np.inf
    taken = min(loss, largest)
    # 3. how far mean and variance move: 1 / (count + 1), an average of all; later 1 - memory, if that is more
    rate = max(1.0 / (count + 1.0), 1.0 - memory)
    # 4. with d = taken - mean: count + 1, mean + rate d, (1 - rate) (variance + rate d^2)
    apart = taken - mean
    new = [count + 1.0, mean + rate * apart, (1.0 - rate) * (variance + rate * apart * apart)]
    return bool(loss <= largest), np.array(new)


# --- the algorithm


@dataclass(frozen=True)
class GorilaSettings(BundleSettings, ExplorationSettings):
    """Settings of Gorila."""

    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    outlier: float = option(
        1e6, "a gradient is refused if its loss is this many standard deviations above the running mean", above=0
    )


class GorilaDQN(DeepQ, Bundles):
    """Bundles that learn Q, and what the server makes of their gradients."""

    Settings = GorilaSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "each bundle takes 8 steps and pushes a gradient towards targets that look 8 steps ahead",
            {"t_max": 8, "envs_per_worker": 1, "max_staleness": 20, "outlier": 5.0, "filter": "none"}
            | {"n_step": 8, "batch": 128, "replay_size": 20_000, "exploration_steps": 10_000, "total_steps": 100_000}
            | {"steps_per_update": 1_000, "checkpoint_every": "30s"},
        ),
        "paper": Preset(
            "as Nair et al. 2015 ran it, except for smaller replay and network and no skipped frames; the "
            "step size and both limits are not the paper's, which tuned them",
            {"t_max": 4, "envs_per_worker": 1, "max_staleness": 100, "outlier": 5.0, "filter": "none", "n_step": 1}
            | {"batch": 32, "huber": 1.0, "optimiser": "adagrad", "step_size": 0.01, "target_every": 60_000}
            | {"replay_size": 1_000_000, "warm_up": 50_000, "exploration_steps": 4_000_000, "final_epsilons": "0.1"}
            | {"gradient_clip": 1e6, "total_steps": 20_000_000, "steps_per_update": 10_000, "checkpoint_every": "30s"},
        ),
    }

    def state(self) -> Nested:
        return super().state() | {"losses": np.zeros(3)}

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> bool:
        loss, losses = float(gradient["loss"][0]), shared["losses"]
        usual, losses[:] = judged(losses, loss, self.settings.outlier)
        return usual and super().apply(shared, gradient, now)
