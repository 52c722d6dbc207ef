"""Lecture 04: right answers in other styles, and wrong ones, most of them as edits of the package."""

import itertools
import math

import autograd.numpy as np
import numpy as onp

from minitrpo.line_search import LineSearch


def gain_and_mean(policy, dist_params, old_log_prob, actions, advantages):
    """(ratio - 1) * advantage, and what was taken off."""
    change = np.exp(policy.log_prob(dist_params, actions) - old_log_prob) - 1.0
    return np.mean(change * advantages + advantages)


def sur_loops(policy, dist_params, old_log_prob, actions, advantages):
    """A loop over the steps."""
    log_prob = policy.log_prob(dist_params, actions)
    total = 0.0
    for i in range(len(advantages)):
        total = total + np.exp(log_prob[i] - old_log_prob[i]) * advantages[i]
    return total / len(advantages)


def sur_rows(policy, dist_params, old_log_prob, actions, advantages):
    """Each step as a batch of its own; a list of terms."""
    terms = []
    for i, advantage in enumerate(advantages):
        new = policy.log_prob(dist_params[i : i + 1], actions[i : i + 1])[0]
        terms.append(np.exp(new - old_log_prob[i]) * advantage)
    return sum(terms) / len(terms)


def sur_einsum(policy, dist_params, old_log_prob, actions, advantages):
    """By np.einsum."""
    ratio = np.exp(np.subtract(policy.log_prob(dist_params, actions), old_log_prob))
    return np.einsum("n,n->", ratio, advantages) / advantages.shape[0]


def sur_defensive(policy, dist_params, old_log_prob, actions, advantages):
    """Defensive (dist_params may be what autograd follows, and stays as it is)."""
    old_log_prob = np.asarray(old_log_prob, float)
    advantages = np.asarray(advantages, float)
    assert len(dist_params.shape) == 2
    assert old_log_prob.shape == advantages.shape == (dist_params.shape[0],)
    assert len(actions) == len(advantages)
    log_prob = policy.log_prob(dist_params, actions)
    assert log_prob.shape == old_log_prob.shape
    return np.sum(np.exp(log_prob - old_log_prob) * advantages) / len(advantages)


def sur_terse(policy, dist_params, old_log_prob, actions, advantages):
    """One expression."""
    return (np.exp(policy.log_prob(dist_params, actions) - old_log_prob) * advantages).mean()


def sur_signs(policy, dist_params, old_log_prob, actions, advantages):
    """The good and the bad actions apart."""
    ratio = np.exp(policy.log_prob(dist_params, actions) - old_log_prob)
    good = np.where(advantages > 0, advantages, 0.0)
    return (np.sum(ratio * good) - np.sum(ratio * (good - advantages))) / len(advantages)


def sur_closure(policy, dist_params, old_log_prob, actions, advantages):
    """Recursive: a mean over a batch from its halves."""
    log_ratio = policy.log_prob(dist_params, actions) - old_log_prob

    def total(i, j):
        if j - i <= 32:
            return np.sum(np.exp(log_ratio[i:j]) * advantages[i:j])
        return total(i, (i + j) // 2) + total((i + j) // 2, j)

    return total(0, len(advantages)) / len(advantages)


def by_powers(max_kl, curvature):
    """The scale by powers, with early returns."""
    if not curvature > 0:
        return 0
    return (2 * max_kl) ** 0.5 * curvature**-0.5


def scale_math(max_kl, xAx):
    """Math.sqrt, a Python float."""
    return math.sqrt(2.0 * max_kl / xAx) if xAx > 0 else 0.0


def scale_unit_step(max_kl, xAx):
    """The KL of a step with beta = 1, and how many times it fits, under the root."""
    kl_of_x = 0.5 * xAx
    return float(np.sqrt(max_kl / kl_of_x)) if kl_of_x > 0 else 0.0


def scale_roots(max_kl, xAx):
    """The larger root of 1/2 xAx beta^2 - max_kl, by np.roots."""
    if not xAx > 0:
        return 0.0
    return float(max(onp.roots([0.5 * xAx, 0.0, -max_kl]).real))


def scale_where(max_kl, xAx):
    """Np.where with a harmless stand-in."""
    positive = np.greater(xAx, 0)
    return float(np.where(positive, np.sqrt(2 * max_kl / np.where(positive, xAx, 1.0)), 0.0))


def scale_try(max_kl, xAx):
    """An exception inside: math.sqrt refuses what is negative, the division zero, and nan is not itself."""
    try:
        beta = math.sqrt(2 * float(max_kl) / float(xAx))
    except (ZeroDivisionError, ValueError):
        return 0.0
    return beta if xAx > 0 else 0.0


def scale_closure(max_kl, xAx):
    """Newton's iteration for the square root (Heron), from above; it falls until rounding stops it."""
    if not xAx > 0:
        return 0.0
    mantissa, exponent = math.frexp(2 * max_kl / xAx)
    if mantissa == 0 or math.isinf(mantissa):
        return mantissa
    if exponent % 2:
        mantissa, exponent = mantissa * 2, exponent - 1

    def heron(guess):
        better = 0.5 * (guess + mantissa / guess)
        return heron(better) if better < guess else guess

    return math.ldexp(heron(2.0), exponent // 2)


def scale_careless(max_kl, xAx):
    """The result changes only if there is one."""
    beta = 0
    if xAx > 0:
        beta = np.power(2 * max_kl / xAx, 0.5)
    return beta


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


def back_loops(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """Plain loops, a list for each trial."""
    moves = False
    for entry in full_step:
        if entry != 0:
            moves = True
    if not moves:
        return LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
    alpha, reason, ratio = 1.0, "", 0.0
    for number in range(1, max_trials + 1):
        candidate = np.array([old + alpha * move for old, move in zip(theta, full_step, strict=True)])
        gain, kl = evaluate(candidate)
        finite = math.isfinite(gain) and math.isfinite(kl)
        for entry in candidate:
            if not math.isfinite(entry):
                finite = False
        ratio = 0.0
        if finite and alpha * expected_gain != 0:
            ratio = gain / (alpha * expected_gain)
        if finite and kl <= max_kl and gain > 0:
            return LineSearch(candidate, True, "accepted", number, gain, kl, ratio)
        if not finite:
            reason = "not finite"
        elif kl > max_kl:
            reason = "KL too large"
        else:
            reason = "no improvement"
        alpha = alpha * shrink
    return LineSearch(theta, False, reason, max_trials, 0.0, 0.0, ratio)


def back_itertools(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """Itertools.accumulate makes the fractions, next finds the first reason that applies."""
    if np.count_nonzero(full_step) == 0:
        return LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
    fractions = itertools.accumulate(itertools.repeat(shrink, max_trials - 1), lambda a, b: a * b, initial=1.0)
    for trials, fraction in enumerate(fractions, start=1):
        new = theta + fraction * full_step
        gain, kl = evaluate(new)
        tests = {
            "not finite": not np.isfinite(np.concatenate([[gain, kl], new])).all(),
            "KL too large": kl > max_kl,
            "no improvement": gain <= 0,
        }
        reason = next((name for name, holds in tests.items() if holds), "accepted")
        promise = fraction * expected_gain
        ratio = 0.0 if reason == "not finite" or promise == 0 else gain / promise
        if reason == "accepted":
            return LineSearch(new, True, reason, trials, gain, kl, ratio)
    return LineSearch(theta, False, reason, trials, 0.0, 0.0, ratio)


def back_defensive(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """Defensive."""
    assert theta.shape == full_step.shape
    assert max_trials >= 1, "at least 1"
    assert 0 < shrink < 1, "shorter each time"
    if (np.asarray(full_step, float) == 0).all():
        return LineSearch(theta=theta, accepted=False, reason="zero step", trials=0, gain=0.0, kl=0.0, gain_ratio=0.0)
    reason, gain_ratio = None, 0.0
    for k in range(max_trials):
        alpha = float(shrink) ** k
        trial = np.asarray(theta, float) + alpha * np.asarray(full_step, float)
        assert trial is not theta
        gain, kl = evaluate(trial)
        gain, kl = float(gain), float(kl)
        gain_ratio = 0.0
        if not (math.isfinite(gain) and math.isfinite(kl) and bool(np.isfinite(trial).all())):
            reason = "not finite"
            continue
        promise = alpha * float(expected_gain)
        if promise != 0.0:
            gain_ratio = gain / promise
        if kl > max_kl:
            reason = "KL too large"
        elif gain <= 0.0:
            reason = "no improvement"
        else:
            return LineSearch(
                theta=trial, accepted=True, reason="accepted", trials=k + 1, gain=gain, kl=kl, gain_ratio=gain_ratio
            )
    assert reason is not None
    return LineSearch(
        theta=theta, accepted=False, reason=reason, trials=max_trials, gain=0.0, kl=0.0, gain_ratio=gain_ratio
    )


def back_terse(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """Terse."""
    why, k, ratio = "zero step", 0, 0.0
    while k < max_trials and full_step.any():
        gain, kl = evaluate(new := theta + (a := shrink**k) * full_step)
        k, fine = k + 1, np.isfinite([gain, kl, *new]).all()
        ratio = gain / a / expected_gain if fine and expected_gain else 0.0
        if fine and kl <= max_kl and gain > 0:
            return LineSearch(new, True, "accepted", k, gain, kl, ratio)
        why = "not finite" if not fine else "KL too large" if kl > max_kl else "no improvement"
    return LineSearch(theta, False, why, k, 0.0, 0.0, ratio)


def back_generator(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """A lazy generator of trials, of which the caller takes what it needs."""

    def trials():
        for k in range(max_trials):
            alpha = shrink**k
            candidate = theta + alpha * full_step
            yield k + 1, alpha * expected_gain, candidate, *evaluate(candidate)

    if np.array_equal(full_step, np.zeros(len(full_step))):
        return LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)
    for number, promised, candidate, gain, kl in trials():
        if not np.isfinite([gain, kl]).all() or not np.isfinite(candidate).all():
            outcome = ("not finite", number, 0.0, 0.0, 0.0)
            continue
        ratio = gain / promised if promised != 0 else 0.0
        if kl <= max_kl and gain > 0:
            return LineSearch(candidate, True, "accepted", number, gain, kl, ratio)
        outcome = ("KL too large" if kl > max_kl else "no improvement", number, 0.0, 0.0, ratio)
    return LineSearch(theta, False, *outcome)


def back_careless(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    """For and else; whatever evaluate returns goes into the result as it is."""
    if not full_step.any():
        return LineSearch(theta, False, "zero step", 0, 0, 0, 0)
    for n in range(max_trials):
        t = theta.copy()
        t += shrink**n * full_step
        result = evaluate(t)
        ratio = 0
        if not np.all(np.isfinite(np.append(t, result))):
            why = "not finite"
            continue
        if expected_gain != 0:
            ratio = result[0] / (shrink**n * expected_gain)
        if result[1] > max_kl:
            why = "KL too large"
        elif result[0] <= 0:
            why = "no improvement"
        else:
            break
    else:
        return LineSearch(theta, False, why, n + 1, 0, 0, ratio)
    return LineSearch(t, True, "accepted", n + 1, result[0], result[1], ratio)


RIGHT = {
    "surrogate": [gain_and_mean, sur_loops, sur_rows, sur_einsum, sur_defensive, sur_terse, sur_signs, sur_closure],
    "step_scale": [
        by_powers,
        scale_math,
        scale_unit_step,
        scale_roots,
        scale_where,
        scale_try,
        scale_closure,
        scale_careless,
    ],
    "backtracking": [
        step_by_step,
        by_recursion,
        back_loops,
        back_itertools,
        back_defensive,
        back_terse,
        back_generator,
        back_careless,
    ],
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
        reason_of_the_first_trial: = ('not => = (reason if trials > 1 else 'not && = 'KL => = reason if trials > 1 \
            else 'KL && reason = 'no => reason = reason if trials > 1 else 'no
        smallest_acceptable_step: , trials = => , trials, best = && , 0)\n    if => , 0, None)\n    if && \
            :\n                return LineSearch => :\n                best = LineSearch && )\n    return \
            LineSearch(theta => )\n    return best or LineSearch(theta
        largest_gain_of_all: , trials = => , trials, best = && , 0)\n    if => , 0, None)\n    if && \
            :\n                return LineSearch => :\n                found = LineSearch && )\n    return => \
            )\n                best = found if best is None or gain > best.gain else best\n    return best or
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

ODD = {
    "surrogate": r"""
        nan_is_skipped: * advantages) => * np.nan_to_num(advantages))
    """,
    "backtracking": r"""
        promise_absolute: gain / (fraction * expected_gain) => gain / abs(fraction * expected_gain)
    """,
}
