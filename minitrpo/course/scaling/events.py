"""Lecture 15: ranks that draw episodes, and workers that push gradients, played event by event.

`makespan` is the heart of the simulator, which the lecture writes. `play` is the same with all that a real pool has:
episodes side by side, ways to the counter, a queue in front of it; with one slot and no way they agree.

Everything is in seconds of a clock that is imagined. What is random comes drawn into these functions, so that two
designs can be compared on the same episodes, and the same call gives the same result.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from minitrpo.policies import Array


def makespan(lengths: Sequence[float], ranks: int, draw: float = 0.0) -> float:
    """Return when the last of the ranks is done, which draw these episodes, in their order, from one pool.

    lengths: seconds of each episode, (E,). draw: seconds in which the pool's counter serves one rank and keeps the
    others waiting; whoever comes first is served first. A rank that finds the pool empty is done at once. Without an
    episode it is 0.
    """
    # 1. at time 0 all ranks are free, and so is the counter
    free = [0.0] * ranks  # a heap: its least element is always free[0]
    counter = 0.0
    for length in lengths:
        # 2. the rank that is free first comes to the counter, and waits until it is served
        now = heapq.heappop(free)
        counter = max(now, counter) + draw
        # 3. it plays, and is free again
        heapq.heappush(free, counter + length)
    # 4. the last one ends the rollout
    return max(free)


@dataclass(frozen=True)
class Playing:
    """How ranks play: what a tick of their lockstep takes, and a draw from the pool."""

    tick: Callable[[int], float]  # number of episodes in play -> seconds of one step of each
    concurrency: int = 1  # episodes that a rank plays side by side
    draw: float = 0.0  # seconds in which the counter serves no other rank
    latency: float = 0.0  # seconds on the way to the counter and back


@dataclass(frozen=True)
class Played:
    """What became of the ranks' time."""

    makespan: float  # seconds until the last was done
    played: Array  # (P,) of them playing
    queued: Array  # (P,) of them on the way to the counter and in its queue


def play(lengths: Array, ranks: int, playing: Playing, static: bool = False) -> Played:
    """Return when P ranks have played episodes of these lengths, (E,) in steps.

    static: assigned beforehand, r, r + P, r + 2 P, ... to rank r; not drawn from a pool, and no rank waits.
    """
    steps, makespan, counter = lengths.tolist(), 0.0, 0.0
    pool = iter(steps)
    requests = [iter(steps[r::ranks]) if static else pool for r in range(ranks)]
    draw, latency = (0.0, 0.0) if static else (playing.draw, playing.latency)
    active: list[list[float]] = [[] for _ in range(ranks)]  # steps that are still to come in each episode in play
    queued, played = np.zeros(ranks), np.zeros(ranks)
    order = count()  # of those who come to the counter at the same time
    coming = [(latency, next(order), rank, 0.0) for rank in range(ranks)]
    while coming:
        came, turn, rank, asked = heapq.heappop(coming)
        now = came if static else max(came, counter) + draw
        counter, request, mine = now, next(requests[rank], None), active[rank]
        queued[rank] += now - asked
        if request is not None:
            mine.append(request)
        while mine and (request is None or len(mine) == playing.concurrency):
            few = min(mine)  # until the next of them ends, all are stepped together
            took = few * playing.tick(len(mine))
            played[rank], now = played[rank] + took, now + took
            mine[:] = [left - few for left in mine if left > few]
        if request is None:
            makespan = max(makespan, now)
        else:
            again = now + latency
            heapq.heappush(coming, (again, next(order) if again > came else turn, rank, now))
    return Played(makespan, played, queued)


@dataclass(frozen=True)
class Pushed:
    """What became of asynchronous workers' gradients."""

    rate: float  # gradients applied a second
    staleness: Array  # (n,): updates that others made since the worker had pulled


def push(work: Array, service: Array, latency: float = 0.0) -> Pushed:
    """Return how quickly W workers that share a server get their gradients in, and how old these are.

    work: (W, k), the seconds of each worker's gradients; service: (W, k), those in which the server applies one and
    serves no other worker; a server in S shards takes 1/S of it. The rate leaves out the first and last tenth.
    """
    each = [zip(*times, strict=True) for times in zip(work.tolist(), service.tolist(), strict=True)]
    applied: list[float] = []  # when each gradient was
    ages: list[int] = []
    coming: list[tuple[float, int, float, int]] = []  # when which worker's gradient comes, its service, its theta's age

    def pull(worker: int, now: float) -> None:
        for seconds, turn in islice(each[worker], 1):
            heapq.heappush(coming, (now + (2 * latency + seconds), worker, turn, len(applied)))

    for worker in range(len(work)):
        pull(worker, 0.0)
    free = 0.0  # when the server is
    while coming:
        came, worker, turn, pulled = heapq.heappop(coming)
        free = max(came, free) + turn
        ages.append(len(applied) - pulled)
        applied.append(free)
        pull(worker, free)
    first, last = len(applied) // 10, len(applied) - 1 - len(applied) // 10
    rate = (last - first) / (applied[last] - applied[first]) if last > first else len(applied) / applied[-1]
    return Pushed(rate, np.array(ages))
