"""A parameter server over messages: rank 0 has the parameters, rank r is worker r - 1. Works across machines.

A push needs no answer. The server answers a pull when the worker may go on, with the arrays, or with nothing when the
work is over. A waiting process sleeps, so that the server's core is free while the workers compute.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.parallel.comm import Comm, packed, unpacked
from minitrpo.parallel.parameter_server import Arrays, ParameterServer, Pulled
from minitrpo.policies import Array

PUSH, PULL, ANSWER = 1, 2, 3  # tags: a gradient; a question; the reply to one
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
        message = self._comm.Improbe(self._mpi.ANY_SOURCE if source is None else source, self._mpi.ANY_TAG, status)
        if message is None:
            return None
        buffer = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
        message.Recv([buffer, self._mpi.BYTE])
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


class MailStore:
    """A worker's connection to the server on rank 0, which also says when the work is over."""

    def __init__(self, mail: Mail, look: Callable[[], None] = lambda: None) -> None:
        """look: called after each push, and while this worker waits."""
        self._mail, self._look = mail, look

    def pull(self) -> Pulled | None:
        """Ask for the arrays, and sleep until they come; None if the work is over."""
        self._mail.send(0, PULL, NO_BYTES)
        message = self._mail.wait(0, self._look)
        if not len(message):
            return None
        arrays = unpacked(message)
        version = int(arrays.pop(VERSION)[0])
        return Pulled(arrays, version)

    def push(self, gradient: Arrays, version: int) -> None:
        """Send a gradient, and go on at once."""
        self._mail.send(0, PUSH, packed({**gradient, VERSION: np.array([version])}))
        self._look()


def serve(
    mail: Mail,
    server: ParameterServer,
    workers: int,
    names: tuple[str, ...],
    over: Callable[[], bool],
    look: Callable[[], None] = lambda: None,
) -> None:
    """Answer the workers until each of them knows that the work is over; on rank 0.

    Args:
        mail: the messages between rank 0 and the workers, worker w on rank w + 1.
        server: what becomes of gradients.
        workers: how many there are.
        names: of the arrays that a pull brings.
        over: says whether the work is over.
        look: called after each push.

    """
    waiting = set[int]()
    while workers > 0:
        # 1. the next message: a gradient, or a worker that waits for parameters
        rank, tag, message = until(mail.receive)
        if tag == PUSH:
            gradient = unpacked(message)
            version = int(gradient.pop(VERSION)[0])
            server.push(rank - 1, gradient, version)
            look()
        else:
            waiting.add(rank - 1)
        # 2. those that may go on, and those that may leave
        for worker, pulled in server.admit(waiting, names, over):
            if pulled is None:
                workers -= 1
                mail.send(worker + 1, ANSWER, NO_BYTES)
            else:
                mail.send(worker + 1, ANSWER, packed({**pulled.arrays, VERSION: np.array([pulled.version])}))


class ReplayMail:
    """Messages between workers: a learner asks the workers that act for rows of their replay.

    A worker answers between two gradients of its own, so a learner waits at most as long as one gradient takes.
    """

    def __init__(self, comm: Comm, first: int) -> None:
        """Take the rank of worker 0; collective."""
        self._mail, self._first, self._comm = Mail(comm), first, comm.native

    def ask(self, questions: dict[int, Arrays]) -> dict[int, Arrays]:
        """Send every worker its question, and return their replies by worker."""
        for worker, question in questions.items():
            self._mail.send(self._first + worker, PULL, packed(question))
        return {worker: unpacked(self._mail.wait(self._first + worker)) for worker in questions}

    def answer(self, reply: Callable[[Arrays], Arrays]) -> None:
        """Reply to all questions that have come."""
        received = self._mail.receive()
        while received is not None:
            rank, _, question = received
            self._mail.send(rank, ANSWER, packed(reply(unpacked(question))))
            received = self._mail.receive()

    def close(self, answer: Callable[[], None]) -> None:
        """Call `answer` until all ranks have called `close`; collective."""
        all_here = self._comm.Ibarrier()
        while not all_here.Test():
            answer()
            time.sleep(MAX_SLEEP)
        self._mail.close()
