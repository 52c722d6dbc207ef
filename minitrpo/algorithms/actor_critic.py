"""Lecture 11a: actor and critic. The policy moves by log pi times advantage, the value function towards the return.

    loss = mean over steps of  - log pi(a|s) A  - entropy_weight H(pi(.|s))  + value_weight (R - V(s))^2 / 2

R is the n-step return, bootstrapped with V where the steps were cut, and A = R - V(s) counts as a constant. Policy and
value function are two perceptrons in one flat vector, theta = (policy, value), so that both travel together.

With a barrier (A2C) all environments take t_max steps, then theta takes one:

    1. t_max steps of every environment, on all ranks ... experience/rollouts.py: Rollouts.advance
    2. the samples travel to the root, or 4's sums do ... algorithms/actor_critic.py: A2C.prepare
    3. R_t = r_t + gamma R_{t+1}, from V or 0 at a cut .. algorithms/actor_critic.py: bootstrapped_returns
    4. grad log pi (R - V) + c grad H, and grad (R - V)^2 algorithms/actor_critic.py: loss_gradient
    5. one step of the optimiser ........................ algorithms/actor_critic.py: A2C.learn

As typed samples travel: the root learns from 5 steps of 16 environments in less time than it would take to add up 16
gradients of ten thousand numbers each. With `--travels gradients` the rank that played a fragment sends the sum of its
gradients; the root adds all sums in the order of the environments and shortens the result, once. Each has the same bits
on any number of ranks; the two agree up to rounding.

Without one (A3C) each worker, until the work is over (parallel/parameter_server.py: work_through),

    1. pulls theta ...................................... parallel/parameter_server.py: ParameterServer.pull
    2. plays t_max steps of its environments ............ experience/rollouts.py: Rollouts.advance
    3. R_t = r_t + gamma R_{t+1}, from V or 0 at a cut .. algorithms/actor_critic.py: bootstrapped_returns
    4. grad log pi (R - V) + c grad H, and grad (R - V)^2 algorithms/actor_critic.py: loss_gradient
    5. pushes the gradient, however old by now .......... parallel/parameter_server.py: ParameterServer.push
    6. a step of the shared optimiser, where theta is ... algorithms/asynchronous_algorithm.py: descend

Source: Mnih et al. 2016, algorithm S3.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

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
from minitrpo.algorithms.samples import samples_of
from minitrpo.block_sums import ordered_sum
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.perceptron import Linearisation, Sizes, activations, count_parameters, initialise_mlp, unflatten
from minitrpo.policies import ActFunction, Acting, Array, Policy
from minitrpo.policy_gradient import LogProbability
from minitrpo.returns import discounted_sums, gae, next_values

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
    entropy_weight: float = option(0.01, "weight of the entropy, per nat", "Mnih et al. 2016", least=0, most=1e3)
    value_weight: float = option(
        0.5, "weight of half of the value function's squared error", "baselines: 0.5 of the whole", above=0, most=1e3
    )
    max_gradient_norm: float = option(
        0.5, "largest norm of the gradients of policy and value function, each", "baselines: 0.5", above=0
    )
    optimiser: str = option("adam", "optimiser", "Mnih: rmsprop", tuple(OPTIMISERS))


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
    # 4. the gradient of the loss, not of what climbs: mind the signs; shorten each part, the policy's first
    return np.concatenate([clipped_norm(-ascent, s.max_gradient_norm), clipped_norm(descent, s.max_gradient_norm)])


def actor_critic_gradient(
    model: ActorCritic, theta: Array, samples: Arrays, settings: ActorCriticSettings
) -> tuple[Array, dict[str, float]]:
    """Return the gradient of the loss at theta, (P,), each network's shortened to the largest norm; and LOGGED.

    R is that of `bootstrapped_returns`, or GAE's mixture of shorter ones with a lambda below 1.
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


def gradient_sums(model: ActorCritic, theta: Array, samples: Arrays, settings: ActorCriticSettings) -> Array:
    """Return (P + 4,): the sums over a fragment of the gradient, not shortened, and of LOGGED's means, and N."""
    gradient, means = actor_critic_gradient(model, theta, samples, replace(settings, max_gradient_norm=np.inf))
    return len(samples["rewards"]) * np.concatenate([gradient, [means[name] for name in LOGGED[:-1]], [1.0]])


def pooled_gradient(
    model: ActorCritic, sums: Array, settings: ActorCriticSettings
) -> tuple[Array, dict[str, float], int]:
    """Return what `actor_critic_gradient` does of all steps, up to rounding, and N; sums: (W, P + 4), a row per worker.

    The sum of all rows is shortened, once: a gradient of few steps is longer than that of many.
    """
    total = ordered_sum(sums)
    gradient, means = np.split(total[:-1] / total[-1], [-3])
    gradient = np.concatenate([clipped_norm(part, settings.max_gradient_norm) for part in model.split(gradient)])
    logged = dict(zip(LOGGED, (*means.tolist(), float(np.sqrt(gradient @ gradient))), strict=True))
    return gradient, logged, int(total[-1])


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


@dataclass(frozen=True)
class A2CSettings(ActorCriticSettings):
    """Settings of the synchronous algorithms."""

    travels: str = option(
        "samples", "ranks send samples, or sums of gradients; equal except for rounding", "",
        ("samples", "gradients"),
    )  # fmt: skip


class A2C(ActorCriticMember, Algorithm):
    """Every update is one step of the actor-critic loss over num_envs x t_max steps; t_max by --steps-per-update."""

    Settings = A2CSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "5 steps of 16 environments per update",
            {**SEGMENTS, "steps_per_update": 80, "record_every": 50, "step_size": 5e-3},
            BY_ENV | {env: BY_ENV[env] | {"steps_per_update": 128} for env in LONGER},
        )
    }

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls.learn is A2C.learn:
            refuse_other_network(policy, ActorCritic, ("split", "distribution", "value_sizes", "values"))

    def __init__(self, settings: A2CSettings, context: Context) -> None:
        super().__init__(settings, context)
        fresh = super().state()
        self.theta, self.optimiser, self.env_steps = fresh["theta"], fresh["optimiser"], 0

    def plan(self) -> Plan:
        return Plan(self.theta)

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        samples = samples_of(fragment)
        if self.settings.travels == "samples":
            return samples
        return {"sums": gradient_sums(self.model, plan.theta, samples, self.settings)[None]}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        s = self.settings
        if s.travels == "samples":
            gradient, logged = actor_critic_gradient(self.model, self.theta, batch, s)
            steps = len(batch["rewards"])
        else:
            gradient, logged, steps = pooled_gradient(self.model, batch["sums"], s)
        self.optimiser, step = OPTIMISERS[s.optimiser](self.optimiser, gradient, self.step_size(self.env_steps))
        self.theta = self.theta - step
        self.env_steps += steps
        return logged

    def state(self) -> Nested:
        return {"theta": self.theta, "optimiser": self.optimiser, "env_steps": np.array([self.env_steps])}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.optimiser = arrays["theta"], arrays["optimiser"]
        self.env_steps = int(arrays["env_steps"][0])


class OnlineActorCritic(A2C):
    """The same with t_max = 1: an update after every step of the environments.

    Unlike the book's: 16 environments, Adam, an entropy term, and no factor gamma^t at the t-th step of an episode.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "one step of 16 environments per update",
            {**SEGMENTS, "steps_per_update": 16, "record_every": 250, "step_size": 2e-3},
            BY_ENV,
        )
    }


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
