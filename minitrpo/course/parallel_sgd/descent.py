"""Parallel SGD, played or run: the same workers over an event queue, messages or shared memory; and what was seen."""

import time
from dataclasses import dataclass, replace

import numpy as np

from minitrpo.course.parallel_sgd.problem import (
    ROWS,
    Regression,
    SGDSettings,
    delay_of,
    descend_by,
    make_regression,
    worker_of,
)
from minitrpo.course.parallel_sgd.rounds import SynchronousServer
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.mailbox import Mail, MailStore, serve
from minitrpo.parallel.parameter_server import Arrays, ParameterServer, Tally, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore
from minitrpo.policies import Array

SAMPLES = "samples"  # the shared array of how many each worker has used


@dataclass(frozen=True)
class Trace:
    """What was recorded of one way to descend: (R,) each, and the histogram of staleness."""

    updates: Array
    samples: Array
    seconds: Array
    loss: Array
    histogram: Array
    refused: int
    lost: int


class Recorder:
    """Writes down the parameters now and then; their loss is computed when all is over."""

    def __init__(self, problem: Regression, s: SGDSettings, shared: Arrays) -> None:
        self._problem, self._shared, self._tally = problem, shared, Tally(shared)
        self._per_update = len(self._tally.clocks) if s.mode == "synchronous" else 1
        self.total = s.epochs * s.rows
        self._every, self._due = self.total / s.records, 0.0
        self._rows: list[tuple[float, float, float, Array]] = []
        self.look(0.0)

    @property
    def samples(self) -> float:
        """Return how many samples were used."""
        return float(self._shared[SAMPLES].sum())

    def over(self) -> bool:
        """Return whether all samples have been used as often as was asked for."""
        return self.samples >= self.total

    def look(self, seconds: float, force: bool = False) -> None:
        """Record, if enough samples were used since the last time."""
        samples = self.samples
        if samples >= self._due or force:
            self._due = samples + self._every
            updates = self._tally.version / self._per_update
            self._rows.append((updates, samples, seconds, self._shared["theta"].copy()))

    def trace(self) -> Trace:
        """Return what was recorded."""
        updates, samples, seconds = np.array([row[:3] for row in self._rows]).T
        losses = np.array([self._problem.loss(theta) for *_, theta in self._rows])
        histogram = self._tally.histogram.sum(axis=0)
        return Trace(updates, samples, seconds, losses, histogram, int(self._tally.refused.sum()), self._tally.lost())


def account(worker: int, shared: Arrays, gradient: Arrays) -> None:
    """Count the samples of a gradient."""
    shared[SAMPLES][worker] += gradient.pop(ROWS)[0]


def fresh(problem: Regression, s: SGDSettings, workers: int) -> Arrays:
    """Return what is shared at the start."""
    return {"theta": problem.initial(s.seed), SAMPLES: np.zeros(workers), **Tally.arrays(workers)}


def server_of(s: SGDSettings, shared: Arrays) -> ParameterServer:
    """Return what decides about gradients: one that waits for all workers, or one that applies them as they come."""
    kind = SynchronousServer if s.mode == "synchronous" else ParameterServer
    return kind(shared, descend_by(s.step_size), s.rules, account)


def play(s: SGDSettings) -> Trace:
    """Play all workers in this process; seconds are drawn ones."""
    problem = make_regression(s)
    server = server_of(s, fresh(problem, s, s.workers))
    recorder = Recorder(problem, s, server.shared)
    works = [worker_of(problem, s, worker, s.workers) for worker in range(s.workers)]
    queue = EventQueue(server, works, ("theta",), lambda worker, clock: delay_of(s, worker, clock))
    while not recorder.over():
        queue.play()
        recorder.look(queue.time)
    recorder.look(queue.time, force=True)
    return recorder.trace()


def run(s: SGDSettings, comm: Comm) -> Trace | None:
    """Descend on the ranks of a job; seconds are real ones. The trace is the root's. Collective.

    All but hogwild have their server on rank 0, which does nothing else.
    """
    problem = make_regression(s)
    if s.mode == "hogwild":
        return _share(problem, replace(s, workers=comm.size), comm)
    s = replace(s, workers=comm.size - 1)
    mail = Mail(comm)
    trace = None
    if comm.rank > 0:
        work_through(MailStore(mail), worker_of(problem, s, comm.rank - 1, s.workers))
    else:
        server = server_of(s, fresh(problem, s, s.workers))
        recorder, start = Recorder(problem, s, server.shared), time.perf_counter()
        look = lambda: recorder.look(time.perf_counter() - start)  # noqa: E731
        serve(mail, server, s.workers, ("theta",), recorder.over, look)
        recorder.look(time.perf_counter() - start, force=True)
        trace = recorder.trace()
    mail.close()
    return trace


def _share(problem: Regression, s: SGDSettings, comm: Comm) -> Trace | None:
    """Descend in shared memory: all ranks are workers, and the root records between two gradients of its own."""
    window = SharedWindow(comm, fresh(problem, s, comm.size))
    server = server_of(s, window.arrays)
    recorder = Recorder(problem, s, window.arrays)
    comm.barrier()
    start = time.perf_counter()

    def look() -> None:
        if comm.rank == 0:
            recorder.look(time.perf_counter() - start)

    store = WindowStore(server, comm.rank, ("theta",), recorder.over, look)
    work_through(store, worker_of(problem, s, comm.rank, comm.size))
    comm.barrier()
    trace = None
    if comm.rank == 0:
        recorder.look(time.perf_counter() - start, force=True)
        trace = recorder.trace()
    comm.barrier()
    window.free()
    return trace
