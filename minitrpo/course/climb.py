"""Lecture 12: the epochs of a PPO update; `batch_ppo.climb` is the same with all settings of a run.

What a run adds: advantages standardised in each minibatch, an entropy term, gradients shortened to a largest norm,
single precision, and what the log says. A test compares the two.
"""

import numpy as np

from minitrpo.algorithms.batch_ppo import objective_slope
from minitrpo.optimisers import State, adam
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import LogProbability


def climb(
    policy: Policy,
    theta: Array,
    memory: State,
    batch: tuple[Array, Array, Array],
    clip: float,
    rng: np.random.Generator,
    epochs: int = 10,
    size: int = 64,
    step_size: float = 1e-3,
) -> tuple[Array, State]:
    """Return theta (P,) and Adam's memory after some epochs of minibatches up the clipped objective.

    Args:
        policy: the policy.
        theta: its parameters when it played, (P,).
        memory: Adam's state.
        batch: the observations (N, D), actions (N, A) or (N,), and advantages (N,).
        clip: e, inf for none.
        rng: where the orders of the epochs come from.
        epochs: passes over the batch.
        size: steps in every minibatch, at most N: a last one that is too short is filled up with the first rows of its
            epoch's order.
        step_size: Adam's.

    Returns:
        The new theta, and Adam's new state.

    """
    observations, actions, advantages = batch
    # 1. log pi_old of all actions, (N,), once for all epochs: theta moves, it does not
    old_log_prob = LogProbability(policy, theta, observations, actions).log_prob
    for _ in range(epochs):
        # 2. each epoch: a new order, rng.permutation(N), `size` rows at a time; its first rows fill up a short rest
        order = np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size))
        for rows in order:
            # 3. of these rows: log pi of today's theta, and the ratio
            now = LogProbability(policy, theta, observations[rows], actions[rows])
            ratio = np.exp(now.log_prob - old_log_prob[rows])
            # 4. the gradient of the mean of the clipped objective, by `objective_slope`
            gradient = now.weighted_gradient(objective_slope(ratio, advantages[rows], clip) / size)
            # 5. a step of Adam up, which the next minibatch begins from
            memory, step = adam(memory, gradient, step_size)
            theta = theta + step
    return theta, memory
