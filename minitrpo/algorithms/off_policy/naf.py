"""Lecture 13b: normalised advantage functions (NAF), Q-learning for continuous actions (Gu et al. 2016).

Q(s, u) = V(s) - 1/2 (u - mu(s))' P(s) (u - mu(s)), P = L L', L lower triangular with a positive diagonal. Q is a
parabola in the actions u: mu is the best action, and V = max_u Q. One network has V, mu and L as its outputs.

    1. act mu(s) + sigma noise, sigma falls .......... algorithms/off_policy/naf.py: NAFPolicy.act_function
    2. keep (s, u, r, s') in the replay buffer ....... experience/replay_buffer.py: ReplayBuffer.add
    3. draw a minibatch uniformly .................... experience/replay_buffer.py: draw
    4. y = r + gamma V(s'; theta-), 0 at the end ..... algorithms/off_policy/naf.py: naf_targets
    5. a step down grad 1/2 (Q(s, u; theta) - y)^2 ... algorithms/off_policy/naf.py: naf_gradient_sums
    6. theta- follows theta slowly ................... algorithms/off_policy/replay_learner.py: ReplayLearner.step

`Parabola` is this Q: who acts, and the gradient. `NAF` learns it in the rounds of a replay learner, with a barrier.
`AsynchronousNAF` learns it without (Gu et al. 2017): collectors keep transitions, and one trainer learns from all.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Member, Preset, refuse_other_network
from minitrpo.algorithms.off_policy.distributed_replay import Bundles, BundleSettings
from minitrpo.algorithms.off_policy.replay_learner import ReplayLearner, ReplaySettings
from minitrpo.algorithms.options import option
from minitrpo.perceptron import (
    Linearisation,
    Sizes,
    activations,
    in_single_precision,
    initialise_mlp,
    layer_sizes,
    perceptron,
    unflatten,
)
from minitrpo.policies import ActFunction, Array, Perceptron, Policy

LARGEST = 4.0  # of |log L_ii|, approached smoothly: exp would blow up, and what is clipped has no gradient to return by

# --- the formulas: V (...), mu (..., A), L (..., A, A) for any number of axes in front


def heads(outputs: Array, actions: int) -> tuple[Array, Array, Array]:
    """Return V, mu and L of the network's outputs.

    Args:
        outputs: (..., 1 + A + A (A + 1) / 2).
        actions: A, the numbers in an action.

    Returns:
        V (...), mu in (-1, 1), (..., A), and L (..., A, A).

    """
    lower = np.zeros((*outputs.shape[:-1], actions, actions), outputs.dtype)
    rows, columns = np.tril_indices(actions)
    lower[..., rows, columns] = outputs[..., 1 + actions :]
    i = np.arange(actions)
    lower[..., i, i] = np.exp(LARGEST * np.tanh(lower[..., i, i] / LARGEST))
    return outputs[..., 0], np.tanh(outputs[..., 1 : 1 + actions]), lower


def naf_q(value: Array, mu: Array, lower: Array, u: Array) -> Array:
    """Return Q = V - 1/2 (u - mu)' L L' (u - mu).

    Args:
        value: V (...).
        mu: the best action, (..., A).
        lower: L (..., A, A).
        u: the action that was taken, (..., A).

    Returns:
        Q, of the shape of `value`.

    """
    # 1. z = L'(u - mu), (..., A): multiplied by the transpose
    z = np.einsum("...ij,...i->...j", lower, u - mu)
    # 2. (u - mu)' L L' (u - mu) is z'z; half of it is what is lost by not doing mu
    return np.asarray(value - 0.5 * np.sum(z * z, axis=-1))


def naf_targets(rewards: Array, discounts: Array, terminated: Array, next_value: Array, reward_scale: float) -> Array:
    """Return y = scale r + discount (1 - terminated) V(s'; theta-), elementwise; V(s') is max_u Q(s', u) already.

    Args:
        rewards: r, of any shape.
        discounts: of the same shape.
        terminated: 1 (or True) where the task ended, so that nothing follows.
        next_value: V(s'; theta-).
        reward_scale: one number.

    Returns:
        The targets, of the shape of `rewards`.

    """
    return np.asarray(reward_scale * rewards + discounts * (1.0 - terminated) * next_value)


def naf_slopes(outputs: Array, actions: int, u: Array) -> tuple[Array, Array]:
    """Return Q and its derivatives in the network's outputs.

    dQ/dV = 1, dQ/dmu = P (u - mu), dQ/dL_ij = -(u - mu)_i z_j with z = L'(u - mu), then through tanh and exp.

    Args:
        outputs: (..., 1 + A + A (A + 1) / 2).
        actions: A, the numbers in an action.
        u: the action that was taken, (..., A).

    Returns:
        Q (...), and the derivatives, of the shape of `outputs`.

    """
    value, mu, lower = heads(outputs, actions)
    apart = u - mu
    z = np.einsum("...ij,...i->...j", lower, apart)
    rows, columns = np.tril_indices(actions)
    through = np.ones_like(outputs[..., 1 + actions :])
    on, i = rows == columns, np.arange(actions)
    bent = np.tanh(outputs[..., 1 + actions :][..., on] / LARGEST)
    through[..., on] = lower[..., i, i] * (1.0 - bent * bent)
    slopes = np.empty_like(outputs)
    slopes[..., 0] = 1.0
    slopes[..., 1 : 1 + actions] = np.einsum("...ij,...j->...i", lower, z) * (1.0 - mu * mu)
    slopes[..., 1 + actions :] = -apart[..., rows] * z[..., columns] * through
    return naf_q(value, mu, lower, u), slopes


def naf_gradient_sums(
    theta: Array, target: Array, sizes: Sizes, rows: Arrays, weights: Array, reward_scale: float
) -> tuple[Array, Array]:
    """Return sums over transitions: of the gradients of 1/2 (Q(s, u; theta) - y)^2, of this loss and of Q.

    y = scale * r + discount (1 - terminated) V(s'; theta-).

    Args:
        theta: the network's parameters, (P,).
        target: those of its older copy, theta-, (P,).
        sizes: the (inputs, outputs) of its layers.
        rows: B batches of M transitions, as `ReplayBuffer.take` returns them.
        weights: (B, M), 1, or 0 for rows that do not count.
        reward_scale: the factor on rewards.

    Returns:
        The sums of gradients (B, P), and those of loss and Q, (B, 2).

    Source: Gu et al. 2016, algorithm 1.

    """
    next_value = activations(unflatten(target, sizes), rows["next_observations"])[-1][..., 0]
    y = naf_targets(rows["rewards"], rows["discounts"], rows["terminated"], next_value, reward_scale)
    at = Linearisation(theta, sizes, rows["observations"])
    q, slopes = naf_slopes(at.outputs, rows["actions"].shape[-1], rows["actions"])
    error = weights * (q - y)
    sums = np.stack([0.5 * np.sum(error * error, axis=-1), np.sum(weights * q, axis=-1)], axis=-1)
    return at.transposed_product(error[..., None] * slopes), sums


# --- who acts


@dataclass(frozen=True)
class NAFPolicy(Perceptron):
    """u = mu(s) + sigma * noise, kept within [-1, 1], which is what the environment's bounds are stretched to.

    theta is the network's parameters and, last, how much of the exploration is left: sigma = final + (first - final) *
    left. dist_params are mu, (N, A). What is remembered is the action as executed: the policy keeps it in bounds.
    """

    sigmas: tuple[float, float] = (0.5, 0.1)  # at first, finally

    @property
    def noise_size(self) -> int:  # type: ignore[override]
        return self.action_size

    @property
    def sizes(self) -> Sizes:
        a = self.action_size
        return layer_sizes(self.observation_size, self.hidden, 1 + a + a * (a + 1) // 2)

    def initialise(self, rng: np.random.Generator) -> Array:
        return np.append(initialise_mlp(rng, self.sizes, last_gain=0.01), 1.0)  # nearly V = mu = 0 and P = 1

    def split(self, theta: Array) -> tuple[Array, float]:
        """Return the network's parameters, as a view, and how much of the exploration is left."""
        return theta[:-1], float(theta[-1])

    def act_function(self, theta: Array) -> ActFunction:
        network, left = self.split(theta)
        outputs = in_single_precision(network, self.sizes)
        sigma = self.sigmas[1] + (self.sigmas[0] - self.sigmas[1]) * left

        def act(observations: Array, noise: Array, used: int) -> Array:
            mu = np.tanh(outputs(observations, used)[:, 1 : 1 + self.action_size])
            return np.clip(mu + sigma * noise, -1.0, 1.0)

        return act

    def distribution(self, theta: Array, observations: Array) -> Array:
        return np.tanh(perceptron(self.split(theta)[0], self.sizes, observations)[:, 1 : 1 + self.action_size])


# --- the algorithm


@dataclass(frozen=True)
class ParabolaSettings:
    """Settings of NAF, with a barrier or without."""

    reward_scale: float = option(1.0, "factor on rewards before learning", "chainerrl: 0.001", above=0)
    first_sigma: float = option(0.5, "initial deviation of the actions, which lie in [-1, 1]", least=0, most=10)
    final_sigma: float = option(0.1, "final deviation of the actions", least=0, most=10)
    exploration_steps: int = option(20_000, "steps from the initial to the final deviation", least=1)


@dataclass(frozen=True)
class NAFSettings(ParabolaSettings, ReplaySettings):
    """Settings of NAF with a barrier."""


class Parabola(Member):
    """What NAF has with a barrier and without: who acts, and the gradient of 1/2 (Q - y)^2."""

    actions = ("Box",)
    ignores: ClassVar = {"initial_log_std": "on NAF, the deviation of whose actions is --first-sigma"}
    settings: Any
    policy: Any

    @staticmethod
    def make_policy(settings: ParabolaSettings, policy: Policy) -> NAFPolicy:
        sigmas = (settings.first_sigma, settings.final_sigma)
        return NAFPolicy(policy.observation_size, policy.action_size, policy.hidden, sigmas)

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls.gradient_sums is Parabola.gradient_sums:
            refuse_other_network(policy, NAFPolicy, ("sizes", "distribution", "split"))

    def gradient_sums(self, network: Array, target: Array, rows: Arrays, weights: Array) -> tuple[Array, Array]:
        return naf_gradient_sums(network, target, self.policy.sizes, rows, weights, self.settings.reward_scale)


class NAF(Parabola, ReplayLearner):
    """The rounds of a replay learner, with this Q."""

    Settings = NAFSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "4 steps of 4 environments, then one update per step",
            {"requests": "segments", "num_envs": 4, "steps_per_update": 16, "filter": "none", "total_steps": 40_000}
            | {"batch": 100, "replay_ratio": 1.0, "target_every": 1, "target_rate": 0.01, "replay_size": 100_000}
            | {"gradient_clip": 1e6, "record_every": 50, "checkpoint_every": "30s"},
            {"Pendulum-v1": {"discount": 0.98, "reward_scale": 0.1}},
        )
    }


# --- without a barrier


@dataclass(frozen=True)
class AsynchronousNAFSettings(ParabolaSettings, BundleSettings):
    """Settings of NAF without a barrier."""


class AsynchronousNAF(Parabola, Bundles):
    """A trainer and collectors that do not wait for each other, as robots cannot (Gu et al. 2017, algorithm 1).

    The trainer, the last worker, asks the collectors for transitions and takes steps as quickly as it can; they act
    with whatever theta they find. How many gradients a step of an environment gets is then a matter of their speeds.
    """

    Settings = AsynchronousNAFSettings
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "one trainer, which makes at most a gradient for each step; all others collect 4 steps of 4 environments",
            {"learners": 1, "t_max": 4, "envs_per_worker": 4, "filter": "none", "total_steps": 200_000}
            | {"batch": 100, "replay_ratio": 1.0, "target_every": 1, "target_rate": 0.01, "replay_size": 100_000}
            | {"gradient_clip": 1e6, "steps_per_update": 2_000, "checkpoint_every": "30s"},
            {"Pendulum-v1": {"discount": 0.98, "reward_scale": 0.1}},
        )
    }
