"""What a rank is doing, in a few integers that its watchdog can read while the rank hangs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from minitrpo.policies import Array

IDLE = -1
MAX_SLOTS = 1024  # of a rank; its watchdog has room for so many
HEAD = 5  # numbers before those of the slots


class Doing(IntEnum):
    """Which call of an environment's, an algorithm's or MPI's a rank is waiting for."""

    NOTHING = 0
    MAKING = 1
    RESETTING = 2
    STEPPING = 3
    CLOSING = 4
    DRAWING = 5
    JOINING = 6
    BEGINNING = 7  # from here on: the algorithm's
    PLANNING = 8
    DIGESTING = 9
    LEARNING = 10
    FITTING = 11
    ASSISTING = 12
    KEEPING = 13
    RESTORING = 14
    GRADIENT = 15
    APPLYING = 16
    DISMISSED = 17  # the rank ends by itself

    @property
    def call(self) -> str:
        """Return the name of the method."""
        environments = ("constructor", "reset", "step", "close", "render", "MPI_Init", "constructor")
        algorithms = ("plan", "digest", "learn", "fit", "assist", "state", "restore", "gradient", "apply")
        return ("", *environments, *algorithms, "")[self]

    @property
    def patient(self) -> bool:
        """Return whether it may rightly take longer than a step of an environment."""
        return Doing.JOINING <= self < Doing.DISMISSED

    @property
    def of_algorithm(self) -> bool:
        """Return whether it is the algorithm that is at work."""
        return Doing.BEGINNING <= self < Doing.DISMISSED


@dataclass(frozen=True)
class RankStatus:
    """What a rank is doing, in plain integers; a watchdog may hold the same memory. Episode number -1: slot idle."""

    busy: Array  # (1,): 1 while episodes are being played
    doing: Array  # (1,): the call of an environment's or an algorithm's that has not returned
    heartbeat: Array  # (1,): such calls so far
    stepping: Array  # (1,): the slot whose environment is at work, -1 if that is not known
    iteration: Array  # (1,): the update for which episodes are being collected
    keys: Array  # (W,): the first part of each episode's key: the iteration, or 0 where episodes outlast one
    numbers: Array  # (W,): the second part, the episode number

    @staticmethod
    def size(width: int) -> int:
        """Return how many int64 the status of a rank with this many slots takes."""
        return HEAD + 2 * width

    @classmethod
    def on(cls, memory: Array) -> "RankStatus":
        """Return a status of idle slots on a vector of int64."""
        status = cls.reading(memory)
        memory[:] = 0
        status.stepping[:], status.numbers[:] = IDLE, IDLE
        return status

    @classmethod
    def reading(cls, memory: Array) -> "RankStatus":
        """Return the status that stands on a vector of int64."""
        width = (len(memory) - HEAD) // 2
        busy, doing, heartbeat, stepping, iteration = (memory[i : i + 1] for i in range(HEAD))
        keys, numbers = memory[HEAD : HEAD + width], memory[HEAD + width :]
        return cls(busy, doing, heartbeat, stepping, iteration, keys, numbers)

    def of(self, width: int) -> "RankStatus":
        """Return the same status with `width` slots; it may have more."""
        return replace(self, keys=self.keys[:width], numbers=self.numbers[:width])

    @classmethod
    def private(cls, width: int = 0) -> "RankStatus":
        """Return a status that no watchdog reads."""
        return cls.on(np.zeros(cls.size(width), np.int64))

    def begin(self, call: Doing, slot: int = IDLE) -> None:
        """Say that an environment is asked for something now, the one in `slot` or all of them; or the algorithm."""
        self.stepping[0], self.doing[0] = slot, call
        self.heartbeat[0] += 1

    def end(self) -> None:
        """Say that it has answered."""
        self.stepping[0], self.doing[0] = IDLE, Doing.NOTHING

    @contextmanager
    def at(self, call: Doing) -> Iterator[None]:
        """Say so for the body of a `with`."""
        self.begin(call)
        try:
            yield
        finally:
            self.end()

    def episodes(self) -> list[tuple[int, int]]:
        """Return (key, number) of the episode whose environment is at work, or of all that are being played."""
        playing = self.numbers != IDLE
        if self.stepping[0] != IDLE:
            playing = np.arange(len(self.numbers)) == self.stepping[0]
        return list(zip(self.keys[playing].tolist(), self.numbers[playing].tolist(), strict=True))
