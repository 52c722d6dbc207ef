"""sb3-contrib's TRPO on its own vector of environments, in this process or in several."""

import time

from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from torch import nn

from experiments.systems.sb3 import make_model
from experiments.systems.workload import Spans, Times, Workload, taken, timed


def train(workload: Workload, envs: int, processes: bool) -> Times:
    """Train on so many environments; `train` of the library is an update."""
    settings = {
        "n_steps": workload.steps // envs,
        "batch_size": workload.critic_minibatch,
        "gamma": workload.discount,
        "gae_lambda": workload.gae_lambda,
        "cg_max_steps": workload.cg_iterations,
        "cg_damping": workload.cg_damping,
        "n_critic_updates": workload.critic_epochs,
        "target_kl": workload.max_kl,
        "sub_sampling_factor": 1,
        "policy_kwargs": {"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": nn.Tanh},
    }
    model = make_model(workload.env, 0, settings, envs, SubprocVecEnv if processes else DummyVecEnv)
    updates: Spans = []
    model.train = timed(model.train, updates)
    begin = time.perf_counter()
    model.learn(workload.steps * workload.updates)
    yield from taken(begin, updates)
    model.env.close()
