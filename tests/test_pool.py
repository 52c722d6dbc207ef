"""The pool's arithmetic: fair shares in few rounds, slots dealt out once, and one order of all fragments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.episodes import in_order
from minitrpo.parallel.pool import concurrency, slots_of, requests_for

QUICK = settings(max_examples=200, deadline=None)


@given(st.integers(0, 500), st.integers(1, 20), st.integers(1, 32))
@QUICK
def test_hands_are_the_fewest_that_take_no_more_rounds_than_all_lanes(requests, ranks, width):
    share = -(-requests // ranks)
    enough = [h for h in range(1, width + 1) if -(-share // h) == -(-share // width)]
    assert concurrency(requests, ranks, width) == enough[0]


@given(st.integers(1, 20), st.integers(0, 100))
@QUICK
def test_lanes_are_dealt_out_once_in_rank_order_and_evenly(ranks, slots):
    shares = [slots_of(rank, ranks, slots) for rank in range(ranks)]
    assert [slot for share in shares for slot in share] == list(range(slots))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), unique=True))
@QUICK
def test_pieces_come_in_the_order_of_their_pairs(pairs):
    numbers, starts = np.array(pairs, np.int64).reshape(-1, 2).T
    assert [pairs[i] for i in in_order(numbers, starts)] == sorted(pairs)


@pytest.mark.parametrize(("steps", "mean_length", "requests"), [(999, 1000.0, 1), (1499, 1000.0, 1), (1501, 1000.0, 2)])
def test_requests_are_the_nearest_whole_number_and_never_none(steps, mean_length, requests):
    assert requests_for(steps, mean_length) == requests
    assert requests_for(1, 1e9) == 1
