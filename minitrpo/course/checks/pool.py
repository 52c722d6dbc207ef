"""Checks of lecture 07: the pool of episode requests, and one order for what comes from any number of ranks."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short, value_words
from minitrpo.policies import Array

REQUESTS, IN_PLAY = "minitrpo.parallel.episode_pool:requests_for", "minitrpo.parallel.episode_pool:concurrency"
ORDER = "minitrpo.training.gather:in_order"

ROUND, LENGTH = "round(steps / mean_length)", "/ mean_length"
REQUESTS_SLIPS = {
    "It rounds down: 1,999 steps of 1,000 are nearly two episodes.": (ROUND, "int(steps / mean_length)"),
    "That asks for no episode at all: one must be played.": (f"max(1, {ROUND})", ROUND),
    "It rounds up: the nearest whole number is wanted.": (ROUND, "int(-(-steps // mean_length))"),
    "The mean length was rounded first.": (LENGTH, "/ round(mean_length)"),
    "It is upside down: steps divided by the mean length.": (ROUND, "round(mean_length / steps)"),
}


@exercise(
    "requests_for",
    REQUESTS,
    hints=(
        "So many steps, so many to an episode: how many episodes is that?",
        "`round` gives the nearest whole number. Which answers are too small to be of use?",
    ),
    mistakes=edits(REQUESTS, REQUESTS_SLIPS),
)
def requests_for_cases() -> Iterator[Case]:
    """Yield batches of many sizes, each a little off what would round the other way; halves may round either way."""
    batches = ((20_000, 50.0), (5_000, 22.4), (5_000, 22.6), (1_000, 1_000.0))
    whole = ((1_000, 3), (20_000, 7), (64, 64), (65, 64), (7, 1))
    yield from (case("a batch", *batch) for batch in batches)
    yield from (case("few steps, long episodes", n, 1_000.0) for n in (1, 100, 499, 501, 999, 1_499, 1_501, 1_999))
    for n, off in product((1, 2, 3, 10, 77, 400, 4_001), (-0.5 + 1e-6, -0.499, -1e-9, 0.0, 0.3, 0.499, 0.5 - 1e-6)):
        yield case("just above and just below a half", 20_000, 20_000 / (n + off))
    for mean_length in np.random.default_rng(0).uniform(1, 900, 40).tolist():
        yield case("any mean length", 5_000 + int(17 * mean_length), mean_length)
    yield from (case("a whole mean length", *batch) for batch in whole)
    yield case("episodes of one step", 20_000, 1.0)
    yield case("a batch of no steps", 0, 50.0)
    yield case("numbers of numpy", np.int64(2_000), np.float64(333.3))
    yield case("a billion steps", 10**9, 17.3)


SHARE, ROUNDS, LAST = "-(-requests // ranks)", "-(-share // width)", "-(-share // rounds) if share else 1"
IN_PLAY_SLIPS = {
    "It takes all the slots it has, and what others should play.": (LAST, "width"),
    "It takes all there is: a rank's fair share is what it should play.": (SHARE, "requests"),
    "The first round is filled: with fewer in play as many rounds would do.": (LAST, "max(1, min(share, width))"),
    "A rank has only so many slots.": (LAST, "max(1, share)"),
    "The share was rounded down: somebody must play the rest.": (SHARE, "requests // ranks"),
    "Where the requests divide evenly, the share has no 1 to add.": (SHARE, "requests // ranks + 1"),
    "The rounds were rounded down.": (ROUNDS, "max(1, share // width)"),
    "The last division was rounded down: it takes a round more.": (LAST, "max(1, share // rounds) if share else 1"),
    "One at a time takes more rounds.": (LAST, "1"),
    "With nothing to play it should be 1.": (LAST, "-(-share // max(1, rounds))"),
}


@exercise(
    "concurrency",
    IN_PLAY,
    hints=(
        "20 requests for 1 rank of 16 slots take two rounds in any case. With how few in play do two rounds suffice?",
        "Three divisions, each rounded up: share per rank, rounds per share, episodes per round.",
        "`-(-a // b)` is a / b rounded up, without leaving the integers.",
    ),
    mistakes=edits(IN_PLAY, IN_PLAY_SLIPS),
)
def concurrency_cases() -> Iterator[Case]:
    """Yield requests below, at and above what ranks and slots divide, one rank and many, nothing to play."""
    few = ((6, 2, 16), (20, 1, 16), (33, 2, 16), (1, 8, 16), (16, 2, 16), (17, 1, 16))
    many = product((1, 2, 3, 5, 15, 16, 47, 48, 49, 100, 1_000), (1, 2, 5, 8), (1, 2, 5, 16))
    large = ((1_000_001, 3, 64), (10**6, 128, 16), (20_000, 1, 2_000), (3, 1_000, 16))
    yield from (case("a few requests", *job) for job in few)
    yield from (
        case("just above and just below even shares", *job) for job in product((31, 32, 33, 65), (1, 2, 3), (4, 16))
    )
    yield from (case("nothing to play", 0, *job) for job in ((3, 16), (1, 1), (8, 4)))
    yield from (case("one slot and many", *job) for job in many)
    yield from (case("a large job", *job) for job in large)
    yield case("integers of numpy", np.int64(50), np.int64(3), np.int64(8))


SORTED = "np.lexsort((starts, numbers))"
ORDER_SLIPS = {
    "Fragments of one episode stand in the order of their starts.": (SORTED, 'np.argsort(numbers, kind="stable")'),
    "The number comes first, the start only decides among equals.": (SORTED, "np.lexsort((numbers, starts))"),
    "Those are the numbers: positions are wanted.": (SORTED, "np.sort(numbers)"),
    "That says where each fragment goes, not which fragment comes next.": (SORTED, f"np.argsort({SORTED})"),
    "That is descending.": (SORTED, f"{SORTED}[::-1]"),
    "The latest start stands first.": (SORTED, "np.lexsort((-starts, numbers))"),
    "Starts can be larger than that.": (SORTED, "np.argsort(1000 * numbers + starts)"),
    "A float has 53 bits: number and start do not fit into one.": (SORTED, "np.argsort(numbers + 1e-6 * starts)"),
}


@exercise(
    "in_order",
    ORDER,
    hints=(
        "numpy's argsort returns positions. Here two columns decide: the number first, the start only among equals.",
        "Look up np.lexsort, and in which order it wants its columns.",
    ),
    mistakes=edits(ORDER, ORDER_SLIPS),
)
def in_order_cases() -> Iterator[Case]:
    """Yield whole episodes and cut ones, few and many, small numbers and large ones close together."""
    hand = {
        "whole episodes": ([7, 2, 5], [0, 0, 0]),
        "fragments of two episodes": ([3, 1, 3, 1], [0, 40, 20, 0]),
        "fragments that are in order": ([0, 0, 1, 2], [0, 9, 0, 0]),
        "fragments in reverse": ([2, 1, 0, 0], [0, 0, 9, 0]),
        "one episode in fragments": ([5, 5, 5, 5], [200, 0, 1000, 50]),
        "long episodes": ([4, 3, 3], [0, 2_500, 0]),
        "three that go round": ([1, 2, 0], [0, 0, 0]),
        "numbers of more than 32 bits": ([2**32, 7, 2**33], [0, 2**40, 0]),
        "a single fragment": ([4], [9]),
        "no fragments": ([], []),
    }
    yield from (order(kind, *given) for kind, given in hand.items())
    rng = np.random.default_rng(0)
    for count, highest, longest in ((12, 4, 30), (12, 4, 1000), (30, 100, 10), (50, 6, 6_000_000), (40, 10**9, 10**7)):
        yield order("fragments at random", *distinct(rng, count, highest, longest))
    yield order("3,000 fragments", *distinct(rng, 3000, 900, 2000))
    for base, start in ((10**9, 5_000_000), (2**54, 0), (3, 2**54)):
        pairs = [(base + n, start * (s > 0) + s) for n in (1, 0, 2) for s in (2, 0, 1)]
        yield order("large numbers close together", *zip(*pairs, strict=True))


def distinct(rng: np.random.Generator, count: int, highest: int, longest: int) -> Array:
    """Return numbers and starts of so many fragments, no two alike, in any order."""
    pairs = np.unique(np.stack([rng.integers(0, highest, count), rng.integers(0, longest, count)], axis=1), axis=0)
    return np.asarray(rng.permutation(pairs).T)


def order(kind: str, numbers: Any, starts: Any) -> Case:
    """Return a case in which positions may come as an array or as a list."""
    given = np.array(numbers, np.int64), np.array(starts, np.int64)

    def run(f: Candidate) -> Any:
        positions = f(*(column.copy() for column in given))
        if positions is None:
            return positions
        got, count = np.asarray(positions), len(given[0])
        need(got.ndim == 1, f"it returned {value_words(positions)}, not one position per fragment")
        usable = count or not isinstance(positions, np.ndarray) or got.dtype.kind in "iu"
        need(usable, f"it returned an empty array of {got.dtype}, which is of no use as positions: integers are")
        return got if count or got.size else np.zeros(0, int)

    return tried(kind, run, shown=f"numbers = {short(given[0])}, starts = {short(given[1])}")
