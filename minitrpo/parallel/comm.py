"""Communicators: how many processes there are, which one this is, and how arrays travel between them.

One process needs no MPI: `Comm` does everything in place; `MPIComm` imports mpi4py when it is made. Waiting sleeps
instead of spinning, so that 8 ranks on 2 cores leave the cores to the ranks that work.
"""

import os
import pickle
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.parallel.this_process import launched_size
from minitrpo.policies import Array

Arrays = dict[str, Array]
Nested = dict[str, Any]  # arrays by name, and dicts of them: {"theta": a, "critic": {"phi": b}}
RUN_PREFIX = "run_"  # prefix of the run's own arrays, in a checkpoint and among the shared arrays
Result = TypeVar("Result")
JOINT = "."  # in the names of `flat`: {"theta": a, "critic.phi": b}; no name of a state has one


class Counter:
    """A number that all ranks draw from; each value goes to exactly one of them. This one is of a single process."""

    def __init__(self) -> None:
        self._value = 0

    def reset(self) -> None:
        """Begin at 0 again; called by rank 0 while no one draws (the broadcast that follows orders the two)."""
        self._value = 0

    def next(self) -> int:
        """Return the value and add 1."""
        self._value += 1
        return self._value - 1


class Comm:
    """A job of one process, and what a program asks of several. Rank 0 is the root.

    The root plans, logs and writes; it computes the update alone, or the ranks share it.
    """

    rank, size = 0, 1
    native: Any = None  # mpi4py's own communicator; None without MPI

    def broadcast(self, thing: Any) -> Any:
        """Return on every rank what the root has, arrays or anything else; what the others give is ignored."""
        return thing

    def gather(self, thing: Any) -> list[Any]:
        """Return what every rank has, in rank order, on the root; [] on the others."""
        return [thing]

    def all_gather(self, own: Array, rows: list[int]) -> Array:
        """Return the rows of all ranks, in rank order, on every rank; rows: how many each rank has."""
        return own

    def barrier(self, max_sleep: float = 1e-3) -> None:
        """Wait, asleep, until every rank is here; a long `max_sleep` costs the working ranks nothing."""

    def counter(self) -> Counter:
        """Return a counter that all ranks draw from; collective."""
        return Counter()

    def split(self, color: int) -> "Comm":
        """Return the ranks that gave the same color, in their order; collective."""
        return self

    def one_machine(self) -> bool:
        """Return whether all ranks share the memory of one machine; collective."""
        return True

    def split_per_node(self, ranks: int) -> "Comm | None":
        """Return the ranks of which at most `ranks` share a machine, the root among them; None for all others."""
        return self

    def abort(self, code: int) -> None:
        """End the whole job."""
        raise SystemExit(code)

    def close(self) -> None:
        """Free what counters took; collective, so only at the end of a job that went well."""


class WindowCounter(Counter):
    """A counter in a one-sided window of rank 0: no rank has to answer for another to draw.

    Locked once for good: a lock and unlock per draw was measured to halve the rate of 8 ranks on 2 cores.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._mpi, self._comm = mpi, comm
        self._window = mpi.Win.Allocate(8 if comm.rank == 0 else 0, 8, comm=comm)
        self._window.Lock_all()
        self._old = np.zeros(1, np.int64)
        if comm.rank == 0:
            self.reset()
        comm.Barrier()

    def reset(self) -> None:
        self._atomic(np.zeros(1, np.int64), self._mpi.REPLACE)

    def next(self) -> int:  # one atomic operation
        self._atomic(np.ones(1, np.int64), self._mpi.SUM)
        return int(self._old[0])

    def free(self) -> None:
        """Give the window back; collective."""
        self._window.Unlock_all()
        self._window.Free()

    def _atomic(self, operand: Array, operation: Any) -> None:
        self._window.Fetch_and_op(operand, self._old, 0, 0, operation)
        self._window.Flush(0)


class MPIComm(Comm):
    """The processes of an MPI communicator, MPI.COMM_WORLD by default; what moves rows sends numpy buffers."""

    def __init__(self, comm: Any = None) -> None:
        from mpi4py import MPI

        self._mpi: Any = MPI
        self.native = MPI.COMM_WORLD if comm is None else comm
        self.rank, self.size = self.native.rank, self.native.size
        self._counters: list[WindowCounter] = []

    def broadcast(self, thing: Any) -> Any:  # two messages: how many bytes, then the bytes
        buffer = packed(thing) if self.rank == 0 else np.zeros(0, np.uint8)
        size = np.array([len(buffer)], np.int64)
        self._wait(self.native.Ibcast(size, 0))
        buffer = buffer if self.rank == 0 else np.empty(int(size[0]), np.uint8)
        self._wait(self.native.Ibcast(buffer, 0))
        return thing if self.rank == 0 else unpacked(buffer)

    def gather(self, thing: Any) -> list[Any]:
        return self.native.gather(thing, root=0) or []

    def all_gather(self, own: Array, rows: list[int]) -> Array:  # thousands of times a second: this one does not sleep
        arrived = np.empty((sum(rows), *own.shape[1:]), own.dtype)
        width, kind = int(np.prod(own.shape[1:])), self._mpi.Datatype.fromcode(own.dtype.char)
        self.native.Allgatherv([np.ascontiguousarray(own), kind], [arrived, [n * width for n in rows], kind])
        return arrived

    def barrier(self, max_sleep: float = 1e-3) -> None:
        self._wait(self.native.Ibarrier(), max_sleep)

    def counter(self) -> Counter:
        self._counters.append(WindowCounter(self._mpi, self.native))
        return self._counters[-1]

    def split(self, color: int) -> Comm:
        return MPIComm(self.native.Split(color, key=self.rank))

    def one_machine(self) -> bool:
        return bool(self.native.Split_type(self._mpi.COMM_TYPE_SHARED, key=self.rank).size == self.size)

    def split_per_node(self, ranks: int) -> Comm | None:
        place = self.native.Split_type(self._mpi.COMM_TYPE_SHARED, key=self.rank).rank
        some = self.native.Split(0 if place < ranks else self._mpi.UNDEFINED, key=self.rank)
        return None if some == self._mpi.COMM_NULL else MPIComm(some)

    def abort(self, code: int) -> None:
        time.sleep(0.3)  # until the launcher has passed on what was printed: after that it listens no more
        self.native.Abort(code)

    def close(self) -> None:
        for counter in self._counters:
            counter.free()

    def _wait(self, request: Any, max_sleep: float = 1e-3) -> None:
        """Wait for a request and leave the core alone: sleep an eighth of the time so far, at most `max_sleep`."""
        start = time.monotonic()
        while not request.Test():
            time.sleep(min(20e-6 + (time.monotonic() - start) / 8, max_sleep))


def connect() -> Comm:
    """Return the communicator of this job: MPI if a launcher started several processes, else this process alone."""
    several = launched_size() > 1 or ("PMIX_RANK" in os.environ and "OMPI_COMM_WORLD_SIZE" not in os.environ)
    comm: Comm = MPIComm() if several else Comm()
    expected = int(os.environ.get("MINITRPO_RANKS", comm.size))  # set by jobs.mpiexec
    if comm.size != expected:
        raise RuntimeError(f"{expected} ranks were started and this one sees {comm.size}: mpiexec is not mpi4py's own")
    return comm


def flat(arrays: Nested) -> Arrays:
    """Return nested arrays in one dict, under joined names; a dict without arrays leaves its name."""
    row: Arrays = {}
    for name, value in arrays.items():
        if not isinstance(value, dict):
            row[name] = value
        else:
            row |= {name + JOINT + within: array for within, array in flat(value or {"": np.zeros(0)}).items()}
    return row


def nested(arrays: Arrays) -> Nested:
    """Return what `flat` has joined."""
    tree: Nested = {}
    for joined, array in arrays.items():
        *path, last = joined.split(JOINT)
        branch = tree
        for name in path:
            branch = branch.setdefault(name, {})
        if last or not path:  # else: a dict without arrays
            branch[last] = array
    return tree


def packed(thing: Any) -> Array:
    """Return what is to travel between the ranks of a job as bytes, (n,) uint8."""
    return np.frombuffer(bytearray(pickle.dumps(thing, protocol=5)), np.uint8)


def unpacked(buffer: Array) -> Any:
    """Return what `packed` made bytes of."""
    return pickle.loads(buffer.data)  # noqa: S301 # another rank of the same job has sent it


# --- a request that cannot be met is refused on all ranks alike


def on_root(comm: Comm, work: Callable[[], Result]) -> Result:
    """Work on the root alone; collective.

    Args:
        comm: all ranks that call this.
        work: what the root does.

    Returns:
        What `work` returned on the root, on every rank.

    Raises:
        BadInput: on every rank, where `work` raised it.

    """
    result, refusal = _attempt(work) if comm.rank == 0 else (None, "")
    result, refusal = comm.broadcast((result, refusal))
    if refusal:
        raise BadInput(refusal)
    return cast(Result, result)


def on_all(comm: Comm, work: Callable[[], Result]) -> Result:
    """Work on every rank; collective.

    Args:
        comm: all ranks that call this.
        work: what every rank does.

    Returns:
        What `work` returned on this rank.

    Raises:
        BadInput: on every rank, where any of them raised it: that of the lowest rank.

    """
    result, refusal = _attempt(work)
    refusals = comm.broadcast([text for text in comm.gather(refusal) if text])
    if refusals:
        raise BadInput(refusals[0])
    return cast(Result, result)


def _attempt(work: Callable[[], Result]) -> tuple[Result | None, str]:
    """Return what `work` returns, or the words with which it refuses."""
    try:
        return work(), ""
    except BadInput as error:
        return None, str(error)
