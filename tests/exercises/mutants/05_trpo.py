"""Lecture 05: right answers in other styles, and wrong ones, most of them as edits of the package."""

import itertools
import math
import statistics
from functools import reduce
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
from autograd import grad
from scipy.signal import lfilter

from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import backtracking, step_scale
from minitrpo.natural_gradient import every_kth, fisher_vector_product
from minitrpo.returns import discounted_sums
from minitrpo.trpo import damped_fisher, objective, report_of, surrogate_gradient


def nv_vector(values, final_values, last, terminated):
    """Vectorised: shift, then overwrite the ends; roll wraps, but the last step is the end of a fragment."""
    result = np.roll(values, -1).astype(float)
    result[last] = final_values
    result[terminated] = 0.0
    return result


def nv_where(values, final_values, last, terminated):
    """Library: np.select and the number of the fragment by a running count."""
    fragment = np.cumsum(last) - last
    shifted = np.concatenate((values[1:], values[-1:]))
    return np.select([terminated, last], [0.0, np.take(final_values, fragment)], default=shifted)


def nv_defensive(values, final_values, last, terminated):
    """Defensive: floats and bools, and what the text makes true is asserted."""
    values, final_values = np.asarray(values, dtype=float), np.asarray(final_values, dtype=float)
    last, terminated = np.asarray(last, dtype=bool), np.asarray(terminated, dtype=bool)
    assert values.ndim == 1
    assert values.shape == last.shape == terminated.shape
    assert last[-1], "the last step ends a fragment"
    assert last.sum() == len(final_values)
    assert not np.any(terminated & ~last), "over only where a fragment ends"
    out = np.empty(len(values), dtype=float)
    out[:-1] = values[1:]
    ends = np.flatnonzero(last)
    out[ends] = np.where(terminated[ends], 0.0, final_values)
    return out


def nv_terse(values, final_values, last, terminated):
    """Terse: an iterator of the final values, consumed at every end (also at those whose value counts as 0)."""
    f = iter(final_values)
    after = zip([*values[1:], 0], last, terminated, strict=False)
    return np.array([next(f) * (1 - d) if e else v for v, e, d in after], float)


def nv_multiply(values, final_values, last, terminated):
    """Another order: all the finals first, masks by multiplication."""
    after = np.zeros(len(values))
    after[last] = final_values * (1.0 - terminated[last])
    after[:-1] += values[1:] * (1.0 - last[:-1])
    return after


def nv_generator(values, final_values, last, terminated):
    """A generator over fragments, cut by np.split."""

    def fragments():
        ends = np.flatnonzero(last) + 1
        for piece, final, end in zip(np.split(values, ends[:-1]), final_values, ends, strict=False):
            yield from piece[1:]
            yield 0.0 if terminated[end - 1] else final

    return np.fromiter(fragments(), dtype=float, count=len(values))


def nv_careless(values, final_values, last, terminated):
    """Without much care: np.insert puts each final value behind its fragment, then drop the first of each."""
    ends = np.flatnonzero(last) + 1
    final = final_values * ~terminated[last]
    longer = np.insert(values * 1.0, ends, final)
    starts = np.concatenate(([0], ends[:-1])) + np.arange(len(ends))
    return np.delete(longer, starts)


def nv_backward(values, final_values, last, terminated):
    """Backward, popping from a copy of the finals."""
    finals = list(final_values)
    out = np.zeros(len(values))
    after = None
    for t in reversed(range(len(values))):
        if last[t]:
            after = finals.pop()
        out[t] = 0 if terminated[t] else after
        after = values[t]
    return out


def gae_by_fragments(rewards, values, next_values, last, discount, gae_lambda):
    """The package's own sums, fragment by fragment."""
    errors, stops = rewards - values + next_values * discount, np.flatnonzero(last) + 1
    parts = [
        discounted_sums(part, gae_lambda * discount, np.arange(len(part)) == len(part) - 1)
        for part in np.split(errors, stops[:-1])
    ]
    advantages = np.concatenate(parts)
    return advantages, advantages + values


def gae_loop(rewards, values, next_values, last, discount, gae_lambda):
    """Plain Python, backward, lists."""
    errors = []
    for r, v, w in zip(rewards, values, next_values, strict=False):
        errors.append(r + discount * w - v)
    advantages = []
    running = 0.0
    for e, end in zip(reversed(errors), reversed(list(last)), strict=False):
        if end:
            running = 0.0
        running = e + discount * gae_lambda * running
        advantages.append(running)
    advantages.reverse()
    targets = [a + v for a, v in zip(advantages, values, strict=False)]
    return np.array(advantages), np.array(targets)


def gae_lfilter(rewards, values, next_values, last, discount, gae_lambda):
    """Library: scipy's filter on every reversed fragment."""
    e = rewards + discount * next_values - values
    cuts = np.flatnonzero(last)[:-1] + 1
    pieces = [lfilter([1.0], [1.0, -discount * gae_lambda], p[::-1])[::-1] for p in np.split(e, cuts)]
    a = np.concatenate(pieces)
    return a, a + values


def gae_terse(rewards, values, next_values, last, discount, gae_lambda):
    """Terse: itertools.accumulate over pairs, backward."""
    x = zip((rewards + discount * next_values - values)[::-1], last[::-1], strict=False)
    step = lambda a, e: (e[0] + discount * gae_lambda * (0.0 if e[1] else a[0]), None)  # noqa: E731
    return (a := np.array([p[0] for p in itertools.accumulate(x, step, initial=(0.0, None))][:0:-1])), a + values


def gae_matrix(rewards, values, next_values, last, discount, gae_lambda):
    """Another order: the sum over k for each start, fragment by fragment, as a product with powers."""
    errors = rewards - values + discount * next_values
    advantages = np.zeros(len(errors))
    start = 0
    for end in np.flatnonzero(last) + 1:
        n = end - start
        powers = (discount * gae_lambda) ** np.arange(n)
        for t in range(n):
            advantages[start + t] = np.dot(powers[: n - t], errors[start + t : end])
        start = end
    return advantages, values + advantages


def gae_recursive(rewards, values, next_values, last, discount, gae_lambda):
    """A closure over the running advantage."""

    def faded():
        later = 0.0

        def take(error, is_last):
            nonlocal later
            later = error if is_last else error + discount * gae_lambda * later
            return later

        return take

    take = faded()
    errors = rewards + discount * next_values - values
    advantages = np.array([take(errors[t], last[t]) for t in range(len(errors) - 1, -1, -1)])[::-1]
    return advantages, advantages + values


def gae_in_place(rewards, values, next_values, last, discount, gae_lambda):
    """Without much care: in place on an own array, from the end."""
    adv = rewards + discount * next_values - values
    for t in range(len(adv) - 2, -1, -1):
        if not last[t]:
            adv[t] += discount * gae_lambda * adv[t + 1]
    return adv, adv + values


def gae_target_first(rewards, values, next_values, last, discount, gae_lambda):
    """Another order: the lambda return first, G = r + discount ((1 - lambda) V' + lambda G'), then the advantage."""
    targets = np.empty(len(rewards))
    for t in reversed(range(len(rewards))):
        if last[t]:
            targets[t] = rewards[t] + discount * next_values[t]
        else:
            mixed = (1 - gae_lambda) * next_values[t] + gae_lambda * targets[t + 1]
            targets[t] = rewards[t] + discount * mixed
    return targets - values, targets


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


def ev_loop(predicted, targets):
    n = len(targets)
    mean = sum(targets) / n
    variance = sum((t - mean) ** 2 for t in targets) / n
    square = sum(t * t for t in targets) / n
    if math.sqrt(variance) <= 1e-10 * math.sqrt(square):
        return float("nan")
    left = [t - p for t, p in zip(targets, predicted, strict=False)]
    mean_left = sum(left) / n
    return float(1 - sum((x - mean_left) ** 2 for x in left) / n / variance)


def ev_statistics(predicted, targets):
    t = [float(x) for x in targets]
    rest = [x - float(p) for x, p in zip(t, predicted, strict=False)]
    if statistics.pstdev(t) <= 1e-10 * math.sqrt(statistics.fmean(x * x for x in t)):
        return math.nan
    return 1.0 - statistics.pvariance(rest) / statistics.pvariance(t)


def ev_sample_deviation(predicted, targets):
    """Another order: sums of squares about the mean, unbiased variances; the n - 1 cancels in the ratio."""
    if len(targets) < 2 or np.std(targets, ddof=1) <= 1e-10 * np.sqrt(np.mean(np.square(targets))):
        return float("nan")
    return float(1 - np.var(targets - predicted, ddof=1) / np.var(targets, ddof=1))


def ev_class(predicted, targets):
    """A small class that keeps the first two moments about the mean."""

    class Spread:
        def __init__(self, numbers):
            self.mean = np.mean(numbers)
            self.about = numbers - self.mean
            self.squares = self.about.dot(self.about)

    of_targets, of_rest = Spread(targets), Spread(targets - predicted)
    if of_targets.squares / len(targets) <= 1e-20 * (of_targets.mean**2 + of_targets.squares / len(targets)):
        return np.nan
    return (of_targets.squares - of_rest.squares) / of_targets.squares


def ev_careless(predicted, targets):
    """Without much care: own copies, in place; Welford's running variance by reduce."""

    def welford(state, x):
        n, mean, m2 = state
        n += 1
        d = x - mean
        mean += d / n
        return n, mean, m2 + d * (x - mean)

    n, _, m2 = reduce(welford, targets, (0, 0.0, 0.0))
    if (m2 / n) ** 0.5 <= 1e-10 * np.mean(targets * targets) ** 0.5:
        return float("nan")
    rest = targets.copy()
    rest -= predicted
    rest -= rest.mean()
    return 1 - np.sum(rest**2) / m2


def ev_cov(predicted, targets):
    """Library: np.cov of residual and target."""
    if targets.std() <= 1e-10 * np.sqrt((targets**2).mean()):
        return float("nan")
    covariance = np.cov(np.stack([targets - predicted, targets]), bias=True)
    return 1.0 - covariance[0, 0] / covariance[1, 1]


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


def trpo_x_dot_g(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """The curvature as x @ g, which the text calls right, too; python floats."""
    gradient = surrogate_gradient(policy, theta, batch)
    fisher = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    direction, _ = conjugate_gradient(fisher, gradient, cg_iterations)
    step = direction * step_scale(max_kl, float(direction @ gradient))
    gain_and_kl, entropy = objective(policy, theta, batch)
    found = backtracking(gain_and_kl, theta, step, float(gradient @ step), max_kl)
    return found.theta, report_of(found, gradient, entropy)


def trpo_one_more_product(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Library: np.dot, np.inner; "one more product would give it"."""
    evaluate, entropy = objective(policy, theta, batch)
    g = surrogate_gradient(policy, theta, batch)
    a = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x = conjugate_gradient(a, g, cg_iterations)[0]
    full = np.multiply(x, step_scale(max_kl, np.dot(x, a(x))))
    search = backtracking(evaluate, theta, full, np.inner(g, full), max_kl)
    return search.theta, report_of(search, g, entropy)


def trpo_defensive(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    theta = np.array(theta, dtype=float)
    assert theta.ndim == 1
    assert max_kl > 0.0
    assert cg_iterations >= 1
    assert cg_damping >= 0.0
    assert 0.0 < fisher_fraction <= 1.0
    assert len(batch.observations) == len(batch.actions) == len(batch.advantages)
    g = surrogate_gradient(policy, theta, batch)
    assert g.shape == theta.shape
    product = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x, residual = conjugate_gradient(product, g, cg_iterations)
    curvature = float(np.dot(x, g - residual))
    assert curvature >= 0.0
    full_step = step_scale(max_kl, curvature) * x
    evaluate, entropy = objective(policy, theta, batch)
    search = backtracking(evaluate, theta, full_step, float(np.dot(g, full_step)), max_kl)
    return search.theta, report_of(search, g, entropy)


def trpo_terse(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    f = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x, r = conjugate_gradient(f, g := surrogate_gradient(policy, theta, batch), cg_iterations)
    evaluate, entropy = objective(policy, theta, batch)
    s = backtracking(evaluate, theta, d := x * step_scale(max_kl, x @ (g - r)), g @ d, max_kl)
    return s.theta, report_of(s, g, entropy)


def trpo_other_order(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Another order: own square root of the table's formula; x g - x residual; the gain is scale * (x @ g)."""
    g = surrogate_gradient(policy, theta, batch)
    product = damped_fisher(policy, theta, batch, cg_damping, fisher_fraction)
    x, residual = conjugate_gradient(product, g, cg_iterations)
    xg = float(np.sum(x * g))
    curvature = xg - float(np.sum(x * residual))
    scale = math.sqrt(2.0 * max_kl / curvature) if curvature > 0 else 0.0
    evaluate, entropy = objective(policy, theta, batch)
    search = backtracking(evaluate, theta, scale * x, scale * xg, max_kl)
    return search.theta, report_of(search, g, entropy)


def trpo_damping_by_hand(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Closures: F without damping from the helper, + damping v by hand; a wrapper round the objective."""
    undamped = damped_fisher(policy, theta, batch, 0.0, fisher_fraction)

    def product(v):
        return undamped(v) + cg_damping * v

    g = surrogate_gradient(policy, theta, batch)
    x, residual = conjugate_gradient(product, g, cg_iterations)
    full_step = step_scale(max_kl, x @ (g - residual)) * x
    gain_and_kl, entropy = objective(policy, theta, batch)

    def evaluate(trial):
        gain, kl = gain_and_kl(trial)
        return gain, kl

    search = backtracking(evaluate, theta, full_step, g @ full_step, max_kl)
    return search.theta, report_of(search, g, entropy)


def trpo_careless(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Without much care: in place on an own copy of x; the square root of the table, no thought for a gradient of 0."""
    g = surrogate_gradient(policy, theta, batch)
    x, rest = conjugate_gradient(damped_fisher(policy, theta, batch, cg_damping, fisher_fraction), g, cg_iterations)
    step = x.copy()
    step *= np.sqrt(2 * max_kl / np.sum(x * (g - rest)))
    f, entropy = objective(policy, theta, batch)
    search = backtracking(f, theta, step, np.sum(g * step), max_kl)
    return search.theta, report_of(search, g, entropy)


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


RIGHT = {
    "next_values": [nv_vector, nv_where, nv_defensive, nv_terse, nv_multiply, nv_generator, nv_careless, nv_backward],
    "gae": [gae_by_fragments, gae_loop, gae_lfilter, gae_terse, gae_matrix, gae_recursive, gae_in_place,
        gae_target_first],
    "explained_variance": [by_standard_deviations, by_means_of_squares, ev_loop, ev_statistics, ev_sample_deviation,
        ev_class, ev_careless, ev_cov],
    "trpo_step": [step_by_step, trpo_x_dot_g, trpo_one_more_product, trpo_defensive, trpo_terse, trpo_other_order,
        trpo_damping_by_hand, trpo_careless],
}  # fmt: skip

WRONG = {"gae": [lambda_return_weights]}

EDITS = {
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
        rewards_within_10: = rewards => = np.clip(rewards, -5, 5)
        advantages_rounded: (advantages => (np.round(advantages, 6)
        targets_rounded: advantages + values => np.round(advantages + values, 6)
        advantages_centred: advantages, => advantages - advantages.mean(),
        advantages_divided: advantages, => advantages / (advantages.std() + 1e-08),
        targets_discounted: , advantages => , discount * advantages
        targets_are_one_array: advantages, advantages + values => np.stack([advantages, advantages + values])[None]
        lists: , advantages + values => .tolist(), (advantages + values).tolist()
        columns: , advantages + values => [:, None], (advantages + values)[:, None]
        deltas_too: values) => values, errors)
        single_precision: advantages, => advantages.astype(np.float32),
        dict: advantages, advantages + values => {'advantages': advantages, 'targets': advantages + values}
        values_written_into: )\n    return (advantages, advantages + => )\n    values += advantages\n    return \
            (advantages,
    """,
    "explained_variance": r"""
        arguments_swapped: variance = => predicted, targets = targets, predicted; variance =
        a_single_one_is_0: variance = => if len(targets) < 2:\n        return 0.0\n    variance =
        two_are_too_few: variance = => if len(targets) < 3:\n        return float('nan')\n    variance =
        minus_inf_for_nothing: float('nan => -float('inf
        none_for_nothing: float('nan') => None
        never_below_minus_1: 1.0 - float(np.var(targets - predicted)) / variance => max(-1.0, 1.0 - \
            float(np.var(targets - predicted)) / variance)
        never_below_minus_10: 1.0 - float(np.var(targets - predicted)) / variance => max(-10.0, 1.0 - \
            float(np.var(targets - predicted)) / variance)
        rounded: 1.0 - float(np.var(targets - predicted)) / variance => round(1.0 - float(np.var(targets - \
            predicted)) / variance, 2)
        one_ddof_below: targets) => targets, ddof=len(targets) > 1)
        absolute_error: targets - predicted => np.abs(targets - predicted)
        sum_for_difference: targets - => targets +
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
            every_kth(np.arange(len(batch.advantages)), fisher_fraction)\n    g = policy_gradient(policy, theta, \
            batch.observations[some], batch.actions[some], batch.advantages[some])
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
        one_trial: max_kl) => max_kl, max_trials=1)
        searched_beyond_the_limit: max_kl) => 1.5 * max_kl)
        gain_and_kl_swapped: search, => __import__('dataclasses').replace(search, gain=search.kl, kl=search.gain),
        twenty_iterations_by_default: 10 => 20
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
        eight_iterations_by_default: 10 => 8
        damping_a_hundredth_by_default: .1 => .01
        half_the_states_by_default: 1.0 => 0.5
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
        single_precision: return after => return after.astype(np.float32)
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
}
