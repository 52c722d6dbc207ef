"""Lecture 01: the policy gradient, by the score function.

grad J = E[ grad log pi(a|s) * A(s, a) ]. The surrogate of TRPO has the same gradient at theta_old.
"""

import autograd.numpy as np
from autograd import grad

from minitrpo.policies import Array, Policy


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
