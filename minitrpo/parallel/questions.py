"""What workers ask each other: a learner asks for rows of the replay that lies spread over those who collect.

A worker answers between two gradients of its own, so nobody is interrupted, and who asks waits for no more than one.
"""

import time
from collections.abc import Callable

import numpy as np

from minitrpo.parallel.comm import Comm, packed, unpacked
from minitrpo.parallel.mailbox import Mail, until
from minitrpo.parallel.parameter_server import Arrays
from minitrpo.policies import Array

QUESTION, ANSWER = 1, 2  # tags


class Questions:
    """The questions and answers of one worker."""

    def __init__(self, comm: Comm, first: int, answer: Callable[[Arrays], Arrays]) -> None:
        """Take the rank of worker 0, and what answers a question that is put to this worker; collective."""
        self._mail, self._first, self._answer = Mail(comm), first, answer
        self._comm = comm.native

    def ask(self, questions: dict[int, Arrays]) -> dict[int, Arrays]:
        """Return every worker's answer to the question that it is asked, in their order."""
        for worker, question in questions.items():
            self._mail.send(self._first + worker, QUESTION, packed(question))
        return {worker: unpacked(self._reply_of(worker)) for worker in questions}

    def answer(self) -> None:
        """Answer all questions that have come."""
        while (found := self._mail.receive()) is not None:
            rank, _, message = found
            self._mail.send(rank, ANSWER, packed(self._answer(unpacked(message))))

    def close(self) -> None:
        """Go on answering until nobody has a question any more; collective."""
        everybody = self._comm.Ibarrier()
        while not everybody.Test():
            self.answer()
            time.sleep(200e-6)
        self._mail.close()

    def _reply_of(self, worker: int) -> Array:
        found = until(lambda: self._mail.receive(self._first + worker))
        return np.asarray(found[2])
