"""Lecture 11: right answers in other styles, and wrong ones."""

import numpy as np

from minitrpo.optimisers import clipped_norm


def bootstrapped_returns_lists(rewards, final_values, last, terminated, discount):
    y, total, values = [], 0.0, list(final_values)
    for r, end, over in zip(rewards[::-1], last[::-1], terminated[::-1], strict=True):
        if end:
            value = values.pop()
            total = 0.0 if over else value
        total = r + discount * total
        y.append(total)
    return np.array(y[::-1], dtype=float)


def bootstrapped_returns_by_fragment(rewards, final_values, last, terminated, discount):
    result, start = np.empty(len(rewards)), 0
    for stop, value in zip(np.flatnonzero(last) + 1, final_values, strict=True):
        total = value * (not terminated[stop - 1])
        for t in range(stop - 1, start - 1, -1):
            result[t] = total = rewards[t] + discount * total
        start = stop
    return result


def loss_gradient_in_two_calls(at, value, returns, settings):
    n = len(returns)
    slope = (value.outputs - returns.reshape(-1, 1)) / n
    policy = at.weighted_gradient(slope.ravel(), 0.0) - at.weighted_gradient(np.zeros(n), settings.entropy_weight / n)
    critic = settings.value_weight * value.transposed_product(slope)
    return np.append(clipped_norm(policy, settings.max_gradient_norm), clipped_norm(critic, settings.max_gradient_norm))


def loss_gradient_shortened_by_hand(at, value, returns, settings):
    n, a = float(np.size(returns)), np.subtract(returns, value.outputs[:, 0])
    g = [at.weighted_gradient(-a / n, -settings.entropy_weight / n)]
    g.append(value.transposed_product(-settings.value_weight * a[:, np.newaxis] / n))
    for i, part in enumerate(g):
        length = np.sqrt(np.sum(part**2))
        if length > settings.max_gradient_norm:
            g[i] = part / length * settings.max_gradient_norm
    return np.concatenate(g)


def descend_theta_first(shared, gradient, optimiser, step_size, prefix=""):
    """theta is not among the optimiser's arrays; arrays changed in place are left alone."""
    theta = shared["theta"]
    mine = {name[len(prefix) :]: x for name, x in shared.items() if name.startswith(prefix) and x is not theta}
    new, step = optimiser(mine, gradient, step_size)
    theta += -step
    for name, old in mine.items():
        if name in new and new[name] is not old:
            old[:] = new[name]


def descend_by_put(shared, gradient, optimiser, step_size, prefix=""):
    old = {name[len(prefix) :]: x for name, x in shared.items() if name.startswith(prefix) and name != "theta"}
    new, step = optimiser(old, gradient, step_size)
    old["theta"], new = shared["theta"], {**new, "theta": shared["theta"] - step}
    for name in old.keys() & new.keys():
        np.put(old[name], np.arange(old[name].size), new[name])


RIGHT = {
    "bootstrapped_returns": r"""
        spread_over_the_steps: return discounted_sums(rewards + discount * (last & ~terminated) \
            * np.asarray(final_values)[np.cumsum(last) - last], discount, last)
        products: np.where(terminated[last], 0.0, final_values) => final_values * (1 - terminated[last])
        correlation: return discounted_sums(rewards, discount, last) => return np.concatenate([np.correlate(piece, \
            float(discount) ** np.arange(len(piece)), "full")[len(piece) - 1 :] \
            for piece in np.split(rewards, np.flatnonzero(last) + 1)[:-1]])
    """,
    "loss_gradient": r"""
        mean_at_the_end: at.weighted_gradient(advantages / n, s.entropy_weight / n) => \
            at.weighted_gradient(np.asarray(advantages, float), s.entropy_weight) / n
        residual: (-s.value_weight / n * advantages)[:, None] => s.value_weight / n * (value.outputs - returns[:, None])
        minus_inside: at.weighted_gradient(advantages / n, s.entropy_weight / n) => \
            -at.weighted_gradient(-advantages / n, -s.entropy_weight / n) && np.concatenate( => np.hstack(
        weight_outside: value.transposed_product((-s.value_weight / n * advantages)[:, None]) => \
            -s.value_weight * value.transposed_product(advantages.reshape(-1, 1)) / n
    """,
    "descend": r"""
        copyto: shared[prefix + name][:] = array => np.copyto(shared[prefix + name], array)
        copies: optimiser(before, gradient, step_size) => optimiser({name: array.copy() \
            for name, array in before.items()}, gradient.copy(), step_size)
        subtract: shared['theta'] -= step => np.subtract(shared["theta"], step, out=shared["theta"])
        returns_all: shared['theta'] -= step => shared["theta"] -= step\n    return shared
    """,
}

WRONG = {
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
        instead_of_the_reward: rewards[last] += discount => rewards[last] = discount
        one_episode: (rewards, discount, last) => (rewards, discount, np.arange(len(last)) == len(last) - 1)
        positive_values: (terminated[last], 0.0, final_values) => (terminated[last], 0.0, np.maximum(final_values, 0.0))
        discounted_twice: += discount * => += discount**2 *
        whole_discount: astype(float) => astype(float).round()
        a_list: return discounted_sums(rewards, discount, last) => return discounted_sums(rewards, discount, \
            last).tolist()
        clipped_values: terminated[last], 0.0, final_values => terminated[last], 0.0, np.clip(final_values, -100, 100)
        divides_by_powers: return discounted_sums(rewards, discount, last) => powers = np.float64(discount) ** \
            np.arange(len(last))\n    return discounted_sums(rewards * powers, 1.0, last) / (powers + 1e-12)
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
        adam_only: shared[prefix + name][:] => if name in ("moment", "square", "updates"): shared[prefix + name][:]
        leaves_names_behind: 'theta => 'step'] = step\n    shared['theta
        takes_the_theta_of_the_optimiser: shared.items() if name.startswith(prefix)} => shared.items()} && \
            shared[prefix + name][:] = array => shared[prefix + name if prefix + name in shared else name][:] = array
        starts_afresh: name.removeprefix(prefix): array => name.removeprefix(prefix): 0 * array
        turns_the_gradient: optimiser(before, gradient => optimiser(before, -gradient && -= step => += step
        skips_zeros: after, step = => if not gradient.any():\n        return\n    after, step =
        changes_the_gradient: shared['theta'] -= step => gradient[:] = step\n    shared['theta'] -= gradient
        turns_the_step_in_place: array\n    shared => array\n    step *= -1.0\n    shared && ] -= => ] +=
        by_order: for name, array in after.items(): => for name, array in zip(before, after.values()):
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
