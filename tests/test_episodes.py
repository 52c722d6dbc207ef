"""Episodes: masks and slices by hand, and one order whatever order the fragments came in."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.episodes import Episodes, concatenate, empty

QUICK = settings(max_examples=50, deadline=None)


def fragment(number, start, length, terminated=False, truncated=False, discrete=False, seed=0):
    """Return one fragment whose numbers are random, keyed by where it stands."""
    rng = np.random.default_rng([seed, number, start])
    return Episodes(
        observations=rng.standard_normal((length, 3)),
        actions=rng.integers(0, 5, (length, 1)) if discrete else rng.standard_normal((length, 2)),
        rewards=rng.standard_normal(length),
        final_observations=rng.standard_normal((1, 3)),
        numbers=np.array([number]),
        lengths=np.array([length]),
        starts=np.array([start]),
        terminated=np.array([terminated]),
        truncated=np.array([truncated]),
        returns=rng.standard_normal(1),
    )


def same_bits(a, b):
    """Return whether all arrays agree in dtype, shape and bits."""
    pairs = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(Episodes)]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


BY_HAND = [fragment(4, 0, 2, terminated=True), fragment(7, 10, 3), fragment(9, 5, 1, truncated=True)]


def test_counts_masks_times_and_slices_by_hand():
    episodes = concatenate(BY_HAND)
    assert episodes.steps == 6
    assert episodes.ended.tolist() == [True, False, True]
    assert episodes.last.tolist() == [False, True, False, False, True, True]
    assert episodes.terminated_steps.tolist() == [False, True, False, False, False, False]
    assert episodes.times.tolist() == [0.0, 1.0, 10.0, 11.0, 12.0, 5.0]
    assert episodes.times.dtype == np.float64
    assert episodes.slices() == [slice(0, 2), slice(2, 5), slice(5, 6)]


@st.composite
def some_pieces(draw):
    """Draw the fragments of some episodes, each cut at any places, in any order."""
    fragments, numbers = [], draw(st.lists(st.integers(0, 50), unique=True, min_size=1, max_size=4))
    for number in numbers:
        start, lengths = 0, draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        for i, length in enumerate(lengths):
            ends = i == len(lengths) - 1 and draw(st.booleans())
            fragments.append(fragment(number, start, length, terminated=ends))
            start += length
    return draw(st.permutations(fragments))


@given(some_pieces())
@QUICK
def test_sorted_puts_any_permutation_back_bit_for_bit(fragments):
    in_order = concatenate(sorted(fragments, key=lambda p: (p.numbers[0], p.starts[0])))
    shuffled = concatenate(fragments)
    copy = concatenate(fragments)
    assert same_bits(shuffled.sorted(), in_order)
    assert same_bits(in_order.sorted(), in_order)
    assert same_bits(shuffled, copy)  # sorting makes a new object


@given(some_pieces(), st.integers(0, 5))
@QUICK
def test_it_does_not_matter_how_the_pieces_were_dealt_out(fragments, cut):
    """Two ranks, one of them perhaps without work."""
    nothing = empty(3, 2, discrete=False)
    ranks = [concatenate([nothing, *fragments[:cut]]), concatenate([nothing, *fragments[cut:]])]
    assert same_bits(concatenate(ranks).sorted(), concatenate(fragments).sorted())


@given(some_pieces())
@QUICK
def test_slices_masks_and_times_agree_piece_by_piece(fragments):
    episodes = concatenate(fragments)
    assert len(episodes.slices()) == len(fragments)
    for i, (rows, p) in enumerate(zip(episodes.slices(), fragments, strict=True)):
        assert np.array_equal(episodes.observations[rows], p.observations)
        assert np.array_equal(episodes.rewards[rows], p.rewards)
        assert np.array_equal(episodes.last[rows], p.last)
        assert episodes.last[rows].tolist() == [False] * (p.steps - 1) + [True]
        assert np.array_equal(episodes.terminated_steps[rows], p.last & p.terminated[0])
        assert episodes.times[rows].tolist() == list(range(p.starts[0], p.starts[0] + p.steps))
        assert episodes.ended[i] == p.ended[0]


@pytest.mark.parametrize("discrete", [False, True])
def test_empty_has_the_dtypes_and_columns_of_full_ones(discrete):
    full = fragment(1, 0, 4, discrete=discrete)
    nothing = empty(3, full.actions.shape[1], discrete)
    for f in fields(Episodes):
        a, b = getattr(nothing, f.name), getattr(full, f.name)
        assert a.dtype == b.dtype, f.name
        assert a.shape == (0, *b.shape[1:]), f.name
    assert same_bits(concatenate([nothing, full, nothing]), full)
    assert nothing.steps == 0
    assert nothing.last.shape == nothing.terminated_steps.shape == nothing.ended.shape == (0,)


@pytest.mark.parametrize("ask", [lambda e: e.slices(), lambda e: e.sorted().slices(), lambda e: e.times.tolist()])
def test_a_rank_without_work_can_be_asked_everything(ask):
    assert ask(empty(3, 2, discrete=False)) == []
