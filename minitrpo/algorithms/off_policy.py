"""Lecture 13: what all methods with a replay memory share, and how several ranks share it.

    round:  every environment takes k steps -> memory -> as many updates as the replay ratio says -> next round
    update: draw B transitions evenly; sum their gradients; one step of the optimiser; theta- follows theta

A policy gradient wants fresh samples; what is learned from a memory may be stale. So what must be held fixed when
actors are added is the replay ratio. The memory has a shard for each environment. With `--learner root` all shards lie
on the root (shared replay). With `--learner sharded` a rank learns from those of its own environments, gradients are
pooled in the order of the shards, and no transition is sent for learning (sharded replay); the bits are the same. The
root keeps a copy of every shard, for the checkpoint.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.algorithms.accepted import accepted
from minitrpo.algorithms.epsilon_greedy import exploration_left
from minitrpo.algorithms.interface import Arrays, Context, Plan
from minitrpo.algorithms.options import option
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.replay import Replay, draw, multi_step, updates_due
from minitrpo.optimisers import adam, clipped_norm, initial_state
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.policies import Array

# (theta, theta-, rows (k, M, ...), weights (k, M)) -> k sums of gradients (k, P), and k sums to report (k, K)
GradientSums = Callable[[Array, Array, Arrays, Array], tuple[Array, Array]]
MEMORY = "memory_"  # how the memory's arrays are called among others


@dataclass(frozen=True)
class MemorySettings:
    """What every method with a memory can be told."""

    discount: float = option(0.99, "discount per step (gamma)", above=0, most=1)
    n_step: int = option(1, "steps that a target looks ahead, within what was collected at once", least=1, most=1000)
    batch: int = option(64, "transitions per update", "rl-zoo: 64", least=1, most=100_000)
    replay_size: int = option(50_000, "transitions that a memory holds, of all environments", least=1, most=10**7)
    warm_up: int = option(1_000, "environment steps before the first update", "rl-zoo: 1000", least=1, most=10**9)
    step_size: float = option(1e-3, "the optimiser's step size", above=0, most=1)
    gradient_clip: float = option(10.0, "a longer gradient is shortened to this length", above=0)
    target_every: int = option(100, "updates after which theta- moves", least=1, most=10**9)


@dataclass(frozen=True)
class ReplaySettings(MemorySettings):
    """The same for rounds of steps and updates, which take Adam's steps."""

    replay_ratio: float = option(0.5, "updates per environment step after the warm-up", "rl-zoo: 0.5", above=0, most=64)
    target_rate: float = option(1.0, "how far theta- then moves towards theta; 1: all the way", above=0, most=1)


class OffPolicy:
    """The memory, the network and its optimiser of one run, and the updates, by one rank or by all."""

    def __init__(
        self, settings: ReplaySettings, context: Context, action_numbers: int, theta: Array, gradient_sums: GradientSums
    ) -> None:
        """Begin; action_numbers: how many numbers an action has, 0 if it is an integer."""
        self.settings, self.comm, self._gradient_sums = settings, context.comm, gradient_sums
        shards = max(1, context.slots)
        capacity, size = -(-settings.replay_size // shards), context.policy.observation_size
        self.memory = Replay(shards, capacity, size, action_numbers)
        self.theta = self.target = theta.astype(np.float32)
        self.moments = initial_state("adam", len(theta), np.float32)
        self.steps, self.updates = 0, 0
        self._reduction, self._told = ordered_allreduce(context.comm), context.comm.size == 1

    def remember(self, fragment: Episodes) -> Arrays:
        """Return a fragment's transitions, which travel to the root; keep them if this rank learns from its own."""
        rows = multi_step(fragment, self.settings.n_step, self.settings.discount)
        shard = int(fragment.numbers[0]) % len(self.memory.added)
        if self.comm.rank > 0:
            self.memory.add(shard, rows)
        return rows | {"shards": np.full(fragment.steps, shard)}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> Array:
        """Keep everybody's transitions, make the updates that are due; return their sums (K,) per transition; root."""
        for shard in np.unique(batch["shards"]).tolist():
            here = batch["shards"] == shard
            self.memory.add(shard, {name: rows[here] for name, rows in batch.items() if name != "shards"})
        self.steps += len(batch["shards"])
        s = self.settings
        updates = updates_due(self.steps, s.warm_up, s.replay_ratio, self.updates)
        if self.comm.size > 1:
            self.comm.broadcast(self._news(updates))
            self._told = True
        return self._updates(updates, self.memory.sizes, rng)

    def assist(self, rng: np.random.Generator) -> None:
        """Make the same updates as the root, from this rank's shards."""
        news = self.comm.broadcast({})
        if any(name.startswith(MEMORY) for name in news):
            self.memory.restore({n.removeprefix(MEMORY): a for n, a in news.items() if n.startswith(MEMORY)})
        self._take_over(news)
        self._updates(int(news["due"][0]), news["sizes"], rng)

    def _news(self, due: int) -> Arrays:
        """Return what the other ranks need to know: the network, sizes of shards; all of them after a resume."""
        news = self._network() | {"due": np.array([due]), "sizes": self.memory.sizes}
        return news if self._told else news | {MEMORY + name: array for name, array in self.memory.state().items()}

    def _updates(self, count: int, sizes: Array, rng: np.random.Generator) -> Array:
        """Make updates; return the sums that their gradients report, per transition, (K,); NaN without one."""
        reports = [self._update(sizes, rng) for _ in range(count)]
        return np.mean(reports, axis=0) / self.settings.batch if reports else np.full(1, np.nan)

    def _update(self, sizes: Array, rng: np.random.Generator) -> Array:
        """Draw a minibatch, sum the shards' gradients in their order, step, and let theta- follow."""
        s, shards = self.settings, len(sizes)
        # 1. every rank draws for all shards, and looks up what it has
        drawn, own = draw(rng, s.batch, sizes), self._reduction.own(shards)
        rows, weights = self.memory.take(drawn, own), drawn.weights[own]
        # 2. the gradients of the shards, and their sum
        parts, reports = self._gradient_sums(self.theta, self.target, rows, weights)
        sums = self._reduction.sum(np.concatenate([parts, reports], axis=1), shards)
        size = len(self.theta)
        self.step(sums[:size] / s.batch)
        return np.asarray(sums[size:])

    def step(self, gradient: Array) -> None:
        """Take one step against a mean gradient (P,)."""
        s = self.settings
        self.moments, step = adam(self.moments, clipped_norm(gradient, s.gradient_clip), s.step_size)
        self.theta = self.theta - step
        self.updates += 1
        if self.updates % s.target_every == 0:
            rate = np.float32(s.target_rate)
            self.target = (1 - rate) * self.target + rate * self.theta

    def _network(self) -> Arrays:
        counters = np.array([self.steps, self.updates])
        moments = {f"adam_{name}": array for name, array in self.moments.items()}
        return {"network": self.theta, "target": self.target, "done": counters, **moments}

    def _take_over(self, arrays: Arrays) -> None:
        self.theta, self.target = (arrays[name].astype(np.float32) for name in ("network", "target"))
        self.steps, self.updates = arrays["done"].tolist()
        self.moments = {name: arrays[f"adam_{name}"] for name in self.moments}

    def state(self) -> Arrays:
        """Return what a checkpoint must hold, on the root: network, memory, counters."""
        return self._network() | {MEMORY + name: array for name, array in self.memory.state().items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned; ValueError if it does not fit."""
        self._take_over(accepted(arrays, self._network()))
        self.memory.restore({name: arrays[MEMORY + name] for name in self.memory.state()})
        self._told = self.comm.size == 1


class LearnsFromMemory:
    """An algorithm that makes the updates of `OffPolicy`: whoever acts, and whatever the gradient of Q's error is."""

    columns = ("td_loss", "mean_q", "exploration", "updates")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    assists_with = ("segments",)

    def __init__(
        self,
        settings: ReplaySettings,
        context: Context,
        action_numbers: int,
        gradient_sums: GradientSums,
        exploration_steps: int,
    ) -> None:
        """Begin; action_numbers: how many numbers an action has, 0 if it is an integer."""
        self._exploration_steps = exploration_steps
        self.theta = context.policy.initialise(context.generator(Purpose.POLICY))
        self.core = OffPolicy(settings, context, action_numbers, self.theta[:-1], gradient_sums)

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
        left = exploration_left(self.core.steps, self._exploration_steps)
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
