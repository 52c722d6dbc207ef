"""stable-baselines3's PPO on its own vector of environments, in this process or with a process for each."""

import time

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
from torch import nn

from experiments.systems.workload import BatchWorkload, Spans, Times, taken, timed
from minitrpo.experience.environments import without_mujoco_warnings


def model_of(workload: BatchWorkload, processes: bool = False, seed: int = 0) -> PPO:
    """Return the learner, with observations normalised, as ours."""
    with without_mujoco_warnings():
        kind = SubprocVecEnv if processes else DummyVecEnv
        vector = make_vec_env(workload.env, n_envs=workload.num_envs, seed=seed, vec_env_cls=kind)
    return PPO(
        "MlpPolicy",
        VecNormalize(vector, norm_reward=False, gamma=workload.discount),
        device="cpu",
        seed=seed,
        n_steps=workload.steps // workload.num_envs,
        batch_size=workload.minibatch,
        n_epochs=workload.epochs,
        learning_rate=workload.step_size,
        clip_range=workload.clip,
        gamma=workload.discount,
        gae_lambda=workload.gae_lambda,
        max_grad_norm=workload.max_gradient_norm,
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": nn.Tanh},
    )


def train(workload: BatchWorkload, processes: bool) -> Times:
    """Train; `train` of the library is an update."""
    model = model_of(workload, processes)
    updates: Spans = []
    model.train = timed(model.train, updates)
    begin = time.perf_counter()
    model.learn(workload.steps * workload.updates)
    yield from taken(begin, updates)
    model.env.close()
