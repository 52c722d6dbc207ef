"""Lecture 12: Batch PPO with continuous training: N simulators go on through all updates, one every T steps of each.

    ratio = pi_theta(a|s) / pi_old(a|s),  L = mean( min(ratio A, clip(ratio, 1 - e, 1 + e) A) ) + c H,  ascended by Adam
    in K epochs of minibatches (Schulman et al. 2017, equation 7). The continuous training is `--requests segments`: an
    environment that ends is reset at once, and V(final observation) stands in for what a cut takes away.

The value function is a network of its own, so policy and value function share nothing but the samples: with --learner
sharded one rank steps the one while another fits the other.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.accepted import accepted
from minitrpo.algorithms.batch_ppo_settings import PRESETS, BatchPPOSettings
from minitrpo.algorithms.interface import Arrays, Context, Design, Plan, Preset
from minitrpo.algorithms.samples import judged, named, samples_of
from minitrpo.critics import MLPCritic
from minitrpo.experience.continuous import MovingAverage
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import adam, clipped_norm, initial_state
from minitrpo.policies import Array, Policy
from minitrpo.returns import explained_variance, standardise

WINDOW = 100  # episodes in the moving average of returns


def clipped_objective(ratio: Array, advantages: Array, clip: float) -> Array:
    """Return min(ratio A, clip(ratio, 1 - e, 1 + e) A) of each step, (n,), e = clip (inf: none): no gain beyond it."""
    return np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages)


def objective_slope(ratio: Array, advantages: Array, clip: float) -> Array:
    """Return the derivative of `clipped_objective` in log pi(a|s), (n,): ratio A, or 0 in two of the four corners.

    A good action that is likelier by the clip already, and a bad one that is rarer, are left alone. The other two
    corners are mistakes of the steps before, and are mended. At the border itself, ratio = 1 +- e, it is ratio A.
    """
    # 1. inside, d ratio / d log pi = ratio
    slope = ratio * advantages
    # 2. good and likelier already, bad and rarer already
    slope[np.where(advantages > 0, ratio > 1 + clip, ratio < 1 - clip)] = 0.0
    return slope


def remaining(steps: int, horizon: int) -> float:
    """Return what is left of a schedule that falls linearly from 1 to 0 over `horizon` steps; 1 without a horizon."""
    return max(0.0, 1 - steps / horizon) if horizon > 0 else 1.0


def minibatches(rng: np.random.Generator, rows: int, size: int) -> Array:
    """Return shuffled row numbers (count, size); the last minibatch is filled up with rows of the first."""
    size = min(size, rows)
    return np.resize(rng.permutation(rows), (-(-rows // size), size))


@dataclass(frozen=True)
class Ascent:
    """How an update climbs: epochs, minibatches, and the step size and clip that are left of the schedule."""

    epochs: int
    minibatch: int
    clip: float
    step_size: float
    entropy: float = 0.0
    max_gradient_norm: float = 0.5
    standardise: str = "minibatch"

    def climb(
        self, policy: Policy, theta: Array, memory: Arrays, samples: Arrays, rng: np.random.Generator
    ) -> tuple[Array, Arrays, dict[str, float]]:
        """Return theta and Adam's memory after all minibatches, and what the last epoch saw of kl and clipping.

        samples: observations, actions and advantages of the policy `theta`, with a row per step.
        """
        observations, actions, advantages = (samples[name] for name in ("observations", "actions", "advantages"))
        observations = observations.astype(theta.dtype)
        actions = actions.astype(theta.dtype) if actions.dtype.kind == "f" else actions
        advantages = (standardise(advantages) if self.standardise == "batch" else advantages).astype(theta.dtype)
        old_log_prob = LogProbability(policy, theta, observations, actions).log_prob
        seen: list[tuple[Array, Array]] = []
        for epoch in range(self.epochs):
            order = minibatches(rng, len(advantages), self.minibatch)
            weights = advantages[order]
            if self.standardise == "minibatch":  # all of an epoch's at once
                weights = (weights - weights.mean(axis=1, keepdims=True)) / (weights.std(axis=1, keepdims=True) + 1e-8)
            given = (observations[order], actions[order], weights, old_log_prob[order])
            for o, a, advantage, old in zip(*given, strict=True):
                gradient, at = self.gradient(policy, theta, o, a, advantage, old)
                memory, step = adam(
                    memory, clipped_norm(gradient, self.max_gradient_norm), self.step_size, epsilon=1e-5
                )
                theta = theta + step
                if epoch == self.epochs - 1:
                    seen.append((at.log_prob - old, at.entropy))
        log_ratio, entropy = (np.concatenate(each) for each in zip(*seen, strict=True))
        return theta, memory, watched(log_ratio, entropy, self.clip)

    def gradient(
        self, policy: Policy, theta: Array, observations: Array, actions: Array, advantages: Array, old_log_prob: Array
    ) -> tuple[Array, LogProbability]:
        """Return the gradient (P,) of the objective on one minibatch, and what the policy says of it."""
        at = LogProbability(policy, theta, observations, actions)
        slopes = objective_slope(np.exp(at.log_prob - old_log_prob), advantages, self.clip)
        slopes /= len(slopes)
        return at.weighted_gradient(slopes, self.entropy / len(slopes)), at


def watched(log_ratio: Array, entropy: Array, clip: float) -> dict[str, float]:
    """Return the estimate mean(ratio - 1 - log ratio) of KL(old||new), the ratios beyond the clip, and the entropy."""
    log_ratio = log_ratio.astype(float)
    ratio = np.exp(log_ratio)
    beyond = np.abs(ratio - 1) > clip
    kl = np.mean(ratio - 1 - log_ratio)
    return {"kl": float(kl), "clip_fraction": float(np.mean(beyond)), "entropy": float(np.mean(entropy, dtype=float))}


class BatchPPO:
    """Policy and value function of one run, both float32, and the update that moves them."""

    Settings = BatchPPOSettings
    columns = ("average_return", "kl", "clip_fraction", "entropy", "step_size", "explained_variance")
    chart, chart_label = ("kl",), "KL (nats)"
    design = Design(
        "every n steps",
        "barrier",
        "samples",
        "root or two",
        "on-policy",
        "Schulman et al. 2017; ChainerRL",
    )
    presets: ClassVar[dict[str, Preset]] = PRESETS

    def __init__(self, settings: BatchPPOSettings, context: Context) -> None:
        s = settings
        self.settings, self.policy, self.context = s, context.policy, context
        self.critic = MLPCritic(
            context.policy.observation_size, context.policy.hidden, s.epochs, s.minibatch, s.critic_step_size
        )
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY)).astype(np.float32)
        self.memory = initial_state("adam", len(self.theta), np.float32)
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        self.steps, self.average_return = 0, MovingAverage(WINDOW)
        self._critic_rank = min(1, context.comm.size - 1)  # rank 0 steps the policy; more ranks than 2 have no part

    def plan(self) -> Plan:
        """Return the policy."""
        return Plan(self.theta.astype(np.float64))

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the samples."""
        return samples_of(fragment) | {"ended": fragment.ended, "returns": fragment.returns}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take K epochs of policy and value function over everybody's samples."""
        s = self.settings
        with self.context.span("advantages"):
            batch = batch | judged(self.critic, self.critic_state, batch, s.discount, s.gae_lambda)
        ascent = self.ascent()
        critic_needs = {name: batch[name] for name in ("observations", "timesteps", "targets")}
        with self.context.span("exchange"):
            self.context.comm.broadcast(critic_needs | named("critic_", self.critic_state))
        policy_rng, critic_rng = rng.spawn(2)
        with self.context.span("policy"):
            climbed = ascent.climb(self.policy, self.theta, self.memory, batch, policy_rng)
        self.theta, self.memory, seen = climbed
        self.critic_state = self._fit_critic(critic_needs, self.critic_state, critic_rng)
        self.steps += len(batch["rewards"])
        self.average_return.extend(batch["returns"][batch["ended"]])
        return {
            "average_return": self.average_return.mean,
            **seen,
            "step_size": ascent.step_size,
            "explained_variance": explained_variance(batch["values"], batch["targets"]),
        }

    def ascent(self) -> Ascent:
        """Return how the next update climbs."""
        s = self.settings
        left = remaining(self.steps, s.anneal_steps or self.context.total_steps)
        step_size = s.step_size * (left if s.anneal in ("both", "step-size") else 1.0)
        clip = s.clip * (left if s.anneal in ("both", "clip") else 1.0)
        return Ascent(s.epochs, s.minibatch, clip, step_size, s.entropy, s.max_gradient_norm, s.standardise)

    def assist(self, plan: Plan, rng: np.random.Generator) -> None:
        """Fit the value function, if this rank is the one that does."""
        given = self.context.comm.broadcast({})
        self._fit_critic(given, {name: given[f"critic_{name}"] for name in self.critic_state}, rng.spawn(2)[1])

    def _fit_critic(self, samples: Arrays, state: Arrays, rng: np.random.Generator) -> Arrays:
        """Return the value function's new state, fitted here or received from the rank that fits it."""
        comm = self.context.comm
        if comm.rank == self._critic_rank:
            with self.context.span("critic"):
                observations, timesteps, targets = (samples[name] for name in ("observations", "timesteps", "targets"))
                state = self.critic.fit(state, observations, timesteps, targets, rng)
        with self.context.span("exchange"):
            return comm.broadcast(state, self._critic_rank)

    def state(self) -> Arrays:
        """Return policy, Adam's memory, value function, and where the schedule and the moving average stand."""
        own = {"theta": self.theta.astype(np.float64), "steps": np.array([self.steps])}
        own |= {"last_returns": self.average_return.to_vector()}
        return {**own, **named("optimiser_", self.memory), **named("critic_", self.critic_state)}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        self.theta = arrays["theta"].astype(np.float32)
        self.memory = accepted(arrays, self.memory, "optimiser_")
        self.critic_state = accepted(arrays, self.critic_state, "critic_")
        if arrays["steps"].shape != (1,) or arrays["last_returns"].shape != (WINDOW,):
            raise ValueError("steps or last_returns have another shape")
        self.steps = int(arrays["steps"][0])
        self.average_return.restore(arrays["last_returns"])
