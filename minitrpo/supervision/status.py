"""What this process is doing, in a few integers that its watchdog can read while it hangs. A process has one status."""

import json
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from minitrpo.policies import Array

IDLE = -1
MAX_SLOTS = 1024  # of a rank; its watchdog has no more room
# Where what stands: which of CALLS has not returned; such calls so far; the slot whose environment is at work, IDLE if
# that is not known; for which update episodes are played, -n: in an evaluation after update n
DOING, HEARTBEAT, STEPPING, ITERATION, HEAD = range(5)
WORDS, TEXT = HEAD + 2 * MAX_SLOTS, 32768  # int64; bytes for the description of the job


class Call(NamedTuple):
    """A call that may not return: what its user knows it by, and whose it is."""

    name: str
    whose: str = ""  # environment | algorithm

    @property
    def patient(self) -> bool:
        """Return whether it may rightly take long."""
        return self.whose != "environment"


OURS = ("plan", "prepare", "learn", "state", "restore", "gradient", "apply")
CALLS = {
    "": Call(""),  # none
    "make": Call("constructor", "environment"),
    **{name: Call(name, "environment") for name in ("reset", "step", "close", "render")},
    "MPI_Init": Call("MPI_Init"),
    "begin": Call("constructor", "algorithm"),
    **{name: Call(name, "algorithm") for name in OURS},
}
NUMBERS = {name: number for number, name in enumerate(CALLS)}

_memory: Any = bytearray(8 * WORDS + TEXT)  # that of this process alone, until `share`
_words = memoryview(_memory)[: 8 * WORDS].cast("q")  # HEAD numbers, then the slots' reset seeds and episode numbers


def share() -> None:
    """Begin a status anew, in memory that a process forked from here on reads, too."""
    global _memory, _words
    _memory = mmap.mmap(-1, 8 * WORDS + TEXT)
    _words = memoryview(_memory)[: 8 * WORDS].cast("q")
    _words[STEPPING] = IDLE
    pause()


def begin(call: str, slot: int = IDLE) -> None:
    """Say that one of CALLS is made now: of the environment in `slot` or of all of them, or of the algorithm."""
    _words[STEPPING], _words[DOING] = slot, NUMBERS[call]
    _words[HEARTBEAT] += 1


def end() -> None:
    """Say that it has answered."""
    _words[STEPPING], _words[DOING] = IDLE, 0


@contextmanager
def at(call: str) -> Iterator[None]:
    """Say so for the body of a `with`."""
    begin(call)
    try:
        yield
    finally:
        end()


def play(seeds: Array, numbers: Array, iteration: int) -> None:
    """Say that episodes are being played: reset seed and number (-1: idle) of each slot, for which update."""
    pause()
    _words[ITERATION] = iteration
    slots = np.frombuffer(_words, np.int64)[HEAD:].reshape(2, MAX_SLOTS)
    slots[:, : len(seeds)] = seeds[:MAX_SLOTS], numbers[:MAX_SLOTS]


def occupy(slot: int, seed: int, number: int) -> None:
    """Say that a slot plays another episode from here on, or none (-1)."""
    if slot < MAX_SLOTS:
        _words[HEAD + slot], _words[HEAD + MAX_SLOTS + slot] = seed, number


def pause() -> None:
    """Say that no episode is being played."""
    np.frombuffer(_words, np.int64)[HEAD + MAX_SLOTS :] = IDLE


def describe(**job: Any) -> None:
    """Say what the job is: environment, algorithm, run (the run folder), replay and resume (commands)."""
    text = json.dumps(job).encode()[: TEXT - 1]
    _memory[8 * WORDS : 8 * WORDS + len(text) + 1] = text + b"\0"


def job() -> dict[str, Any]:
    """Return what `describe` said, {} before."""
    text = bytes(_memory[8 * WORDS :]).partition(b"\0")[0]
    return json.loads(text) if text else {}


def now() -> str:
    """Return which of CALLS has not returned, "" if none has been made."""
    return list(CALLS)[_words[DOING]]


def heartbeat() -> int:
    """Return how many calls there were."""
    return _words[HEARTBEAT]


def iteration() -> int:
    """Return the update for which episodes were played last; -n: an evaluation after update n."""
    return _words[ITERATION]


def episodes() -> list[tuple[int, int]]:
    """Return (reset seed, number) of the episode whose environment is at work, or of all that are being played."""
    slots = range(MAX_SLOTS) if _words[STEPPING] == IDLE else [_words[STEPPING]]
    playing = [(_words[HEAD + slot], _words[HEAD + MAX_SLOTS + slot]) for slot in slots]
    return [each for each in playing if each[1] != IDLE]
