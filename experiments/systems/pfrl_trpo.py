"""pfrl's TRPO on one environment; it updates inside `observe`, at the end of the episode that fills the batch."""

import time
from typing import Any

import gymnasium
import numpy as np
import torch
from pfrl.agents import TRPO
from pfrl.nn import EmpiricalNormalization
from pfrl.policies import GaussianHeadWithStateIndependentCovariance
from torch import nn

from experiments.systems.times import Spans, Times, taken, timed
from minitrpo.experience.environments import without_mujoco_warnings


def train(work: Any) -> Times:
    """Train on one environment."""
    with without_mujoco_warnings():
        env = gymnasium.make(work.env)
    agent = make_agent(work, env.observation_space.shape[0], env.action_space.shape[0])
    updates: Spans = []
    agent._update = timed(agent._update, updates)
    observation, _ = env.reset(seed=0)
    begin = time.perf_counter()
    while len(updates) < work.updates:
        observation, reward, terminated, truncated, _ = env.step(agent.act(observation.astype(np.float32)))
        agent.observe(observation.astype(np.float32), reward, terminated, truncated)
        if terminated or truncated:
            observation, _ = env.reset()
    yield from taken(begin, updates)


def make_agent(work: Any, observation_size: int, action_size: int) -> TRPO:
    """Return TRPO with a 64-64 policy and a critic like it."""
    head = GaussianHeadWithStateIndependentCovariance(
        action_size=action_size, var_type="diagonal", var_func=lambda x: torch.exp(2 * x), var_param_init=0
    )
    critic = network(observation_size, 1)
    return TRPO(
        policy=network(observation_size, action_size, head),
        vf=critic,
        vf_optimizer=torch.optim.Adam(critic.parameters(), lr=1e-3),
        obs_normalizer=EmpiricalNormalization(observation_size, clip_threshold=5),
        gamma=work.discount,
        lambd=work.gae_lambda,
        entropy_coef=0.0,
        update_interval=work.steps,
        max_kl=work.max_kl,
        vf_epochs=work.critic_epochs,
        vf_batch_size=work.critic_minibatch,
        conjugate_gradient_max_iter=work.cg_iterations,
        conjugate_gradient_damping=work.cg_damping,
    )


def network(inputs: int, outputs: int, *head: Any) -> nn.Sequential:
    """Return a 64-64 tanh network with a head on its outputs."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs), *head)
