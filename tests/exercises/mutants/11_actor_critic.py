"""Wrong answers to the exercises of lectures 11a and 11b, and right ones written in another style."""

import numpy as np

from minitrpo.optimisers import clipped_norm


def named(name, function):
    function.__name__ = name
    return function


# ---- bootstrapped_returns


def in_place(rewards, final_values, last, terminated, discount):
    """Writes V into the rewards that it was given."""
    rewards[last] = rewards[last] + discount * np.where(terminated[last], 0, final_values).astype(rewards.dtype)
    return backwards(rewards, last, discount)


def backwards(x, last, discount):
    y, total = np.zeros(len(x)), 0.0
    for t in range(len(x) - 1, -1, -1):
        total = x[t] + (0.0 if last[t] else discount * total)
        y[t] = total
    return y


def whole_numbers(rewards, final_values, last, terminated, discount):
    """A copy of integer rewards holds integers."""
    x = rewards.copy()
    x[last] = x[last] + discount * np.where(terminated[last], 0.0, final_values)
    return backwards(x, last, discount)


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


def the_first_value_for_all(rewards, final_values, last, terminated, discount):
    x = rewards.astype(float)
    x[last] += discount * np.where(terminated[last], 0.0, final_values[:1] if len(final_values) else 0.0)
    return backwards(x, last, discount)


def values_of_cut_fragments_only(rewards, final_values, last, terminated, discount):
    """Takes final_values for those of the cut fragments, one after the other."""
    y, total, k = np.zeros(len(rewards)), 0.0, 0
    values = np.zeros(len(rewards))
    for t in np.flatnonzero(last & ~terminated):
        values[t], k = final_values[k], k + 1
    for t in range(len(rewards) - 1, -1, -1):
        if last[t]:
            total = values[t]
        total = rewards[t] + discount * total
        y[t] = total
    return y


def a_flag_for_all(rewards, final_values, last, terminated, discount):
    """One terminated fragment, and none is bootstrapped."""
    x = rewards.astype(float)
    if not terminated.any():
        x[last] += discount * final_values
    return backwards(x, last, discount)


def n_powers(rewards, final_values, last, terminated, discount):
    """V is discounted by the whole fragment's length in every step of it."""
    y = backwards(rewards.astype(float), last, discount)
    ends = np.flatnonzero(last)
    for k, (start, stop) in enumerate(zip(np.append(0, ends[:-1] + 1), ends + 1, strict=True)):
        if not terminated[stop - 1]:
            y[start:stop] += discount ** (stop - start) * final_values[k]
    return y


def single_precision(rewards, final_values, last, terminated, discount):
    x = rewards.astype(np.float32)
    with np.errstate(all="ignore"):
        x[last] += (discount * np.where(terminated[last], 0.0, final_values)).astype(np.float32)
    return backwards(x, last, discount)


def recursively(rewards, final_values, last, terminated, discount):
    """Looks at most 900 steps ahead, lest Python runs out of stack."""
    y, k = np.zeros(len(rewards)), np.cumsum(last) - last

    def of(t, depth):
        if last[t]:
            return rewards[t] + discount * (0.0 if terminated[t] else final_values[k[t]])
        return rewards[t] + (discount * of(t + 1, depth + 1) if depth < 900 else 0.0)

    for t in range(len(y)):
        y[t] = of(t, 0)
    return y


# ---- loss_gradient


def parts_of(at, value, returns, s, advantages=None, n=None):
    a = returns - value.outputs[:, 0] if advantages is None else advantages
    n = n or len(returns)
    policy = -at.weighted_gradient(a / n, s.entropy_weight / n)
    return policy, value.transposed_product((-s.value_weight / n * a)[:, None])


def joined(parts, s):
    return np.concatenate([clipped_norm(part, s.max_gradient_norm) for part in parts])


def standardised(at, value, returns, s):
    a = returns - value.outputs[:, 0]
    policy, _ = parts_of(at, value, returns, s, (a - a.mean()) / (a.std() + 1e-8))
    return joined((policy, parts_of(at, value, returns, s)[1]), s)


def centred(at, value, returns, s):
    a = returns - value.outputs[:, 0]
    return joined((parts_of(at, value, returns, s, a - a.mean())[0], parts_of(at, value, returns, s)[1]), s)


def advantages_clipped(at, value, returns, s):
    return joined(parts_of(at, value, returns, s, np.clip(returns - value.outputs[:, 0], -10, 10)), s)


def one_less(at, value, returns, s):
    return joined(parts_of(at, value, returns, s, n=max(len(returns) - 1, 1)), s)


def positive_only(at, value, returns, s):
    """Learns from successes alone."""
    policy, _ = parts_of(at, value, returns, s, np.maximum(returns - value.outputs[:, 0], 0.0))
    return joined((policy, parts_of(at, value, returns, s)[1]), s)


def changes_the_outputs(at, value, returns, s):
    value.outputs[:, 0] -= returns
    a = -value.outputs[:, 0]
    return joined(parts_of(at, value, returns, s, a), s)


def as_two(at, value, returns, s):
    return parts_of(at, value, returns, s)


def always_that_long(at, value, returns, s):
    parts = parts_of(at, value, returns, s)
    return np.concatenate([part * min(s.max_gradient_norm, 1e30) / (np.linalg.norm(part) + 1e-30) for part in parts])


def a_little_shorter(at, value, returns, s):
    """Divides by length + 1e-6, as PyTorch's clip_grad_norm_ does, long or not."""
    parts = parts_of(at, value, returns, s)
    lengths = [np.linalg.norm(part) for part in parts]
    return np.concatenate([p * min(1.0, s.max_gradient_norm / (x + 1e-2)) for p, x in zip(parts, lengths, strict=True)])


def huber(at, value, returns, s):
    a = returns - value.outputs[:, 0]
    clipped = np.clip(a, -1, 1)
    return joined((parts_of(at, value, returns, s)[0], parts_of(at, value, returns, s, clipped)[1]), s)


def scalar_product(at, value, returns, s):
    """Broadcasts (N,) against (N, 1): every step gets the sum of all slopes."""
    n, a = len(returns), returns - value.outputs[:, 0]
    of_value = value.transposed_product(np.full((n, 1), (-s.value_weight / n * a).sum()))
    return joined((parts_of(at, value, returns, s)[0], of_value), s)


# ---- descend


def own_of(shared, prefix):
    return {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}


def rebinds(shared, gradient, optimiser, step_size, prefix=""):
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    shared.update({prefix + name: array for name, array in after.items()})
    shared["theta"] = shared["theta"] - step


def writes_into_copies(shared, gradient, optimiser, step_size, prefix=""):
    theta = shared["theta"].copy()
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    theta -= step


def strips_letters(shared, gradient, optimiser, step_size, prefix=""):
    """replace takes the prefix out wherever it stands."""
    own = {name.replace(prefix, ""): array for name, array in shared.items() if name.startswith(prefix)}
    names = {name.replace(prefix, ""): name for name in shared if name.startswith(prefix)}
    own |= {name.removeprefix(prefix): shared[name].copy() for name in names.values()}
    after, step = optimiser(own, gradient, step_size)
    for name, array in after.items():
        shared.get(names.get(name, ""), np.zeros_like(array))[:] = array
    shared["theta"] -= step


def adam_only(shared, gradient, optimiser, step_size, prefix=""):
    """Writes the arrays it has heard of."""
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name in ("moment", "square", "updates"):
        if name in after:
            shared[prefix + name][:] = after[name]
    shared["theta"] -= step


def leaves_names_behind(shared, gradient, optimiser, step_size, prefix=""):
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["step"] = step
    shared["theta"] -= step


def takes_the_theta_of_the_optimiser(shared, gradient, optimiser, step_size, prefix=""):
    """Finds everything that has no prefix, too."""
    own = {name.removeprefix(prefix): array for name, array in shared.items()}
    after, step = optimiser(own, gradient, step_size)
    for name, array in after.items():
        if prefix + name in shared:
            shared[prefix + name][:] = array
        else:
            shared[name][:] = array
    shared["theta"] -= step


def starts_afresh(shared, gradient, optimiser, step_size, prefix=""):
    """The optimiser's memory begins at zero every time."""
    own = {name: np.zeros_like(array) for name, array in own_of(shared, prefix).items()}
    after, step = optimiser(own, gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["theta"] -= step


def turns_the_gradient(shared, gradient, optimiser, step_size, prefix=""):
    """Up with the gradient turned: the memory of momentum and Adam has the wrong sign."""
    after, step = optimiser(own_of(shared, prefix), -gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["theta"] += step


def skips_zeros(shared, gradient, optimiser, step_size, prefix=""):
    """Nothing to learn, nothing to do: but Adam counts its steps, and momentum goes on."""
    if not gradient.any():
        return
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["theta"] -= step


def changes_the_gradient(shared, gradient, optimiser, step_size, prefix=""):
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    gradient[:] = step
    shared["theta"] -= gradient


def steps_from_an_old_theta(shared, gradient, optimiser, step_size, prefix=""):
    """Reads theta before the optimiser is at work, and writes it back: what others pushed meanwhile is lost."""
    before = shared["theta"].copy()
    after, step = optimiser(own_of(shared, prefix), gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["theta"][:] = before - step


# ---- sarsa_targets


def loops_over_integers(rewards, terminated, next_q, next_actions, discount):
    """np.zeros_like of whole rewards holds whole numbers."""
    y = np.zeros_like(rewards)
    for i in range(len(rewards)):
        y[i] = rewards[i] + (0 if terminated[i] else discount * next_q[i, next_actions[i]])
    return y


def diagonal_of_columns(rewards, terminated, next_q, next_actions, discount):
    return rewards + discount * (1.0 - terminated) * next_q[:, next_actions].sum(axis=1)


def drops_the_terminated(rewards, terminated, next_q, next_actions, discount):
    on = ~np.asarray(terminated, bool)
    return rewards[on] + discount * next_q[np.arange(len(next_q)), next_actions][on]


def stops_at_the_first_end(rewards, terminated, next_q, next_actions, discount):
    on = np.cumsum(terminated) == 0
    return rewards + discount * on * next_q[np.arange(len(next_q)), next_actions]


def writes_into_q(rewards, terminated, next_q, next_actions, discount):
    if next_q.dtype.kind == "f":
        next_q[np.asarray(terminated, bool)] = 0.0
    return rewards + discount * (1.0 - terminated) * next_q[np.arange(len(next_q)), next_actions]


def clips_rewards(rewards, terminated, next_q, next_actions, discount):
    """DQN's: rewards between -1 and 1."""
    return np.clip(rewards, -1, 1) + discount * (1.0 - terminated) * next_q[np.arange(len(next_q)), next_actions]


# ---- right answers in another style


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


def with_take_along_axis(rewards, terminated, next_q, next_actions, discount):
    taken = np.take_along_axis(next_q, next_actions[:, None], axis=1)[:, 0]
    return np.where(terminated, rewards, rewards + discount * taken)


def row_by_row(rewards, terminated, next_q, next_actions, discount):
    pairs = zip(rewards, terminated, next_q, next_actions, strict=True)
    return np.array([r if over else r + discount * q[a] for r, over, q, a in pairs], dtype=float)


def with_a_mask(rewards, terminated, next_q, next_actions, discount):
    chosen = np.arange(next_q.shape[1]) == next_actions[:, None]
    return rewards + discount * (1 - np.asarray(terminated, float)) * np.sum(next_q * chosen, axis=1)


# ---- as an examiner wrote them, who knew the lecture and no check


def stops_where_little_is_left(rewards, final_values, last, terminated, discount):
    which = np.cumsum(last) - last
    out = np.zeros(len(rewards))
    for t in range(len(rewards)):
        weight, i = (1.0, t)
        while weight >= 0.0001:
            out[t] += weight * rewards[i]
            weight *= discount
            if last[i]:
                if not terminated[i]:
                    out[t] += weight * final_values[which[i]]
                break
            i += 1
    return out


def squared_length(at, value, returns, settings):
    s, n = (settings, len(returns))
    A = returns - value.outputs[:, 0]
    up = at.weighted_gradient(A / n, s.entropy_weight / n)
    down = value.transposed_product((-s.value_weight / n * A)[:, None])

    def shortened(g):
        square = g @ g
        return g * s.max_gradient_norm / np.sqrt(square) if square > s.max_gradient_norm else g

    return np.concatenate([shortened(-up), shortened(down)])


def turns_the_step_in_place(shared, gradient, optimiser, step_size, prefix=""):
    own = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
    after, step = optimiser(own, gradient, step_size)
    for name, array in after.items():
        shared[prefix + name][:] = array
    step *= -1.0
    shared["theta"] += step


def by_order(shared, gradient, optimiser, step_size, prefix=""):
    own = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
    after, step = optimiser(own, gradient, step_size)
    for old, new in zip(own.values(), after.values(), strict=False):
        old[:] = new
    shared["theta"] -= step


def the_rewards_themselves(rewards, terminated, next_q, next_actions, discount):
    if terminated.all():
        return rewards
    return rewards + discount * (1.0 - terminated) * next_q[np.arange(len(next_q)), next_actions]


# --- n_step_q_targets


def of_whole_numbers(rewards, last, terminated, final_q, discount):
    y = rewards.copy()
    y[last] += (discount * (1 - terminated[last]) * final_q.max(axis=1)).astype(y.dtype)
    return backwards(y, last, discount)


def changes_the_rewards(rewards, last, terminated, final_q, discount):
    rewards[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1)
    return backwards(rewards, last, discount)


def one_row_for_each_cut(rewards, last, terminated, final_q, discount):
    y, cut = rewards.astype(float), last & ~terminated
    y[cut] += discount * final_q.max(axis=1)[: cut.sum()]
    return backwards(y, last, discount)


def the_best_of_all(rewards, last, terminated, final_q, discount):
    y, total = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        if last[t]:
            total = 0.0 if terminated[t] else np.max(final_q)
        total = rewards[t] + discount * total
        y[t] = total
    return y


def clips_like_atari(rewards, last, terminated, final_q, discount):
    y = np.clip(rewards.astype(float), -1.0, 1.0)
    y[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1)
    return backwards(y, last, discount)


def n_powers_of_the_longest(rewards, last, terminated, final_q, discount):
    lengths = np.diff(np.flatnonzero(last), prepend=-1)
    y = backwards(rewards.astype(float), last, discount)
    far = discount ** (lengths.max() if len(lengths) else 0)
    return y + np.repeat(far * (1.0 - terminated[last]) * final_q.max(axis=1), lengths)


def the_largest_in_size(rewards, last, terminated, final_q, discount):
    y = rewards.astype(float)
    y[last] += discount * (1.0 - terminated[last]) * np.abs(final_q).max(axis=1)
    return backwards(y, last, discount)


def the_number_of_the_best(rewards, last, terminated, final_q, discount):
    y = rewards.astype(float)
    y[last] += discount * (1.0 - terminated[last]) * final_q.argmax(axis=1)
    return backwards(y, last, discount)


def only_what_is_good(rewards, last, terminated, final_q, discount):
    y = rewards.astype(float)
    y[last] += discount * (1.0 - terminated[last]) * np.maximum(final_q.max(axis=1), 0.0)
    return backwards(y, last, discount)


def by_bootstrapped_returns(rewards, last, terminated, final_q, discount):
    return by_lists(rewards, final_q.max(axis=1), last, terminated, discount)


def rows_from_the_end(rewards, last, terminated, final_q, discount):
    y, total, fragment = np.zeros(len(rewards)), 0.0, len(final_q)
    for t in range(len(rewards) - 1, -1, -1):
        if last[t]:
            fragment -= 1
            total = 0.0 if terminated[t] else max(final_q[fragment])
        total = rewards[t] + discount * total
        y[t] = total
    return y


def by_sorting(rewards, last, terminated, final_q, discount):
    best = np.where(terminated[last], 0.0, np.sort(final_q, axis=1)[:, -1])
    y = np.array(rewards, float)
    y[np.flatnonzero(last)] += discount * best
    return backwards(y, last, discount)


WRONG = {
    "bootstrapped_returns": [
        in_place,
        whole_numbers,
        powers,
        the_first_value_for_all,
        values_of_cut_fragments_only,
        a_flag_for_all,
        n_powers,
        single_precision,
        recursively,
    ],
    "loss_gradient": [
        standardised,
        centred,
        advantages_clipped,
        one_less,
        positive_only,
        changes_the_outputs,
        as_two,
        always_that_long,
        a_little_shorter,
        huber,
        scalar_product,
    ],
    "descend": [
        rebinds,
        writes_into_copies,
        strips_letters,
        adam_only,
        leaves_names_behind,
        takes_the_theta_of_the_optimiser,
        starts_afresh,
        turns_the_gradient,
        skips_zeros,
        changes_the_gradient,
        steps_from_an_old_theta,
    ],
    "sarsa_targets": [
        loops_over_integers,
        diagonal_of_columns,
        drops_the_terminated,
        stops_at_the_first_end,
        writes_into_q,
        clips_rewards,
    ],
    "n_step_q_targets": [
        of_whole_numbers,
        changes_the_rewards,
        one_row_for_each_cut,
        the_best_of_all,
        clips_like_atari,
        n_powers_of_the_longest,
        the_largest_in_size,
        the_number_of_the_best,
        only_what_is_good,
    ],
}

CUT = "np.where(terminated[last], 0.0, final_values)"
EDITS = {
    "bootstrapped_returns": {
        "never_bootstraps": (CUT, "0.0"),
        "always_bootstraps": (CUT, "final_values"),
        "wrong_way_round": (CUT, "np.where(terminated[last], final_values, 0.0)"),
        "not_discounted": ("+= discount * np", "+= np"),
        "a_future_for_nothing": (CUT, "np.where(terminated[last], 1.0, final_values)"),
        "taken_off": ("+= discount", "-= discount"),
        "instead_of_the_reward": ("rewards[last] += discount", "rewards[last] = discount"),
        "one_episode": ("return discounted_sums(rewards, discount, last)",
                        "return discounted_sums(rewards, discount, np.arange(len(last)) == len(last) - 1)"),
        "no_discount": ("discounted_sums(rewards, discount, last)", "discounted_sums(rewards, 1.0, last)"),
        "stops_at_the_terminated": ("discounted_sums(rewards, discount, last)",
                                    "discounted_sums(rewards, discount, terminated)"),
        "reversed_values": (CUT, "np.where(terminated[last], 0.0, final_values[::-1])"),
        "positive_values": (CUT, "np.where(terminated[last], 0.0, np.maximum(final_values, 0.0))"),
        "discounted_twice": ("+= discount *", "+= discount**2 *"),
        "whole_discount": ("astype(float)", "astype(float).round()"),
        "a_list": ("return discounted_sums(rewards, discount, last)",
                   "return discounted_sums(rewards, discount, last).tolist()"),
        "clipped_values": (CUT, "np.where(terminated[last], 0.0, np.clip(final_values, -100, 100))"),
    },
    "loss_gradient": {
        "climbs_the_policy": ("clipped_norm(-ascent", "clipped_norm(ascent"),
        "climbs_the_value": ("(-s.value_weight", "(s.value_weight"),
        "advantages_turned": ("returns - value.outputs[:, 0]", "value.outputs[:, 0] - returns"),
        "no_advantages": ("at.weighted_gradient(advantages / n", "at.weighted_gradient(returns / n"),
        "values_as_weights": ("at.weighted_gradient(advantages / n", "at.weighted_gradient(value.outputs[:, 0] / n"),
        "sums": ("n = settings, len(returns)", "n = settings, 1"),
        "policy_summed": ("advantages / n, s", "advantages, s"),
        "entropy_summed": ("s.entropy_weight / n", "s.entropy_weight"),
        "without_entropy": ("advantages / n, s.entropy_weight / n", "advantages / n"),
        "less_entropy": ("advantages / n, s.entropy_weight", "advantages / n, -s.entropy_weight"),
        "without_value_weight": ("-s.value_weight / n", "-1.0 / n"),
        "twice_the_value": ("-s.value_weight / n", "-2 * s.value_weight / n"),
        "half_the_value": ("-s.value_weight / n", "-0.5 * s.value_weight / n"),
        "value_summed": ("-s.value_weight / n", "-s.value_weight"),
        "not_shortened": ("clipped_norm(descent, s.max_gradient_norm)", "descent"),
        "policy_not_shortened": ("clipped_norm(-ascent, s.max_gradient_norm)", "-ascent"),
        "changed_places": ("[clipped_norm(-ascent, s.max_gradient_norm), clipped_norm(descent, s.max_gradient_norm)]",
                           "[clipped_norm(descent, s.max_gradient_norm), clipped_norm(-ascent, s.max_gradient_norm)]"),
        "together": ("np.concatenate([clipped_norm(-ascent, s.max_gradient_norm), "
                     "clipped_norm(descent, s.max_gradient_norm)])",
                     "clipped_norm(np.concatenate([-ascent, descent]), s.max_gradient_norm)"),
        "by_entries": ("clipped_norm(-ascent, s.max_gradient_norm)",
                       "np.clip(-ascent, -s.max_gradient_norm, s.max_gradient_norm)"),
        "sizes_of_advantages": ("at.weighted_gradient(advantages / n", "at.weighted_gradient(np.abs(advantages) / n"),
        "the_square": ("-s.value_weight / n * advantages", "-s.value_weight / n * advantages * np.abs(advantages)"),
    },
    "descend": {
        "climbs": ('shared["theta"] -= step', 'shared["theta"] += step'),
        "a_new_theta": ('shared["theta"] -= step', 'shared["theta"] = shared["theta"] - step'),
        "new_arrays": ("shared[prefix + name][:] = array", "shared[prefix + name] = array"),
        "forgets": ("shared[prefix + name][:] = array", "pass"),
        "adds": ("shared[prefix + name][:] = array", "shared[prefix + name] += array"),
        "theta_becomes_the_step": ('shared["theta"] -= step', 'shared["theta"][:] = -step'),
        "scaled_again": ('shared["theta"] -= step', 'shared["theta"] -= step_size * step'),
        "the_gradient_itself": ('shared["theta"] -= step', 'shared["theta"] -= step_size * gradient'),
        "twice": ('shared["theta"] -= step', 'shared["theta"] -= step + step'),
        "nothing": ('shared["theta"] -= step', "pass"),
        "the_targets_too": ('shared["theta"] -= step',
                            'shared["theta"] -= step\n    shared.get("target", step)[:] = shared["theta"]'),
    },
    "sarsa_targets": {
        "the_best": ("* taken)", "* next_q.max(axis=1))"),
        "the_worst": ("* taken)", "* next_q.min(axis=1))"),
        "the_mean": ("* taken)", "* next_q.mean(axis=1))"),
        "the_best_in_size": ("* taken)", "* np.abs(next_q).max(axis=1))"),
        "never_over": ("(1.0 - terminated)", "1.0"),
        "wrong_way_round": ("(1.0 - terminated)", "terminated"),
        "not_discounted": ("discount * (1.0", "(1.0"),
        "without_reward": ("rewards + discount", "discount"),
        "rewards_discounted": ("rewards + discount * (1.0 - terminated) * taken",
                               "discount * (rewards + (1.0 - terminated) * taken)"),
        "nothing_at_the_end": ("rewards + discount * (1.0 - terminated) * taken",
                               "(1.0 - terminated) * (rewards + discount * taken)"),
        "subtracts": ("rewards + discount", "rewards - discount"),
        "a_square": ("next_q[np.arange(len(next_q)), next_actions]", "next_q[:, next_actions]"),
        "the_first_row": ("next_q[np.arange(len(next_q)), next_actions]", "next_q[0, next_actions]"),
        "the_first_action": ("next_q[np.arange(len(next_q)), next_actions]", "next_q[:, 0]"),
        "one_too_late": ("next_q[np.arange(len(next_q)), next_actions]",
                         "next_q[np.arange(len(next_q)), np.roll(next_actions, -1)]"),
        "a_mean": ("np.asarray(rewards + discount * (1.0 - terminated) * taken)",
                   "np.mean(rewards + discount * (1.0 - terminated) * taken)"),
        "the_number_of_the_action": ("* taken)", "* next_actions)"),
        "rounded": ("rewards + discount * (1.0 - terminated) * taken",
                    "np.round(rewards + discount * (1.0 - terminated) * taken, 8)"),
    },
    "n_step_q_targets": {
        "the_best_fragment": ("final_q.max(axis=1)", "final_q.max()"),
        "the_wrong_axis": ("final_q.max(axis=1)", "np.resize(final_q.max(axis=0), len(final_q))"),
        "the_mean_action": ("final_q.max(axis=1)", "final_q.mean(axis=1)"),
        "the_first_action": ("final_q.max(axis=1)", "final_q[:, 0]"),
        "the_last_action": ("final_q.max(axis=1)", "final_q[:, -1]"),
        "never_bootstraps": ("(1.0 - terminated[last])", "0.0"),
        "always_bootstraps": ("(1.0 - terminated[last])", "1.0"),
        "wrong_way_round": ("(1.0 - terminated[last])", "terminated[last]"),
        "not_discounted": ("+= discount * (", "+= ("),
        "discounted_twice": ("+= discount * (", "+= discount**2 * ("),
        "instead_of_the_reward": ("rewards[last] += discount", "rewards[last] = discount"),
        "taken_off": ("+= discount", "-= discount"),
        "one_step": ("return discounted_sums(rewards, discount, last)", "return rewards"),
        "no_discount": ("discounted_sums(rewards, discount, last)", "discounted_sums(rewards, 1.0, last)"),
        "over_cuts": ("discounted_sums(rewards, discount, last)", "discounted_sums(rewards, discount, terminated)"),
        "reversed_rows": ("final_q.max(axis=1)", "final_q.max(axis=1)[::-1]"),
        "a_list": ("return discounted_sums(rewards, discount, last)",
                   "return discounted_sums(rewards, discount, last).tolist()"),
        "rounded": ("return discounted_sums(rewards, discount, last)",
                    "return discounted_sums(rewards, discount, last).round(8)"),
    },
}  # fmt: skip

for name, some in {
    "bootstrapped_returns": [stops_where_little_is_left],
    "loss_gradient": [squared_length],
    "descend": [turns_the_step_in_place, by_order],
    "sarsa_targets": [the_rewards_themselves],
}.items():
    WRONG[name] = [*WRONG[name], *some]

RIGHT = {
    "bootstrapped_returns": [by_lists, fragment_by_fragment, with_a_table_of_values],
    "loss_gradient": [in_two_calls, sums_then_mean, shortened_by_hand],
    "descend": [with_copyto, with_slices, theta_by_name],
    "sarsa_targets": [with_take_along_axis, row_by_row, with_a_mask],
    "n_step_q_targets": [by_bootstrapped_returns, rows_from_the_end, by_sorting],
}
