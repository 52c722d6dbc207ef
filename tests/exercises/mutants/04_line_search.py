"""Wrong answers to the exercises of lecture 04, and right ones written in another style."""

import autograd.numpy as np

from minitrpo.line_search import LineSearch


def named(name, function):
    function.__name__ = name
    return function


def finite_everywhere(gain, kl, candidate):
    return bool(np.isfinite(gain) and np.isfinite(kl) and np.all(np.isfinite(candidate)))


def searcher(
    fraction=lambda shrink, k: shrink**k,
    finite=finite_everywhere,
    within=lambda kl, max_kl: kl <= max_kl,
    gains=lambda gain, ratio: gain > 0.0,
    promise=lambda fraction, expected: fraction * expected,
    failed=lambda theta, candidate, reason, trials, gain, kl, ratio: LineSearch(
        theta, False, reason, trials, 0.0, 0.0, ratio
    ),
    zero=lambda step: not np.any(step),
    first=0,
    extra=0,
    shrink_default=0.7,
    trials_default=12,
    reasons=("not finite", "KL too large", "no improvement"),
    keep_reason=False,
):
    """Return a line search with one thing changed."""

    def backtracking(
        evaluate, theta, full_step, expected_gain, max_kl, shrink=shrink_default, max_trials=trials_default
    ):
        if zero(full_step):
            return LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
        seen, ratio, gain, kl, candidate, trials = "zero step", 0.0, 0.0, 0.0, theta, 0
        for k in range(first, max_trials + first + extra):
            trials += 1
            f = fraction(shrink, k)
            candidate = theta + f * full_step
            gain, kl = evaluate(candidate)
            promised = promise(f, expected_gain)
            ratio = gain / promised if promised else 0.0
            if not finite(gain, kl, candidate):
                reason, ratio = reasons[0], 0.0
            elif not within(kl, max_kl):
                reason = reasons[1]
            elif not gains(gain, ratio):
                reason = reasons[2]
            else:
                return LineSearch(candidate, True, "accepted", trials, gain, kl, ratio)
            seen = seen if keep_reason and seen != "zero step" else reason
        return failed(theta, candidate, seen, trials, gain, kl, ratio)

    return backtracking


def full_step_no_matter_what(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """Frans's code of 2016: the search is run, its answer thrown away."""
    found = searcher()(evaluate, theta, full_step, expected_gain, max_kl, shrink, max_trials)
    return LineSearch(
        theta + full_step, found.accepted, found.reason, found.trials, found.gain, found.kl, found.gain_ratio
    )


def keeps_adding_after_acceptance(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """A course's code: no break, and the next trial starts from the accepted one."""
    best = LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
    trials = 0
    for k in range(max_trials if np.any(full_step) else 0):
        candidate = best.theta + shrink**k * full_step
        gain, kl = evaluate(candidate)
        trials = k + 1
        promised = shrink**k * expected_gain
        ratio = gain / promised if promised else 0.0
        if finite_everywhere(gain, kl, candidate) and kl <= max_kl and gain > best.gain:
            best = LineSearch(candidate, True, "accepted", trials, gain, kl, ratio)
    return LineSearch(best.theta, best.accepted, best.reason, trials, best.gain, best.kl, best.gain_ratio)


def choose(better):
    """Return a search that tries everything and keeps the acceptable trial that `better` prefers."""

    def backtracking(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
        best = searcher(trials_default=1)(evaluate, theta, full_step, expected_gain, max_kl, shrink, 1)
        for k in range(1, max_trials if np.any(full_step) else 0):
            found = searcher(first=k)(evaluate, theta, full_step, expected_gain, max_kl, shrink, 1)
            best = found if not best.accepted or (found.accepted and better(found, best)) else best
        trials = max_trials if np.any(full_step) else 0
        return LineSearch(best.theta, best.accepted, best.reason, trials, best.gain, best.kl, best.gain_ratio)

    return backtracking


def shrinks_the_trial_itself(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """theta + step is multiplied by the fraction, old parameters included."""
    if not np.any(full_step):
        return LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
    for k in range(max_trials):
        candidate = shrink**k * (theta + full_step)
        gain, kl = evaluate(candidate)
        if finite_everywhere(gain, kl, candidate) and kl <= max_kl and gain > 0:
            return LineSearch(candidate, True, "accepted", k + 1, gain, kl, gain / (shrink**k * expected_gain))
    return LineSearch(theta, False, "KL too large", max_trials, 0.0, 0.0, 0.0)


def writes_into_theta(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """Moves the old parameters themselves and forgets to move them back."""
    before, done = theta.copy(), searcher()
    found = done(evaluate, before, full_step, expected_gain, max_kl, shrink, max_trials)
    theta[:] = found.theta if found.accepted else before + shrink ** (max_trials - 1) * full_step
    return found


def judges_the_old_policy_first(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """One evaluation too many, at theta itself, where gain and KL are 0 by definition."""
    evaluate(theta)
    return searcher()(evaluate, theta, full_step, expected_gain, max_kl, shrink, max_trials)


def only_nan_is_bad(gain, kl, candidate):
    return not (np.isnan(gain) or np.isnan(kl) or np.any(np.isnan(candidate)))


def reports_the_failed_trial(theta, candidate, reason, trials, gain, kl, ratio):
    return LineSearch(theta, False, reason, trials, gain, kl, ratio)


def returns_the_refused_trial(theta, candidate, reason, trials, gain, kl, ratio):
    return LineSearch(candidate, False, reason, trials, 0.0, 0.0, ratio)


def accepts_in_the_end(theta, candidate, reason, trials, gain, kl, ratio):
    return LineSearch(candidate, True, "accepted", trials, gain, kl, ratio)


def log_ratio(policy, dist_params, old_log_prob, actions, advantages):
    return np.mean((policy.log_prob(dist_params, actions) - old_log_prob) * advantages)


def ratio(policy, dist_params, old_log_prob, actions):
    return np.exp(policy.log_prob(dist_params, actions) - old_log_prob)


def clipped(policy, dist_params, old_log_prob, actions, advantages):
    r = ratio(policy, dist_params, old_log_prob, actions)
    return np.mean(np.minimum(r * advantages, np.clip(r, 0.8, 1.2) * advantages))


def self_normalised(policy, dist_params, old_log_prob, actions, advantages):
    r = ratio(policy, dist_params, old_log_prob, actions)
    return np.sum(r * advantages) / np.sum(r)


def standardises_again(policy, dist_params, old_log_prob, actions, advantages):
    a = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return np.mean(ratio(policy, dist_params, old_log_prob, actions) * a)


def every_step_with_every_ratio(policy, dist_params, old_log_prob, actions, advantages):
    """A column of ratios times a row of advantages: (N, N) by broadcasting, then a mean."""
    return np.mean(ratio(policy, dist_params, old_log_prob, actions)[:, None] * advantages)


def probability_of_the_mode(policy, dist_params, old_log_prob, actions, advantages):
    """Judges the action that the new policy likes best, not the one that was taken."""
    return np.mean(ratio(policy, dist_params, old_log_prob, policy.mode(dist_params)) * advantages)


WRONG = {
    "surrogate": [
        named("upside_down", lambda p, r, o, a, A: np.mean(np.exp(o - p.log_prob(r, a)) * A)),
        log_ratio,
        named("log_prob_times_advantage", lambda p, r, o, a, A: np.mean(p.log_prob(r, a) * A)),
        named("forgets_the_old_policy", lambda p, r, o, a, A: np.mean(np.exp(p.log_prob(r, a)) * A)),
        named("sum_for_mean", lambda p, r, o, a, A: np.sum(ratio(p, r, o, a) * A)),
        named("a_loss", lambda p, r, o, a, A: -np.mean(ratio(p, r, o, a) * A)),
        named("already_the_gain", lambda p, r, o, a, A: np.mean((ratio(p, r, o, a) - 1.0) * A)),
        named("mean_times_mean", lambda p, r, o, a, A: np.mean(ratio(p, r, o, a)) * np.mean(A)),
        named("exp_of_the_mean", lambda p, r, o, a, A: np.exp(np.mean(p.log_prob(r, a) - o)) * np.mean(A)),
        named("one_number_a_step", lambda p, r, o, a, A: ratio(p, r, o, a) * A),
        named("quotient_of_logarithms", lambda p, r, o, a, A: np.mean(p.log_prob(r, a) / o * A)),
        named("absolute_advantage", lambda p, r, o, a, A: np.mean(ratio(p, r, o, a) * np.abs(A))),
        clipped,
        self_normalised,
        standardises_again,
        every_step_with_every_ratio,
        probability_of_the_mode,
    ],
    "step_scale": [
        named("without_the_two", lambda d, q: float(np.sqrt(d / q)) if q > 0 else 0.0),
        named("two_below", lambda d, q: float(np.sqrt(d / (2 * q))) if q > 0 else 0.0),
        named("without_the_root", lambda d, q: 2 * d / q if q > 0 else 0.0),
        named("upside_down", lambda d, q: float(np.sqrt(q / (2 * d))) if q > 0 and d > 0 else 0.0),
        named("root_of_the_limit_only", lambda d, q: float(np.sqrt(2 * d) / q) if q > 0 else 0.0),
        named("root_of_the_curvature_only", lambda d, q: float(2 * d / np.sqrt(q)) if q > 0 else 0.0),
        named("no_guard", lambda d, q: float(np.sqrt(2 * np.float64(d) / np.float64(q)))),
        named("absolute_value", lambda d, q: float(np.sqrt(2 * d / abs(q))) if q else 0.0),
        named("one_if_there_is_no_curvature", lambda d, q: float(np.sqrt(2 * d / q)) if q > 0 else 1.0),
        named("epsilon_below", lambda d, q: float(np.sqrt(2 * d / (max(q, 0) + 1e-8))) if q > 0 else 0.0),
        named("backwards", lambda d, q: -float(np.sqrt(2 * d / q)) if q > 0 else 0.0),
        named("at_most_one", lambda d, q: min(1.0, float(np.sqrt(2 * d / q))) if q > 0 else 0.0),
    ],
    "backtracking": [
        full_step_no_matter_what,
        keeps_adding_after_acceptance,
        named("failure_is_not_restored", searcher(failed=returns_the_refused_trial)),
        named("accepts_the_last_trial", searcher(failed=accepts_in_the_end)),
        named("no_kl_check", searcher(within=lambda kl, max_kl: True)),
        named("limit_times_one_and_a_half", searcher(within=lambda kl, max_kl: kl <= 1.5 * max_kl)),
        named("equal_is_refused", searcher(within=lambda kl, max_kl: kl < max_kl)),
        named("no_gain_check", searcher(gains=lambda gain, ratio: True)),
        named("zero_is_a_gain", searcher(gains=lambda gain, ratio: gain >= 0.0)),
        named("a_tenth_of_the_promise", searcher(gains=lambda gain, ratio: gain > 0.0 and ratio > 0.1)),
        named("minimises", searcher(gains=lambda gain, ratio: gain < 0.0)),
        named("promise_of_the_full_step", searcher(promise=lambda fraction, expected: expected)),
        named("ratio_upside_down", searcher(promise=lambda fraction, expected: 1.0 / (fraction * expected or np.inf))),
        named(
            "divides_by_a_promise_of_zero", searcher(promise=lambda fraction, expected: fraction * expected + 1e-300)
        ),
        named("half_by_default", searcher(shrink_default=0.5)),
        named("ten_trials_by_default", searcher(trials_default=10)),
        named("shrinks_before_the_first_trial", searcher(first=1)),
        named("one_trial_too_many", searcher(extra=1)),
        named("one_trial_short", searcher(extra=-1)),
        named("shrinks_evenly", searcher(fraction=lambda shrink, k: max(1 - k * (1 - shrink), 0.01))),
        named("shrinks_faster_and_faster", searcher(fraction=lambda shrink, k: shrink ** (k * (k + 1) / 2))),
        named("never_shrinks", searcher(fraction=lambda shrink, k: 1.0)),
        named("looks_at_the_gain_only", searcher(finite=lambda gain, kl, candidate: bool(np.isfinite(gain)))),
        named("looks_at_the_kl_only", searcher(finite=lambda gain, kl, candidate: bool(np.isfinite(kl)))),
        named(
            "looks_at_gain_and_kl_only",
            searcher(finite=lambda gain, kl, candidate: bool(np.isfinite(gain) and np.isfinite(kl))),
        ),
        named("only_nan_is_bad", searcher(finite=only_nan_is_bad)),
        named(
            "nan_slips_through",
            searcher(
                finite=lambda gain, kl, candidate: True,
                within=lambda kl, max_kl: not kl > max_kl,
                gains=lambda gain, ratio: not gain <= 0.0,
            ),
        ),
        named("tries_a_zero_step", searcher(zero=lambda step: False)),
        named("reports_the_failed_trial", searcher(failed=reports_the_failed_trial)),
        named("reason_of_the_first_trial", searcher(keep_reason=True)),
        named("always_blames_the_kl", searcher(reasons=("KL too large",) * 3)),
        named("smallest_acceptable_step", choose(lambda found, best: True)),
        named("largest_gain_of_all", choose(lambda found, best: found.gain > best.gain)),
        shrinks_the_trial_itself,
        writes_into_theta,
        judges_the_old_policy_first,
    ],
}


def with_a_loop(policy, dist_params, old_log_prob, actions, advantages):
    """The surrogate as a dot product of weights and advantages."""
    log_ratios = policy.log_prob(dist_params, actions) - old_log_prob
    return np.dot(np.exp(log_ratios), advantages) / advantages.size


def by_powers(max_kl, curvature):
    """The scale by powers, with early returns."""
    if not curvature > 0:
        return 0
    return (2 * max_kl) ** 0.5 * curvature**-0.5


def step_by_step(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """A line search that shrinks the step in a while loop."""
    step, promise, trials = full_step.copy(), float(expected_gain), 0
    reason, ratio = "zero step", 0.0
    while trials < max_trials and (step != 0).any():
        new = step + theta
        gain, kl = map(float, evaluate(new))
        trials += 1
        numbers = np.append(new, [gain, kl])
        ratio = gain / promise if promise != 0 and np.isfinite(numbers).all() else 0.0
        if not np.isfinite(numbers).all():
            reason = "not finite"
        elif kl <= max_kl and gain > 0:
            return LineSearch(new, accepted=True, reason="accepted", trials=trials, gain=gain, kl=kl, gain_ratio=ratio)
        else:
            reason = "KL too large" if kl > max_kl else "no improvement"
        step, promise = step * shrink, promise * shrink
    return LineSearch(theta.copy(), False, reason, trials, 0, 0, ratio)


def with_sum_and_length(policy, dist_params, old_log_prob, actions, advantages):
    """A sum over the number of steps."""
    weights = np.exp(policy.log_prob(dist_params, actions) - old_log_prob)
    return np.sum(weights * advantages) / len(actions)


def gain_and_mean(policy, dist_params, old_log_prob, actions, advantages):
    """(ratio - 1) * advantage, and what was taken off."""
    change = np.exp(policy.log_prob(dist_params, actions) - old_log_prob) - 1.0
    return np.mean(change * advantages + advantages)


def of_a_quotient(max_kl, xAx):
    """A conditional expression with the other order."""
    return 0.0 if not xAx > 0 else (max_kl / (xAx / 2)) ** 0.5


def root_by_root(max_kl, xAx):
    """numpy numbers, and a guard with an exception's worth of care."""
    if np.isnan(xAx) or xAx <= 0:
        return np.float64(0)
    return np.sqrt(2 * max_kl) / np.sqrt(xAx)


def with_a_helper(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """The reason from a function of its own, the loop over fractions."""

    def why_not(candidate, gain, kl):
        if not (np.isfinite(candidate).all() and np.isfinite(gain) and np.isfinite(kl)):
            return "not finite"
        if kl > max_kl:
            return "KL too large"
        return "" if gain > 0 else "no improvement"

    if not np.count_nonzero(full_step):
        return LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
    for k, fraction in enumerate([shrink**i for i in range(max_trials)]):
        candidate = theta + fraction * full_step
        gain, kl = evaluate(candidate)
        reason = why_not(candidate, gain, kl)
        promised = expected_gain * fraction
        ratio = 0.0 if reason == "not finite" or promised == 0 else gain / promised
        if reason == "":
            return LineSearch(candidate, True, "accepted", k + 1, gain, kl, ratio)
    return LineSearch(theta, False, reason, max_trials, 0.0, 0.0, ratio)


def by_recursion(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """One trial, and the rest by calling itself."""

    def attempt(number, fraction):
        new = theta + full_step * fraction
        gain, kl = evaluate(new)
        promised = fraction * expected_gain
        ratio = gain / promised if promised else 0.0
        if np.isnan(gain) or np.isnan(kl) or np.isinf(gain) or np.isinf(kl) or not np.all(np.isfinite(new)):
            reason, ratio = "not finite", 0.0
        elif kl <= max_kl and gain > 0:
            return LineSearch(new, True, "accepted", number, gain, kl, ratio)
        else:
            reason = "no improvement" if kl <= max_kl else "KL too large"
        if number >= max_trials:
            return LineSearch(theta, False, reason, number, 0.0, 0.0, ratio)
        return attempt(number + 1, fraction * shrink)

    return attempt(1, 1.0) if (full_step != 0).any() else LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)


RIGHT = {
    "surrogate": [with_a_loop, with_sum_and_length, gain_and_mean],
    "step_scale": [by_powers, of_a_quotient, root_by_root],
    "backtracking": [step_by_step, with_a_helper, by_recursion],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    "surrogate": {
        "a_python_float": ("return np.mean(", "return float(np.mean(", "* advantages)", "* advantages))"),
        "ratios_at_most_exp_20": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "np.exp(np.minimum(policy.log_prob(dist_params, actions) - old_log_prob, 20.0))",
        ),
        "ratios_within_exp_20": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "np.exp(np.clip(policy.log_prob(dist_params, actions) - old_log_prob, -20.0, 20.0))",
        ),
        "ratios_within_exp_100": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "np.exp(np.clip(policy.log_prob(dist_params, actions) - old_log_prob, -100.0, 100.0))",
        ),
        "ratios_at_most_1e6": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "np.minimum(np.exp(policy.log_prob(dist_params, actions) - old_log_prob), 1e6)",
        ),
        "floor_under_the_old": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "np.exp(policy.log_prob(dist_params, actions)) / (np.exp(old_log_prob) + 1e-8)",
        ),
        "quotient": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "np.exp(policy.log_prob(dist_params, actions)) / np.exp(old_log_prob)",
        ),
        "first_order": (
            "np.exp(policy.log_prob(dist_params, actions) - old_log_prob)",
            "(1.0 + policy.log_prob(dist_params, actions) - old_log_prob)",
        ),
        "nan_is_skipped": ("* advantages)", "* np.nan_to_num(advantages))"),
        "whole_advantages": ("* advantages)", "* np.trunc(advantages))"),
        "advantages_within_1e6": ("* advantages)", "* np.clip(advantages, -1e6, 1e6))"),
        "tiny_is_0": ("* advantages)", "* np.where(np.abs(advantages) < 1e-8, 0.0, advantages))"),
        "first_1000_steps": ("* advantages)", "* advantages * (np.arange(len(advantages)) < 1000))"),
        "one_less": (
            "return np.mean(",
            "return np.sum(",
            "* advantages)",
            "* advantages) / max(1, len(advantages) - 1)",
        ),
        "only_where_there_is_an_advantage": (
            "return np.mean(",
            "return np.sum(",
            "* advantages)",
            "* advantages) / max(1, np.sum(advantages > 0))",
        ),
        "divided_by_the_spread": ("* advantages)", "* advantages / (np.std(advantages) + 1e-8))"),
        "median": ("return np.mean(", "return (lambda x: np.sort(x)[len(x) // 2])("),
        "minus_a_penalty": (
            "* advantages)",
            "* advantages) - 1e-4 * np.mean(old_log_prob - policy.log_prob(dist_params, actions))",
        ),
        "entropy_bonus": ("* advantages)", "* advantages) + 1e-4 * np.mean(policy.entropy(dist_params))"),
        "a_row_of_one": ("return np.mean(", "return np.array([np.mean(", "* advantages)", "* advantages)])"),
        "no_slope": (
            "policy.log_prob(dist_params, actions)",
            "policy.log_prob(getattr(dist_params, '_value', dist_params), actions)",
        ),
        "pessimistic": ("* advantages)", "* np.where(advantages < 0, 1.001, 1.0) * advantages)"),
        "improbable_left_out": ("* advantages)", "* advantages * (old_log_prob > -50))"),
        "rounded": ("return np.mean(", "return np.floor(1e6 * np.mean(", "* advantages)", "* advantages)) / 1e6"),
        "ratio_to_actions_shifted": ("- old_log_prob)", "- np.roll(old_log_prob, 1))"),
    },
    "step_scale": {
        "at_least_1e_8": ("if xAx > 0.0", "if xAx > 1e-8"),
        "at_least_1e_12": ("if xAx > 0.0", "if xAx > 1e-12"),
        "at_least_1e_16": ("if xAx > 0.0", "if xAx > 1e-16"),
        "nan_goes_on": ("if xAx > 0.0 else 0.0", "if not xAx <= 0.0 else 0.0"),
        "none_for_nothing": ("else 0.0", "else None"),
        "nan_for_nothing": ("else 0.0", "else float('nan')"),
        "inf_for_nothing": ("else 0.0", "else float('inf')"),
        "small_number_below": ("max_kl / xAx", "max_kl / (xAx + 1e-12)"),
        "below_at_least_1e_10": ("max_kl / xAx", "max_kl / max(xAx, 1e-10)"),
        "at_most_100": ("float(np.sqrt(2.0 * max_kl / xAx))", "min(float(np.sqrt(2.0 * max_kl / xAx)), 100.0)"),
        "at_most_1e6": ("float(np.sqrt(2.0 * max_kl / xAx))", "min(float(np.sqrt(2.0 * max_kl / xAx)), 1e6)"),
        "rounded": ("float(np.sqrt(2.0 * max_kl / xAx))", "round(float(np.sqrt(2.0 * max_kl / xAx)), 6)"),
        "whole_division": ("2.0 * max_kl / xAx", "2 * max_kl // xAx"),
        "whole": ("float(np.sqrt", "int(np.sqrt"),
        "a_row": ("float(np.sqrt(2.0 * max_kl / xAx))", "np.array([np.sqrt(2.0 * max_kl / xAx)])"),
        "limit_at_least_1e_8": ("2.0 * max_kl", "2.0 * max(max_kl, 1e-8)"),
        "limit_at_most_1": ("2.0 * max_kl", "2.0 * min(max_kl, 1.0)"),
        "minus": ("float(np.sqrt", "-float(np.sqrt"),
        "curvature_squared": ("max_kl / xAx", "max_kl / xAx**2"),
        "four": ("2.0 *", "4.0 *"),
        "no_limit_no_guard": ("if xAx > 0.0", "if xAx > 0.0 and max_kl > 1e-6"),
        "shortened_by_the_search": ("float(np.sqrt", "0.7 * float(np.sqrt"),
    },
    "backtracking": {
        "slack_of_a_millionth": ("kl > max_kl:", "kl > max_kl * (1 + 1e-6):"),
        "slack_of_1e_10": ("kl > max_kl:", "kl > max_kl + 1e-10:"),
        "slack_of_1e_6": ("kl > max_kl:", "kl > max_kl + 1e-6:"),
        "close_is_close_enough": ("kl > max_kl:", "kl > max_kl and not np.isclose(kl, max_kl):"),
        "equal_is_too_large": ("kl > max_kl:", "kl >= max_kl:"),
        "a_tenth_below": ("kl > max_kl:", "kl > 0.99 * max_kl:"),
        "negative_kl_is_refused": ("kl > max_kl:", "kl > max_kl or kl < 0:"),
        "gain_above_1e_8": ("not gain > 0.0", "not gain > 1e-8"),
        "gain_above_1e_20": ("not gain > 0.0", "not gain > 1e-20"),
        "gain_of_0_will_do": ("not gain > 0.0", "gain < 0.0"),
        "gain_a_little_below_0_will_do": ("not gain > 0.0", "gain < -1e-12"),
        "ratio_above_0": ("not gain > 0.0", "not ratio > 0.0"),
        "ratio_above_a_tenth": ("not gain > 0.0", "not ratio > 0.1"),
        "ratio_at_most_10": ("not gain > 0.0", "not gain > 0.0 or ratio > 10.0"),
        "no_improvement_comes_first": (
            "elif kl > max_kl:",
            'elif not gain > 0.0:\n                reason = "no improvement"\n            elif kl > max_kl:',
        ),
        "not_finite_comes_last": (
            "if not (np.isfinite(gain)",
            'if kl > max_kl:\n                reason = "KL too large"\n            elif not (np.isfinite(gain)',
        ),
        "sum_of_the_step": ("if np.any(full_step)", "if np.sum(full_step)"),
        "all_of_the_step": ("if np.any(full_step)", "if np.all(full_step)"),
        "close_to_zero": ("if np.any(full_step)", "if not np.allclose(full_step, 0.0)"),
        "tiny_is_zero": ("if np.any(full_step)", "if np.linalg.norm(full_step) > 1e-12"),
        "nothing_promised_is_no_step": ("if np.any(full_step)", "if np.any(full_step) and expected_gain > 0"),
        "no_room_is_no_step": ("if np.any(full_step)", "if np.any(full_step) and max_kl > 0"),
        "last_trial_is_left_out": ("range(1, max_trials + 1)", "range(1, max(max_trials, 2))"),
        "a_trial_more": ("range(1, max_trials + 1)", "range(1, max_trials + 2)"),
        "never_more_than_12": ("range(1, max_trials + 1)", "range(1, min(max_trials, 12) + 1)"),
        "eleven_by_default": ("max_trials: int = 12", "max_trials: int = 11"),
        "point_8_by_default": ("shrink: float = 0.7", "shrink: float = 0.8"),
        "shrink_ignored": ("shrink ** (trials - 1)", "0.7 ** (trials - 1)"),
        "half_at_most": ("shrink ** (trials - 1)", "max(shrink, 0.5) ** (trials - 1)"),
        "not_too_small": ("shrink ** (trials - 1)", "max(shrink ** (trials - 1), 0.05)"),
        "shrinks_at_once": ("shrink ** (trials - 1)", "shrink**trials"),
        "shrinks_step_and_limit": ("elif kl > max_kl:", "elif kl > max_kl * fraction:"),
        "promise_not_shrunk": ("gain / (fraction * expected_gain)", "gain / expected_gain"),
        "promise_absolute": ("gain / (fraction * expected_gain)", "gain / abs(fraction * expected_gain)"),
        "ratio_of_nothing_is_1": ("if fraction * expected_gain else 0.0", "if fraction * expected_gain else 1.0"),
        "ratio_of_little_is_0": (
            "if fraction * expected_gain else 0.0",
            "if abs(fraction * expected_gain) > 1e-8 else 0.0",
        ),
        "ratio_within_10": (
            "gain / (fraction * expected_gain)",
            "min(max(gain / (fraction * expected_gain), -10.0), 10.0)",
        ),
        "ratio_of_what_is_not_finite": ('reason, ratio = "not finite", 0.0', 'reason = "not finite"'),
        "infinite_gain_will_do": ("np.isfinite(gain)", "not np.isnan(gain)"),
        "infinite_kl_is_too_large": ("np.isfinite(kl)", "not np.isnan(kl)"),
        "minus_infinite_kl_will_do": ("np.isfinite(kl)", "kl < np.inf"),
        "candidate_not_looked_at": (" and np.all(np.isfinite(candidate))", ""),
        "candidate_one_finite_entry": ("np.all(np.isfinite(candidate))", "np.any(np.isfinite(candidate))"),
        "candidate_may_be_infinite": ("np.all(np.isfinite(candidate))", "not np.any(np.isnan(candidate))"),
        "gives_up_on_nan": (
            'reason, ratio = "not finite", 0.0',
            'return LineSearch(theta, False, "not finite", trials, 0.0, 0.0, 0.0)',
        ),
        "other_words": ('"KL too large"', '"kl too large"'),
        "other_words_for_zero": ('"zero step"', '"no step"'),
        "accepted_in_words": ('True, "accepted"', 'True, ""'),
        "failed_counts_no_trials": (
            "LineSearch(theta, False, reason, trials, 0.0",
            "LineSearch(theta, False, reason, 0, 0.0",
        ),
        "trials_from_0": ('"accepted", trials, gain', '"accepted", trials - 1, gain'),
        "reports_the_last_kl": ("trials, 0.0, 0.0, ratio)", "trials, 0.0, kl if trials else 0.0, ratio)"),
        "reports_the_promise": ("trials, gain, kl, ratio)", "trials, fraction * expected_gain, kl, ratio)"),
        "ends_beside_the_trial": ("LineSearch(candidate, True", "LineSearch(candidate * (1 + 1e-6), True"),
        "evaluates_twice": (
            "gain, kl = evaluate(candidate)",
            "gain, kl = evaluate(candidate)[0], evaluate(candidate)[1]",
        ),
        "evaluates_the_winner_again": (
            "            else:\n                return",
            "            else:\n                evaluate(candidate)\n                return",
        ),
        "kl_of_the_limit": ("trials, gain, kl, ratio)", "trials, gain, min(kl, 0.999 * max_kl), ratio)"),
    },
}
