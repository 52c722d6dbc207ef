"""stable-baselines3-contrib's TRPO with the settings of rl-baselines3-zoo: one run and its learning curve.

Settings: rl-baselines3-zoo, hyperparams/trpo.yml. Its MuJoCo entries name v4 environments; they are used for v5, and
its shared MuJoCo entry for the two that it does not name (Reacher, InvertedDoublePendulum).
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import TRPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecNormalize

from minitrpo.experience.environments import without_mujoco_warnings

MUJOCO = {
    "n_steps": 1024,
    "batch_size": 128,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "sub_sampling_factor": 1,
    "cg_max_steps": 25,
    "cg_damping": 0.1,
    "n_critic_updates": 20,
    "learning_rate": 1e-3,
}
ZOO: dict[str, dict[str, Any]] = {
    "HalfCheetah-v5": MUJOCO | {"target_kl": 0.04},
    "Swimmer-v5": MUJOCO | {"gamma": 0.9999},
    "CartPole-v1": {
        "n_steps": 512,
        "batch_size": 512,
        "cg_damping": 1e-3,
        "gae_lambda": 0.98,
        "gamma": 0.99,
        "learning_rate": 1e-3,
        "n_critic_updates": 20,
    },
    "Pendulum-v1": {"n_steps": 1024, "gamma": 0.9, "n_critic_updates": 15, "use_sde": True, "sde_sample_freq": 4},
}
ENVIRONMENTS = 2  # n_envs in every entry
NOT_NORMALISED = ("CartPole-v1", "Pendulum-v1")


class Curve(BaseCallback):
    """The mean return of the last 100 episodes after every rollout, in the environment's own rewards."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.model.ep_info_buffer:
            mean = float(np.mean([episode["r"] for episode in self.model.ep_info_buffer]))
            self.points.append((self.num_timesteps, mean))


def vector_of(env: str, seed: int, envs: int, kind: type[VecEnv]) -> VecEnv:
    """Return a vector of environments; its processes are children of this one, so that their seconds are ours."""
    how = {"start_method": "fork"} if kind is SubprocVecEnv else {}
    with without_mujoco_warnings():
        return make_vec_env(env, n_envs=envs, seed=seed, vec_env_cls=kind, vec_env_kwargs=how)


def make_model(
    env_id: str, seed: int, settings: dict[str, Any], envs: int = ENVIRONMENTS, kind: type[VecEnv] = DummyVecEnv
) -> TRPO:
    """Return sb3-contrib's TRPO on `env_id`, with observations and rewards normalised as rl-zoo does."""
    vector = vector_of(env_id, seed, envs, kind)
    if env_id not in NOT_NORMALISED:
        vector = VecNormalize(vector, gamma=settings["gamma"])
    return TRPO("MlpPolicy", vector, seed=seed, device="cpu", **settings)


def run(env: str, total_steps: int, seed: int, threads: int = 1, plain: bool = False) -> tuple[TRPO, Curve, float]:
    """Return a trained model, its learning curve, and the seconds of its training.

    threads: of PyTorch. plain: as its documentation types it, with its own defaults.
    """
    torch.set_num_threads(threads)
    with without_mujoco_warnings():
        typed = TRPO("MlpPolicy", env, seed=seed, device="cpu") if plain else None
    model, curve = typed or make_model(env, seed, ZOO.get(env, MUJOCO)), Curve()
    begin = time.perf_counter()
    model.learn(total_steps, callback=curve)
    return model, curve, time.perf_counter() - begin


def trained(*given: Any, **options: Any) -> tuple[list[tuple[int, float]], float]:
    """Return (environment steps, return) after every rollout of a `run`, and its seconds."""
    _, curve, seconds = run(*given, **options)
    return curve.points, seconds


def mean_action(model: TRPO) -> Callable[[Any], Any]:
    """Return a trained policy without its noise; it sees observations that are normalised as in training."""
    normaliser = model.get_vec_normalize_env()

    def act(observation: Any) -> Any:
        seen = normaliser.normalize_obs(observation) if normaliser else observation
        return model.predict(seen, deterministic=True)[0]

    return act
