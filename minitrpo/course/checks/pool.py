"""Checks of lecture 07b: the pool of episode requests, and one order for the episodes of any number of ranks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Candidate, Case, case, need, remark
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short, value_words
from minitrpo.course.checks.simulated_ranks import SimulatedComm, SimulatedCounter, run
from minitrpo.parallel.episode_pool import play_requests


@exercise(
    "minitrpo.parallel.episode_pool:play_requests",
    r"""
        ? You do not know beforehand how many episodes this rank will play. Which kind of loop is that?
        ? `counter.next()` has no end. The first number that is not below `requests` tells you that none is left.
        ? Draw once before the loop, and once at the end of its body.
        while number < requests => while number <= requests :: plays one episode too many :: stop at `requests`
        while number < requests => if number < requests :: plays one episode and stops :: go on until none is left
        return [(number, play(number)) for number in range(requests)] :: plays every request, without the counter \
            :: play those whose numbers it draws
        numbers = [0]\n    while numbers[-1] < requests:\n        numbers += [counter.next()]\n    return \
            [(number, play(number)) for number in numbers[1:-1]] :: draws all its numbers before it plays, so the \
            first rank takes every request :: draw one, and play it
        played.append((number, play(number))) => following = counter.next()\n        played.append((number, \
            play(number)))\n        number = following\n        continue :: draws the next number before it has played \
            this one :: draw when it is free
        (number, play(number)) => (counter.next(), play(number)) :: draws twice for each episode :: draw once
        (number, play(number)) => play(number) :: forgets the numbers :: return pairs (number, episode)
        (number, play(number)) => (play(number), number) :: has the episode first :: have the number first
    """,
    lecture="07b",
)
def _play_requests() -> Iterator[Case]:
    yield alone("one rank plays all", [0, 1, 2], 3)
    yield alone("other ranks draw in between", [0, 3, 4, 9], 12)
    yield alone("nothing is left for this rank", [], 5)
    yield alone("no requests", [], 0)
    yield alone("a single request", [0], 1)
    yield alone("episodes that are 0, or nothing", [0, 1, 2, 5, 6], 7, {0: 0, 1: None, 2: [], 5: "", 6: {}})
    yield alone("many requests", list(range(0, 300, 7)), 300)
    lengths = np.random.default_rng(0).integers(9, 60, 24).astype(float)
    for ranks in (1, 2, 3):
        yield together("several ranks", who_plays, 24, lengths, [1.0] * ranks)
    yield together("a slow rank", who_plays, 24, lengths, [1.0, 10.0, 1.0])
    yield together("more ranks than requests", who_plays, 3, lengths, [1.0] * 5)


class Script:
    """A counter whose numbers are written down beforehand, as if other ranks drew in between; it notes what is done."""

    def __init__(self, numbers: list[int], requests: int) -> None:
        self.numbers, self.requests = iter(numbers), requests
        self.done: list[str] = []

    def next(self) -> int:
        """Return the next number of the script, and then numbers for which there is no request."""
        need(len(self.done) < 1_000, "it still draws numbers long after the last request")
        number = next(self.numbers, None)
        self.done.append("draw")
        return self.requests + len(self.done) if number is None else number


def alone(kind: str, numbers: list[int], requests: int, episodes: dict[int, Any] | None = None) -> Case:
    """Return a case of one rank that draws these numbers; what it draws after the last one does not matter."""

    def run(f: Candidate) -> dict[str, str]:
        counter = Script(numbers, requests)

        def play(number: int) -> Any:
            need(number in numbers, f"it plays episode {number}, which it has not drawn or which nobody requested")
            counter.done.append(f"play {number}")
            return f"episode {number}" if episodes is None else episodes[number]

        pairs = pairs_in(f(counter, requests, play))
        done = ", ".join(counter.done)
        while done.endswith("draw"):
            done = done.removesuffix("draw").removesuffix(", ")
        return {"what it does": done, "what it returns": str(sorted(pairs, key=lambda pair: pair[0]))}

    return Case(kind, run, shown=f"requests = {requests}; the counter gives {short(np.array(numbers, int))}, then more")


def pairs_in(result: Any) -> list[tuple[int, Any]]:
    """Return the pairs of a rank as tuples; Need if these are none."""
    need(isinstance(result, list | tuple), f"it returned {value_words(result)}, not a list of pairs (number, episode)")
    for pair in result:
        whole = isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], int | np.integer)
        need(whole, f"its list has {short(pair)} in it, which is no pair (number, episode)")
    return [(int(number), episode) for number, episode in result]


def who_plays(f: Candidate, comm: SimulatedComm, counter: SimulatedCounter, play: Callable[[int], float]) -> str:
    """Return the numbers that a rank plays."""
    pairs = pairs_in(f(counter, counter.requests, play))
    need(all(episode == number + 0.1 for number, episode in pairs), "an episode stands beside the number of another")
    return " ".join(str(number) for number, _ in sorted(pairs))


def together(
    kind: str, program: Callable[..., Any], requests: int, lengths: Any, slowness: list[float], root: bool = False
) -> Case:
    """Return a case of several ranks at once. root: only what rank 0 returns is compared."""

    def run_it(f: Candidate) -> dict[str, Any]:
        results = run(lambda comm, counter, play: program(f, comm, counter, play), requests, lengths, slowness)
        return {f"rank {rank}": result for rank, result in enumerate(results[:1] if root else results)}

    slow = [f"rank {rank} takes {times:g} times as long" for rank, times in enumerate(slowness) if times != 1]
    shown = [f"{requests} requests on {len(slowness)} rank{'s' * (len(slowness) > 1)}", *slow]
    return Case(kind, run_it, shown="; ".join(shown))


@exercise(
    "minitrpo.parallel.episode_pool:gather_in_order",
    r"""
        ? `gather` is a collective call: which ranks must make it, and what if a rank has no episodes?
        ? On rank 0 you have a list of lists of pairs. Make one list of pairs of it.
        ? `sorted(pairs, key=lambda pair: pair[0])` sorts by the first of each pair.
        pairs.sort(key=lambda pair: pair[0]) => pass :: has the episodes rank by rank :: sort them by number
        parts = comm.gather(played) => if not played:\n        return []\n    $ :: does not call gather on a rank \
            without episodes, so the others wait for ever :: gather an empty list from it
        parts = comm.gather(played) => if comm.rank != 0:\n        return []\n    $ :: calls gather on rank 0 only, so \
            rank 0 waits for ever :: call it on every rank
        parts = comm.gather(played) => parts = [played] :: has the episodes of rank 0 alone :: gather those of all ranks
        return [pair[1] for pair in pairs] => return pairs :: returns pairs :: return the episodes alone
        key=lambda pair: pair[0] => key=lambda pair: str(pair[0]) :: sorts the numbers as texts, 10 before 9 \
            :: sort them as numbers
        key=lambda pair: pair[0] => key=lambda pair: -pair[0] :: has the largest number first :: have the smallest first
    """,
    lecture="07b",
)
def _gather_in_order() -> Iterator[Case]:
    lengths = np.random.default_rng(1).integers(9, 60, 24).astype(float)
    yield together("one rank", all_episodes, 3, lengths, [1.0], root=True)
    yield together("two ranks", all_episodes, 6, lengths, [1.0, 1.0], root=True)
    yield together("a rank without episodes", all_episodes, 2, lengths, [1.0, 1.0, 1.0], root=True)
    yield together("rank 0 has no episodes", without_root, 4, lengths, [1.0, 1.0, 1.0], root=True)
    yield together("no episodes at all", all_episodes, 0, lengths, [1.0, 1.0], root=True)
    for slowness in ([1.0] * 3, [10.0, 1.0, 1.0], [1.0] * 5):
        yield together("several ranks, and a slow one", all_episodes, 24, lengths, slowness, root=True)
    yield together("episodes that cannot be compared", as_dicts, 12, lengths, [1.0, 1.0], root=True)
    yield remark(together("what the other ranks return", of_others, 6, lengths, [1.0, 1.0, 1.0]))


def all_episodes(f: Candidate, comm: Any, counter: Any, play: Any, episode: Callable[[float], Any] = float) -> str:
    """Return the episodes that a rank has after gathering, as text; "" for none."""
    played = [(number, episode(e)) for number, e in play_requests(counter, counter.requests, play)]
    result = f(comm, played)
    if comm.rank != 0:
        return ""
    need(isinstance(result, list | tuple), f"on rank 0 it returned {value_words(result)}, not a list of episodes")
    return ", ".join(map(str, result))


def without_root(f: Candidate, comm: Any, counter: Any, play: Any) -> str:
    """Return the same where rank 0 comes late, and nothing is left for it."""
    if comm.rank == 0:
        return ", ".join(map(str, f(comm, [])))
    return all_episodes(f, comm, counter, play)


def as_dicts(f: Candidate, comm: Any, counter: Any, play: Any) -> str:
    """Return the same for episodes that have no order of their own."""
    return all_episodes(f, comm, counter, play, lambda e: {"return": e})


def of_others(f: Candidate, comm: Any, counter: Any, play: Any) -> str:
    """Return what a rank has that is not the root."""
    result = f(comm, play_requests(counter, counter.requests, play))
    return str([] if comm.rank == 0 or result is None else result)


@exercise(
    "minitrpo.training.collect:in_order",
    r"""
        ? numpy's argsort returns positions. Here two columns decide: the number first, the start only among equals.
        ? Look up np.lexsort, and in which order it wants its columns.
        return np.argsort(numbers) :: sorts by the numbers alone :: let the start decide among equals
        return np.argsort(numbers, kind="stable") :: has fragments of one episode as they came :: sort them by start
        return np.lexsort((numbers, starts)) :: sorts by the start first :: let it decide among equal numbers alone
        return np.lexsort((-starts, numbers)) :: has the latest start first :: have the earliest first
        return np.sort(numbers) :: is the numbers :: be the positions of the fragments
        return np.argsort(np.lexsort((starts, numbers))) :: says where each fragment goes :: say which one comes next
        return np.argsort(numbers + 1e-6 * starts, kind="stable") :: allows a million steps for an episode :: allow more
    """,
    lecture="07b",
)
def _in_order() -> Iterator[Case]:
    yield order("whole episodes", [7, 2, 5], [0, 0, 0])
    yield order("fragments of two episodes", [3, 1, 3, 1], [0, 40, 20, 0])
    yield order("one episode in fragments", [5, 5, 5, 5], [200, 0, 1000, 50])
    yield order("long episodes", [4, 3, 3], [0, 2_500, 0])
    yield order("no fragments", [], [])
    rng = np.random.default_rng(0)
    for count, highest, longest in ((12, 4, 30), (15, 6, 6_000_000), (15, 10**9, 1), (3_000, 900, 2_000)):
        pairs = np.stack([rng.integers(0, highest, count), rng.integers(0, longest, count)], axis=1)
        yield order("fragments at random", *rng.permutation(np.unique(pairs, axis=0)).T)
    yield remark(order("numbers of more than 32 bits", [2**32, 2**54 + 1, 2**54, 7, 7], [0, 0, 0, 2**54 + 1, 2**54]))


def order(kind: str, *columns: Any) -> Case:
    """Return a case of the numbers and starts of fragments."""
    numbers, starts = (np.array(column, np.int64) for column in columns)
    return case(kind, numbers, starts)
