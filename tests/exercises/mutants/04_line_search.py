"""Lecture 04: right answers in other styles, and wrong ones, most of them as edits of the package."""

import autograd.numpy as np

from minitrpo.line_search import LineSearch


def ratio(policy, dist_params, old_log_prob, actions):
    return np.exp(policy.log_prob(dist_params, actions) - old_log_prob)


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

EDITS = {
    "surrogate": r"""
        clipped: r = np.exp(policy.log_prob(dist_params, actions) - old_log_prob)\n    return np.mean(np.minimum(r * \
            advantages, np.clip(r, 0.8, 1.2) * advantages))
        a_python_float: return np.mean( => return float(np.mean( && * advantages) => * advantages))
        ratios_at_most_exp_20: policy.log_prob(dist_params, actions) - old_log_prob => \
            np.minimum(policy.log_prob(dist_params, actions) - old_log_prob, 20.0)
        ratios_within_exp_20: policy.log_prob(dist_params, actions) - old_log_prob => \
            np.clip(policy.log_prob(dist_params, actions) - old_log_prob, -20.0, 20.0)
        ratios_within_exp_100: policy.log_prob(dist_params, actions) - old_log_prob => \
            np.clip(policy.log_prob(dist_params, actions) - old_log_prob, -100.0, 100.0)
        ratios_at_most_1e6: np.exp(policy.log_prob(dist_params, actions) - old_log_prob) => \
            np.minimum(np.exp(policy.log_prob(dist_params, actions) - old_log_prob), 1e6)
        floor_under_the_old: , actions) - old_log_prob) => , actions)) / (np.exp(old_log_prob) + 1e-8)
        nan_is_skipped: * advantages) => * np.nan_to_num(advantages))
        whole_advantages: * advantages) => * np.trunc(advantages))
        advantages_within_1e6: * advantages) => * np.clip(advantages, -1e6, 1e6))
        tiny_is_0: * advantages) => * np.where(np.abs(advantages) < 1e-8, 0.0, advantages))
        first_1000_steps: * advantages) => * advantages * (np.arange(len(advantages)) < 1000))
        only_where_there_is_an_advantage: np.mean( => np.sum( && * advantages) => * advantages) / max(1, \
            np.sum(advantages > 0))
        minus_a_penalty: * advantages) => * advantages) - 1e-4 * np.mean(old_log_prob - policy.log_prob(dist_params, \
            actions))
        entropy_bonus: * advantages) => * advantages) + 1e-4 * np.mean(policy.entropy(dist_params))
        a_row_of_one: return np.mean( => return np.array([np.mean( && * advantages) => * advantages)])
        no_slope: (dist_params, actions) => (getattr(dist_params, '_value', dist_params), actions)
        pessimistic: * advantages) => * np.where(advantages < 0, 1.001, 1.0) * advantages)
        improbable_left_out: * advantages) => * advantages * (old_log_prob > -50))
        rounded: return np.mean( => return np.floor(1e6 * np.mean( && * advantages) => * advantages)) / 1e6
    """,
    "backtracking": r"""
        full_step_no_matter_what: candidate, True => theta + full_step, True && theta, False => theta + full_step, False
        keeps_adding_after_acceptance: , trials = => , trials, best = && , 0)\n    if => , 0, LineSearch(theta, \
            False, '', 0, 0.0, 0.0, 0.0))\n    if && = theta => = best.theta && > 0.0: => > best.gain: && \
            :\n                return LineSearch => :\n                best = LineSearch && )\n    return \
            LineSearch(theta => )\n    return best if best.accepted else LineSearch(theta
        ratio_upside_down: gain / (fraction * expected_gain) => gain * (fraction * expected_gain)
        looks_at_the_gain_only: (np.isfinite(gain) and np.isfinite(kl) and np.all(np.isfinite(candidate))) => \
            np.isfinite(gain)
        reason_of_the_first_trial: = ('not => = (reason if trials > 1 else 'not && = 'KL => = reason if trials > 1 \
            else 'KL && reason = 'no => reason = reason if trials > 1 else 'no
        smallest_acceptable_step: , trials = => , trials, best = && , 0)\n    if => , 0, None)\n    if && \
            :\n                return LineSearch => :\n                best = LineSearch && )\n    return \
            LineSearch(theta => )\n    return best or LineSearch(theta
        largest_gain_of_all: , trials = => , trials, best = && , 0)\n    if => , 0, None)\n    if && \
            :\n                return LineSearch => :\n                found = LineSearch && )\n    return => \
            )\n                best = found if best is None or gain > best.gain else best\n    return best or
        shrinks_the_trial_itself: candidate = theta + fraction * full_step => candidate = fraction * (theta + full_step)
        writes_into_theta: found = right(evaluate, theta.copy(), full_step, expected_gain, max_kl, shrink, \
            max_trials)\n    theta[:] = found.theta if found.accepted else theta + shrink ** (max_trials - 1) * \
            full_step\n    return found
        a_tenth_below: kl > max_kl: => kl > 0.99 * max_kl:
        negative_kl_is_refused: kl > max_kl: => kl > max_kl or kl < 0:
        gain_above_1e_20: not gain > 0.0 => not gain > 1e-20
        ratio_above_0: not gain > 0.0 => not ratio > 0.0
        ratio_above_a_tenth: not gain > 0.0 => not ratio > 0.1
        ratio_at_most_10: not gain > 0.0 => not gain > 0.0 or ratio > 10.0
        no_improvement_comes_first: elif kl > max_kl: => elif not gain > 0.0:\n                reason = "no \
            improvement"\n            elif kl > max_kl:
        not_finite_comes_last: not ( => kl > max_kl:\n                reason = "KL too large"\n            elif not (
        sum_of_the_step: if np.any(full_step) => if np.sum(full_step)
        all_of_the_step: if np.any(full_step) => if np.all(full_step)
        close_to_zero: if np.any(full_step) => if not np.allclose(full_step, 0.0)
        tiny_is_zero: if np.any(full_step) => if np.linalg.norm(full_step) > 1e-12
        nothing_promised_is_no_step: if np.any(full_step) => if np.any(full_step) and expected_gain > 0
        no_room_is_no_step: if np.any(full_step) => if np.any(full_step) and max_kl > 0
        never_more_than_12: range(1, max_trials + 1) => range(1, min(max_trials, 12) + 1)
        eleven_by_default: 12 => 11
        point_8_by_default: 7 => 8
        shrink_ignored: shrink ** (trials - 1) => 0.7 ** (trials - 1)
        half_at_most: shrink ** (trials - 1) => max(shrink, 0.5) ** (trials - 1)
        not_too_small: shrink ** (trials - 1) => max(shrink ** (trials - 1), 0.05)
        shrinks_step_and_limit: elif kl > max_kl: => elif kl > max_kl * fraction:
        promise_absolute: gain / (fraction * expected_gain) => gain / abs(fraction * expected_gain)
        ratio_of_nothing_is_1: if fraction * expected_gain else 0.0 => if fraction * expected_gain else 1.0
        ratio_of_little_is_0: if fraction * expected_gain else 0.0 => if abs(fraction * expected_gain) > 1e-8 else 0.0
        ratio_within_10: gain / (fraction * expected_gain) => min(max(gain / (fraction * expected_gain), -10.0), 10.0)
        ratio_of_what_is_not_finite: reason, ratio = ('not finite', 0.0) => reason = 'not finite'
        infinite_gain_will_do: np.isfinite(gain) => not np.isnan(gain)
        infinite_kl_is_too_large: np.isfinite(kl) => not np.isnan(kl)
        minus_infinite_kl_will_do: np.isfinite(kl) => kl < np.inf
        candidate_may_be_infinite: np.all(np.isfinite(candidate)) => not np.any(np.isnan(candidate))
        gives_up_on_nan: reason, ratio = ('not finite' => return LineSearch(theta, False, 'not finite', trials, 0.0, 0.0
        other_words: KL => kl
        other_words_for_zero: zero => no
        accepted_in_words: accepted =>
        failed_counts_no_trials: theta, False, reason, trials, 0.0 => theta, False, reason, 0, 0.0
        trials_from_0: , trials, gain => , trials - 1, gain
        reports_the_last_kl: trials, 0.0, 0.0, ratio) => trials, 0.0, kl if trials else 0.0, ratio)
        reports_the_promise: trials, gain, kl, ratio) => trials, fraction * expected_gain, kl, ratio)
        ends_beside_the_trial: LineSearch(candidate, True => LineSearch(candidate * (1 + 1e-6), True
        evaluates_twice: gain, kl = evaluate(candidate) => gain, kl = evaluate(candidate)[0], evaluate(candidate)[1]
        evaluates_the_winner_again: :\n                return => \
            :\n                evaluate(candidate)\n                return
        kl_of_the_limit: trials, gain, kl, ratio) => trials, gain, min(kl, 0.999 * max_kl), ratio)
    """,
    "step_scale": r"""
        at_least_1e_16: if xAx > 0.0 => if xAx > 1e-16
        nan_goes_on: if xAx > 0.0 else 0.0 => if not xAx <= 0.0 else 0.0
        none_for_nothing: else 0.0 => else None
        nan_for_nothing: else 0.0 => else float('nan')
        inf_for_nothing: else 0.0 => else float('inf')
        at_most_1e6: float(np.sqrt(2.0 * max_kl / xAx)) => min(float(np.sqrt(2.0 * max_kl / xAx)), 1e6)
        rounded: float(np.sqrt(2.0 * max_kl / xAx)) => round(float(np.sqrt(2.0 * max_kl / xAx)), 6)
        whole_division: 2.0 * max_kl / xAx => 2 * max_kl // xAx
        whole: float(np.sqrt => int(np.sqrt
        a_row: float(np.sqrt(2.0 * max_kl / xAx)) => np.array([np.sqrt(2.0 * max_kl / xAx)])
        limit_at_most_1: 2.0 * max_kl => 2.0 * min(max_kl, 1.0)
        four: 2.0 * => 4.0 *
        no_limit_no_guard: if xAx > 0.0 => if xAx > 0.0 and max_kl > 1e-6
        shortened_by_the_search: float(np.sqrt => 0.7 * float(np.sqrt
    """,
}
