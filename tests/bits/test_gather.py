"""Fragments on their way to the root: masks by hand, what a rank may send, and one order whoever played what when."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from fragments import empty
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.algorithms.algorithm import Plan
from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.collectors import Request
from minitrpo.experience.fragments import PER_STEP, Fragments, concatenate
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.comm import SerialComm
from minitrpo.training.gather import PER_FRAGMENT, digested, gather, in_episode_order

FILTER = ObservationFilter.identity(3, clip=1.5).merged(np.random.default_rng(0).standard_normal((30, 3)))
REQUEST = Request(iteration=2, amount=9, theta=np.zeros(4), observation_filter=FILTER)
PLAN = Plan(np.zeros(4), arrays={"scale": np.array(2.0)})


def fragment(number, start, length, terminated=False, truncated=False, discrete=True):
    """Return one fragment whose numbers are random, keyed by where it stands."""
    rng = np.random.default_rng([number, start])
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


ONE_TO_FOUR = st.integers(1, 4)


@st.composite
def some_fragments(draw, lengths=ONE_TO_FOUR):
    """Draw the fragments of some episodes, each cut at any places, in any order."""
    fragments = []
    for number in draw(st.lists(st.integers(0, 50), unique=True, min_size=1, max_size=4)):
        start, cut = 0, draw(st.lists(lengths, min_size=1, max_size=4))
        for i, length in enumerate(cut):
            ends = i == len(cut) - 1 and draw(st.booleans())
            how = {"terminated": ends and number % 2 == 0, "truncated": ends and number % 2 == 1}
            fragments.append(fragment(number, start, length, **how))
            start += length
    return draw(st.permutations(fragments))


def bits(thing):
    """Return names, kinds, shapes and bits of fragments, or of a dict of arrays."""
    arrays = thing if isinstance(thing, dict) else {f.name: getattr(thing, f.name) for f in fields(Fragments)}
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def in_turn(fragments):
    return concatenate(sorted(fragments, key=lambda f: (f.numbers[0], f.starts[0])))


# --- fragments


def test_counts_masks_timesteps_and_slices_by_hand():
    parts = [fragment(4, 0, 2, terminated=True), fragment(7, 10, 3), fragment(9, 5, 1, truncated=True)]
    episodes = concatenate(parts)
    assert episodes.steps == 6
    assert episodes.ended.tolist() == [True, False, True]
    assert episodes.last.tolist() == [False, True, False, False, True, True]
    assert episodes.terminated_steps.tolist() == [False, True, False, False, False, False]
    assert episodes.timesteps.tolist() == [0.0, 1.0, 10.0, 11.0, 12.0, 5.0]
    assert episodes.slices() == [slice(0, 2), slice(2, 5), slice(5, 6)]
    for part, length in zip(episodes.fragments(), (2, 3, 1), strict=True):
        for f in fields(Fragments):
            assert len(getattr(part, f.name)) == (length if f.name in PER_STEP else 1), f.name


@given(some_fragments(), st.integers(0, 5))
def test_sorted_puts_any_permutation_back_whoever_had_them_and_fragments_takes_apart(fragments, cut):
    nothing = empty(3, 2, discrete=True)
    shuffled = concatenate([concatenate([nothing, *fragments[:cut]]), concatenate([nothing, *fragments[cut:]])])
    before = bits(shuffled)
    assert bits(shuffled.sorted()) == bits(in_turn(fragments))
    assert bits(shuffled) == before == bits(concatenate(fragments)), "sorting makes a new object"
    assert [bits(f) for f in shuffled.fragments()] == [bits(f) for f in fragments]


# --- what travels


class Toy:
    """Sends something for each step and something for each fragment."""

    def digest(self, plan, fragment):
        fragments = fragment.fragments()
        return {
            "observations": fragment.observations,
            "scaled": plan.arrays["scale"] * fragment.rewards,
            "actions": fragment.actions,
            "ended": fragment.ended,
            "gradients": np.array([f.observations.sum(axis=0) * f.rewards.sum() for f in fragments]),
        }


def digest_of(fragments):
    return digested(Toy(), PLAN, REQUEST, list(fragments))


def test_the_algorithm_sees_filtered_observations_and_the_filter_raw_ones():
    part = digest_of([fragment(4, 0, 5), fragment(7, 2, 3)])
    raw = concatenate([fragment(4, 0, 5), fragment(7, 2, 3)]).observations
    assert np.array_equal(part["observations"], FILTER(raw))
    gathered = in_episode_order([part])
    np.testing.assert_allclose(gathered.fragments["mean"], [raw[:5].mean(0), raw[5:].mean(0)], rtol=1e-12)
    np.testing.assert_allclose(gathered.fragments["squares"], [5 * raw[:5].var(0), 3 * raw[5:].var(0)], rtol=1e-12)


@pytest.mark.parametrize("array", [3.0, np.array([None, 1.0, 2.0]), np.array(["up", "down", "up"])])
def test_what_cannot_travel_is_named(array):
    algorithm = SimpleNamespace(digest=lambda plan, episodes: {"good": episodes.rewards, "bad": array})
    with pytest.raises(AlgorithmFailed, match="'bad'"):
        digested(algorithm, PLAN, REQUEST, [fragment(1, 0, 3)])
    with pytest.raises(AlgorithmFailed, match="digest"):  # no dict
        digested(SimpleNamespace(digest=lambda plan, episodes: []), PLAN, REQUEST, [fragment(1, 0, 3)])
    fine = SimpleNamespace(digest=lambda plan, episodes: {"a": [1, 2, 3], "b": (True, False, True)})
    assert [a.tolist() for a in digested(fine, PLAN, REQUEST, [fragment(1, 0, 3)]).values()][:2] == [
        [1, 2, 3],
        [1, 0, 1],
    ]


# --- one order


def check(gathered, fragments):
    """Compare rows that were gathered with those of the fragments in their order."""
    episodes = in_turn(fragments)
    assert np.array_equal(gathered.batch["scaled"], 2.0 * episodes.rewards)
    assert np.array_equal(gathered.batch["actions"], episodes.actions)
    assert np.array_equal(gathered.batch["observations"], FILTER(episodes.observations))
    assert np.array_equal(gathered.batch["ended"], episodes.ended)
    assert np.array_equal(gathered.ended, episodes.ended)
    assert gathered.steps == episodes.steps
    for name in PER_FRAGMENT:
        assert np.array_equal(gathered.fragments[name], getattr(episodes, name)), name
    each = [FILTER(f.observations).sum(axis=0) * f.rewards.sum() for f in episodes.fragments()]
    assert np.array_equal(gathered.batch["gradients"], each)


@given(some_fragments(), st.data())
def test_rows_come_in_episode_order_whichever_rank_sent_which_fragment(fragments, data):
    """Up to four ranks, some of them perhaps without work, in whatever order each of them played."""
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=len(fragments), max_size=len(fragments)))
    dealt = [[f for f, rank in zip(fragments, ranks, strict=True) if rank == r] for r in range(4)]
    together, alone = in_episode_order([digest_of(part) for part in dealt]), in_episode_order([digest_of(fragments)])
    check(together, fragments)
    assert bits(together.batch) == bits(alone.batch)
    assert bits(together.fragments) == bits(alone.fragments)
    (gathered, found), again = gather(SerialComm(), digest_of(fragments), {"x": np.ones(1)}), alone
    assert found[0]["x"] == 1
    assert bits(gathered.batch) == bits(again.batch)


@given(some_fragments(lengths=st.just(1)), st.integers(0, 9))
def test_fragments_of_one_step_each(fragments, cut):
    """As many rows for the steps as for the fragments: both readings are the same order."""
    check(in_episode_order([digest_of(fragments[:cut]), digest_of(fragments[cut:])]), fragments)


def test_a_rank_whose_fragments_have_one_step_does_not_turn_the_others_into_rows():
    """On one rank rows for steps and for fragments may be as many; all ranks together decide what is meant."""
    short, long = [fragment(1, 0, 1), fragment(3, 0, 1)], [fragment(2, 0, 4), fragment(0, 0, 2)]
    check(in_episode_order([digest_of(short), digest_of(long)]), [*short, *long])


@pytest.mark.parametrize(
    "odd",
    [
        *((np.zeros(rows), np.zeros(2)) for rows in (0, 1, 3, 5, 7)),  # neither steps nor fragments
        (np.zeros(6), np.zeros(1)),  # steps on one rank, fragments on the other
        (np.zeros((6, 2)), np.zeros((2, 3))),
        (np.zeros(6), None),
        (None, np.zeros(2)),
    ],
)
def test_a_wrong_number_of_rows_or_what_differs_from_rank_to_rank_is_an_error_that_names_the_array(odd):
    """Of two ranks, with 6 steps in 2 fragments and 2 in 1."""
    dealt = ([fragment(4, 0, 4), fragment(5, 0, 2)], [fragment(6, 0, 2)])
    more = [{"odd": array} if array is not None else {} for array in odd]
    with pytest.raises(AlgorithmFailed, match="'odd'"):
        in_episode_order([digest_of(fragments) | array for fragments, array in zip(dealt, more, strict=True)])
