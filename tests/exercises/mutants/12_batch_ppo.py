"""Lecture 12: right answers in other styles, and wrong ones, most of them as edits of the package."""

from itertools import pairwise

import autograd.numpy as anp
import numpy as np
from autograd import grad

from minitrpo.algorithms.batch_ppo import minibatches, objective_slope
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import adam
from minitrpo.policy_gradient import policy_gradient


def clip_by_sign(ratio, advantages, clip):
    """A useful identity: up to 1 + e for a good action, down to 1 - e for a bad one."""
    border = np.where(advantages > 0, 1 + clip, 1 - clip)
    return np.where((ratio - border) * advantages > 0, border, ratio) * advantages


def objective_in_a_loop(ratio, advantages, clip):
    result = np.zeros(len(ratio))
    for i, (r, a) in enumerate(zip(ratio.tolist(), advantages.tolist(), strict=True)):
        held = max(1 - clip, min(r, 1 + clip))
        result[i] = min(r * a, held * a)
    return result


def min_over_rows(ratio, advantages, clip):
    return np.min([ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages], axis=0)


def slope_in_a_loop(ratio, advantages, clip):
    result = []
    for r, a in zip(ratio, advantages, strict=True):
        done = (a > 0 and r > 1 + clip) or (a < 0 and r < 1 - clip)
        result.append(0.0 if done else r * a)
    return np.array(result)


def slope_where_the_minimum_is(ratio, advantages, clip):
    """The slope of the product that is the smaller one; within the clip both are the same."""
    free, held = ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages
    return np.where(free <= held, free, 0.0)


def slope_by_masks(ratio, advantages, clip):
    good, bad = advantages > 0, advantages < 0
    moves = ~((good & (ratio > 1 + clip)) | (bad & (ratio < 1 - clip)))
    return np.multiply(np.multiply(ratio, advantages), moves)


def cuts_by_simulator(ended):
    rows = []
    for n, column in enumerate(ended.T):
        stops = [*(np.flatnonzero(column) + 1).tolist()]
        if len(column) > (stops[-1] if stops else 0):
            stops.append(len(column))
        rows += [(n, a, b) for a, b in pairwise([0, *stops])]
    return np.array(rows, dtype=int).reshape(-1, 3)


def cuts_step_by_step(ended):
    steps, simulators = ended.shape
    rows = []
    for n in range(simulators):
        first = 0
        for t in range(steps):
            if ended[t, n] or t == steps - 1:
                rows.append([n, first, t + 1])
                first = t + 1
    return np.asarray(rows, dtype=np.int64).reshape(len(rows), 3)


def cuts_by_splitting(ended):
    steps, simulators = ended.shape
    rows = []
    for n in range(simulators):
        for part in np.split(np.arange(steps), np.flatnonzero(ended[:-1, n]) + 1):
            rows += [(n, part[0], part[-1] + 1)] if len(part) else []
    return np.array(rows, dtype=int).reshape(-1, 3)


def climb_by_concatenation(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    observations, actions, advantages = batch
    n = len(advantages)
    old = policy.log_prob(policy.distribution(theta, observations), actions)
    for _ in range(epochs):
        order = rng.permutation(n)
        order = np.concatenate([order, order[: -n % size]])
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            now = LogProbability(policy, theta, observations[rows], actions[rows])
            weights = objective_slope(np.exp(now.log_prob - old[rows]), advantages[rows], clip) / len(rows)
            memory, step = adam(memory, now.weighted_gradient(weights), step_size)
            theta = theta + step
    return theta, memory


def climb_by_policy_gradient(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    """Lecture 01's gradient, with slopes in place of advantages."""
    observations, actions, advantages = batch
    old = policy.log_prob(policy.distribution(theta, observations), actions)
    for _ in range(epochs):
        for rows in minibatches(rng, len(advantages), size):
            o, a = observations[rows], actions[rows]
            ratio = np.exp(policy.log_prob(policy.distribution(theta, o), a) - old[rows])
            gradient = policy_gradient(policy, theta, o, a, objective_slope(ratio, advantages[rows], clip))
            memory, step = adam(memory, gradient, step_size)
            theta = theta + step
    return theta, memory


def climb_by_autograd(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    """The gradient of the clipped objective itself."""
    observations, actions, advantages = batch
    old = policy.log_prob(policy.distribution(theta, observations), actions)

    def objective(theta, rows):
        new = policy.log_prob(policy.distribution(theta, observations[rows]), actions[rows])
        ratio, A = anp.exp(new - old[rows]), advantages[rows]
        held = anp.where(A > 0, anp.minimum(ratio, 1 + clip), anp.maximum(ratio, 1 - clip))
        return anp.mean(held * A)

    for _ in range(epochs):
        for rows in minibatches(rng, len(advantages), size):
            memory, step = adam(memory, grad(objective)(theta, rows), step_size)
            theta = theta + step
    return theta, memory


RIGHT = {
    "clipped_objective": [clip_by_sign, objective_in_a_loop, min_over_rows],
    "objective_slope": [slope_in_a_loop, slope_where_the_minimum_is, slope_by_masks],
    "cuts": [cuts_by_simulator, cuts_step_by_step, cuts_by_splitting],
    "climb": [climb_by_concatenation, climb_by_policy_gradient, climb_by_autograd],
}

EDITS = {
    "clipped_objective": r"""
        by_the_sign_alone: return np.where(advantages > 0, np.minimum(ratio, 1 + clip), np.minimum(ratio, 1 - clip)) \
            * advantages
        half_the_clip: 1 - clip, 1 + clip => 1 - clip / 2, 1 + clip / 2
        clip_of_a_fifth: 1 - clip, 1 + clip => 0.8, 1.2
        log_ratio_capped: np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages) => \
            np.minimum(np.clip(ratio, 1e-6, 1e6) * advantages, np.clip(np.clip(ratio, 1e-6, 1e6), 1 - clip, 1 + clip) \
            * advantages)
        rounded: np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages) => \
            np.round(np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages), 6)
        whole_numbers: ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages => ratio * advantages, \
            np.clip(ratio, 1 - clip, 1 + clip) * advantages).astype(advantages.dtype
        standardises_first: return => advantages = (advantages - advantages.mean()) / (advantages.std() + \
            1e-8)\n    return
        sign_of_the_advantage_only: np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages) \
            => np.minimum(ratio * np.sign(advantages), np.clip(ratio, 1 - clip, 1 + clip) * np.sign(advantages))
        spoils_the_ratio: return => advantages = advantages * 1.0\n    np.clip(ratio, 1 - clip, 1 + clip, \
            out=ratio)\n    return
        in_half_precision: np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages) => \
            (np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages)).astype(np.float32)
    """,
    "climb": r"""
        minibatches_between_epochs: for _ in range(epochs): => dealt = [rng.permutation(len(advantages)) for _ in \
            range(epochs)]\n    for start in range(0, epochs * len(advantages), size): && order = \
            np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)) => order = \
            [np.concatenate(dealt)[start : start + size]] && clip) / size) => clip) / len(rows))
        old_follows_by_one_step: theta = theta + step => old_log_prob = LogProbability(policy, theta, observations, \
            actions).log_prob\n            theta = theta + step
        first_order_ratio: np.exp(now.log_prob - old_log_prob[rows]) => 1 + np.log(np.exp(now.log_prob - \
            old_log_prob[rows]))
        a_generator_of_its_own: for _ in range(epochs): => rng = np.random.default_rng(0)\n    for _ in range(epochs):
        sorted_minibatches_backwards: for rows in order: => for rows in order[::-1]:
        dealt_like_cards: order = np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)) => \
            order = np.resize(rng.permutation(len(advantages)), (size, -(-len(advantages) // size))).T
        one_minibatch_too_many: -(-len(advantages) // size) => len(advantages) // size + 1
        overlap_of_one: order = np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)) => p \
            = rng.permutation(len(advantages)) && for rows in order: => for rows in [np.resize(np.roll(p, -i), size) \
            for i in range(0, len(p), max(size - 1, 1))]:
        filled_up_with_the_last_row: order = np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // \
            size), size)) => p = rng.permutation(len(advantages))\n        order = np.pad(p, (0, -len(p) % size), \
            mode='edge').reshape(-1, size)
        gradients_of_the_old_policy: theta, observations[ => start, observations[ && for _ in => start = \
            theta\n    for _ in
        last_step_only: theta = theta + step => pass\n    theta = theta + step
        clip_of_a_fifth: objective_slope(ratio, advantages[rows], clip) => objective_slope(ratio, advantages[rows], 0.2)
        pytorchs_epsilon: = adam(memory, gradient, step_size) => = adam(memory, gradient, step_size, epsilon=1e-5)
        step_size_falls: step = adam(memory, gradient, step_size) => step = adam(memory, gradient, step_size / (1 + _))
        objective_instead_of_slope: objective_slope(ratio, => (lambda r, a, c: np.clip(r, 1 - c, 1 + c) * a)(ratio,
        spoils_theta: theta = theta + step => theta += step
        stops_at_a_kl: for rows in order: => if epochs > 4 and _ > 3:\n            break\n        for rows in order:
        single_precision: theta = theta + step => theta = (theta + step).astype(np.float32)
    """,
    "objective_slope": r"""
        slope_in_the_ratio: slope = ratio * advantages => slope = advantages * 1.0
        clipped_times_advantage: slope = ratio => slope = np.clip(ratio, 1 - clip, 1 + clip)
        downhill: slope = ratio => slope = -ratio
        upper_border_included: clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, ratio \
            >= 1 + clip, ratio < 1 - clip)
        lower_border_included: clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, ratio > \
            1 + clip, ratio <= 1 - clip)
        a_little_slack: clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, ratio > 1 + \
            clip + 1e-8, ratio < 1 - clip)
        tiny_advantages_are_none: clipped_objective(ratio, advantages, clip) < slope => (clipped_objective(ratio, \
            advantages, clip) < slope) | (np.abs(advantages) < 1e-6)
        a_ratio_of_1: slope = ratio * advantages => slope = 1.0 * advantages
        capped_ratios: slope = ratio => slope = np.minimum(ratio, 20.0)
        one_over_as_border: clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, ratio > 1 \
            + clip, ratio < 1 / (1 + clip))
        of_two_means: return slope => return slope - slope.mean()
        spoils_the_ratio: slope = ratio * advantages => slope = ratio\n    slope *= advantages && \
            clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, slope / (advantages + \
            1e-300) > 1 + clip, slope < advantages * 0)
        integers_in_integers_out: = ratio * advantages => = np.zeros_like(advantages)\n    slope[:] = ratio * advantages
    """,
    "cuts": r"""
        begins_one_late: np.roll(last + 1, 1) => np.roll(last + 2, 1)
        first_simulator_only: np.nonzero(stops.T) => np.nonzero(stops.T[:1])
        leaks_from_the_simulator_before: np.where(np.diff(simulators, prepend=-1) == 0, => np.where(last >= 0,
        always_from_0: np.roll(last + 1, 1), 0) => 0, 0)
        as_columns: axis=1 => axis=0
        as_floats: return np.stack => return 1.0 * np.stack
        spoils_the_mask: ended.copy() => ended
        counts_through: last = np.nonzero(stops.T) => last = np.nonzero(stops.T)\n    last = last + simulators * \
            len(ended)
        bytes_only: axis=1) => axis=1).astype(np.uint8)
        ends_in_all_at_once: ended.copy() => np.repeat(ended.any(axis=1, keepdims=True), ended.shape[1], axis=1)
        first_end_only: ended.copy() => ended & (np.cumsum(ended, axis=0) == 1)
    """,
}
