"""tianshou's TRPO: full-batch critic steps, as many as the others have epochs."""

import time
from typing import Any

import gymnasium
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

from experiments.systems.times import Times
from minitrpo.experience.environments import without_mujoco_warnings


def train(work: Any, envs: int) -> Times:
    """Train on `envs` environments in this process."""
    with without_mujoco_warnings():
        vector = VectorEnvNormObs(DummyVectorEnv([lambda: gymnasium.make(work.env)] * envs))
    algorithm = make_algorithm(work)
    buffer = VectorReplayBuffer(work.steps, envs)
    collector = Collector(algorithm, vector, buffer)
    collector.reset()
    for _ in range(work.updates):
        begin = time.perf_counter()
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=work.steps)
            middle = time.perf_counter()
            algorithm.update(buffer=buffer, batch_size=None, repeat=1)
            collector.reset_buffer(keep_statistics=True)
        yield middle - begin, time.perf_counter() - middle


def make_algorithm(work: Any) -> TRPO:
    """Return TRPO with a 64-64 policy and a critic like it."""
    with without_mujoco_warnings():
        env = gymnasium.make(work.env)
    body, critic_body = (
        Net(state_shape=env.observation_space.shape, hidden_sizes=[64, 64], activation=nn.Tanh) for _ in range(2)
    )
    actor = ContinuousActorProbabilistic(preprocess_net=body, action_shape=env.action_space.shape, unbounded=True)
    policy = ProbabilisticActorPolicy(
        actor=actor, dist_fn=lambda pair: Independent(Normal(*pair), 1), action_space=env.action_space
    )
    return TRPO(
        policy=policy,
        critic=ContinuousCritic(preprocess_net=critic_body),
        optim=AdamOptimizerFactory(lr=1e-3),
        max_kl=work.max_kl,
        optim_critic_iters=work.critic_epochs,
        gae_lambda=work.gae_lambda,
        gamma=work.discount,
        max_batchsize=work.steps,
    )
