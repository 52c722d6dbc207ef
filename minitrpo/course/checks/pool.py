"""Checks of lecture 07: the pool of episode requests, and one order for what comes from any number of ranks."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Case, case, remark
from minitrpo.course.checks.register import exercise


@exercise(
    "minitrpo.parallel.episode_pool:requests_for",
    r"""
        ? With `steps` steps and `mean_length` steps per episode, how many episodes are that?
        ? `round` gives the nearest whole number. Which answers are too small to be of use?
        return int(steps // mean_length) :: rounds down, even to 0 :: be the nearest whole number, and at least 1
        return max(1, int(steps // mean_length)) :: rounds down :: be the nearest whole number
        return max(1, int(-(-steps // mean_length))) :: rounds up :: be the nearest whole number
        return round(steps / mean_length) :: asks for no episode at all :: ask for one at least
        return max(1, steps / mean_length) :: is not rounded :: be a whole number
        return max(1, round(steps / round(mean_length))) :: rounds the mean length :: round what is divided by it
    """,
)
def _requests_for() -> Iterator[Case]:
    for batch in ((20_000, 50.0), (5_000, 22.4), (5_000, 22.6), (1_000, 1_000.0), (20_000, 1.0)):
        yield case("a batch", *batch)
    for steps in (1, 100, 499, 501, 999, 1_499, 1_501):
        yield case("few steps, long episodes", steps, 1_000.0)
    for n, off in product((1, 2, 3, 10, 77, 400, 4_001), (-0.5 + 1e-6, -0.499, 0.3, 0.499, 0.5 - 1e-6)):
        yield case("just above and just below a half", 20_000, 20_000 / (n + off))
    for mean_length in np.random.default_rng(0).uniform(1, 900, 20).tolist():
        yield case("any mean length", 5_000 + int(17 * mean_length), mean_length)
    yield remark(case("a batch of no steps", 0, 50.0))


@exercise(
    "minitrpo.parallel.episode_pool:concurrency",
    r"""
        ? 20 requests for 1 rank of 16 slots take two rounds in any case. With how few in play do two rounds suffice?
        ? Three divisions, each rounded up: share per rank, rounds per share, episodes per round.
        ? `-(-a // b)` is a / b rounded up, without leaving the integers.
        return width :: takes all the slots it has :: leave others their share
        return 1 :: has one in play at a time :: take as few rounds as with all slots
        return max(1, -(-requests // ranks)) :: has its whole share in play :: have `width` at most
        return max(1, min(width, -(-requests // ranks))) :: fills its slots in the first round :: have as few as will do
        -(-requests // ranks) => requests // ranks :: rounds the share down :: round it up: somebody must play the rest
        -(-share // width) => max(1, share // width) :: rounds the rounds down :: round them up
        -(-share // rounds) if => max(1, share // rounds) if :: rounds the last division down :: round it up
        -(-share // rounds) if => rounds if :: is how many rounds it takes :: be how many are in play
        -(-share // rounds) if share else 1 => -(-share // max(1, rounds)) :: is 0 with nothing to play :: be 1 then
    """,
)
def _concurrency() -> Iterator[Case]:
    for job in ((6, 2, 16), (20, 1, 16), (33, 2, 16), (1, 8, 16)):
        yield case("a few requests", *job)
    yield case("nothing to play", 0, 3, 16)
    for job in product((1, 2, 3, 5, 15, 16, 31, 32, 33, 48, 49, 65, 100), (1, 2, 3, 5, 8), (1, 2, 4, 5, 16)):
        yield case("few ranks and slots, and many", *job)
    yield remark(case("a large job", 1_000_001, 3, 64))


@exercise(
    "minitrpo.training.gather:in_order",
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
