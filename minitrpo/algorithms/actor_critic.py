"""Lecture 11: actor and critic. The policy moves by log pi times advantage, the value function towards the return.

    loss = mean over steps of  - log pi(a|s) A  - entropy_weight H(pi(.|s))  + value_weight (R - V(s))^2 / 2

R is the n-step return, bootstrapped with V where the steps were cut, and A = R - V(s) counts as a constant. Policy and
value function are two perceptrons in one flat vector, theta = (policy, value), so that both travel together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.algorithms.options import option
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import OPTIMISERS, clipped_norm
from minitrpo.perceptron import Linearisation, Sizes, activations, count_parameters, initialise_mlp, unflatten
from minitrpo.policies import ActFunction, Array, Policy
from minitrpo.returns import discounted_sums

BY_ENV: dict[str, dict[str, Any]] = {  # presets for single environments
    "CartPole-v1": {"total_steps": 200_000, "anneal_steps": 200_000},
    "Pendulum-v1": {"total_steps": 1_000_000, "discount": 0.9, "entropy_weight": 0.0, "step_size": 1e-3},
}
LOGGED = ("entropy", "value_loss", "value", "gradient_norm")  # what is told of a gradient
OPTIMISER = "optimiser_"  # how an optimiser's arrays are called beside theta


def bootstrapped_returns(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return R_t = r_t + discount R_{t+1}, (N,), to the end of each fragment, and V(final observation) after a cut.

    final_values: one per fragment, in order; last, terminated: masks (N,); where the task terminated nothing comes
    after. Source: Mnih et al. 2016, algorithm S3.
    """
    # 1. a copy of the rewards, in floats: what follows changes it
    rewards = rewards.astype(float)
    # 2. what comes after a fragment's last step: nothing where the task terminated, V where it was cut
    rewards[last] += discount * np.where(terminated[last], 0.0, final_values)
    # 3. lecture 01's discounted_sums walks back through every fragment
    return discounted_sums(rewards, discount, last)


@dataclass(frozen=True)
class ActorCritic:
    """A policy and a value function as wide as it, in one vector; acts as the policy in its first part."""

    policy: Policy

    @property
    def noise_size(self) -> int:
        """Return how many random numbers an action takes."""
        return self.policy.noise_size

    @property
    def value_sizes(self) -> Sizes:
        """Return the (inputs, outputs) of every layer of the value function."""
        *hidden, (width, _) = self.policy.sizes
        return [*hidden, (width, 1)]

    def split(self, theta: Array) -> tuple[Array, Array]:
        """Return the parts of theta that are the policy's and the value function's, as views."""
        size = len(theta) - count_parameters(self.value_sizes)
        return theta[:size], theta[size:]

    def initialise(self, rng: np.random.Generator) -> Array:
        """Return a fresh theta (P,)."""
        return np.concatenate([self.policy.initialise(rng), initialise_mlp(rng, self.value_sizes, last_gain=1.0)])

    def distribution(self, theta: Array, observations: Array) -> Array:
        """Return the policy's dist_params, (N, K)."""
        return self.policy.distribution(self.split(theta)[0], observations)

    def values(self, theta: Array, observations: Array) -> Array:
        """Return V(s), (N,)."""
        return activations(unflatten(self.split(theta)[1], self.value_sizes), observations)[-1][:, 0]

    def draw_noise(self, rng: np.random.Generator, steps: int) -> Array:
        """Return what actions need for this many steps."""
        return self.policy.draw_noise(rng, steps)

    def act_function(self, theta: Array) -> ActFunction:
        """Return the function (observations, noise, rows in use) -> actions."""
        return self.policy.act_function(self.split(theta)[0])

    def mode(self, dist_params: Array) -> Array:
        """Return the most probable actions."""
        return self.policy.mode(dist_params)


@dataclass(frozen=True)
class ActorCriticSettings:
    """What everyone can be told who moves policy and value function together."""

    discount: float = option(0.99, "discount per step (gamma)", "Mnih et al. 2016", above=0, most=1)
    entropy_weight: float = option(0.01, "how much entropy is worth, per nat", "Mnih et al. 2016", least=0, most=1e3)
    value_weight: float = option(0.5, "weight of the value function's error", "baselines: 0.5", above=0, most=1e3)
    max_gradient_norm: float = option(
        0.5, "longer gradients are shortened to it, policy's and value's each", "baselines: 0.5", above=0
    )
    optimiser: str = option("adam", "what makes a step of the gradient", "Mnih: rmsprop", tuple(OPTIMISERS))
    step_size: float = option(1e-3, "the optimiser's step size", "", above=0, most=1e3)
    anneal_steps: int = option(
        0, "environment steps over which the step size falls to 0 in a line; 0: it never falls", "Mnih et al. 2016",
        least=0, most=10**15,
    )  # fmt: skip

    def step_size_at(self, env_steps: int) -> float:
        """Return the step size after so many environment steps."""
        return self.step_size * max(0.0, 1 - env_steps / self.anneal_steps) if self.anneal_steps else self.step_size


@dataclass(frozen=True)
class Steps:
    """N steps in E fragments: what the gradient is computed from; observations as the policy saw them."""

    observations: Array  # (N, D)
    actions: Array
    rewards: Array  # (N,)
    last: Array  # (N,) bool
    terminated: Array  # (N,) bool
    final_observations: Array  # (E, D)


def loss_gradient(at: LogProbability, value: Linearisation, returns: Array, settings: ActorCriticSettings) -> Array:
    """Return the gradient of the loss, (P,): the policy's part, then the value's, each shortened to the largest norm.

    at, value: policy and value function at N steps; V(s) is value.outputs, (N, 1). returns: R, (N,), constants.
    settings: entropy_weight, value_weight, max_gradient_norm.
    """
    s, n = settings, len(returns)
    # 1. advantages: constants from here on
    advantages = returns - value.outputs[:, 0]
    # 2. the policy's part: up the log probabilities by A / N, and up the entropy
    ascent = at.weighted_gradient(advantages / n, s.entropy_weight / n)
    # 3. the value's part: down the squared error; transposed_product wants slopes (N, 1)
    descent = value.transposed_product((-s.value_weight / n * advantages)[:, None])
    # 4. the gradient of the *loss*: mind the signs; shorten each part, the policy's first
    return np.concatenate([clipped_norm(-ascent, s.max_gradient_norm), clipped_norm(descent, s.max_gradient_norm)])


def actor_critic_gradient(
    model: ActorCritic, theta: Array, steps: Steps, settings: ActorCriticSettings
) -> tuple[Array, dict[str, float]]:
    """Return the gradient of the loss at theta, (P,), each network's shortened to the largest norm; and LOGGED."""
    actor, critic = model.split(theta)
    at = LogProbability(model.policy, actor, steps.observations, steps.actions)
    value = Linearisation(critic, model.value_sizes, steps.observations)
    values = value.outputs[:, 0].copy()
    final_values = model.values(theta, steps.final_observations)
    returns = bootstrapped_returns(steps.rewards, final_values, steps.last, steps.terminated, settings.discount)
    gradient = loss_gradient(at, value, returns, settings)
    told = {
        "entropy": float(np.mean(at.entropy)),
        "value_loss": float(np.mean((returns - values) ** 2)) / 2,
        "value": float(np.mean(values)),
        "gradient_norm": float(np.sqrt(gradient @ gradient)),
    }
    return gradient, told
