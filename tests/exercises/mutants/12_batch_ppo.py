"""Lecture 12: right answers in other styles, and wrong ones, most of them as edits of the package."""

import functools
import itertools
import math

import autograd.numpy as anp
import numpy as np
from autograd import grad

from minitrpo.checks import mine
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import adam
from minitrpo.policy_gradient import policy_gradient


def objective_signs(ratio, advantages, clip):
    return advantages * np.where(advantages >= 0, np.minimum(ratio, 1.0 + clip), np.maximum(ratio, 1.0 - clip))


def objective_defensive(ratio, advantages, clip):
    ratio, advantages = np.asarray(ratio, float), np.asarray(advantages, float)
    assert ratio.ndim == 1
    assert ratio.shape == advantages.shape
    assert clip >= 0
    assert np.all(ratio >= 0)
    plain = ratio * advantages
    low, high = 1.0 - clip, 1.0 + clip
    held = np.minimum(np.maximum(ratio, low), high) * advantages
    result = np.minimum(plain, held)
    assert result.shape == ratio.shape
    return result


def objective_loss(ratio, advantages, clip):
    loss1 = -advantages * ratio
    loss2 = -advantages * np.clip(ratio, 1 - clip, 1 + clip)
    return -np.maximum(loss1, loss2)


def objective_terse(ratio, advantages, clip):
    return np.stack([ratio * advantages, ratio.clip(1 - clip, 1 + clip) * advantages]).min(axis=0)


def objective_closure(ratio, advantages, clip):
    def one(r, a):
        return min(r * a, max(1 - clip, min(1 + clip, r)) * a)

    return np.fromiter(map(one, ratio, advantages), dtype=float, count=len(ratio))


def objective_masks(ratio, advantages, clip):
    found = ratio * advantages
    good = (advantages > 0) & (ratio > 1 + clip)
    bad = (advantages < 0) & (ratio < 1 - clip)
    found[good] = (1 + clip) * advantages[good]
    found[bad] = (1 - clip) * advantages[bad]
    return found


def objective_careless(ratio, advantages, clip):
    out = np.zeros_like(ratio)
    for i in range(len(ratio)):
        if math.isinf(clip):
            out[i] = ratio[i] * advantages[i]
        else:
            out[i] = np.min([ratio[i] * advantages[i], np.clip(ratio[i], 1 - clip, 1 + clip) * advantages[i]])
    return out


def objective_by_border(ratio, advantages, clip):
    border = np.where(advantages > 0, 1 + clip, 1 - clip)
    return np.where((ratio - border) * advantages > 0, border, ratio) * advantages


def slope_loop(ratio, advantages, clip):
    found = []
    for r, a in zip(ratio, advantages, strict=False):
        if (a > 0 and r > 1 + clip) or (a < 0 and r < 1 - clip):
            found.append(0.0)
        else:
            found.append(r * a)
    return np.array(found)


def slope_mine(ratio, advantages, clip):
    unclipped = ratio * advantages
    return unclipped * (mine.clipped_objective(ratio, advantages, clip) >= unclipped)


def slope_defensive(ratio, advantages, clip):
    ratio = np.asarray(ratio, float)
    advantages = np.asarray(advantages, float)
    assert ratio.shape == advantages.shape
    assert ratio.ndim == 1
    assert clip >= 0
    slope = np.zeros(ratio.shape)
    alive = np.ones(ratio.shape, dtype=bool)
    alive &= ~np.logical_and(advantages > 0, ratio > 1 + clip)
    alive &= ~np.logical_and(advantages < 0, ratio < 1 - clip)
    slope[alive] = ratio[alive] * advantages[alive]
    return slope


def slope_terse(ratio, advantages, clip):
    return ratio * advantages * np.where(advantages > 0, ratio <= 1 + clip, ratio >= 1 - clip)


def slope_closure(ratio, advantages, clip):
    def one(r, a):
        edge = r > 1 + clip if a > 0 else r < 1 - clip
        return 0.0 if edge else float(r * a)

    return np.vectorize(one, otypes=[float])(ratio, advantages)


def slope_careless(ratio, advantages, clip):
    out = ratio * advantages
    out[(ratio > 1 + clip) & (advantages > 0)] = 0
    out[(ratio < 1 - clip) & (advantages < 0)] = 0
    return out


def slope_chain_rule(ratio, advantages, clip):
    in_ratio = np.where(
        ((advantages >= 0) & (ratio <= 1 + clip)) | ((advantages <= 0) & (ratio >= 1 - clip)), advantages, 0.0
    )
    return in_ratio * ratio


def slope_distance(ratio, advantages, clip):
    away = np.sign(advantages) * (ratio - 1)
    return np.where(away > clip, 0.0, ratio * advantages)


def climb_loop(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    observations, actions, advantages = batch
    N = len(advantages)
    old = LogProbability(policy, theta, observations, actions).log_prob
    for _ in range(epochs):
        order = list(rng.permutation(N))
        start = 0
        while start < N:
            rows = order[start : start + size]
            i = 0
            while len(rows) < size:
                rows.append(order[i])
                i += 1
            new = LogProbability(policy, theta, observations[rows], actions[rows])
            ratio = np.exp(new.log_prob - old[rows])
            w = mine.objective_slope(ratio, advantages[rows], clip)
            gradient = new.weighted_gradient(w / size)
            memory, step = adam(memory, gradient, step_size)
            theta = theta + step
            start += size
    return theta, memory


def climb_defensive(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    observations, actions, advantages = (np.asarray(part) for part in batch)
    N = observations.shape[0]
    assert actions.shape[0] == N
    assert advantages.shape == (N,)
    assert 1 <= size <= N
    assert clip >= 0
    assert epochs >= 0
    theta = np.array(theta, dtype=float)
    P = theta.shape
    log_pi_old = LogProbability(policy, theta.copy(), observations, actions).log_prob
    assert log_pi_old.shape == (N,)
    for _ in range(epochs):
        order = rng.permutation(N)
        for start in range(0, N, size):
            rows = np.take(order, np.arange(start, start + size), mode="wrap")
            model = LogProbability(policy, theta, observations[rows], actions[rows])
            ratio = np.exp(model.log_prob - log_pi_old[rows])
            slope = mine.objective_slope(ratio, advantages[rows], clip)
            gradient = model.weighted_gradient(slope / size)
            assert gradient.shape == P
            memory, step = adam(memory, gradient, step_size)
            theta = theta + step
    return theta, memory


def climb_reduce(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    obs, act, A = batch
    old, N = LogProbability(policy, theta, obs, act).log_prob, len(A)
    orders = (np.tile(rng.permutation(N), 2) for _ in range(epochs))
    minibatches = (order[i : i + size] for order in orders for i in range(0, N, size))

    def update(state, b):
        lp = LogProbability(policy, state[0], obs[b], act[b])
        w = mine.objective_slope(np.exp(lp.log_prob - old[b]), A[b], clip)
        m, s = adam(state[1], lp.weighted_gradient(w / size), step_size)
        return state[0] + s, m

    return functools.reduce(update, minibatches, (theta, memory))


def climb_halves(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    observations, actions, advantages = batch
    N = len(advantages)
    old = LogProbability(policy, theta, observations, actions).log_prob
    for _ in range(epochs):
        order = rng.permutation(N)
        for start in range(0, N, size):
            rows = order[(start + np.arange(size)) % N]
            gradient = np.zeros(len(theta))
            for part in np.array_split(rows, 2):
                if len(part) == 0:
                    continue
                lp = LogProbability(policy, theta, observations[part], actions[part])
                ratio = np.exp(lp.log_prob - old[part])
                gradient += lp.weighted_gradient(mine.objective_slope(ratio, advantages[part], clip))
            memory, step = adam(memory, gradient / size, step_size)
            theta = theta + step
    return theta, memory


class _Climber:
    def __init__(self, policy, theta, memory, batch, clip, step_size):
        self.policy, self.theta, self.memory, self.clip, self.step_size = policy, theta, memory, clip, step_size
        self.observations, self.actions, self.advantages = batch
        self.log_old = LogProbability(policy, theta, self.observations, self.actions).log_prob

    def gradient(self, rows):
        now = LogProbability(self.policy, self.theta, self.observations[rows], self.actions[rows])
        ratio = np.exp(now.log_prob - self.log_old[rows])
        return now.weighted_gradient(mine.objective_slope(ratio, self.advantages[rows], self.clip) / len(rows))

    def step(self, rows):
        self.memory, step = adam(self.memory, self.gradient(rows), self.step_size)
        self.theta = self.theta + step


def climb_class(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    def minibatches(order):
        around = itertools.cycle(order)
        for _ in range(math.ceil(len(order) / size)):
            yield np.array(list(itertools.islice(around, size)))

    climber = _Climber(policy, theta, memory, batch, clip, step_size)
    for _ in range(epochs):
        for rows in minibatches(rng.permutation(len(batch[0]))):
            climber.step(rows)
    return climber.theta, climber.memory


def climb_by_policy_gradient(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=0.001):
    observations, actions, advantages = batch
    old = policy.log_prob(policy.distribution(theta, observations), actions)
    for _ in range(epochs):
        for rows in np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)):
            o, a = observations[rows], actions[rows]
            ratio = np.exp(policy.log_prob(policy.distribution(theta, o), a) - old[rows])
            gradient = policy_gradient(policy, theta, o, a, mine.objective_slope(ratio, advantages[rows], clip))
            memory, step = adam(memory, gradient, step_size)
            theta = theta + step
    return theta, memory


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


def climb_down_a_loss(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    o, a, advantages = batch
    old = LogProbability(policy, theta, o, a).log_prob
    for _ in range(epochs):
        for rows in np.resize(rng.permutation(len(old)), (-(-len(old) // size), size)):
            now = LogProbability(policy, theta, o[rows], a[rows])
            slope = mine.objective_slope(np.exp(now.log_prob - old[rows]), advantages[rows], clip)
            memory, step = adam(memory, now.weighted_gradient(-slope / size), step_size)
            theta = theta - step
    return theta, memory


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
    start = np.concatenate([[0], stop[:-1] + 1])
    n, first = np.divmod(start, T)
    return np.stack([n, first, stop - n * T + 1], axis=1)


def cuts_defensive(ended):
    ended = np.asarray(ended, dtype=bool)
    assert ended.ndim == 2
    T, N = ended.shape
    parts = [np.empty((0, 3), dtype=np.int64)]
    for n in range(N):
        if T == 0:
            break
        stops = np.union1d(np.flatnonzero(ended[:, n]) + 1, [T])
        firsts = np.concatenate(([0], stops[:-1]))
        parts.append(np.column_stack((np.full(len(stops), n), firsts, stops)).astype(np.int64))
    found = np.concatenate(parts)
    assert (found[:, 2] - found[:, 1]).sum() == T * N
    return found


def cuts_terse(ended):
    T = len(ended)
    return np.array(
        [
            (n, a, b)
            for n, column in enumerate(ended.T)
            for s in [[0, *(t + 1 for t in range(T) if column[t] or t == T - 1)]]
            for a, b in itertools.pairwise(s)
        ],
        dtype=np.intp,
    ).reshape(-1, 3)


def cuts_groupby(ended):
    rows = []
    for n in range(ended.shape[1]):
        before = np.concatenate([[0], np.cumsum(ended[:, n])])[: ended.shape[0]]
        stop = 0
        for _, run in itertools.groupby(before.tolist()):
            first, stop = stop, stop + len(list(run))
            rows.append((n, first, stop))
    return np.array(rows, int) if rows else np.empty((0, 3), int)


def cuts_generator(ended):
    def fragments():
        steps, simulators = ended.shape
        for n in range(simulators):
            start = 0
            while start < steps:
                stop = start + 1
                while stop < steps and not ended[stop - 1, n]:
                    stop += 1
                yield n, start, stop
                start = stop

    return np.fromiter(itertools.chain.from_iterable(fragments()), dtype=int).reshape(-1, 3)


def cuts_transposed(ended):
    T, N = ended.shape
    who, first, stop = [], [], []
    for n in range(N):
        for t in range(T):
            if t == 0 or ended[t - 1, n]:
                who.append(n)
                first.append(t)
            if t + 1 == T or ended[t, n]:
                stop.append(t + 1)
    return np.array([who, first, stop], dtype=int).T


def cuts_recursive(ended):
    T, N = ended.shape
    stack, rows = [(n, 0) for n in reversed(range(N)) if T], []
    while stack:
        n, first = stack.pop()
        rest = ended[first:, n]
        stop = first + int(np.argmax(rest)) + 1 if rest.any() else T
        rows.append((n, first, stop))
        if stop < T:
            stack.append((n, stop))
    return np.asarray(rows, dtype=int).reshape(-1, 3)


def starting_with(prefix):
    return [f for name, f in globals().items() if name.startswith(prefix)]


RIGHT = {
    "clipped_objective": starting_with("objective_"),
    "objective_slope": starting_with("slope_"),
    "climb": starting_with("climb_"),
    "cuts": starting_with("cuts_"),
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

ODD = {
    "clipped_objective": r"""
        whole_numbers: ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages => ratio * advantages, \
            np.clip(ratio, 1 - clip, 1 + clip) * advantages).astype(advantages.dtype
    """,
    "objective_slope": r"""
        integers_in_integers_out: = ratio * advantages => = np.zeros_like(advantages)\n    slope[:] = ratio * advantages
    """,
}
