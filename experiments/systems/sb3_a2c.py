"""stable-baselines3's A2C on its own vector of environments, in this process."""

import time

from stable_baselines3 import A2C
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from experiments.systems.workload import RECORD_EVERY, ShortWorkload, Spans, Times, taken, timed


def model_of(workload: ShortWorkload, seed: int = 0) -> A2C:
    """Return the learner, with observations normalised and Adam, as ours."""
    vector = make_vec_env(workload.env, n_envs=workload.num_envs, seed=seed)
    return A2C(
        "MlpPolicy",
        VecNormalize(vector, norm_reward=False, gamma=workload.discount),
        device="cpu",
        seed=seed,
        n_steps=workload.steps_per_update // workload.num_envs,
        learning_rate=workload.step_size,
        gamma=workload.discount,
        ent_coef=workload.entropy_weight,
        vf_coef=workload.value_weight,
        max_grad_norm=workload.max_gradient_norm,
        use_rms_prop=False,
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": nn.Tanh},
    )


def train(workload: ShortWorkload) -> Times:
    """Train; `train` of the library is an update."""
    model = model_of(workload)
    updates: Spans = []
    model.train = timed(model.train, updates)
    begin = time.perf_counter()
    model.learn(workload.steps * workload.updates)
    yield from taken(begin, updates, RECORD_EVERY)
    model.env.close()
