"""Lecture 11b: learning Q(s, a): the targets of one-step Q, Sarsa and n-step Q, and the gradient towards them.

Targets use theta-, an older copy of theta: what is aimed at stands still for a while.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.experience.replay_buffer import transitions
from minitrpo.experience.rollouts import Fragments
from minitrpo.perceptron import Linearisation, Sizes, activations, unflatten
from minitrpo.policies import Array
from minitrpo.returns import discounted_sums

# --- the formulas


def one_step_q_targets(rewards: Array, terminated: Array, next_q: Array, discount: float | Array) -> Array:
    """Return y = r + discount (1 - terminated) max_a Q(s', a), shape of `rewards`; next_q: one axis more, the actions.

    Source: Watkins 1989; Mnih et al. 2015.
    """
    return np.asarray(rewards + discount * (1.0 - terminated) * next_q.max(axis=-1))


def sarsa_targets(rewards: Array, terminated: Array, next_q: Array, next_actions: Array, discount: float) -> Array:
    """Return y = r + discount (1 - terminated) Q(s', a'), (N,), with the action a' (N,) that was really taken in s'.

    next_q: Q(s', .), (N, actions). Source: Rummery & Niranjan 1994.
    """
    # 1. of each row the Q of the action that was taken
    taken = next_q[np.arange(len(next_q)), next_actions]
    # 2. it counts where the task goes on
    return np.asarray(rewards + discount * (1.0 - terminated) * taken)


def n_step_q_targets(rewards: Array, last: Array, terminated: Array, final_q: Array, discount: float) -> Array:
    """Return y_t = r_t + discount r_{t+1} + ... + discount^n max_a Q(s_{t+n}, a), (N,), to the end of the fragment.

    final_q: Q of the observation after each fragment, (E, A); it counts where the fragment was merely cut. The first
    step of a fragment looks furthest ahead, the last one a single step. Source: Mnih et al. 2016, algorithm S2.
    """
    # 1. a copy of the rewards, in floats: what follows changes it
    rewards = rewards.astype(float)
    # 2. what comes after a fragment's last step: nothing where the task terminated, the largest Q where it was cut
    rewards[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1)
    # 3. lecture 01's discounted_sums walks back through every fragment
    return discounted_sums(rewards, discount, last)


def td_loss(error: Array, huber: float) -> Array:
    """Return 1/2 error^2, and beyond +-huber the straight line that goes on from there, elementwise."""
    clipped = np.clip(error, -huber, huber)
    return np.asarray(clipped * error - 0.5 * clipped * clipped)


def td_gradient(
    theta: Array, sizes: Sizes, observations: Array, actions: Array, targets: Array, weights: Array, huber: float
) -> tuple[Array, Array]:
    """Return the gradient in theta of sum_i weight_i loss(Q(s_i, a_i) - y_i), (P,), and the errors (N,); y is constant.

    For B batches at once: (B, P) and (B, N), from observations (B, N, D), the others (B, N).
    """
    at = Linearisation(theta, sizes, observations)
    chosen = actions[..., None]
    error = np.take_along_axis(at.outputs, chosen, axis=-1)[..., 0] - targets
    slope = np.zeros_like(at.outputs)
    np.put_along_axis(slope, chosen, (weights * np.clip(error, -huber, huber))[..., None], axis=-1)
    return at.transposed_product(slope), error


def q_gradient_sums(
    theta: Array, target: Array, sizes: Sizes, rows: dict[str, Array], weights: Array, huber: float
) -> tuple[Array, Array]:
    """Return for B batches of transitions the sums of gradients (B, P), and of loss and Q, (B, 2).

    loss(Q(s, a; theta) - y), y = r + discount (1 - terminated) max_a' Q(s', a'; theta-); r, discount and s' may be of
    several steps: see `multi_step`. weights (B, M) are 1, or 0 for
    rows that do not count. Source: Mnih et al. 2015.
    """
    next_q = activations(unflatten(target, sizes), rows["next_observations"])[-1]
    y = one_step_q_targets(rows["rewards"], rows["terminated"], next_q, rows["discounts"])
    gradients, error = td_gradient(theta, sizes, rows["observations"], rows["actions"], y, weights, huber)
    sums = [(weights * td_loss(error, huber)).sum(axis=-1), (weights * (y + error)).sum(axis=-1)]
    return gradients, np.stack(sums, axis=-1)


# --- the same for a fragment: its targets (M,), and for which of its steps they are, a mask (N,) with M of them

QFunction = Callable[[Array], Array]  # observations (N, D) -> Q (N, A)
Targets = Callable[[QFunction, Fragments, float], tuple[Array, Array]]


def n_step_q(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets that look ahead to the fragment's end, for all its steps."""
    masks, final_q = (fragment.last, fragment.terminated_steps), q(fragment.final_observations)
    return n_step_q_targets(fragment.rewards, *masks, final_q, discount), np.ones(fragment.steps, bool)


def one_step_q(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets that look one step ahead, for all steps."""
    rows = transitions(fragment)
    next_q = q(rows["next_observations"])
    y = one_step_q_targets(fragment.rewards, rows["terminated"], next_q, discount)
    return y, np.ones(fragment.steps, bool)


def sarsa_one_step(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets with the action taken next; the last step of a fragment that was merely cut has none yet."""
    rows = transitions(fragment)
    next_q, next_actions = q(rows["next_observations"]), np.append(fragment.actions[1:], 0)
    y = sarsa_targets(fragment.rewards, rows["terminated"], next_q, next_actions, discount)
    known = ~fragment.last | rows["terminated"]
    return y[known], known
