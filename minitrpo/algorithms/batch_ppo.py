"""Lecture 12: Batch PPO with continuous training: N simulators go on through all updates, one every T steps of each.

    ratio = pi_theta(a|s) / pi_old(a|s),  L = mean( min(ratio A, clip(ratio, 1 - e, 1 + e) A) ) + c H,  ascended by Adam

    1. play T steps of N simulators that are never restarted ... experience/rollouts.py: Rollouts.advance
    2. advantages A by GAE, V(final observation) at a cut ...... algorithms/shared_update.py: advantages_of
    3. K epochs of shuffled minibatches ........................ algorithms/batch_ppo.py: climb, minibatches
    4. each a step of Adam up the clipped objective ............ algorithms/batch_ppo.py: clipped_gradient
    5. K epochs of the value function towards the returns ...... critics.py: MLPCritic.fit
    6. step size and clip fall to 0 over the run ............... algorithms/batch_ppo.py: BatchPPO.annealed

Source: Schulman et al. 2017, equation 7 and algorithm 1; ChainerRL. Policy and value function have only the samples in
common. So with --learner sharded the root updates the policy while another rank fits the value function.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.advantages import explained_variance, standardise
from minitrpo.algorithms.algorithm import Algorithm, AnnealingSettings, Arrays, Context, Plan, Preset
from minitrpo.algorithms.options import discount_option, option, step_size_option
from minitrpo.algorithms.shared_update import SharedUpdate, advantages_of, samples_of
from minitrpo.critics import MLPCritic
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import State, adam, clipped_norm, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import LogProbability

WINDOW = 100  # episodes in the moving average of returns


def clipped_objective(ratio: Array, advantages: Array, clip: float) -> Array:
    """Return min(ratio A, clip(ratio, 1 - e, 1 + e) A) of each step: no gain beyond the clip.

    Args:
        ratio: pi_theta(a|s) / pi_old(a|s), (n,).
        advantages: A, (n,).
        clip: e, inf for none.

    Returns:
        The objective of each step, (n,).

    """
    return np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages)


def objective_slope(ratio: Array, advantages: Array, clip: float) -> Array:
    """Return the derivative of `clipped_objective` in log pi(a|s): ratio A, or 0 in two of the four corners.

    A good action that is likelier by the clip already, and a bad one that is rarer, are left alone. The other two
    corners are mistakes of the steps before, and are corrected. At the border itself, ratio = 1 +- e, it is ratio A.

    Args:
        ratio: pi_theta(a|s) / pi_old(a|s), (n,).
        advantages: A, (n,).
        clip: e, inf for none.

    Returns:
        The derivative at each step, (n,).

    """
    # 1. where nothing is clipped, d ratio / d log pi = ratio
    slope = ratio * advantages
    # 2. where the objective is smaller than that, it is clipped: good and likelier already, bad and rarer already
    slope[clipped_objective(ratio, advantages, clip) < slope] = 0.0
    return slope


def minibatches(rng: np.random.Generator, rows: int, size: int) -> Array:
    """Return the rows of an epoch in a new order, minibatch by minibatch.

    Args:
        rng: where the order comes from.
        rows: how many rows there are.
        size: of a minibatch; at most all rows.

    Returns:
        Row numbers (count, size); the last minibatch is filled up with rows of the first.

    """
    size = min(size, rows)
    return np.resize(rng.permutation(rows), (-(-rows // size), size))


def clipped_gradient(
    now: LogProbability, old_log_prob: Array, advantages: Array, clip: float, entropy: float = 0.0
) -> Array:
    """Return the gradient of the objective on one minibatch.

    Args:
        now: the policy at n steps, at today's theta.
        old_log_prob: log pi_old of the actions at these steps, (n,).
        advantages: A, (n,).
        clip: e, inf for none.
        entropy: c, the weight of the entropy.

    Returns:
        The gradient (P,) of mean( min(ratio A, clip(ratio, 1 - e, 1 + e) A) ) + c H.

    """
    ratio = np.exp(now.log_prob - old_log_prob)
    slope = objective_slope(ratio, advantages, clip)
    return now.weighted_gradient(slope / len(slope), entropy / len(slope))


def diagnostics(log_ratio: Array, entropy: Array, clip: float) -> dict[str, float]:
    """Return what the log says of the last epoch.

    Args:
        log_ratio: log pi_theta(a|s) - log pi_old(a|s), (n,), each by the theta of its minibatch.
        entropy: of the policy at the same steps, (n,).
        clip: e.

    Returns:
        kl, the estimate mean(ratio - 1 - log ratio) of KL(old||new); the fraction of ratios beyond the clip; the mean
        entropy.

    """
    log_ratio = log_ratio.astype(float)
    ratio = np.exp(log_ratio)
    beyond = np.abs(ratio - 1) > clip
    kl = np.mean(ratio - 1 - log_ratio)
    return {"kl": float(kl), "clip_fraction": float(np.mean(beyond)), "entropy": float(np.mean(entropy, dtype=float))}


# --- the algorithm

SCRIPT = "ChainerRL's Batch PPO script, 2018"


@dataclass(frozen=True)
class BatchPPOSettings(AnnealingSettings):
    """Settings of Batch PPO."""

    step_size: float = step_size_option(3e-4, "Adam's step size for the policy", SCRIPT)
    anneal: str = option("both", "what falls linearly to 0 over the run", SCRIPT, ("both", "step-size", "clip", "none"))
    discount: float = discount_option(SCRIPT)
    gae_lambda: float = option(0.95, "lambda of the advantages; 1 is Monte-Carlo", SCRIPT, least=0, most=1)
    clip: float = option(0.2, "clip range of the probability ratio around 1", SCRIPT, above=0, most=10)
    epochs: int = option(10, "epochs over the steps of an update, for policy and value function", SCRIPT, least=1)
    minibatch: int = option(64, "steps per minibatch", SCRIPT, least=1)
    critic_step_size: float = option(1e-3, "Adam's step size for the value function", above=0, most=1, finding="critic")
    entropy: float = option(
        0.0, "weight of the entropy in the objective, per nat", SCRIPT, least=0, most=1e3, finding="exploration"
    )
    max_gradient_norm: float = option(
        0.5, "largest norm of a minibatch's gradient", "baselines, stable-baselines3", above=0, most=1e6
    )
    standardise: str = option(
        "minibatch",
        "advantages have mean 0 and deviation 1 in a minibatch, in an update's batch, or as they are",
        "stable-baselines3; ChainerRL: none",
        ("minibatch", "batch", "none"),
    )


PRESETS = {
    "default": Preset(
        "ChainerRL's script with a quieter first policy: 2,048 steps of all simulators, 10 epochs, minibatches of 64",
        {"requests": "segments", "steps_per_update": 2_048, "learner": "sharded", "initial_log_std": -0.5},
        # rl-zoo's step size and minibatch, and a shorter schedule, or runs fall back from 500 (seeds 100 to 102)
        {
            "CartPole-v1": {"step_size": 1e-3, "minibatch": 256, "total_steps": 150_000},
            "Pendulum-v1": {"initial_log_std": 0.0},  # here and on Hopper as in the claims on simulators
            # a quieter first policy and rl-zoo's discount and lambda; found on seeds 100 and 101
            "Reacher-v5": {"total_steps": 500_000, "initial_log_std": -1.0, "discount": 0.95},
            "Hopper-v5": {"total_steps": 1_000_000, "initial_log_std": 0.0},
            "HalfCheetah-v5": {"total_steps": 1_000_000, "initial_log_std": -2.0, "discount": 0.98, "gae_lambda": 0.92},
        },
    )
}


def climb(
    policy: Policy,
    theta: Array,
    memory: State,
    samples: Arrays,
    settings: BatchPPOSettings,
    clip: float,
    step_size: float,
    rng: np.random.Generator,
) -> tuple[Array, State, dict[str, float]]:
    """Climb the clipped objective for some epochs of minibatches; lecture 12's function, with all settings.

    Args:
        policy: the policy.
        theta: the parameters that played, (P,); all sums have their precision.
        memory: Adam's state.
        samples: observations, actions and advantages of n steps.
        settings: epochs, minibatch, standardise, entropy and max_gradient_norm are used.
        clip: what is left of the clip.
        step_size: what is left of Adam's step size.
        rng: where the orders of the epochs come from.

    Returns:
        The new theta, Adam's new state, and the `diagnostics` of the last epoch.

    """
    s = settings
    observations, actions, advantages = (samples[name] for name in ("observations", "actions", "advantages"))
    observations = observations.astype(theta.dtype)
    actions = actions.astype(theta.dtype) if actions.dtype.kind == "f" else actions
    advantages = (standardise(advantages) if s.standardise == "batch" else advantages).astype(theta.dtype)
    old_log_prob = LogProbability(policy, theta, observations, actions).log_prob
    for _ in range(s.epochs):
        log_ratios, entropies = [], []
        for rows in minibatches(rng, len(advantages), s.minibatch):
            weights = standardise(advantages[rows]) if s.standardise == "minibatch" else advantages[rows]
            now = LogProbability(policy, theta, observations[rows], actions[rows])
            gradient = clipped_gradient(now, old_log_prob[rows], weights, clip, s.entropy)
            memory, step = adam(memory, clipped_norm(gradient, s.max_gradient_norm), step_size, epsilon=1e-5)
            theta = theta + step
            log_ratios.append(now.log_prob - old_log_prob[rows])
            entropies.append(now.entropy)
    return theta, memory, diagnostics(np.concatenate(log_ratios), np.concatenate(entropies), clip)


class BatchPPO(Algorithm):
    """Policy and value function of one run, both float32, and the update that moves them."""

    Settings = BatchPPOSettings
    columns = ("average_return", "kl", "clip_fraction", "entropy", "step_size", "explained_variance")
    chart, chart_label = ("kl",), "KL (nats)"
    presets = PRESETS
    sharded_with = ("episodes", "segments")

    def __init__(self, settings: BatchPPOSettings, context: Context) -> None:
        s = settings
        self.settings, self.policy, self.context = s, context.policy, context
        self.critic = MLPCritic(
            context.policy.observation_size, context.policy.hidden, s.epochs, s.minibatch, s.critic_step_size
        )
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY)).astype(np.float32)
        self.optimiser_state = initial_state("adam", len(self.theta), np.float32)
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        self.steps, self.last_returns = 0, np.zeros(0)
        self.left = context.schedule(s.anneal_steps) if s.anneal != "none" else lambda steps: 1.0
        self.update = SharedUpdate(context, fitters=min(1, context.comm.size - 1))  # the root steps the policy alone

    def plan(self) -> Plan:
        return Plan(self.theta.astype(np.float64))

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        return samples_of(fragment) | {"ended": fragment.ended, "returns": fragment.returns}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        s, (policy_rng, critic_rng) = self.settings, rng.spawn(2)
        step_size, clip = self.annealed()
        # 1. rank 0 computes the advantages, and broadcasts them with the batch
        if self.context.comm.rank == 0:
            with self.context.span("advantages"):
                batch = batch | advantages_of(self.critic, self.critic_state, batch, s.discount, s.gae_lambda)
        batch = self.update.broadcast(batch)
        # 2. the first rank steps the policy while the last rank fits the value function
        climbed = fitted = None
        if self.context.comm.rank == 0:
            with self.context.span("policy"):
                climbed = climb(self.policy, self.theta, self.optimiser_state, batch, s, clip, step_size, policy_rng)
        if self.update.fits_critic:
            with self.context.span("critic"):
                fitted = self.critic.fit(self.critic_state, batch, critic_rng)
        # 3. every rank takes over both
        (self.theta, self.optimiser_state, columns), self.critic_state = self.update.exchange(climbed, fitted)
        self.steps += len(batch["rewards"])
        self.last_returns = np.concatenate([self.last_returns, batch["returns"][batch["ended"]]])[-WINDOW:]
        return {
            "average_return": float(np.mean(self.last_returns)) if len(self.last_returns) else float("nan"),
            **columns,
            "step_size": step_size,
            "explained_variance": explained_variance(batch["values"], batch["targets"]),
        }

    def annealed(self) -> tuple[float, float]:
        """Return what is left, after the steps so far, of the step size and of the clip."""
        s, left = self.settings, self.left(self.steps)
        step_size = s.step_size * (left if s.anneal in ("both", "step-size") else 1.0)
        clip = s.clip * (left if s.anneal in ("both", "clip") else 1.0)
        return step_size, clip

    def state(self) -> Nested:
        return {
            "theta": self.theta.astype(np.float64),
            "optimiser": self.optimiser_state,
            "critic": self.critic_state,
            "steps": np.array([self.steps]),
            "last_returns": self.last_returns,
        }

    def restore(self, arrays: Nested) -> None:
        self.theta, self.steps = arrays["theta"].astype(np.float32), int(arrays["steps"][0])
        self.optimiser_state, self.critic_state = arrays["optimiser"], arrays["critic"]
        self.last_returns = arrays["last_returns"]
