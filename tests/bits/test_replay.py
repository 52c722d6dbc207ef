"""The replay buffer: what is in it, in which order, and how evenly minibatches are drawn of it."""

import numpy as np
import pytest
from fragments import random_fragments
from hypothesis import given, settings
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


@settings(deadline=None)
@given(capacity=st.integers(1, 12), counts=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), max_size=12))
def test_a_shard_holds_its_newest_rows_in_order(capacity, counts):
    buffer, expected, number = ReplayBuffer(3, capacity, 2, 0), [[], [], []], 0
    for shard, count in counts:
        buffer.add(shard, rows(number, count))
        expected[shard] = [*expected[shard], *range(number, number + count)][-capacity:]
        number += count
    assert [content(buffer, shard) for shard in range(3)] == expected
    assert buffer.sizes.tolist() == [len(own) for own in expected]


def test_all_arrays_of_a_row_stay_together():
    buffer = ReplayBuffer(2, 10, 2, 0)
    buffer.add(0, rows(0, 25))
    buffer.add(1, rows(100, 3))
    taken = buffer.take(draw(np.random.default_rng(0), 500, buffer.sizes))
    numbers = taken["rewards"]
    assert {*numbers[0].astype(int)} == {*range(15, 25)}
    assert {*numbers[1].astype(int)} == {100, 101, 102}
    np.testing.assert_array_equal(taken["actions"], numbers)
    np.testing.assert_array_equal(taken["observations"][..., 1], numbers)
    np.testing.assert_array_equal(taken["next_observations"][..., 0], numbers + 0.5)
    np.testing.assert_array_equal(taken["terminated"], numbers % 2 == 0)


@pytest.mark.parametrize("sizes", [(1000,), (10, 10, 10, 10), (5, 40, 1, 14)])
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


def test_a_draw_does_not_depend_on_which_shards_a_process_holds():
    whole, half = ReplayBuffer(4, 8, 2, 0), ReplayBuffer(4, 8, 2, 0)
    for shard in range(4):
        whole.add(shard, rows(10 * shard, 6))
        if shard >= 2:
            half.add(shard, rows(10 * shard, 6))
    drawn = draw(np.random.default_rng(2), 20, whole.sizes)
    own = slice(2, 4)
    for name, array in whole.take(drawn).items():
        np.testing.assert_array_equal(half.take(drawn, own)[name], array[own])


@settings(deadline=None)
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


def test_a_buffer_goes_on_from_its_state():
    buffer, other = ReplayBuffer(2, 7, 2, 0), ReplayBuffer(2, 7, 2, 0)
    buffer.add(0, rows(0, 11))
    buffer.add(1, rows(50, 2))
    other.restore({name: array.copy() for name, array in buffer.state().items()})
    for each in (buffer, other):
        each.add(0, rows(11, 4))
        each.add(1, rows(52, 9))
    for name, array in buffer.state().items():
        np.testing.assert_array_equal(other.state()[name], array)


@pytest.mark.parametrize("name", ["observations", "actions", "added", "rewards"])
def test_a_state_that_does_not_fit_is_refused(name):
    buffer = ReplayBuffer(2, 7, 2, 0)
    buffer.add(0, rows(0, 5))
    state = {n: array.copy() for n, array in buffer.state().items()}
    with pytest.raises(ValueError, match="replay buffer"):
        buffer.restore(state | {name: state[name][:1]})
    if name == "rewards":
        with pytest.raises(ValueError, match="replay buffer"):
            buffer.restore(state | {name: np.full_like(state[name], np.nan)})


def test_transitions_of_fragments_do_not_leak_into_each_other():
    episodes = random_fragments(np.random.default_rng(3), (3, 1, 4))
    whole = transitions(episodes)
    for part, slice_ in zip(episodes.fragments(), episodes.slices(), strict=True):
        alone = transitions(part)
        nexts = [*part.observations[1:], part.final_observations[0]]
        np.testing.assert_array_equal(alone["next_observations"], nexts)
        assert alone["terminated"].tolist() == [False] * (part.steps - 1) + [bool(part.terminated[0])]  # not truncated
        for name, array in whole.items():
            np.testing.assert_array_equal(array[slice_], alone[name])


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4), n=st.integers(1, 9), seed=st.integers(0, 1000))
def test_several_steps_by_brute_force(lengths, n, seed):
    episodes = random_fragments(np.random.default_rng(seed), lengths)
    rows, i = multi_step(episodes, n, 0.9), 0
    for part in episodes.fragments():
        seen = [*part.observations[1:], part.final_observations[0]]
        for t in range(part.steps):
            k = min(n, part.steps - t)
            assert rows["rewards"][i] == pytest.approx(sum(0.9**j * part.rewards[t + j] for j in range(k)))
            assert rows["discounts"][i] == pytest.approx(0.9**k)
            assert rows["terminated"][i] == (bool(part.terminated[0]) and t + k == part.steps)
            np.testing.assert_array_equal(rows["next_observations"][i], seen[t + k - 1])
            np.testing.assert_array_equal(rows["observations"][i], part.observations[t])
            i += 1
    if n == 1:
        for name, array in transitions(episodes).items():
            np.testing.assert_array_equal(rows[name], array)
