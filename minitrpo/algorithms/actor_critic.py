"""Lecture 11a: actor and critic. The policy moves by log pi times advantage, the value function towards the return.

    loss = mean over steps of  - log pi(a|s) A  - entropy_weight H(pi(.|s))  + value_weight (R - V(s))^2 / 2

R is the n-step return, bootstrapped with V where the steps were cut, and A = R - V(s) counts as a constant. Policy and
value function are two perceptrons in one flat vector, theta = (policy, value), so that both travel together.

With a barrier (A2C) all environments take t_max steps, then theta takes one:

    1. t_max steps of every environment, on all ranks ... experience/rollouts.py: Rollouts.advance
    2. the samples travel to the root ................... algorithms/actor_critic.py: A2C.prepare
    3. R_t = r_t + gamma R_{t+1}, from V or 0 at a cut .. algorithms/actor_critic.py: bootstrapped_returns
    4. grad log pi (R - V) + c grad H, and grad (R - V)^2 algorithms/actor_critic.py: loss_gradient
    5. one step of the optimiser ........................ algorithms/actor_critic.py: A2C.learn

Samples travel, not gradients: the root learns from 5 steps of 16 environments in less time than it would take to add up
16 gradients of ten thousand numbers each.

Without a barrier (A3C) each worker repeats, until the run is over (parallel/parameter_server.py: work_through):

    1. pulls theta ...................................... parallel/parameter_server.py: ParameterServer.pull
    2. plays t_max steps of its environments ............ experience/rollouts.py: Rollouts.advance
    3. R_t = r_t + gamma R_{t+1}, from V or 0 at a cut .. algorithms/actor_critic.py: bootstrapped_returns
    4. grad log pi (R - V) + c grad H, and grad (R - V)^2 algorithms/actor_critic.py: loss_gradient
    5. pushes the gradient, however old by then ......... parallel/parameter_server.py: ParameterServer.push
    6. a step of the shared optimiser, where theta is ... algorithms/asynchronous_algorithm.py: descend

Source: Mnih et al. 2016, algorithm S3.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.advantages import discounted_sums, gae, next_values
from minitrpo.algorithms.algorithm import (
    Algorithm,
    AnnealingSettings,
    Arrays,
    Context,
    Member,
    Plan,
    Preset,
    refuse_other_network,
)
from minitrpo.algorithms.asynchronous_algorithm import (
    OPTIMISER,
    AsynchronousAlgorithm,
    AsynchronousSettings,
    Moment,
    Pushed,
    descend,
)
from minitrpo.algorithms.options import discount_option, option
from minitrpo.algorithms.shared_update import samples_of
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.perceptron import Linearisation, Sizes, activations, count_parameters, initialise_mlp, unflatten
from minitrpo.policies import ActFunction, Acting, Array, Policy
from minitrpo.policy_gradient import LogProbability

LOGGED = ("entropy", "value_loss", "value", "gradient_norm")  # of a gradient; its norm after it was shortened

# --- policy and value function in one vector


@dataclass(frozen=True)
class ActorCritic(Acting):
    """A policy and a value function as wide as it, in one vector; acts as the policy in its first part."""

    policy: Policy

    @property
    def noise_size(self) -> int:  # type: ignore[override]
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
        return np.concatenate([self.policy.initialise(rng), initialise_mlp(rng, self.value_sizes, last_gain=1.0)])

    def distribution(self, theta: Array, observations: Array) -> Array:
        return self.policy.distribution(self.split(theta)[0], observations)

    def values(self, theta: Array, observations: Array) -> Array:
        """Return V(s), (N,)."""
        return activations(unflatten(self.split(theta)[1], self.value_sizes), observations)[-1][:, 0]

    def draw_noise(self, rng: np.random.Generator, steps: int) -> Array:
        return self.policy.draw_noise(rng, steps)

    def act_function(self, theta: Array) -> ActFunction:
        return self.policy.act_function(self.split(theta)[0])

    def mode(self, dist_params: Array) -> Array:
        return self.policy.mode(dist_params)


# --- the formulas


def bootstrapped_returns(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return R_t = r_t + discount R_{t+1}, (N,), to the end of each fragment, and V(final observation) after a cut.

    Args:
        rewards: r, (N,), one fragment after the other.
        final_values: V of the observation after each fragment, (E,); it counts where the fragment was merely cut.
        last: whether a step is the last one of its fragment, (N,).
        terminated: whether the task ended with the step, (N,).
        discount: gamma.

    Returns:
        The returns R, (N,).

    Source: Mnih et al. 2016, algorithm S3.

    """
    # 1. a copy of the rewards, in floats: what follows changes it
    rewards = rewards.astype(float)
    # 2. what comes after a fragment's last step: nothing where the task terminated, V where it was cut
    rewards[last] += discount * np.where(terminated[last], 0.0, final_values)
    # 3. lecture 01's discounted_sums walks back through every fragment
    return discounted_sums(rewards, discount, last)


@dataclass(frozen=True)
class ActorCriticSettings(AnnealingSettings):
    """Settings of the algorithms that update policy and value function together."""

    discount: float = discount_option("Mnih et al. 2016")
    gae_lambda: float = option(
        1.0, "lambda of the returns; 1: full n-step returns", "Schulman et al. 2016; rl-zoo: 0.9",
        least=0, most=1,
    )  # fmt: skip
    reward_scale: float = option(
        1.0, "factor on rewards before learning; V has the same scale", "chainerrl; rl-zoo: 1 / a running deviation",
        above=0, most=1e9,
    )  # fmt: skip
    entropy_weight: float = option(
        0.01, "weight of the entropy, per nat", "Mnih et al. 2016", least=0, most=1e3, finding="exploration"
    )
    value_weight: float = option(
        0.5, "weight of half of the value function's squared error", "baselines: 0.5 of the whole", above=0, most=1e3
    )
    max_gradient_norm: float = option(
        0.5, "largest norm of the gradients of policy and value function, each", "baselines: 0.5", above=0
    )
    optimiser: str = option("adam", "optimiser", "Mnih: rmsprop", tuple(OPTIMISERS))


def loss_gradient(at: LogProbability, value: Linearisation, returns: Array, settings: ActorCriticSettings) -> Array:
    """Return the gradient of the loss: the policy's part, then the value's, each shortened to the largest norm.

    Args:
        at: the policy at N steps.
        value: the value function at the same steps; V(s) is value.outputs, (N, 1).
        returns: R, (N,), constants.
        settings: entropy_weight, value_weight and max_gradient_norm are used.

    Returns:
        The gradient, (P,).

    """
    s, n = settings, len(returns)
    # 1. advantages: constants from here on
    advantages = returns - value.outputs[:, 0]
    # 2. the policy's part: up the log probabilities by A / N, and up the entropy
    ascent = at.weighted_gradient(advantages / n, s.entropy_weight / n)
    # 3. the value's part: down the squared error; transposed_product wants slopes (N, 1)
    descent = value.transposed_product((-s.value_weight / n * advantages)[:, None])
    # 4. the gradient of the loss, not of what climbs: mind the signs; shorten each part, the policy's first
    return np.concatenate([clipped_norm(-ascent, s.max_gradient_norm), clipped_norm(descent, s.max_gradient_norm)])


def actor_critic_gradient(
    model: ActorCritic, theta: Array, samples: Arrays, settings: ActorCriticSettings
) -> tuple[Array, dict[str, float]]:
    """Return the gradient of the loss of some fragments, and what the log says of it.

    R is that of `bootstrapped_returns`, or GAE's mixture of shorter ones with a lambda below 1.

    Args:
        model: the policy and the value function.
        theta: the parameters of both, (P,).
        samples: those of `samples_of`, N steps.
        settings: of the loss.

    Returns:
        The gradient (P,), each network's part shortened to the largest norm, and the columns LOGGED.

    """
    s, last, terminated = settings, samples["last"], samples["terminated"]
    actor, critic = model.split(theta)
    at = LogProbability(model.policy, actor, samples["observations"], samples["actions"])
    value = Linearisation(critic, model.value_sizes, samples["observations"])
    values, rewards = value.outputs[:, 0].copy(), s.reward_scale * samples["rewards"]
    final_values = model.values(theta, samples["final_observations"])
    if s.gae_lambda == 1.0:
        returns = bootstrapped_returns(rewards, final_values, last, terminated, s.discount)
    else:
        after = next_values(values, final_values, last, terminated)
        returns = gae(rewards, values, after, last, s.discount, s.gae_lambda)[1]
    gradient = loss_gradient(at, value, returns, s)
    means = (float(np.mean(at.entropy)), float(np.mean((returns - values) ** 2)) / 2, float(np.mean(values)))
    return gradient, dict(zip(LOGGED, (*means, float(np.sqrt(gradient @ gradient))), strict=True))


# --- the members

SEGMENTS = {"requests": "segments", "num_envs": 16}
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
A2C_PRESET = Preset(
    "5 steps of 16 environments per update",
    {**SEGMENTS, "steps_per_update": 80, "record_every": 50, "step_size": 5e-3},
    BY_ENV | {env: BY_ENV[env] | {"steps_per_update": 128} for env in LONGER},
)
ONLINE_PRESET = Preset(
    "one step of 16 environments per update",
    {**SEGMENTS, "steps_per_update": 16, "record_every": 250, "step_size": 2e-3},
    BY_ENV,
)


class ActorCriticMember(Member):
    """What the members have in common, with a barrier and without."""

    columns = LOGGED
    chart, chart_label = ("entropy",), "entropy (nats)"

    def __init__(self, settings: Any, context: Context) -> None:
        self.settings, self.context, self.step_size = settings, context, settings.step_size_in(context)
        self.model: Any = context.policy

    @staticmethod
    def make_policy(settings: ActorCriticSettings, policy: Policy) -> ActorCritic:
        return ActorCritic(policy)

    def state(self) -> Nested:  # before the first step
        theta = self.model.initialise(self.context.generator(Purpose.POLICY))
        return {"theta": theta, "optimiser": initial_state(self.settings.optimiser, len(theta))}


# --- with a barrier


class A2C(ActorCriticMember, Algorithm):
    """Every update is one step of the actor-critic loss over num_envs x t_max steps; t_max by --steps-per-update."""

    Settings = ActorCriticSettings
    removed: ClassVar[dict[str, Any]] = {"travels": "samples"}
    presets: ClassVar = {"default": A2C_PRESET}

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls.learn is A2C.learn:
            refuse_other_network(policy, ActorCritic, ("split", "distribution", "value_sizes", "values"))

    def __init__(self, settings: ActorCriticSettings, context: Context) -> None:
        super().__init__(settings, context)
        start = super().state()
        self.theta, self.optimiser, self.env_steps = start["theta"], start["optimiser"], 0

    def plan(self) -> Plan:
        return Plan(self.theta)

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        return samples_of(fragment)

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        s = self.settings
        gradient, logged = actor_critic_gradient(self.model, self.theta, batch, s)
        self.optimiser, step = OPTIMISERS[s.optimiser](self.optimiser, gradient, self.step_size(self.env_steps))
        self.theta = self.theta - step
        self.env_steps += len(batch["rewards"])
        return logged

    def state(self) -> Nested:
        return {"theta": self.theta, "optimiser": self.optimiser, "env_steps": np.array([self.env_steps])}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.optimiser = arrays["theta"], arrays["optimiser"]
        self.env_steps = int(arrays["env_steps"][0])


class OnlineActorCritic(A2C):
    """A2C with a preset of t_max = 1: an update after every step of the environments.

    Unlike the book's: 16 environments, Adam, an entropy term, and no factor gamma^t at the t-th step of an episode.
    """

    presets: ClassVar = {"default": ONLINE_PRESET}


# --- without one


@dataclass(frozen=True)
class A3CSettings(ActorCriticSettings, AsynchronousSettings):
    """Settings of A3C."""


class A3C(ActorCriticMember, AsynchronousAlgorithm):
    """Workers play t_max steps with the policy they pulled and push the gradient of the loss of both networks."""

    Settings = A3CSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "a gradient from 5 steps of each of a worker's 8 environments: gradients of one environment are noisier",
            {"envs_per_worker": 8, "steps_per_update": 2_000, "step_size": 3e-3},
            BY_ENV | {env: BY_ENV[env] | {"t_max": 8} for env in LONGER},
        ),
        "paper": Preset(
            "nearer to Mnih et al. 2016: 5 steps of one environment, a shared RMSProp, a step size that falls over the "
            "run; but two networks, the mean over the steps where theirs is the sum, gradients shortened to 0.5 each",
            {"t_max": 5, "steps_per_update": 2_000, "optimiser": "rmsprop", "anneal": "step-size"},
        ),
    }

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls.gradient is A3C.gradient:
            refuse_other_network(policy, ActorCritic, ("split", "distribution", "value_sizes", "values"))

    def gradient(self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator) -> Pushed:
        gradient, logged = actor_critic_gradient(self.model, shared["theta"], samples_of(fragment), self.settings)
        return {"gradient": gradient}, logged

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        s = self.settings
        descend(shared, gradient["gradient"], OPTIMISERS[s.optimiser], self.step_size(now.env_steps), OPTIMISER)
