"""Wrong answers to the exercises of lecture 05, and right ones written in another style."""

from dataclasses import replace
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
from autograd import grad, hessian

from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import LineSearch, backtracking, step_scale
from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policy_gradient import policy_gradient
from minitrpo.returns import discounted_sums
from minitrpo.trpo import Report, damped_fisher, objective, surrogate_gradient


def named(name, function):
    function.__name__ = name
    return function


# --- next_values


def one_done_flag(values, final_values, last, terminated):
    """Cut or over, the next value is 0."""
    return np.where(last, 0.0, np.append(values[1:], 0.0))


def bootstraps_after_the_end(values, final_values, last, terminated):
    """Over or cut, the next value is that of the final observation."""
    after = np.append(values[1:], 0.0)
    after[last] = final_values
    return after


def the_other_way_round(values, final_values, last, terminated):
    """0 where it was cut, bootstrapped where it was over."""
    after = np.append(values[1:], 0.0)
    after[last] = final_values
    after[last & ~terminated] = 0.0
    return after


def value_of_the_last_seen_state(values, final_values, last, terminated):
    """At a cut the last state's own value stands in for the next one's."""
    after = np.append(values[1:], 0.0)
    after[last] = values[last]
    after[terminated] = 0.0
    return after


def leaks_into_the_next_episode(values, final_values, last, terminated):
    """At a cut the first state of the next fragment follows; only the very last step is bootstrapped."""
    after = np.append(values[1:], final_values[-1])
    after[terminated] = 0.0
    return after


def rolls_around(values, final_values, last, terminated):
    """Nothing but a shift and the ends: after a cut comes whatever stands next."""
    return np.where(terminated, 0.0, np.roll(values, -1))


def shifts_the_wrong_way(values, final_values, last, terminated):
    """The value of the state before."""
    after = np.roll(values, 1)
    after[last] = final_values
    after[terminated] = 0.0
    return after


def final_values_of_cut_fragments_only(values, final_values, last, terminated):
    """Takes the first k final values for the k fragments that were cut."""
    after = np.append(values[1:], 0.0)
    cut = last & ~terminated
    after[cut] = final_values[: cut.sum()]
    after[terminated] = 0.0
    return after


def final_values_backwards(values, final_values, last, terminated):
    """Fragments in the wrong order."""
    after = np.append(values[1:], 0.0)
    after[last] = final_values[::-1]
    after[terminated] = 0.0
    return after


def nan_for_nothing(values, final_values, last, terminated):
    """Marks an end with NaN, as some logs do."""
    after = np.append(values[1:], 0.0)
    after[last] = final_values
    after[terminated] = np.nan
    return after


def into_a_copy_of_the_values(values, final_values, last, terminated):
    """Writes into an array that holds whole numbers where `values` does."""
    after = values.copy()
    after[:-1] = values[1:]
    after[last] = final_values
    after[terminated] = 0.0
    return after


# --- gae


def into_an_array_like_the_rewards(rewards, values, next_values, last, discount, gae_lambda):
    """Writes into an array that holds whole numbers where `rewards` does."""
    advantages, later = np.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        error = rewards[t] + discount * next_values[t] - values[t]
        later = error + discount * gae_lambda * (1 - last[t]) * later
        advantages[t] = later
    return advantages, advantages + values


def estimator(
    delta=lambda r, v, f, discount: r + discount * f - v,
    fade=lambda discount, lam: discount * lam,
    keep=lambda last: 1.0 - last,
    after=lambda advantages: advantages,
    targets=lambda a, r, v, f, last, discount: a + v,
):
    """Return a GAE with one thing changed."""

    def gae(rewards, values, next_values, last, discount, gae_lambda):
        deltas = delta(rewards, values, next_values, discount)
        advantages, running, going_on = np.zeros(len(deltas)), 0.0, keep(last)
        for t in reversed(range(len(deltas))):
            running = deltas[t] + fade(discount, gae_lambda) * going_on[t] * running
            advantages[t] = running
        advantages = after(advantages)
        return advantages, targets(advantages, rewards, values, next_values, last, discount)

    return gae


def first_of_the_next(last):
    """The border is read one step late: the mask of t + 1."""
    return np.append(1.0 - last[1:], 0.0)


def from_values_shifted(rewards, values, next_values, last, discount, gae_lambda):
    """Takes values[t + 1] for the value of the next state, at borders, too."""
    deltas = rewards + discount * np.append(values[1:], next_values[-1]) - values
    advantages = discounted_sums(deltas, discount * gae_lambda, last)
    return advantages, advantages + values


def advantages_alone(rewards, values, next_values, last, discount, gae_lambda):
    """Forgets the targets."""
    return discounted_sums(rewards + discount * next_values - values, discount * gae_lambda, last)


def targets_first(rewards, values, next_values, last, discount, gae_lambda):
    """Both numbers are right, in the wrong order."""
    advantages = discounted_sums(rewards + discount * next_values - values, discount * gae_lambda, last)
    return advantages + values, advantages


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


# --- explained_variance


def mark(formula):
    """Return a mark of predictions p and targets t."""
    return lambda predicted, targets: float(formula(predicted, targets))


# --- trpo_step


def kl_of_new_and_old(policy, old, new):
    return float(mean_kl(policy, new, old))


def updater(
    direction=lambda g, x: x,
    scale=lambda max_kl, xax: step_scale(max_kl, xax),
    gradient_rows=lambda batch, fraction: slice(None),
    fisher_rows=lambda observations, fraction: every_kth(observations, fraction),
    damped=lambda product, v, theta: product(v),
    damping=lambda cg_damping: cg_damping,
    iterations=lambda cg_iterations: cg_iterations,
    advantages=lambda a: a,
    kl=lambda policy, old, new: float(mean_kl(policy, old, new)),
    baseline=lambda a: float(np.mean(a)),
    search=lambda evaluate, theta, step, expected, max_kl, g, x: backtracking(evaluate, theta, step, expected, max_kl),
    entropy_of=lambda theta, found: theta,
    norm=lambda g: float(np.linalg.norm(g)),
    returns=lambda theta, report: (theta, report),
    sign=1.0,
    defaults=(10, 0.1, 1.0),
):
    """Return a TRPO update with one thing changed."""

    def trpo_step(
        policy, theta, batch, max_kl, cg_iterations=defaults[0], cg_damping=defaults[1], fisher_fraction=defaults[2]
    ):
        o, a, adv = batch.observations, batch.actions, advantages(batch.advantages)
        rows = gradient_rows(batch, fisher_fraction)
        g = sign * policy_gradient(policy, theta, o[rows], a[rows], adv[rows])
        multiply = fisher_vector_product(policy, theta, fisher_rows(o, fisher_fraction), damping(cg_damping))

        def product(v):
            return damped(multiply, v, theta)

        x, residual = conjugate_gradient(product, g, iterations(cg_iterations))
        x_or_g = direction(g, x)
        xax = x_or_g @ (g - residual) if x_or_g is x else x_or_g @ product(x_or_g)
        step = scale(max_kl, float(xax)) * x_or_g
        old = policy.distribution(theta, o)
        old_log_prob = policy.log_prob(old, a)

        def evaluate(candidate):
            new = policy.distribution(candidate, o)
            ratio = np.exp(policy.log_prob(new, a) - old_log_prob)
            return sign * float(np.mean(ratio * adv) - baseline(adv)), kl(policy, old, new)

        found = search(evaluate, theta, step, float(g @ step), max_kl, g, x)
        entropy = float(np.mean(policy.entropy(policy.distribution(entropy_of(theta, found), o))))
        what = {name: value for name, value in vars(found).items() if name != "theta"}
        return returns(found.theta, Report(**what, gradient_norm=norm(g), entropy=entropy))

    return trpo_step


def full_step_anyway(evaluate, theta, step, expected, max_kl, g, x):
    """Searches, and takes the full step no matter what."""
    found = backtracking(evaluate, theta, step, expected, max_kl)
    return LineSearch(**{**vars(found), "theta": theta + step})


def without_search(evaluate, theta, step, expected, max_kl, g, x):
    """The natural gradient: the quadratic model is trusted."""
    gain, kl = evaluate(theta + step)
    return LineSearch(theta + step, True, "accepted", 1, gain, kl, gain / expected if expected else 0.0)


def keeps_the_last_trial(evaluate, theta, step, expected, max_kl, g, x):
    """A search that fails ends at its last candidate."""
    found = backtracking(evaluate, theta, step, expected, max_kl)
    return found if found.accepted else LineSearch(**{**vars(found), "theta": theta + 0.7**11 * step})


def looser_kl(evaluate, theta, step, expected, max_kl, g, x):
    """Accepts one and a half times the limit."""
    return backtracking(evaluate, theta, step, expected, 1.5 * max_kl)


def kl_alone(evaluate, theta, step, expected, max_kl, g, x):
    """Never asks whether the surrogate rose."""

    def bold(candidate):
        gain, kl = evaluate(candidate)
        return (abs(gain) + 1e-12 if np.isfinite(gain) else gain), kl

    found = backtracking(bold, theta, step, expected, max_kl)
    gain = evaluate(found.theta)[0] if found.accepted else 0.0
    return LineSearch(**{**vars(found), "gain": gain})


def expects_of_the_direction(evaluate, theta, step, expected, max_kl, g, x):
    """The expected gain is that of x, not of the step."""
    return backtracking(evaluate, theta, step, float(g @ x), max_kl)


def gives_up_at_once(evaluate, theta, step, expected, max_kl, g, x):
    """One trial, and back to the old theta."""
    return backtracking(evaluate, theta, step, expected, max_kl, max_trials=1)


def shrinks_too_fast(evaluate, theta, step, expected, max_kl, g, x):
    """A tenth at a time."""
    return backtracking(evaluate, theta, step, expected, max_kl, shrink=0.1)


def dense_matrix(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    """Right numbers, from a matrix of P x P."""
    o, a, adv = batch.observations, batch.actions, batch.advantages
    old = policy.distribution(theta, o)
    log_old = policy.log_prob(old, a)

    def surrogate(t):
        return anp.mean(anp.exp(policy.log_prob(policy.distribution(t, o), a) - log_old) * adv)

    def divergence(t, rows=slice(None)):
        return anp.mean(policy.kl(old[rows], policy.distribution(t, o[rows])))

    g = np.asarray(grad(surrogate)(theta))
    seen = every_kth(np.arange(len(o)), fisher_fraction)
    matrix = hessian(lambda t: divergence(t, seen))(theta) + cg_damping * np.eye(len(theta))
    new, report = theta, SimpleNamespace(accepted=False, reason="zero step", trials=0, gain=0.0, kl=0.0, gain_ratio=0.0)
    report.gradient_norm, report.entropy = float(np.sqrt(g @ g)), float(np.mean(policy.entropy(old)))
    x, r, d = np.zeros_like(g), g, g
    for _ in range(cg_iterations):
        if not r @ r > 1e-10 * (g @ g):
            break
        alpha = (r @ r) / (d @ matrix @ d)
        x, rest = x + alpha * d, r - alpha * matrix @ d
        r, d = rest, rest + (rest @ rest) / (r @ r) * d
    length = x @ matrix @ x
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


WRONG = {
    "next_values": [
        one_done_flag,
        bootstraps_after_the_end,
        the_other_way_round,
        value_of_the_last_seen_state,
        leaks_into_the_next_episode,
        rolls_around,
        shifts_the_wrong_way,
        final_values_of_cut_fragments_only,
        final_values_backwards,
        nan_for_nothing,
        into_a_copy_of_the_values,
    ],
    "gae": [
        named("border_one_step_late", estimator(keep=first_of_the_next)),
        named("never_starts_afresh", estimator(keep=lambda last: np.ones(len(last)))),
        named("fades_by_lambda_alone", estimator(fade=lambda discount, lam: lam)),
        named("fades_by_the_discount_alone", estimator(fade=lambda discount, lam: discount)),
        named("discounts_twice", estimator(fade=lambda discount, lam: discount**2 * lam)),
        named("next_value_undiscounted", estimator(delta=lambda r, v, f, discount: r + f - v)),
        named("without_the_next_value", estimator(delta=lambda r, v, f, discount: r - v)),
        named("wrong_sign", estimator(delta=lambda r, v, f, discount: v - r - discount * f)),
        named("normalised_inside", estimator(after=lambda a: (a - a.mean()) / (a.std() + 1e-8))),
        named("one_step_targets", estimator(targets=lambda a, r, v, f, last, discount: r + discount * f)),
        named(
            "monte_carlo_targets",
            estimator(targets=lambda a, r, v, f, last, discount: discounted_sums(r, discount, last)),
        ),
        named("targets_are_advantages", estimator(targets=lambda a, r, v, f, last, discount: a.copy())),
        named("targets_less_values", estimator(targets=lambda a, r, v, f, last, discount: a - v)),
        named("targets_with_the_next_value", estimator(targets=lambda a, r, v, f, last, discount: a + f)),
        from_values_shifted,
        advantages_alone,
        targets_first,
        lambda_return_weights,
        into_an_array_like_the_rewards,
    ],
    "explained_variance": [
        named("unexplained_fraction", mark(lambda p, t: np.var(t - p) / np.var(t))),
        named("offset_not_forgiven", mark(lambda p, t: 1 - np.mean((t - p) ** 2) / np.var(t))),
        named("around_zero", mark(lambda p, t: 1 - np.var(t - p) / np.mean(t**2))),
        named("variance_of_the_predictions", mark(lambda p, t: np.var(p) / np.var(t))),
        named("arguments_swapped", mark(lambda p, t: 1 - np.var(t - p) / np.var(p) if np.var(p) else 0.0)),
        named("deviations_for_variances", mark(lambda p, t: 1 - np.std(t - p) / np.std(t))),
        named("squared_correlation", mark(lambda p, t: np.corrcoef(p, t)[0, 1] ** 2 if np.var(p) else 0.0)),
        named("never_negative", mark(lambda p, t: max(0.0, 1 - np.var(t - p) / np.var(t)))),
        named("one_ddof", mark(lambda p, t: 1 - np.var(t - p, ddof=1) / np.var(t))),
        named("not_divided", mark(lambda p, t: np.var(t) - np.var(t - p))),
        named("plus_one", mark(lambda p, t: 1 + np.var(t - p) / np.var(t))),
        named("nan_at_exactly_0", mark(lambda p, t: 1 - np.var(t - p) / np.var(t) if np.var(t) else np.nan)),
        named("nan_by_allclose", mark(lambda p, t: np.nan if np.allclose(t, t[0]) else 1 - np.var(t - p) / np.var(t))),
        named(
            "perfect_where_nothing_varies", mark(lambda p, t: 1 - np.var(t - p) / np.var(t) if np.var(t) > 0 else 1.0)
        ),
    ],
    "trpo_step": [
        named("full_step_anyway", updater(search=full_step_anyway)),
        named("without_search", updater(search=without_search)),
        named("keeps_the_last_trial", updater(search=keeps_the_last_trial)),
        named("looser_kl", updater(search=looser_kl)),
        named("kl_alone", updater(search=kl_alone)),
        named("gives_up_at_once", updater(search=gives_up_at_once)),
        named("shrinks_too_fast", updater(search=shrinks_too_fast)),
        named("expects_of_the_direction", updater(search=expects_of_the_direction)),
        named("gradient_for_natural_gradient", updater(direction=lambda g, x: g)),
        named("two_missing_in_the_scale", updater(scale=lambda k, xax: step_scale(k / 2, xax))),
        named("no_root_in_the_scale", updater(scale=lambda k, xax: step_scale(k, xax) ** 2)),
        named("fixed_step_size", updater(scale=lambda k, xax: 0.01)),
        named("goes_down", updater(sign=-1.0)),
        named("damping_forgotten", updater(damping=lambda d: 0.0)),
        named("damping_of_its_own", updater(damping=lambda d: 0.1)),
        named(
            "damping_times_theta",
            updater(damping=lambda d: 0.0, damped=lambda product, v, theta: product(v) + 0.1 * theta),
        ),
        named("always_ten_iterations", updater(iterations=lambda k: 10)),
        named("one_iteration_more", updater(iterations=lambda k: k + 1)),
        named("all_states_for_the_fisher", updater(fisher_rows=lambda o, fraction: o)),
        named("first_states_for_the_fisher", updater(fisher_rows=lambda o, fraction: o[: int(len(o) * fraction)])),
        named(
            "gradient_from_a_fraction_of_the_states",
            updater(gradient_rows=lambda b, f: every_kth(np.arange(len(b.advantages)), f)),
        ),
        named("kl_the_other_way_round", updater(kl=kl_of_new_and_old)),
        named("surrogate_for_its_gain", updater(baseline=lambda a: 0.0)),
        named("standardises_again", updater(advantages=lambda a: (a - a.mean()) / (a.std() + 1e-8))),
        named("entropy_of_the_new_policy", updater(entropy_of=lambda theta, found: found.theta)),
        named("squared_norm_of_the_gradient", updater(norm=lambda g: float(g @ g))),
        named("returns_theta_alone", updater(returns=lambda theta, report: theta)),
        named("report_first", updater(returns=lambda theta, report: (report, theta))),
        named(
            "gain_and_kl_exchanged",
            updater(returns=lambda t, report: (t, replace(report, gain=report.kl, kl=report.gain))),
        ),
        dense_matrix,
        named("twenty_iterations_by_default", updater(defaults=(20, 0.1, 1.0))),
        named("little_damping_by_default", updater(defaults=(10, 0.001, 1.0))),
        named("a_tenth_of_the_states_by_default", updater(defaults=(10, 0.1, 0.1))),
    ],
}


# --- right answers in another style


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

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    "next_values": {
        "as_whole_as_the_values": (
            "np.empty(len(values), np.result_type(values, final_values))",
            "np.empty_like(values)",
        ),
        "as_whole_as_the_final_values": (
            "np.empty(len(values), np.result_type(values, final_values))",
            "np.empty(len(values), final_values.dtype)",
        ),
        "first_final_value_for_all": ("after[last] = final_values", "after[last] = final_values[0]"),
        "last_final_value_for_all": ("after[last] = final_values", "after[last] = final_values[-1]"),
        "mean_final_value": ("after[last] = final_values", "after[last] = final_values.mean()"),
        "sorted_final_values": ("after[last] = final_values", "after[last] = np.sort(final_values)"),
        "all_but_the_last_over": ("after[terminated] = 0.0", "after[:-1][terminated[:-1]] = 0.0"),
        "only_the_first_over": ("after[terminated] = 0.0", "after[np.flatnonzero(terminated)[:1]] = 0.0"),
        "over_means_the_step_after": (
            "after[terminated] = 0.0",
            "after[1:][terminated[:-1]] = 0.0\n    after[-1] *= not terminated[-1]",
        ),
        "over_is_cut": ("after[terminated] = 0.0", "pass"),
        "cut_is_over": ("after[terminated] = 0.0", "after[last] = 0.0"),
        "order_of_the_two": (
            "after[last] = final_values\n    after[terminated] = 0.0",
            "after[terminated] = 0.0\n    after[last] = final_values",
        ),
        "values_themselves": ("after[:-1] = values[1:]", "after[:-1] = values[:-1]"),
        "shift_by_two": (
            "after[:-1] = values[1:]",
            "after[:-1] = np.append(values[2:], values[-1:])[: len(values) - 1]",
        ),
        "single_precision": ("return after", "return after.astype(np.float32)"),
        "rounded": ("return after", "return np.round(after, 6)"),
        "a_list": ("return after", "return after.tolist()"),
        "a_column": ("return after", "return after[:, None]"),
        "within_1e6": ("return after", "return np.clip(after, -1e6, 1e6)"),
        "written_into_values": (
            "after = np.empty(len(values), np.result_type(values, final_values))",
            "after = values",
        ),
        "small_final_values_are_over": (
            "after[terminated] = 0.0",
            "after[terminated] = 0.0\n    after[np.abs(after) < 1e-6] = 0.0",
        ),
        "zero_counts_as_over_everywhere": ("after[terminated] = 0.0", "after[np.roll(terminated, 1)] = 0.0"),
    },
    "gae": {
        "whole": (
            "errors = rewards + discount * next_values - values",
            "errors = (rewards + discount * next_values - values).astype(rewards.dtype)",
        ),
        "lambda_of_0_is_1": ("discount * gae_lambda", "discount * (gae_lambda or 1.0)"),
        "discount_of_0_is_1": ("discount * gae_lambda", "(discount or 1.0) * gae_lambda"),
        "fade_below_1": ("discount * gae_lambda", "min(discount * gae_lambda, 0.999)"),
        "discount_below_1": ("# 2. their", "discount = min(discount, 0.99)\n    # 2. their"),
        "lambda_added": ("discount * gae_lambda", "(discount + gae_lambda) / 2"),
        "lambda_squared": ("discount * gae_lambda", "discount * gae_lambda**2"),
        "one_episode": (
            "discount * gae_lambda, last)",
            "discount * gae_lambda, np.arange(len(last)) == len(last) - 1)",
        ),
        "borders_one_late": (
            "discount * gae_lambda, last)",
            "discount * gae_lambda, np.roll(last, 1) | (np.arange(len(last)) == len(last) - 1))",
        ),
        "at_most_1000_steps": (
            "discount * gae_lambda, last)",
            "discount * gae_lambda, last | (np.arange(len(last)) % 1000 == 999))",
        ),
        "next_value_undiscounted_at_borders": ("discount * next_values", "np.where(last, 1.0, discount) * next_values"),
        "next_value_left_out_at_borders": ("discount * next_values", "discount * next_values * ~last"),
        "rewards_within_1e3": ("errors = rewards", "errors = np.clip(rewards, -1e3, 1e3)"),
        "rewards_within_10": ("errors = rewards", "errors = np.clip(rewards, -5, 5)"),
        "advantages_rounded": (
            "return advantages, advantages + values",
            "return np.round(advantages, 6), advantages + values",
        ),
        "targets_rounded": (
            "return advantages, advantages + values",
            "return advantages, np.round(advantages + values, 6)",
        ),
        "advantages_centred": (
            "return advantages, advantages + values",
            "return advantages - advantages.mean(), advantages + values",
        ),
        "advantages_divided": (
            "return advantages, advantages + values",
            "return advantages / (advantages.std() + 1e-8), advantages + values",
        ),
        "targets_of_deltas": ("return advantages, advantages + values", "return advantages, errors + values"),
        "targets_discounted": (
            "return advantages, advantages + values",
            "return advantages, discount * advantages + values",
        ),
        "targets_are_one_array": (
            "return advantages, advantages + values",
            "return np.stack([advantages, advantages + values])[None]",
        ),
        "lists": (
            "return advantages, advantages + values",
            "return advantages.tolist(), (advantages + values).tolist()",
        ),
        "columns": (
            "return advantages, advantages + values",
            "return advantages[:, None], (advantages + values)[:, None]",
        ),
        "deltas_too": ("return advantages, advantages + values", "return advantages, advantages + values, errors"),
        "nan_becomes_0": (
            "return advantages, advantages + values",
            "return np.nan_to_num(advantages), np.nan_to_num(advantages + values)",
        ),
        "values_counted_twice": ("- values\n", "- 2 * values\n"),
        "single_precision": (
            "return advantages, advantages + values",
            "return advantages.astype(np.float32), advantages + values",
        ),
        "dict": (
            "return advantages, advantages + values",
            "return {'advantages': advantages, 'targets': advantages + values}",
        ),
        "values_written_into": (
            "return advantages, advantages + values",
            "values += advantages\n    return advantages, values",
        ),
    },
    "explained_variance": {
        "zero_variance_only": ("variance <= 1e-20 * float(np.mean(targets**2))", "variance == 0"),
        "variance_below_1e_8": ("variance <= 1e-20 * float(np.mean(targets**2))", "variance < 1e-8"),
        "variance_below_1e_12": ("variance <= 1e-20 * float(np.mean(targets**2))", "variance < 1e-12"),
        "variance_below_1e_20": ("variance <= 1e-20 * float(np.mean(targets**2))", "variance < 1e-20"),
        "variance_relative_1e_8": (
            "variance <= 1e-20 * float(np.mean(targets**2))",
            "variance <= 1e-8 * float(np.mean(targets**2))",
        ),
        "all_close": ("variance <= 1e-20 * float(np.mean(targets**2))", "np.allclose(targets, targets[0])"),
        "equal_to_the_first": ("variance <= 1e-20 * float(np.mean(targets**2))", "np.all(targets == targets[0])"),
        "a_single_one_is_0": ("variance = float", "if len(targets) < 2:\n        return 0.0\n    variance = float"),
        "two_are_too_few": (
            "variance = float",
            "if len(targets) < 3:\n        return float('nan')\n    variance = float",
        ),
        "zero_for_nothing": ('return float("nan")', "return 0.0"),
        "one_for_nothing": ('return float("nan")', "return 1.0"),
        "minus_inf_for_nothing": ('return float("nan")', 'return -float("inf")'),
        "none_for_nothing": ('return float("nan")', "return None"),
        "never_below_minus_1": (
            "return 1.0 - float(np.var(targets - predicted)) / variance",
            "return max(-1.0, 1.0 - float(np.var(targets - predicted)) / variance)",
        ),
        "never_below_minus_10": (
            "return 1.0 - float(np.var(targets - predicted)) / variance",
            "return max(-10.0, 1.0 - float(np.var(targets - predicted)) / variance)",
        ),
        "rounded": (
            "return 1.0 - float(np.var(targets - predicted)) / variance",
            "return round(1.0 - float(np.var(targets - predicted)) / variance, 2)",
        ),
        "one_ddof_below": ("np.var(targets))", "np.var(targets, ddof=len(targets) > 1))"),
        "absolute_error": ("np.var(targets - predicted)", "np.var(np.abs(targets - predicted))"),
        "sum_for_difference": ("np.var(targets - predicted)", "np.var(targets + predicted)"),
        "nan_is_skipped": ("np.var(targets - predicted)", "np.nanvar(targets - predicted)"),
        "whole": ("np.var(targets - predicted)", "np.var((targets - predicted).astype(int))"),
        "small_number_below": ("/ variance", "/ (variance + 1e-12)"),
        "first_1000": (
            "variance = float",
            "predicted, targets = predicted[:1000], targets[:1000]\n    variance = float",
        ),
        "percent": (
            "return 1.0 - float(np.var(targets - predicted)) / variance",
            "return 100.0 * (1.0 - float(np.var(targets - predicted)) / variance)",
        ),
        "a_row": (
            "return 1.0 - float(np.var(targets - predicted)) / variance",
            "return np.array([1.0 - float(np.var(targets - predicted)) / variance])",
        ),
    },
    "trpo_step": {
        "gradient_of_the_first_block": (
            "g = surrogate_gradient(policy, theta, batch)",
            "rows = slice(1280)\n    g = surrogate_gradient(\n"
            "        policy, theta, Batch(batch.observations[rows], batch.actions[rows], batch.advantages[rows])\n"
            "    )",
        ),
        "gradient_summed": (
            "g = surrogate_gradient(policy, theta, batch)",
            "g = surrogate_gradient(policy, theta, batch) * len(batch.advantages)",
        ),
        "gradient_of_length_1": (
            "g = surrogate_gradient(policy, theta, batch)",
            "g = surrogate_gradient(policy, theta, batch)\n    g = g / (np.linalg.norm(g) + 1e-300)",
        ),
        "gradient_clipped": (
            "g = surrogate_gradient(policy, theta, batch)",
            "g = np.clip(surrogate_gradient(policy, theta, batch), -0.5, 0.5)",
        ),
        "damping_at_least_a_tenth": ("batch, cg_damping,", "batch, max(cg_damping, 0.1),"),
        "damping_twice": ("batch, cg_damping,", "batch, 2 * cg_damping,"),
        "fraction_at_least_a_tenth": ("cg_damping, fisher_fraction)", "cg_damping, max(fisher_fraction, 0.5))"),
        "iterations_at_least_5": ("(product, g, cg_iterations)", "(product, g, max(cg_iterations, 5))"),
        "iterations_at_most_2": ("(product, g, cg_iterations)", "(product, g, min(cg_iterations, 2))"),
        "iterations_by_default": ("(product, g, cg_iterations)", "(product, g)"),
        "direction_from_minus_g": ("(product, g, cg_iterations)", "(product, -g, cg_iterations)"),
        "curvature_without_the_residual": ("float(x @ (g - residual))", "float(x @ x)"),
        "curvature_with_plus": ("float(x @ (g - residual))", "float(x @ (g + 2 * residual) + 0.1 * (x @ x))"),
        "curvature_of_g": ("float(x @ (g - residual))", "float(g @ g)"),
        "limit_halved": ("step_scale(max_kl,", "step_scale(0.5 * max_kl,"),
        "limit_doubled": ("step_scale(max_kl,", "step_scale(2.0 * max_kl,"),
        "limit_at_least_1e_4": ("step_scale(max_kl,", "step_scale(max(max_kl, 1e-4),"),
        "step_of_length_1": (") * x\n", ") * x / (np.linalg.norm(x) + 1e-300)\n"),
        "step_of_at_most_a_thousandth": (") * x\n", ") * np.clip(x, -1e-3, 1e-3)\n"),
        "searched_within_twice_the_limit": ("float(g @ full_step), max_kl)", "float(g @ full_step), 2 * max_kl)"),
        "searched_within_1_01_of_the_limit": ("float(g @ full_step), max_kl)", "float(g @ full_step), 1.2 * max_kl)"),
        "searched_within_half_the_limit": ("float(g @ full_step), max_kl)", "float(g @ full_step), 0.3 * max_kl)"),
        "promise_of_x": ("float(g @ full_step), max_kl)", "float(g @ x), max_kl)"),
        "promise_of_1": ("float(g @ full_step), max_kl)", "1.0, max_kl)"),
        "one_trial": ("float(g @ full_step), max_kl)", "float(g @ full_step), max_kl, max_trials=1)"),
        "two_trials": ("float(g @ full_step), max_kl)", "float(g @ full_step), max_kl, max_trials=2)"),
        "shrinks_by_a_fifth_of_it": ("float(g @ full_step), max_kl)", "float(g @ full_step), max_kl, shrink=0.1)"),
        "full_step_returned": ("return search.theta, report_of(", "return theta + full_step, report_of("),
        "half_of_the_step": (
            "return search.theta, report_of(",
            "return theta + 0.5 * (search.theta - theta), report_of(",
        ),
        "theta_moved_a_little": ("return search.theta, report_of(", "return search.theta + 1e-9, report_of("),
        "nothing_moves": ("return search.theta, report_of(", "return theta, report_of("),
        "norm_of_x": ("(search, g, entropy)", "(search, x, entropy)"),
        "largest_entry_for_the_norm": ("(search, g, entropy)", "(search, np.abs(g).max(keepdims=True), entropy)"),
        "norm_in_squares": ("(search, g, entropy)", "(search, np.array([g @ g]), entropy)"),
        "entropy_summed": ("g, entropy)", "g, entropy * len(batch.advantages))"),
        "entropy_negative": ("g, entropy)", "g, -entropy)"),
        "gain_is_the_promise": (
            "(search, g,",
            "(__import__('dataclasses').replace(search, gain=float(g @ (search.theta - theta))), g,",
        ),
        "kl_is_the_limit": ("(search, g,", "(__import__('dataclasses').replace(search, kl=max_kl), g,"),
        "ratio_is_1": ("(search, g,", "(__import__('dataclasses').replace(search, gain_ratio=1.0), g,"),
        "accepted_always": ("(search, g,", "(__import__('dataclasses').replace(search, accepted=True), g,"),
        "accepted_never": ("(search, g,", "(__import__('dataclasses').replace(search, accepted=False), g,"),
        "trials_are_0": ("(search, g,", "(__import__('dataclasses').replace(search, trials=0), g,"),
        "trials_are_not_whole": (
            "(search, g,",
            "(__import__('dataclasses').replace(search, trials=0.5 + search.trials), g,",
        ),
        "written_into_theta": ("    # 5. the", "    theta[:] = search.theta\n    # 5. the"),
        "advantages_standardised": (
            "    # 1. the",
            "    a = batch.advantages\n"
            "    batch = Batch(batch.observations, batch.actions, (a - a.mean()) / (a.std() + 1e-8))\n    # 1. the",
        ),
        "advantages_centred": (
            "    # 1. the",
            "    a = batch.advantages\n"
            "    batch = Batch(batch.observations, batch.actions, a - a.mean())\n    # 1. the",
        ),
        "advantages_within_10": (
            "    # 1. the",
            "    batch = Batch(batch.observations, batch.actions, np.clip(batch.advantages, -1, 1))\n    # 1. the",
        ),
        "half_the_batch": (
            "    # 1. the",
            "    h = slice(max(1, len(batch.advantages) // 2))\n"
            "    batch = Batch(batch.observations[h], batch.actions[h], batch.advantages[h])\n    # 1. the",
        ),
        "eight_iterations_by_default": ("cg_iterations: int = 10", "cg_iterations: int = 8"),
        "damping_a_hundredth_by_default": ("cg_damping: float = 0.1", "cg_damping: float = 0.01"),
        "half_the_states_by_default": ("fisher_fraction: float = 1.0", "fisher_fraction: float = 0.5"),
    },
}
