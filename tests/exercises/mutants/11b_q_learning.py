"""Lecture 11b: right answers in other styles, and wrong ones."""

import functools
import operator

import numpy as np
import scipy.signal


def sarsa_targets_loop(rewards, terminated, next_q, next_actions, discount):
    targets = []
    for k in range(len(rewards)):
        y = rewards[k]
        if not terminated[k]:
            y = y + discount * next_q[k][next_actions[k]]
        targets.append(y)
    return np.array(targets, dtype=float)


def sarsa_targets_in_place(rewards, terminated, next_q, next_actions, discount):
    y = rewards.astype(float)
    go = np.nonzero(terminated == 0)[0]
    y[go] += discount * next_q[go, next_actions[go]]
    return y


def n_step_q_targets_backwards(rewards, last, terminated, final_q, discount):
    y, total, fragment = np.zeros(len(rewards)), 0.0, len(final_q)
    for t in range(len(rewards) - 1, -1, -1):
        if last[t]:
            fragment -= 1
            total = 0.0 if terminated[t] else max(final_q[fragment])
        y[t] = total = rewards[t] + discount * total
    return y


def n_step_q_targets_filter(rewards, last, terminated, final_q, discount):
    ends, pieces = np.flatnonzero(last), []
    for piece, end, q in zip(np.split(rewards, ends[:-1] + 1), ends, final_q, strict=True):
        walk = np.append(0.0 if terminated[end] else np.max(q), piece[::-1])
        pieces.append(scipy.signal.lfilter([1.0], [1.0, -discount], walk)[:0:-1])
    return np.concatenate(pieces)


RIGHT = {
    "sarsa_targets": r"""
        along_the_rows: return np.where(terminated, rewards, rewards + discount * \
            np.take_along_axis(next_q, next_actions[:, None], axis=1)[:, 0])
        mask: next_q[np.arange(len(next_q)), next_actions] => \
            np.sum(next_q * (np.arange(next_q.shape[1]) == next_actions[:, None]), axis=1)
        one_hot: next_q[np.arange(len(next_q)), next_actions] => \
            np.einsum("na,na->n", next_q, np.eye(next_q.shape[1])[next_actions])
        flat: next_q[np.arange(len(next_q)), next_actions] => \
            next_q.ravel()[next_q.shape[1] * np.arange(len(next_q)) + next_actions]
        map: next_q[np.arange(len(next_q)), next_actions] => \
            np.array(list(map(operator.getitem, next_q, next_actions))) && (1.0 - terminated) => np.invert(terminated)
        defensive: return np.asarray(rewards + discount * (1.0 - terminated) * taken) => \
            taken[np.asarray(terminated, bool)] = 0.0\n    return np.asarray(rewards, float) + discount * taken
    """,
    "n_step_q_targets": r"""
        spread_over_the_steps: return discounted_sums(rewards + discount * (last & ~terminated) \
            * final_q.max(1)[np.cumsum(last) - last], discount, last)
        where: (1.0 - terminated[last]) * final_q.max(axis=1) => \
            np.where(terminated[last], 0.0, np.amax(np.asarray(final_q, float), axis=1))
        maximum_by_hand: final_q.max(axis=1) => np.array([functools.reduce(max, q) for q in final_q])
        correlation: return discounted_sums(rewards, discount, last) => return np.concatenate([np.correlate(piece, \
            float(discount) ** np.arange(len(piece)), "full")[len(piece) - 1 :] \
            for piece in np.split(rewards, np.flatnonzero(last) + 1)[:-1]])
    """,
}

WRONG = {
    "sarsa_targets": r"""
        diagonal_of_columns: next_q[np.arange(len(next_q)), next_actions] => next_q[:, next_actions].sum(axis=1)
        drops_the_terminated: * taken) => * taken)[~np.asarray(terminated, bool)]
        stops_at_the_first_end: (1.0 - terminated) => (np.cumsum(terminated) == 0)
        writes_into_q: taken = => next_q[np.asarray(terminated, bool)] *= next_q.dtype.kind != "f"\n    taken =
        clips_rewards: np.asarray(rewards => np.asarray(np.clip(rewards, -1, 1)
        the_best_in_size: * taken) => * np.abs(next_q).max(axis=1))
        the_first_row: next_q[np.arange(len(next_q)), next_actions] => next_q[0, next_actions]
        the_first_action: next_q[np.arange(len(next_q)), next_actions] => next_q[:, 0]
        one_too_late: [np.arange(len(next_q)), next_actions] => [np.arange(len(next_q)), np.roll(next_actions, -1)]
        a_mean: np.asarray => np.mean
        rounded: rewards + discount * (1.0 - terminated) * taken => np.round(rewards + discount * (1.0 - terminated) \
            * taken, 8)
    """,
    "n_step_q_targets": r"""
        of_whole_numbers: rewards.astype(float) => rewards.copy() && discount * (1.0 - terminated[last]) * \
            final_q.max(axis=1) => (discount * (1.0 - terminated[last]) * final_q.max(axis=1)).astype(rewards.dtype)
        changes_the_rewards: rewards = rewards.astype(float) => pass
        one_row_for_each_cut: rewards[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1) => cut = \
            last & ~terminated; rewards[cut] += discount * final_q.max(axis=1)[: cut.sum()]
        clips_like_atari: rewards.astype(float) => np.clip(rewards.astype(float), -1.0, 1.0)
        n_powers_of_the_longest: lengths = np.diff(np.flatnonzero(last), prepend=-1)\n    far = discount ** \
            max(lengths, default=0) * (1.0 - terminated[last]) * final_q.max(axis=1)\n    return \
            discounted_sums(rewards.astype(float), discount, last) + np.repeat(far, lengths)
        the_largest_in_size: final_q.max(axis=1) => np.abs(final_q).max(axis=1)
        only_what_is_good: final_q.max(axis=1) => np.maximum(final_q.max(axis=1), 0.0)
        the_last_action: final_q.max(axis=1) => final_q[:, -1]
        discounted_twice: += discount * ( => += discount**2 * (
        instead_of_the_reward: rewards[last] += discount => rewards[last] = discount
        no_discount: discounted_sums(rewards, discount, last) => discounted_sums(rewards, 1.0, last)
        a_list: return discounted_sums(rewards, discount, last) => return discounted_sums(rewards, discount, \
            last).tolist()
        rounded: return discounted_sums(rewards, discount, last) => return discounted_sums(rewards, discount, \
            last).round(8)
    """,
}

ODD = {
    "sarsa_targets": r"""
        loops_over_integers: return np.asarray( => y = np.zeros_like(rewards)\n    y[:] = rewards + discount * (1.0 - \
            terminated) * taken\n    return y\n    return np.asarray(
        the_rewards_themselves: taken = => if terminated.all():\n        return rewards\n    taken =
    """
}
