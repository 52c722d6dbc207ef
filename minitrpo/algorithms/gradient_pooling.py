"""Lecture 10: the policy gradient on many ranks, with samples travelling, or with gradients travelling.

Both forms are sums over fragments, added in episode order; so they agree to the bit, however the episodes are dealt
out. A baseline nobody knows before everybody has played is no obstacle: the gradient is linear in it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.accepted import accepted
from minitrpo.algorithms.interface import Arrays, Context, Design, Plan, Preset
from minitrpo.algorithms.options import option
from minitrpo.algorithms.samples import fragments_of, judged, named, samples_of
from minitrpo.block_sums import ordered_sum
from minitrpo.critics import Critic, LinearCritic, MLPCritic
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.policies import Array, Policy

MOMENTS = 5  # numbers about the weights and the critic's targets that travel with a gradient


def gradient_sums(policy: Policy, theta: Array, observations: Array, actions: Array, weights: Array) -> Array:
    """Return u = sum_t w_t psi_t and v = sum_t psi_t, (2P,), psi_t = grad log pi(a_t|s_t): sums, never means."""
    at = LogProbability(policy, theta, observations, actions)
    return np.concatenate([at.weighted_gradient(weights), at.weighted_gradient(np.ones_like(weights))])


def moments(weights: Array, targets: Array) -> Array:
    """Return n, sum w, sum w^2, sum y, sum y^2, (MOMENTS,), of a fragment's weights and value targets."""
    return np.array([len(weights), weights.sum(), weights @ weights, targets.sum(), targets @ targets])


def pooled_gradient(sums: Array, about: Array) -> Array:
    """Return the policy gradient (P,) of all workers' steps, with the mean weight of all steps as its baseline.

    sums: (W, 2P), a row per worker: u = sum_t w_t psi_t, then v = sum_t psi_t, over the worker's own steps.
    about: (W, 5), a row per worker: n, sum w, and three more that are not needed here. n may be 0 for some.
    """
    # 1. Add up the rows: u, v, n and sum w of all steps.
    # 2. The gradient is (u - b v) / n, with the baseline b = sum w / n.
    u, v = np.split(ordered_sum(sums), 2)
    n, total = ordered_sum(about)[:2]
    return np.asarray((u - total / n * v) / n)


def explained(about: Array) -> float:
    """Return 1 - Var(w) / Var(y): with a critic, w = y - V(s), how much of the targets its last fit explains."""
    n, w, w2, y, y2 = about.tolist()
    spread = y2 / n - (y / n) ** 2
    return 1 - (w2 / n - (w / n) ** 2) / spread if spread > 1e-12 * y2 / n else float("nan")


@dataclass(frozen=True)
class PolicyGradientSettings:
    """What the policy gradient can be told."""

    travels: str = option(
        "samples", "what ranks send: their samples, or sums of gradients; the bits are the same", "",
        ("samples", "gradients"),
    )  # fmt: skip
    critic: str = option(
        "mlp",
        "value function behind the advantages: none (reward-to-go less its mean; nothing is expected after a cut), "
        "ridge regression by summed normal equations, or a perceptron by pooled minibatch gradients",
        "",
        ("none", "linear", "mlp"),
    )
    discount: float = option(0.99, "discount per step (gamma)", "Duan et al. 2016", above=0, most=1)
    gae_lambda: float = option(
        0.97, "lambda of the advantages, with a critic; 1 is Monte-Carlo", "Schulman et al. 2016", above=0, most=1
    )
    optimiser: str = option("adam", "what makes a step of the gradient", "", tuple(OPTIMISERS))
    step_size: float = option(0.01, "the optimiser's step size for the policy", above=0, most=1e3)
    critic_epochs: int = option(
        10, "passes over the batch per fit of the mlp critic", "rl-zoo and others: 5 to 20", least=1
    )
    critic_minibatch: int = option(
        256, "steps per minibatch of the mlp critic, a multiple of 4 or the next one", "rl-zoo: 128", least=1
    )
    critic_step_size: float = option(2e-3, "Adam's step size for the mlp critic", "rl-zoo: 1e-3", above=0, most=1)


@dataclass(frozen=True)
class NoCritic:
    """V(s) = 0: advantages are what was received from a step on."""

    def initialise(self, rng: np.random.Generator) -> Arrays:
        """Return nothing."""
        return {}

    def predict(self, state: Arrays, observations: Array, times: Array) -> Array:
        """Return zeros (N,)."""
        return np.zeros(len(times))


class PolicyGradient:
    """Policy and critic of one run; each fragment's share of the update is computed in one place or another."""

    Settings = PolicyGradientSettings
    columns = ("gradient_norm", "explained_variance")
    design = Design("batch", "barrier", "samples or gradients", "root or all", "on-policy", "Frans 2016; Williams 1992")
    presets: ClassVar[dict[str, Preset]] = {"default": Preset("many small updates", {"steps_per_update": 2_000})}

    def __init__(self, settings: PolicyGradientSettings, context: Context) -> None:
        self.settings, self.policy, self.context = settings, context.policy, context
        self.critic = make_critic(settings, context.policy)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.optimiser_state = initial_state(settings.optimiser, len(self.theta))
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        self._k = self.critic.size if isinstance(self.critic, LinearCritic) else 0  # of the normal equations
        self._reduction = ordered_allreduce(context.comm)

    def plan(self) -> Plan:
        """Return the policy and the critic: where gradients are computed, advantages are, too."""
        return Plan(self.theta, arrays=self.critic_state)

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the samples of a fragment, or the sums they are good for."""
        samples = samples_of(fragment)
        if self.settings.travels == "samples":
            return samples
        samples |= self._judged(samples, plan.arrays)
        minibatches_need = ("observations", "timesteps", "targets") if self.settings.critic == "mlp" else ()
        return {"sums": self._sums(plan.theta, samples)[None]} | {name: samples[name] for name in minibatches_need}

    def _judged(self, samples: Arrays, critic_state: Arrays) -> Arrays:
        """Return advantages and value targets (n,) of a fragment, by the critic's last fit."""
        gae_lambda = 1.0 if self.settings.critic == "none" else self.settings.gae_lambda
        return judged(self.critic, critic_state, samples, self.settings.discount, gae_lambda)

    def _sums(self, theta: Array, samples: Arrays) -> Array:
        """Return all that an update needs of a fragment, in one vector: gradients, moments, normal equations."""
        observations, weights, targets = (samples[name] for name in ("observations", "advantages", "targets"))
        parts = [gradient_sums(self.policy, theta, observations, samples["actions"], weights)]
        parts.append(moments(weights, targets))
        if isinstance(self.critic, LinearCritic):
            parts.append(self.critic.normal_sums(observations, samples["timesteps"], targets).ravel())
        return np.concatenate(parts)

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step of the policy, then fit the critic: the other order would leave no advantage."""
        if self.settings.travels == "samples":
            parts = [self._judged(fragment, self.critic_state) for fragment in fragments_of(batch)]
            batch = batch | {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
        if self._shares:
            self.context.comm.broadcast(batch)
        total, self.critic_state = self._update(self.theta, self.critic_state, batch, rng)
        sums, about = total[: 2 * len(self.theta)], total[2 * len(self.theta) :][:MOMENTS]
        gradient = pooled_gradient(sums[None], about[None])  # one row: the workers' are in it
        make_step, step_size = OPTIMISERS[self.settings.optimiser], self.settings.step_size
        self.optimiser_state, step = make_step(self.optimiser_state, gradient, step_size)
        self.theta = self.theta + step
        return {"gradient_norm": float(np.linalg.norm(gradient)), "explained_variance": explained(about)}

    @property
    def _shares(self) -> bool:
        """Return whether there is something to share: gradients of samples, or of the critic's minibatches."""
        return self.settings.travels == "samples" or self.settings.critic == "mlp"

    def assist(self, plan: Plan, rng: np.random.Generator) -> None:
        """Compute this rank's part of the sums."""
        if self._shares:
            self._update(plan.theta, plan.arrays, self.context.comm.broadcast({}), rng)

    def _update(self, theta: Array, state: Arrays, batch: Arrays, rng: np.random.Generator) -> tuple[Array, Arrays]:
        """Return the sums over all fragments and the critic's new state; shared among the ranks of `comm`."""
        if self.settings.travels == "samples":
            every = fragments_of(batch)
            rows = [self._sums(theta, fragment) for fragment in every[self._reduction.own(len(every))]]
            width = 2 * len(theta) + MOMENTS + self._k * (self._k + 1)
            total = self._reduction.sum(np.array(rows).reshape(len(rows), width), len(every))  # a rank may have none
        else:
            total = ordered_sum(batch["sums"])
        if isinstance(self.critic, LinearCritic):
            state = self.critic.solve(total[2 * len(theta) + MOMENTS :].reshape(self._k, self._k + 1))
        elif isinstance(self.critic, MLPCritic):
            observations, timesteps, targets = (batch[name] for name in ("observations", "timesteps", "targets"))
            state = self.critic.fit(state, observations, timesteps, targets, rng, self._reduction)
        return total, state

    def state(self) -> Arrays:
        """Return policy, the optimiser's memory and the critic."""
        return {"theta": self.theta, **named("optimiser_", self.optimiser_state), **named("critic_", self.critic_state)}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        self.theta = arrays["theta"]
        self.optimiser_state = accepted(arrays, self.optimiser_state, "optimiser_")
        self.critic_state = accepted(arrays, self.critic_state, "critic_")


def make_critic(settings: PolicyGradientSettings, policy: Policy) -> Critic | NoCritic:
    """Return the critic that the settings ask for, as wide as the policy."""
    if settings.critic == "none":
        return NoCritic()
    if settings.critic == "linear":
        return LinearCritic(policy.observation_size)
    s = settings
    return MLPCritic(policy.observation_size, policy.hidden, s.critic_epochs, s.critic_minibatch, s.critic_step_size)
