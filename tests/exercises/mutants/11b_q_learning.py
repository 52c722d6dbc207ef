"""Lecture 11b: right answers in other styles, and wrong ones, as edits of the package."""

import functools
import itertools
import operator

import numpy as np
import scipy.signal

from minitrpo.returns import discounted_sums


def with_take_along_axis(rewards, terminated, next_q, next_actions, discount):
    taken = np.take_along_axis(next_q, next_actions[:, None], axis=1)[:, 0]
    return np.where(terminated, rewards, rewards + discount * taken)


def with_a_mask(rewards, terminated, next_q, next_actions, discount):
    chosen = np.arange(next_q.shape[1]) == next_actions[:, None]
    return rewards + discount * (1 - np.asarray(terminated, float)) * np.sum(next_q * chosen, axis=1)


def rows_from_the_end(rewards, last, terminated, final_q, discount):
    y, total, fragment = np.zeros(len(rewards)), 0.0, len(final_q)
    for t in range(len(rewards) - 1, -1, -1):
        if last[t]:
            fragment -= 1
            total = 0.0 if terminated[t] else max(final_q[fragment])
        total = rewards[t] + discount * total
        y[t] = total
    return y


def sarsa_plain(rewards, terminated, next_q, next_actions, discount):
    targets = []
    for k in range(len(rewards)):
        y = rewards[k]
        if not terminated[k]:
            y = y + discount * next_q[k][next_actions[k]]
        targets.append(y)
    return np.array(targets, dtype=float)


def sarsa_one_hot(rewards, terminated, next_q, next_actions, discount):
    chosen = np.eye(next_q.shape[1])[next_actions]
    goes_on = 1.0 - terminated
    return rewards + goes_on * np.einsum("na,na->n", next_q, chosen) * discount


def sarsa_flat(rewards, terminated, next_q, next_actions, discount):
    N, A = next_q.shape
    q = next_q.ravel()[A * np.arange(N) + next_actions]
    return np.multiply(q, discount, where=np.logical_not(terminated), out=np.zeros(N)) + rewards


def sarsa_careless(rewards, terminated, next_q, next_actions, discount):
    y = rewards.astype(float)
    go = np.nonzero(terminated == 0)[0]
    y[go] += discount * next_q[go, next_actions[go]]
    return y


def sarsa_map(rewards, terminated, next_q, next_actions, discount):
    q = np.array(list(map(operator.getitem, next_q, next_actions)))
    return rewards + q * (discount * np.invert(terminated.astype(bool)))


def sarsa_defensive(rewards, terminated, next_q, next_actions, discount):
    rewards, next_q = np.asarray(rewards, float), np.asarray(next_q, float)
    terminated, next_actions = np.asarray(terminated, bool), np.asarray(next_actions, int)
    N, actions = next_q.shape
    assert rewards.shape == terminated.shape == next_actions.shape == (N,)
    assert ((next_actions >= 0) & (next_actions < actions)).all()
    assert 0.0 <= discount <= 1.0
    after = next_q[np.arange(N), next_actions]
    after[terminated] = 0.0  # a copy: next_q is not changed
    return rewards + discount * after


def n_step_lfilter(rewards, last, terminated, final_q, discount):
    ends = np.flatnonzero(last)
    y = np.empty(len(rewards))
    begin = 0
    for end, q in zip(ends, final_q, strict=False):
        behind = 0.0 if terminated[end] else np.max(q)
        walk = np.concatenate([[behind], rewards[begin : end + 1][::-1]])
        y[begin : end + 1] = scipy.signal.lfilter([1.0], [1.0, -discount], walk)[:0:-1]
        begin = end + 1
    return y


def n_step_defensive(rewards, last, terminated, final_q, discount):
    rewards, final_q = np.asarray(rewards, float), np.asarray(final_q, float)
    last, terminated = np.asarray(last, bool), np.asarray(terminated, bool)
    assert rewards.shape == last.shape == terminated.shape
    assert final_q.ndim == 2
    assert len(final_q) == last.sum()
    assert last[-1], "the last step ends the last fragment"
    assert 0.0 <= discount <= 1.0
    after = np.zeros_like(rewards)
    after[last] = np.amax(final_q, axis=1)
    after[terminated] = 0.0
    y = np.zeros_like(rewards)
    for t in reversed(range(len(rewards))):
        y[t] = rewards[t] + discount * (after[t] if last[t] else y[t + 1])
    return y


def n_step_terse(rewards, last, terminated, final_q, discount):
    return discounted_sums(
        rewards + discount * (last & ~terminated) * final_q.max(1)[np.cumsum(last) - last], discount, last
    )


def n_step_powers(rewards, last, terminated, final_q, discount):
    ends = np.flatnonzero(last)
    which = np.searchsorted(ends, np.arange(len(rewards)))  # the fragment of each step
    y = []
    for t, k in enumerate(which):
        n = ends[k] + 1 - t
        powers = discount ** np.arange(n + 1)
        y.append(powers[:n] @ rewards[t : t + n] + (0 if terminated[ends[k]] else powers[n] * np.max(final_q[k])))
    return np.array(y)


def n_step_recursive(rewards, last, terminated, final_q, discount):
    def walk(pays, behind):
        if len(pays) == 0:
            return []
        further = walk(pays[1:], behind)
        return [pays[0] + discount * (further[0] if further else behind), *further]

    y, begin = [], 0
    for q, end in zip(final_q, np.flatnonzero(last), strict=False):
        y += walk(rewards[begin : end + 1].tolist(), 0.0 if terminated[end] else float(q.max()))
        begin = end + 1
    return np.array(y, float)


def n_step_accumulate(rewards, last, terminated, final_q, discount):
    ends = np.flatnonzero(last)
    best = [functools.reduce(max, q) for q in final_q]
    y = []
    for piece, over, value in zip(np.split(rewards, ends[:-1] + 1), terminated[ends], best, strict=False):
        start = 0.0 if over else value
        back = itertools.accumulate(piece[::-1], lambda total, r: r + discount * total, initial=start)
        y.append(np.array([*back][:0:-1], float))
    return np.concatenate(y)


def n_step_careless(rewards, last, terminated, final_q, discount):
    y = rewards + 0.0
    y[last] = y[last] + discount * final_q.max(axis=-1) * (1 - terminated[last])
    for t in range(len(y) - 1)[::-1]:
        y[t] += discount * y[t + 1] * (1 - last[t])
    return y


RIGHT = {
    "sarsa_targets": [
        with_take_along_axis,
        with_a_mask,
        sarsa_plain,
        sarsa_one_hot,
        sarsa_flat,
        sarsa_careless,
        sarsa_map,
        sarsa_defensive,
    ],
    "n_step_q_targets": [
        rows_from_the_end,
        n_step_lfilter,
        n_step_defensive,
        n_step_terse,
        n_step_powers,
        n_step_recursive,
        n_step_accumulate,
        n_step_careless,
    ],
}

EDITS = {
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
