"""Lecture 13a: what all methods with a replay buffer have in common, and how several ranks share the work.

    round:  every environment takes k steps -> buffer -> as many updates as the replay ratio says -> next round
    update: draw B transitions uniformly; sum their gradients; one step of the optimiser; theta- follows theta

A policy gradient needs new samples; samples of a buffer may be old. So it is the replay ratio, updates per step, that
has to stay the same when actors are added. The buffer has a shard for each environment. With `--learner root` all
shards lie on the root (shared replay). With `--learner sharded` each rank computes gradients from the shards of its
environments, the gradients are added in the order of the shards, and no transition is sent for learning (sharded
replay); the bits are the same. The root keeps a copy of every shard, for the checkpoint.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan, remaining
from minitrpo.algorithms.options import discount_option, option, step_size_option
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.replay_buffer import ReplayBuffer, draw, multi_step, updates_due
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array


@dataclass(frozen=True)
class BufferSettings:
    """Settings of every method with a replay buffer."""

    discount: float = discount_option()
    n_step: int = option(1, "steps that a target looks ahead, within what was collected at once", least=1, most=1000)
    batch: int = option(64, "transitions per update", "rl-zoo: 64", least=1, most=100_000)
    replay_size: int = option(
        50_000, "size of the replay buffer in transitions, for all environments", least=1, most=10**7, finding="replay",
    )  # fmt: skip
    warm_up: int = option(1_000, "environment steps before the first update", "rl-zoo: 1000", least=1, most=10**9)
    step_size: float = step_size_option()
    gradient_clip: float = option(10.0, "largest norm of a gradient", above=0)
    target_every: int = option(100, "updates after which theta- moves", least=1, most=10**9)


@dataclass(frozen=True)
class ReplaySettings(BufferSettings):
    """The same for rounds of steps and updates."""

    replay_ratio: float = option(
        0.5, "updates per environment step after the warm-up", "rl-zoo: 0.5", above=0, most=64, finding="replay"
    )
    optimiser: str = option("adam", "optimiser", "", tuple(OPTIMISERS))
    target_rate: float = option(1.0, "how far theta- then moves towards theta; 1: all the way", above=0, most=1)


class ReplayLearner(Algorithm):
    """The rounds of a method with a replay buffer, on one rank or on all, and its update by one network.

    The network is Q, with an older copy, theta-. It acts with what is left of the exploration. A method of this kind
    defines `gradient_sums` alone. One with other networks (mpi_scripts/own/sac.py) replaces `first_networks`,
    `gradients`, `step` and `after_updates`.
    """

    sharded_with = ("segments",)
    columns: ClassVar[tuple[str, ...]] = ("td_loss", "mean_q", "exploration", "updates")
    chart: ClassVar[tuple[str, ...] | None] = ("td_loss",)
    chart_label = "loss (return^2)"
    noise_size: ClassVar[int] = 0  # standard normal numbers that `gradients` needs for every transition
    theta: Array  # of the policy that acts
    networks: Nested  # all that an update changes, in new arrays: networks, their older copies, optimisers

    def __init__(self, settings: Any, context: Context) -> None:
        self.settings, self.context, self.policy = settings, context, context.policy
        shards = max(1, context.slots)
        self.buffer = buffer_of(context.policy, shards, -(-settings.replay_size // shards))
        self.steps, self.updates = 0, 0
        self._reduction = ordered_allreduce(context.comm)
        self.theta, self.networks = self.first_networks()

    # --- the rounds

    def plan(self) -> Plan:
        return Plan(self.theta)

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        rows = multi_step(fragment, self.settings.n_step, self.settings.discount)
        shard = int(fragment.numbers[0]) % len(self.buffer.added)
        if self.context.comm.rank > 0:  # a rank that shares the update computes gradients from its shards
            self.buffer.add(shard, rows)
        return rows | {"shards": np.full(fragment.steps, shard)}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        s = self.settings
        # 1. the root adds the rows of all ranks; the others have added those of their own environments
        if self.context.comm.rank == 0:
            for shard in np.unique(batch["shards"]).tolist():
                here = batch["shards"] == shard
                self.buffer.add(shard, {name: rows[here] for name, rows in batch.items() if name != "shards"})
            self.steps += len(batch["shards"])
        # 2. only the root knows how many steps all ranks took, and how many rows every shard has
        self.steps, sizes = self.context.comm.broadcast((self.steps, self.buffer.sizes))
        # 3. all ranks make the updates that are due
        due = updates_due(self.steps, s.warm_up, s.replay_ratio, self.updates)
        return self.after_updates(self._updates(due, sizes, rng), due)

    def _updates(self, count: int, sizes: Array, rng: np.random.Generator) -> Array:
        """Make so many updates; return the sums that they report, per transition, (K,); one NaN without an update."""
        reports = [self._update(sizes, rng) for _ in range(count)]
        return np.mean(reports, axis=0) / self.settings.batch if reports else np.full(1, np.nan)

    def _update(self, sizes: Array, rng: np.random.Generator) -> Array:
        """Draw a minibatch, sum the shards' gradients in their order, and step."""
        s, shards = self.settings, len(sizes)
        # 1. every rank draws for all shards, and looks up the rows of its shards
        drawn, mine = draw(rng, s.batch, sizes), self._reduction.share(shards)
        shape = (*drawn.positions.shape, self.noise_size)
        noise = rng.standard_normal(shape) if self.noise_size else np.zeros(shape)
        # 2. the gradients of the shards, and their sum
        parts, reports = self.gradients(self.buffer.take(drawn, mine), drawn.weights[mine], noise[mine])
        sums = self._reduction.sum(np.concatenate([parts, reports], axis=1), shards)
        # 3. one step
        self.step(sums[: parts.shape[1]] / s.batch)
        self.updates += 1
        return np.asarray(sums[parts.shape[1] :])

    # --- the networks and their update: here one network and its older copy

    def first_networks(self) -> tuple[Array, Nested]:
        """Return `theta` and `networks` before the first step."""
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        network = self.policy.split(theta)[0].astype(np.float32)
        optimiser = initial_state(self.settings.optimiser, len(network), np.float32)
        return theta, {"network": network, "target": network, "optimiser": optimiser}

    def gradient_sums(self, network: Array, target: Array, rows: Arrays, weights: Array) -> tuple[Array, Array]:
        """Return sums over the transitions of k shards: of the gradients of 1/2 (Q - y)^2, of this loss and of Q.

        Args:
            network: the parameters of Q, (P,).
            target: those of the older copy, from which y is computed, (P,).
            rows: arrays (k, M, ...) as `ReplayBuffer` names them.
            weights: (k, M), 1, or 0 for rows that do not count.

        Returns:
            The sums of gradients (k, P), and those of loss and Q, (k, 2).

        """
        raise NotImplementedError

    def gradients(self, rows: Arrays, weights: Array, noise: Array) -> tuple[Array, Array]:
        """Return the sums of gradients over the transitions of k shards, and of what is reported.

        Args:
            rows: arrays (k, M, ...) as `ReplayBuffer` names them.
            weights: (k, M), 1, or 0 for rows that do not count.
            noise: standard normal, (k, M, noise_size).

        Returns:
            The sums of gradients (k, P), P being all that `step` takes, one after the other; and K sums that
            `after_updates` reports, (k, K).

        """
        return self.gradient_sums(self.networks["network"], self.networks["target"], rows, weights)

    def step(self, gradient: Array) -> None:
        """Take one step with the mean gradient (P,) of a minibatch."""
        s, gradient = self.settings, clipped_norm(gradient, self.settings.gradient_clip)
        target, rate = self.networks["target"], np.float32(s.target_rate)
        optimiser, step = OPTIMISERS[s.optimiser](self.networks["optimiser"], gradient, s.step_size)
        network = self.networks["network"] - step
        if (self.updates + 1) % s.target_every == 0:
            target = (1 - rate) * target + rate * network
        self.networks = {"network": network, "target": target, "optimiser": optimiser}

    def after_updates(self, report: Array, updates: int) -> dict[str, Any]:
        """Set `theta` for the next round, and return the columns.

        Args:
            report: the sums that `gradients` reports, per transition, (K,); one NaN if there was no update.
            updates: how many updates there were.

        """
        loss, q = np.broadcast_to(report, 2).tolist()
        left = remaining(self.steps, self.settings.exploration_steps)
        self.theta = np.append(self.networks["network"], left)
        return {"td_loss": loss, "mean_q": q, "exploration": left, "updates": updates}

    # --- what a checkpoint has

    def state(self) -> Nested:
        done = np.array([self.steps, self.updates])
        return {"theta": self.theta, "networks": self.networks, "done": done, "buffer": self.buffer.state()}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.networks = arrays["theta"], arrays["networks"]
        self.steps, self.updates = arrays["done"].tolist()
        self.buffer.restore(arrays["buffer"])


def buffer_of(policy: Any, shards: int, capacity: int) -> ReplayBuffer:
    """Return an empty buffer for what a policy sees and does.

    Args:
        policy: its actions are integers if it is `discrete`, else `action_size` numbers.
        shards: the number of shards.
        capacity: of each shard, in transitions.

    """
    return ReplayBuffer(shards, capacity, policy.observation_size, 0 if policy.discrete else policy.action_size)
