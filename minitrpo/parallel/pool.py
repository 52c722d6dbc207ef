"""Lecture 07: the pool of episode requests, from which ranks draw; and the static split to compare it with.

Which rank plays an episode is a question of speed alone: its number decides all of its random numbers.
"""

from collections.abc import Callable

from minitrpo.parallel.ranks import Ranks

Draw = Callable[[], int | None]


class DynamicPool:
    """Requests 0 .. n-1 in one pool; a rank that is free takes the next (Frans & Hafner 2016, section 5)."""

    def __init__(self, ranks: Ranks) -> None:
        self._counter = ranks.counter()
        self._root = ranks.rank == 0

    def refill(self) -> None:
        """Put all requests back; the root calls it before it broadcasts the plan of an iteration."""
        if self._root:
            self._counter.reset()

    def draw_from(self, requests: int) -> Draw:
        """Return a function that gives the next request's number, or None when the pool is empty."""

        def draw() -> int | None:
            number = self._counter.next()
            return number if number < requests else None

        return draw


class StaticPool:
    """Requests dealt out beforehand: rank r plays r, r + size, r + 2 size, ..."""

    def __init__(self, ranks: Ranks) -> None:
        self._rank, self._size = ranks.rank, ranks.size

    def refill(self) -> None:
        """Do nothing: every iteration deals afresh."""

    def draw_from(self, requests: int) -> Draw:
        """Return a function that gives this rank's next request, or None when it has played its share."""
        mine = iter(range(self._rank, requests, self._size))
        return lambda: next(mine, None)


Pool = DynamicPool | StaticPool


def at_once(requests: int, ranks: int, width: int) -> int:
    """Return how many episodes a rank should have in hand: as few as finish its fair share in as few rounds.

    requests: of all ranks; width: how many episodes a rank can play side by side, at most. Returns 1 if there is
    nothing to play. Taking all the lanes it has would let the first rank empty the pool while the others look on.
    """
    # 1. a rank's fair share of the requests, rounded up
    share = -(-requests // ranks)
    # 2. the fewest rounds in which it can play them, `width` at a time
    rounds = -(-share // width)
    # 3. the fewest in hand for which that many rounds are enough
    return -(-share // rounds) if share else 1


def lanes_of(rank: int, ranks: int, lanes: int) -> range:
    """Return the consecutive lanes of 0 .. lanes-1 that a rank owns when requests are segments, rank 0 the first.

    Shares differ by at most one lane. The root gathers rank by rank, so the lanes arrive there in order.
    """
    return range(rank * lanes // ranks, (rank + 1) * lanes // ranks)


def requests_for(steps: int, mean_length: float) -> int:
    """Return how many episodes to request for about `steps` steps: the nearest whole number, and at least 1.

    Source: Frans & Hafner 2016, section 5: the desired steps divided by the mean length under the previous policy.
    """
    return max(1, round(steps / mean_length))
