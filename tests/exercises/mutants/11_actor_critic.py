"""Lecture 11: right answers in other styles, and wrong ones, most of them as edits of the package."""

import itertools
import math

import numpy as np
import scipy.signal

from minitrpo.optimisers import clipped_norm
from minitrpo.returns import discounted_sums


def powers(rewards, final_values, last, terminated, discount):
    """Dividing by powers of the discount, which go to 0."""
    x = rewards.astype(float)
    x[last] += discount * np.where(terminated[last], 0.0, final_values)
    y = np.zeros(len(x))
    ends = np.flatnonzero(last)
    for start, stop in zip(np.append(0, ends[:-1] + 1), ends + 1, strict=True):
        scale = discount ** np.arange(stop - start, dtype=float)
        with np.errstate(all="ignore"):
            y[start:stop] = np.cumsum((scale * x[start:stop])[::-1])[::-1] / (scale + 1e-12)
    return y


def own_of(shared, prefix):
    return {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}


def by_lists(rewards, final_values, last, terminated, discount):
    y, total, values = [], 0.0, list(final_values)
    for r, end, over in zip(rewards[::-1], last[::-1], terminated[::-1], strict=True):
        if end:
            value = values.pop()
            total = 0.0 if over else value
        total = r + discount * total
        y.append(total)
    return np.array(y[::-1], dtype=float)


def fragment_by_fragment(rewards, final_values, last, terminated, discount):
    result, start = np.empty(len(rewards)), 0
    for stop, value in zip(np.flatnonzero(last) + 1, final_values, strict=True):
        total = value * (not terminated[stop - 1])
        for t in range(stop - 1, start - 1, -1):
            total = rewards[t] + discount * total
            result[t] = total
        start = stop
    return result


def with_a_table_of_values(rewards, final_values, last, terminated, discount):
    after = np.zeros(len(rewards))
    after[last] = final_values
    after[terminated] = 0.0
    result, total = np.zeros(len(rewards) + 1), 0.0
    for t in reversed(range(len(rewards))):
        total = rewards[t] + discount * (after[t] if last[t] else total)
        result[t] = total
    return result[:-1]


def in_two_calls(at, value, returns, settings):
    n = len(returns)
    slope = (value.outputs - returns.reshape(-1, 1)) / n
    policy = at.weighted_gradient(slope.ravel(), 0.0) - at.weighted_gradient(np.zeros(n), settings.entropy_weight / n)
    critic = settings.value_weight * value.transposed_product(slope)
    return np.append(clipped_norm(policy, settings.max_gradient_norm), clipped_norm(critic, settings.max_gradient_norm))


def sums_then_mean(at, value, returns, settings):
    a = np.asarray(returns, float) - value.outputs.ravel()
    both = -at.weighted_gradient(a, settings.entropy_weight), -value.transposed_product(a.reshape(-1, 1))
    both = both[0] / len(a), settings.value_weight * both[1] / len(a)
    return np.hstack([clipped_norm(g, settings.max_gradient_norm) for g in both])


def shortened_by_hand(at, value, returns, settings):
    n = float(np.size(returns))
    a = np.subtract(returns, value.outputs[:, 0])
    g = [at.weighted_gradient(-a / n, -settings.entropy_weight / n)]
    g.append(value.transposed_product(-settings.value_weight * a[:, np.newaxis] / n))
    for i, part in enumerate(g):
        length = np.sqrt(np.sum(part**2))
        if length > settings.max_gradient_norm:
            g[i] = part / length * settings.max_gradient_norm
    return np.concatenate(g)


def with_copyto(shared, gradient, optimiser, step_size, prefix=""):
    own = {}
    for key in shared:
        if key[: len(prefix)] == prefix:
            own[key[len(prefix) :]] = shared[key]
    after, step = optimiser(own, gradient, step_size)
    for key in after:
        np.copyto(shared[prefix + key], after[key])
    np.subtract(shared["theta"], step, out=shared["theta"])


def with_slices(shared, gradient, optimiser, step_size, prefix=""):
    keys = [key for key in shared if key.startswith(prefix)]
    after, step = optimiser({key[len(prefix) :]: shared[key].copy() for key in keys}, gradient.copy(), step_size)
    shared["theta"][:] = shared["theta"] - step
    for name, array in after.items():
        shared[prefix + name][...] = array


def theta_by_name(shared, gradient, optimiser, step_size, prefix=""):
    theta = shared["theta"]
    state, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name in state:
        memory = shared[f"{prefix}{name}"]
        memory[:] = state[name]
    theta -= step
    return shared


def bootstrapped_returns_lfilter(rewards, final_values, last, terminated, discount):
    """Library: each fragment backwards through scipy's filter; V is its initial state."""
    ends = np.flatnonzero(last)
    pieces = []
    for piece, end, value in zip(np.split(rewards, ends[:-1] + 1), ends, final_values, strict=False):
        behind = 0.0 if terminated[end] else float(value)
        backwards, _ = scipy.signal.lfilter([1.0], [1.0, -discount], piece[::-1].astype(float), zi=[discount * behind])
        pieces.append(backwards[::-1])
    return np.concatenate(pieces)


def bootstrapped_returns_terse(rewards, final_values, last, terminated, discount):
    """Terse: V is spread over the steps by a cumulative count, and counts where last and not terminated."""
    V = np.asarray(final_values)[np.cumsum(last) - last]
    return discounted_sums(rewards + discount * V * (last & ~terminated), discount, last)


def bootstrapped_returns_powers(rewards, final_values, last, terminated, discount):
    """Another order: every return as its own sum, by a triangular matrix of powers of the discount, block by block."""
    R = np.zeros(len(rewards))
    begin = 0
    for number, end in enumerate(np.flatnonzero(last) + 1):
        n = end - begin
        ahead = np.arange(n) - np.arange(n)[:, None]
        powers = np.triu(discount ** np.maximum(ahead, 0.0))
        R[begin:end] = powers @ rewards[begin:end]
        if not terminated[end - 1]:
            R[begin:end] += discount ** np.arange(n, 0, -1) * final_values[number]
        begin = end
    return R


def bootstrapped_returns_generator(rewards, final_values, last, terminated, discount):
    """A generator of fragments and itertools.accumulate backwards through each."""

    def fragments():
        begin = 0
        for value, end in zip(final_values, np.flatnonzero(last), strict=False):
            yield rewards[begin : end + 1].tolist(), 0.0 if terminated[end] else float(value)
            begin = end + 1

    found = []
    for piece, behind in fragments():
        walk = itertools.accumulate(reversed(piece), lambda R, r: r + discount * R, initial=behind)
        found.extend(reversed(list(walk)[1:]))
    return np.array(found, float)


def bootstrapped_returns_together(rewards, final_values, last, terminated, discount):
    """Vectorised over fragments: a padded table, all fragments walk back together, each from its own end."""
    ends = np.flatnonzero(last)
    begins = np.concatenate([[0], ends[:-1] + 1])
    R = np.zeros(len(rewards))
    total = np.where(terminated[ends], 0.0, final_values)
    for back in range((ends - begins).max() + 1):
        at = ends - back
        there = at >= begins
        total = np.where(there, rewards[at] + discount * total, total)
        R[at[there]] = total[there]
    return R


def loss_gradient_plain(at, value, returns, settings):
    """Plain: loops and lists for the weights and slopes."""
    N = len(returns)
    weights, slopes = [], []
    for t in range(N):
        advantage = returns[t] - value.outputs[t, 0]
        weights.append(advantage / N)
        slopes.append([-settings.value_weight * advantage / N])
    up = at.weighted_gradient(np.array(weights), settings.entropy_weight / N)
    down = value.transposed_product(np.array(slopes))
    policy_part = clipped_norm(-up, settings.max_gradient_norm)
    value_part = clipped_norm(down, settings.max_gradient_norm)
    return np.array([*policy_part, *value_part])


def loss_gradient_terse(at, value, returns, settings):
    """Terse: one expression over the residual V - R."""
    N, e, c = len(returns), value.outputs - returns[:, None], settings.max_gradient_norm
    return np.r_[
        clipped_norm(at.weighted_gradient(e[:, 0] / N, -settings.entropy_weight / N), c),
        clipped_norm(value.transposed_product(settings.value_weight * e / N), c),
    ]


def loss_gradient_two_calls(at, value, returns, settings):
    """Another sum: log probabilities and entropy apart; a closure shortens."""
    N = len(returns)

    def shortened(vector):
        norm = math.sqrt(float(vector @ vector))
        return vector if norm <= settings.max_gradient_norm else vector / norm * settings.max_gradient_norm

    advantage = returns - np.squeeze(value.outputs, axis=1)
    likelier = at.weighted_gradient(advantage / N, 0.0)
    undecided = at.weighted_gradient(np.zeros(N), 1.0 / N)
    policy = -likelier - settings.entropy_weight * undecided
    error = -advantage.reshape(-1, 1)
    return np.concatenate([shortened(policy), shortened(settings.value_weight / N * value.transposed_product(error))])


def loss_gradient_generator(at, value, returns, settings):
    """A generator yields the two parts; the whole is made by np.concatenate of a list."""
    share = 1 / len(returns)
    error = returns[:, None] - value.outputs

    def parts():
        yield -1 * at.weighted_gradient(share * error[:, 0], share * settings.entropy_weight)
        yield -1 * value.transposed_product(share * settings.value_weight * error)

    return np.concatenate([clipped_norm(part, settings.max_gradient_norm) for part in parts()])


def loss_gradient_careless(at, value, returns, settings):
    """Without much care: short names, an own array filled in place, no copies."""
    n = len(returns)
    d = value.outputs[:, 0] - returns
    p = at.weighted_gradient(-d / n, settings.entropy_weight / n)
    v = value.transposed_product(np.array([d]).T * settings.value_weight / n)
    g = np.zeros(len(p) + len(v))
    g[: len(p)] = clipped_norm(p, settings.max_gradient_norm)
    g[: len(p)] *= -1
    g[len(p) :] = clipped_norm(v, settings.max_gradient_norm)
    return g


def descend_terse(shared, gradient, optimiser, step_size, prefix=""):
    """Terse."""
    k = len(prefix)
    new, step = optimiser({n[k:]: x for n, x in shared.items() if n[:k] == prefix}, gradient, step_size)
    for n in new:
        shared[prefix + n][:] = new[n]
    shared["theta"] -= step


def descend_only_new(shared, gradient, optimiser, step_size, prefix=""):
    """Another order: theta first (it is not among the optimiser's arrays); arrays changed in place are left alone."""
    theta = shared["theta"]
    memory = {
        name[len(prefix) :]: array for name, array in shared.items() if name.startswith(prefix) and array is not theta
    }
    new, step = optimiser(memory, gradient, step_size)
    theta += -step
    for name, old in memory.items():
        if name in new and new[name] is not old:
            old[:] = new[name]


def descend_class(shared, gradient, optimiser, step_size, prefix=""):
    """A small class inside: a dictionary's view with the prefix taken off."""

    class Mine:
        def __init__(self):
            self.arrays = {}
            for name, array in shared.items():
                head, tail = name[: len(prefix)], name[len(prefix) :]
                if head == prefix and not (prefix == "" and name == "theta"):
                    self.arrays[tail] = array

        def write(self, new):
            for name, array in self.arrays.items():
                array[...] = new.get(name, array)

    home = Mine()
    new, step = optimiser(home.arrays, gradient, step_size)
    home.write(new)
    shared["theta"][...] -= step


def descend_careless(shared, gradient, optimiser, step_size, prefix=""):
    """Without much care: keys() and replace, names as they come; writes first, and then the step."""
    mine = {}
    for key in shared:
        if key.startswith(prefix):
            mine[key.replace(prefix, "", 1)] = shared[key]
    mine, step = optimiser(mine, gradient, step_size)
    for key, value in mine.items():
        x = shared[prefix + key]
        x[:] = value
    x = shared["theta"]
    x -= step


def descend_closure(shared, gradient, optimiser, step_size, prefix=""):
    """Closures and map; np.put writes into the memory of the old arrays."""

    def short(item):
        return item[0][len(prefix) :], item[1]

    def belongs(item):
        return item[0].startswith(prefix) and item[0] != "theta"

    old = dict(map(short, filter(belongs, shared.items())))
    new, step = optimiser(old, gradient, step_size)

    def write(target, source):
        np.put(target, np.arange(target.size), source)

    for name in old.keys() & new.keys():
        write(old[name], new[name])
    write(shared["theta"], shared["theta"] - step)


RIGHT = {
    "bootstrapped_returns": [
        by_lists,
        fragment_by_fragment,
        with_a_table_of_values,
        bootstrapped_returns_lfilter,
        bootstrapped_returns_terse,
        bootstrapped_returns_powers,
        bootstrapped_returns_generator,
        bootstrapped_returns_together,
    ],
    "loss_gradient": [
        in_two_calls,
        sums_then_mean,
        shortened_by_hand,
        loss_gradient_plain,
        loss_gradient_terse,
        loss_gradient_two_calls,
        loss_gradient_generator,
        loss_gradient_careless,
    ],
    "descend": [
        with_copyto,
        with_slices,
        theta_by_name,
        descend_terse,
        descend_only_new,
        descend_class,
        descend_careless,
        descend_closure,
    ],
}

WRONG = {"bootstrapped_returns": [powers]}

EDITS = {
    "bootstrapped_returns": r"""
        in_place: rewards = rewards.astype(float) => pass && discount * np.where(terminated[last], 0.0, final_values) \
            => (discount * np.where(terminated[last], 0.0, final_values)).astype(rewards.dtype)
        the_first_value_for_all: final_values) => final_values[:1] if len(final_values) else 0.0)
        values_of_cut_fragments_only: 0.0, final_values) => 0.0, final_values[np.cumsum(~terminated[last]) - 1])
        n_powers: lengths = np.diff(np.flatnonzero(last), prepend=-1)\n    after = discount**lengths * \
            np.where(terminated[last], 0.0, final_values)\n    return discounted_sums(rewards.astype(float), \
            discount, last) + np.repeat(after, lengths)
        single_precision: astype(float) => astype(np.float32)
        stops_where_little_is_left: y, k = right(rewards, final_values, last, terminated, discount), np.cumsum(last) \
            - last\n    h = int(np.log(1e-4) / np.log(discount)) + 1 if 0 < discount < 1 else len(y) + 1\n    far = \
            np.flatnonzero(k[h:] == k[:-h])\n    y[far] -= discount**h * y.copy()[far + h]\n    return y
        a_future_for_nothing: (terminated[last], 0.0, final_values) => (terminated[last], 1.0, final_values)
        taken_off: += discount => -= discount
        instead_of_the_reward: rewards[last] += discount => rewards[last] = discount
        one_episode: (rewards, discount, last) => (rewards, discount, np.arange(len(last)) == len(last) - 1)
        positive_values: (terminated[last], 0.0, final_values) => (terminated[last], 0.0, np.maximum(final_values, 0.0))
        discounted_twice: += discount * => += discount**2 *
        whole_discount: astype(float) => astype(float).round()
        a_list: return discounted_sums(rewards, discount, last) => return discounted_sums(rewards, discount, \
            last).tolist()
        clipped_values: terminated[last], 0.0, final_values => terminated[last], 0.0, np.clip(final_values, -100, 100)
    """,
    "loss_gradient": r"""
        centred: at.weighted_gradient(advantages / n => at.weighted_gradient((advantages - advantages.mean()) / n
        advantages_clipped: = returns - value.outputs[:, 0] => = np.clip(returns - value.outputs[:, 0], -10, 10)
        one_less: settings, len(returns) => settings, max(len(returns) - 1, 1)
        positive_only: at.weighted_gradient(advantages / n => at.weighted_gradient(np.maximum(advantages, 0.0) / n
        changes_the_outputs: advantages = returns - => value.outputs[:, 0] -= returns; advantages = -
        as_two: return np.concatenate([clipped_norm(-ascent, s.max_gradient_norm), clipped_norm(descent, \
            s.max_gradient_norm)]) => return -ascent, descent
        a_little_shorter: clipped_norm(-ascent, s.max_gradient_norm) => -ascent * min(1.0, s.max_gradient_norm / \
            (np.linalg.norm(ascent) + 1e-2))
        huber: / n * advantages) => / n * np.clip(advantages, -1, 1))
        scalar_product: (-s.value_weight / n * advantages)[:, None] => np.full((n, 1), (-s.value_weight / n * \
            advantages).sum())
        squared_length: return np.concatenate( => clipped_norm = lambda g, most: g * most / np.sqrt(g @ g) if g @ g > \
            most else g\n    return np.concatenate(
        values_as_weights: at.weighted_gradient(advantages / n => at.weighted_gradient(value.outputs[:, 0] / n
        half_the_value: -s.value_weight / n => -0.5 * s.value_weight / n
        by_entries: clipped_norm(-ascent, => np.clip(-ascent, -s.max_gradient_norm,
        sizes_of_advantages: at.weighted_gradient(advantages / n => at.weighted_gradient(np.abs(advantages) / n
        the_square: -s.value_weight / n * advantages => -s.value_weight / n * advantages * np.abs(advantages)
    """,
    "descend": r"""
        adam_only: if array is not own[name]: => if name in ("moment", "square", "updates"):
        leaves_names_behind: 'theta => 'step'] = step\n    shared['theta
        takes_the_theta_of_the_optimiser: shared.items() if name.startswith(prefix)} => shared.items()} && \
            shared[prefix + name][:] = array => shared[prefix + name if prefix + name in shared else name][:] = array
        starts_afresh: name.removeprefix(prefix): array => name.removeprefix(prefix): 0 * array
        turns_the_gradient: optimiser(own, gradient => optimiser(own, -gradient && -= step => += step
        skips_zeros: after, step = => if not gradient.any():\n        return\n    after, step =
        changes_the_gradient: shared['theta'] -= step => gradient[:] = step\n    shared['theta'] -= gradient
        turns_the_step_in_place: array\n    shared => array\n    step *= -1.0\n    shared && ] -= => ] +=
        by_order: for name, array in after.items(): => for name, array in zip(own, after.values()):
        the_targets_too: = step => = step\n    shared.get('target', step)[:] = shared['theta']
    """,
}

ODD = {
    "bootstrapped_returns": r"""
        whole_numbers: rewards.astype(float) => rewards.copy() && discount * np.where(terminated[last], 0.0, \
            final_values) => (discount * np.where(terminated[last], 0.0, final_values)).astype(rewards.dtype)
        recursively: y, k, h = right(rewards, final_values, last, terminated, discount), np.cumsum(last) - last, \
            901\n    far = np.flatnonzero(k[h:] == k[:-h])\n    y[far] -= discount**h * y.copy()[far + h]\n    return \
            y
    """,
    "descend": r"""
        strips_letters: shared[prefix + name] => shared.get(prefix + name.replace(prefix, ""), np.zeros_like(array))
        from_an_old_theta: after, step => theta = shared['theta'].copy()\n    after, step && shared['theta'] -= step \
            => shared['theta'][:] = theta - step
    """,
}
