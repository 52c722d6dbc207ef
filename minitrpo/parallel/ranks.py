"""Ranks: how many processes there are, which one this is, and how arrays travel between them.

One process needs no MPI: `Alone` does everything in place. `MPIRanks` imports mpi4py when it is made. Waiting sleeps
instead of spinning, so that 8 ranks on 2 cores leave the cores to the ranks that work.
"""

import os
import time
from typing import Any, Protocol

import numpy as np

from minitrpo.parallel.counters import Counter, LocalCounter, WindowCounter
from minitrpo.policies import Array

# How launchers tell a process how many it is one of: MPICH and Intel (PMI), Open MPI, MVAPICH, PMIx under Slurm.
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK")


class Ranks(Protocol):
    """What a parallel program asks of its processes. Rank 0 is the root: it learns, logs and writes."""

    rank: int
    size: int

    def broadcast(self, vector: Array) -> Array: ...
    def broadcast_object(self, thing: Any) -> Any: ...
    def gather_objects(self, thing: Any) -> list[Any]: ...
    def gather_rows(self, array: Array) -> Array: ...
    def broadcast_arrays(self, arrays: dict[str, Array], root: int = 0) -> dict[str, Array]: ...
    def all_gather(self, mine: Array, rows: list[int], like: Array) -> Array: ...
    def barrier(self) -> None: ...
    def wait_for_all(self) -> None: ...
    def counter(self) -> Counter: ...
    def team(self, per_node: int) -> "Ranks | None": ...
    def side(self, first: int) -> "Ranks": ...
    def abort(self, code: int) -> None: ...
    def close(self) -> None: ...


def launched_size() -> int:
    """Return how many processes the launcher says there are; 1 without a launcher."""
    return next((int(os.environ[name]) for name in SIZE_VARIABLES if name in os.environ), 1)


def launched_rank() -> int:
    """Return which process this is according to the launcher, before MPI is initialised; 0 without a launcher."""
    return next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), 0)


def connect() -> Ranks:
    """Return the ranks of this job: MPI if a launcher started several processes, else this process alone."""
    several = launched_size() > 1 or ("PMIX_RANK" in os.environ and "OMPI_COMM_WORLD_SIZE" not in os.environ)
    ranks: Ranks = MPIRanks() if several else Alone()
    expected = int(os.environ.get("MINITRPO_RANKS", ranks.size))  # set by classroom.launch
    if ranks.size != expected:
        raise RuntimeError(f"{expected} ranks were started and this one sees {ranks.size}: mpiexec is not mpi4py's own")
    return ranks


class Alone:
    """One rank in this process, without MPI."""

    rank = 0
    size = 1

    def broadcast(self, vector: Array) -> Array:
        """Return the root's vector."""
        return vector

    def broadcast_object(self, thing: Any) -> Any:
        """Return the root's object."""
        return thing

    def gather_objects(self, thing: Any) -> list[Any]:
        """Return every rank's object."""
        return [thing]

    def gather_rows(self, array: Array) -> Array:
        """Return every rank's rows, one after the other."""
        return array

    def broadcast_arrays(self, arrays: dict[str, Array], root: int = 0) -> dict[str, Array]:
        """Return the root's arrays."""
        return arrays

    def all_gather(self, mine: Array, rows: list[int], like: Array) -> Array:
        """Return everybody's rows on every rank."""
        return mine

    def barrier(self) -> None:
        """Wait for nobody."""

    def wait_for_all(self) -> None:
        """Wait for nobody."""

    def counter(self) -> Counter:
        """Return a counter of one process."""
        return LocalCounter()

    def team(self, per_node: int) -> Ranks | None:
        """Return this rank: it is a team."""
        return self

    def side(self, first: int) -> Ranks:
        """Return this rank: it is all there is of a side."""
        return self

    def abort(self, code: int) -> None:
        """End the process."""
        raise SystemExit(code)

    def close(self) -> None:
        """Give nothing back: nothing was taken."""


class MPIRanks:
    """The processes of a communicator, MPI.COMM_WORLD if none is given; upper-case calls send numpy buffers."""

    def __init__(self, comm: Any = None) -> None:
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._comm = MPI.COMM_WORLD if comm is None else comm
        self.rank: int = self._comm.rank
        self.size: int = self._comm.size
        self._counters: list[WindowCounter] = []

    def broadcast(self, vector: Array) -> Array:
        """Return the root's vector of float64; the others pass one of any length."""
        length = np.array([len(vector)], np.int64)
        self._wait(self._comm.Ibcast(length, root=0))
        buffer = vector if self.rank == 0 else np.empty(int(length[0]))
        self._wait(self._comm.Ibcast(buffer, root=0))
        return buffer

    def broadcast_object(self, thing: Any) -> Any:
        """Return the root's object, pickled; for start-up, not for data."""
        return self._comm.bcast(thing, root=0)

    def gather_objects(self, thing: Any) -> list[Any]:
        """Return every rank's object on the root (others: []), pickled; for start-up and reports, not for data."""
        return self._comm.gather(thing, root=0) or []

    def gather_rows(self, array: Array) -> Array:
        """Return every rank's rows, in rank order, on the root; the others get their own back."""
        mine = np.ascontiguousarray(array.view(np.uint8) if array.dtype == bool else array)
        rows = np.zeros(self.size, np.int64)
        self._comm.Gather(np.array([len(mine)], np.int64), rows, root=0)
        if self.rank != 0:
            self._comm.Gatherv(mine, None, root=0)
            return array
        width = int(np.prod(mine.shape[1:]))
        everything = np.empty((int(rows.sum()), *mine.shape[1:]), mine.dtype)
        kind = self._mpi.Datatype.fromcode(mine.dtype.char)
        self._comm.Gatherv(mine, [everything, (rows * width).tolist(), kind], root=0)
        return everything.view(bool) if array.dtype == bool else everything

    def broadcast_arrays(self, arrays: dict[str, Array], root: int = 0) -> dict[str, Array]:
        """Return the arrays of rank `root`, with their names, shapes and dtypes, on every rank. Waits asleep."""
        self.barrier()
        shapes = self._comm.bcast({name: (a.shape, a.dtype) for name, a in arrays.items()}, root)
        if self.rank != root:
            arrays = {name: np.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        for array in arrays.values():
            self._comm.Bcast(array, root)
        return arrays

    def all_gather(self, mine: Array, rows: list[int], like: Array) -> Array:
        """Return everybody's rows, in rank order, on every rank; rows: how many each rank has, like: a row of them.

        Called thousands of times a second by ranks that have a core each: this one wait does not sleep.
        """
        everything = np.empty((sum(rows), *like.shape), like.dtype)
        counts, kind = [n * like.size for n in rows], self._mpi.Datatype.fromcode(like.dtype.char)
        self._comm.Allgatherv(mine.astype(like.dtype, copy=False), [everything, counts, kind])
        return everything

    def barrier(self) -> None:
        """Wait, asleep, until every rank is here."""
        self._wait(self._comm.Ibarrier())

    def wait_for_all(self) -> None:
        """Wait for the end of something long, in deep sleep: a barrier that costs the other ranks nothing."""
        self._wait(self._comm.Ibarrier(), longest=0.05)

    def counter(self) -> Counter:
        """Return a counter that lives in the memory of rank 0; collective."""
        self._counters.append(WindowCounter(self._mpi, self._comm))
        return self._counters[-1]

    def team(self, per_node: int) -> Ranks | None:
        """Return the ranks of which at most `per_node` share a machine, the root among them; None for all others."""
        place = self._comm.Split_type(self._mpi.COMM_TYPE_SHARED, key=self.rank).rank
        some = self._comm.Split(0 if place < per_node else self._mpi.UNDEFINED, key=self.rank)
        return None if some == self._mpi.COMM_NULL else MPIRanks(some)

    def side(self, first: int) -> Ranks:
        """Return the ranks on this one's side: the first `first` ranks, or all others; collective."""
        return MPIRanks(self._comm.Split(int(self.rank >= first), key=self.rank))

    def abort(self, code: int) -> None:
        """End the whole job, as soon as the launcher has passed on what was printed: after that it listens no more."""
        time.sleep(0.3)
        self._comm.Abort(code)

    def close(self) -> None:
        """Free the windows; collective, so only at the end of a job that went well."""
        for counter in self._counters:
            counter.free()

    def _wait(self, request: Any, longest: float = 1e-3) -> None:
        """Wait for a request without burning the core: sleep a little longer each time, `longest` seconds at most."""
        pause = 20e-6
        while not request.Test():
            time.sleep(pause)
            pause = min(2 * pause, longest)
