"""Lecture 15: the heart of the simulator: a pool of episodes, played on a clock that is imagined."""

import heapq
from collections.abc import Sequence


def makespan(lengths: Sequence[float], ranks: int, draw: float = 0.0) -> float:
    """Return when the last of the ranks is done, which draw these episodes, in their order, from one pool.

    lengths: seconds of each episode, (E,). draw: seconds in which the pool's counter serves one rank and keeps the
    others waiting; whoever comes first is served first. A rank that finds the pool empty is done at once. Without an
    episode it is 0.
    """
    # 1. at time 0 all ranks are free, and so is the counter
    free = [0.0] * ranks  # a heap: its least element is always free[0]
    counter = 0.0
    for length in lengths:
        # 2. the rank that is free first comes to the counter, and waits until it is served
        now = heapq.heappop(free)
        counter = max(now, counter) + draw
        # 3. it plays, and is free again
        heapq.heappush(free, counter + length)
    # 4. the last one ends the rollout
    return max(free)
