"""The pool's arithmetic: fair shares in few rounds, slots dealt out once, and as many steps as are wanted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.parallel.episode_pool import concurrency, missing_requests, slots_of


@given(st.integers(0, 500), st.integers(1, 20), st.integers(1, 32))
def test_concurrency_is_the_least_that_takes_no_more_rounds_than_all_slots(requests, ranks, width):
    share = -(-requests // ranks)
    enough = [n for n in range(1, width + 1) if -(-share // n) == -(-share // width)]
    assert concurrency(requests, ranks, width) == enough[0]


@given(st.integers(1, 20), st.integers(0, 100))
def test_slots_are_dealt_out_once_in_rank_order_and_evenly(ranks, slots):
    shares = [slots_of(rank, ranks, slots) for rank in range(ranks)]
    assert [slot for share in shares for slot in share] == list(range(slots))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


# --- the first update, before which nobody knows how long an episode is


@given(st.integers(1, 10**5), st.lists(st.integers(1, 500), min_size=1, max_size=30))
def test_requests_end_near_the_steps_that_are_wanted(steps, lengths):
    """Episodes of any lengths, again and again: within half a mean episode and what the last of them are off."""
    endless, played, episodes, count = np.resize(lengths, steps + 9 * len(lengths)), 0, 0, 1
    while count:
        assert count <= 8 * max(episodes, 1)
        played += int(endless[episodes : episodes + count].sum())
        episodes += count
        count = missing_requests(steps, played, episodes)
    assert played >= steps - 0.5 * played / episodes
