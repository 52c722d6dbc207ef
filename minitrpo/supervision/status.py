"""What a rank is doing, in a few integers that its watchdog can read while the rank hangs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from minitrpo.policies import Array
from minitrpo.supervision.stderr import say

IDLE = -1
MAX_SLOTS = 1024  # of a rank; its watchdog has room for so many
HEAD = 6  # numbers before those of the slots


class Call(NamedTuple):
    """A call that may not return: what its user knows it by, whose it is, and whether it may rightly take long."""

    name: str
    whose: str = ""  # environment | algorithm
    patient: bool = False


OURS = ("plan", "digest", "learn", "assist", "state", "restore", "gradient", "apply")
CALLS = {
    "": Call(""),  # none
    "make": Call("constructor", "environment"),
    **{name: Call(name, "environment") for name in ("reset", "step", "close", "render")},
    "MPI_Init": Call("MPI_Init", patient=True),
    "begin": Call("constructor", "algorithm", patient=True),
    **{name: Call(name, "algorithm", patient=True) for name in OURS},
    "dismissed": Call(""),  # the rank ends by itself
}
NUMBERS = {name: number for number, name in enumerate(CALLS)}


@dataclass(frozen=True)
class RankStatus:
    """What a rank is doing, in plain integers; a watchdog may hold the same memory. Episode number -1: slot idle."""

    busy: Array  # (1,): 1 while episodes are being played
    doing: Array  # (1,): the call of an environment's or an algorithm's that has not returned
    heartbeat: Array  # (1,): such calls so far
    stepping: Array  # (1,): the slot whose environment is at work, -1 if that is not known
    strayed: Array  # (1,): 1 when a process that this one's environment forked has come back, and was ended
    iteration: Array  # (1,): the update for which episodes are being collected; -n: an evaluation after update n
    seeds: Array  # (W,): with which each slot's environment was reset
    numbers: Array  # (W,): the number of each slot's episode
    process: int = field(default_factory=os.getpid)  # whose calls these are

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
        busy, doing, heartbeat, stepping, strayed, iteration = (memory[i : i + 1] for i in range(HEAD))
        seeds, numbers = memory[HEAD : HEAD + width], memory[HEAD + width :]
        return cls(busy, doing, heartbeat, stepping, strayed, iteration, seeds, numbers)

    def of(self, width: int) -> "RankStatus":
        """Return the same status with `width` slots; it may have more."""
        return replace(self, seeds=self.seeds[:width], numbers=self.numbers[:width])

    @classmethod
    def private(cls, width: int = 0) -> "RankStatus":
        """Return a status that no watchdog reads."""
        return cls.on(np.zeros(cls.size(width), np.int64))

    def begin(self, call: str, slot: int = IDLE) -> None:
        """Say that one of CALLS is made now: of the environment in `slot` or of all of them, or of the algorithm."""
        self.stepping[0], self.doing[0] = slot, NUMBERS[call]
        self.heartbeat[0] += 1

    def end(self) -> None:
        """Say that it has answered."""
        self.stay()
        self.stepping[0], self.doing[0] = IDLE, 0

    def stay(self) -> None:
        """End this process if it was forked within the call and has come back from it: there must not be two of us."""
        if os.getpid() != self.process:
            if not self.strayed[0]:
                self.strayed[0] = 1
                say("minitrpo: a process that was forked in a call came back from it, and was ended: use os._exit")
            os._exit(1)

    @contextmanager
    def at(self, call: str) -> Iterator[None]:
        """Say so for the body of a `with`."""
        self.begin(call)
        try:
            yield
        finally:
            self.end()

    @property
    def now(self) -> str:
        """Return which of CALLS has not returned, "" if none has been made."""
        return list(CALLS)[int(self.doing[0])]

    def episodes(self) -> list[tuple[int, int]]:
        """Return (reset seed, number) of the episode whose environment is at work, or of all that are being played."""
        playing = self.numbers != IDLE
        if self.stepping[0] != IDLE:
            playing = np.arange(len(self.numbers)) == self.stepping[0]
        return list(zip(self.seeds[playing].tolist(), self.numbers[playing].tolist(), strict=True))
