"""The systems that `peers` compares: a module for each implementation, that imports its library."""

import json
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple

from experiments.systems.times import Times

Systems = dict[str, tuple[str, dict[str, Any]]]  # by name: a module, and the options of its `train`


class Family(NamedTuple):
    """Systems that do the same work: the words that train.py has for it; a run has `updates` times `steps` steps.

    Networks have two layers of 64 tanh units. The first of the updates is not counted.
    """

    env: str
    words: str
    steps: int  # of all simulators, in what is timed together: `every` updates
    updates: int
    rounds: int
    reference: str  # with which the others are compared
    systems: Systems
    packages: tuple[str, ...]
    every: int = 1

    @property
    def work(self) -> Any:
        """Return the same as attributes: `work.num_envs` for --num-envs."""
        known: dict[str, Any] = {"env": self.env, "steps": self.steps, "updates": self.updates, "every": self.every}
        words = self.words.split()
        for name, value in zip(words[::2], words[1::2], strict=True):
            known[name[2:].replace("-", "_")] = value
            with suppress(ValueError):
                known[name[2:].replace("-", "_")] = json.loads(value)
        return SimpleNamespace(words=self.words, **known)


def train(family: Family, system: str) -> Times:
    """Train one of the systems of a family; yield the times of every update."""
    module, options = family.systems[system]
    return import_module(f"experiments.systems.{module}").train(family.work, **options)


OURS: Systems = {
    "minitrpo, 1 rank": ("ours", {"ranks": 1, "learner": "root"}),
    "minitrpo, 2 ranks": ("ours", {"ranks": 2, "learner": "root"}),
}
SHARDED: Systems = {"minitrpo, 2 ranks, sharded": ("ours", {"ranks": 2, "learner": "sharded"})}
TRPO: Systems = {
    "sb3-contrib, 1 environment": ("sb3_peers", {"envs": 1}),
    "sb3-contrib, 8 environments": ("sb3_peers", {"envs": 8}),
    "sb3-contrib, 2 processes": ("sb3_peers", {"envs": 2, "processes": True}),
    "tianshou, 8 environments": ("tianshou_trpo", {"envs": 8}),
    "pfrl, 1 environment": ("pfrl_trpo", {}),
    "rlox, 8 environments": ("rlox_peers", {"envs": 8}),
}
SB3: Systems = {"stable-baselines3": ("sb3_peers", {})}
PPO: Systems = {
    "stable-baselines3, a process per simulator": ("sb3_peers", {"processes": True}),
    "RLtools": ("rltools_ppo", {}),
    "rlox": ("rlox_peers", {"envs": 16}),
    "EnvPool and PyTorch": ("envpool_ppo", {"threads": None}),
    "EnvPool and PyTorch, 1 thread": ("envpool_ppo", {"threads": 1}),
}
FAMILIES = {
    "trpo": Family(
        "HalfCheetah-v5",
        "--cg-iterations 10 --cg-damping 0.1 --critic-epochs 10 --critic-minibatch 128 --max-kl 0.01 --discount 0.99 "
        "--gae-lambda 0.95 --algorithm trpo --steps-per-update 20000 --preset episodes --fisher-fraction 1.0",
        *(20_000, 2, 2, "sb3-contrib, 1 environment", OURS | SHARDED | TRPO),
        ("torch", "stable-baselines3", "sb3-contrib", "tianshou", "pfrl", "rlox"),
    ),
    "ppo": Family(
        "HalfCheetah-v5",
        "--num-envs 16 --epochs 10 --minibatch 64 --step-size 0.0003 --critic-step-size 0.0003 --clip 0.2 "
        "--discount 0.99 --gae-lambda 0.95 --max-gradient-norm 0.5 --algorithm batch-ppo --steps-per-update 2048 "
        "--anneal none",
        *(2_048, 6, 3, "stable-baselines3", OURS | SHARDED | SB3 | PPO),
        ("torch", "stable-baselines3", "rltools", "rlox", "envpool"),
    ),
    "a2c": Family(
        "CartPole-v1",
        "--num-envs 16 --discount 0.99 --step-size 0.005 --entropy-weight 0.01 --value-weight 0.5 "
        "--max-gradient-norm 0.5 --algorithm a2c --steps-per-update 80 --record-every 50",
        *(4_000, 11, 3, "stable-baselines3", OURS | SB3),
        ("torch", "stable-baselines3"),
        every=50,  # one is too short to be timed
    ),
    "dqn": Family(  # 16 steps of 4 simulators, then 16 steps of the optimiser count as one update
        "CartPole-v1",
        "--num-envs 4 --discount 0.99 --step-size 0.001 --batch 128 --replay-size 20000 --warm-up 1000 "
        "--replay-ratio 0.25 --target-every 100 --algorithm dqn --steps-per-update 64 --n-step 1 --filter none "
        "--record-every 50",
        *(3_200, 8, 3, "stable-baselines3", OURS | SB3),
        ("torch", "stable-baselines3"),
        every=50,
    ),
}
