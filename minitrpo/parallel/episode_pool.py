"""Lecture 07b: the pool of episode requests, from which ranks draw; and the static split to compare it with.

Which rank plays an episode is a question of speed alone: its number decides all of its random numbers.
"""

from collections.abc import Callable
from typing import TypeVar

from minitrpo.parallel.comm import Comm, Counter

Draw = Callable[[], int | None]
Episode = TypeVar("Episode")


def play_requests(counter: Counter, requests: int, play: Callable[[int], Episode]) -> list[tuple[int, Episode]]:
    """Play episodes as long as there are requests, and return the episodes of this rank with their numbers.

    All ranks call this function at the same time, and all draw from one counter. A rank draws the next number only when
    it has played the episode before, so that a slow rank leaves requests to the others. `Rollouts.play` is the same
    loop for several episodes side by side.

    Args:
        counter: `counter.next()` returns 0, 1, 2, ...; each number goes to one rank only.
        requests: the episodes 0 .. requests-1 are to be played, and no others.
        play: `play(number)` plays the episode of this number and returns it.

    Returns:
        The pairs (number, episode) of this rank, in the order in which it played them; [] if it played none.
    """
    played = []
    # 1. draw a number
    number = counter.next()
    # 2. while there is a request of this number: play its episode, keep both, draw the next number
    while number < requests:
        played.append((number, play(number)))
        number = counter.next()
    return played


def gather_in_order(comm: Comm, played: list[tuple[int, Episode]]) -> list[Episode]:
    """Return the episodes of all ranks, in the order of their numbers, on rank 0; collective.

    Args:
        comm: `comm.rank` is the number of this rank; `comm.gather(thing)` returns a list with the things of all ranks
            on rank 0, and nothing of use on the others.
        played: the pairs (number, episode) of this rank, which stay as they are; no number occurs twice.

    Returns:
        On rank 0 all episodes, without their numbers, that of the smallest number first; [] on the other ranks.
    """
    # 1. bring the lists of all ranks to rank 0; a rank that has played nothing brings an empty list
    parts = comm.gather(played)
    # 2. the other ranks are done
    if comm.rank != 0:
        return []
    # 3. join the lists, sort the pairs by number, and keep the episodes
    pairs = [pair for part in parts for pair in part]
    pairs.sort(key=lambda pair: pair[0])
    return [pair[1] for pair in pairs]


class DynamicPool:
    """Requests 0 .. n-1 in one pool; a rank that is free takes the next (Frans & Hafner 2016, section 5)."""

    def __init__(self, comm: Comm) -> None:
        self._counter = comm.counter()
        self._root = comm.rank == 0

    def refill(self) -> None:
        """Put all requests back; the root calls it before it broadcasts what an iteration is to collect."""
        if self._root:
            self._counter.reset()

    def draw_from(self, requests: int) -> Draw:
        """Return a function that gives the next request's number, or None when the pool is empty."""

        def draw() -> int | None:
            number = self._counter.next()
            return number if number < requests else None

        return draw


class StaticPool:
    """Requests assigned beforehand: rank r plays r, r + size, r + 2 size, ..."""

    def __init__(self, comm: Comm) -> None:
        self._rank, self._size = comm.rank, comm.size

    def refill(self) -> None:
        """Do nothing: every iteration deals afresh."""

    def draw_from(self, requests: int) -> Draw:
        """Return a function that gives this rank's next request, or None when it has played its share."""
        mine = iter(range(self._rank, requests, self._size))
        return lambda: next(mine, None)


Pool = DynamicPool | StaticPool


def concurrency(requests: int, ranks: int, width: int) -> int:
    """Return how many episodes a rank should have in play: as few as finish its fair share in as few rounds.

    requests: of all ranks; width: how many episodes a rank can play side by side, at most. Returns 1 if there is
    nothing to play. Taking all the slots it has would let the first rank empty the pool while the others look on.
    """
    # 1. a rank's fair share of the requests, rounded up
    share = -(-requests // ranks)
    # 2. the fewest rounds in which it can play them, `width` at a time
    rounds = -(-share // width)
    # 3. the fewest in play for which that many rounds are enough
    return -(-share // rounds) if share else 1


def slots_of(rank: int, ranks: int, num_envs: int) -> range:
    """Return the consecutive slots of 0 .. num_envs-1 that a rank owns when requests are segments, rank 0 the first.

    Shares differ by at most one slot. The root gathers rank by rank, so the slots arrive there in order.
    """
    return range(rank * num_envs // ranks, (rank + 1) * num_envs // ranks)


def requests_for(steps: int, mean_length: float) -> int:
    """Return how many episodes to request for about `steps` steps: the nearest whole number, and at least 1.

    Of two that are equally near, either.
    Source: Frans & Hafner 2016, section 5: the desired steps divided by the mean length under the previous policy.
    """
    return max(1, round(steps / mean_length))


def missing_requests(steps: int, played: int, episodes: int) -> int:
    """Return how many more episodes to request for about `steps` steps, after `episodes` with `played` steps.

    For a first update, whose episodes have an unknown length: the nearest whole number, perhaps 0, and at most eight
    times `episodes`, because a mean over few is imprecise. The caller asks again after these episodes.
    """
    return min(max(0, round((steps - played) / (played / episodes))), 8 * episodes)
