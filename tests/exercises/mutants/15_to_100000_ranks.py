"""Lecture 15: right answers in other styles, and wrong ones."""

import functools
import heapq
import math
from fractions import Fraction

import numpy as np


def makespan_array(lengths, ranks, draw=0.0):
    free, counter = np.zeros(ranks), 0.0
    for length in lengths:
        first = int(np.argmin(free))
        counter = max(float(free[first]), counter) + draw
        free[first] = counter + length
    return float(free.max())


def makespan_by_cases(lengths, ranks, draw=0.0):
    ends = [(i + 1) * draw + seconds for i, seconds in enumerate(lengths[:ranks])]
    counter, latest = ranks * draw, max(ends, default=0)
    heapq.heapify(ends)
    for seconds in lengths[ranks:]:
        counter = max(counter, ends[0]) + draw
        heapq.heapreplace(ends, counter + seconds)
        latest = max(latest, counter + seconds)
    return latest


def finite_source_reduce(customers, think, service):
    def one_more(waits, n):
        return service * (1 + n * waits / (think + waits))

    return customers / (think + functools.reduce(one_more, range(1, customers), service))


def finite_source_erlang(customers, think, service):
    """Erlang's loss formula: a server that is busy all the time but for the share in which all think."""
    if service == 0:
        return customers / think
    load, lost = think / service, 1.0
    for n in range(1, customers + 1):
        busy = n / (n + load * lost)
        lost = load * lost / (n + load * lost)
    return busy / service


def updates_needed_how_far_each_goes(batch, reference, updates, noise_scale):
    far = (lambda size: size) if noise_scale == np.inf else (lambda size: size / (size + noise_scale))
    return far(reference) / far(batch) * updates


RIGHT = {
    "makespan": r"""
        replaced: heapq.heappop(free) => free[0] && heapq.heappush(free, => heapq.heapreplace(free,
        search: heapq.heappop(free) => free.pop(free.index(min(free))) && heapq.heappush(free, counter + length) => \
            free.append(counter + length)
        defensive: for length in lengths => for length in map(float, lengths) && return max(free) => \
            return float(np.max(free))
    """,
    "finite_source": r"""
        those_who_think: queue = rate * here => queue = count - rate * think
        waiting: queue = rate * here => queue = count * here / (here + think) && return rate => return np.float64(rate)
        terse: here = service * (1 + queue) => pass && rate = count / (think + here) => \
            rate = count / (think + (here := service + service * queue))
    """,
    "updates_needed": r"""
        fractions_of_the_best: updates * (1 + noise_scale / batch) / (1 + noise_scale / reference) => \
            updates * reference / (reference + noise_scale) / (batch / (batch + noise_scale))
        terse: return updates * ((1 + noise_scale / batch) / (1 + noise_scale / reference) if noise_scale < np.inf \
            else reference / batch)
        numpy: updates * (1 + noise_scale / batch) / (1 + noise_scale / reference) => \
            np.divide(1 + np.divide(noise_scale, batch), 1 + np.divide(noise_scale, reference)) * updates
        defensive: return right(*map(float, (batch, reference, updates, noise_scale)))
        the_least: updates * (1 + noise_scale / batch) / (1 + noise_scale / reference) => (1 + noise_scale / batch) * \
            (updates / (1 + noise_scale / reference))
        fractions: updates * (1 + noise_scale / batch) / (1 + noise_scale / reference) => \
            float(Fraction(float(updates)) \
            * (1 + Fraction(noise_scale) / Fraction(batch)) / (1 + Fraction(noise_scale) / Fraction(reference)))
        nothing_to_do: if math => if batch == reference:\n        return updates\n    if math
    """,
}

WRONG = {
    "makespan": r"""
        in_rounds: return float(sum(max(lengths[i : i + ranks]) + draw for i in range(0, len(lengths), ranks)))
        the_last_drawn: max(free) => counter + length if len(lengths) else 0.0
        a_counter_never_idle: = max(now, counter) + => += && counter + length => max(now, counter - draw) + length
    """,
    "finite_source": r"""
        an_open_queue: rate = customers / (think + service)\n    return min(rate, 1 / service if service else \
            rate) / (1 + min(rate * service, 1.0) * 0.1)
        one_too_few: customers + 1 => customers && , 0.0 => , 1 / (think + service)
    """,
    "updates_needed": r"""
        same_updates: return updates * 1.0
        steps_not_updates: return batch * right(batch, reference, updates, noise_scale)
        root_of_the_batch: return updates * math.sqrt(reference / batch)
        a_hard_limit: return updates * min(reference, max(noise_scale, 1.0)) / min(batch, max(noise_scale, 1.0))
        whole_updates: return round(right(batch, reference, updates, noise_scale))
    """,
}

EQUAL = {
    "finite_source": r"""
        the_first_rate_is_not_used: (0.0, 0.0) => (0.0, 1.0)
        nobody_leaves_no_queue: range(1, => range(0,
    """
}
