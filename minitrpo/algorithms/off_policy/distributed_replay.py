"""Lecture 10: asynchronous learning from replay (Nair et al. 2015, figure 2).

Four parts work at the same time, and none waits for another:

    actor              acts with the parameters that it pulled
    replay             keeps the transitions of its actor
    learner            draws minibatches from the replay, and pushes their gradients
    parameter server   applies the gradients, and moves theta-

By default each worker is a bundle of actor, replay and learner. With `--learners` L the last L workers only learn, and
the others only act. A replay stays with its actor: a learner draws positions for all of them, and asks every actor for
its rows (parallel/mailbox.py: ReplayMail). The transitions are never all in one place.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Context, remaining
from minitrpo.algorithms.asynchronous_algorithm import (
    OPTIMISER,
    Ask,
    AsynchronousAlgorithm,
    AsynchronousSettings,
    Moment,
    Pushed,
    descend,
)
from minitrpo.algorithms.off_policy.replay_learner import BufferSettings, buffer_of
from minitrpo.algorithms.options import option
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.replay_buffer import Draw, draw, multi_step
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import clipped_norm, in_place, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array


@dataclass(frozen=True)
class BundleSettings(BufferSettings, AsynchronousSettings):
    """Settings of every asynchronous method with a replay buffer."""

    learners: int = option(
        0,
        "workers that learn from the transitions of all others and do not act; 0: each learns from its own. One worker "
        "alone does both",
        least=0,
        most=1024,
    )
    replay_ratio: float = option(
        1.0, "with learners: gradients per environment step after the warm-up, at most", above=0, most=64,
        only={"learners": True}, finding="replay",
    )  # fmt: skip
    fetch: int = option(
        16, "with learners: minibatches per request of a learner", least=1, most=10_000, only={"learners": True}
    )
    optimiser: str = option("adam", "the server's", "Nair et al. 2015: adagrad", ("adam", "rmsprop", "sgd", "adagrad"))
    target_rate: float = option(1.0, "how far theta- then moves towards theta; 1: all the way", above=0, most=1)


class Bundles(AsynchronousAlgorithm):
    """Actors with their replay, learners, and what the server does; a member says what Q and its gradient are.

    Its Settings inherit BundleSettings and have exploration_steps; its policy splits theta into the network's
    parameters and, last, how much of the exploration is left. gradient_sums: as that of a `ReplayLearner`.
    """

    gradient_sums: Any
    columns = ("td_loss", "mean_q", "exploration")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    pulled = ("theta", "target")

    def __init__(self, settings: Any, context: Context) -> None:
        self.settings, self.context, self.policy = settings, context, context.policy
        self.replay = buffer_of(self.policy, 1, settings.replay_size)
        self.actors = context.workers - self.learners(settings, context.workers)
        # what a learner has: the number of rows of every actor at its last answer, and rows for the next minibatches
        self.known = np.zeros(self.actors, np.int64)
        self.fetched = self.answer({"positions": np.zeros(0, np.int64)})  # no rows, but arrays of the right kinds
        del self.fetched["held"]

    @staticmethod
    def learners(settings: Any, workers: int) -> int:
        return int(settings.learners) if workers > 1 else 0

    def state(self) -> Nested:
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY)).astype(np.float32)
        optimiser = initial_state(self.settings.optimiser, len(theta), np.float32)
        return {"theta": theta, "target": theta.copy(), "updates": np.zeros(1, np.int64), "optimiser": optimiser}

    def gradient(self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator) -> Pushed:
        s = self.settings
        self.replay.add(0, multi_step(fragment, s.n_step, s.discount))
        if self.actors < self.context.workers or self.replay.added[0] <= s.warm_up:  # it only acts, or warms up
            return {}, self.columns_of(shared)
        drawn = draw(rng, s.batch, self.replay.sizes)
        return self.descent_of(shared, self.replay.take(drawn), drawn.weights)

    def learner_gradient(self, shared: Arrays, ask: Ask, now: Moment, rng: np.random.Generator) -> Pushed:
        s = self.settings
        # 1. nothing in the warm-up, or where there are as many gradients as the steps are worth
        if now.version >= s.replay_ratio * (now.env_steps - s.warm_up):
            return {}, self.columns_of(shared)
        # 2. rows for several minibatches; none the first time
        if not len(self.fetched["rewards"]):
            self.fetch(ask, rng)
        if not len(self.fetched["rewards"]):
            return {}, self.columns_of(shared)
        # 3. the next minibatch
        rows = {name: array[None, : s.batch] for name, array in self.fetched.items()}
        self.fetched = {name: array[s.batch :] for name, array in self.fetched.items()}
        return self.descent_of(shared, rows, np.ones((1, s.batch), np.float32))

    def fetch(self, ask: Ask, rng: np.random.Generator) -> None:
        """Get the rows of the next minibatches from all actors; the first time only the number of rows that they have.

        Positions are drawn by the numbers in the last replies, and stay valid because a replay never shrinks.

        Args:
            ask: from {actor: its question} to {actor: its answer}; see `answer`.
            rng: draws the positions, and the order of the rows.

        """
        s = self.settings
        positions = [np.zeros(0, np.int64)] * self.actors
        if self.known.sum():
            drawn = draw(rng, s.batch * s.fetch, self.known)
            positions = [row[:count] for row, count in zip(drawn.positions, drawn.counts, strict=True)]
        replies = ask({actor: {"positions": positions[actor]} for actor in range(self.actors)})
        self.known = np.array([int(replies[actor].pop("held")[0]) for actor in range(self.actors)], np.int64)
        mixed = rng.permutation(sum(map(len, positions)))
        self.fetched = {name: np.concatenate([part[name] for part in replies.values()])[mixed] for name in replies[0]}

    def answer(self, question: Arrays) -> Arrays:
        """Return the rows at these positions of this actor's replay, and how many rows it has, "held"."""
        positions = question["positions"]
        rows = self.replay.take(Draw(np.array([len(positions)]), positions[None]))
        return {**{name: array[0] for name, array in rows.items()}, "held": self.replay.sizes}

    def descent_of(self, shared: Arrays, rows: Arrays, weights: Array) -> Pushed:
        """Return the mean gradient of a minibatch, shortened where it is too long, and its loss."""
        s = self.settings
        network, older = self.policy.split(shared["theta"])[0], self.policy.split(shared["target"])[0]
        g, sums = self.gradient_sums(network, older, rows, weights)
        loss, mean_q = (sums[0] / s.batch).tolist()
        clipped = clipped_norm(g[0] / s.batch, s.gradient_clip)
        arrays = {"gradient": np.append(clipped, np.float32(0.0)), "loss": np.array([loss])}
        return arrays, self.columns_of(shared, loss, mean_q)

    def columns_of(self, shared: Arrays, loss: float = np.nan, mean_q: float = np.nan) -> dict[str, float]:
        """Return the columns of the log."""
        return {"td_loss": loss, "mean_q": mean_q, "exploration": float(shared["theta"][-1])}

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> bool:
        s, theta, target = self.settings, shared["theta"], shared["target"]
        descend(shared, gradient["gradient"], in_place(s.optimiser), s.step_size, OPTIMISER)
        theta[-1] = remaining(now.env_steps, s.exploration_steps)
        before = int(shared["updates"][0])
        shared["updates"] += 1
        if int(shared["updates"][0]) // s.target_every > before // s.target_every:  # not %: others count, too
            target[:] = theta if s.target_rate == 1 else target + np.float32(s.target_rate) * (theta - target)
        return True

    def worker_state(self) -> Nested:
        return {"replay": self.replay.state(), "known": self.known, "fetched": self.fetched}

    def restore_worker(self, arrays: Nested) -> None:
        self.replay.restore(arrays["replay"])
        self.known, self.fetched = arrays["known"], arrays["fetched"]
