"""Lecture 10: right answers in other styles, and wrong ones, most of them as edits of the package."""

import functools
import heapq
import math
from collections import deque

import numpy as np
import scipy.signal
import scipy.special


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


def pooled_gradient_defensive(sums, about):
    """Defensive: floats, shapes, somebody must have a step."""
    sums, about = np.asarray(sums, float), np.asarray(about, float)
    assert sums.ndim == 2
    assert sums.shape[1] % 2 == 0
    assert about.shape == (sums.shape[0], 5)
    assert (about[:, 0] >= 0).all()
    n = float(np.sum(about[:, 0]))
    assert n > 0, "no steps at all"
    baseline = float(np.sum(about[:, 1])) / n
    half = sums.shape[1] // 2
    total = np.sum(sums, axis=0)
    return (total[:half] - baseline * total[half:]) / n


def pooled_gradient_terse(sums, about):
    """Terse: one expression."""
    return ((t := sums.sum(0).reshape(2, -1))[0] - (a := about.sum(0))[1] / a[0] * t[1]) / a[0]


def pooled_gradient_late(sums, about):
    """Another order: the baseline off each worker's row first, then the sum; everything by n only at the end."""
    P = sums.shape[1] // 2
    n = about[:, 0].sum()
    b = about[:, 1].sum() / n
    return np.sum(sums[:, :P] - b * sums[:, P:], axis=0) / n


def pooled_gradient_ones(sums, about):
    """A row of ones times the matrices; the two halves by a matrix product with (1, -b)."""
    ones = np.ones(len(sums))
    n, w = ones @ about[:, :2]
    return np.array([1, -w / n]) @ (ones @ sums).reshape(2, -1) / n


def pooled_gradient_fsum(sums, about):
    """math.fsum for each column: sums without rounding."""
    columns = [math.fsum(column) for column in sums.T]
    n, w = math.fsum(about[:, 0]), math.fsum(about[:, 1])
    P = len(columns) // 2
    return np.array([(u - w * v / n) / n for u, v in zip(columns[:P], columns[P:], strict=False)])


def delayed_descent_lfilter(rate, delay, updates):
    """Library: scipy's linear filter with the past as its initial state, cut behind the first x that is too large."""
    a = np.zeros(delay + 2)
    a[0] = 1.0
    a[1] -= 1.0
    a[delay + 1] += rate
    state = scipy.signal.lfiltic([1.0], a, np.ones(delay + 1))
    with np.errstate(over="ignore", invalid="ignore"):
        later, _ = scipy.signal.lfilter([1.0], a, np.zeros(updates), zi=state)
    x = np.concatenate([[1.0], later])
    beyond = np.flatnonzero(np.abs(x) > 1e100)
    return x[: beyond[0] + 1] if len(beyond) else x


def delayed_descent_terse(rate, delay, updates):
    """Terse: a walrus in the condition."""
    x = [1.0] * (delay + 1)
    while len(x) <= delay + updates and abs(x[-1]) <= 1e100:
        x += [x[-1] - rate * x[~delay]]
    return np.array(x[delay:], float)


def delayed_descent_blocks(rate, delay, updates):
    """Another order of sums: delay + 1 updates at once, as their gradients are all known: a running sum."""
    blocks, last, count = [np.ones(1)], np.ones(delay + 1), 1
    while count < updates + 1:
        last = last[-1] - np.cumsum(rate * last)
        blocks.append(last)
        count += len(last)
        if np.any(np.abs(last) > 1e100):
            break
    x = np.concatenate(blocks)[: updates + 1]
    large = np.abs(x) > 1e100
    return x[: np.argmax(large) + 1] if large.any() else x


def delayed_descent_careless(rate, delay, updates):
    """Without much care: whole numbers stay whole numbers until the end, where they become floats."""
    x = [1] * delay + [1]
    for k in range(updates):
        new = x[k + delay] - rate * x[k]
        x.append(new)
        if new > 1e100 or new < -1e100:
            break
    return np.array(x[delay:], dtype=float)


def delayed_descent_ring(rate, delay, updates):
    """A ring buffer: the place of the oldest is where the newest goes."""
    ring, x, at = np.ones(delay + 1), np.empty(updates + 1), 0
    x[0] = current = 1.0
    for k in range(1, updates + 1):
        current -= rate * ring[at]
        ring[at] = current
        at = (at + 1) % (delay + 1)
        x[k] = current
        if current * current > 1e200:
            x = x[: k + 1]
            break
    return x


def stability_bound_plain(delay: int) -> float:
    """Plain: in degrees, as in the text."""
    phi = 90 / (delay + 0.5)
    return 2 * math.sin(math.radians(phi / 2))


def stability_bound_numpy(delay):
    """Numpy, in radians; an np.float64 comes back."""
    phi = np.pi / (2 * delay + 1)
    return 2 * np.sin(phi / 2)


def stability_bound_sindg(delay):
    """Library: scipy's sine of degrees, exact at 90 and 30."""
    return 2 * scipy.special.sindg(90 / (2 * delay + 1))


def stability_bound_defensive(delay):
    """Defensive: an int that is not negative; a Python float; between 0 and 2."""
    delay = int(delay)
    assert delay >= 0
    bound = float(2.0 * math.sin(math.pi / (4.0 * delay + 2.0)))
    assert 0.0 < bound <= 2.0
    return bound


def stability_bound_product(delay):
    """rate = z^delay (1 - z), its real part, by powers of a complex number."""

    def power(z, k):
        return 1 if k == 0 else power(z * z, k // 2) * (z if k % 2 else 1)

    phi = np.deg2rad(90) / (delay + 1 / 2)
    z = complex(math.cos(phi), math.sin(phi))
    return (power(z, delay) * (1 - z)).real


def may_go_on_heapq(clocks, worker, max_lead):
    """Library: the smallest by heapq, in Python's ints, which do not overflow."""
    (slowest,) = heapq.nsmallest(1, map(int, clocks))
    return int(clocks[worker]) <= slowest + int(max_lead)


def may_go_on_defensive(clocks, worker, max_lead):
    """Defensive: ints, a worker that exists."""
    clocks = np.asarray(clocks, dtype=np.int64)
    assert clocks.ndim == 1
    assert 0 <= worker < len(clocks)
    assert max_lead >= 0
    ahead = int(clocks[worker]) - int(np.min(clocks))
    assert ahead >= 0
    return bool(ahead <= max_lead)


def may_go_on_generator(clocks, worker, max_lead):
    """A generator of the others that are still there; those who have left stop nobody."""
    GONE = 2**62
    mine = clocks[worker]
    present = (clock for clock in clocks.tolist() if clock != GONE)
    return all(mine - clock <= max_lead for clock in present)


def may_go_on_others(clocks, worker, max_lead):
    """Without much care: the smallest of all the others; who is the slowest, or alone, goes on."""
    others = [int(clock) for k, clock in enumerate(clocks) if k != worker]
    return not others or int(clocks[worker]) - min(others) <= max_lead


def may_go_on_reduce(clocks, worker, max_lead):
    """Another order: compares with the limit, the slowest plus the lead, by functools.reduce."""
    limit = functools.reduce(min, (int(clock) + max_lead for clock in clocks))
    return clocks[worker].item() <= limit


RIGHT = {
    "pooled_gradient": [
        step_by_step,
        weighted_means,
        with_einsum,
        pooled_gradient_defensive,
        pooled_gradient_terse,
        pooled_gradient_late,
        pooled_gradient_ones,
        pooled_gradient_fsum,
    ],
    "delayed_descent": [
        with_an_array,
        with_a_queue,
        with_a_matrix,
        delayed_descent_lfilter,
        delayed_descent_blocks,
        delayed_descent_terse,
        delayed_descent_careless,
        delayed_descent_ring,
    ],
    "stability_bound": [
        as_a_cosine,
        as_a_length,
        in_degrees,
        stability_bound_plain,
        stability_bound_sindg,
        stability_bound_product,
        stability_bound_numpy,
        stability_bound_defensive,
    ],
    "may_go_on": [
        everybody_is_asked,
        nobody_is_too_far_behind,
        sorted_first,
        may_go_on_heapq,
        may_go_on_defensive,
        may_go_on_generator,
        may_go_on_others,
        may_go_on_reduce,
    ],
}

EDITS = {
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

ODD = {
    "pooled_gradient": r"""
        whole_numbers: return np.asarray( => result = np.zeros_like(sums[0, : len(u)])\n    result[:] = (u - total / \
            n * v) / n\n    return result\n    return np.asarray(
    """
}
