"""Lecture 15: what messages cost here: mpiexec -n 2 python minitrpo/course/scaling/messages.py PARAMETERS ROUNDS.

Rank 0 prints JSON: seconds of mpi4py's own collectives for several sizes, of a draw from the pool's counter, and of an
iteration's messages as this package sends them. All are wall-clock: only a quiet machine says something.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minitrpo.course.scaling.inputs import Line, fitted, medians
from minitrpo.parallel.comm import MPIComm

SIZES = tuple(8 * 8**k for k in range(8))  # bytes: 8 to 16 Mi
DRAWS = 500
NAP = 0.003  # seconds that the others wait for the root: longer than the longest sleep of a waiting rank


def slowest(comm: MPIComm, seconds: float) -> float:
    """Return the longest time of any rank, on all."""
    return max(comm.native.allgather(seconds))


def timed(comm: MPIComm, work: Callable[[], Any], again: int) -> list[float]:
    """Return the seconds of `again` calls that all ranks begin together, of the slowest rank each."""
    found = []
    for _ in range(again):
        comm.native.Barrier()
        began = time.perf_counter()
        work()
        found.append(slowest(comm, time.perf_counter() - began))
    return found


def collectives(comm: MPIComm, again: int) -> dict[str, dict[str, list[float]]]:
    """Return {"allreduce": {"8": [seconds, ...], ...}, ...} of mpi4py's own calls."""
    native = comm.native
    found: dict[str, dict[str, list[float]]] = {"broadcast": {}, "gather": {}, "allreduce": {}}
    for size in SIZES:
        own, others = np.zeros(size // 8), np.zeros(size // 8)
        all_of_them = np.zeros((comm.size, size // 8)) if comm.rank == 0 else None
        calls = {
            "broadcast": partial(native.Bcast, own, 0),
            "gather": partial(native.Gather, own, all_of_them, 0),
            "allreduce": partial(native.Allreduce, own, others),
        }
        for name, call in calls.items():
            found[name][str(size)] = timed(comm, call, again if size < 1e6 else max(5, again // 5))
    return found


def draws(comm: MPIComm, again: int) -> list[float]:
    """Return the seconds for which the counter is taken by one draw: all ranks draw as quickly as they can."""
    counter = comm.counter()

    def many() -> None:
        for _ in range(DRAWS):
            counter.next()

    return [seconds / (DRAWS * comm.size) for seconds in timed(comm, many, max(5, again // 10))]


def exchanges(comm: MPIComm, parameters: int, again: int) -> list[float]:
    """Return the root's seconds for the messages of an iteration without experience: theta out, a barrier, a gather."""
    theta, found = {"theta": np.zeros(parameters)}, []
    for _ in range(again):
        comm.native.Barrier()
        if comm.rank == 0:
            time.sleep(NAP)  # as if it learned; the others go to sleep
        began = time.perf_counter()
        comm.broadcast(theta)
        comm.barrier()
        comm.gather({"none": np.zeros(1)})
        found.append(time.perf_counter() - began)
    return found


def main(parameters: int, again: int) -> dict[str, Any]:
    """Return everything, on the root; {} on the others."""
    comm = MPIComm()
    raw, alone = collectives(comm, again), np.zeros((1, 64))
    short = timed(comm, lambda: comm.all_gather(alone, [1] * comm.size), again)
    line = Line(*fitted(raw["broadcast"])["line"])
    content = {
        "ranks": comm.size,
        "network": [line.fixed, line.each],
        "collectives": {name: {size: medians(s) for size, s in seconds.items()} for name, seconds in raw.items()},
        "draw": medians(draws(comm, again)),
        "exchange": medians(exchanges(comm, parameters, again)),
        "all_gather": medians(short),
    }
    comm.close()
    return content if comm.rank == 0 else {}


if __name__ == "__main__":
    measured = main(int(sys.argv[1]), int(sys.argv[2]))
    if measured:
        print(json.dumps(measured))
