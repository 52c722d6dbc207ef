"""Checks of lecture 07: the pool of episode requests, and one result on any number of ranks."""

import builtins
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import examined as exercise
from minitrpo.parallel.launcher import RANK_VARIABLES, SIZE_VARIABLES


def whole(value: Any, symptom: str) -> int:
    """Return an answer that should be a whole number, as an int."""
    assert value is not None, "it returned None: is there a return statement?"
    assert isinstance(value, int | np.integer), f"it returned {value!r}, a {type(value).__name__}. {symptom}"
    return int(value)


@exercise(
    "requests_for",
    "minitrpo.parallel.pool:requests_for",
    "So many steps, so many to an episode: how many episodes is that?",
    "`round` gives the nearest whole number. Which answers are too small to be of use?",
)
def requests_for(candidate: Candidate) -> None:
    """Check the nearest whole number of episodes, and the one that is always played."""

    def asked(steps: int, mean_length: float) -> int:
        return whole(candidate(steps, mean_length), "A number of episodes is a whole number: `range` will want it")

    for steps, mean_length, expected in ((20_000, 50.0, 400), (5_000, 22.5, 222), (1_000, 1_000.0, 1)):
        got = asked(steps, mean_length)
        assert got == expected, f"{steps} steps in episodes of {mean_length:g}: {expected} requests, not {got}"
    few = [asked(steps, 1_000.0) for steps in (1, 100, 499)]
    assert few == [1, 1, 1], (
        f"1, 100 and 499 steps wanted, and the last episodes took 1,000 each: it asks for {few} episodes. "
        "An iteration needs one to learn from, and need not take two"
    )
    rng = np.random.default_rng(0)
    for steps, mean_length in zip(rng.integers(1_000, 30_000, 40).tolist(), rng.uniform(1, 900, 40), strict=True):
        got = asked(steps, float(mean_length))
        off = got * mean_length - steps
        assert abs(off) <= mean_length * (0.5 + 1e-9), (
            f"{steps} steps in episodes of {mean_length:.1f}: {got} requests make {got * mean_length:.0f} steps on "
            f"average, which is more than half an episode too {'many' if off > 0 else 'few'}"
        )


@exercise(
    "concurrency",
    "minitrpo.parallel.pool:concurrency",
    "20 requests for 1 rank of 16 slots take two rounds in any case. With how few in play do two rounds suffice?",
    "Three divisions, each rounded up: share per rank, rounds per share, episodes per round.",
    "`-(-a // b)` is a / b rounded up, without leaving the integers.",
)
def concurrency(candidate: Candidate) -> None:
    """Check against the definition: the smallest number in play that needs no more rounds than all slots would."""
    plain = ((6, 2, 16), (20, 1, 16), (33, 2, 16), (1, 8, 16))
    others = product((1, 2, 3, 5, 16, 17, 31, 32, 33, 64, 100, 1000), (1, 2, 3, 5, 8), (1, 2, 5, 16))
    for requests, ranks, width in (*plain, *others):
        got = whole(candidate(requests, ranks, width), "A number of episodes in play is a whole number")
        share = -(-requests // ranks)
        fewest = next(h for h in range(1, width + 1) if share <= h * -(-share // width))
        assert got == fewest, (
            f"{requests} requests, {ranks} rank(s), {width} slots each: {fewest} in play, not {got}. "
            + wrong_concurrency(share, width, got)
        )
    assert whole(candidate(0, 3, 16), "A number is a whole number") == 1, "With nothing to play the answer should be 1"


def wrong_concurrency(share: int, width: int, got: int) -> str:
    """Return what goes wrong when a rank has so many episodes in play."""
    fewest_rounds = -(-share // width)
    if got < 1:
        return "A rank with nothing in play never plays"
    if got > width:
        return f"A rank has {width} slots"
    if got > share:
        return f"A rank's fair share, rounded up, is {share}: it would take what the others should play"
    if got * fewest_rounds < share:
        return f"A share of {share} then takes {-(-share // got)} rounds; {fewest_rounds} would do"
    return f"A share of {share} can be played in {fewest_rounds} round(s) with fewer at a time"


@exercise(
    "slots_of",
    "minitrpo.parallel.pool:slots_of",
    "Think of the border between two ranks: rank r stops where rank r + 1 starts.",
    "Put rank r's first slot at r / ranks of the way, rounded down.",
)
def slots_of(candidate: Candidate) -> None:
    """Check that shares cover all slots once, in rank order, and are as equal as they can be."""
    for ranks, num_envs in ((2, 16), (1, 1), (1, 16), (3, 16), (5, 16), (16, 16), (7, 20), (5, 6), (6, 100), (3, 2)):
        answers = [candidate(rank, ranks, num_envs) for rank in range(ranks)]
        assert not any(a is None for a in answers), "it returned None: is there a return statement?"
        assert all(hasattr(a, "__iter__") for a in answers), f"it returned {answers[0]!r}, not slots, as a range"
        shares = [[whole(slot, "A slot is a whole number") for slot in answer] for answer in answers]
        what = f"{num_envs} slots among {ranks} ranks were shared out as {', '.join(map(shown, shares))}"
        everything = [slot for share in shares for slot in share]
        missing = sorted(set(range(num_envs)) - set(everything))
        assert not missing, f"{what}: nobody has slot {missing[0]}"
        assert set(everything) == set(range(num_envs)), f"{what}: there is no slot {max(everything)}; they count from 0"
        assert len(everything) == num_envs, f"{what}: some slots have two owners and would be played twice"
        sizes = sorted(map(len, shares))
        assert sizes[-1] - sizes[0] <= 1, f"{what}: shares of {sizes[0]} and of {sizes[-1]}; the larger sets the pace"
        assert everything == list(range(num_envs)), f"{what}: gathered rank by rank, the slots are out of order"


def shown(slots: list[int]) -> str:
    """Return a few slots in words."""
    if len(slots) > 2 and slots == list(range(slots[0], slots[-1] + 1)):
        return f"{slots[0]}..{slots[-1]}"
    return "+".join(map(str, slots[:5])) + ("+..." if len(slots) > 5 else "") if slots else "none"


@exercise(
    "reset_seed",
    "minitrpo.experience.randomness:reset_seed",
    "All four numbers of the key (seed, iteration, number, Purpose.RESET) should matter, and nothing else.",
    "np.random.SeedSequence mixes a list of integers so that neighbours have nothing in common.",
    "generate_state(1)[0] is 32 random bits; `>> 1` drops one of them; Gymnasium wants a Python int.",
)
def reset_seed(candidate: Candidate) -> None:
    """Check that a seed is a 31-bit int, follows from its key alone, and is not shared by two keys."""
    _fits(candidate)
    _same_everywhere(candidate)
    _each_part_matters(candidate)
    keys = list(product((0, 1, 2, 3, 100), (0, 1, 2, 3, 10, 100), (*range(30), 99, 100, 500, 999, 1000, 10_000)))
    seeds: dict[int, tuple[int, ...]] = {}
    twice = [(seeds[s], key, s) for key in keys if seeds.setdefault(s := candidate(*key), key) != key]
    assert len(twice) <= 2, (  # by pure chance about one set of so many keys in a thousand has a pair
        f"{len(keys)} keys (seed, iteration, number) share {len(keys) - len(twice)} seeds: {twice[0][0]} and "
        f"{twice[0][1]} both get {twice[0][2]}, and so play the same episode"
    )


def _fits(candidate: Candidate) -> None:
    for key in product((0, 3), (1, 2), range(20)):
        seed = candidate(*key)
        assert isinstance(seed, int), f"it returned a {type(seed).__name__}; env.reset takes a Python int only"
        assert 0 <= seed < 2**31, f"the seed of key {key} is {seed}, which is not in 0 .. 2**31 - 1"


def _same_everywhere(candidate: Candidate) -> None:
    for key in ((0, 1, 0), (0, 1, 7), (5, 2, 3)):
        here = candidate(*key)
        assert candidate(*key) == here, f"key {key} gave {here} at first and {candidate(*key)} later: who draws when?"
        for place in range(3):
            with another_process(place):
                there = candidate(*key)
            assert there == here, (
                f"key {key} gives {here} in this process and {there} in another one: it depends on more than its key"
            )


def _each_part_matters(candidate: Candidate) -> None:
    base = candidate(4, 5, 6)
    for name, key in (("run's seed", (9, 5, 6)), ("iteration", (4, 9, 6)), ("episode's number", (4, 5, 9))):
        assert candidate(*key) != base, f"keys (4, 5, 6) and {key} get one seed: the {name} does not matter"


@contextmanager
def another_process(number: int) -> Iterator[None]:
    """Pretend to be another rank, at another time: what must not matter to a seed looks different inside."""

    def salted(thing: Any) -> int:
        return plain((number, thing)) if "'" in repr(thing) else plain(thing)  # Python salts the hash of a text

    plain = builtins.hash
    ranks = {name: str(number + 1) for name in RANK_VARIABLES} | dict.fromkeys(SIZE_VARIABLES, "8")
    with (
        mock.patch.dict(os.environ, ranks),
        mock.patch("os.getpid", return_value=1000 + number),
        mock.patch("time.time", return_value=1e9 + 1e6 * number),
        mock.patch("builtins.hash", salted),
    ):
        yield


@exercise(
    "in_order",
    "minitrpo.experience.episodes:in_order",
    "numpy's argsort returns positions. Here two columns decide: the number first, the start only among equals.",
    "Look up np.lexsort, and in which order it wants its columns.",
)
def in_order(candidate: Candidate) -> None:
    """Check the positions against Python's own sort of pairs."""
    _order(candidate, [(7, 0), (2, 0), (5, 0)], "For numbers (7, 2, 5) the order is (1, 2, 0)")
    by_hand = "For numbers (3, 1, 3, 1) and starts (0, 40, 20, 0) the order is (3, 1, 0, 2)"
    _order(candidate, [(3, 0), (1, 40), (3, 20), (1, 0)], by_hand)
    _order(candidate, [(4, 9)], "A single fragment stays where it is: (0,)")
    _order(candidate, [], "Without fragments there are no positions")
    rng = np.random.default_rng(0)
    for count, highest, longest in ((12, 4, 1000), (30, 100, 10), (50, 6, 6_000_000), (40, 10**9, 6_000_000)):
        pairs = sorted(set(zip(*(rng.integers(0, most, count).tolist() for most in (highest, longest)), strict=True)))
        shuffled = [pairs[i] for i in rng.permutation(len(pairs))]
        _order(candidate, shuffled, f"Numbers below {highest:,} with starts below {longest:,} are out of order")
    tight = [(10**9 + n, s) for n in (1, 0) for s in (5_000_001, 0, 5_000_000)]
    _order(candidate, tight, "Large numbers close together are out of order")


def _order(candidate: Candidate, pairs: list[tuple[int, int]], symptom: str) -> None:
    numbers, starts = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    positions = candidate(numbers, starts)
    assert positions is not None, "it returned None: is there a return statement?"
    got = np.asarray(positions)
    assert got.ndim == 1, f"it returned an array of shape {got.shape}, not one position per fragment. {symptom}"
    assert got.dtype.kind in "iu" or not got.size, f"it returned {got.dtype}; positions are integers. {symptom}"
    few = str(got.tolist()) if got.size <= 8 else f"{got[:8].tolist()}..."
    expected = sorted(range(len(pairs)), key=pairs.__getitem__)
    assert sorted(got) == sorted(expected), f"it returned {few}, not each of 0 .. {len(pairs) - 1} once. {symptom}"
    if got.tolist() == np.argsort(expected).tolist() != expected:
        raise AssertionError(f"it returned {few}: where each fragment goes, not which fragment comes next. {symptom}")
    assert got.tolist() == expected, f"it returned {few}. {symptom}"
