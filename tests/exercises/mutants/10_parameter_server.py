"""Lecture 10: right answers in other styles, and wrong ones, most of them as edits of the package."""

from collections import deque

import numpy as np


def step_by_step(sums, about):
    """Plain loops, worker by worker."""
    size = sums.shape[1] // 2
    u, v, n, w = np.zeros(size), np.zeros(size), 0.0, 0.0
    for row, numbers in zip(sums, about, strict=True):
        u, v, n, w = u + row[:size], v + row[size:], n + numbers[0], w + numbers[1]
    return u / n - (w / n) * (v / n)


def weighted_means(sums, about):
    """Each worker's mean, counted by its share of the steps; empty workers are left out."""
    busy = about[:, 0] > 0
    n, w = about[busy, 0], about[busy, 1]
    means = (sums[busy] / n[:, None]).T @ (n / n.sum())
    return means[: len(means) // 2] - np.average(w / n, weights=n) * means[len(means) // 2 :]


def with_einsum(sums, about):
    parts = np.einsum("wkp->kp", sums.reshape(len(sums), 2, -1))
    total = about[:, 1].sum() / about[:, 0].sum()
    return np.array([1.0, -total]) @ parts / about[:, 0].sum()


def with_an_array(rate, delay, updates):
    x = np.ones(updates + 1)
    for k in range(updates):
        x[k + 1] = x[k] - rate * x[max(k - delay, 0)]
        if not -1e100 <= x[k + 1] <= 1e100:
            return x[: k + 2]
    return x


def with_a_queue(rate, delay, updates):
    old, x, path = deque([1.0] * (delay + 1), maxlen=delay + 1), 1.0, [1.0]
    while len(path) <= updates and abs(x) <= 1e100:
        x = x - rate * old[0]
        old.append(x)
        path.append(x)
    return np.asarray(path)


def with_a_matrix(rate, delay, updates):
    """The last delay + 1 numbers as a vector that a matrix moves on."""
    step = np.eye(delay + 1, k=-1)
    step[0, 0] += 1.0
    step[0, -1] -= rate
    state, path = np.ones(delay + 1), [1.0]
    for _ in range(updates):
        state = step @ state
        path.append(state[0])
        if abs(state[0]) > 1e100:
            break
    return np.array(path)


def as_a_cosine(delay):
    return 2 * np.cos(np.pi * delay / (2 * delay + 1))


def as_a_length(delay):
    z = np.exp(1j * np.pi / (2 * delay + 1))
    return abs(1 - z)


def in_degrees(delay):
    return np.float64(2) * np.sin(np.deg2rad(90.0 / (2 * delay + 1)))


def everybody_is_asked(clocks, worker, max_lead):
    return all(other >= clocks[worker] - max_lead for other in clocks)


def nobody_is_too_far_behind(clocks, worker, max_lead):
    return not np.any(clocks < clocks[worker] - max_lead)


def sorted_first(clocks, worker, max_lead):
    slowest = sorted(clocks.tolist())[0]
    return np.bool_(clocks[worker] - slowest <= max_lead)


RIGHT = {
    "pooled_gradient": [step_by_step, weighted_means, with_einsum],
    "delayed_descent": [with_an_array, with_a_queue, with_a_matrix],
    "stability_bound": [as_a_cosine, as_a_length, in_degrees],
    "may_go_on": [everybody_is_asked, nobody_is_too_far_behind, sorted_first],
}

EDITS = {
    "pooled_gradient": r"""
        an_empty_worker_spoils_it: u, v = np.split(sums, 2, axis=1)\n    n, w = about[:, :1], about[:, \
            1:2]\n    return np.sum(n * ((u - w.sum() / n.sum() * v) / n), axis=0) / n.sum()
        whole_numbers: return np.asarray( => result = np.zeros_like(sums[0, : len(u)])\n    result[:] = (u - total / \
            n * v) / n\n    return result\n    return np.asarray(
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
        one_too_few: range(updates) => range(max(0, updates - 1))
        breaks_off_at_the_border: ) > 1e => ) >= 1e
        breaks_off_early: 1e+100 => 10000000000.0
        breaks_off_upwards_only: abs(x[-1]) => x[-1]
        drops_the_last: :\n            break => :\n            x.pop()\n            break
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
        the_fastest: return bool(clocks.max() - clocks[worker] <= max_lead)
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
}
