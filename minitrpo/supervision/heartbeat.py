"""The heartbeat between machines: MPI waits for ever for a failed machine, so the root listens to each of them.

One rank of every machine sends a beat to the root once a second, and the root answers. A machine that loses its power
or its cable closes no connection, so nothing else would report it. Ranks of one machine need no heartbeat.
"""

import os
import signal
import socket
import threading
import time
from contextlib import suppress
from itertools import takewhile
from typing import Any

import numpy as np

from minitrpo.parallel.comm import Comm
from minitrpo.supervision.watchdog import report

BEAT = 1.0  # seconds
TAG, LAST = 1, 2  # a beat, and the one after which none comes
PATIENCE = 2  # times as long as an environment's call may take
GRACE = 3.0  # seconds in which a launcher may end the job by itself
# What stands between a rank and its user, and would wait for the machine that has gone; not a scheduler's own process
LAUNCHERS = ("hydra_pmi_proxy", "mpiexec", "mpiexec.hydra", "mpirun", "orterun", "orted", "prterun", "prted")


class Heartbeat:
    """The heartbeat of a job. All ranks create it; `close` is collective, too, and only for a job without errors."""

    def __init__(self, comm: Comm, stuck_after: float) -> None:
        self._patience = PATIENCE * stuck_after
        self._over, self._thread, self._closed = threading.Event(), None, set[int]()
        if comm.native is None:
            return
        from mpi4py import MPI

        machine = comm.native.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
        several, first = machine.size < comm.size, machine.rank == 0
        self._mates: list[tuple[int, int]] = machine.gather((comm.rank, os.getpid())) or []
        self._leaders: Any = comm.native.Split(0 if several and first else MPI.UNDEFINED, key=comm.rank)
        machine.Free()
        if self._leaders == MPI.COMM_NULL or MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            return
        ranks = ", ".join(str(rank) for rank, _ in self._mates)
        self._names = self._leaders.allgather(f"{socket.gethostname()}, rank {ranks}")
        import psutil

        # the launcher above, while all is well: libraries may lie beyond the network
        self._above = list(takewhile(lambda process: process.name() in LAUNCHERS, psutil.Process().parents()))
        self._peers = range(1, self._leaders.size) if self._leaders.rank == 0 else range(1)
        self._beats: dict[int, Any] = {}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it on all ranks, after each leader has received the last beat of the others."""
        if self._thread is None:
            return
        self._over.set()
        self._thread.join()
        sent = [self._leaders.Isend(np.zeros(1, np.uint8), peer, LAST) for peer in self._peers]
        while len(self._closed) < len(self._peers):
            for peer in self._peers:
                self._hear(peer)
            time.sleep(1e-3)
        for request in (*sent, *self._beats.values()):
            request.Wait()
        self._leaders.Free()

    def _listen(self) -> None:
        """Beat and listen until the end; the time in which this process is suspended does not count."""
        silent, last = dict.fromkeys(self._peers, 0.0), time.monotonic()
        while not self._over.wait(BEAT):
            now = time.monotonic()
            passed, last = min(now - last, 2 * BEAT), now
            for peer in self._peers:
                silent[peer] = 0.0 if self._hear(peer) or peer in self._closed else silent[peer] + passed
                if peer not in self._beats or self._beats[peer].Test():
                    self._beats[peer] = self._leaders.Isend(np.zeros(1, np.uint8), peer, TAG)
                if silent[peer] > self._patience:
                    gone, seconds = self._names[peer], f"{self._patience:g} s"
                    report(f"has heard nothing of {gone}, for {seconds}: that machine, or the network to it, is down")
                    end_machine([process for _, process in self._mates], self._above)

    def _hear(self, peer: int) -> bool:
        """Receive what has come from a leader, and return whether there was anything."""
        from mpi4py import MPI

        status, heard = MPI.Status(), False
        while self._leaders.Iprobe(peer, MPI.ANY_TAG, status):
            self._leaders.Recv(np.zeros(1, np.uint8), peer, status.Get_tag())
            heard = True
            if status.Get_tag() == LAST:
                self._closed.add(peer)
        return heard


def end_machine(ranks: list[int], above: list[Any]) -> None:
    """End the ranks of this machine, this one last, and the launchers above it that still wait for another machine."""
    if os.fork() == 0:  # who ends all others must outlive them
        os.setsid()
        for rank in ranks:
            with suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
        time.sleep(GRACE)
        for process in above:
            with suppress(Exception):  # it has ended
                process.kill()
        os._exit(0)
