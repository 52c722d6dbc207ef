"""rlox's TRPO and PPO: advantages in Rust, the rest by PyTorch, Gymnasium's simulators in turn in this process."""

import time
from typing import Any

from rlox.algorithms.ppo import PPO
from rlox.algorithms.trpo import TRPO

from experiments.systems.workload import BatchWorkload, Spans, Times, Workload, between, timed
from minitrpo.experience.environments import without_mujoco_warnings


def model_of(workload: Workload | BatchWorkload, envs: int) -> Any:
    """Return the learner. TRPO's critic takes a step of the whole batch per epoch."""
    given = {"seed": 0, "n_envs": envs, "n_steps": workload.steps // envs}
    given |= {"gamma": workload.discount, "gae_lambda": workload.gae_lambda}
    if isinstance(workload, Workload):
        return TRPO(
            workload.env,
            **given,
            max_kl=workload.max_kl,
            damping=workload.cg_damping,
            cg_iters=workload.cg_iterations,
            vf_epochs=workload.critic_epochs,
        )
    return PPO(
        workload.env,
        **given,
        n_epochs=workload.epochs,
        batch_size=workload.minibatch,
        learning_rate=workload.step_size,
        clip_eps=workload.clip,
        ent_coef=0.0,
        max_grad_norm=workload.max_gradient_norm,
        anneal_lr=False,
        normalize_obs=True,
    )


def train(workload: Workload | BatchWorkload, envs: int) -> Times:
    """Train; what the library does between two calls of `collect` is an update."""
    with without_mujoco_warnings():
        model = model_of(workload, envs)
    collected: Spans = []
    model.collector.collect = timed(model.collector.collect, collected)
    model.train(workload.steps * workload.updates)
    yield from between(collected, time.perf_counter())
