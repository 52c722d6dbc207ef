"""log pi(a|s), its gradient in theta, and Fisher products, by hand: the formulas of lectures 01 and 02 without a tape.

A minibatch of 64 steps takes autograd longer to write down than numpy to compute, and PPO has hundreds of them in an
update; a step of TRPO takes half the time of one with tapes. The chain rule has two links: from the head,
d log pi / d dist_params, and from the network, J'u, which is `perceptron.Linearisation`. Observations are (n, D), or
(B, n, D) for B batches at once; the dtype is theta's.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.perceptron import Array, Linearisation
from minitrpo.policies import Policy


class LogProbability:
    """log pi(a|s) and the entropy, (..., n) each, at `theta` for `observations` (..., n, D) and `actions`.

    actions: (..., n, A) numbers or (..., n) integers. The forward pass is taken once, gradients come as asked.
    """

    def __init__(self, policy: Policy, theta: Array, observations: Array, actions: Array) -> None:
        gaussian = not policy.discrete
        split = len(theta) - policy.action_size if gaussian else len(theta)
        self.network = Linearisation(theta[:split], policy.sizes, observations)
        self.head: GaussianHead | CategoricalHead = (
            GaussianHead(self.network.outputs, theta[split:], actions)
            if gaussian
            else CategoricalHead(self.network.outputs, actions)
        )
        self.log_prob, self.entropy = self.head.log_prob, self.head.entropy

    def weighted_gradient(self, weights: Array, of_entropy: float = 0.0) -> Array:
        """Return sum_n weights_n * grad log pi(a_n|s_n) + of_entropy * grad H(s_n), (..., P); weights (..., n)."""
        of_outputs, of_log_std = self.head.slopes(weights, of_entropy)
        gradient = self.network.transposed_product(of_outputs)
        return gradient if of_log_std is None else np.concatenate([gradient, of_log_std], axis=-1)


def fisher_product(policy: Policy, theta: Array, observations: Array) -> Callable[[Array], Array]:
    """Return the function v -> F v, (P,), with F = mean of J'HJ over observations (n, D): lecture 02's, without a tape.

    H is the Hessian of KL(old || new) in the dist_params of one row: of a Gaussian 1 / std^2 in its mean and 2 in
    log_std, of logits diag(p) - p p'.
    """
    rows, split = len(observations), len(theta) if policy.discrete else len(theta) - policy.action_size
    network = Linearisation(theta[:split], policy.sizes, observations)
    if policy.discrete:
        p = np.exp(network.outputs - network.outputs.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)

        def of_logits(v: Array) -> Array:
            moved = network.product(v)
            moved -= (p * moved).sum(axis=1, keepdims=True)
            moved *= p
            return network.transposed_product(moved) / rows

        return of_logits
    precision = np.exp(-2 * theta[split:])

    def of_mean_and_log_std(v: Array) -> Array:
        moved = network.product(v[:split])
        moved *= precision
        return np.concatenate([network.transposed_product(moved) / rows, 2 * v[split:]])

    return of_mean_and_log_std


class GaussianHead:
    """N(mean, diag exp(2 log_std)): mean (..., n, A), log_std (A,)."""

    def __init__(self, mean: Array, log_std: Array, actions: Array) -> None:
        size = len(log_std)
        self.scale = np.exp(-log_std)
        self.z = (actions - mean) * self.scale
        self.square = self.z * self.z
        sum_of_logs = float(log_std.sum())
        self.log_prob = -0.5 * self.square.sum(axis=-1) - (sum_of_logs + 0.5 * size * float(np.log(2 * np.pi)))
        self.entropy = np.full_like(self.log_prob, sum_of_logs + 0.5 * size * float(np.log(2 * np.pi * np.e)))

    def slopes(self, weights: Array, of_entropy: float) -> tuple[Array, Array]:
        """Return the derivatives in mean, (..., n, A): w z / std, and in log_std, (..., A): sum_n w (z^2 - 1) + c."""
        column = weights[..., None]
        of_mean = column * self.z
        of_mean *= self.scale
        of_log_std = (column * (self.square - 1)).sum(axis=-2)
        return of_mean, of_log_std + of_entropy * weights.shape[-1]


class CategoricalHead:
    """softmax(logits): logits (..., n, A), actions (..., n) integers."""

    def __init__(self, logits: Array, actions: Array) -> None:
        shifted = logits - logits.max(axis=-1, keepdims=True)
        self.p = np.exp(shifted)
        total = self.p.sum(axis=-1, keepdims=True)
        self.p /= total
        self.log_p = shifted - np.log(total)
        self.chosen = actions[..., None] == np.arange(logits.shape[-1])
        self.log_prob = (self.log_p * self.chosen).sum(axis=-1)
        self.entropy = -(self.p * self.log_p).sum(axis=-1)

    def slopes(self, weights: Array, of_entropy: float) -> tuple[Array, None]:
        """Return the derivative in the logits, (..., n, A): w (1[chosen] - p) - c p (log p + H)."""
        of_logits = weights[..., None] * (self.chosen - self.p)
        if of_entropy:
            of_logits -= of_entropy * self.p * (self.log_p + self.entropy[..., None])
        return of_logits, None
