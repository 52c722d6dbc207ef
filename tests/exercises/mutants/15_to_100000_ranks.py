"""Wrong answers to the exercises of lecture 15, and right ones written in another style."""

import heapq
import math

import numpy as np


def the_whole_sum(lengths, ranks, draw=0.0):
    """As on one rank."""
    return float(sum(lengths)) + draw * len(lengths)


def a_fair_share(lengths, ranks, draw=0.0):
    """The ideal: nobody waits for the last."""
    return (sum(lengths) + draw * len(lengths)) / ranks


def dealt_like_cards(lengths, ranks, draw=0.0):
    shares = [sum(lengths[r::ranks]) + draw * len(lengths[r::ranks]) for r in range(ranks)]
    return float(max(shares))


def in_rounds(lengths, ranks, draw=0.0):
    """All wait for each other after every episode."""
    return float(sum(max(lengths[i : i + ranks]) + draw for i in range(0, len(lengths), ranks)))


def no_queue(lengths, ranks, draw=0.0):
    free = [0.0] * ranks
    for length in lengths:
        heapq.heapreplace(free, free[0] + draw + length)
    return max(free)


def a_draw_for_nothing(lengths, ranks, draw=0.0):
    free, counter = [0.0] * ranks, 0.0
    for length in lengths:
        counter = max(free[0], counter)
        heapq.heapreplace(free, counter + length)
    return max(free)


def a_counter_per_rank(lengths, ranks, draw=0.0):
    free = [0.0] * ranks
    for length in lengths:
        free[int(np.argmin(free))] += length + draw
    return max(free)


def longest_first(lengths, ranks, draw=0.0):
    free, counter = [0.0] * ranks, 0.0
    for length in sorted(lengths, reverse=True):
        counter = max(free[0], counter) + draw
        heapq.heapreplace(free, counter + length)
    return max(free)


def the_last_drawn(lengths, ranks, draw=0.0):
    """Who draws last need not end last."""
    free, counter, end = [0.0] * ranks, 0.0, 0.0
    for length in lengths:
        counter = max(free[0], counter) + draw
        end = counter + length
        heapq.heapreplace(free, end)
    return end


def a_list_that_is_no_heap(lengths, ranks, draw=0.0):
    free, counter = [0.0] * ranks, 0.0
    for length in lengths:
        now = free.pop(0)
        counter = max(now, counter) + draw
        free.append(counter + length)
    return max(free)


def a_counter_never_idle(lengths, ranks, draw=0.0):
    free = [0.0] * ranks
    for number, length in enumerate(lengths):
        heapq.heapreplace(free, max(free[0], number * draw) + length)
    return max(free)


def by_sorting(lengths, ranks, draw=0.0):
    free, counter = np.zeros(ranks), 0.0
    for length in lengths:
        first = int(np.argmin(free))
        counter = max(float(free[first]), counter) + draw
        free[first] = counter + length
    return float(free.max())


def asymptote(customers, think, service):
    """What it cannot pass, not what it is."""
    return min(1 / service if service else math.inf, customers / (think + service))


def never_a_queue(customers, think, service):
    return customers / (think + service)


def always_full(customers, think, service):
    return customers / (think + customers * service)


def an_open_queue(customers, think, service):
    """As if customers came whatever the queue is."""
    rate = customers / (think + service)
    return min(rate, 1 / service if service else rate) / (1 + min(rate * service, 1.0) * 0.1)


def one_round_too_many(customers, think, service):
    queue, rate = 0.0, 0.0
    for count in range(1, customers + 2):
        here = service * (1 + queue)
        rate = count / (think + here)
        queue = rate * here
    return rate


def one_too_few(customers, think, service):
    queue, rate = 0.0, 1 / (think + service)
    for count in range(1, customers):
        here = service * (1 + queue)
        rate = count / (think + here)
        queue = rate * here
    return rate


def queue_of_all(customers, think, service):
    queue, rate = 0.0, 0.0
    for count in range(1, customers + 1):
        rate = count / (think + service * (1 + queue))
        queue = count
    return rate


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


def steps_alone(batch, reference, updates, noise_scale):
    return updates * reference / batch


def same_updates(batch, reference, updates, noise_scale):
    return updates * 1.0


def as_far_as_infinity(batch, reference, updates, noise_scale):
    return updates * (1 + noise_scale / batch) if noise_scale < math.inf else updates * reference / batch


def steps_not_updates(batch, reference, updates, noise_scale):
    if math.isinf(noise_scale):
        return updates * reference
    return updates * reference * (1 + noise_scale / batch) / (1 + noise_scale / reference)


def nan_without_a_signal(batch, reference, updates, noise_scale):
    return updates * (1 + noise_scale / batch) / (1 + noise_scale / reference)


def root_of_the_batch(batch, reference, updates, noise_scale):
    return updates * math.sqrt(reference / batch)


def a_hard_limit(batch, reference, updates, noise_scale):
    """Steps count up to the noise scale, and nothing beyond it."""
    return updates * min(reference, max(noise_scale, 1.0)) / min(batch, max(noise_scale, 1.0))


def whole_updates(batch, reference, updates, noise_scale):
    if math.isinf(noise_scale):
        return round(updates * reference / batch)
    return round(updates * (1 + noise_scale / batch) / (1 + noise_scale / reference))


def with_fractions_of_the_best(batch, reference, updates, noise_scale):
    if noise_scale == math.inf:
        return updates / batch * reference
    gets, wanted = batch / (batch + noise_scale), updates * reference / (reference + noise_scale)
    return wanted / gets


WRONG = {
    "makespan": [
        the_whole_sum,
        a_fair_share,
        dealt_like_cards,
        in_rounds,
        no_queue,
        a_draw_for_nothing,
        a_counter_per_rank,
        longest_first,
        the_last_drawn,
        a_list_that_is_no_heap,
        a_counter_never_idle,
    ],
    "finite_source": [
        asymptote,
        never_a_queue,
        always_full,
        an_open_queue,
        one_round_too_many,
        one_too_few,
        queue_of_all,
    ],
    "updates_needed": [
        steps_alone,
        same_updates,
        as_far_as_infinity,
        steps_not_updates,
        nan_without_a_signal,
        root_of_the_batch,
        a_hard_limit,
        whole_updates,
    ],
}
RIGHT = {"makespan": by_sorting, "finite_source": by_recursion, "updates_needed": with_fractions_of_the_best}
