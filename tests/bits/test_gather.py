"""Fragments on their way to the root: masks by hand, what a rank may send, and one order whoever played what when."""

from dataclasses import fields, replace

import fragments
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.algorithms.algorithm import Plan
from minitrpo.algorithms.user_classes import check_prepared
from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Fragments, concatenate
from minitrpo.parallel.comm import Comm
from minitrpo.training.collect import PER_FRAGMENT, Request, gather, in_episode_order, prepare_fragments

FILTER = ObservationFilter.identity(3, clip=1.5).merged(np.random.default_rng(0).standard_normal((30, 3)))
REQUEST = Request(iteration=2, amount=9, theta=np.zeros(4), observation_filter=FILTER)
PLAN = Plan(np.zeros(4), arrays={"scale": np.array(2.0)})


def fragment(number, start, length, terminated=False, truncated=False):
    """Return one fragment whose numbers are random, keyed by where it stands."""
    rng = np.random.default_rng([number, start])
    data = rng.standard_normal((length, 3)), rng.integers(0, 5, length), rng.standard_normal(length)
    return fragments.fragment(*data, rng.standard_normal(3), number, start, terminated, truncated)


@st.composite
def some_fragments(draw):
    """Draw the fragments of some episodes, each cut at any places, in any order; often all are of one step."""
    parts, longest = [], draw(st.integers(1, 4))
    for number in draw(st.lists(st.integers(0, 50), unique=True, min_size=1, max_size=4)):
        start, cut = 0, draw(st.lists(st.integers(1, longest), min_size=1, max_size=4))
        for i, length in enumerate(cut):
            ends = i == len(cut) - 1 and draw(st.booleans())
            parts.append(fragment(number, start, length, ends and number % 2 == 0, ends and number % 2 == 1))
            start += length
    return draw(st.permutations(parts))


def bits(thing):
    """Return names, kinds, shapes and bits of fragments, or of a dict of arrays."""
    arrays = thing if isinstance(thing, dict) else {f.name: getattr(thing, f.name) for f in fields(Fragments)}
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def in_turn(parts):
    return concatenate(sorted(parts, key=lambda f: (f.numbers[0], f.starts[0])))


def test_counts_masks_timesteps_and_slices_by_hand():
    parts = [fragment(4, 0, 2, terminated=True), fragment(7, 10, 3), fragment(9, 5, 1, truncated=True)]
    episodes = concatenate(parts)
    assert episodes.steps == 6
    assert episodes.ended.tolist() == [True, False, True]
    assert episodes.last.tolist() == [False, True, False, False, True, True]
    assert episodes.terminated_steps.tolist() == [False, True, False, False, False, False]
    assert episodes.timesteps.tolist() == [0.0, 1.0, 10.0, 11.0, 12.0, 5.0]
    assert fragments.slices(episodes) == [slice(0, 2), slice(2, 5), slice(5, 6)]
    for part, length in zip(fragments.apart(episodes), (2, 3, 1), strict=True):
        for f in fields(Fragments):
            assert len(getattr(part, f.name)) == (length if f.name in fragments.PER_STEP else 1), f.name


@given(some_fragments(), st.integers(0, 5))
def test_sorted_puts_any_permutation_back_whoever_had_them_and_fragments_takes_apart(parts, cut):
    nothing = fragments.empty(3, 2, discrete=True)
    shuffled = concatenate([concatenate([nothing, *parts[:cut]]), concatenate([nothing, *parts[cut:]])])
    before = bits(shuffled)
    assert bits(fragments.in_turn(shuffled)) == bits(in_turn(parts))
    assert bits(shuffled) == before == bits(concatenate(parts)), "sorting makes a new object"
    assert [bits(f) for f in fragments.apart(shuffled)] == [bits(f) for f in parts]


# --- what travels


class Toy:
    """Sends something for each step and something for each fragment."""

    def prepare(self, plan, fragment):
        return {
            "observations": fragment.observations,
            "scaled": plan.arrays["scale"] * fragment.rewards,
            "ended": fragment.ended,
            "gradients": np.array([fragment.observations.sum(axis=0) * fragment.rewards.sum()]),
        }


def sent_by(parts):
    return prepare_fragments(Toy(), PLAN, REQUEST, list(parts))


@given(some_fragments(), st.data())
def test_rows_come_in_episode_order_whichever_rank_sent_which_fragment(parts, data):
    """Up to four ranks, some perhaps without work or with steps as many as fragments; observations are filtered."""
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=len(parts), max_size=len(parts)))
    dealt = [[f for f, rank in zip(parts, ranks, strict=True) if rank == r] for r in range(4)]
    together, episodes = in_episode_order([sent_by(own) for own in dealt]), in_turn(parts)
    expected = {
        "observations": FILTER(episodes.observations),
        "scaled": 2.0 * episodes.rewards,
        "ended": episodes.ended,
        "gradients": np.array(
            [FILTER(f.observations).sum(axis=0) * f.rewards.sum() for f in fragments.apart(episodes)]
        ),
    }
    assert bits(dict(sorted(together.batch.items()))) == bits(dict(sorted(expected.items())))
    assert np.array_equal(together.ended, episodes.ended)
    assert together.steps == episodes.steps
    for name in PER_FRAGMENT:
        assert np.array_equal(together.fragments[name], getattr(episodes, name)), name
    raw = [f.observations for f in fragments.apart(episodes)]  # what the filter learns from is not filtered
    np.testing.assert_allclose(together.fragments["mean"], [o.mean(0) for o in raw], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(together.fragments["squares"], [len(o) * o.var(0) for o in raw], rtol=1e-9, atol=1e-12)
    gathered = gather(Comm(), replace(sent_by(parts), unfinished={"unfinished_x": np.ones(1)}))
    assert gathered.unfinished == {"unfinished_x": 1}
    assert bits(gathered.batch) == bits(together.batch)
    assert bits(gathered.fragments) == bits(together.fragments)


@pytest.mark.parametrize("array", [3.0, np.array([None, 1.0, 2.0]), np.array(["up", "down", "up"])])
def test_what_cannot_travel_is_named(array):
    for returned, named in (({"good": np.zeros(3), "bad": array}, "'bad'"), ([], "prepare")):
        with pytest.raises(AlgorithmFailed, match=named):
            check_prepared(returned, 3)


@pytest.mark.parametrize(
    "odd",
    [
        *((np.zeros(rows), np.zeros(2)) for rows in (0, 3, 5, 7)),  # neither steps nor fragments
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
    sent = [sent_by(parts) for parts in dealt]
    with pytest.raises(AlgorithmFailed, match="'odd'"):
        in_episode_order([replace(s, batch=s.batch | array) for s, array in zip(sent, more, strict=True)])
