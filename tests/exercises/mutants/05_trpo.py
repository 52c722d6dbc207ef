"""Lecture 05: right answers in other styles, and wrong ones."""

import math
import statistics
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
from autograd import grad
from scipy.signal import lfilter

from minitrpo.natural_gradient import every_kth, fisher_vector_product


def next_values_iterator(values, final_values, last, terminated):
    final = iter(final_values)
    after = zip([*values[1:], 0], last, terminated, strict=True)
    return np.array([next(final) * (1 - over) if end else value for value, end, over in after], float)


def next_values_products(values, final_values, last, terminated):
    after = np.zeros(len(values))
    after[last] = final_values * (1.0 - terminated[last])
    after[:-1] += values[1:] * (1.0 - last[:-1])
    return after


def gae_loop(rewards, values, next_values, last, discount, gae_lambda):
    advantages, running = [], 0.0
    for r, v, w, end in reversed(list(zip(rewards, values, next_values, last, strict=True))):
        if end:
            running = 0.0
        running = r + discount * w - v + discount * gae_lambda * running
        advantages.append(running)
    advantages.reverse()
    return np.array(advantages), np.array([a + v for a, v in zip(advantages, values, strict=True)])


def gae_targets_first(rewards, values, next_values, last, discount, gae_lambda):
    targets = np.empty(len(rewards))
    for t in reversed(range(len(rewards))):
        after = next_values[t] if last[t] else (1 - gae_lambda) * next_values[t] + gae_lambda * targets[t + 1]
        targets[t] = rewards[t] + discount * after
    return targets - values, targets


def explained_variance_loop(predicted, targets):
    n, mean = len(targets), sum(targets) / len(targets)
    variance = sum((t - mean) ** 2 for t in targets) / n
    if math.sqrt(variance) <= 1e-10 * math.sqrt(sum(t * t for t in targets) / n):
        return float("nan")
    left = [t - p for t, p in zip(targets, predicted, strict=True)]
    mean_left = sum(left) / n
    return float(1 - sum((x - mean_left) ** 2 for x in left) / n / variance)


def explained_variance_statistics(predicted, targets):
    t = [float(x) for x in targets]
    rest = [x - float(p) for x, p in zip(t, predicted, strict=True)]
    if statistics.pstdev(t) <= 1e-10 * math.sqrt(statistics.fmean(x * x for x in t)):
        return math.nan
    return 1.0 - statistics.pvariance(rest) / statistics.pvariance(t)


def trpo_step_written_out(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Everything by hand: a textbook solver, halving, and a report of another class."""
    o, a, adv = batch.observations, batch.actions, batch.advantages
    old = policy.distribution(theta, o)
    log_old = policy.log_prob(old, a)

    def surrogate(t):
        return anp.mean(anp.exp(policy.log_prob(policy.distribution(t, o), a) - log_old) * adv)

    g = np.asarray(grad(surrogate)(theta))
    matrix = fisher_vector_product(policy, theta, every_kth(o, fisher_fraction), cg_damping)
    new, search = theta, SimpleNamespace(accepted=False, reason="zero step", trials=0, gain=0.0, kl=0.0, gain_ratio=0.0)
    norm, entropy = float(np.sqrt(g @ g)), float(np.mean(policy.entropy(old)))
    report = SimpleNamespace(search=search, gradient_norm=norm, entropy=entropy)
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
    for trial in range(10):
        search.trials = trial + 1
        moved = 0.5**trial * np.sqrt(2 * max_kl / length) * x
        gain = float(surrogate(theta + moved) - surrogate(theta))
        kl = float(np.mean(policy.kl(old, policy.distribution(theta + moved, o))))
        search.reason = "KL too large" if kl > max_kl else "no improvement"
        if gain > 0 and kl <= max_kl:
            new, search.accepted, search.reason = theta + moved, True, "accepted"
            search.gain, search.kl, search.gain_ratio = gain, kl, gain / (g @ moved)
            break
    return new, report


RIGHT = {
    "next_values": r"""
        select: return np.select([terminated, last], [0.0, np.take(final_values, np.cumsum(last) - last)], \
            default=np.append(values[1:], 0.0))
        defensive: np.empty(len(values), np.result_type(values, final_values)) => np.zeros(len(values)) && \
            after[terminated] => after[np.asarray(terminated, dtype=bool)]
    """,
    "gae": r"""
        a_filter: discounted_sums(errors, discount * gae_lambda, last) => np.concatenate([lfilter([1.0], \
            [1.0, -discount * gae_lambda], piece[::-1])[::-1] for piece in np.split(errors, np.flatnonzero(last) + 1)])
        fragment_by_fragment: discounted_sums(errors, discount * gae_lambda, last) => np.concatenate([ \
            discounted_sums(piece, discount * gae_lambda, np.arange(len(piece)) == len(piece) - 1) \
            for piece in np.split(errors, np.flatnonzero(last) + 1)])
        correlation: discounted_sums(errors, discount * gae_lambda, last) => np.concatenate([ \
            np.correlate(piece, (discount * gae_lambda) ** np.arange(len(piece)), "full")[len(piece) - 1 :] \
            for piece in np.split(errors, np.flatnonzero(last) + 1)[:-1]])
        a_list_of_two: rewards + discount * next_values - values => rewards - (values - next_values * discount) && \
            (advantages, advantages + values) => [advantages, values + advantages]
    """,
    "explained_variance": r"""
        sample_variances: np.var(targets - predicted)) / variance => np.var(targets - predicted, ddof=1)) \
            / np.var(targets, ddof=1)
        covariances: float(np.var(targets - predicted)) / variance => \
            np.divide(*np.diagonal(np.cov(targets - predicted, targets, bias=True)))
        an_array_of_no_dimension: float('nan') => np.array(np.nan) && \
            1.0 - float(np.var(targets - predicted)) / variance => np.array(1.0 - np.var(targets - predicted) / \
            variance)
        squares: variance = float(np.var(targets)) => variance = np.mean((targets - np.mean(targets)) ** 2) && \
            1.0 - float(np.var(targets - predicted)) / variance => (variance - np.var(predicted - targets)) / variance
    """,
    "trpo_step": r"""
        along_the_gradient: x @ (g - residual) => x @ g
        one_more_product: x @ (g - residual) => np.dot(x, product(x))
        three_products: x @ (g - residual) => np.sum(x * g) - np.sum(x * residual) && float(g @ full_step) => \
            np.inner(g, full_step)
        root_of_its_own: step_scale(max_kl, float(x @ (g - residual))) => np.sqrt(2 * max_kl / (x @ (g - residual)))
        gain_first: step_scale(max_kl, float(x @ (g - residual))) * x => \
            (scale := step_scale(max_kl, x @ (g - residual))) * x && float(g @ full_step) => scale * (x @ g)
        damping_by_hand: product = => undamped = && cg_damping, fisher_fraction) => \
            0.0, fisher_fraction)\n    product = lambda v: undamped(v) + cg_damping * v
        defensive: g = surrogate_gradient => theta = np.array(theta, dtype=float)\n    g = surrogate_gradient && \
            return (search.theta, report_of(search, g, entropy)) => return [search.theta, report_of(search, g, entropy)]
    """,
}

WRONG = {
    "gae": r"""
        lambda_of_0_is_1: * gae_lambda => * (gae_lambda or 1.0)
        discount_of_0_is_1: discount * gae_lambda => (discount or 1.0) * gae_lambda
        fade_below_1: discount * gae_lambda => min(discount * gae_lambda, 0.999)
        discount_below_1: values\n => values\n    discount = min(discount, 0.99)\n
        lambda_squared: * gae_lambda => * gae_lambda**2
        at_most_1000_steps: gae_lambda, last => gae_lambda, last | (np.arange(len(last)) % 1000 == 999)
        next_value_undiscounted_at_borders: discount * next_values => np.where(last, 1.0, discount) * next_values
        next_value_left_out_at_borders: * next_values => * next_values * ~last
        rewards_within_1e3: = rewards => = np.clip(rewards, -1e3, 1e3)
        advantages_rounded: (advantages => (np.round(advantages, 6)
        targets_rounded: advantages + values => np.round(advantages + values, 6)
        advantages_centred: advantages, => advantages - advantages.mean(),
        advantages_divided: advantages, => advantages / (advantages.std() + 1e-08),
        targets_discounted: , advantages => , discount * advantages
        targets_are_one_array: advantages, advantages + values => np.stack([advantages, advantages + values])[None]
        lists: , advantages + values => .tolist(), (advantages + values).tolist()
        columns: , advantages + values => [:, None], (advantages + values)[:, None]
        deltas_too: values) => values, errors)
        dict: advantages, advantages + values => {'advantages': advantages, 'targets': advantages + values}
        values_written_into: )\n    return (advantages, advantages + => )\n    values += advantages\n    return \
            (advantages,
        lambda_return_without_its_tail: discounted_sums(errors, discount * gae_lambda, last) => $ - gae_lambda ** \
            discounted_sums(np.ones(len(last)), 1.0, last) * discounted_sums(errors, discount, last)
    """,
    "explained_variance": r"""
        arguments_swapped: variance = => predicted, targets = targets, predicted; variance =
        a_single_one_is_0: variance = => if len(targets) < 2:\n        return 0.0\n    variance =
        two_are_too_few: variance = => if len(targets) < 3:\n        return float('nan')\n    variance =
        minus_inf_for_nothing: float('nan => -float('inf
        none_for_nothing: float('nan') => None
        never_below_minus_10: 1.0 - float(np.var(targets - predicted)) / variance => max(-10.0, 1.0 - \
            float(np.var(targets - predicted)) / variance)
        rounded: 1.0 - float(np.var(targets - predicted)) / variance => round(1.0 - float(np.var(targets - \
            predicted)) / variance, 2)
        one_ddof_below: targets) => targets, ddof=len(targets) > 1)
        absolute_error: targets - predicted => np.abs(targets - predicted)
        whole: targets - predicted => (targets - predicted).astype(int)
        small_number_below: / variance => / (variance + 1e-12)
        first_1000: variance = => predicted, targets = predicted[:1000], targets[:1000]\n    variance =
        percent: 1.0 - float(np.var(targets - predicted)) / variance => 100.0 * (1.0 - float(np.var(targets - \
            predicted)) / variance)
        a_row: 1.0 - float(np.var(targets - predicted)) / variance => np.array([1.0 - float(np.var(targets - \
            predicted)) / variance])
    """,
    "trpo_step": r"""
        goes_down: * x => * -x; g = -g && search = => inner = evaluate; evaluate = lambda t: (-inner(t)[0], \
            inner(t)[1]); search =
        without_search: search = backtracking(evaluate, theta, full_step, float(g @ full_step), max_kl) => gain, \
            kl = evaluate(theta + full_step)\n    search = LineSearch(theta + full_step, True, "accepted", 1, gain, \
            kl, gain / (float(g @ full_step) or 1.0))
        kl_alone: (evaluate => (lambda t: (abs(evaluate(t)[0]) + 1e-12, evaluate(t)[1])
        shrinks_too_fast: max_kl) => max_kl, shrink=0.1)
        first_states_for_the_fisher: product = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction) => \
            first = Batch(batch.observations[: int(len(batch.observations) * fisher_fraction)], batch.actions, \
            batch.advantages)\n    product = damped_fisher(policy, theta, first, cg_damping, 1.0)
        gradient_from_a_fraction_of_the_states: g = surrogate_gradient(policy, theta, batch) => some = \
            every_kth(np.arange(len(batch.advantages)), fisher_fraction)\n    g = surrogate_gradient(policy, \
            theta, Batch(batch.observations[some], batch.actions[some], batch.advantages[some]))
        kl_the_other_way_round: search = backtracking(evaluate => old, seen = policy.distribution(theta, \
            batch.observations), batch.observations\n    other = lambda t: (evaluate(t)[0], float(mean_kl(policy, \
            policy.distribution(t, seen), old)))\n    search = backtracking(other
        surrogate_for_its_gain: (evaluate => (lambda t: (evaluate(t)[0] + float(np.mean(batch.advantages)), \
            evaluate(t)[1])
        gradient_of_the_first_block: g = surrogate_gradient(policy, theta, batch) => rows = slice(1280)\n    g = \
            surrogate_gradient(\n        policy, theta, Batch(batch.observations[rows], batch.actions[rows], \
            batch.advantages[rows])\n    )
        gradient_summed: surrogate_gradient(policy, theta, batch) => surrogate_gradient(policy, theta, batch) * \
            len(batch.advantages)
        gradient_of_length_1: surrogate_gradient(policy, theta, batch) => surrogate_gradient(policy, theta, \
            batch)\n    g = g / (np.linalg.norm(g) + 1e-300)
        gradient_clipped: surrogate_gradient(policy, theta, batch) => np.clip(surrogate_gradient(policy, theta, \
            batch), -0.5, 0.5)
        fraction_at_least_a_tenth: fisher_fraction) => max(fisher_fraction, 0.5))
        iterations_at_least_5: g, cg_iterations => g, max(cg_iterations, 5)
        iterations_at_most_2: g, cg_iterations => g, min(cg_iterations, 2)
        limit_at_least_1e_4: max_kl, => max(max_kl, 1e-4),
        step_of_at_most_a_thousandth: ) * x => ) * np.clip(x, -1e-3, 1e-3)
        searched_within_half_the_limit: max_kl) => 0.3 * max_kl)
        promise_of_1: float(g @ full_step) => 1.0
        two_trials: max_kl) => max_kl, max_trials=2)
        half_of_the_step: search.theta => theta + 0.5 * (search.theta - theta)
        theta_moved_a_little: .theta => .theta + 1e-09
        norm_of_x: search, g => search, x
        largest_entry_for_the_norm: search, g => search, np.abs(g).max(keepdims=True)
        entropy_of_the_new_policy: entropy) => objective(policy, search.theta, batch)[1])
        searched_beyond_the_limit: max_kl) => 1.5 * max_kl)
        gain_and_kl_swapped: search, => __import__('dataclasses').replace(search, gain=search.kl, kl=search.gain),
        entropy_summed: entropy) => entropy * len(batch.advantages))
        entropy_negative: entropy) => -entropy)
        gain_is_the_promise: search, => __import__('dataclasses').replace(search, gain=float(g @ (search.theta - \
            theta))),
        kl_is_the_limit: search, => __import__('dataclasses').replace(search, kl=max_kl),
        ratio_is_1: search, => __import__('dataclasses').replace(search, gain_ratio=1.0),
        accepted_always: search, => __import__('dataclasses').replace(search, accepted=True),
        accepted_never: search, => __import__('dataclasses').replace(search, accepted=False),
        trials_are_0: search, => __import__('dataclasses').replace(search, trials=0),
        trials_are_not_whole: search, => __import__('dataclasses').replace(search, trials=0.5 + search.trials),
        written_into_theta: return => theta[:] = search.theta\n    return
        advantages_within_10: ]:\n => ]:\n    batch = Batch(batch.observations, batch.actions, \
            np.clip(batch.advantages, -1, 1))\n
        half_the_batch: ]:\n => ]:\n    h = slice(max(1, len(batch.advantages) // 2))\n    batch = \
            Batch(batch.observations[h], batch.actions[h], batch.advantages[h])\n
        damping_a_hundredth_by_default: .1 => .01
    """,
    "next_values": r"""
        as_whole_as_the_final_values: np.result_type(values, final_values) => final_values.dtype
        first_final_value_for_all: = final_values => = final_values[0]
        last_final_value_for_all: = final_values => = final_values[-1]
        mean_final_value: = final_values => = final_values.mean()
        sorted_final_values: = final_values => = np.sort(final_values)
        all_but_the_last_over: [terminated] => [:-1][terminated[:-1]]
        only_the_first_over: [terminated] => [np.flatnonzero(terminated)[:1]]
        over_means_the_step_after: terminated] = 0.0 => 1:][terminated[:-1]] = 0.0\n    after[-1] *= not terminated[-1]
        values_themselves: [1:] => [:-1]
        shift_by_two: values[1:] => np.append(values[2:], values[-1:])[: len(values) - 1]
        rounded: return after => return np.round(after, 6)
        a_list: return after => return after.tolist()
        a_column: return after => return after[:, None]
        within_1e6: return after => return np.clip(after, -1e6, 1e6)
        written_into_values: np.empty(len(values), np.result_type(values, final_values)) => values
        small_final_values_are_over: = 0.0 => = 0.0\n    after[np.abs(after) < 1e-6] = 0.0
        zero_counts_as_over_everywhere: [terminated] => [np.roll(terminated, 1)]
    """,
}

ODD = {
    "gae": r"""
        whole: rewards + discount * next_values - values => (rewards + discount * next_values - \
            values).astype(rewards.dtype)
        nan_becomes_0: advantages, advantages + values => np.nan_to_num(advantages), np.nan_to_num(advantages + values)
    """,
    "explained_variance": r"""
        nan_is_skipped: var(targets - predicted) => nanvar(targets - predicted)
    """,
    "trpo_step": r"""
        the_residual_added: x @ (g - residual) => x @ (g + residual)
    """,
}

EQUAL = {
    "explained_variance": r"""
        twice_a_limit_for_rounding: 1e-20 => 2e-20
        half_of_a_limit_for_rounding: 1e-20 => 5e-21
        a_limit_for_rounding_of_the_sum: np.mean(targets => np.sum(targets
    """,
    "trpo_step": r"""
        twice_all_states_are_all_states: 1.0 => 2.0
        x_and_the_residual_are_orthogonal: g - residual => g + residual
    """,
}
