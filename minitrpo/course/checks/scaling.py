"""Checks of lecture 15: a pool on an imagined clock, workers that share a server, and what a larger batch saves."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case
from minitrpo.course.checks.framework.register import exercise


@exercise(
    "minitrpo.course.scaling.events:makespan",
    r"""
        ? Of all ranks only one thing matters: when each is free again. A heap gives the earliest in one call.
        ? `heapq.heappop(free)` takes the earliest out, `heapq.heappush(free, time)` puts one in.
        ? The counter is one more time: when it is free again. A rank that comes earlier than that waits.
        max(now, counter) + draw => now + draw :: lets no rank wait for the counter :: serve one rank after another
        max(now, counter) + draw => max(now, counter) :: leaves out the time of a draw :: add it to the counter's time
        max(now, counter) + draw => counter + draw :: serves a rank before it comes :: begin when both are free
        heapq.heappush(free, counter + length) => counter += length; heapq.heappush(free, counter) \
            :: keeps the counter taken during the episode :: free it after the draw
        return max(free) => return sum(free) / ranks :: is the mean over the ranks :: be when the last one is done
        in lengths: => in sorted(lengths, reverse=True): :: plays the longest episodes first :: keep their order
        heapq.heappop(free) => free.pop(0) && heapq.heappush(free, => free.append( :: deals the episodes out in turn \
            :: give each to the rank that is free first
        return (sum(lengths) + draw * len(lengths)) / ranks :: gives all ranks equal shares :: play whole episodes
    """,
    lecture="15",
)
def _makespan() -> Iterator[Case]:
    few: Any = (([5.0, 1.0, 1.0, 1.0], 2), ([1.0, 2.0, 3.0], 2), ([2.0], 3), ([1.0, 2.0, 3.0, 4.0], 1), ([], 3))
    for (lengths, ranks), draw in product(few, (0.0, 0.5)):
        yield case(f"few episodes, a {'slow' if draw else 'free'} counter", lengths, ranks, draw)
    yield case("few episodes, a free counter by default", [5.0, 1.0, 1.0, 1.0], 2)
    yield case("a counter that takes longer than an episode", [1.0] * 6, 3, 2.0)
    yield case("a counter that is free for a while", [10.0, 10.0, 1.0, 1.0], 2, 1.0)
    rng = np.random.default_rng(0)
    for ranks, draw in product((1, 4, 16, 100), (0.0, 0.01, 0.3)):
        yield case("episodes at random", rng.exponential(1.0, 60).tolist(), ranks, draw)


@exercise(
    "minitrpo.course.scaling.formulas:finite_source",
    r"""
        ? Begin with one customer, who never waits: its round takes think + service seconds.
        ? The second finds, on average, the queue of the first. So add customers one by one, and keep the queue.
        ? Little's law: how many are at a place = how many come a second, times the seconds each stays there.
        * (1 + queue) =>  :: serves whoever comes at once :: let it wait for the queue it finds
        (1 + queue) => queue :: leaves out the own service :: add it to that of the queue
        (1 + queue) => count :: finds all customers in the queue :: take the queue that one customer less makes
        count / (think + here) => count / here :: has a round without thinking :: add `think` to the time at the server
        return rate => return min(customers / (think + service), 1 / service) \
            :: is the smaller of the two bounds :: lie below them, because of the queue
        rate * here => rate * service :: has no waiting in the queue :: multiply the rate by all seconds at the server
        return rate => return queue :: is the queue :: be the rate
        range(1, customers + 1) => range(1, customers) :: adds a customer too few :: begin with 1 and end with all
    """,
    lecture="15",
)
def _finite_source() -> Iterator[Case]:
    for think in (0.5, 0.0, 20.0):
        yield case("one customer", 1, think, 0.5)
    for customers, service in product((2, 3, 10, 100, 1000), (0.5, 3.0, 0.02, 0.001)):
        yield case("several customers", customers, 1.0, service)
    yield case("customers who never think", 7, 0.0, 0.25)
    yield case("a server that takes no time", 7, 0.25, 0.0)


@exercise(
    "minitrpo.course.scaling.formulas:updates_needed",
    r"""
        ? How far does an update of `reference` steps get, and one of `batch`? Both are fractions of the best.
        ? Updates times how far each gets is the same for both.
        ? Infinite noise: both fractions are 0, and their ratio is that of the batches.
        return updates**2 / right(batch, reference, updates, noise_scale) :: is upside down :: fall with the batch
        math.isinf(noise_scale) => True :: keeps the number of steps :: save little above the noise scale
        / (1 + noise_scale / reference) =>  :: takes the reference for a batch of infinitely many steps \
            :: divide by 1 + noise_scale / reference
        (1 + noise_scale / reference) => $ * batch :: is a number of steps :: be one of updates
        math.isinf(noise_scale) => False :: is nan for an infinite noise scale :: keep the number of steps there
    """,
    lecture="15",
)
def _updates_needed() -> Iterator[Case]:
    for batch, noise in product((100.0, 1000.0, 8000.0, 1e6), (0.0, 500.0, 8000.0, 1e7, float("inf"))):
        yield case("a batch", batch, 1000.0, 30.0, noise)
