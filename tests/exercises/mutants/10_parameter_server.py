"""Lecture 10: right answers in other styles, and wrong ones."""

import functools
import heapq
import math

import numpy as np
import scipy.signal
import scipy.special


def pooled_gradient_loop(sums, about):
    size = sums.shape[1] // 2
    u, v, n, w = np.zeros(size), np.zeros(size), 0.0, 0.0
    for row, numbers in zip(sums, about, strict=True):
        u, v, n, w = u + row[:size], v + row[size:], n + numbers[0], w + numbers[1]
    return u / n - (w / n) * (v / n)


def pooled_gradient_weighted_means(sums, about):
    busy = about[:, 0] > 0
    n, w = about[busy, 0], about[busy, 1]
    means = (sums[busy] / n[:, None]).T @ (n / n.sum())
    return means[: len(means) // 2] - np.average(w / n, weights=n) * means[len(means) // 2 :]


def delayed_descent_matrix(rate, delay, updates):
    """The last delay + 1 numbers are a vector that a matrix moves on."""
    step = np.eye(delay + 1, k=-1)
    step[0, 0] += 1.0
    step[0, -1] -= rate
    state, path = np.ones(delay + 1), [1.0]
    while len(path) <= updates and abs(state[0]) <= 1e100:
        state = step @ state
        path.append(state[0])
    return np.array(path)


def delayed_descent_filter(rate, delay, updates):
    a = np.zeros(delay + 2)
    a[0] = 1.0
    a[1] -= 1.0
    a[delay + 1] += rate
    state = scipy.signal.lfiltic([1.0], a, np.ones(delay + 1))
    x = np.append(1.0, scipy.signal.lfilter([1.0], a, np.zeros(updates), zi=state)[0])
    beyond = np.flatnonzero(np.abs(x) > 1e100)
    return x[: beyond[0] + 1] if len(beyond) else x


def judged_weighted(statistics, loss, deviations, memory=0.99, trial=100):
    count, mean, variance = float(statistics[0]), float(statistics[1]), float(statistics[2])
    if not np.isfinite(loss):
        return False, statistics.copy()
    limit = mean + deviations * variance**0.5
    usual = count < trial or not loss > limit
    taken, keep = loss if usual else limit, min(count / (count + 1), memory)
    new_mean = keep * mean + (1 - keep) * taken
    new_variance = keep * variance + (1 - keep) * (taken - mean) * (taken - new_mean)
    return usual, np.array([count + 1, new_mean, new_variance])


def judged_in_place(statistics, loss, deviations, memory=0.99, trial=100):
    new, ok = statistics.copy(), True
    if np.isnan(loss) or np.isinf(loss):
        return False, new
    if new[0] >= trial:
        limit = new[1] + deviations * np.sqrt(new[2])
        ok, loss = loss <= limit, min(loss, limit)
    rate = max(1 / (new[0] + 1), 1 - memory)
    d = loss - new[1]
    new[0] += 1
    new[1] += rate * d
    new[2] = (1 - rate) * (new[2] + rate * d**2)
    return ok, new


RIGHT = {
    "pooled_gradient": r"""
        einsum: return np.array([1.0, -about[:, 1].sum() / about[:, 0].sum()]) @ np.einsum("wkp->kp", \
            sums.reshape(len(sums), 2, -1)) / about[:, 0].sum()
        defensive: u, v = np.split(ordered_sum(sums), 2) => u, v = np.split(np.asarray(sums, float).sum(axis=0), 2) && \
            ordered_sum(about)[:2] => (float(np.sum(column)) for column in about.T[:2])
        terse: return ((t := sums.sum(0).reshape(2, -1))[0] - (a := about.sum(0))[1] / a[0] * t[1]) / a[0]
        sums_at_the_end: u, v = np.split(ordered_sum(sums), 2) => u, v = np.split(sums, 2, axis=1) && \
            np.asarray((u - total / n * v) / n) => np.sum(u - total / n * v, axis=0) / n
        ones: u, v = np.split(ordered_sum(sums), 2) => u, v = np.split(np.ones(len(sums)) @ sums, 2) && \
            ordered_sum(about)[:2] => np.ones(len(sums)) @ about[:, :2]
    """,
    "delayed_descent": r"""
        whole_numbers: [1.0] => [1] && np.array(x[delay:]) => np.array(x[delay:], dtype=float)
        squares: abs(x[-1]) > 1e+100 => x[-1] * x[-1] > 1e200
    """,
    "stability_bound": r"""
        cosine: return 2 * np.cos(np.pi * delay / (2 * delay + 1))
        length: return abs(1 - np.exp(1j * np.pi / (2 * delay + 1)))
        degrees: return np.float64(2) * np.sin(np.deg2rad(90.0 / (2 * delay + 1)))
        plain: return 2 * math.sin(math.radians(90 / (delay + 0.5) / 2))
        sine_of_degrees: return 2 * scipy.special.sindg(90 / (2 * delay + 1))
        real_part: float(2 * np.sin(phi / 2)) => (np.exp(1j * phi) ** delay * (1 - np.exp(1j * phi))).real
        number_of_numpy: float(2 * np.sin(phi / 2)) => 2 * np.sin(phi / 2)
        defensive: return float(2.0 * math.sin(math.pi / (4.0 * int(delay) + 2.0)))
    """,
    "may_go_on": r"""
        everybody_is_asked: return all(other >= clocks[worker] - max_lead for other in clocks)
        nobody_is_too_far_behind: return not np.any(clocks < clocks[worker] - max_lead)
        sorted_first: return np.bool_(clocks[worker] - sorted(clocks.tolist())[0] <= max_lead)
        heap: return int(clocks[worker]) <= heapq.nsmallest(1, map(int, clocks))[0] + int(max_lead)
        defensive: return bool(int(clocks[worker]) - int(np.min(np.asarray(clocks, dtype=np.int64))) <= max_lead)
        those_who_left_stop_nobody: return all(clocks[worker] - clock <= max_lead for clock in clocks.tolist() \
            if clock != 2**62)
        others: return int(clocks[worker]) - min((int(clock) for k, clock in enumerate(clocks) if k != worker), \
            default=math.inf) <= max_lead
        limit: return clocks[worker].item() <= functools.reduce(min, (int(clock) + max_lead for clock in clocks))
    """,
    "judged": r"""
        numpy: statistics.copy() => np.array(statistics) && min(loss, largest) => np.minimum(loss, largest) && \
            rate = max( => rate = np.maximum( && (bool(loss <= largest), np.array(new)) => [loss <= largest, \
            np.array(new)]
        not_above: not np.isfinite(loss) => math.isnan(loss) or math.isinf(loss) && \
            bool(loss <= largest) => not loss > largest
        another_order: mean + rate * apart => (1.0 - rate) * mean + rate * taken && \
            variance + rate * apart * apart => variance + rate * (taken - mean) ** 2
        defensive: statistics.tolist() => map(float, np.asarray(statistics)) && count >= trial => \
            count >= trial and np.isfinite(deviations)
    """,
}

WRONG = {
    "pooled_gradient": r"""
        an_empty_worker_spoils_it: u, v = np.split(sums, 2, axis=1)\n    n, w = about[:, :1], about[:, \
            1:2]\n    return np.sum(n * ((u - w.sum() / n.sum() * v) / n), axis=0) / n.sum()
        skips_small_shares: u, v = => busy = about[:, 0] > (about[:, 0] > 1).any()\n    sums, about = sums[busy], \
            about[busy]\n    u, v =
        writes_into_the_sums: return np.asarray => sums[:, : len(u)] -= total / n * sums[:, len(u) :]\n    return \
            np.asarray
        hides_zeros: total / n * v) / n => total / (n + 1e-3) * v) / (n + 1e-3)
        the_other_columns: [:2] => [::3][:2]
        downhill: (u - total / n * v) / n => (total / n * v - u) / n
        the_last_worker_is_lost: ordered_sum(sums) => ordered_sum(sums[: max(1, len(sums) - 1)])
        whole_baseline: (u - total / n * v) / n => (u - total // n * v) / n
    """,
    "delayed_descent": r"""
        whole_numbers_only: x.append(x[-1] - rate * x[-1 - delay]) => x.append(float(int(x[-1] - rate * x[-1 - delay])))
        breaks_off_early: 1e+100 => 10000000000.0
        momentum: x[-1] - rate * x[-1 - delay] => x[-1] - rate * x[-1 - delay] + 0.1 * (x[-1] - x[-2] if len(x) > 1 \
            else 0)
        multiplies: x[-1] - rate * x[-1 - delay] => x[-1] * (1 - rate * x[-1 - delay])
        a_list: np.array(x[delay:]) => x[delay:]
        sizes: np.array(x[delay:]) => np.abs(x[delay:])
    """,
    "stability_bound": r"""
        found_coarsely: float(2 * np.sin(phi / 2)) => 0.01 * int(200 * np.sin(phi / 2))
        tangent: 2 * np.sin(phi / 2) => 2 * np.tan(np.pi / (2 * (2 * delay + 1)) * (delay > 0)) + 2 * (delay == 0)
        rounded: 2 * np.sin(phi / 2) => round(2 * np.sin(np.pi / (2 * (2 * delay + 1))), 4)
        whole_division: 2 * np.sin(phi / 2) => 2 * np.sin(np.pi // (2 * (2 * delay + 1)))
        a_margin_for_safety: 2 * np.sin(phi / 2) => 0.99 * 2 * np.sin(np.pi / (2 * (2 * delay + 1)))
        a_square_root: 2 * np.sin(phi / 2) => 2 / np.sqrt(delay + 1)
        never_above_one: 2 * np.sin(phi / 2) => min(1.0, 2 * np.sin(np.pi / (2 * (2 * delay + 1))))
        never_below_a_hundredth: 2 * np.sin(phi / 2) => max(0.01, 2 * np.sin(np.pi / (2 * (2 * delay + 1))))
    """,
    "may_go_on": r"""
        of_a_neighbour: clocks.min() => clocks[worker - 1]
        the_mean: return bool(clocks[worker] <= clocks.mean() + max_lead)
        not_before_everybody_has_begun: return bool(clocks.min() > 0 and clocks[worker] <= clocks.min() + max_lead)
        worker_0: int(clocks[worker]) <= int(clocks.min()) + max_lead => bool(clocks[0] <= clocks.min() + max_lead)
        the_number_of_the_worker: return bool(worker <= clocks.min() + max_lead)
        the_lead_itself: int(clocks[worker]) <= int(clocks.min()) + max_lead => int(clocks[worker] - clocks.min())
        lead_per_worker: return bool(clocks[worker] <= clocks.min() + max_lead * len(clocks))
        a_clock_of_0_has_left: return bool(clocks[worker] <= np.where(clocks > 0, clocks, 2**62).min() + max_lead)
        barrier_is_special: return bool(max_lead == 0 or clocks[worker] <= clocks.min() + max_lead)
        sorts_in_place: return bool((clocks.sort() or True) and clocks[worker] <= clocks[0] + max_lead)
    """,
    "judged": r"""
        memory_of_0_99: return right(statistics, loss, deviations, 0.99, trial)
        trial_of_100: return right(statistics, loss, deviations, memory)
        a_least_spread: np.sqrt(variance) => np.sqrt(max(variance, 1e-06))
        rounded: np.array(new) => np.round(new, 6)
        one_buffer_of_statistics: ]\n    return => ]\n    buffer = judged.__dict__.setdefault('buffer', \
            np.zeros(3))\n    buffer[:] = new\n    return && np.array(new)) => buffer)
        counts_but_takes_nothing_in: min(loss, largest) => loss if loss <= largest else mean
        both_sides: bool(loss <= largest) => bool(abs(loss - mean) <= largest - mean)
        lower_side_too: min(loss, largest) => max(min(loss, largest), 2 * mean - largest)
        trial_one_shorter: count >= trial => count + 1 >= trial
        judges_what_is_taken: bool(loss <= largest) => bool(taken <= largest)
        trial_decides_the_rate: max(1.0 / (count + 1.0), 1.0 - memory) => 1.0 / (count + 1.0) if count < trial else \
            1.0 - memory
        variance_from_the_loss: rate * apart * apart) => rate * (loss - mean) ** 2)
        mean_from_the_loss: mean + rate * apart => mean + rate * (loss - mean)
        a_refused_one_is_not_counted: [count + 1.0, => [count + float(loss <= largest),
        statistics_in_another_order: [count + 1.0, mean + rate * apart, => [mean + rate * apart, count + 1.0,
        in_place: ]\n    return => ]\n    statistics[:] = new\n    return
        numbers_that_are_none: if not np.isfinite(loss): => if False:
        infinity_is_taken: not np.isfinite(loss) => np.isnan(loss)
        none_is_counted: statistics.copy( => statistics + np.array([1, 0, 0]
        a_single_result: (bool(loss <= largest), np.array(new)) => np.array(new)
        a_list: np.array(new) => new
    """,
}

ODD = {
    "pooled_gradient": r"""
        whole_numbers: return np.asarray( => result = np.zeros_like(sums[0, : len(u)])\n    result[:] = (u - total / \
            n * v) / n\n    return result\n    return np.asarray(
    """,
    "judged": r"""
        the_same_array_for_nan: statistics.copy() => statistics
        absolute_loss: if not np.isfinite(loss): => loss = abs(loss)\n    if not np.isfinite(loss):
        whole_numbers: np.array(new) => np.array(new).astype(statistics.dtype)
    """,
}
