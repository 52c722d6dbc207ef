"""The functions of lecture 00: tools that the later lectures take for granted, each of them in a few lines."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.policies import Array


def degrees(radians: Array) -> Array:
    """Return angles in degrees.

    Args:
        radians: angles in radians, a number or an array of any shape.

    Returns:
        The same angles in degrees, in the same shape.
    """
    # 1. Half a turn is pi radians and 180 degrees. Convert by the ratio of the two.
    return radians * 180 / np.pi


def weighted_sum(rows: Array, weights: Array) -> Array:
    """Return the sum of all rows, where each row is multiplied by its own weight.

    Args:
        rows: N rows of P numbers, shape (N, P).
        weights: one number for each row, shape (N,).

    Returns:
        weights[0] * rows[0] + weights[1] * rows[1] + ..., shape (P,).
    """
    # 1. Turn the weights into a column of shape (N, 1), so that every entry of a row is multiplied by its weight.
    column = weights[:, None]
    # 2. Add up the rows: sum over the first axis.
    return np.asarray(np.sum(column * rows, axis=0))


def play_episode(env: Any, policy: Callable[[Array], Any], seed: int) -> tuple[Array, bool, bool]:
    """Play one episode, from the reset to its end.

    Args:
        env: an environment of Gymnasium.
        policy: a function that returns an action for an observation.
        seed: the seed of the reset, which decides the first state.

    Returns:
        The rewards of all steps, shape (T,); whether the episode was terminated; whether it was truncated.
    """
    rewards, terminated, truncated = [], False, False
    # 1. Reset the environment with the seed. `reset` returns the first observation and a dictionary.
    observation, _information = env.reset(seed=seed)
    # 2. Until the episode is terminated or truncated: let the policy choose an action, make the step, keep the reward.
    while not (terminated or truncated):
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        rewards.append(reward)
    # 3. Return the rewards as an array, and how the episode ended.
    return np.array(rewards), terminated, truncated


def loss_and_slope(w: float, x: float, y: float) -> tuple[float, float]:
    """Return the loss of a neuron and the derivative of the loss with respect to the weight w.

    The neuron has u = w x and v = tanh(u). Its loss is (v - y)^2 + w^2 / 2.

    Args:
        w: the weight.
        x: the input.
        y: the value that v should have.

    Returns:
        The loss, and its derivative with respect to w.
    """
    # 1. Forward: compute u, then v, then the loss.
    u = w * x
    v = np.tanh(u)
    loss = (v - y) ** 2 + w**2 / 2
    # 2. Backward: the derivative of the loss with respect to v, then to u. The derivative of tanh(u) is 1 - v^2.
    slope_v = 2 * (v - y)
    slope_u = slope_v * (1 - v**2)
    # 3. There are two paths from the weight to the loss, through u and through w^2 / 2. Add up the derivatives of both.
    return loss, slope_u * x + w


def finite_difference(f: Callable[[Array], Any], theta: Array, h: float = 1e-5) -> Array:
    """Return the gradient of a function by central differences.

    Entry k is (f(theta + h e_k) - f(theta - h e_k)) / (2 h), where e_k is 1 in entry k and 0 in all others.

    Args:
        f: a function that turns an array (P,) into one number.
        theta: where the gradient is wanted, shape (P,).
        h: by how much each entry is moved up and down.

    Returns:
        The approximate gradient, shape (P,).
    """
    gradient = np.zeros(len(theta))
    for k in range(len(theta)):
        # 1. Make an array that is h in entry k and 0 in all others.
        move = np.zeros(len(theta))
        move[k] = h
        # 2. Evaluate f above and below theta, and divide the difference by 2 h. Do not change theta itself.
        gradient[k] = (f(theta + move) - f(theta - move)) / (2 * h)
    return gradient
