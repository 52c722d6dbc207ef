"""One system trains for a few updates and says in one line of JSON what they took: `peers` starts it."""

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np

from minitrpo.experience.environments import without_mujoco_warnings

CG_ITERATIONS, DAMPING, EPOCHS, MINIBATCH, MAX_KL, GAMMA, LAMBDA = 10, 0.1, 10, 128, 0.01, 0.99, 0.95


@dataclass(frozen=True)
class Asked:
    """What every system is asked for: the same environment, batch, network, CG, critic epochs."""

    env: str
    steps: int  # per update
    updates: int  # the first one is not counted


Times = Iterator[tuple[float, float]]  # (seconds collecting, seconds updating) of every update


def minitrpo(asked: Asked, ranks: int, learner: str) -> Times:
    """Train with `mpiexec -n ranks train.py`; times are rank 0's, its waiting counted as collecting."""
    from minitrpo.classroom import launch
    from minitrpo.runs.folder import RunFolder

    named = {
        "env": asked.env,
        "steps-per-update": asked.steps,
        "total-steps": asked.steps * asked.updates,
        "learner": learner,
        "cg-iterations": CG_ITERATIONS,
        "cg-damping": DAMPING,
        "fisher-fraction": 1.0,
        "critic-epochs": EPOCHS,
        "critic-minibatch": MINIBATCH,
        "max-kl": MAX_KL,
        "discount": GAMMA,
        "gae-lambda": LAMBDA,
        "progress": "none",
    }
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = [str(word) for name, value in named.items() for word in (f"--{name}", value)]
        launch(ranks, "train.py", "--out", run, *words, timeout=600)
        columns = RunFolder(run).columns()
    for update_s, iteration_s in zip(columns["update_s"], columns["iteration_s"], strict=True):
        yield iteration_s - update_s, update_s


def sb3_contrib(asked: Asked, environments: int, processes: bool) -> Times:
    """Train with sb3-contrib's TRPO on its own vector of environments."""
    from sb3_contrib import TRPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
    from torch import nn

    with without_mujoco_warnings():
        kind = SubprocVecEnv if processes else DummyVecEnv
        envs = VecNormalize(make_vec_env(asked.env, n_envs=environments, seed=0, vec_env_cls=kind), gamma=GAMMA)
    model = TRPO(
        "MlpPolicy",
        envs,
        n_steps=asked.steps // environments,
        batch_size=MINIBATCH,
        gamma=GAMMA,
        gae_lambda=LAMBDA,
        cg_max_steps=CG_ITERATIONS,
        cg_damping=DAMPING,
        n_critic_updates=EPOCHS,
        target_kl=MAX_KL,
        sub_sampling_factor=1,
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": nn.Tanh},
        seed=0,
        device="cpu",
    )
    inner, spent = model.train, []

    def timed_train() -> None:
        start = time.perf_counter()
        inner()
        spent.append((start, time.perf_counter()))

    model.train = timed_train
    begin = time.perf_counter()
    model.learn(asked.steps * asked.updates)
    for start, stop in spent:
        yield start - begin, stop - start
        begin = stop
    envs.close()


def tianshou(asked: Asked, environments: int) -> Times:
    """Train with tianshou's TRPO: full-batch critic steps, as many as the others have epochs."""
    from tianshou.algorithm import TRPO
    from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv, VectorEnvNormObs
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic
    from tianshou.utils.torch_utils import policy_within_training_step
    from torch import nn
    from torch.distributions import Independent, Normal

    with without_mujoco_warnings():
        envs = VectorEnvNormObs(DummyVectorEnv([lambda: gymnasium.make(asked.env)] * environments))
    env = gymnasium.make(asked.env)
    shape, action_shape = env.observation_space.shape, env.action_space.shape
    nets = [Net(state_shape=shape, hidden_sizes=[64, 64], activation=nn.Tanh) for _ in range(2)]
    actor = ContinuousActorProbabilistic(preprocess_net=nets[0], action_shape=action_shape, unbounded=True)
    policy = ProbabilisticActorPolicy(
        actor=actor, dist_fn=lambda pair: Independent(Normal(*pair), 1), action_space=env.action_space
    )
    algorithm = TRPO(
        policy=policy,
        critic=ContinuousCritic(preprocess_net=nets[1]),
        optim=AdamOptimizerFactory(lr=1e-3),
        max_kl=MAX_KL,
        optim_critic_iters=EPOCHS,
        gae_lambda=LAMBDA,
        gamma=GAMMA,
        max_batchsize=asked.steps,
    )
    buffer = VectorReplayBuffer(asked.steps, environments)
    collector = Collector(algorithm, envs, buffer)
    collector.reset()
    for _ in range(asked.updates):
        begin = time.perf_counter()
        with policy_within_training_step(policy):
            collector.collect(n_step=asked.steps)
            middle = time.perf_counter()
            algorithm.update(buffer=buffer, batch_size=None, repeat=1)
            collector.reset_buffer(keep_statistics=True)
        yield middle - begin, time.perf_counter() - middle


def pfrl(asked: Asked) -> Times:
    """Train with pfrl's TRPO on one environment; it updates inside `observe`, in the step that fills the batch."""
    import torch
    from pfrl.agents import TRPO
    from pfrl.nn import EmpiricalNormalization
    from pfrl.policies import GaussianHeadWithStateIndependentCovariance as Head
    from torch import nn

    with without_mujoco_warnings():
        env = gymnasium.make(asked.env)
    d, a = env.observation_space.shape[0], env.action_space.shape[0]

    def body(outputs: int, *head: Any) -> nn.Sequential:
        return nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs), *head)

    critic = body(1)
    agent = TRPO(
        policy=body(a, Head(action_size=a, var_type="diagonal", var_func=lambda x: torch.exp(2 * x), var_param_init=0)),
        vf=critic,
        vf_optimizer=torch.optim.Adam(critic.parameters(), lr=1e-3),
        obs_normalizer=EmpiricalNormalization(d, clip_threshold=5),
        gamma=GAMMA,
        lambd=LAMBDA,
        entropy_coef=0.0,
        update_interval=asked.steps,
        max_kl=MAX_KL,
        vf_epochs=EPOCHS,
        vf_batch_size=MINIBATCH,
        conjugate_gradient_max_iter=CG_ITERATIONS,
        conjugate_gradient_damping=DAMPING,
    )
    inner, updating = agent._update, [0.0]

    def timed_update(dataset: Any) -> None:
        start = time.perf_counter()
        inner(dataset)
        updating[0] += time.perf_counter() - start

    agent._update = timed_update
    observation, _ = env.reset(seed=0)
    begin, done = time.perf_counter(), 0
    while done < asked.updates:
        observation, reward, terminated, truncated, _ = env.step(agent.act(observation.astype(np.float32)))
        agent.observe(observation.astype(np.float32), reward, terminated, truncated)
        if terminated or truncated:
            observation, _ = env.reset()
        if updating[0]:  # updates happen at the end of the episode that fills the batch
            yield time.perf_counter() - begin - updating[0], updating[0]
            begin, done, updating[0] = time.perf_counter(), done + 1, 0.0


SYSTEMS = {
    "minitrpo, 1 rank": lambda asked: minitrpo(asked, 1, "root"),
    "minitrpo, 2 ranks": lambda asked: minitrpo(asked, 2, "root"),
    "minitrpo, 2 ranks, sharded": lambda asked: minitrpo(asked, 2, "sharded"),
    "sb3-contrib, 1 environment": lambda asked: sb3_contrib(asked, 1, processes=False),
    "sb3-contrib, 8 environments": lambda asked: sb3_contrib(asked, 8, processes=False),
    "sb3-contrib, 2 processes": lambda asked: sb3_contrib(asked, 2, processes=True),
    "tianshou, 8 environments": lambda asked: tianshou(asked, 8),
    "pfrl, 1 environment": pfrl,
}


def main() -> None:
    """Run one system; the last line on stdout is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--env", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--updates", type=int, required=True)
    arguments = parser.parse_args()
    asked = Asked(arguments.env, arguments.steps, arguments.updates)
    times = [(float(collect), float(update)) for collect, update in SYSTEMS[arguments.system](asked)]
    who = resource.RUSAGE_CHILDREN if "minitrpo" in arguments.system else resource.RUSAGE_SELF  # ranks, or this process
    peak = resource.getrusage(who).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    print(json.dumps({"times": times[1:], "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()
