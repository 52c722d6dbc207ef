"""stable-baselines3's DQN on its own vector of environments, in this process."""

import time

from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from torch import nn

from experiments.systems.workload import RECORD_EVERY, ReplayWorkload, Spans, Times, taken, timed


def model_of(workload: ReplayWorkload, seed: int = 0) -> DQN:
    """Return the learner."""
    steps = workload.steps_per_update
    return DQN(
        "MlpPolicy",
        make_vec_env(workload.env, n_envs=workload.num_envs, seed=seed),
        device="cpu",
        seed=seed,
        learning_rate=workload.step_size,
        buffer_size=workload.replay_size,
        learning_starts=workload.warm_up,
        batch_size=workload.batch,
        gamma=workload.discount,
        train_freq=(steps // workload.num_envs, "step"),
        gradient_steps=int(steps * workload.replay_ratio),
        target_update_interval=int(workload.target_every / workload.replay_ratio),
        max_grad_norm=10.0,
        policy_kwargs={"net_arch": [64, 64], "activation_fn": nn.Tanh},
    )


def train(workload: ReplayWorkload) -> Times:
    """Train; `train` of the library is the updates of a round, and the rounds of the warm-up have none."""
    model = model_of(workload)
    updates: Spans = []
    model.train = timed(model.train, updates)
    begin = time.perf_counter()
    model.learn(workload.steps * workload.updates)
    yield from taken(begin, updates, RECORD_EVERY)
    model.env.close()
