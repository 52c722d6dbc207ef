"""stable-baselines3's PPO, A2C and DQN, and sb3-contrib's TRPO, on their own vectors of environments."""

import time
from typing import Any

from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
from torch import nn

from experiments.systems.sb3 import make_model, vector_of
from experiments.systems.times import Spans, Times, taken, timed

NETWORKS = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": nn.Tanh}


def settings(work: Any, envs: int) -> dict[str, Any]:
    """Return what stable-baselines3 calls the settings of a family, but for those that all have."""
    if work.algorithm == "trpo":
        return {
            "n_steps": work.steps // envs,
            "batch_size": work.critic_minibatch,
            "gamma": work.discount,
            "gae_lambda": work.gae_lambda,
            "cg_max_steps": work.cg_iterations,
            "cg_damping": work.cg_damping,
            "n_critic_updates": work.critic_epochs,
            "target_kl": work.max_kl,
            "sub_sampling_factor": 1,
            "policy_kwargs": NETWORKS,
        }
    if work.algorithm == "batch-ppo":
        return {
            "n_steps": work.steps // work.num_envs,
            "batch_size": work.minibatch,
            "n_epochs": work.epochs,
            "clip_range": work.clip,
            "gae_lambda": work.gae_lambda,
        }
    if work.algorithm == "a2c":  # with Adam, as ours
        return {
            "n_steps": work.steps_per_update // work.num_envs,
            "ent_coef": work.entropy_weight,
            "vf_coef": work.value_weight,
            "use_rms_prop": False,
        }
    return {
        "buffer_size": work.replay_size,
        "learning_starts": work.warm_up,
        "batch_size": work.batch,
        "train_freq": (work.steps_per_update // work.num_envs, "step"),
        "gradient_steps": int(work.steps_per_update * work.replay_ratio),
        "target_update_interval": int(work.target_every / work.replay_ratio),
        "max_grad_norm": 10.0,
        "policy_kwargs": {"net_arch": [64, 64], "activation_fn": nn.Tanh},
    }


def model_of(work: Any, seed: int = 0, envs: int = 0, processes: bool = False) -> Any:
    """Return the learner, with observations normalised where ours are.

    envs: of TRPO; the other families say how many. processes: with a process for each environment.
    """
    kind: Any = SubprocVecEnv if processes else DummyVecEnv
    if work.algorithm == "trpo":
        return make_model(work.env, seed, settings(work, envs), envs, kind)
    vector = vector_of(work.env, seed, work.num_envs, kind)
    given = {"device": "cpu", "seed": seed, "gamma": work.discount, "learning_rate": work.step_size}
    given |= settings(work, envs)
    if work.algorithm == "dqn":
        return DQN("MlpPolicy", vector, **given)
    vector = VecNormalize(vector, norm_reward=False, gamma=work.discount)
    given |= {"max_grad_norm": work.max_gradient_norm, "policy_kwargs": NETWORKS}
    return (PPO if work.algorithm == "batch-ppo" else A2C)("MlpPolicy", vector, **given)


def train(work: Any, **options: Any) -> Times:
    """Train; `train` of the library is an update, or those of a round."""
    model = model_of(work, **options)
    updates: Spans = []
    model.train = timed(model.train, updates)
    begin = time.perf_counter()
    model.learn(work.steps * work.updates)
    yield from taken(begin, updates, work.every)
    model.env.close()
