"""Stochastic policies: a perceptron on one flat vector, with a Gaussian or a categorical head.

A policy object holds shapes only. Its numbers live in one flat float64 vector, `theta`, because that is what
a gradient, a Fisher-vector product, a broadcast and a checkpoint want. What the network says about a state is
a row of distribution parameters, an array `dist_params` (N, K), of which every formula below is a function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import autograd.numpy as np
import numpy

from minitrpo.perceptron import Array as Array  # what every module calls its arrays
from minitrpo.perceptron import Linearisation, Sizes, in_single_precision, initialise_mlp, layer_sizes, perceptron

ActFunction = Callable[[Array, Array, int], Array]  # observations, noise, how many of their rows matter -> actions


def gaussian_log_prob(mean: Array, log_std: Array, actions: Array) -> Array:
    """Return log N(action; mean, exp(log_std)^2), summed over its entries: three arrays (N, A) -> (N,), in nats."""
    z = (actions - mean) * np.exp(-log_std)
    return np.sum(-0.5 * z * z - log_std - 0.5 * np.log(2 * np.pi), axis=1)


def gaussian_kl(old_mean: Array, old_log_std: Array, mean: Array, log_std: Array) -> Array:
    """Return KL(old || new) of Gaussians with independent entries, summed over the entries, in nats.

    Args:
        old_mean: the means of the old policy, (N, A): N states, A entries of an action.
        old_log_std: the logarithms of its standard deviations, (N, A).
        mean: the means of the new policy, (N, A).
        log_std: the logarithms of its standard deviations, (N, A).

    Returns:
        One number for each state, (N,).

    """
    apart = old_mean - mean
    square = np.exp(2 * old_log_std) + apart * apart
    return np.sum(log_std - old_log_std + 0.5 * square * np.exp(-2 * log_std) - 0.5, axis=1)


def softmax(logits: Array) -> tuple[Array, Array]:
    """Return the probabilities and the log probabilities of a categorical distribution.

    Args:
        logits: (..., A). The largest is taken off first, so that no power overflows.

    Returns:
        Two arrays (..., A). Autograd can follow both.

    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    p = np.exp(shifted)
    total = p.sum(axis=-1, keepdims=True)
    p /= total  # in place, unless autograd follows
    shifted -= np.log(total)
    return p, shifted


def log_softmax(logits: Array) -> Array:
    """Return the log probabilities (N, A) of logits (N, A)."""
    return softmax(logits)[1]


def categorical_kl(old_logits: Array, logits: Array) -> Array:
    """Return KL(old || new) of two policies that choose one of A actions, in nats.

    Args:
        old_logits: of the old policy, (N, A): N states, A actions.
        logits: of the new policy, (N, A).

    Returns:
        One number for each state, (N,).

    """
    old_log, log = log_softmax(old_logits), log_softmax(logits)
    return np.sum(np.exp(old_log) * (old_log - log), axis=1)


class Acting:
    """The base class of all who act. Random numbers and state are rows, one for each environment.

    A policy also has `initialise`, `act_function` and `distribution`, as those below have. If it has a state,
    `act_function(theta, state)` gets the rows (height, state_size) of all environments, which the function that it
    returns may read, and change in place, at every step.
    """

    discrete: ClassVar[bool] = False  # whether actions are integers
    noise_size: int = 0  # random numbers that an action takes
    state_size: ClassVar[int] = 0  # numbers that it remembers from step to step of an episode

    def initial_state(self, theta: Array, key: Any) -> Array:
        """Return the state (state_size,) in which an episode begins; key: its `randomness.EpisodeKey`."""
        return numpy.zeros(self.state_size)

    def draw_noise(self, rng: numpy.random.Generator, steps: int) -> Array:
        """Return standard normal numbers (steps, noise_size): what actions need for this many steps."""
        return rng.standard_normal((steps, self.noise_size))

    def mode(self, dist_params: Array) -> Array:
        """Return the best actions of what `distribution` returned: the largest of each row, or all of them."""
        return numpy.argmax(dist_params, axis=1) if self.discrete else dist_params


@dataclass(frozen=True)
class Perceptron(Acting):
    """The shape of the network behind a policy."""

    observation_size: int
    action_size: int
    hidden: tuple[int, ...] = (64, 64)

    @cached_property
    def sizes(self) -> Sizes:
        """Return the (inputs, outputs) of every layer."""
        return layer_sizes(self.observation_size, self.hidden, self.action_size)


@dataclass(frozen=True)
class GaussianPolicy(Perceptron):
    """pi(a|s) = N(mean(s), diag exp(2 log_std)); log_std is part of theta and the same in every state.

    dist_params are (mean, log_std), K = 2A; actions are (N, A); noise is standard normal, (N, A).
    """

    initial_log_std: float = 0.0

    @property
    def noise_size(self) -> int:  # type: ignore[override]
        """Return how many random numbers an action takes."""
        return self.action_size

    def initialise(self, rng: numpy.random.Generator) -> Array:
        """Return a fresh theta (P,): orthogonal layers, the last one small, so that all states look alike at first."""
        log_std = numpy.full(self.action_size, self.initial_log_std)
        return numpy.concatenate([initialise_mlp(rng, self.sizes, last_gain=0.01), log_std])

    def distribution(self, theta: Array, observations: Array) -> Array:
        """Return (mean, log_std), shape (N, 2A), for `observations` (N, D)."""
        split = len(theta) - self.action_size
        mean = perceptron(theta[:split], self.sizes, observations)
        log_std = np.dot(np.ones((len(observations), 1), mean.dtype), theta[split:].reshape(1, -1))
        return np.concatenate([mean, log_std], axis=1)

    def sample(self, dist_params: Array, noise: Array) -> Array:
        """Return actions mean + std * noise, shape (N, A)."""
        mean, log_std = self._split(dist_params)
        return mean + numpy.exp(log_std) * noise

    def act_function(self, theta: Array) -> ActFunction:
        """Return the function (observations, noise, rows in use) -> actions that collecting calls at every tick."""
        split = len(theta) - self.action_size
        mean, std = in_single_precision(theta[:split], self.sizes), numpy.exp(theta[split:])
        return lambda observations, noise, used: mean(observations, used) + std * noise

    def mode(self, dist_params: Array) -> Array:
        """Return the most probable actions, the means (N, A)."""
        return self._split(dist_params)[0]

    def log_prob(self, dist_params: Array, actions: Array) -> Array:
        """Return log pi(a|s), shape (N,), in nats."""
        return gaussian_log_prob(*self._split(dist_params), actions)

    def kl(self, old: Array, new: Array) -> Array:
        """Return KL(old || new) state by state, shape (N,), in nats."""
        return gaussian_kl(*self._split(old), *self._split(new))

    def entropy(self, dist_params: Array) -> Array:
        """Return the differential entropy state by state, shape (N,), in nats."""
        return np.sum(self._split(dist_params)[1] + 0.5 * np.log(2 * np.pi * np.e), axis=1)

    def derivatives(self, theta: Array, means: Array, actions: Array) -> "GaussianDerivatives":
        """Return log pi(a|s) and the entropy at theta (P,) with their derivatives; means: the outputs (..., n, A)."""
        return GaussianDerivatives(means, theta[len(theta) - self.action_size :], actions)

    def kl_hessian(self, theta: Array, means: Array) -> Callable[[Array], Array]:
        """Return the second derivative of KL(old || new) in the mean, at new = old: the function u -> u / std^2.

        Args:
            theta: the old parameters, (P,).
            means: the outputs of the network, (N, A), on which it does not depend.

        Returns:
            A function of an array (N, A), which it changes in place and returns. In log_std the derivative is 2.

        """
        precision = numpy.exp(-2 * theta[len(theta) - self.action_size :])
        return lambda u: numpy.multiply(u, precision, out=u)

    def _split(self, dist_params: Array) -> tuple[Array, Array]:
        return dist_params[..., : self.action_size], dist_params[..., self.action_size :]


@dataclass(frozen=True)
class CategoricalPolicy(Perceptron):
    """pi(a|s) = softmax(logits(s))[a]. dist_params: logits, K = A; actions: integers (N,); noise: uniform, (N, 1)."""

    noise_size, discrete = 1, True

    def initialise(self, rng: numpy.random.Generator) -> Array:
        """Return a fresh theta (P,): orthogonal layers, the last one small, so that all actions are likely at first."""
        return initialise_mlp(rng, self.sizes, last_gain=0.01)

    def distribution(self, theta: Array, observations: Array) -> Array:
        """Return the logits (N, A) for `observations` (N, D)."""
        return perceptron(theta, self.sizes, observations)

    def draw_noise(self, rng: numpy.random.Generator, steps: int) -> Array:
        """Return what `sample` needs for this many steps: uniform numbers in [0, 1), shape (steps, 1)."""
        return rng.random((steps, self.noise_size))

    def sample(self, dist_params: Array, noise: Array) -> Array:
        """Return actions (N,): the first whose cumulative probability exceeds the uniform `noise`."""
        cumulative = numpy.cumsum(numpy.exp(log_softmax(dist_params)), axis=1)
        return numpy.sum(cumulative[:, :-1] <= noise * cumulative[:, -1:], axis=1)

    def act_function(self, theta: Array) -> ActFunction:
        """Return the function (observations, noise, rows in use) -> actions that collecting calls at every tick."""
        logits = in_single_precision(theta, self.sizes)
        return lambda observations, noise, used: self.sample(logits(observations, used), noise)

    def log_prob(self, dist_params: Array, actions: Array) -> Array:
        """Return log pi(a|s), shape (N,), in nats."""
        return log_softmax(dist_params)[np.arange(len(dist_params)), actions]

    def kl(self, old: Array, new: Array) -> Array:
        """Return KL(old || new) state by state, shape (N,), in nats."""
        return categorical_kl(old, new)

    def entropy(self, dist_params: Array) -> Array:
        """Return the entropy state by state, shape (N,), in nats."""
        log_p = log_softmax(dist_params)
        return -np.sum(np.exp(log_p) * log_p, axis=1)

    def derivatives(self, theta: Array, logits: Array, actions: Array) -> "CategoricalDerivatives":
        """Return log pi(a|s) and the entropy with their derivatives; logits: the outputs (..., n, A)."""
        return CategoricalDerivatives(logits, actions)

    def kl_hessian(self, theta: Array, logits: Array) -> Callable[[Array], Array]:
        """Return the second derivative of KL(old || new) in the logits, at new = old: u -> (diag(p) - p p') u.

        Args:
            theta: the old parameters, (P,), which the logits stand for.
            logits: the outputs of the network, (N, A).

        Returns:
            A function of an array (N, A), which it changes in place and returns.

        """
        p, _ = softmax(logits)

        def product(u: Array) -> Array:
            u -= (p * u).sum(axis=1, keepdims=True)
            u *= p
            return u

        return product


# --- the derivatives by hand of log pi(a|s) and of the entropy in what the network says


class GaussianDerivatives:
    """log pi(a|s) and entropy of N(mean, diag exp(2 log_std)), and the gradient of their weighted sums.

    Attributes:
        log_prob: (..., n), in nats.
        entropy: (..., n), in nats.

    """

    def __init__(self, mean: Array, log_std: Array, actions: Array) -> None:
        """Compute both; mean: (..., n, A). log_std: (A,). actions: (..., n, A)."""
        size = len(log_std)
        self.scale = numpy.exp(-log_std)
        self.z = (actions - mean) * self.scale
        self.square = self.z * self.z
        sum_of_logs = float(log_std.sum())
        self.log_prob = -0.5 * self.square.sum(axis=-1) - (sum_of_logs + 0.5 * size * float(numpy.log(2 * numpy.pi)))
        entropy = sum_of_logs + 0.5 * size * float(numpy.log(2 * numpy.pi * numpy.e))
        self.entropy = numpy.full_like(self.log_prob, entropy)

    def gradient(self, network: Linearisation, weights: Array, of_entropy: float) -> Array:
        """Return the gradient in theta of sum_n (w_n log pi(a_n|s_n) + c H(s_n)).

        In the mean it is w z / std, in log_std sum_n (w (z^2 - 1) + c), where z = (a - mean) / std.

        Args:
            network: the one whose outputs the means are.
            weights: w, (..., n).
            of_entropy: c.

        Returns:
            (..., P).

        """
        column = weights[..., None]
        of_mean = column * self.z
        of_mean *= self.scale
        of_log_std = (column * (self.square - 1)).sum(axis=-2) + of_entropy * weights.shape[-1]
        return numpy.concatenate([network.transposed_product(of_mean), of_log_std], axis=-1)


class CategoricalDerivatives:
    """log pi(a|s) and entropy of softmax(logits), and the gradient of their weighted sums.

    Attributes:
        log_prob: (..., n), in nats.
        entropy: (..., n), in nats.

    """

    def __init__(self, logits: Array, actions: Array) -> None:
        """Compute both; logits: (..., n, A). actions: integers (..., n)."""
        self.p, self.log_p = softmax(logits)
        self.chosen = actions[..., None] == numpy.arange(logits.shape[-1])
        self.log_prob = (self.log_p * self.chosen).sum(axis=-1)
        self.entropy = -(self.p * self.log_p).sum(axis=-1)

    def gradient(self, network: Linearisation, weights: Array, of_entropy: float) -> Array:
        """Return the gradient in theta of sum_n (w_n log pi(a_n|s_n) + c H(s_n)).

        In the logits it is w (1[chosen] - p) - c p (log p + H).

        Args:
            network: the one whose outputs the logits are.
            weights: w, (..., n).
            of_entropy: c.

        Returns:
            (..., P).

        """
        of_logits = weights[..., None] * (self.chosen - self.p)
        if of_entropy:
            of_logits -= of_entropy * self.p * (self.log_p + self.entropy[..., None])
        return network.transposed_product(of_logits)


Policy = GaussianPolicy | CategoricalPolicy


def formulas_serve(policy: Any) -> bool:
    """Return whether the derivatives written by hand are those of this policy.

    They are those of a tanh perceptron with one of the two heads above. A policy that computes its distribution, a
    probability or a distance in another way has other derivatives, which autograd takes.

    Args:
        policy: the policy that acts.

    Returns:
        True for a `GaussianPolicy` or a `CategoricalPolicy`, also for a subclass that changes nothing of these.

    """
    formulas = ("sizes", "distribution", "log_prob", "kl", "entropy")
    return any(inherits(type(policy), kind, formulas) for kind in (GaussianPolicy, CategoricalPolicy))


def inherits(candidate: type, kind: type, names: tuple[str, ...]) -> bool:
    """Return whether a class inherits from `kind` and replaces none of its attributes with these names."""
    return issubclass(candidate, kind) and all(getattr(candidate, name) is getattr(kind, name) for name in names)
