"""rlox's PPO: advantages in Rust, networks in PyTorch, Gymnasium's simulators stepped in turn in this process."""

import time

from rlox.algorithms.ppo import PPO

from experiments.systems.workload import BatchWorkload, Spans, Times, between, timed
from minitrpo.experience.environments import without_mujoco_warnings


def train(workload: BatchWorkload) -> Times:
    """Train; what the library does between two calls of `collect` is an update."""
    with without_mujoco_warnings():
        model = PPO(
            workload.env,
            n_envs=workload.num_envs,
            seed=0,
            n_steps=workload.steps // workload.num_envs,
            n_epochs=workload.epochs,
            batch_size=workload.minibatch,
            learning_rate=workload.step_size,
            clip_eps=workload.clip,
            ent_coef=0.0,
            max_grad_norm=workload.max_gradient_norm,
            gamma=workload.discount,
            gae_lambda=workload.gae_lambda,
            anneal_lr=False,
            normalize_obs=True,
        )
    collected: Spans = []
    model.collector.collect = timed(model.collector.collect, collected)
    model.train(workload.steps * workload.updates)
    yield from between(collected, time.perf_counter())
