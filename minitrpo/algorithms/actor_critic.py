"""Lecture 11: actor-critic. The policy moves by log pi times advantage, the value function towards the return.

    loss = mean over steps of  - log pi(a|s) A  - entropy_weight H(pi(.|s))  + value_weight (R - V(s))^2 / 2

R is the n-step return, bootstrapped with V where the steps were cut, and A = R - V(s) counts as a constant. Policy and
value function are two perceptrons in one flat vector, theta = (policy, value), so that both travel together.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.optimisers import clipped_norm
from minitrpo.perceptron import Linearisation, Sizes, activations, count_parameters, initialise_mlp, unflatten
from minitrpo.policies import ActFunction, Array, CategoricalPolicy, Policy, log_softmax
from minitrpo.returns import discounted_sums


def bootstrapped_returns(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return R_t = r_t + discount R_{t+1}, (N,), to the end of each fragment, and V(final observation) after a cut.

    final_values: one per fragment; where the task terminated nothing comes after. Source: Mnih et al. 2016, alg. S3.
    """
    rewards = rewards.astype(float)
    rewards[last] += discount * np.where(terminated[last], 0.0, final_values)
    return discounted_sums(rewards, discount, last)


def log_prob_slope(policy: Policy, dist_params: Array, actions: Array) -> Array:
    """Return d log pi(a|s) / d dist_params, (N, K), state by state."""
    if isinstance(policy, CategoricalPolicy):  # one-hot(a) - p
        slope = -np.exp(log_softmax(dist_params))
        slope[np.arange(len(actions)), actions] += 1.0
        return slope
    mean, log_std = np.split(dist_params, 2, axis=1)
    z = (actions - mean) * np.exp(-log_std)
    return np.concatenate([z * np.exp(-log_std), z * z - 1.0], axis=1)


def entropy_slope(policy: Policy, dist_params: Array) -> Array:
    """Return dH / d dist_params, (N, K), state by state."""
    if isinstance(policy, CategoricalPolicy):  # - p (log p + H)
        log_p = log_softmax(dist_params)
        p = np.exp(log_p)
        return -p * (log_p - np.sum(p * log_p, axis=1, keepdims=True))
    slope = np.zeros_like(dist_params)
    slope[:, dist_params.shape[1] // 2 :] = 1.0
    return slope


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
class Losses:
    """How much the parts of the loss weigh, and how long a gradient may be."""

    discount: float
    entropy_weight: float
    value_weight: float
    max_norm: float  # of the policy's and of the value function's gradient, each by itself


@dataclass(frozen=True)
class Steps:
    """N steps in E fragments: what the gradient is computed from; observations as the policy saw them."""

    observations: Array  # (N, D)
    actions: Array
    rewards: Array  # (N,)
    last: Array  # (N,) bool
    terminated: Array  # (N,) bool
    final_observations: Array  # (E, D)


def actor_critic_gradient(
    model: ActorCritic, theta: Array, steps: Steps, losses: Losses
) -> tuple[Array, dict[str, float]]:
    """Return the gradient of the loss at theta, (P,), each network's shortened to max_norm; and numbers for the log.

    By hand: the slopes of the loss in what the networks say, pulled back through the networks.
    """
    policy, n = model.policy, len(steps.rewards)
    actor, critic = model.split(theta)
    # 1. what the networks say of these steps
    network = count_parameters(policy.sizes)  # of the actor; a Gaussian's log_std comes after it
    at_policy = Linearisation(actor[:network], policy.sizes, steps.observations)
    at_value = Linearisation(critic, model.value_sizes, steps.observations)
    log_std = np.broadcast_to(actor[network:], (n, len(actor) - network))
    dist_params = np.concatenate([at_policy.outputs, log_std], axis=1)
    values = at_value.outputs[:, 0]
    # 2. returns and advantages
    final_values = model.values(theta, steps.final_observations)
    returns = bootstrapped_returns(steps.rewards, final_values, steps.last, steps.terminated, losses.discount)
    advantages = returns - values
    # 3. the slopes of the loss in dist_params and V
    slope = log_prob_slope(policy, dist_params, steps.actions) * advantages[:, None]
    slope += losses.entropy_weight * entropy_slope(policy, dist_params)
    slope /= -n
    value_slope = losses.value_weight / n * -advantages
    # 4. back through the networks
    outputs = at_policy.outputs.shape[1]
    gradient = [at_policy.transposed_product(slope[:, :outputs]), slope[:, outputs:].sum(axis=0)]
    value_gradient = at_value.transposed_product(value_slope[:, None])
    told = {
        "entropy": float(np.mean(policy.entropy(dist_params))),
        "value_loss": float(np.mean(advantages**2)) / 2,
        "value": float(np.mean(values)),
    }
    own = clipped_norm(np.concatenate(gradient), losses.max_norm)
    return np.concatenate([own, clipped_norm(value_gradient, losses.max_norm)]), told
