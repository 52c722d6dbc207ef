"""Lecture 10: parameters that several workers read and change, each at its own pace.

A worker repeats two calls, over any transport:

    pulled = store.pull()                          # copies of the parameters, and their version; None: the work is over
    store.push(gradient(pulled.arrays), pulled.version)

The version is the number of gradients applied. A gradient's staleness is how much the version has grown between the
pull and the push: the number of other gradients applied in between. One class, `ParameterServer`, decides what happens
to a gradient. Three transports bring gradients to it, and the worker's code is the same for all:

    mailbox          rank 0 has the parameters, and the others send it messages; it works across machines
    shared_window    the parameters are in memory that all ranks of one machine share; a worker applies its gradient
                     itself, without a lock, and may overwrite what another writes at that instant (Hogwild)
    event_queue      one process plays all workers, with random durations: the same bits every time

What a gradient does to the parameters is `apply(shared, gradient, arrival)`, which changes the shared arrays in place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from minitrpo.parallel.comm import RUN_PREFIX
from minitrpo.policies import Array

Arrays = dict[str, Array]
NO_LIMIT = 10**9  # gradients: of a rule that refuses none, and lets none wait
LEFT = 2**62  # the clock of a worker that pushes no more: no worker waits for it
BINS = 256  # of the histogram of staleness; the last one has all that is older
TALLY = RUN_PREFIX + "tally_"  # how the counts are called among the shared arrays


@dataclass(frozen=True)
class Pulled:
    """What a worker got: its own copies of the arrays, and the version they had."""

    arrays: Arrays
    version: int


class Store(Protocol):
    """What a worker sees of the parameters."""

    def pull(self) -> Pulled | None: ...
    def push(self, gradient: Arrays, version: int) -> None: ...


@dataclass(frozen=True)
class Arrival:
    """A gradient as it arrives: whose it is, the version it finds, and how old it is."""

    worker: int
    version: int
    staleness: int


@dataclass(frozen=True)
class Rules:
    """When a gradient is refused, and when a worker must wait for others.

    max_staleness: older gradients are refused (Gorila, Nair et al. 2015). max_lead: a worker may pull for its c-th
    gradient (0, 1, ...) when all others have pushed c - max_lead of theirs (bounded staleness, SSP: Ho et al. 2013).
    """

    max_staleness: int = NO_LIMIT
    max_lead: int = NO_LIMIT


class Tally:
    """What happened to the gradients; worker w's counts are written by, or for, worker w alone, so that none is lost.

    clocks, applied, refused: (W,). histogram: (W, BINS), applied gradients by staleness. increments: (1,), a number
    to which every applied gradient adds 1 without a lock, as it does to the parameters.
    """

    def __init__(self, shared: Arrays) -> None:
        self.clocks, self.applied, self.refused, self.histogram, self.increments = (
            shared[TALLY + name] for name in ("clocks", "applied", "refused", "histogram", "increments")
        )

    @staticmethod
    def arrays(workers: int) -> Arrays:
        """Return the counts before the first gradient, to be put among the shared arrays."""
        shapes = {"clocks": (workers,), "applied": (workers,), "refused": (workers,), "histogram": (workers, BINS)}
        shapes["increments"] = (1,)
        return {TALLY + name: np.zeros(shape, np.int64) for name, shape in shapes.items()}

    @property
    def version(self) -> int:
        """Return how many gradients were applied."""
        return int(self.applied.sum())

    def lost(self, counted: Array | None = None) -> int:
        """Return how many updates were lost, whole or in part, because two workers wrote at once.

        What is missing in `increments`, or in `counted` (1,), where an optimiser counts its own steps, if that is more.
        """
        there = [self.increments] if counted is None else [self.increments, counted]
        return self.version - int(min(count[0] for count in there))

    def record(self, worker: int, staleness: int, applied: bool | None) -> None:
        """Count a gradient; applied: False if it was refused, None if there was none in it."""
        if applied:
            self.applied[worker] += 1
            self.histogram[worker, min(staleness, BINS - 1)] += 1
            self.increments += 1
        elif applied is False:
            self.refused[worker] += 1


def staleness_of(histogram: Array) -> tuple[float, int]:
    """Return mean and maximum of a histogram (BINS,); NaN and 0 if it is empty."""
    total = int(histogram.sum())
    if total == 0:
        return float("nan"), 0
    return float(histogram @ np.arange(len(histogram))) / total, int(np.flatnonzero(histogram)[-1])


Apply = Callable[[Arrays, Arrays, Arrival], bool | None]  # False: refused; None from a function that never refuses


class ParameterServer:
    """The shared arrays, and what becomes of a gradient: applied or refused."""

    def __init__(
        self,
        shared: Arrays,
        apply: Apply,
        rules: Rules | None = None,
        account: Callable[[int, Arrays, Arrays], None] | None = None,
    ) -> None:
        """Take the shared arrays, `Tally.arrays` among them; they are changed in place.

        account(worker, shared, gradient): called for every push, whatever becomes of it; may take out what is for it.
        """
        self.shared, self.tally, self.rules = shared, Tally(shared), rules or Rules()
        self._apply, self._account = apply, account

    def may_pull(self, worker: int) -> bool:
        """Return whether a worker may go on: it is not too far ahead."""
        return may_go_on(self.tally.clocks, worker, self.rules.max_lead)

    def admit(
        self, waiting: set[int], names: tuple[str, ...], over: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, Pulled | None]]:
        """Let workers that wait go on, if they may. Every transport asks this.

        Args:
            waiting: the workers that have asked for parameters; those that are let go on are taken out.
            names: of the arrays that they pull.
            over: says whether the work is over; then no worker waits any more.

        Yields:
            Each worker that goes on, with what it has pulled; None instead if the work is over.

        """
        for worker in sorted(waiting):
            if over():
                self.leave(worker)
                waiting.remove(worker)
                yield worker, None
            elif self.may_pull(worker):
                waiting.remove(worker)
                yield worker, self.pull(names)

    def pull(self, names: tuple[str, ...]) -> Pulled:
        """Return copies of these arrays; the version is read first, so that a staleness is never counted too small."""
        version = self.tally.version
        return Pulled({name: self.shared[name].copy() for name in names}, version)

    def push(self, worker: int, gradient: Arrays, version: int) -> None:
        """Take a worker's gradient, computed from this version; {}: it has none this time."""
        if self._account is not None:
            self._account(worker, self.shared, gradient)
        self._receive(worker, gradient, version)
        self.tally.clocks[worker] += 1

    def leave(self, worker: int) -> None:
        """Stop waiting for a worker."""
        self.tally.clocks[worker] = LEFT

    def _receive(self, worker: int, gradient: Arrays, version: int) -> None:
        now = self.tally.version
        staleness, applied = now - version, None
        if gradient:
            applied = staleness <= self.rules.max_staleness
            if applied:
                applied = self._apply(self.shared, gradient, Arrival(worker, now, staleness)) is not False
        self.tally.record(worker, staleness, applied)


def may_go_on(clocks: Array, worker: int, max_lead: int) -> bool:
    """Return whether a worker may begin its next gradient: it is at most `max_lead` gradients ahead of the slowest.

    clocks: (W,) ints, how many gradients each worker has pushed; that of `worker` may be the smallest. No worker waits
    for one that has left: its clock is 2^62, larger than all others.
    """
    return int(clocks[worker]) <= int(clocks.min()) + max_lead


def work_through(store: Store, gradient: Callable[[Pulled], Arrays]) -> None:
    """Do what a worker does until the work is over: pull, compute, push."""
    while (pulled := store.pull()) is not None:
        store.push(gradient(pulled), pulled.version)
