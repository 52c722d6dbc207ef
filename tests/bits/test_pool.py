"""The pool's arithmetic: fair shares in few rounds, slots dealt out once, and one order of all fragments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.fragments import in_order
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.episode_pool import DynamicPool, RankRequests, StaticPool, concurrency, requests_for, slots_of

QUICK = settings(max_examples=200, deadline=None)


@given(st.integers(0, 500), st.integers(1, 20), st.integers(1, 32))
@QUICK
def test_concurrency_is_the_least_that_takes_no_more_rounds_than_all_slots(requests, ranks, width):
    share = -(-requests // ranks)
    enough = [n for n in range(1, width + 1) if -(-share // n) == -(-share // width)]
    assert concurrency(requests, ranks, width) == enough[0]


@given(st.integers(1, 20), st.integers(0, 100))
@QUICK
def test_slots_are_dealt_out_once_in_rank_order_and_evenly(ranks, slots):
    shares = [slots_of(rank, ranks, slots) for rank in range(ranks)]
    assert [slot for share in shares for slot in share] == list(range(slots))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), unique=True))
@QUICK
def test_fragments_come_in_the_order_of_their_pairs(pairs):
    numbers, starts = np.array(pairs, np.int64).reshape(-1, 2).T
    assert [pairs[i] for i in in_order(numbers, starts)] == sorted(pairs)


@pytest.mark.parametrize(("steps", "mean_length", "requests"), [(999, 1000.0, 1), (1499, 1000.0, 1), (1501, 1000.0, 2)])
def test_requests_are_the_nearest_whole_number_and_never_none(steps, mean_length, requests):
    assert requests_for(steps, mean_length) == requests
    assert requests_for(1, 1e9) == 1


@pytest.mark.parametrize("kind", [DynamicPool, StaticPool])
def test_a_collector_sees_the_pool_through_its_rank(kind):
    requests = RankRequests(kind(SerialComm()), ranks=1, width=4)
    assert requests.count_for(1501, 1000.0) == requests_for(1501, 1000.0)
    assert requests.concurrency(9) == concurrency(9, 1, 4) == 3
    for _ in range(2):  # refilled, it begins again
        requests.refill()
        assert list(iter(requests.draw_from(5), None)) == [0, 1, 2, 3, 4]


def test_the_pool_of_one_rank_of_several_is_asked_for_a_fair_share():
    requests = RankRequests(StaticPool(SerialComm()), ranks=3, width=8)
    assert requests.concurrency(30) == concurrency(30, 3, 8) == 5
