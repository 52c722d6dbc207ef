"""Lecture 13: Gorila, many actors and learners with memories of their own, a server of parameters (Nair et al. 2015).

A worker is a bundle of an actor, a replay memory and a learner: it pulls theta, acts, remembers, draws a minibatch of
what it has seen itself, and pushes the gradient. The server refuses what it should not trust: gradients that are too
old (`--max-staleness`), and those whose loss lies far outside of what is usual.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.asynchronous import AsynchronousSettings, Moment, descend
from minitrpo.algorithms.epsilon_greedy import (
    EpsilonGreedy,
    ExplorationSettings,
    epsilon_greedy_policy,
    exploration_left,
)
from minitrpo.algorithms.interface import Arrays, Context, Design, Preset
from minitrpo.algorithms.off_policy import MemorySettings
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning import q_gradient_sums
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.replay import Replay, draw, multi_step
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.policies import Array, Policy

OPTIMISER = "optimiser_"  # how its arrays are called among the shared ones

# --- the formula: what is far from usual


def judged(
    statistics: Array, loss: float, deviations: float, memory: float = 0.99, trial: int = 100
) -> tuple[bool, Array]:
    """Return whether a loss is usual, and the new statistics, with the loss taken in.

    statistics: (count, mean, variance) of the losses before. Usual: at most mean + deviations * standard deviation; and
    any finite loss while count < trial. Of a loss that is too large the statistics take in only the largest that would
    have been usual: should losses rise for good, they get used to it. NaN and infinity are refused and not taken in.
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


def usual(statistics: Array, loss: float, deviations: float) -> bool:
    """Return whether a loss is usual; the statistics (3,) take it in, in place: see `judged`."""
    verdict, statistics[:] = judged(statistics, loss, deviations)
    return verdict


# --- the algorithm


@dataclass(frozen=True)
class GorilaSettings(MemorySettings, ExplorationSettings, AsynchronousSettings):
    """What Gorila can be told."""

    optimiser: str = option("adam", "the server's", "Nair et al. 2015: adagrad", ("adam", "rmsprop", "sgd"))
    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    outlier: float = option(
        1e6, "a gradient is refused if its loss is above the running mean by so many standard deviations", above=0
    )


class GorilaDQN:
    """Bundles that learn from their own memories, and what the server makes of their gradients."""

    Settings = GorilaSettings
    columns = ("td_loss", "mean_q", "exploration")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    pulled = ("theta", "target")
    design = Design(
        "every n steps",
        "asynchronous",
        "gradients",
        "shared memory or server",
        "replay of each worker",
        "Nair et al. 2015",
    )
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "each bundle takes 8 steps and pushes a gradient towards targets that look 8 steps ahead",
            {"t_max": 8, "envs_per_worker": 1, "max_staleness": 20, "outlier": 5.0}
            | {"n_step": 8, "batch": 128, "replay_size": 20_000, "exploration_steps": 10_000, "total_steps": 100_000}
            | {"steps_per_update": 1_000, "checkpoint_every": "30s"},
        ),
    }

    def __init__(self, settings: GorilaSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.policy = cast(EpsilonGreedy, context.policy)
        self.replay = Replay(1, settings.replay_size, self.policy.observation_size, 0)

    @staticmethod
    def make_policy(settings: GorilaSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def state(self) -> Arrays:
        """Return what the server keeps: Q, its older copy and which it is, the optimiser, the statistics of losses."""
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY)).astype(np.float32)
        own: Arrays = {"theta": theta, "target": theta.copy(), "updates": np.zeros(1, np.int64), "losses": np.zeros(3)}
        memory = initial_state(self.settings.optimiser, len(theta), np.float32)
        return own | {OPTIMISER + name: array for name, array in memory.items()}

    def gradient(
        self, shared: Arrays, fragment: Episodes, now: Moment, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Remember what was seen; return the mean gradient of a minibatch and its loss, nothing while warming up."""
        s, theta, target = self.settings, shared["theta"], shared["target"]
        self.replay.add(0, multi_step(fragment, s.n_step, s.discount))
        left = {"exploration": float(theta[-1])}
        if self.replay.added[0] <= s.warm_up:
            return {}, {"td_loss": np.nan, "mean_q": np.nan, **left}
        drawn = draw(rng, s.batch, self.replay.sizes)
        rows = self.replay.take(drawn)
        g, sums = q_gradient_sums(theta[:-1], target[:-1], self.policy.sizes, rows, drawn.weights, s.huber)
        loss, q = (sums[0] / s.batch).tolist()
        clipped = clipped_norm(g[0] / s.batch, s.gradient_clip)
        arrays = {"gradient": np.append(clipped, np.float32(0.0)), "loss": np.array([loss])}
        return arrays, {"td_loss": loss, "mean_q": q, **left}

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> bool:
        """Take one step, unless the loss is an outlier; renew theta- every so many steps of the server."""
        s, theta = self.settings, shared["theta"]
        if not usual(shared["losses"], float(gradient["loss"][0]), s.outlier):
            return False
        descend(shared, gradient["gradient"], OPTIMISERS[s.optimiser], s.step_size, OPTIMISER)
        theta[-1] = exploration_left(now.env_steps, s.exploration_steps)
        shared["updates"] += 1
        if shared["updates"][0] % s.target_every == 0:
            shared["target"][:] = theta
        return True

    def memory(self) -> Arrays:
        """Return this bundle's memory, not copied."""
        return self.replay.state()

    def remember(self, arrays: Arrays) -> None:
        """Take over what `memory` returned."""
        self.replay.restore(arrays)
