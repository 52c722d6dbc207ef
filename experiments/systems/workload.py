"""The work that every system of `peers` is given."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Times = Iterator[tuple[float, float]]  # (seconds collecting, seconds updating) of every update
Spans = list[tuple[float, float]]  # (start, stop) of every call
RECORD_EVERY = 50  # updates whose times are recorded together, if one is too short to be recorded alone


@dataclass(frozen=True)
class Workload:
    """The same environment, batch, CG and critic epochs for all, under the names that train.py has for them.

    Networks have two layers of 64 tanh units, and all states are in the Fisher matrix.
    """

    env: str
    steps: int  # per update
    updates: int
    cg_iterations: int = 10
    cg_damping: float = 0.1
    critic_epochs: int = 10
    critic_minibatch: int = 128
    max_kl: float = 0.01
    discount: float = 0.99
    gae_lambda: float = 0.95


@dataclass(frozen=True)
class BatchWorkload:
    """The same environment, simulators, batch, epochs and minibatches of PPO for all, named as train.py has them.

    Policy and value function have two layers of 64 tanh units each; nothing is annealed.
    """

    env: str
    steps: int  # per update, of all simulators together
    updates: int
    num_envs: int = 16
    epochs: int = 10
    minibatch: int = 64
    step_size: float = 3e-4
    critic_step_size: float = 3e-4
    clip: float = 0.2
    discount: float = 0.99
    gae_lambda: float = 0.95
    max_gradient_norm: float = 0.5


@dataclass(frozen=True)
class ManyUpdates:
    """Updates too short to be timed alone: the times are those of 50 together."""

    env: str
    steps: int  # of all simulators, in 50 updates
    updates: int  # how many times 50

    @property
    def steps_per_update(self) -> int:
        """Return the steps of all simulators in one update."""
        return self.steps // RECORD_EVERY


@dataclass(frozen=True)
class ShortWorkload(ManyUpdates):
    """A2C: an update after 5 steps of 16 simulators."""

    num_envs: int = 16
    discount: float = 0.99
    step_size: float = 5e-3
    entropy_weight: float = 0.01
    value_weight: float = 0.5
    max_gradient_norm: float = 0.5


@dataclass(frozen=True)
class ReplayWorkload(ManyUpdates):
    """DQN: 16 steps of 4 simulators, then 16 steps of the optimiser from a memory count as one update."""

    num_envs: int = 4
    discount: float = 0.99
    step_size: float = 1e-3
    batch: int = 128
    replay_size: int = 20_000
    warm_up: int = 1_000
    replay_ratio: float = 0.25
    target_every: int = 100  # updates


def taken(begin: float, spans: Spans, every: int = 1) -> Times:
    """Yield the seconds between updates and in them, of `every` updates together; begin: the start of the wait."""
    collecting = updating = 0.0
    for number, (start, stop) in enumerate(spans, start=1):
        collecting, updating, begin = collecting + start - begin, updating + stop - start, stop
        if number % every == 0:
            yield collecting, updating
            collecting = updating = 0.0


def between(collected: Spans, end: float) -> Times:
    """Yield the seconds in each call that collects, and those until the next one; end: when the last update ended."""
    for (start, stop), following in zip(collected, [*(start for start, _ in collected[1:]), end], strict=True):
        yield stop - start, following - stop


def timed(function: Callable[..., Any], spans: Spans) -> Callable[..., Any]:
    """Return `function`, that adds the span of each of its calls to `spans`."""

    def call(*arguments: Any, **named: Any) -> Any:
        start = time.perf_counter()
        result = function(*arguments, **named)
        spans.append((start, time.perf_counter()))
        return result

    return call
