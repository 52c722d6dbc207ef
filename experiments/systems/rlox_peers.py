"""rlox's TRPO and PPO: advantages in Rust, the rest by PyTorch, Gymnasium's simulators in turn in this process."""

import time
from typing import Any

from rlox.algorithms.ppo import PPO
from rlox.algorithms.trpo import TRPO

from experiments.systems.times import Spans, Times, timed
from minitrpo.experience.environments import without_mujoco_warnings


def model_of(work: Any, envs: int) -> Any:
    """Return the learner. TRPO's critic takes a step of the whole batch per epoch."""
    given = {"seed": 0, "n_envs": envs, "n_steps": work.steps // envs}
    given |= {"gamma": work.discount, "gae_lambda": work.gae_lambda}
    if work.algorithm == "trpo":
        return TRPO(
            work.env,
            **given,
            max_kl=work.max_kl,
            damping=work.cg_damping,
            cg_iters=work.cg_iterations,
            vf_epochs=work.critic_epochs,
        )
    return PPO(
        work.env,
        **given,
        n_epochs=work.epochs,
        batch_size=work.minibatch,
        learning_rate=work.step_size,
        clip_eps=work.clip,
        ent_coef=0.0,
        max_grad_norm=work.max_gradient_norm,
        anneal_lr=False,
        normalize_obs=True,
    )


def train(work: Any, envs: int) -> Times:
    """Train; what the library does between two calls of `collect` is an update."""
    with without_mujoco_warnings():
        model = model_of(work, envs)
    collected: Spans = []
    model.collector.collect = timed(model.collector.collect, collected)
    model.train(work.steps * work.updates)
    for (start, stop), (following, _) in zip(collected, [*collected[1:], (time.perf_counter(), 0.0)], strict=True):
        yield stop - start, following - stop
