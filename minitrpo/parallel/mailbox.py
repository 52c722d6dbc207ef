"""A parameter server over messages: rank 0 has the parameters, rank r is worker r - 1. Works across machines.

A push needs no answer. The server answers a pull when the worker may go on, with the arrays, or with nothing when the
work is over. A waiting process sleeps, so that the server's core is free while the workers compute.

There may be several servers. Server k then keeps the k-th part of theta and of the arrays that have its shape.
The shards of one pull may have different versions, and the servers may refuse different gradients: they do not
synchronise, as in Dean et al. 2012 and Nair et al. 2015. Arrays of theta's shape are split over the servers; of all
other arrays every server has its own copy.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.parallel.comm import Comm, packed, unpacked
from minitrpo.parallel.parameter_server import Arrays, ParameterServer, Pulled
from minitrpo.policies import Array

PUSH, PULL, ANSWER, QUESTION = 1, 2, 3, 7  # tags
LEAVE, COLLECT, END = 4, 5, 6  # and of several servers: a worker goes; rank 0 wants a share; it needs it no more
NO_BYTES = np.zeros(0, np.uint8)
VERSION = ":version"  # in a message, next to its arrays
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

    def wait(self, source: int, look: Callable[[], None] = lambda: None) -> Array:
        """Return the bytes of the next message from `source`; look: called until it has come."""

        def received() -> tuple[int, int, Array] | None:
            look()
            return self.receive(source)

        return np.asarray(until(received)[2])

    def close(self) -> None:
        """Wait until everything sent was received; collective."""
        for request, _ in self._sent.values():
            until(request.Test)
        self._comm.Free()


def share_of(arrays: Arrays, size: int, server: int, servers: int) -> Arrays:
    """Return server k's own arrays: a part of those of shape (size,), and all others as they are."""
    return {
        name: np.array_split(array, servers)[server].copy() if array.shape == (size,) else array
        for name, array in arrays.items()
    }


class MailStore:
    """A worker's connection to the server on rank 0, or to K servers, ranks 0 to K - 1; rank 0 ends the work."""

    def __init__(self, mail: Mail, look: Callable[[], None] = lambda: None, servers: int = 1, size: int = 0) -> None:
        """servers: K; look: called after each push, and while this worker waits; size: of theta, if K > 1."""
        self._mail, self._look, self._size, self._versions = mail, look, size, [0] * servers

    def pull(self) -> Pulled | None:
        """Ask for the arrays, sleep until the answers come, and join the shards."""
        shares: list[Arrays] = []
        for server in range(len(self._versions)):
            self._mail.send(server, PULL, NO_BYTES)
            message = self._mail.wait(server, self._look)
            if not len(message):  # rank 0 says that the work is over
                for other in range(1, len(self._versions)):
                    self._mail.send(other, LEAVE, NO_BYTES)
                return None
            shares.append(unpacked(message))
            self._versions[server] = int(shares[-1].pop(VERSION)[0])
        whole = {name: np.concatenate([share[name] for share in shares]) for name in shares[-1]}
        return Pulled(shares[0] | whole, self._versions[0])

    def push(self, gradient: Arrays, version: int) -> None:
        """Send every server its part of a gradient, with the version that its share had, and go on at once."""
        for server, version in enumerate(self._versions):
            part = share_of(gradient, self._size, server, len(self._versions))
            self._mail.send(server, PUSH, packed({**part, VERSION: np.array([version])}))
        self._look()


def serve(
    mail: Mail,
    server: ParameterServer,
    workers: int,
    names: tuple[str, ...],
    over: Callable[[], bool],
    look: Callable[[], None] = lambda: None,
    first: int = 1,
    collected: tuple[str, ...] | None = None,
) -> None:
    """Answer the workers until each of them knows that the work is over; on rank 0.

    names: of the arrays that a pull brings. look: called after each push. first: the rank of worker 0. collected: on a
    server other than rank 0, the arrays that rank 0 collects; that server serves until rank 0 ends it.
    """
    waiting, there, needed = set[int](), set(range(workers)), collected is not None
    while there or needed:
        rank, tag, message = until(mail.receive)
        worker = rank - first
        if tag == PUSH:
            gradient = unpacked(message)
            server.push(worker, gradient, int(gradient.pop(VERSION)[0]))
            look()
        elif tag == PULL:
            waiting.add(worker)
        elif tag == LEAVE:
            server.leave(worker)
            there.remove(worker)
        elif tag == COLLECT:
            mail.send(rank, ANSWER, packed({name: server.shared[name] for name in collected or ()}))
        needed = needed and tag != END
        for worker in sorted(waiting):
            if over():
                server.leave(worker)
                there.remove(worker)
                mail.send(worker + first, ANSWER, NO_BYTES)
            elif server.may_pull(worker):
                pulled = server.pull(names)
                mail.send(worker + first, ANSWER, packed({**pulled.arrays, VERSION: np.array([pulled.version])}))
            else:
                continue
            waiting.remove(worker)


def collect_shares(mail: Mail, servers: int, own: Arrays, names: tuple[str, ...]) -> Arrays:
    """Return the arrays that are shared out, put together of what every server has now; on rank 0, whose are `own`."""
    for server in range(1, servers):
        mail.send(server, COLLECT, NO_BYTES)
    parts = [own, *(unpacked(mail.wait(server)) for server in range(1, servers))]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


class Questions:
    """Questions between workers: a learner asks the workers that collect for rows of their replay.

    A worker answers between two gradients of its own, so the wait is at most one gradient long.
    """

    def __init__(self, comm: Comm, first: int, answer: Callable[[Arrays], Arrays]) -> None:
        """Take the rank of worker 0, and what answers a question that is put to this worker; collective."""
        self._mail, self._first, self._answer = Mail(comm), first, answer
        self._comm = comm.native

    def ask(self, questions: dict[int, Arrays]) -> dict[int, Arrays]:
        """Return every worker's answer to the question that it is asked, in their order."""
        for worker, question in questions.items():
            self._mail.send(self._first + worker, QUESTION, packed(question))
        return {worker: unpacked(self._mail.wait(self._first + worker)) for worker in questions}

    def answer(self) -> None:
        """Answer all questions that have come."""
        while (found := self._mail.receive()) is not None:
            rank, _, message = found
            self._mail.send(rank, ANSWER, packed(self._answer(unpacked(message))))

    def close(self) -> None:
        """Answer questions until all ranks have called `close`; collective."""
        everybody = self._comm.Ibarrier()
        while not everybody.Test():
            self.answer()
            time.sleep(200e-6)
        self._mail.close()
