"""The systems that `peers` compares: a module for each implementation of TRPO, that imports its library."""

from importlib import import_module

from benchmarks.workload import Times, Workload

SYSTEMS = {  # by name: a module, and the options of its `train`
    "minitrpo, 1 rank": ("ours", {"ranks": 1, "learner": "root"}),
    "minitrpo, 2 ranks": ("ours", {"ranks": 2, "learner": "root"}),
    "minitrpo, 2 ranks, sharded": ("ours", {"ranks": 2, "learner": "sharded"}),
    "sb3-contrib, 1 environment": ("sb3_trpo", {"envs": 1, "processes": False}),
    "sb3-contrib, 8 environments": ("sb3_trpo", {"envs": 8, "processes": False}),
    "sb3-contrib, 2 processes": ("sb3_trpo", {"envs": 2, "processes": True}),
    "tianshou, 8 environments": ("tianshou_trpo", {"envs": 8}),
    "pfrl, 1 environment": ("pfrl_trpo", {}),
}


def train(system: str, workload: Workload) -> Times:
    """Train one of the systems; yield the times of every update."""
    module, options = SYSTEMS[system]
    return import_module(f"benchmarks.systems.{module}").train(workload, **options)
