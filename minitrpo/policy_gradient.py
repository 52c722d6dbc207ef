"""Lecture 01: the policy gradient, by the score function.

grad J = E[ grad log pi(a|s) * A(s, a) ]. The surrogate of TRPO has the same gradient at theta_old.

The functions of the lecture come first: they take their derivatives by autograd. Below them stands `LogProbability`,
the same derivatives by hand, with which a run computes the same numbers in half the time.
"""

from typing import Any

import autograd.numpy as np
import numpy
from autograd import grad

from minitrpo.perceptron import Linearisation, count_parameters
from minitrpo.policies import Array, Policy, formulas_serve


def score(policy: Policy, theta: Array, observation: Array, action: Array) -> Array:
    """Return grad_theta log pi(a|s), (P,), for one observation (D,) and one action, (A,) or an integer.

    Over the policy's own actions its mean is 0. Source: Williams 1992.
    """

    def log_prob(theta: Array) -> Array:
        return policy.log_prob(policy.distribution(theta, observation[None]), np.array([action]))[0]

    return np.asarray(grad(log_prob)(theta))


def policy_gradient(policy: Policy, theta: Array, observations: Array, actions: Array, advantages: Array) -> Array:
    """Return the mean over N steps of grad log pi(a|s) * advantage, (P,). With reward-to-go this is REINFORCE.

    Source: Williams 1992; Sutton et al. 2000.
    """

    # 1. one number whose gradient is the mean of score x advantage
    def weighted_log_prob(theta: Array) -> Array:
        dist_params = policy.distribution(theta, observations)
        return np.mean(policy.log_prob(dist_params, actions) * advantages)

    # 2. its gradient at theta
    return np.asarray(grad(weighted_log_prob)(theta))


def surrogate(policy: Policy, dist_params: Array, old_log_prob: Array, actions: Array, advantages: Array) -> Array:
    """Return L = mean( pi_new(a|s) / pi_old(a|s) * A ); at pi_new = pi_old its gradient is the policy gradient.

    dist_params: of the new policy, (N, K). old_log_prob: log pi_old(a|s), (N,). Autograd can take its slope.
    Source: Schulman et al. 2015 (TRPO), equation 14.
    """
    return np.mean(np.exp(policy.log_prob(dist_params, actions) - old_log_prob) * advantages)


# --- the same derivatives by hand


def policy_gradient_by_hand(
    policy: Policy, theta: Array, observations: Array, actions: Array, advantages: Array
) -> Array:
    """Return what `policy_gradient` returns, (P,), by the formulas of `LogProbability`."""
    at_theta = LogProbability(policy, theta, observations, actions)
    return at_theta.weighted_gradient(advantages) / len(advantages)


class LogProbability:
    """log pi(a|s) and the entropy of a policy at one theta, and the gradient of their weighted sums.

    A minibatch of 64 steps takes autograd longer to record than numpy to compute, and an update of PPO has hundreds of
    them. So the package's own policies have the chain rule by hand. It has two links: the derivative of log pi in the
    outputs of the network (`policy.derivatives`), and J'u, which is the network's (`perceptron.Linearisation`). For a
    policy that computes its distribution in any other way, autograd takes the derivatives.
    """

    def __init__(self, policy: Any, theta: Array, observations: Array, actions: Array) -> None:
        """Compute log pi(a|s) and the entropy.

        Args:
            policy: the policy; one that is not the package's own needs `distribution`, `log_prob` and `entropy`.
            theta: its parameters, (P,); all sums have their precision.
            observations: (n, D), or (B, n, D) for B batches at once.
            actions: numbers (..., n, A), or integers (..., n).

        """
        kind = ByHand if formulas_serve(policy) else ByAutograd
        self._derivatives: ByHand | ByAutograd = kind(policy, theta, observations, actions)
        self.log_prob = self._derivatives.log_prob  # (..., n), in nats
        self.entropy = self._derivatives.entropy  # (..., n), in nats

    def weighted_gradient(self, weights: Array, of_entropy: float = 0.0) -> Array:
        """Return sum_n weights_n * grad log pi(a_n|s_n) + of_entropy * grad H(s_n).

        Args:
            weights: (..., n).
            of_entropy: the weight of the entropy of every step.

        Returns:
            The gradient in theta, (..., P).

        """
        return self._derivatives.weighted_gradient(weights, of_entropy)


class ByHand:
    """The derivatives of one of the package's policies."""

    def __init__(self, policy: Policy, theta: Array, observations: Array, actions: Array) -> None:
        self.network = Linearisation(theta[: count_parameters(policy.sizes)], policy.sizes, observations)
        self.of_policy = policy.derivatives(theta, self.network.outputs, actions)
        self.log_prob, self.entropy = self.of_policy.log_prob, self.of_policy.entropy

    def weighted_gradient(self, weights: Array, of_entropy: float) -> Array:
        """Return the gradient (..., P): the derivatives in the outputs, pulled back through the network."""
        return self.of_policy.gradient(self.network, weights, of_entropy)


class ByAutograd:
    """The derivatives of any policy whose `distribution`, `log_prob` and `entropy` autograd can follow."""

    def __init__(self, policy: Any, theta: Array, observations: Array, actions: Array) -> None:
        self.policy, self.theta, self.observations, self.actions = policy, theta, observations, actions
        shape = observations.shape[:-1]  # (n,), or (B, n)
        batches = [self._values(theta, rows) for rows in numpy.ndindex(shape[:-1])]
        self.log_prob, self.entropy = (numpy.reshape(values, shape) for values in zip(*batches, strict=True))

    def weighted_gradient(self, weights: Array, of_entropy: float) -> Array:
        """Return the gradient (..., P), batch by batch."""

        def weighted_sum(theta: Array, rows: tuple[int, ...]) -> Array:
            log_prob, entropy = self._values(theta, rows)
            total = np.sum(weights[rows] * log_prob)
            return total + of_entropy * np.sum(entropy) if of_entropy else total

        batches = self.observations.shape[:-2]
        gradients = [grad(weighted_sum)(self.theta, rows) for rows in numpy.ndindex(batches)]
        return numpy.reshape(gradients, (*batches, len(self.theta))).astype(self.theta.dtype)

    def _values(self, theta: Array, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """Return log pi(a|s) and the entropy of one batch, (n,) each."""
        dist_params = self.policy.distribution(theta, self.observations[rows])
        return self.policy.log_prob(dist_params, self.actions[rows]), self.policy.entropy(dist_params)
