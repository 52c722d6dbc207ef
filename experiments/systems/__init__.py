"""The systems that `peers` compares: a module for each implementation, that imports its library."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from experiments.systems.workload import BatchWorkload, ReplayWorkload, ShortWorkload, Times, Workload

TRPO: dict[str, tuple[str, dict[str, Any]]] = {  # by name: a module, and the options of its `train`
    "minitrpo, 1 rank": ("ours", {"ranks": 1, "learner": "root"}),
    "minitrpo, 2 ranks": ("ours", {"ranks": 2, "learner": "root"}),
    "minitrpo, 2 ranks, sharded": ("ours", {"ranks": 2, "learner": "sharded"}),
    "sb3-contrib, 1 environment": ("sb3_trpo", {"envs": 1, "processes": False}),
    "sb3-contrib, 8 environments": ("sb3_trpo", {"envs": 8, "processes": False}),
    "sb3-contrib, 2 processes": ("sb3_trpo", {"envs": 2, "processes": True}),
    "tianshou, 8 environments": ("tianshou_trpo", {"envs": 8}),
    "pfrl, 1 environment": ("pfrl_trpo", {}),
    "rlox, 8 environments": ("rlox_trpo", {"envs": 8}),
}

PPO: dict[str, tuple[str, dict[str, Any]]] = {
    "minitrpo, 1 rank": ("ours_ppo", {"ranks": 1, "learner": "root"}),
    "minitrpo, 2 ranks": ("ours_ppo", {"ranks": 2, "learner": "root"}),
    "minitrpo, 2 ranks, sharded": ("ours_ppo", {"ranks": 2, "learner": "sharded"}),
    "stable-baselines3": ("sb3_ppo", {"processes": False}),
    "stable-baselines3, a process per simulator": ("sb3_ppo", {"processes": True}),
    "RLtools": ("rltools_ppo", {}),
    "rlox": ("rlox_ppo", {}),
    "EnvPool and PyTorch": ("envpool_ppo", {"threads": None}),
    "EnvPool and PyTorch, 1 thread": ("envpool_ppo", {"threads": 1}),
}

A2C: dict[str, tuple[str, dict[str, Any]]] = {
    "minitrpo, 1 rank": ("ours_short", {"algorithm": "a2c", "ranks": 1, "more": {}}),
    "minitrpo, 2 ranks": ("ours_short", {"algorithm": "a2c", "ranks": 2, "more": {}}),
    "stable-baselines3": ("sb3_a2c", {}),
}

PLAIN = {"n_step": 1, "filter": "none"}  # one-step targets, for all
DQN: dict[str, tuple[str, dict[str, Any]]] = {
    "minitrpo, 1 rank": ("ours_short", {"algorithm": "dqn", "ranks": 1, "more": PLAIN}),
    "minitrpo, 2 ranks": ("ours_short", {"algorithm": "dqn", "ranks": 2, "more": PLAIN}),
    "stable-baselines3": ("sb3_dqn", {}),
}


@dataclass(frozen=True)
class Family:
    """Systems that do the same work: what it is, which of them the others are compared with, and what is installed."""

    workload: Callable[[str, int, int], Any]
    env: str
    steps: int  # per update
    updates: int  # of a run; the first is not counted
    rounds: int
    reference: str
    systems: dict[str, tuple[str, dict[str, Any]]]
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
