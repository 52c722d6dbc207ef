"""Episodes: masks and slices by hand, and one order whatever order the fragments came in."""

from dataclasses import fields

import numpy as np
import pytest
from fragments import empty
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.fragments import PER_STEP, Fragments, concatenate, in_order, rows_of
from minitrpo.experience.observation_filter import ObservationFilter

QUICK = settings(max_examples=50, deadline=None)


def fragment(number, start, length, terminated=False, truncated=False, discrete=False, seed=0):
    """Return one fragment whose numbers are random, keyed by where it stands."""
    rng = np.random.default_rng([seed, number, start])
    return Fragments(
        observations=rng.standard_normal((length, 3)),
        actions=rng.integers(0, 5, length) if discrete else rng.standard_normal((length, 2)),
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
    pairs = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(Fragments)]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


BY_HAND = [fragment(4, 0, 2, terminated=True), fragment(7, 10, 3), fragment(9, 5, 1, truncated=True)]


def test_counts_masks_timesteps_and_slices_by_hand():
    episodes = concatenate(BY_HAND)
    assert episodes.steps == 6
    assert episodes.ended.tolist() == [True, False, True]
    assert episodes.last.tolist() == [False, True, False, False, True, True]
    assert episodes.terminated_steps.tolist() == [False, True, False, False, False, False]
    assert episodes.timesteps.tolist() == [0.0, 1.0, 10.0, 11.0, 12.0, 5.0]
    assert episodes.timesteps.dtype == np.float64
    assert episodes.slices() == [slice(0, 2), slice(2, 5), slice(5, 6)]


@st.composite
def some_fragments(draw):
    """Draw the fragments of some episodes, each cut at any places, in any order."""
    fragments, numbers = [], draw(st.lists(st.integers(0, 50), unique=True, min_size=1, max_size=4))
    for number in numbers:
        start, lengths = 0, draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        for i, length in enumerate(lengths):
            ends = i == len(lengths) - 1 and draw(st.booleans())
            fragments.append(fragment(number, start, length, terminated=ends))
            start += length
    return draw(st.permutations(fragments))


@given(some_fragments())
@QUICK
def test_sorted_puts_any_permutation_back_bit_for_bit(fragments):
    ordered = concatenate(sorted(fragments, key=lambda f: (f.numbers[0], f.starts[0])))
    shuffled = concatenate(fragments)
    copy = concatenate(fragments)
    assert same_bits(shuffled.sorted(), ordered)
    assert same_bits(ordered.sorted(), ordered)
    assert same_bits(shuffled, copy)  # sorting makes a new object


@given(some_fragments(), st.integers(0, 5))
@QUICK
def test_it_does_not_matter_how_the_fragments_were_dealt_out(fragments, cut):
    """Two ranks, one of them perhaps without work."""
    nothing = empty(3, 2, discrete=False)
    ranks = [concatenate([nothing, *fragments[:cut]]), concatenate([nothing, *fragments[cut:]])]
    assert same_bits(concatenate(ranks).sorted(), concatenate(fragments).sorted())


@given(some_fragments())
@QUICK
def test_slices_masks_and_timesteps_agree_fragment_by_fragment(fragments):
    episodes = concatenate(fragments)
    assert len(episodes.slices()) == len(fragments)
    for i, (rows, f) in enumerate(zip(episodes.slices(), fragments, strict=True)):
        assert np.array_equal(episodes.observations[rows], f.observations)
        assert np.array_equal(episodes.rewards[rows], f.rewards)
        assert np.array_equal(episodes.last[rows], f.last)
        assert episodes.last[rows].tolist() == [False] * (f.steps - 1) + [True]
        assert np.array_equal(episodes.terminated_steps[rows], f.last & f.terminated[0])
        assert episodes.timesteps[rows].tolist() == list(range(f.starts[0], f.starts[0] + f.steps))
        assert episodes.ended[i] == f.ended[0]


@given(some_fragments())
@QUICK
def test_fragments_are_what_was_put_together(fragments):
    taken_apart = concatenate(fragments).fragments()
    assert len(taken_apart) == len(fragments)
    assert all(same_bits(a, b) for a, b in zip(taken_apart, fragments, strict=True))


def test_a_fragment_by_itself_has_one_entry_per_fragment_and_a_row_per_step():
    for fragment_, length in zip(concatenate(BY_HAND).fragments(), (2, 3, 1), strict=True):
        for f in fields(Fragments):
            assert len(getattr(fragment_, f.name)) == (length if f.name in PER_STEP else 1), f.name


@given(st.lists(st.integers(0, 5), max_size=12), st.data())
@QUICK
def test_rows_of_are_the_steps_of_fragments_in_another_order(lengths, data):
    order = data.draw(st.permutations(range(len(lengths))))
    stops = np.cumsum([0, *lengths])
    expected = [row for i in order for row in range(stops[i], stops[i + 1])]
    assert rows_of(np.array(order, np.intp), np.array(lengths, np.int64)).tolist() == expected


def test_in_order_by_hand():
    """By number, and the fragments of one episode by their start; the first argument counts more."""
    assert in_order(np.array([7, 2, 7, 2]), np.array([10, 3, 0, 0])).tolist() == [3, 1, 2, 0]
    assert in_order(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_filtered_shows_what_the_policy_saw_and_nothing_else_changes():
    episodes = concatenate(BY_HAND)
    frozen = ObservationFilter.identity(3, clip=1.5).merged(np.random.default_rng(0).standard_normal((20, 3)))
    seen = episodes.filtered(frozen)
    assert np.array_equal(seen.observations, frozen(episodes.observations))
    assert np.array_equal(seen.final_observations, frozen(episodes.final_observations))
    assert not np.array_equal(seen.observations, episodes.observations)
    others = [f.name for f in fields(Fragments) if f.name not in ("observations", "final_observations")]
    assert all(np.array_equal(getattr(seen, name), getattr(episodes, name)) for name in others)


@pytest.mark.parametrize("discrete", [False, True])
def test_empty_has_the_dtypes_and_columns_of_full_ones(discrete):
    full = fragment(1, 0, 4, discrete=discrete)
    nothing = empty(3, 2, discrete)
    for f in fields(Fragments):
        a, b = getattr(nothing, f.name), getattr(full, f.name)
        assert a.dtype == b.dtype, f.name
        assert a.shape == (0, *b.shape[1:]), f.name
    assert same_bits(concatenate([nothing, full, nothing]), full)
    assert nothing.steps == 0
    assert nothing.last.shape == nothing.terminated_steps.shape == nothing.ended.shape == (0,)


@pytest.mark.parametrize(
    "ask",
    [lambda e: e.slices(), lambda e: e.sorted().slices(), lambda e: e.fragments(), lambda e: e.timesteps.tolist()],
)
def test_a_rank_without_work_can_be_asked_everything(ask):
    assert ask(empty(3, 2, discrete=False)) == []
