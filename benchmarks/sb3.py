"""stable-baselines3-contrib's TRPO with the settings of rl-baselines3-zoo: one run, its learning curve as a file.

Settings: rl-baselines3-zoo, hyperparams/trpo.yml. Its MuJoCo entries name v4 environments; they are used for v5, and
its shared MuJoCo entry for the two that it does not name (Reacher, InvertedDoublePendulum).
"""

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import TRPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

from benchmarks.options import make_parser
from benchmarks.record import origin, thinned, write_json
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


def make_model(
    env_id: str, seed: int, settings: dict[str, Any], envs: int = ENVIRONMENTS, kind: type[VecEnv] = DummyVecEnv
) -> TRPO:
    """Return sb3-contrib's TRPO on `env_id`, with observations and rewards normalised as rl-zoo does."""
    with without_mujoco_warnings():
        vector = make_vec_env(env_id, n_envs=envs, seed=seed, vec_env_cls=kind)
    if env_id not in NOT_NORMALISED:
        vector = VecNormalize(vector, gamma=settings["gamma"])
    return TRPO("MlpPolicy", vector, seed=seed, device="cpu", **settings)


def plain_model(env_id: str, seed: int) -> TRPO:
    """Return sb3-contrib's TRPO as its documentation types it."""
    with without_mujoco_warnings():
        return TRPO("MlpPolicy", env_id, seed=seed, device="cpu")


def main() -> None:
    """Train once and write the curve."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--total-steps", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--plain", action="store_true", help="as its documentation types it, with its own defaults")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    settings = {} if args.plain else ZOO.get(args.env, MUJOCO)
    model, curve = (
        plain_model(args.env, args.seed) if args.plain else make_model(args.env, args.seed, settings),
        Curve(),
    )
    begin = time.perf_counter()
    model.learn(args.total_steps, callback=curve)
    seconds = time.perf_counter() - begin
    result = {
        "system": "sb3-contrib",
        "env": args.env,
        "seed": args.seed,
        "settings": settings,
        "episode_limit": gymnasium.spec(args.env).max_episode_steps,
        "provenance": origin(("torch", "stable-baselines3", "sb3-contrib")),
        "seconds": seconds,
        "curve": thinned(curve.points),
    }
    write_json(args.out, result)


if __name__ == "__main__":
    main()
