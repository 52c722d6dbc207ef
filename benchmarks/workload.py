"""The work that every system of `peers` is given."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Times = Iterator[tuple[float, float]]  # (seconds collecting, seconds updating) of every update
Spans = list[tuple[float, float]]  # (start, stop) of every call


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


def timed(function: Callable[..., Any], spans: Spans) -> Callable[..., None]:
    """Return `function` without its result, that adds the span of each of its calls to `spans`."""

    def call(*arguments: Any) -> None:
        start = time.perf_counter()
        function(*arguments)
        spans.append((start, time.perf_counter()))

    return call
