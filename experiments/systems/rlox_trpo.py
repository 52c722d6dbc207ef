"""rlox's TRPO: advantages in Rust, products by PyTorch's double backward, Gymnasium's simulators in this process."""

import time

from rlox.algorithms.trpo import TRPO

from experiments.systems.workload import Spans, Times, Workload, between, timed
from minitrpo.experience.environments import without_mujoco_warnings


def train(workload: Workload, envs: int) -> Times:
    """Train on so many environments; what the library does between two calls of `collect` is an update.

    Its critic takes a step of the whole batch per epoch.
    """
    with without_mujoco_warnings():
        model = TRPO(
            workload.env,
            seed=0,
            n_envs=envs,
            n_steps=workload.steps // envs,
            max_kl=workload.max_kl,
            damping=workload.cg_damping,
            cg_iters=workload.cg_iterations,
            vf_epochs=workload.critic_epochs,
            gamma=workload.discount,
            gae_lambda=workload.gae_lambda,
        )
    collected: Spans = []
    model.collector.collect = timed(model.collector.collect, collected)
    model.train(workload.steps * workload.updates)
    yield from between(collected, time.perf_counter())
