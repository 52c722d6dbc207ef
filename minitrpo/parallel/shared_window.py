"""Parameters in memory that all ranks of one machine share: a pull copies it, a push writes into it (Hogwild).

There is no lock. Two workers that write the same number at the same instant may lose one of the two changes; Niu et
al. 2011 show when that does no harm. The counts must not be lost, so each worker has its own.
"""

import time
from collections.abc import Callable

import numpy as np

from minitrpo.parallel.comm import Comm
from minitrpo.parallel.parameter_server import Arrays, ParameterServer, Pulled

ALIGNED = 64  # bytes, a cache line: ranks that write different arrays do not slow each other


class SharedWindow:
    """Named arrays that every rank sees and may change; one rank alone has them in its own memory."""

    def __init__(self, comm: Comm, arrays: Arrays) -> None:
        """Share arrays of these shapes and dtypes, with the values they have on rank 0; collective."""
        sizes = [-(-array.nbytes // ALIGNED) * ALIGNED for array in arrays.values()]
        self._window = None
        if comm.native is None:
            memory = np.zeros(sum(sizes), np.uint8)
        else:
            from mpi4py import MPI

            self._window = MPI.Win.Allocate_shared(sum(sizes) if comm.rank == 0 else 0, 1, comm=comm.native)
            buffer, _ = self._window.Shared_query(0)
            memory = np.frombuffer(buffer, np.uint8)  # type: ignore[call-overload]
        self.arrays: Arrays = {}
        start = 0
        for (name, array), size in zip(arrays.items(), sizes, strict=True):
            self.arrays[name] = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            start += size
            if comm.rank == 0:
                self.arrays[name][...] = array
        comm.barrier()

    def free(self) -> None:
        """Give the memory back; collective. No rank may use the arrays afterwards."""
        self.arrays = {}
        if self._window is not None:
            self._window.Free()


class WindowStore:
    """A worker's way to parameters that it can reach itself: `server` stands on the shared arrays."""

    def __init__(
        self,
        server: ParameterServer,
        worker: int,
        names: tuple[str, ...],
        over: Callable[[], bool],
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the worker's number, the names of the arrays it pulls, and what says that the work is over.

        look: called after each push, and while this worker waits for others.
        """
        self._server, self._worker, self._names = server, worker, names
        self._over, self._look = over, look

    def pull(self) -> Pulled | None:
        """Return copies of the arrays as they are now, as soon as this worker is not too far ahead."""
        waiting = {self._worker}
        while True:
            for _, pulled in self._server.admit(waiting, self._names, self._over):
                return pulled
            self._look()
            time.sleep(100e-6)

    def push(self, gradient: Arrays, version: int) -> None:
        """Apply a gradient to the shared arrays."""
        self._server.push(self._worker, gradient, version)
        self._look()
