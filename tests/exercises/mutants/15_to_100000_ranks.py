"""Lecture 15: right answers in other styles, and wrong ones, most of them as edits of the package."""

import bisect
import functools
import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, logsumexp


def by_sorting(lengths, ranks, draw=0.0):
    free, counter = np.zeros(ranks), 0.0
    for length in lengths:
        first = int(np.argmin(free))
        counter = max(float(free[first]), counter) + draw
        free[first] = counter + length
    return float(free.max())


def makespan_lists(lengths, ranks, draw=0.0):
    """Plain lists: look for the rank that is free first."""
    free = []
    for _ in range(ranks):
        free.append(0.0)
    counter = 0.0
    for k in range(len(lengths)):
        who = free.index(min(free))
        start = free[who]
        if counter > start:
            start = counter
        counter = start + draw
        free[who] = counter + lengths[k]
    return max(free)


def makespan_defensive(lengths, ranks, draw=0.0):
    lengths = [float(seconds) for seconds in lengths]
    assert ranks >= 1
    assert draw >= 0
    assert all(seconds >= 0 for seconds in lengths)
    if len(lengths) == 0:
        return 0.0
    free_at = [(0.0, rank) for rank in range(ranks)]  # sorted, so a heap
    counter_free_at, end = 0.0, 0.0
    for seconds in lengths:
        arrival, rank = free_at[0]
        served_from = max(arrival, counter_free_at)
        counter_free_at = served_from + draw
        done = counter_free_at + seconds
        heapq.heapreplace(free_at, (done, rank))
        end = max(end, done)
    return float(end)


def makespan_terse(lengths, ranks, draw=0.0):
    """Terse: the first ranks come one after the other; heapreplace with a walrus."""
    free, c = [0.0] * ranks, 0.0
    ends = [[c := max(free[0], c) + draw, heapq.heapreplace(free, c + s)] and c + s for s in lengths]
    return max(ends) if lengths else 0


def makespan_sorted(lengths, ranks, draw=0.0):
    """A sorted list, and bisect."""
    free, counter, last = [0.0] * min(ranks, max(len(lengths), 1)), 0.0, 0.0
    for seconds in lengths:
        counter = max(counter, free.pop(0)) + draw
        bisect.insort(free, counter + seconds)
        last = free[-1] if free[-1] > last else last
    return last


def makespan_reduce(lengths, ranks, draw=0.0):
    """functools.reduce over tuples of (counter, heap)."""

    def play(state, seconds):
        counter, free = state
        counter = max(counter, heapq.heappop(free)) + draw
        heapq.heappush(free, counter + seconds)
        return counter, free

    return max(functools.reduce(play, lengths, (0.0, [0.0] * ranks))[1])


def makespan_careless(lengths, ranks, draw=0.0):
    """Who has as many ranks as episodes needs no heap; the rest as ever. An int where nothing is played."""
    if len(lengths) <= ranks:
        return max([(i + 1) * draw + s for i, s in enumerate(lengths)], default=0)
    ends = [(i + 1) * draw + lengths[i] for i in range(ranks)]
    heapq.heapify(ends)
    counter = ranks * draw
    latest = max(ends)
    for s in lengths[ranks:]:
        counter = max(counter, ends[0]) + draw
        heapq.heapreplace(ends, counter + s)
        latest = max(latest, counter + s)
    return latest


def makespan_heap(lengths, ranks, draw=0.0):
    """A heap of the times at which ranks are free."""
    free = [0.0] * ranks
    counter = 0.0
    for seconds in lengths:
        comes = heapq.heappop(free)
        counter = max(comes, counter) + draw
        heapq.heappush(free, counter + seconds)
    return max(free)


def source_reduce(customers, think, service):
    """functools.reduce; carries the seconds at the server on."""

    def one_more(waits, n):
        return service * (1 + n * waits / (think + waits))

    waits = functools.reduce(one_more, range(1, customers), service)
    return customers / (think + waits)


def source_accumulate(customers, think, service):
    """itertools.accumulate over the queue; the rate from the last one."""
    queues = itertools.accumulate(
        range(1, customers), lambda q, n: n * service * (1 + q) / (think + service * (1 + q)), initial=0.0
    )
    *_, last = queues
    return customers / (think + service * (1 + last))


def source_terse(customers, think, service):
    q = 0
    for n in range(customers):
        q = (x := (n + 1) / (think + (w := service * (1 + q)))) * w
    return x


def source_thinkers(customers, think, service):
    """Little's law for those who think: rate * think of them, so the others are at the server."""
    queue = 0.0
    for n in range(1, customers + 1):
        rate = n / (think + service * (1 + queue))
        queue = n - rate * think
    return rate


def source_erlang(customers, think, service):
    """The same as Erlang's loss formula: a server that is busy all the time but for the share in which all think."""
    if service == 0:
        return customers / think
    load, lost = think / service, 1.0
    for n in range(1, customers + 1):
        busy = n / (n + load * lost)
        lost = load * lost / (n + load * lost)
    return busy / service


def source_closed(customers, think, service):
    """The closed form of the machine repair model, with logarithms so that nothing overflows."""
    if service == 0:
        return customers / think
    if think == 0:
        return 1 / service
    k = np.arange(customers + 1)
    logs = k * np.log(think / service) - gammaln(k + 1)
    return np.exp(logsumexp(logs[:-1]) - logsumexp(logs)) / service


def source_generator(customers, think, service):
    """A generator of the rates with 1, 2, 3 ... customers."""

    def rates():
        n, queue = 0, 0.0
        while True:
            n += 1
            seconds = service * (1 + queue)
            yield n / (think + seconds)
            queue = n * seconds / (think + seconds)

    return next(itertools.islice(rates(), customers - 1, None))


def source_careless(customers, think, service):
    """A list of queues; returns a np.float64."""
    queue = np.zeros(customers + 1)
    for n in range(1, customers + 1):
        r = service * (1 + queue[n - 1])
        queue[n] = n * r / (r + think)
    return np.float64(customers / (think + service * (1 + queue[-2])))


def with_fractions_of_the_best(batch, reference, updates, noise_scale):
    if noise_scale == math.inf:
        return updates / batch * reference
    gets, wanted = batch / (batch + noise_scale), updates * reference / (reference + noise_scale)
    return wanted / gets


def needed_terse(batch, reference, updates, noise_scale):
    n = noise_scale
    return updates * ((1 + n / batch) / (1 + n / reference) if n < np.inf else reference / batch)


def needed_numpy(batch, reference, updates, noise_scale):
    """numpy; a np.float64."""
    if np.isinf(noise_scale):
        return np.float64(updates) * reference / batch
    return np.divide(1 + np.divide(noise_scale, batch), 1 + np.divide(noise_scale, reference)) * updates


def needed_defensive(batch, reference, updates, noise_scale):
    batch, reference, updates, noise_scale = map(float, (batch, reference, updates, noise_scale))
    assert batch > 0
    assert reference > 0
    assert updates >= 0
    assert noise_scale >= 0
    if noise_scale == float("inf"):
        steps = updates * reference
        return steps / batch
    distance = updates / (1.0 + noise_scale / reference)
    return distance * (1.0 + noise_scale / batch)


def needed_least(batch, reference, updates, noise_scale):
    """McCandlish's way to say it: the least number of updates, U_min (1 + noise / batch)."""
    if noise_scale in (float("inf"), math.inf):
        return updates / batch * reference
    least = updates / (1 + noise_scale / reference)
    return least + least * noise_scale / batch


def needed_lambda(batch, reference, updates, noise_scale):
    far = (lambda B: B) if noise_scale == np.inf else (lambda B: B / (B + noise_scale))
    return far(reference) / far(batch) * updates


def needed_exact(batch, reference, updates, noise_scale):
    """Fractions, a float at the end."""
    if noise_scale == math.inf:
        return float(Fraction(updates) * Fraction(reference) / Fraction(batch))
    B, R, U, N = (Fraction(float(x)) for x in (batch, reference, updates, noise_scale))
    return float(U * (1 + N / B) / (1 + N / R))


def needed_careless(batch, reference, updates, noise_scale):
    """Unchanged where the batch is the same; else both cases."""
    if batch == reference:
        return updates
    factor = reference / batch
    if noise_scale != float("inf"):
        factor = (1 + noise_scale / batch) / (1 + noise_scale / reference)
    return updates * factor


RIGHT = {
    "makespan": [by_sorting, makespan_lists, makespan_defensive, makespan_terse, makespan_sorted, makespan_reduce,
        makespan_careless, makespan_heap],
    "finite_source": [source_reduce, source_accumulate, source_terse, source_thinkers, source_erlang, source_closed,
        source_generator, source_careless],
    "updates_needed": [with_fractions_of_the_best, needed_terse, needed_numpy, needed_defensive, needed_least,
        needed_lambda, needed_exact, needed_careless],
}  # fmt: skip

EDITS = {
    "makespan": r"""
        in_rounds: return float(sum(max(lengths[i : i + ranks]) + draw for i in range(0, len(lengths), ranks)))
        the_last_drawn: max(free) => counter + length if len(lengths) else 0.0
        a_counter_never_idle: = max(now, counter) + => += && counter + length => max(now, counter - draw) + length
    """,
    "finite_source": r"""
        an_open_queue: rate = customers / (think + service)\n    return min(rate, 1 / service if service else \
            rate) / (1 + min(rate * service, 1.0) * 0.1)
        one_round_too_many: customers + 1 => customers + 2
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
