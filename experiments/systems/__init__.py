"""The systems that `peers` compares: a module for each implementation, that imports its library."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from experiments.systems.workload import BatchWorkload, ReplayWorkload, ShortWorkload, Times, Workload

Systems = dict[str, tuple[str, dict[str, Any]]]  # by name: a module, and the options of its `train`


def on_ranks(algorithm: str, learners: bool) -> Systems:
    """Return minitrpo on one rank and on two, and with the sharded learner where there is one."""
    ways = [("1 rank", 1, "root"), ("2 ranks", 2, "root"), ("2 ranks, sharded", 2, "sharded")][: 3 if learners else 2]
    each: Systems = {}
    for name, ranks, learner in ways:
        more = {"learner": learner} if learners else {}
        each[f"minitrpo, {name}"] = ("ours", {"algorithm": algorithm, "ranks": ranks, **more})
    return each


TRPO: Systems = {
    **on_ranks("trpo", learners=True),
    "sb3-contrib, 1 environment": ("sb3_peers", {"envs": 1}),
    "sb3-contrib, 8 environments": ("sb3_peers", {"envs": 8}),
    "sb3-contrib, 2 processes": ("sb3_peers", {"envs": 2, "processes": True}),
    "tianshou, 8 environments": ("tianshou_trpo", {"envs": 8}),
    "pfrl, 1 environment": ("pfrl_trpo", {}),
    "rlox, 8 environments": ("rlox_peers", {"envs": 8}),
}
PPO: Systems = {
    **on_ranks("batch-ppo", learners=True),
    "stable-baselines3": ("sb3_peers", {}),
    "stable-baselines3, a process per simulator": ("sb3_peers", {"processes": True}),
    "RLtools": ("rltools_ppo", {}),
    "rlox": ("rlox_peers", {"envs": 16}),
    "EnvPool and PyTorch": ("envpool_ppo", {"threads": None}),
    "EnvPool and PyTorch, 1 thread": ("envpool_ppo", {"threads": 1}),
}
A2C: Systems = {**on_ranks("a2c", learners=False), "stable-baselines3": ("sb3_peers", {})}
DQN: Systems = {**on_ranks("dqn", learners=False), "stable-baselines3": ("sb3_peers", {})}


@dataclass(frozen=True)
class Family:
    """Systems that do the same work: what it is, which of them the others are compared with, and what is installed."""

    workload: Callable[[str, int, int], Any]
    env: str
    steps: int  # per update
    updates: int  # of a run; the first is not counted
    rounds: int
    reference: str
    systems: Systems
    packages: tuple[str, ...]


FAMILIES = {
    "trpo": Family(
        *(Workload, "HalfCheetah-v5", 20_000, 2, 2, "sb3-contrib, 1 environment", TRPO),
        packages=("torch", "stable-baselines3", "sb3-contrib", "tianshou", "pfrl", "rlox"),
    ),
    "ppo": Family(
        *(BatchWorkload, "HalfCheetah-v5", 2_048, 6, 3, "stable-baselines3", PPO),
        packages=("torch", "stable-baselines3", "rltools", "rlox", "envpool"),
    ),
    "a2c": Family(
        *(ShortWorkload, "CartPole-v1", 4_000, 11, 3, "stable-baselines3", A2C), packages=("torch", "stable-baselines3")
    ),
    "dqn": Family(
        *(ReplayWorkload, "CartPole-v1", 3_200, 8, 3, "stable-baselines3", DQN), packages=("torch", "stable-baselines3")
    ),
}


def train(family: str, system: str, workload: Any) -> Times:
    """Train one of the systems of a family; yield the times of every update."""
    module, options = FAMILIES[family].systems[system]
    return import_module(f"experiments.systems.{module}").train(workload, **options)
