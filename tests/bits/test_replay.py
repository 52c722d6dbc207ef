"""The replay buffer: what is in it, in which order, and how evenly minibatches are drawn of it."""

import numpy as np
import pytest
from fragments import apart, random_fragments
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from minitrpo.experience.replay_buffer import ReplayBuffer, draw, multi_step, transitions, updates_due


def rows(first, count, size=2):
    """Return transitions that carry their number in every array."""
    numbers = np.arange(first, first + count, dtype=float)
    return {
        "observations": np.repeat(numbers[:, None], size, 1),
        "actions": numbers.astype(int),
        "rewards": numbers,
        "next_observations": np.repeat(numbers[:, None] + 0.5, size, 1),
        "terminated": numbers % 2 == 0,
        "discounts": numbers,
    }


def content(buffer, shard):
    """Return the numbers in a shard, the oldest first."""
    rewards, added = buffer.state()["rewards"][shard][: buffer.sizes[shard]], int(buffer.added[shard])
    return np.roll(rewards, -(added % buffer.capacity) if added > buffer.capacity else 0).tolist()


@given(capacity=st.integers(1, 12), counts=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), max_size=12))
def test_a_shard_holds_its_newest_rows_in_order(capacity, counts):
    buffer, expected, number = ReplayBuffer(3, capacity, 2, 0), [[], [], []], 0
    for shard, count in counts:
        buffer.add(shard, rows(number, count))
        expected[shard] = [*expected[shard], *range(number, number + count)][-capacity:]
        number += count
    assert [content(buffer, shard) for shard in range(3)] == expected
    assert buffer.sizes.tolist() == [len(own) for own in expected]
    if all(expected):  # all arrays of a row stay together
        taken = buffer.take(draw(np.random.default_rng(0), 50, buffer.sizes))
        for shard, drawn in enumerate(taken["rewards"]):
            assert set(drawn.tolist()) <= set(expected[shard])
        for name, array in rows(0, number).items():
            np.testing.assert_array_equal(taken[name], array[taken["rewards"].astype(int)], err_msg=name)


@pytest.mark.parametrize("sizes", [(1000,), (5, 40, 1, 14)])
def test_every_row_of_unequal_shards_is_drawn_equally_often(sizes):
    rng, sizes = np.random.default_rng(1), np.array(sizes)
    counts = np.zeros(sizes.sum())
    starts = np.cumsum(sizes) - sizes
    for _ in range(400):
        drawn = draw(rng, 64, sizes)
        assert drawn.counts.sum() == drawn.weights.sum() == 64
        positions = (starts[:, None] + drawn.positions)[drawn.weights > 0]
        assert np.all(drawn.positions < sizes[:, None])
        np.add.at(counts, positions, 1)
    assert chisquare(counts).pvalue > 0.001
    equal_shares = np.repeat(64 / len(sizes) / sizes, sizes)  # the trap: the same number of rows from every shard
    if len(set(sizes)) > 1:
        assert chisquare(counts, counts.sum() * equal_shares / equal_shares.sum()).pvalue < 1e-6


@given(
    rounds=st.lists(st.integers(1, 500), max_size=20),
    warm_up=st.integers(1, 1000),
    ratio=st.sampled_from([0.01, 0.3, 0.5, 1.0, 2.0]),
)
def test_the_replay_ratio_is_held_whatever_the_rounds(rounds, warm_up, ratio):
    steps = done = 0
    for taken in rounds:
        steps += taken
        done += updates_due(steps, warm_up, ratio, done)
    assert done == int(ratio * max(0, steps - warm_up))


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4), n=st.integers(1, 9), seed=st.integers(0, 1000))
def test_several_steps_by_brute_force(lengths, n, seed):
    episodes = random_fragments(np.random.default_rng(seed), lengths)
    rows, i = multi_step(episodes, n, 0.9), 0
    for part in apart(episodes):
        seen = [*part.observations[1:], part.final_observations[0]]
        for t in range(part.steps):
            k = min(n, part.steps - t)
            assert rows["rewards"][i] == pytest.approx(sum(0.9**j * part.rewards[t + j] for j in range(k)))
            assert rows["discounts"][i] == pytest.approx(0.9**k)
            assert rows["terminated"][i] == (bool(part.terminated[0]) and t + k == part.steps)
            np.testing.assert_array_equal(rows["next_observations"][i], seen[t + k - 1])
            np.testing.assert_array_equal(rows["observations"][i], part.observations[t])
            i += 1
    if n == 1:  # what one step ahead is, does not leak from one fragment into another
        for name, array in transitions(episodes).items():
            np.testing.assert_array_equal(rows[name], array)
