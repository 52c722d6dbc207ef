"""Lecture 12: right answers in other styles, and wrong ones."""

import itertools

import autograd.numpy as anp
import numpy as np
from autograd import grad

from minitrpo.checks import mine
from minitrpo.optimisers import adam
from minitrpo.policy_gradient import LogProbability, policy_gradient


def clipped_objective_masks(ratio, advantages, clip):
    found = ratio * advantages
    good = (advantages > 0) & (ratio > 1 + clip)
    bad = (advantages < 0) & (ratio < 1 - clip)
    found[good] = (1 + clip) * advantages[good]
    found[bad] = (1 - clip) * advantages[bad]
    return found


def clipped_objective_loop(ratio, advantages, clip):
    out = np.zeros_like(ratio)
    for i, (r, a) in enumerate(zip(ratio, advantages, strict=True)):
        out[i] = r * a if np.isinf(clip) else np.min([r * a, np.clip(r, 1 - clip, 1 + clip) * a])
    return out


def climb_by_autograd(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    observations, actions, advantages = batch
    old = policy.log_prob(policy.distribution(theta, observations), actions)

    def objective(theta, rows):
        new = policy.log_prob(policy.distribution(theta, observations[rows]), actions[rows])
        ratio, A = anp.exp(new - old[rows]), advantages[rows]
        held = anp.where(A > 0, anp.minimum(ratio, 1 + clip), anp.maximum(ratio, 1 - clip))
        return anp.mean(held * A)

    for _ in range(epochs):
        for rows in np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)):
            memory, step = adam(memory, grad(objective)(theta, rows), step_size)
            theta = theta + step
    return theta, memory


def climb_class(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    class Climber:
        def __init__(self):
            self.theta, self.memory = theta, memory
            self.old = policy.log_prob(policy.distribution(theta, batch[0]), batch[1])

        def step(self, observations, actions, advantages, old):
            now = LogProbability(policy, self.theta, observations, actions)
            slope = mine.objective_slope(np.exp(now.log_prob - old), advantages, clip)
            self.memory, step = adam(self.memory, now.weighted_gradient(slope / len(slope)), step_size)
            self.theta = self.theta + step

    climber = Climber()
    for _ in range(epochs):
        around = itertools.cycle(rng.permutation(len(batch[0])))
        for _ in range(0, len(batch[0]), size):
            rows = np.array(list(itertools.islice(around, size)))
            climber.step(*(part[rows] for part in (*batch, climber.old)))
    return climber.theta, climber.memory


def cuts_loop(ended):
    T, N = ended.shape
    rows = []
    for n in range(N):
        first = 0
        for t in range(T):
            if ended[t, n] or t == T - 1:
                rows.append([n, first, t + 1])
                first = t + 1
    return np.array(rows, dtype=int).reshape(len(rows), 3)


def cuts_flat(ended):
    T, N = ended.shape
    if T * N == 0:
        return np.zeros((0, 3), dtype=int)
    flat = ended.T.ravel().astype(bool)
    flat[T - 1 :: T] = True
    stop = np.flatnonzero(flat)
    n, first = np.divmod(np.append(0, stop[:-1] + 1), T)
    return np.stack([n, first, stop - n * T + 1], axis=1)


RIGHT = {
    "clipped_objective": r"""
        sign: return advantages * np.where(advantages >= 0, np.minimum(ratio, 1.0 + clip), np.maximum(ratio, 1.0 - \
            clip))
        defensive: np.clip(ratio, 1 - clip, 1 + clip) => \
            np.minimum(np.maximum(np.asarray(ratio, float), 1.0 - clip), 1.0 + clip)
        loss: return -np.maximum(-advantages * ratio, -advantages * np.clip(ratio, 1 - clip, 1 + clip))
        stacked: return np.stack([ratio * advantages, ratio.clip(1 - clip, 1 + clip) * advantages]).min(axis=0)
        numbers: return np.fromiter(map(lambda r, a: min(r * a, max(1 - clip, min(1 + clip, r)) * a), ratio, \
            advantages), dtype=float, count=len(ratio))
    """,
    "objective_slope": r"""
        list: return np.array([0.0 if (a > 0 and r > 1 + clip) or (a < 0 and r < 1 - clip) else r * a \
            for r, a in zip(ratio, advantages)])
        my_objective: return ratio * advantages * (mine.clipped_objective(ratio, advantages, clip) >= ratio * \
            advantages)
        defensive: clipped_objective(ratio, advantages, clip) < slope => \
            np.logical_or((advantages > 0) & (ratio > 1 + clip), (advantages < 0) & (ratio < 1 - clip))
        terse: return ratio * advantages * np.where(advantages > 0, ratio <= 1 + clip, ratio >= 1 - clip)
        entry_by_entry: return np.vectorize(lambda r, a: 0.0 if (r > 1 + clip if a > 0 else r < 1 - clip) \
            else float(r * a), otypes=[float])(ratio, advantages)
        zero_in_place: slope[clipped_objective(ratio, advantages, clip) < slope] = 0.0 => \
            slope[(ratio > 1 + clip) & (advantages > 0)] = 0\n    slope[(ratio < 1 - clip) & (advantages < 0)] = 0
        chain_rule: return ratio * np.where(((advantages >= 0) & (ratio <= 1 + clip)) | ((advantages <= 0) & \
            (ratio >= 1 - clip)), advantages, 0.0)
        distance: return np.where(np.sign(advantages) * (ratio - 1) > clip, 0.0, ratio * advantages)
    """,
    "climb": r"""
        down_a_loss: weighted_gradient(objective_slope => weighted_gradient(-objective_slope && theta + step => theta \
            - step
        policy_gradient: gradient = now.weighted_gradient(objective_slope(ratio, advantages[rows], clip) / size) => \
            gradient = policy_gradient(policy, theta, observations[rows], actions[rows], \
            mine.objective_slope(ratio, advantages[rows], clip))
        remainder: np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)) => \
            rng.permutation(len(advantages)) && for rows in order => for rows in (order[np.arange(start, start + size) \
            % len(order)] for start in range(0, len(order), size))
        defensive: observations, actions, advantages = batch => \
            observations, actions, advantages = map(np.asarray, batch)\n    theta = np.array(theta, dtype=float)
    """,
    "cuts": r"""
        places: simulators, last = np.nonzero(stops.T) => simulators, last = np.argwhere(stops.T).T
        borders: np.where(np.diff(simulators, prepend=-1) == 0, np.roll(last + 1, 1), 0) => \
            np.where(np.append(-1, simulators)[:-1] < simulators, 0, np.append(0, last + 1)[:-1])
    """,
}

WRONG = {
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
        one_epoch_only: range(epochs) => range(min(epochs, 1))
        one_step_an_epoch: for _ in range(epochs): => for _ in range(epochs):\n        start, found = theta, [] && \
            memory, step = adam(memory, gradient, step_size) => found.append(gradient) && theta = theta + step => \
            pass\n        memory, step = adam(memory, np.mean(found, axis=0), step_size)\n        theta = start + step
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
        capped_ratios: slope = ratio => slope = np.minimum(ratio, 20.0)
        one_over_as_border: clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, ratio > 1 \
            + clip, ratio < 1 / (1 + clip))
        of_two_means: return slope => return slope - slope.mean()
        spoils_the_ratio: slope = ratio * advantages => slope = ratio\n    slope *= advantages && \
            clipped_objective(ratio, advantages, clip) < slope => np.where(advantages > 0, slope / (advantages + \
            1e-300) > 1 + clip, slope < advantages * 0)
    """,
    "cuts": r"""
        first_simulator_only: np.nonzero(stops.T) => np.nonzero(stops.T[:1])
        leaks_from_the_simulator_before: np.where(np.diff(simulators, prepend=-1) == 0, => np.where(last >= 0,
        always_from_0: np.roll(last + 1, 1), 0) => 0, 0)
        as_floats: return np.stack => return 1.0 * np.stack
        spoils_the_mask: ended.copy() => ended
        counts_through: last = np.nonzero(stops.T) => last = np.nonzero(stops.T)\n    last = last + simulators * \
            len(ended)
        bytes_only: axis=1) => axis=1).astype(np.uint8)
        ends_in_all_at_once: ended.copy() => np.repeat(ended.any(axis=1, keepdims=True), ended.shape[1], axis=1)
        first_end_only: ended.copy() => ended & (np.cumsum(ended, axis=0) == 1)
    """,
}

ODD = {
    "clipped_objective": r"""
        whole_numbers: ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages => ratio * advantages, \
            np.clip(ratio, 1 - clip, 1 + clip) * advantages).astype(advantages.dtype
    """,
    "objective_slope": r"""
        integers_in_integers_out: = ratio * advantages => = np.zeros_like(advantages)\n    slope[:] = ratio * advantages
    """,
}

EQUAL = {
    "objective_slope": r"""
        the_clipped_is_never_more: < slope => != slope
    """,
    "cuts": r"""
        any_other_than_0_before_the_first: prepend=-1 => prepend=1
        any_other_than_0_before_the_first_2: prepend=-1 => prepend=-2
        any_other_than_0_before_the_first_3: prepend=-1 => prepend=-0.5
        simulators_are_in_order: == 0, np.roll => <= 0, np.roll
    """,
}
