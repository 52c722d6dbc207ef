"""Asynchrony in one process: the same server and the same workers, and a clock that is drawn.

A worker pulls at one time and pushes at a later one; in between, others push. Who comes when is decided by a queue
of arrivals, ordered by time and then by worker: nothing depends on the machine.
"""

import heapq
from collections.abc import Callable

import numpy as np

from minitrpo.parallel.comm import Nested, flat
from minitrpo.parallel.parameter_server import Arrays, ParameterServer, Pulled

Work = Callable[[Pulled], Arrays]
Delay = Callable[[int, int], float]  # (worker, its clock) -> seconds between its pull and its push


class EventQueue:
    """Workers that share a server, played one arrival at a time."""

    def __init__(self, server: ParameterServer, works: list[Work], names: tuple[str, ...], delay: Delay) -> None:
        """Take every worker's way from what it pulled to its gradient; names: of the arrays it pulls."""
        self.server, self._works, self._names, self._delay = server, works, names, delay
        self.time = 0.0
        self._arrivals: list[tuple[float, int]] = []  # a heap
        self._pulled: dict[int, Pulled] = {}  # by workers with an arrival to come
        self._waiting = set(range(len(works)))

    def play(self) -> int:
        """Let those pull who may, then play the next arrival; return whose it was."""
        self._let_pull()
        self.time, worker = heapq.heappop(self._arrivals)
        pulled = self._pulled.pop(worker)
        self.server.push(worker, self._works[worker](pulled), pulled.version)
        self._waiting.add(worker)
        self._let_pull()  # at once: before anybody else's arrival
        return worker

    def _let_pull(self) -> None:
        for worker, pulled in self.server.admit(self._waiting, self._names):
            assert pulled is not None  # whoever plays the queue says when the work is over
            self._pulled[worker] = pulled
            clock = int(self.server.tally.clocks[worker])
            heapq.heappush(self._arrivals, (self.time + self._delay(worker, clock), worker))

    def state(self) -> Nested:
        """Return what is under way, from which `restore` goes on to the bit: (W, ...) each, NaN for who waits."""
        workers = range(len(self._works))
        due = {worker: time for time, worker in self._arrivals}
        nothing = {name: np.zeros_like(self.server.shared[name]) for name in self._names}
        copies = [self._pulled[worker].arrays if worker in self._pulled else nothing for worker in workers]
        versions = [self._pulled[worker].version if worker in self._pulled else 0 for worker in workers]
        return {
            "time": np.array([self.time]),
            "due": np.array([due.get(worker, np.nan) for worker in workers]),
            "versions": np.array(versions, np.int64),
            "pulled": {name: np.array([copy[name] for copy in copies]) for name in self._names},
        }

    def restore(self, arrays: Nested) -> None:
        """Take over what `state` returned; the server has its own arrays already."""
        self.time = float(arrays["time"][0])
        due, pulled = arrays["due"].tolist(), flat(arrays["pulled"])
        on_their_way = [worker for worker in range(len(self._works)) if not np.isnan(due[worker])]
        self._arrivals = [(due[worker], worker) for worker in on_their_way]
        heapq.heapify(self._arrivals)
        self._waiting = set(range(len(self._works))) - set(on_their_way)
        self._pulled = {
            worker: Pulled({name: pulled[name][worker].copy() for name in self._names}, int(arrays["versions"][worker]))
            for worker in on_their_way
        }
