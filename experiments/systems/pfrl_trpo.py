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

from experiments.systems.workload import Spans, Times, Workload, timed
from minitrpo.experience.environments import without_mujoco_warnings


def train(workload: Workload) -> Times:
    """Train on one environment."""
    with without_mujoco_warnings():
        env = gymnasium.make(workload.env)
    agent = make_agent(workload, env.observation_space.shape[0], env.action_space.shape[0])
    updates: Spans = []
    agent._update = timed(agent._update, updates)
    observation, _ = env.reset(seed=0)
    begin, count = time.perf_counter(), 0
    while count < workload.updates:
        observation, reward, terminated, truncated, _ = env.step(agent.act(observation.astype(np.float32)))
        agent.observe(observation.astype(np.float32), reward, terminated, truncated)
        if terminated or truncated:
            observation, _ = env.reset()
        if updates:
            updating = sum(stop - start for start, stop in updates)
            yield time.perf_counter() - begin - updating, updating
            updates.clear()
            begin, count = time.perf_counter(), count + 1


def make_agent(workload: Workload, observation_size: int, action_size: int) -> TRPO:
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
        gamma=workload.discount,
        lambd=workload.gae_lambda,
        entropy_coef=0.0,
        update_interval=workload.steps,
        max_kl=workload.max_kl,
        vf_epochs=workload.critic_epochs,
        vf_batch_size=workload.critic_minibatch,
        conjugate_gradient_max_iter=workload.cg_iterations,
        conjugate_gradient_damping=workload.cg_damping,
    )


def network(inputs: int, outputs: int, *head: Any) -> nn.Sequential:
    """Return a 64-64 tanh network with a head on its outputs."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs), *head)
