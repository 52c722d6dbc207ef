"""stable-baselines3's PPO, A2C and DQN, and sb3-contrib's TRPO, on their own vectors of environments."""

import time
from typing import Any

from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
from torch import nn

from experiments.systems.sb3 import make_model
from experiments.systems.workload import (
    RECORD_EVERY,
    BatchWorkload,
    ManyUpdates,
    ReplayWorkload,
    ShortWorkload,
    Spans,
    Times,
    Workload,
    taken,
    timed,
)
from minitrpo.experience.environments import without_mujoco_warnings

NETWORKS = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": nn.Tanh}


def model_of(workload: Any, seed: int = 0, envs: int = 0, processes: bool = False) -> Any:
    """Return the learner, with observations normalised where ours are.

    envs: of TRPO; the other workloads say how many. processes: with a process for each environment.
    """
    kind: Any = SubprocVecEnv if processes else DummyVecEnv
    if isinstance(workload, Workload):
        return make_model(workload.env, seed, trpo(workload, envs), envs, kind)
    with without_mujoco_warnings():
        vector: Any = make_vec_env(workload.env, n_envs=workload.num_envs, seed=seed, vec_env_cls=kind)
    given = {"device": "cpu", "seed": seed, "gamma": workload.discount, "learning_rate": workload.step_size}
    if isinstance(workload, ReplayWorkload):
        return DQN("MlpPolicy", vector, **given, **dqn(workload))
    vector = VecNormalize(vector, norm_reward=False, gamma=workload.discount)
    given |= {"max_grad_norm": workload.max_gradient_norm, "policy_kwargs": NETWORKS}
    if isinstance(workload, BatchWorkload):
        return PPO("MlpPolicy", vector, **given, **ppo(workload))
    return A2C("MlpPolicy", vector, **given, **a2c(workload))


def trpo(workload: Workload, envs: int) -> dict[str, Any]:
    """Return sb3-contrib's settings."""
    return {
        "n_steps": workload.steps // envs,
        "batch_size": workload.critic_minibatch,
        "gamma": workload.discount,
        "gae_lambda": workload.gae_lambda,
        "cg_max_steps": workload.cg_iterations,
        "cg_damping": workload.cg_damping,
        "n_critic_updates": workload.critic_epochs,
        "target_kl": workload.max_kl,
        "sub_sampling_factor": 1,
        "policy_kwargs": NETWORKS,
    }


def ppo(workload: BatchWorkload) -> dict[str, Any]:
    """Return PPO's settings."""
    return {
        "n_steps": workload.steps // workload.num_envs,
        "batch_size": workload.minibatch,
        "n_epochs": workload.epochs,
        "clip_range": workload.clip,
        "gae_lambda": workload.gae_lambda,
    }


def a2c(workload: ShortWorkload) -> dict[str, Any]:
    """Return A2C's settings; Adam, as ours."""
    return {
        "n_steps": workload.steps_per_update // workload.num_envs,
        "ent_coef": workload.entropy_weight,
        "vf_coef": workload.value_weight,
        "use_rms_prop": False,
    }


def dqn(workload: ReplayWorkload) -> dict[str, Any]:
    """Return DQN's settings."""
    return {
        "buffer_size": workload.replay_size,
        "learning_starts": workload.warm_up,
        "batch_size": workload.batch,
        "train_freq": (workload.steps_per_update // workload.num_envs, "step"),
        "gradient_steps": int(workload.steps_per_update * workload.replay_ratio),
        "target_update_interval": int(workload.target_every / workload.replay_ratio),
        "max_grad_norm": 10.0,
        "policy_kwargs": {"net_arch": [64, 64], "activation_fn": nn.Tanh},
    }


def train(workload: Any, **options: Any) -> Times:
    """Train; `train` of the library is an update, or those of a round."""
    model = model_of(workload, **options)
    updates: Spans = []
    model.train = timed(model.train, updates)
    begin = time.perf_counter()
    model.learn(workload.steps * workload.updates)
    yield from taken(begin, updates, RECORD_EVERY if isinstance(workload, ManyUpdates) else 1)
    model.env.close()
