"""A parameter server over messages: rank 0 has the parameters, rank r is worker r - 1. Works across machines.

A push needs no answer. A pull is answered when its worker may go on, with the arrays, or with nothing when the work is
over. Whoever waits sleeps, so that the server's core is free while the workers compute.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.parallel.comm import Comm
from minitrpo.parallel.packing import packed, unpacked
from minitrpo.parallel.parameter_server import Arrays, ParameterServer, Pulled
from minitrpo.policies import Array

PUSH, PULL, ANSWER = 1, 2, 3  # tags
VERSION = ":version"  # beside the arrays of a message
MAX_SLEEP = 200e-6  # seconds: a worker is waiting for the answer


def until(ask: Callable[[], Any]) -> Any:
    """Return the first answer that is not false; sleep a little longer after each that is."""
    pause = 20e-6
    while not (answer := ask()):
        time.sleep(pause)
        pause = min(2 * pause, MAX_SLEEP)
    return answer


class Mail:
    """Messages of bytes between ranks, of sizes that the receiver need not know."""

    def __init__(self, comm: Comm) -> None:
        from mpi4py import MPI

        self._mpi, self._comm = MPI, comm.native.Dup()
        self._sent: dict[int, tuple[Any, Array]] = {}  # by receiver: the last message, which must stay until it is read

    def send(self, to: int, tag: int, message: Array) -> None:
        """Send bytes (n,) uint8; wait, asleep, for the message before it to the same rank to have left."""
        if to in self._sent:
            until(self._sent[to][0].Test)
        self._sent[to] = (self._comm.Isend([message, self._mpi.BYTE], to, tag), message)

    def receive(self, source: int | None = None) -> tuple[int, int, Array] | None:
        """Return (rank, tag, bytes) of a message that has come, from anybody or from `source`; else None."""
        status = self._mpi.Status()
        found = self._comm.Improbe(self._mpi.ANY_SOURCE if source is None else source, self._mpi.ANY_TAG, status)
        if found is None:
            return None
        buffer = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
        found.Recv([buffer, self._mpi.BYTE])
        return status.Get_source(), status.Get_tag(), buffer

    def close(self) -> None:
        """Wait until everything sent was received; collective."""
        for request, _ in self._sent.values():
            until(request.Test)
        self._comm.Free()


class MailStore:
    """A worker's way to the server on rank 0."""

    def __init__(self, mail: Mail) -> None:
        self._mail = mail

    def pull(self) -> Pulled | None:
        """Ask for the arrays and wait, asleep, for the answer."""
        self._mail.send(0, PULL, np.zeros(0, np.uint8))
        _, _, message = until(lambda: self._mail.receive(0))
        if len(message) == 0:
            return None
        arrays = unpacked(message)
        return Pulled(arrays, int(arrays.pop(VERSION)[0]))

    def push(self, gradient: Arrays, version: int) -> None:
        """Send a gradient and go on at once."""
        self._mail.send(0, PUSH, packed({**gradient, VERSION: np.array([version])}))


def serve(
    mail: Mail,
    server: ParameterServer,
    workers: int,
    names: tuple[str, ...],
    over: Callable[[], bool],
    look: Callable[[], None] = lambda: None,
) -> None:
    """Answer the workers until each of them has been told that the work is over; on rank 0.

    names: of the arrays that a pull brings. look: called after each push.
    """
    waiting: set[int] = set()
    there = set(range(workers))
    while there:
        rank, tag, message = until(mail.receive)
        worker = rank - 1
        if tag == PUSH:
            gradient = unpacked(message)
            server.push(worker, gradient, int(gradient.pop(VERSION)[0]))
            look()
        else:
            waiting.add(worker)
        for worker in sorted(waiting):
            if over():
                server.leave(worker)
                mail.send(worker + 1, ANSWER, np.zeros(0, np.uint8))
                there.remove(worker)
            elif server.may_pull(worker):
                pulled = server.pull(names)
                mail.send(worker + 1, ANSWER, packed({**pulled.arrays, VERSION: np.array([pulled.version])}))
            else:
                continue
            waiting.remove(worker)
