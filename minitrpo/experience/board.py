"""The board: what a rank is doing, in a few integers that its watchdog can read while the rank hangs."""

from dataclasses import dataclass

import numpy as np

from minitrpo.policies import Array

IDLE = -1


@dataclass(frozen=True)
class Board:
    """What a rank is doing, in plain integers; a watchdog may hold the same memory. Episode number -1: lane idle."""

    busy: Array  # (1,): 1 while environments are being stepped
    beats: Array  # (1,): lockstep ticks so far
    stepping: Array  # (1,): the lane whose environment is at work, -1 if that is not known
    iterations: Array  # (W,): first half of each lane's key
    numbers: Array  # (W,): second half, the episode number

    @staticmethod
    def size(width: int) -> int:
        """Return how many int64 a board of this width takes."""
        return 3 + 2 * width

    @classmethod
    def on(cls, memory: Array) -> "Board":
        """Return a board of idle lanes on a vector of int64."""
        board = cls.reading(memory)
        memory[:] = 0
        board.stepping[:], board.numbers[:] = IDLE, IDLE
        return board

    @classmethod
    def reading(cls, memory: Array) -> "Board":
        """Return the board that stands on a vector of int64."""
        width = (len(memory) - 3) // 2
        return cls(memory[:1], memory[1:2], memory[2:3], memory[3 : 3 + width], memory[3 + width :])

    def episodes(self) -> list[tuple[int, int]]:
        """Return (iteration, number) of the episode whose environment is at work, or of all that are being played."""
        playing = self.numbers != IDLE
        if self.stepping[0] != IDLE:
            playing = np.arange(len(self.numbers)) == self.stepping[0]
        return list(zip(self.iterations[playing].tolist(), self.numbers[playing].tolist(), strict=True))
