"""Lecture 15: right answers in other styles, and wrong ones, most of them as edits of the package."""

import math

import numpy as np


def by_sorting(lengths, ranks, draw=0.0):
    free, counter = np.zeros(ranks), 0.0
    for length in lengths:
        first = int(np.argmin(free))
        counter = max(float(free[first]), counter) + draw
        free[first] = counter + length
    return float(free.max())


def by_recursion(customers, think, service):
    def queue(count):
        if count == 0:
            return 0.0, 0.0
        here = service * (1 + before[0])
        rate = count / (think + here)
        return rate * here, rate

    before = (0.0, 0.0)
    for count in range(1, customers + 1):
        before = queue(count)
    return before[1]


def with_fractions_of_the_best(batch, reference, updates, noise_scale):
    if noise_scale == math.inf:
        return updates / batch * reference
    gets, wanted = batch / (batch + noise_scale), updates * reference / (reference + noise_scale)
    return wanted / gets


RIGHT = {"makespan": [by_sorting], "finite_source": [by_recursion], "updates_needed": [with_fractions_of_the_best]}

EDITS = {
    "makespan": r"""
        a_fair_share: return (sum(lengths) + draw * len(lengths)) / ranks
        in_rounds: return float(sum(max(lengths[i : i + ranks]) + draw for i in range(0, len(lengths), ranks)))
        the_last_drawn: return max(free) => return counter + length if len(lengths) else 0.0
        a_list_that_is_no_heap: heapq.heappop(free) => free.pop(0) && heapq.heappush(free, => free.append(
        a_counter_never_idle: = max(now, counter) + => += && counter + length => max(now, counter - draw) + length
    """,
    "finite_source": r"""
        an_open_queue: rate = customers / (think + service)\n    return min(rate, 1 / service if service else rate) / \
            (1 + min(rate * service, 1.0) * 0.1)
        one_round_too_many: customers + 1 => customers + 2
        one_too_few: customers + 1 => customers && 0.0, 0.0 => 0.0, 1 / (think + service)
    """,
    "updates_needed": r"""
        same_updates: return updates * 1.0
        steps_not_updates: return batch * right(batch, reference, updates, noise_scale)
        root_of_the_batch: return updates * math.sqrt(reference / batch)
        a_hard_limit: return updates * min(reference, max(noise_scale, 1.0)) / min(batch, max(noise_scale, 1.0))
        whole_updates: return round(right(batch, reference, updates, noise_scale))
    """,
}
