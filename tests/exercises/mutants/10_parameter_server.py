"""Wrong answers to the exercises of lecture 10, and right ones written in another style."""

from collections import deque

import numpy as np


def named(name, function):
    function.__name__ = name
    return function


# ---- pooled_gradient


def rows(combine):
    """A row per worker: combine(u, v, n, w), the last two as columns."""

    def pooled_gradient(sums, about):
        u, v = np.split(sums, 2, axis=1)
        n, w = about[:, :1], about[:, 1:2]
        with np.errstate(all="ignore"):
            return combine(u, v, n, w)

    return pooled_gradient


def whole_numbers(sums, about):
    """An array made like the sums cannot hold what comes of integer sums."""
    u, v = np.split(sums.sum(axis=0), 2)
    result = np.zeros_like(u)
    n, w = about.sum(axis=0)[:2]
    result[:] = (u - w / n * v) / n
    return result


def skips_small_shares(sums, about):
    """Workers of one step are taken for empty."""
    busy = about[:, 0] > 1 if (about[:, 0] > 1).any() else about[:, 0] > 0
    u, v = np.split(sums[busy].sum(axis=0), 2)
    n, w = about[busy].sum(axis=0)[:2]
    return (u - w / n * v) / n


def writes_into_the_sums(sums, about):
    u, v = np.split(sums, 2, axis=1)
    n, w = about.sum(axis=0)[:2]
    u -= w / n * v
    return u.sum(axis=0) / n


def hides_zeros(sums, about):
    """A small number under the division, against workers without steps."""
    u, v = np.split(sums.sum(axis=0), 2)
    n, w = about.sum(axis=0)[:2]
    return (u - w / (n + 1e-3) * v) / (n + 1e-3)


def divides_by_the_spread(sums, about):
    """Advantages are often standardised; nobody asked for it."""
    u, v = np.split(sums.sum(axis=0), 2)
    n, w, w2 = about.sum(axis=0)[:3]
    return (u - w / n * v) / n / (np.sqrt(abs(w2 / n - (w / n) ** 2)) + 1e-8)


# ---- delayed_descent


def whole_numbers_only(rate, delay, updates):
    """np.full(n, 1) holds integers."""
    x = np.full(delay + updates + 1, 1)
    for k in range(delay, delay + updates):
        x[k + 1] = np.clip(x[k] - rate * x[k - delay], -1e18, 1e18)
    return x[delay:]


def wraps_around(rate, delay, updates):
    """x[k - delay] with a negative index: the last entries of an array of ones, which is right, until they are set."""
    x = np.ones(max(updates, delay) + 1)
    for k in range(updates):
        x[k + 1] = x[k] - rate * x[k - delay if k >= delay else 0] * (k >= delay)
        if abs(x[k + 1]) > 1e100:
            return x[: k + 2]
    return x[: updates + 1]


def as_many_numbers_as_asked(rate, delay, updates):
    """Goes on at inf and nan after breaking off would be due."""
    x = [1.0] * (delay + 1)
    with np.errstate(all="ignore"):
        for _ in range(updates):
            x.append(np.float64(x[-1]) - rate * np.float64(x[-1 - delay]))
    return np.array(x[delay:])


# ---- stability_bound


def found_coarsely(delay):
    """By trying, to a hundredth."""
    rate = 0.0
    while rate < 2 and np.abs(np.roots(characteristic(rate + 0.01, min(delay, 60)))).max() <= 1 + 1e-9:
        rate += 0.01
    return rate


def characteristic(rate, delay):
    p = np.zeros(delay + 2)
    p[0] += 1.0
    p[1] -= 1.0
    p[-1] += rate
    return p


def from_a_table(delay):
    table = [2.0, 1.0, 2 * np.sin(np.pi / 10), 2 * np.sin(np.pi / 14), 2 * np.sin(np.pi / 18)]
    return float(table[delay]) if delay < 5 else np.pi / (2 * delay + 1)


# ---- may_go_on


def of_a_neighbour(clocks, worker, max_lead):
    return bool(clocks[worker] - clocks[worker - 1] <= max_lead)


# ---- right answers in another style


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


WRONG = {
    "pooled_gradient": [
        named("mean_of_means", rows(lambda u, v, n, w: np.nanmean((u - w / n * v) / n, axis=0))),
        named("own_baselines", rows(lambda u, v, n, w: np.nansum(u - w / n * v, axis=0) / n.sum())),
        named("mean_of_baselines", rows(lambda u, v, n, w: np.sum(u - np.nanmean(w / n) * v, axis=0) / n.sum())),
        named("weighted_twice", rows(lambda u, v, n, w: np.sum(n * (u - w.sum() / n.sum() * v), axis=0) / n.sum())),
        named(
            "an_empty_worker_spoils_it",
            rows(lambda u, v, n, w: np.sum(n * ((u - w.sum() / n.sum() * v) / n), axis=0) / n.sum()),
        ),
        whole_numbers,
        skips_small_shares,
        writes_into_the_sums,
        hides_zeros,
        divides_by_the_spread,
    ],
    "delayed_descent": [whole_numbers_only, wraps_around, as_many_numbers_as_asked],
    "stability_bound": [found_coarsely, from_a_table],
    "may_go_on": [of_a_neighbour],
}

EDITS = {
    "pooled_gradient": {
        "mean_of_rows": ("ordered_sum(sums)", "np.mean(sums, axis=0)"),
        "mean_of_rows_and_of_numbers": (
            "ordered_sum(sums)",
            "sums.mean(axis=0)",
            "ordered_sum(about)",
            "(about.mean(axis=0) * len(about))",
        ),
        "without_a_baseline": ("(u - total / n * v) / n", "u / n"),
        "adds_the_baseline": ("(u - total / n * v) / n", "(u + total / n * v) / n"),
        "the_sum_as_baseline": ("(u - total / n * v) / n", "(u - total * v) / n"),
        "not_divided": ("(u - total / n * v) / n", "u - total / n * v"),
        "divides_half_of_it": ("(u - total / n * v) / n", "u - total / n * v / n"),
        "baseline_without_scores": ("(u - total / n * v) / n", "(u - total / n) / n"),
        "changed_places": ("u, v = np", "v, u = np"),
        "one_less": ("(u - total / n * v) / n", "(u - total / n * v) / max(n - 1, 1)"),
        "by_the_workers": ("(u - total / n * v) / n", "(u - total / n * v) / len(about)"),
        "by_workers_and_steps": ("(u - total / n * v) / n", "(u - total / n * v) / n / len(about)"),
        "the_other_columns": ("[:2]", "[::3][:2]"),
        "downhill": ("(u - total / n * v) / n", "(total / n * v - u) / n"),
        "the_last_worker_is_lost": ("ordered_sum(sums)", "ordered_sum(sums[: max(1, len(sums) - 1)])"),
        "whole_baseline": ("(u - total / n * v) / n", "(u - total // n * v) / n"),
    },
    "delayed_descent": {
        "steps_from_the_old_x": ("x[-1] - rate * x[-1 - delay]", "x[-1 - delay] - rate * x[-1 - delay]"),
        "nothing_is_late": ("x[-1] - rate * x[-1 - delay]", "x[-1] - rate * x[-1]"),
        "one_update_younger": ("x[-1] - rate * x[-1 - delay]", "x[-1] - rate * x[-max(1, delay)]"),
        "climbs": ("x[-1] - rate * x[-1 - delay]", "x[-1] + rate * x[-1 - delay]"),
        "forgets_x_0": ("x[delay:]", "x[delay + 1 :]"),
        "keeps_the_ones": ("x[delay:]", "x"),
        "one_too_many": ("range(updates)", "range(updates + 1)"),
        "one_too_few": ("range(updates)", "range(max(0, updates - 1))"),
        "breaks_off_at_the_border": ("> 1e100", ">= 1e100"),
        "breaks_off_early": ("> 1e100", "> 1e10"),
        "breaks_off_upwards_only": ("abs(x[-1])", "x[-1]"),
        "drops_the_last": ("            break", "            x.pop()\n            break"),
        "momentum": (
            "x[-1] - rate * x[-1 - delay]",
            "x[-1] - rate * x[-1 - delay] + 0.1 * (x[-1] - x[-2] if len(x) > 1 else 0)",
        ),
        "multiplies": ("x[-1] - rate * x[-1 - delay]", "x[-1] * (1 - rate * x[-1 - delay])"),
        "zeros_before_the_start": ("[1.0] * (delay + 1)", "[0.0] * delay + [1.0]"),
        "tidies_up": ("np.array(x[delay:])", "np.round(x[delay:], 12)"),
        "a_list": ("np.array(x[delay:])", "x[delay:]"),
        "sizes": ("np.array(x[delay:])", "np.abs(x[delay:])"),
    },
    "stability_bound": {
        "degrees": ("2 * np.sin(phi / 2)", "2 * np.sin(90 / (2 * delay + 1))"),
        "the_whole_angle": ("2 * np.sin(phi / 2)", "2 * np.sin(np.pi / (2 * delay + 1))"),
        "without_the_two": ("2 * np.sin(phi / 2)", "np.sin(np.pi / (2 * (2 * delay + 1)))"),
        "a_share": ("2 * np.sin(phi / 2)", "2 / (delay + 1)"),
        "a_smaller_share": ("2 * np.sin(phi / 2)", "2 / (2 * delay + 1)"),
        "the_angle": ("2 * np.sin(phi / 2)", "np.pi / (2 * delay + 1)"),
        "one_longer": ("2 * np.sin(phi / 2)", "2 * np.sin(np.pi / (2 * (2 * (delay + 1) + 1)))"),
        "one_shorter": ("2 * np.sin(phi / 2)", "2 * np.sin(np.pi / (2 * (2 * max(delay - 1, 0) + 1)))"),
        "delay_plus_1": ("2 * np.sin(phi / 2)", "2 * np.sin(np.pi / (2 * (delay + 1)))"),
        "two_delay_plus_2": ("2 * np.sin(phi / 2)", "2 * np.sin(np.pi / (2 * (2 * delay + 2)))"),
        "cosine": ("2 * np.sin(phi / 2)", "2 * np.cos(np.pi / (2 * (2 * delay + 1)))"),
        "tangent": (
            "2 * np.sin(phi / 2)",
            "2 * np.tan(np.pi / (2 * (2 * delay + 1)) * (delay > 0)) + 2 * (delay == 0)",
        ),
        "rounded": ("2 * np.sin(phi / 2)", "round(2 * np.sin(np.pi / (2 * (2 * delay + 1))), 4)"),
        "whole_division": ("2 * np.sin(phi / 2)", "2 * np.sin(np.pi // (2 * (2 * delay + 1)))"),
        "a_margin_for_safety": ("2 * np.sin(phi / 2)", "0.99 * 2 * np.sin(np.pi / (2 * (2 * delay + 1)))"),
        "a_square_root": ("2 * np.sin(phi / 2)", "2 / np.sqrt(delay + 1)"),
        "never_above_one": ("2 * np.sin(phi / 2)", "min(1.0, 2 * np.sin(np.pi / (2 * (2 * delay + 1))))"),
        "never_below_a_hundredth": ("2 * np.sin(phi / 2)", "max(0.01, 2 * np.sin(np.pi / (2 * (2 * delay + 1))))"),
    },
    "may_go_on": {
        "less": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] < clocks.min() + max_lead)",
        ),
        "one_more": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] <= clocks.min() + max_lead + 1)",
        ),
        "the_fastest": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks.max() - clocks[worker] <= max_lead)",
        ),
        "the_mean": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] <= clocks.mean() + max_lead)",
        ),
        "the_median": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] <= np.median(clocks) + max_lead)",
        ),
        "the_whole_field": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks.max() - clocks.min() <= max_lead)",
        ),
        "those_still_there": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(np.ptp(clocks[clocks < 2**62]) <= max_lead)",
        ),
        "any_other": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(len(clocks) == 1 or (np.delete(clocks, worker) >= clocks[worker] - max_lead).any())",
        ),
        "both_sides": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool((np.abs(clocks - clocks[worker]) <= max_lead).all())",
        ),
        "always": ("int(clocks[worker]) <= int(clocks.min()) + max_lead", "True"),
        "wrong_way_round": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] > clocks.min() + max_lead)",
        ),
        "not_before_everybody_has_begun": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks.min() > 0 and clocks[worker] <= clocks.min() + max_lead)",
        ),
        "worker_0": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[0] <= clocks.min() + max_lead)",
        ),
        "the_number_of_the_worker": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(worker <= clocks.min() + max_lead)",
        ),
        "the_lead_itself": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "int(clocks[worker] - clocks.min())",
        ),
        "lead_per_worker": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] <= clocks.min() + max_lead * len(clocks))",
        ),
        "a_clock_of_0_has_left": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] <= np.where(clocks > 0, clocks, 2**62).min() + max_lead)",
        ),
        "barrier_is_special": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(max_lead == 0 or clocks[worker] <= clocks.min() + max_lead)",
        ),
        "sorts_in_place": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool((clocks.sort() or True) and clocks[worker] <= clocks[0] + max_lead)",
        ),
        "the_second_slowest": (
            "int(clocks[worker]) <= int(clocks.min()) + max_lead",
            "bool(clocks[worker] <= np.sort(clocks)[min(1, len(clocks) - 1)] + max_lead)",
        ),
    },
}

RIGHT = {
    "pooled_gradient": [step_by_step, weighted_means, with_einsum],
    "delayed_descent": [with_an_array, with_a_queue, with_a_matrix],
    "stability_bound": [as_a_cosine, as_a_length, in_degrees],
    "may_go_on": [everybody_is_asked, nobody_is_too_far_behind, sorted_first],
}
