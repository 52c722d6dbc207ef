"""DQN, sample-parallel: actors add transitions to a replay buffer, minibatches of them move Q towards n-step targets.

    1. act epsilon-greedily, epsilon falls .................. algorithms/q_learning.py: epsilon_greedy
    2. keep (s, a, r, s') in the replay buffer .............. experience/replay_buffer.py: ReplayBuffer.add
    3. draw a minibatch uniformly ........................... experience/replay_buffer.py: draw
    4. y = r + gamma max_a Q(s', a; theta-), 0 at the end ... algorithms/q_learning.py: one_step_q_targets
    5. a step down grad 1/2 (Q(s, a; theta) - y)^2 .......... algorithms/q_learning.py: q_gradient_sums
    6. every C updates theta- = theta ..................... algorithms/off_policy/replay_learner.py: ReplayLearner.step

Source: Mnih et al. 2015, algorithm 1. As typed with Adam, targets that look 8 steps ahead, and errors as they are.
`--preset paper` has the numbers of its extended data table 1, Graves' centred RMSProp, targets of one step, and errors
that count linearly beyond 1. What still differs from the paper:
- vectors are observed, by perceptrons of tanh units: no pictures, so none is skipped or stacked;
- rewards are learned from as they are, and not clipped to -1, 0 and 1;
- four environments take a step each between two updates, where the paper's one takes four;
- epsilon falls from the first step on, the warm-up of 50,000 being part of the million;
- an episode begins with the environment's own first state, without up to 30 idle steps;
- the run is of 2 million steps, not 50: `--total-steps 50e6` is the paper's.
"""

from dataclasses import dataclass
from typing import ClassVar

from minitrpo.algorithms.algorithm import Preset
from minitrpo.algorithms.off_policy.replay_learner import ReplayLearner, ReplaySettings
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning import DeepQ, ExplorationSettings


@dataclass(frozen=True)
class DQNSettings(ReplaySettings, ExplorationSettings):
    """Settings of DQN, with those of every method with a replay buffer."""

    huber: float = option(1e6, "errors count linearly beyond this", "Mnih et al. 2015: 1", above=0)


class DQN(DeepQ, ReplayLearner):
    """The rounds of a replay learner with a Q of every action; `DeepQ` says who acts, and the gradient."""

    Settings = DQNSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "16 steps of 4 environments, then 16 updates, towards targets that look 8 steps ahead",
            {"requests": "segments", "num_envs": 4, "steps_per_update": 64, "filter": "none", "total_steps": 100_000}
            | {"n_step": 8, "batch": 128, "replay_ratio": 0.25, "replay_size": 20_000, "exploration_steps": 10_000}
            | {"record_every": 10, "checkpoint_every": "30s"},
        ),
        "paper": Preset(
            "as Mnih et al. 2015 ran it, on vectors: the module's first lines say what differs",
            {"requests": "segments", "num_envs": 4, "steps_per_update": 4, "filter": "none", "total_steps": 2_000_000}
            | {"n_step": 1, "batch": 32, "replay_ratio": 0.25, "replay_size": 1_000_000, "warm_up": 50_000}
            | {"exploration_steps": 1_000_000, "final_epsilons": "0.1", "discount": 0.99, "target_every": 10_000}
            | {"optimiser": "rmsprop-centred", "step_size": 2.5e-4, "huber": 1.0, "gradient_clip": 1e6}
            | {"record_every": 500, "checkpoint_every": "30s"},
        ),
    }
