"""Communicators: how many processes there are, which one this is, and how arrays travel between them.

One process needs no MPI: `SerialComm` does everything in place. `MPIComm` imports mpi4py when it is made. Waiting
sleeps instead of spinning, so that 8 ranks on 2 cores leave the cores to the ranks that work.
"""

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from minitrpo.parallel.background import in_background
from minitrpo.parallel.counters import Counter, LocalCounter, WindowCounter
from minitrpo.parallel.launcher import RANK_VARIABLES as RANK_VARIABLES
from minitrpo.parallel.launcher import SIZE_VARIABLES as SIZE_VARIABLES
from minitrpo.parallel.launcher import launched_rank as launched_rank
from minitrpo.parallel.launcher import launched_size as launched_size
from minitrpo.parallel.packing import Arrays, packed, unpacked
from minitrpo.policies import Array


class Comm(Protocol):
    """What a parallel program asks of its processes. Rank 0 is the root: it learns, logs and writes."""

    rank: int
    size: int
    native: Any  # mpi4py's own communicator; None without MPI

    def broadcast(self, arrays: Arrays, root: int = 0) -> Arrays: ...
    def listen(self) -> Callable[[], Arrays]: ...
    def gather(self, arrays: Arrays) -> list[Arrays]: ...
    def broadcast_object(self, payload: Any) -> Any: ...
    def gather_objects(self, payload: Any) -> list[Any]: ...
    def all_gather(self, own: Array, rows: list[int]) -> Array: ...
    def all_to_all(self, own: Array, sent: list[int], received: list[int]) -> Array: ...
    def barrier(self, max_sleep: float = 1e-3) -> None: ...
    def counter(self) -> Counter: ...
    def split(self, color: int) -> "Comm": ...
    def split_per_node(self, ranks: int) -> "Comm | None": ...
    def abort(self, code: int) -> None: ...
    def close(self) -> None: ...


def connect() -> Comm:
    """Return the communicator of this job: MPI if a launcher started several processes, else this process alone."""
    several = launched_size() > 1 or ("PMIX_RANK" in os.environ and "OMPI_COMM_WORLD_SIZE" not in os.environ)
    comm: Comm = MPIComm() if several else SerialComm()
    expected = int(os.environ.get("MINITRPO_RANKS", comm.size))  # set by jobs.mpiexec
    if comm.size != expected:
        raise RuntimeError(f"{expected} ranks were started and this one sees {comm.size}: mpiexec is not mpi4py's own")
    return comm


class SerialComm:
    """One rank in this process, without MPI."""

    rank = 0
    size = 1
    native = None

    def broadcast(self, arrays: Arrays, root: int = 0) -> Arrays:
        """Return the root's arrays."""
        return arrays

    def listen(self) -> Callable[[], Arrays]:
        """Return what waits for the root's next broadcast: there is nobody else."""
        return dict

    def gather(self, arrays: Arrays) -> list[Arrays]:
        """Return every rank's arrays."""
        return [arrays]

    def broadcast_object(self, payload: Any) -> Any:
        """Return the root's object."""
        return payload

    def gather_objects(self, payload: Any) -> list[Any]:
        """Return every rank's object."""
        return [payload]

    def all_gather(self, own: Array, rows: list[int]) -> Array:
        """Return everybody's rows on every rank."""
        return own

    def all_to_all(self, own: Array, sent: list[int], received: list[int]) -> Array:
        """Return the rows that are for this rank: its own."""
        return own

    def barrier(self, max_sleep: float = 1e-3) -> None:
        """Return at once: one rank is always complete."""

    def counter(self) -> Counter:
        """Return a counter of one process."""
        return LocalCounter()

    def split(self, color: int) -> Comm:
        """Return this rank by itself."""
        return self

    def split_per_node(self, ranks: int) -> Comm | None:
        """Return this rank by itself."""
        return self

    def abort(self, code: int) -> None:
        """End the process."""
        raise SystemExit(code)

    def close(self) -> None:
        """Give nothing back: nothing was taken."""


class MPIComm:
    """The processes of an MPI communicator, MPI.COMM_WORLD by default; upper-case calls send numpy buffers."""

    def __init__(self, comm: Any = None) -> None:
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._comm = MPI.COMM_WORLD if comm is None else comm
        self.native: Any = self._comm
        self.rank: int = self._comm.rank
        self.size: int = self._comm.size
        self._counters: list[WindowCounter] = []

    def broadcast(self, arrays: Arrays, root: int = 0) -> Arrays:
        """Return the arrays of rank `root`, with names, shapes and dtypes, on every rank; the others' are ignored.

        Two messages, however many arrays: how many bytes, then all of them. The receivers sleep while they wait.
        """
        buffer = packed(arrays) if self.rank == root else np.zeros(0, np.uint8)
        size = np.array([len(buffer)], np.int64)
        self._wait(self._comm.Ibcast(size, root))
        if self.rank != root:
            buffer = np.empty(int(size[0]), np.uint8)
        self._wait(self._comm.Ibcast(buffer, root))
        return arrays if self.rank == root else unpacked(buffer)

    def listen(self) -> Callable[[], Arrays]:
        """Begin to receive the root's next broadcast while this rank computes; return the function that waits for it.

        The root need not wait then until this rank is done. Nothing else may travel on this communicator meanwhile.
        """
        if self._mpi.Query_thread() < self._mpi.THREAD_MULTIPLE:
            return lambda: self.broadcast({})
        return in_background(lambda: self.broadcast({}))

    def gather(self, arrays: Arrays) -> list[Arrays]:
        """Return every rank's arrays, in rank order, on the root (others: []); names and shapes may differ by rank.

        How many bytes each rank sends comes first: only then can the root know where to put them.
        """
        own, sizes = packed(arrays), np.zeros(self.size, np.int64)
        self._comm.Gather(np.array([len(own)], np.int64), sizes, root=0)
        everything = np.empty(int(sizes.sum()), np.uint8)  # nothing on the others
        self._comm.Gatherv(own, [everything, sizes.tolist(), self._mpi.BYTE] if self.rank == 0 else None, root=0)
        return [unpacked(part) for part in np.split(everything, np.cumsum(sizes)[:-1])] if self.rank == 0 else []

    def broadcast_object(self, payload: Any) -> Any:
        """Return the root's object, pickled; for start-up, not for data."""
        return self._comm.bcast(payload, root=0)

    def gather_objects(self, payload: Any) -> list[Any]:
        """Return every rank's object on the root (others: []), pickled; for start-up and reports, not for data."""
        return self._comm.gather(payload, root=0) or []

    def all_gather(self, own: Array, rows: list[int]) -> Array:
        """Return everybody's rows, in rank order, on every rank; rows: how many each rank has.

        Called thousands of times a second by ranks that have a core each: this one wait does not sleep.
        """
        everything = np.empty((sum(rows), *own.shape[1:]), own.dtype)
        width, kind = int(np.prod(own.shape[1:])), self._mpi.Datatype.fromcode(own.dtype.char)
        self._comm.Allgatherv(np.ascontiguousarray(own), [everything, [n * width for n in rows], kind])
        return everything

    def all_to_all(self, own: Array, sent: list[int], received: list[int]) -> Array:
        """Return all ranks' rows for this one, in their order; own: for rank 0 first; sent, received: rows a rank."""
        arrived = np.empty((sum(received), *own.shape[1:]), own.dtype)
        width, kind = int(np.prod(own.shape[1:])), self._mpi.Datatype.fromcode(own.dtype.char)
        given, taken = ([n * width for n in rows] for rows in (sent, received))
        self._comm.Alltoallv([np.ascontiguousarray(own), given, kind], [arrived, taken, kind])
        return arrived

    def barrier(self, max_sleep: float = 1e-3) -> None:
        """Wait, asleep, until every rank is here; a long `max_sleep` costs the working ranks nothing."""
        self._wait(self._comm.Ibarrier(), max_sleep)

    def counter(self) -> Counter:
        """Return a counter that lives in the memory of rank 0; collective."""
        self._counters.append(WindowCounter(self._mpi, self._comm))
        return self._counters[-1]

    def split(self, color: int) -> Comm:
        """Return the ranks that gave the same color, in their order; collective."""
        return MPIComm(self._comm.Split(color, key=self.rank))

    def split_per_node(self, ranks: int) -> Comm | None:
        """Return the ranks of which at most `ranks` share a machine, the root among them; None for all others."""
        place = self._comm.Split_type(self._mpi.COMM_TYPE_SHARED, key=self.rank).rank
        some = self._comm.Split(0 if place < ranks else self._mpi.UNDEFINED, key=self.rank)
        return None if some == self._mpi.COMM_NULL else MPIComm(some)

    def abort(self, code: int) -> None:
        """End the whole job, as soon as the launcher has passed on what was printed: after that it listens no more."""
        time.sleep(0.3)
        self._comm.Abort(code)

    def close(self) -> None:
        """Free the windows; collective, so only at the end of a job that went well."""
        for counter in self._counters:
            counter.free()

    def _wait(self, request: Any, max_sleep: float = 1e-3) -> None:
        """Wait for a request and leave the core alone: sleep an eighth of the time so far, at most `max_sleep`."""
        start = time.monotonic()
        while not request.Test():
            time.sleep(min(20e-6 + (time.monotonic() - start) / 8, max_sleep))
