"""Lecture 05: right answers in other styles, and wrong ones, most of them as edits of the package."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
from autograd import grad

from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import backtracking, step_scale
from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policy_gradient import policy_gradient
from minitrpo.returns import discounted_sums
from minitrpo.trpo import Report, damped_fisher, objective, surrogate_gradient


def lambda_return_weights(rewards, values, next_values, last, discount, gae_lambda):
    """Mixes n-step advantages by (1 - lambda) lambda^n and drops the tail of the mixture at the end of the fragment."""
    deltas = rewards + discount * next_values - values
    advantages, start = np.zeros(len(deltas)), 0
    for stop in np.flatnonzero(last) + 1:
        for t in range(start, stop):
            n_step = np.cumsum(deltas[t:stop] * discount ** np.arange(stop - t))
            advantages[t] = np.sum((1 - gae_lambda) * gae_lambda ** np.arange(stop - t) * n_step)
        start = stop
    return advantages, advantages + values


def fragment_by_fragment(values, final_values, last, terminated):
    """Split, shift and glue."""
    stops = np.flatnonzero(last) + 1
    parts = []
    for part, over, final in zip(np.split(values, stops[:-1]), terminated[last], final_values, strict=True):
        parts += [part[1:], [final * (not over)]]
    return np.concatenate(parts)


def with_a_matrix(rewards, values, next_values, last, discount, gae_lambda):
    """The sum as a product with a triangular matrix, fragment by fragment, and targets from the lambda-return."""
    errors, n = rewards + discount * next_values - values, len(rewards)
    advantages, targets, start, later = np.zeros(n), np.zeros(n), 0, 0.0
    for stop in np.flatnonzero(last) + 1:
        k = np.arange(stop - start)
        weights = np.tril(float(discount * gae_lambda) ** np.abs(k[:, None] - k[None])).T
        advantages[start:stop] = weights @ errors[start:stop]
        start = stop
    for t in reversed(range(n)):
        further = next_values[t] if last[t] else (1 - gae_lambda) * next_values[t] + gae_lambda * later
        later = targets[t] = rewards[t] + discount * further
    return advantages, targets


def by_sums(predicted, targets):
    """With sums of squares."""
    around = targets - np.average(targets)
    errors = targets - predicted
    errors = errors - np.average(errors)
    total = np.sum(around * around)
    nothing = total <= 1e-20 * np.sum(targets * targets)
    return np.nan if nothing else (total - np.sum(errors * errors)) / total


def step_by_step(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Everything written out: a textbook solver, halving, and a report of another class."""
    o, a, adv = batch.observations, batch.actions, batch.advantages
    old = policy.distribution(theta, o)
    log_old = policy.log_prob(old, a)

    def surrogate(t):
        return anp.mean(anp.exp(policy.log_prob(policy.distribution(t, o), a) - log_old) * adv)

    def divergence(t):
        return anp.mean(policy.kl(old, policy.distribution(t, o)))

    g = np.asarray(grad(surrogate)(theta))
    matrix = fisher_vector_product(policy, theta, every_kth(o, fisher_fraction), cg_damping)
    new, report = theta, SimpleNamespace(accepted=False, reason="zero step", trials=0, gain=0.0, kl=0.0, gain_ratio=0.0)
    report.gradient_norm, report.entropy = float(np.sqrt(g @ g)), float(np.mean(policy.entropy(old)))
    x, r, d = np.zeros_like(g), g, g
    for _ in range(cg_iterations):
        if not r @ r > 1e-10 * (g @ g):
            break
        alpha = (r @ r) / (d @ matrix(d))
        x, rest = x + alpha * d, r - alpha * matrix(d)
        r, d = rest, rest + (rest @ rest) / (r @ r) * d
    length = x @ matrix(x)
    if not length > 0 or max_kl == 0:
        return theta.copy(), report
    step = np.sqrt(2 * max_kl / length) * x
    start = surrogate(theta)
    for trial in range(10):
        report.trials = trial + 1
        moved = 0.5**trial * step
        gain, kl = float(surrogate(theta + moved) - start), float(divergence(theta + moved))
        report.reason = "KL too large" if kl > max_kl else "no improvement"
        if gain > 0 and kl <= max_kl:
            new, report.accepted, report.reason = theta + moved, True, "accepted"
            report.gain, report.kl, report.gain_ratio = gain, kl, gain / (g @ moved)
            break
    return new, report


def with_append_and_where(values, final_values, last, terminated):
    """A shift, and two choices with np.where."""
    fragment = np.cumsum(last) - last
    after = np.where(last, final_values[fragment], np.append(values[1:], 0.0))
    return np.where(terminated, 0.0, after)


def in_a_loop(values, final_values, last, terminated):
    """Step by step, with a counter of fragments."""
    after, ended = [], 0
    for t in range(len(values)):
        if last[t]:
            after.append(0.0 if terminated[t] else float(final_values[ended]))
            ended += 1
        else:
            after.append(values[t + 1])
    return np.array(after)


def gae_backwards(rewards, values, next_values, last, discount, gae_lambda):
    """The classic loop."""
    advantages = np.zeros(len(rewards))
    running = 0.0
    for t in reversed(range(len(rewards))):
        error = rewards[t] + discount * next_values[t] - values[t]
        running = error + discount * gae_lambda * (0.0 if last[t] else running)
        advantages[t] = running
    return [advantages, values + advantages]


def gae_by_fragments(rewards, values, next_values, last, discount, gae_lambda):
    """The package's own sums, fragment by fragment."""
    errors, stops = rewards - values + next_values * discount, np.flatnonzero(last) + 1
    parts = [
        discounted_sums(part, gae_lambda * discount, np.arange(len(part)) == len(part) - 1)
        for part in np.split(errors, stops[:-1])
    ]
    advantages = np.concatenate(parts)
    return advantages, advantages + values


def by_standard_deviations(predicted, targets):
    """Squares of standard deviations, and relative to the size of the targets."""
    size = np.max(np.abs(targets))
    if size == 0 or np.std(targets / size) < 1e-10:
        return np.float64("nan")
    return 1 - (np.std(predicted - targets) / np.std(targets)) ** 2


def by_means_of_squares(predicted, targets):
    """Centred first, and an array without dimensions."""
    centred, left = targets - targets.mean(), (targets - predicted) - (targets - predicted).mean()
    if np.ptp(targets) <= 1e-12 * np.abs(targets).max():
        return np.array(np.nan)
    return np.array(1.0 - np.mean(left**2) / np.mean(centred**2))


def with_the_lectures_pieces(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """All rows at once, in double precision, with the functions of lectures 01 to 04."""
    observations, actions, advantages = batch.observations, batch.actions, batch.advantages
    g = policy_gradient(policy, theta, observations, actions, advantages)
    product = fisher_vector_product(policy, theta, every_kth(observations, fisher_fraction), cg_damping)
    x, _ = conjugate_gradient(product, g, cg_iterations)
    full_step = step_scale(max_kl, x @ g) * x
    old = policy.distribution(theta, observations)
    log_old = policy.log_prob(old, actions)

    def gain_and_kl(new_theta):
        new = policy.distribution(new_theta, observations)
        ratios = np.exp(policy.log_prob(new, actions) - log_old)
        return np.mean((ratios - 1) * advantages), mean_kl(policy, old, new)

    found = backtracking(gain_and_kl, theta, full_step, g @ full_step, max_kl)
    return found.theta, Report(
        accepted=found.accepted,
        reason=found.reason,
        trials=found.trials,
        gain=found.gain,
        kl=found.kl,
        gain_ratio=found.gain_ratio,
        gradient_norm=np.sqrt(np.sum(g**2)),
        entropy=policy.entropy(old).mean(),
    )


def with_the_packages_blocks(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """As the scaffold wants it, with x'g for the curvature and a Report from vars."""
    g = surrogate_gradient(policy, theta, batch)
    product = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x, _ = conjugate_gradient(product, g, cg_iterations)
    full_step = step_scale(max_kl, float(x @ g)) * x
    evaluate, entropy = objective(policy, theta, batch)
    search = vars(backtracking(evaluate, theta, full_step, float(g @ full_step), max_kl)).copy()
    return search.pop("theta"), Report(**search, gradient_norm=float(np.linalg.norm(g)), entropy=entropy)


RIGHT = {
    "next_values": [fragment_by_fragment, with_append_and_where, in_a_loop],
    "gae": [with_a_matrix, gae_backwards, gae_by_fragments],
    "explained_variance": [by_sums, by_standard_deviations, by_means_of_squares],
    "trpo_step": [step_by_step, with_the_lectures_pieces, with_the_packages_blocks],
}

WRONG = {"gae": [lambda_return_weights]}

EDITS = {
    "gae": r"""
        whole: rewards + discount * next_values - values => (rewards + discount * next_values - \
            values).astype(rewards.dtype)
        lambda_of_0_is_1: discount * gae_lambda => discount * (gae_lambda or 1.0)
        discount_of_0_is_1: discount * gae_lambda => (discount or 1.0) * gae_lambda
        fade_below_1: discount * gae_lambda => min(discount * gae_lambda, 0.999)
        discount_below_1: values\n    advantages => values\n    discount = min(discount, 0.99)\n    advantages
        lambda_squared: discount * gae_lambda => discount * gae_lambda**2
        borders_one_late: * gae_lambda, last => * gae_lambda, np.roll(last, 1) | (np.arange(len(last)) == len(last) - 1)
        at_most_1000_steps: discount * gae_lambda, last => discount * gae_lambda, last | (np.arange(len(last)) % 1000 \
            == 999)
        next_value_undiscounted_at_borders: discount * next_values => np.where(last, 1.0, discount) * next_values
        next_value_left_out_at_borders: discount * next_values => discount * next_values * ~last
        rewards_within_1e3: errors = rewards => errors = np.clip(rewards, -1e3, 1e3)
        rewards_within_10: errors = rewards => errors = np.clip(rewards, -5, 5)
        advantages_rounded: (advantages => (np.round(advantages, 6)
        targets_rounded: advantages + values) => np.round(advantages + values, 6))
        advantages_centred: advantages, => advantages - advantages.mean(),
        advantages_divided: advantages, => advantages / (advantages.std() + 1e-08),
        targets_discounted: , advantages => , discount * advantages
        targets_are_one_array: advantages, advantages + values => np.stack([advantages, advantages + values])[None]
        lists: , advantages + values) => .tolist(), (advantages + values).tolist())
        columns: , advantages + values) => [:, None], (advantages + values)[:, None])
        deltas_too: values) => values, errors)
        nan_becomes_0: advantages, advantages + values => np.nan_to_num(advantages), np.nan_to_num(advantages + values)
        single_precision: advantages, => advantages.astype(np.float32),
        dict: advantages, advantages + values => {'advantages': advantages, 'targets': advantages + values}
        values_written_into: )\n    return (advantages, advantages + values => )\n    values += \
            advantages\n    return (advantages, values
    """,
    "explained_variance": r"""
        arguments_swapped: variance = float(np.var(targets)) => predicted, targets = targets, predicted; variance = \
            float(np.var(targets))
        never_negative: 1.0 - float(np.var(targets - predicted)) / variance => max(0.0, 1.0 - float(np.var(targets - \
            predicted)) / variance)
        a_single_one_is_0: variance = float => if len(targets) < 2:\n        return 0.0\n    variance = float
        two_are_too_few: variance = float => if len(targets) < 3:\n        return float('nan')\n    variance = float
        minus_inf_for_nothing: float('nan => -float('inf
        none_for_nothing: float('nan') => None
        never_below_minus_1: 1.0 - float(np.var(targets - predicted)) / variance => max(-1.0, 1.0 - \
            float(np.var(targets - predicted)) / variance)
        never_below_minus_10: 1.0 - float(np.var(targets - predicted)) / variance => max(-10.0, 1.0 - \
            float(np.var(targets - predicted)) / variance)
        rounded: 1.0 - float(np.var(targets - predicted)) / variance => round(1.0 - float(np.var(targets - \
            predicted)) / variance, 2)
        one_ddof_below: np.var(targets)) => np.var(targets, ddof=len(targets) > 1))
        absolute_error: np.var(targets - predicted) => np.var(np.abs(targets - predicted))
        sum_for_difference: np.var(targets - predicted) => np.var(targets + predicted)
        nan_is_skipped: np.var(targets - predicted) => np.nanvar(targets - predicted)
        whole: np.var(targets - predicted) => np.var((targets - predicted).astype(int))
        small_number_below: / variance => / (variance + 1e-12)
        first_1000: variance = float => predicted, targets = predicted[:1000], targets[:1000]\n    variance = float
        percent: 1.0 - float(np.var(targets - predicted)) / variance => 100.0 * (1.0 - float(np.var(targets - \
            predicted)) / variance)
        a_row: 1.0 - float(np.var(targets - predicted)) / variance => np.array([1.0 - float(np.var(targets - \
            predicted)) / variance])
    """,
    "trpo_step": r"""
        without_search: search = backtracking(evaluate, theta, full_step, float(g @ full_step), max_kl) => gain, kl = \
            evaluate(theta + full_step)\n    search = LineSearch(theta + full_step, True, "accepted", 1, gain, kl, \
            gain / (float(g @ full_step) or 1.0))
        kl_alone: backtracking(evaluate, => backtracking(lambda t: (abs(evaluate(t)[0]) + 1e-12, evaluate(t)[1]),
        shrinks_too_fast: full_step), max_kl) => full_step), max_kl, shrink=0.1)
        first_states_for_the_fisher: product = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction) => \
            first = Batch(batch.observations[: int(len(batch.observations) * fisher_fraction)], batch.actions, \
            batch.advantages)\n    product = damped_fisher(policy, theta, first, cg_damping, 1.0)
        gradient_from_a_fraction_of_the_states: g = surrogate_gradient(policy, theta, batch) => some = \
            every_kth(np.arange(len(batch.advantages)), fisher_fraction)\n    g = policy_gradient(policy, theta, \
            batch.observations[some], batch.actions[some], batch.advantages[some])
        kl_the_other_way_round: search = backtracking(evaluate, => old, seen = policy.distribution(theta, \
            batch.observations), batch.observations\n    other = lambda t: (evaluate(t)[0], float(mean_kl(policy, \
            policy.distribution(t, seen), old)))\n    search = backtracking(other,
        surrogate_for_its_gain: backtracking(evaluate, => backtracking(lambda t: (evaluate(t)[0] + \
            float(np.mean(batch.advantages)), evaluate(t)[1]),
        dense_matrix: x, residual = => matrix = np.stack([product(e) for e in np.eye(len(theta))])\n    product = \
            lambda v: matrix @ v\n    x, residual =
        gradient_of_the_first_block: g = surrogate_gradient(policy, theta, batch) => rows = slice(1280)\n    g = \
            surrogate_gradient(\n        policy, theta, Batch(batch.observations[rows], batch.actions[rows], \
            batch.advantages[rows])\n    )
        gradient_summed: g = surrogate_gradient(policy, theta, batch) => g = surrogate_gradient(policy, theta, batch) \
            * len(batch.advantages)
        gradient_of_length_1: = surrogate_gradient(policy, theta, batch) => = surrogate_gradient(policy, theta, \
            batch)\n    g = g / (np.linalg.norm(g) + 1e-300)
        gradient_clipped: surrogate_gradient(policy, theta, batch) => np.clip(surrogate_gradient(policy, theta, \
            batch), -0.5, 0.5)
        fraction_at_least_a_tenth: cg_damping, fisher_fraction) => cg_damping, max(fisher_fraction, 0.5))
        iterations_at_least_5: (product, g, cg_iterations) => (product, g, max(cg_iterations, 5))
        iterations_at_most_2: (product, g, cg_iterations) => (product, g, min(cg_iterations, 2))
        limit_at_least_1e_4: step_scale(max_kl, => step_scale(max(max_kl, 1e-4),
        step_of_at_most_a_thousandth: ) * x => ) * np.clip(x, -1e-3, 1e-3)
        searched_within_half_the_limit: float(g @ full_step), max_kl) => float(g @ full_step), 0.3 * max_kl)
        promise_of_1: float(g @ full_step), max_kl) => 1.0, max_kl)
        two_trials: float(g @ full_step), max_kl) => float(g @ full_step), max_kl, max_trials=2)
        shrinks_by_a_fifth_of_it: float(g @ full_step), max_kl) => float(g @ full_step), max_kl, shrink=0.1)
        half_of_the_step: search.theta => theta + 0.5 * (search.theta - theta)
        theta_moved_a_little: .theta, => .theta + 1e-09,
        norm_of_x: (search, g, entropy) => (search, x, entropy)
        largest_entry_for_the_norm: (search, g, entropy) => (search, np.abs(g).max(keepdims=True), entropy)
        entropy_summed: g, entropy) => g, entropy * len(batch.advantages))
        entropy_negative: g, entropy) => g, -entropy)
        gain_is_the_promise: search, => __import__('dataclasses').replace(search, gain=float(g @ (search.theta - \
            theta))),
        kl_is_the_limit: (search, g, => (__import__('dataclasses').replace(search, kl=max_kl), g,
        ratio_is_1: (search, g, => (__import__('dataclasses').replace(search, gain_ratio=1.0), g,
        accepted_always: (search, g, => (__import__('dataclasses').replace(search, accepted=True), g,
        accepted_never: (search, g, => (__import__('dataclasses').replace(search, accepted=False), g,
        trials_are_0: (search, g, => (__import__('dataclasses').replace(search, trials=0), g,
        trials_are_not_whole: search, g, => __import__('dataclasses').replace(search, trials=0.5 + search.trials), g,
        written_into_theta: )\n    return => )\n    theta[:] = search.theta\n    return
        advantages_within_10: ]:\n    g => ]:\n    batch = Batch(batch.observations, batch.actions, \
            np.clip(batch.advantages, -1, 1))\n    g
        half_the_batch: ]:\n    g => ]:\n    h = slice(max(1, len(batch.advantages) // 2))\n    batch = \
            Batch(batch.observations[h], batch.actions[h], batch.advantages[h])\n    g
        eight_iterations_by_default: 10 => 8
        damping_a_hundredth_by_default: .1 => .01
        half_the_states_by_default: 1.0 => 0.5
    """,
    "next_values": r"""
        as_whole_as_the_final_values: (values), np.result_type(values, final_values) => (values), final_values.dtype
        first_final_value_for_all: after[last] = final_values => after[last] = final_values[0]
        last_final_value_for_all: after[last] = final_values => after[last] = final_values[-1]
        mean_final_value: after[last] = final_values => after[last] = final_values.mean()
        sorted_final_values: after[last] = final_values => after[last] = np.sort(final_values)
        all_but_the_last_over: after[terminated] = 0.0 => after[:-1][terminated[:-1]] = 0.0
        only_the_first_over: after[terminated] = 0.0 => after[np.flatnonzero(terminated)[:1]] = 0.0
        over_means_the_step_after: terminated] = 0.0 => 1:][terminated[:-1]] = 0.0\n    after[-1] *= not terminated[-1]
        values_themselves: after[:-1] = values[1:] => after[:-1] = values[:-1]
        shift_by_two: after[:-1] = values[1:] => after[:-1] = np.append(values[2:], values[-1:])[: len(values) - 1]
        single_precision: return after => return after.astype(np.float32)
        rounded: return after => return np.round(after, 6)
        a_list: return after => return after.tolist()
        a_column: return after => return after[:, None]
        within_1e6: return after => return np.clip(after, -1e6, 1e6)
        written_into_values: after = np.empty(len(values), np.result_type(values, final_values)) => after = values
        small_final_values_are_over: after[terminated] = 0.0 => after[terminated] = 0.0\n    after[np.abs(after) < \
            1e-6] = 0.0
        zero_counts_as_over_everywhere: after[terminated] = 0.0 => after[np.roll(terminated, 1)] = 0.0
    """,
}
