"""Lecture 11a: actor and critic. The policy moves by log pi times advantage, the value function towards the return.

    loss = mean over steps of  - log pi(a|s) A  - entropy_weight H(pi(.|s))  + value_weight (R - V(s))^2 / 2

R is the n-step return, bootstrapped with V where the steps were cut, and A = R - V(s) counts as a constant. Policy and
value function are two perceptrons in one flat vector, theta = (policy, value), so that both travel together.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import AnnealingSettings, Context, Member
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER as OPTIMISER
from minitrpo.algorithms.options import option
from minitrpo.block_sums import ordered_sum
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.perceptron import Linearisation, Sizes, activations, count_parameters, initialise_mlp, unflatten
from minitrpo.policies import ActFunction, Acting, Array, Policy
from minitrpo.returns import discounted_sums, gae, next_values

# rl-zoo's lambda and entropy, and a step size that falls; the others were found on seeds 100 and 101
MUJOCO: dict[str, Any] = {"anneal": "step-size", "gae_lambda": 0.9, "entropy_weight": 0.0}
LOCOMOTION = MUJOCO | {"total_steps": 1_000_000, "step_size": 1e-3, "reward_scale": 0.01}
BY_ENV: dict[str, dict[str, Any]] = {  # presets for single environments
    "CartPole-v1": {"total_steps": 200_000, "anneal": "step-size"},
    "Pendulum-v1": {"total_steps": 1_000_000, "discount": 0.9, "entropy_weight": 0.0, "step_size": 1e-3},
    "Reacher-v5": MUJOCO | {"total_steps": 500_000, "step_size": 3e-3, "initial_log_std": -2.0, "discount": 0.95},
    # unsteady: 1,008 and 252 on seeds 101 and 102, and over a million steps 211 on 102
    "Hopper-v5": LOCOMOTION | {"total_steps": 300_000, "initial_log_std": -1.0, "step_size": 3e-3, "gae_lambda": 0.95},
    "HalfCheetah-v5": LOCOMOTION | {"initial_log_std": -2.0},
}
LONGER = ("Hopper-v5", "HalfCheetah-v5")  # where rl-zoo's 8 steps ahead serve better than 5
LOGGED = ("entropy", "value_loss", "value", "gradient_norm")  # of a gradient; its norm after it was shortened


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
class ActorCritic(Acting):
    """A policy and a value function as wide as it, in one vector; acts as the policy in its first part."""

    policy: Policy

    @property
    def noise_size(self) -> int:  # type: ignore[override]
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
class ActorCriticSettings(AnnealingSettings):
    """What everyone can be told who moves policy and value function together."""

    discount: float = option(0.99, "discount per step (gamma)", "Mnih et al. 2016", above=0, most=1)
    gae_lambda: float = option(
        1.0, "lambda of the returns; 1: as far ahead as the steps go", "Schulman et al. 2016; rl-zoo: 0.9",
        least=0, most=1,
    )  # fmt: skip
    reward_scale: float = option(
        1.0, "rewards are learned from times this, and V is in its unit", "chainerrl; rl-zoo: 1 / a running deviation",
        above=0, most=1e9,
    )  # fmt: skip
    entropy_weight: float = option(0.01, "how much entropy is worth, per nat", "Mnih et al. 2016", least=0, most=1e3)
    value_weight: float = option(
        0.5, "weight of half of the value function's squared error", "baselines: 0.5 of the whole", above=0, most=1e3
    )
    max_gradient_norm: float = option(
        0.5, "longer gradients are shortened to it, policy's and value's each", "baselines: 0.5", above=0
    )
    optimiser: str = option("adam", "what makes a step of the gradient", "Mnih: rmsprop", tuple(OPTIMISERS))


@dataclass(frozen=True)
class Steps:
    """N steps in E fragments: what the gradient is computed from; observations as the policy saw them."""

    observations: Array  # (N, D)
    actions: Array
    rewards: Array  # (N,)
    last: Array  # (N,) bool
    terminated: Array  # (N,) bool
    final_observations: Array  # (E, D)

    @classmethod
    def of(cls, f: Fragments) -> "Steps":
        """Return those of fragments."""
        return cls(f.observations, f.actions, f.rewards, f.last, f.terminated_steps, f.final_observations)


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


def returns_of(steps: Steps, values: Array, final_values: Array, settings: ActorCriticSettings) -> Array:
    """Return R, (N,): `bootstrapped_returns`, or GAE's mixture of shorter ones with a lambda below 1."""
    s, last, terminated = settings, steps.last, steps.terminated
    rewards = s.reward_scale * steps.rewards
    if s.gae_lambda == 1.0:
        return bootstrapped_returns(rewards, final_values, last, terminated, s.discount)
    after = next_values(values, final_values, last, terminated)
    return gae(rewards, values, after, last, s.discount, s.gae_lambda)[1]


def actor_critic_gradient(
    model: ActorCritic, theta: Array, steps: Steps, settings: ActorCriticSettings
) -> tuple[Array, dict[str, float]]:
    """Return the gradient of the loss at theta, (P,), each network's shortened to the largest norm; and LOGGED."""
    actor, critic = model.split(theta)
    at = LogProbability(model.policy, actor, steps.observations, steps.actions)
    value = Linearisation(critic, model.value_sizes, steps.observations)
    values = value.outputs[:, 0].copy()
    returns = returns_of(steps, values, model.values(theta, steps.final_observations), settings)
    gradient = loss_gradient(at, value, returns, settings)
    told = (float(np.mean(at.entropy)), float(np.mean((returns - values) ** 2)) / 2, float(np.mean(values)))
    return gradient, logged(gradient, told)


def logged(gradient: Array, told: Iterable[float]) -> dict[str, float]:
    """Return LOGGED of a gradient; told: entropy, value_loss and value, means over its steps."""
    return dict(zip(LOGGED, (*told, float(np.sqrt(gradient @ gradient))), strict=True))


# --- the same from sums over fragments, of which nobody sees more than one


def gradient_sums(model: ActorCritic, theta: Array, steps: Steps, settings: ActorCriticSettings) -> Array:
    """Return (P + 4,): the sums over these steps of the gradient, not shortened, and of LOGGED's means, and N."""
    gradient, told = actor_critic_gradient(model, theta, steps, replace(settings, max_gradient_norm=np.inf))
    return len(steps.rewards) * np.concatenate([gradient, [told[name] for name in LOGGED[:-1]], [1.0]])


def pooled_gradient(
    model: ActorCritic, sums: Array, settings: ActorCriticSettings
) -> tuple[Array, dict[str, float], int]:
    """Return what `actor_critic_gradient` does of all steps, up to rounding, and N; sums: (W, P + 4), a row per worker.

    The sum of all rows is shortened, once: a gradient of few steps is longer than that of many.
    """
    total = ordered_sum(sums)
    gradient, told = np.split(total[:-1] / total[-1], [-3])
    actor, critic = (clipped_norm(part, settings.max_gradient_norm) for part in model.split(gradient))
    gradient = np.concatenate([actor, critic])
    return gradient, logged(gradient, told.tolist()), int(total[-1])


# --- the member, whichever loop plays it


class ActorCriticMember(Member):
    """What the members have in common, with a barrier and without."""

    columns = LOGGED
    chart, chart_label = ("entropy",), "entropy (nats)"

    def __init__(self, settings: ActorCriticSettings, context: Context) -> None:
        self.settings: Any = settings
        self.context, self.step_size = context, settings.step_size_in(context)
        self.model: Any = context.policy

    @staticmethod
    def make_policy(settings: ActorCriticSettings, policy: Policy) -> ActorCritic:
        """Return the policy with a value function beside it in theta."""
        return ActorCritic(policy)

    def state(self) -> Nested:
        """Return theta and the optimiser's arrays before the first step."""
        theta = self.model.initialise(self.context.generator(Purpose.POLICY))
        return {"theta": theta, "optimiser": initial_state(self.settings.optimiser, len(theta))}
