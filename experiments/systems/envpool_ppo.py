"""PPO of a single file in PyTorch, as CleanRL is often used, on simulators that EnvPool steps in C++ threads."""

import time
from typing import Any

import envpool
import gymnasium
import numpy as np
import torch
from torch import nn

from experiments.systems.times import Times


def network(inputs: int, outputs: int, scale: float) -> nn.Sequential:
    """Return two layers of 64 tanh units and a linear one whose orthogonal weights have this scale."""
    sizes, layers = (inputs, 64, 64, outputs), list[nn.Module]()
    for i, gain in enumerate((2**0.5, 2**0.5, scale)):
        linear = nn.Linear(sizes[i], sizes[i + 1])
        nn.init.orthogonal_(linear.weight, gain)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Agent(nn.Module):
    """A Gaussian policy and a value function."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.mean, self.value = network(inputs, actions, 0.01), network(inputs, 1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(actions))

    def distribution(self, observations: torch.Tensor) -> torch.distributions.Normal:
        """Return the actions' distribution."""
        return torch.distributions.Normal(self.mean(observations), self.log_std.exp())


class Simulators:
    """EnvPool's simulators behind a running mean and scale of their observations.

    Gymnasium's own wrapper for vectors does not take EnvPool's. The step after an episode's last one resets.
    """

    def __init__(self, work: Any) -> None:
        self.pool = envpool.make(work.env, env_type="gymnasium", num_envs=work.num_envs, seed=0)
        self.moments = gymnasium.wrappers.utils.RunningMeanStd(shape=self.pool.observation_space.shape)
        self.observations = self.scaled(self.pool.reset()[0])

    def scaled(self, observations: np.ndarray) -> torch.Tensor:
        """Return observations in units of their own spread."""
        self.moments.update(observations)
        scaled = (observations - self.moments.mean) / np.sqrt(self.moments.var + 1e-8)
        return torch.as_tensor(np.clip(scaled, -10, 10), dtype=torch.float32)

    def step(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return rewards, and who has ended."""
        space = self.pool.action_space
        clipped = np.clip(actions.numpy(), space.low, space.high)
        observations, rewards, terminated, truncated, _ = self.pool.step(clipped)
        self.observations = self.scaled(observations)
        return torch.as_tensor(rewards, dtype=torch.float32), torch.as_tensor(terminated | truncated)


@torch.no_grad()
def collect(agent: Agent, simulators: Simulators, work: Any) -> tuple[torch.Tensor, ...]:
    """Return flat observations, actions, log probabilities, advantages and returns."""
    rows = []
    for _ in range(work.steps // work.num_envs):
        observations = simulators.observations
        policy = agent.distribution(observations)
        actions = policy.sample()
        rewards, ended = simulators.step(actions)
        values = agent.value(observations)[:, 0]
        rows.append((observations, actions, policy.log_prob(actions).sum(1), values, rewards, ended.float()))
    observations, actions, log_probs, values, rewards, ended = map(torch.stack, zip(*rows, strict=True))
    advantages, total = torch.zeros_like(rewards), torch.zeros(work.num_envs)
    following = agent.value(simulators.observations)[:, 0]
    for t in reversed(range(len(rewards))):
        alive = 1 - ended[t]
        delta = rewards[t] + work.discount * alive * following - values[t]
        total = delta + work.discount * work.gae_lambda * alive * total
        advantages[t], following = total, values[t]
    return tuple(x.flatten(0, 1) for x in (observations, actions, log_probs, advantages, advantages + values))


def improve(agent: Agent, optimizer: torch.optim.Adam, batch: tuple[torch.Tensor, ...], work: Any) -> None:
    """Take the epochs of clipped steps over minibatches."""
    for _ in range(work.epochs):
        for rows in torch.randperm(work.steps).split(work.minibatch):
            observations, actions, log_probs, advantages, returns = (x[rows] for x in batch)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            ratio = (agent.distribution(observations).log_prob(actions).sum(1) - log_probs).exp()
            clipped = ratio.clamp(1 - work.clip, 1 + work.clip)
            gain = torch.min(ratio * advantages, clipped * advantages).mean()
            loss = 0.5 * (agent.value(observations)[:, 0] - returns).square().mean() - gain
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), work.max_gradient_norm)
            optimizer.step()


def train(work: Any, threads: int | None) -> Times:
    """Train; threads: of PyTorch, whose own choice is kept if None."""
    torch.manual_seed(0)
    torch.set_num_threads(threads or torch.get_num_threads())
    simulators = Simulators(work)
    inputs, actions = simulators.pool.observation_space.shape[0], simulators.pool.action_space.shape[0]
    agent = Agent(inputs, actions)
    optimizer = torch.optim.Adam(agent.parameters(), work.step_size, eps=1e-5)
    for _ in range(work.updates):
        begin = time.perf_counter()
        batch = collect(agent, simulators, work)
        middle = time.perf_counter()
        improve(agent, optimizer, batch, work)
        yield middle - begin, time.perf_counter() - middle
