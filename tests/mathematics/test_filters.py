"""The observation filter against numpy's mean and std of everything it has seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.observation_filter import ObservationFilter, moments

QUICK = settings(max_examples=30)
SEEDS = st.integers(0, 2**32 - 1)


def data(n, d=3, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    return offset + rng.uniform(0.1, 100, d) * rng.standard_normal((n, d))


def merged(parts, d=3, clip=10.0):
    filter_ = ObservationFilter.identity(d, clip)
    for part in parts:
        filter_ = filter_.merged(part)
    return filter_


def same_bits(a, b):
    return a.to_vector().tobytes() == b.to_vector().tobytes()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), SEEDS, st.sampled_from([0.0, -50.0, 1e6]))
@QUICK
def test_merging_fragments_is_seeing_everything_at_once(lengths, seed, offset):
    everything = data(sum(lengths), 3, seed, offset)
    filter_ = merged(np.split(everything, np.cumsum(lengths)[:-1]))
    assert filter_.count == len(everything)
    np.testing.assert_allclose(filter_.mean, everything.mean(0), rtol=1e-12, atol=1e-10)
    if len(everything) > 1:
        np.testing.assert_allclose(filter_.std, everything.std(0), rtol=1e-6)
        z = (everything - everything.mean(0)) / everything.std(0)
        np.testing.assert_allclose(filter_(everything), np.clip(z, -10, 10), atol=1e-5)


@given(st.lists(st.integers(1, 30), max_size=6), SEEDS)
@QUICK
def test_moments_that_travel_are_merged_as_the_observations_themselves(lengths, seed):
    """A rank sends the moments of its fragments, one row each, for the root to merge: the same bits.

    Another order may have others, which is why fragments are merged in the order of their episodes.
    """
    parts = [data(n, 3, seed + i) for i, n in enumerate(lengths)]
    sent = [np.array([moments(part)[i] for part in parts]) for i in (0, 1)]
    filter_ = ObservationFilter.identity(3)
    for n, mean, squares in zip(lengths, *sent, strict=True):
        filter_ = filter_.merged_moments(n, mean, squares)
    assert same_bits(filter_, merged(parts))


def test_before_two_observations_there_is_no_scale_and_before_one_it_only_clips():
    filter_ = ObservationFilter.identity(2, clip=5.0)
    assert filter_(np.array([[1.5, -3.0], [50.0, -6.0]])).tolist() == [[1.5, -3.0], [5.0, -5.0]]
    assert filter_.merged(np.array([[2.0, 3.0]]))(np.array([[2.5, -7.0]])).tolist() == [[0.5, -5.0]]


@pytest.mark.parametrize("clip", [1.0, 10.0])
def test_clip(clip):
    filter_ = merged([data(100)], clip=clip)
    wild = filter_(1e6 * data(50, seed=1))
    assert (np.min(wild), np.max(wild)) == (-clip, clip)
    inside = filter_.mean + 0.5 * clip * filter_.std
    np.testing.assert_allclose(filter_(inside[None]), 0.5 * clip)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e6 / 3, 1e9 / 3])
def test_a_column_that_never_changes_is_not_blown_up(value):
    """Rounding leaves a tiny variance; dividing by it would turn noise into signal."""
    column = merged([np.full((37, 1), value)] * 30, 1)
    assert column.std == 1.0
    assert abs(column(np.full((1, 1), value))[0, 0]) < 1e-6
    assert column(np.full((1, 1), value + 0.5))[0, 0] == pytest.approx(0.5, abs=1e-6)


def test_only_the_constant_columns_keep_their_scale_however_large():
    everything = data(50)
    everything[:, 1] = 1e12 / 3
    filter_ = merged([everything] * 30)
    assert filter_.std[1] == 1.0
    assert abs(filter_(everything)[0, 1]) < 1e-3
    np.testing.assert_allclose(filter_.std[[0, 2]], everything.std(0)[[0, 2]])


@given(SEEDS, st.integers(0, 5), st.integers(1, 6))
@QUICK
def test_through_a_vector_and_back_and_nothing_is_modified_or_shared(seed, fragments, d):
    filter_, observations = merged([data(4, d, seed + i) for i in range(fragments)], d, clip=7.5), data(5, d)
    vector, before = filter_.to_vector(), observations.copy()
    back = ObservationFilter.from_vector(vector)
    assert vector.shape == (2 + 2 * d,)
    assert same_bits(back, filter_)
    assert np.array_equal(back(observations), filter_(observations))
    filter_.merged(observations)
    assert np.array_equal(observations, before)
    assert np.array_equal(filter_.to_vector(), vector)
    assert not np.shares_memory(back.mean, vector)  # a broadcast buffer may be used again
    assert not np.shares_memory(back.squares, vector)


@given(st.integers(-30, 30), st.sampled_from([-1000.0, 0.0, 7.0]), SEEDS)
@QUICK
def test_the_unit_of_an_observation_does_not_matter(k, shift, seed):
    """Powers of two change no bit; beside another origin numbers differ by rounding alone."""
    seen, unit = data(40, 3, seed), 2.0**k
    plain, scaled, moved = (merged(np.split(x, 4))(x) for x in (seen, unit * seen, shift + seen))
    assert np.array_equal(plain, scaled)
    np.testing.assert_allclose(plain, moved, rtol=1e-6, atol=1e-6)


def test_what_differs_by_rounding_alone_is_not_blown_up():
    seen = data(100) * [1, 1e-19, 1e-19] + [0, 0, 5]
    assert np.abs(merged([seen])(seen)[:, 1:]).max() < 1e-10
