"""Lecture 15: ranks that draw episodes, and workers that push gradients, played event by event with simpy.

Everything is in seconds of a clock that is imagined. What is random comes drawn into these functions, so that two
designs can be compared on the same episodes, and the same call gives the same result.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from minitrpo.policies import Array

Process = Generator[Any, Any, None]


@dataclass(frozen=True)
class Playing:
    """How ranks play: what a tick of their lockstep takes, and a draw from the pool."""

    tick: Callable[[int], float]  # number of episodes in play -> seconds of one step of each
    concurrency: int = 1  # episodes that a rank plays side by side
    draw: float = 0.0  # seconds in which the counter serves no other rank
    latency: float = 0.0  # seconds on the way to the counter and back


@dataclass(frozen=True)
class Played:
    """When every rank was done."""

    ends: Array  # (P,) seconds
    played: Array  # (P,) of them playing
    queued: Array  # (P,) of them in the queue of the counter

    @property
    def makespan(self) -> float:
        """Return when the last was done."""
        return float(self.ends.max())


class Pool:
    """Requests 0 .. n-1 behind a counter that serves one rank at a time."""

    def __init__(self, env: simpy.Environment, requests: int, playing: Playing) -> None:
        self.env, self.requests, self.next, self._how = env, requests, 0, playing
        self._counter = simpy.Resource(env, capacity=1)
        self._free = playing.draw == 0  # no rank ever waits

    def draw(self) -> Generator[Any, Any, int | None]:
        """Return the next request's number, or None, after the way and the queue."""
        if self._how.latency:
            yield self.env.timeout(self._how.latency)
        if self._free:
            return self._take()
        with self._counter.request() as turn:
            yield turn
            yield self.env.timeout(self._how.draw)
            return self._take()

    def _take(self) -> int | None:
        self.next += 1
        return self.next - 1 if self.next <= self.requests else None


class Share:
    """Requests assigned beforehand: rank r of P has r, r + P, r + 2 P, ..."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = iter(numbers)

    def draw(self) -> Generator[Any, Any, int | None]:
        """Return the next request's number, or None, at once."""
        return next(self._numbers, None)
        yield


def play(lengths: Array, ranks: int, playing: Playing, static: bool = False, slow: Array | None = None) -> Played:
    """Return when P ranks have played episodes of these lengths, (E,) in steps.

    static: assigned, not drawn from a pool. slow: (P,), how many times as long each rank takes, 1 by default.
    """
    env, queued, busy = simpy.Environment(), np.zeros(ranks), np.zeros(ranks)
    pool, ends = Pool(env, len(lengths), playing), np.zeros(ranks)
    factors = np.ones(ranks) if slow is None else slow
    steps = lengths.tolist()

    def rank(number: int) -> Process:
        requests = Share(range(number, len(steps), ranks)) if static else pool
        active: list[float] = []  # steps that are still to come in each episode in play
        drained, factor = False, float(factors[number])
        while True:
            while not drained and len(active) < playing.concurrency:
                asked = env.now
                request = yield from requests.draw()
                queued[number] += env.now - asked
                drained = request is None
                if request is not None:
                    active.append(steps[request])
            if not active:
                ends[number] = env.now
                return
            few = min(active)  # until the next of them ends, all are stepped together
            took = few * playing.tick(len(active)) * factor
            busy[number] += took
            yield env.timeout(took)
            active = [left - few for left in active if left > few]

    for number in range(ranks):
        env.process(rank(number))
    env.run()
    return Played(ends, busy, queued)


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
    env, version = simpy.Environment(), 0
    server, ages, applied = simpy.Resource(env, capacity=1), [], []

    def worker(own: list[float], served: list[float]) -> Process:
        nonlocal version
        for seconds, turn_s in zip(own, served, strict=True):
            pulled = version
            yield env.timeout(2 * latency + seconds)
            with server.request() as turn:
                yield turn
                yield env.timeout(turn_s)
                ages.append(version - pulled)
                applied.append(env.now)
                version += 1

    for own, served in zip(work.tolist(), service.tolist(), strict=True):
        env.process(worker(own, served))
    env.run()
    first, last = len(applied) // 10, len(applied) - 1 - len(applied) // 10
    rate = (last - first) / (applied[last] - applied[first]) if last > first else len(applied) / applied[-1]
    return Pushed(rate, np.array(ages))


def preempted(ranks: int, seconds: float, every: float, pause: float, rng: np.random.Generator) -> Array:
    """Return how many times as long each rank takes that is stopped for `pause` seconds every so often, (P,).

    seconds: of work; every: seconds of a rank's work between two stops, on average; they come at random.
    """
    return 1 + rng.poisson(seconds / every, ranks) * pause / seconds


def failing(work: float, interval: float, checkpoint: float, restart: float, times: Callable[[], float]) -> float:
    """Return the seconds of one job that loses what it did since its last checkpoint at every failure.

    times: draws the seconds from one failure, or the beginning, to the next; they pass in restarts, too.
    """
    clock, done, next_failure = 0.0, 0.0, times()
    while done < work:
        segment = min(interval, work - done) + checkpoint
        while clock + segment > next_failure:
            clock, next_failure = next_failure, next_failure + times()
            while clock + restart > next_failure:
                clock, next_failure = next_failure, next_failure + times()
            clock += restart
        clock, done = clock + segment, done + segment - checkpoint
    return clock
