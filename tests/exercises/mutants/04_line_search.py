"""Lecture 04: right answers in other styles, and wrong ones."""

import math

import autograd.numpy as np
import numpy as onp

from minitrpo.line_search import LineSearch


def surrogate_loop(policy, dist_params, old_log_prob, actions, advantages):
    log_prob = policy.log_prob(dist_params, actions)
    total = 0.0
    for i in range(len(advantages)):
        total = total + np.exp(log_prob[i] - old_log_prob[i]) * advantages[i]
    return total / len(advantages)


def surrogate_recursive(policy, dist_params, old_log_prob, actions, advantages):
    log_ratio = policy.log_prob(dist_params, actions) - old_log_prob

    def total(i, j):
        if j - i <= 32:
            return np.sum(np.exp(log_ratio[i:j]) * advantages[i:j])
        return total(i, (i + j) // 2) + total((i + j) // 2, j)

    return total(0, len(advantages)) / len(advantages)


def step_scale_try(max_kl, xAx):
    try:
        beta = math.sqrt(2 * float(max_kl) / float(xAx))
    except (ZeroDivisionError, ValueError):
        return 0.0
    return beta if xAx > 0 else 0.0


def backtracking_by_a_shrinking_step(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    step, promise, trials = full_step.copy(), float(expected_gain), 0
    reason, ratio = "zero step", 0.0
    while trials < max_trials and (step != 0).any():
        new = step + theta
        gain, kl = map(float, evaluate(new))
        trials += 1
        finite = np.isfinite(np.append(new, [gain, kl])).all()
        ratio = gain / promise if promise != 0 and finite else 0.0
        if finite and kl <= max_kl and gain > 0:
            return LineSearch(new, accepted=True, reason="accepted", trials=trials, gain=gain, kl=kl, gain_ratio=ratio)
        reason = "not finite" if not finite else "KL too large" if kl > max_kl else "no improvement"
        step, promise = step * shrink, promise * shrink
    return LineSearch(theta.copy(), False, reason, trials, 0, 0, ratio)


def backtracking_by_recursion(evaluate, theta, full_step, expected_gain, max_kl, shrink=0.7, max_trials=12):
    def attempt(number, fraction):
        new = theta + full_step * fraction
        gain, kl = evaluate(new)
        ratio = gain / (fraction * expected_gain) if fraction * expected_gain else 0.0
        if np.isnan(gain) or np.isnan(kl) or np.isinf(gain) or np.isinf(kl) or not np.all(np.isfinite(new)):
            reason, ratio = "not finite", 0.0
        elif kl <= max_kl and gain > 0:
            return LineSearch(new, True, "accepted", number, gain, kl, ratio)
        else:
            reason = "no improvement" if kl <= max_kl else "KL too large"
        if number < max_trials:
            return attempt(number + 1, fraction * shrink)
        return LineSearch(theta, False, reason, number, 0.0, 0.0, ratio)

    return attempt(1, 1.0) if (full_step != 0).any() else LineSearch(theta, False, "zero step", 0, 0.0, 0.0, 0.0)


RIGHT = {
    "surrogate": r"""
        change_and_mean: return np.mean((np.exp(policy.log_prob(dist_params, actions) - old_log_prob) - 1.0) \
            * advantages + advantages)
        batches_of_one: return sum(np.exp(policy.log_prob(dist_params[i : i + 1], actions[i : i + 1])[0] \
            - old_log_prob[i]) * advantage for i, advantage in enumerate(advantages)) / len(advantages)
        einsum: return np.einsum("n,n->", np.exp(policy.log_prob(dist_params, actions) - old_log_prob), advantages) \
            / advantages.shape[0]
        defensive: return np.sum(np.exp(policy.log_prob(dist_params, actions) - np.asarray(old_log_prob, float)) \
            * np.asarray(advantages, float)) / len(advantages)
        method: return (np.exp(policy.log_prob(dist_params, actions) - old_log_prob) * advantages).mean()
        good_and_bad: advantages) => np.maximum(advantages, 0.0)) - \
            np.mean(np.exp(policy.log_prob(dist_params, actions) - old_log_prob) * np.maximum(-advantages, 0.0))
    """,
    "step_scale": r"""
        powers: return (2 * max_kl) ** 0.5 * xAx**-0.5 if xAx > 0 else 0
        root_of_math: return math.sqrt(2.0 * max_kl / xAx) if xAx > 0 else 0.0
        how_many_unit_steps: return float(np.sqrt(max_kl / (0.5 * xAx))) if xAx > 0 else 0.0
        root_of_a_polynomial: return float(max(onp.roots([0.5 * xAx, 0.0, -max_kl]).real)) if xAx > 0 else 0.0
        where: return float(np.where(xAx > 0, np.sqrt(2 * max_kl / np.where(xAx > 0, xAx, 1.0)), 0.0))
        logarithms: return np.exp(0.5 * (np.log(2.0) + np.log(max_kl) - np.log(xAx))) if xAx > 0 else 0.0
        number_of_numpy: return np.power(2 * max_kl / xAx, 0.5) if xAx > 0 else 0
    """,
    "backtracking": r"""
        fraction_as_it_goes: fraction = shrink ** (trials - 1) => fraction = shrink * fraction if trials > 1 else 1.0
        copy_and_floats: gain, kl = evaluate(candidate) => gain, kl = map(float, evaluate(candidate)) && \
            LineSearch(theta, => LineSearch(theta.copy(),
        list_of_entries: theta + fraction * full_step => np.array([old + fraction * move for old, move in \
            zip(theta, full_step, strict=True)])
        whole_zeros: trials, 0.0, 0.0, ratio => trials, 0, 0, np.float64(ratio)
    """,
}

WRONG = {
    "surrogate": r"""
        clipped: r = np.exp(policy.log_prob(dist_params, actions) - old_log_prob)\n    return np.mean(np.minimum(r * \
            advantages, np.clip(r, 0.8, 1.2) * advantages))
        a_python_float: return np.mean( => return float(np.mean( && * advantages) => * advantages))
        ratios_at_most_exp_20: policy.log_prob(dist_params, actions) - old_log_prob => \
            np.minimum(policy.log_prob(dist_params, actions) - old_log_prob, 20.0)
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
        ratio_above_0: not gain > 0.0 => not ratio > 0.0
        ratio_at_most_10: not gain > 0.0 => not gain > 0.0 or ratio > 10.0
        no_improvement_comes_first: elif kl > max_kl: => elif not gain > 0.0:\n                reason = "no \
            improvement"\n            elif kl > max_kl:
        not_finite_comes_last: not ( => kl > max_kl:\n                reason = "KL too large"\n            elif not (
        sum_of_the_step: if np.any(full_step) => if np.sum(full_step)
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
