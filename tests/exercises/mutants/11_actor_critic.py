"""Lecture 11: right answers in other styles, and wrong ones, most of them as edits of the package."""

import numpy as np

from minitrpo.optimisers import clipped_norm


def backwards(x, last, discount):
    y, total = np.zeros(len(x)), 0.0
    for t in range(len(x) - 1, -1, -1):
        total = x[t] + (0.0 if last[t] else discount * total)
        y[t] = total
    return y


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


RIGHT = {
    "bootstrapped_returns": [by_lists, fragment_by_fragment, with_a_table_of_values],
    "loss_gradient": [in_two_calls, sums_then_mean, shortened_by_hand],
    "descend": [with_copyto, with_slices, theta_by_name],
}

WRONG = {"bootstrapped_returns": [powers]}

EDITS = {
    "bootstrapped_returns": r"""
        in_place: rewards = rewards.astype(float) => pass && discount * np.where(terminated[last], 0.0, final_values) \
            => (discount * np.where(terminated[last], 0.0, final_values)).astype(rewards.dtype)
        whole_numbers: rewards.astype(float) => rewards.copy() && discount * np.where(terminated[last], 0.0, \
            final_values) => (discount * np.where(terminated[last], 0.0, final_values)).astype(rewards.dtype)
        the_first_value_for_all: final_values) => final_values[:1] if len(final_values) else 0.0)
        values_of_cut_fragments_only: 0.0, final_values) => 0.0, final_values[np.cumsum(~terminated[last]) - 1])
        n_powers: lengths = np.diff(np.flatnonzero(last), prepend=-1)\n    after = discount**lengths * \
            np.where(terminated[last], 0.0, final_values)\n    return discounted_sums(rewards.astype(float), \
            discount, last) + np.repeat(after, lengths)
        single_precision: astype(float) => astype(np.float32)
        recursively: y, k, h = right(rewards, final_values, last, terminated, discount), np.cumsum(last) - last, \
            901\n    far = np.flatnonzero(k[h:] == k[:-h])\n    y[far] -= discount**h * y.copy()[far + h]\n    return \
            y
        stops_where_little_is_left: y, k = right(rewards, final_values, last, terminated, discount), np.cumsum(last) \
            - last\n    h = int(np.log(1e-4) / np.log(discount)) + 1 if 0 < discount < 1 else len(y) + 1\n    far = \
            np.flatnonzero(k[h:] == k[:-h])\n    y[far] -= discount**h * y.copy()[far + h]\n    return y
        a_future_for_nothing: (terminated[last], 0.0, final_values) => (terminated[last], 1.0, final_values)
        taken_off: += discount => -= discount
        instead_of_the_reward: rewards[last] += discount => rewards[last] = discount
        one_episode: (rewards, discount, last) => (rewards, discount, np.arange(len(last)) == len(last) - 1)
        no_discount: discounted_sums(rewards, discount, last) => discounted_sums(rewards, 1.0, last)
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
        policy_summed: advantages / n, s => advantages, s
        half_the_value: -s.value_weight / n => -0.5 * s.value_weight / n
        not_shortened: clipped_norm(descent, s.max_gradient_norm) => descent
        policy_not_shortened: clipped_norm(-ascent, s.max_gradient_norm) => -ascent
        by_entries: clipped_norm(-ascent, => np.clip(-ascent, -s.max_gradient_norm,
        sizes_of_advantages: at.weighted_gradient(advantages / n => at.weighted_gradient(np.abs(advantages) / n
        the_square: -s.value_weight / n * advantages => -s.value_weight / n * advantages * np.abs(advantages)
    """,
    "descend": r"""
        strips_letters: shared[prefix + name] => shared.get(prefix + name.replace(prefix, ""), np.zeros_like(array))
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
        scaled_again: = step => = step_size * step
        the_gradient_itself: = step => = step_size * gradient
        the_targets_too: = step => = step\n    shared.get('target', step)[:] = shared['theta']
    """,
}
