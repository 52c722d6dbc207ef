"""A rank's part of an iteration: what travels, and the one order in which the root finds everybody's rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.algorithm import Plan
from minitrpo.errors import AlgorithmFailed, BadInput
from minitrpo.experience.collectors import EpisodeCollector, Request, SegmentCollector
from minitrpo.experience.environments import describe
from minitrpo.experience.fragments import Fragments, concatenate
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.comm import SerialComm
from minitrpo.training.context import check_ranks, make_collector
from minitrpo.training.gather import PER_FRAGMENT, digested, gather, in_episode_order
from minitrpo.training.settings import Settings

QUICK = settings(max_examples=50, deadline=None)
FILTER = ObservationFilter.identity(3).merged(np.random.default_rng(0).standard_normal((30, 3)))
REQUEST = Request(iteration=2, amount=9, theta=np.zeros(4), observation_filter=FILTER)
PLAN = Plan(np.zeros(4), arrays={"scale": np.array(2.0)})


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


def fragment(number, start, length, ends=False):
    """Return one fragment whose numbers are random, keyed by where it stands."""
    rng = np.random.default_rng([number, start])
    return Fragments(
        observations=rng.standard_normal((length, 3)),
        actions=rng.integers(0, 5, length),
        rewards=rng.standard_normal(length),
        final_observations=rng.standard_normal((1, 3)),
        numbers=np.array([number]),
        lengths=np.array([length]),
        starts=np.array([start]),
        terminated=np.array([ends and number % 2 == 0]),
        truncated=np.array([ends and number % 2 == 1]),
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
            fragments.append(fragment(number, start, length, ends=i == len(cut) - 1 and draw(st.booleans())))
            start += length
    return draw(st.permutations(fragments))


def digest_of(fragments):
    return digested(Toy(), PLAN, REQUEST, list(fragments))


def same_bits(a, b):
    """Return whether two dicts of arrays agree in names, dtypes, shapes and bits."""
    return a.keys() == b.keys() and all(
        (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())
        for x, y in ((a[name], b[name]) for name in a)
    )


def ordered(fragments):
    return concatenate(fragments).sorted()


# --- what travels


def test_a_rank_without_a_step_sends_nothing():
    assert digest_of([]) == {}


def test_the_algorithm_sees_filtered_observations_and_the_filter_raw_ones():
    part = digest_of([fragment(4, 0, 5), fragment(7, 2, 3)])
    raw = concatenate([fragment(4, 0, 5), fragment(7, 2, 3)]).observations
    assert np.array_equal(part["observations"], FILTER(raw))
    gathered = in_episode_order([part])
    np.testing.assert_allclose(gathered.fragments["mean"], [raw[:5].mean(0), raw[5:].mean(0)], rtol=1e-12)
    np.testing.assert_allclose(gathered.fragments["squares"], [5 * raw[:5].var(0), 3 * raw[5:].var(0)], rtol=1e-12)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (3.0, "'bad', float64 of shape ()"),
        (np.array([None, 1.0, 2.0]), "'bad', object of shape (3,)"),
        (np.array(["up", "down", "up"]), "'bad', <U4 of shape (3,)"),
    ],
)
def test_what_cannot_travel_is_named(array, words):
    algorithm = SimpleNamespace(digest=lambda plan, episodes: {"good": episodes.rewards, "bad": array})
    with pytest.raises(AlgorithmFailed, match="with one row for each step, or one row in all") as failure:
        digested(algorithm, PLAN, REQUEST, [fragment(1, 0, 3)])
    assert words in str(failure.value)


def test_a_digest_is_a_dict():
    with pytest.raises(AlgorithmFailed, match="must return a dict of arrays, not list"):
        digested(SimpleNamespace(digest=lambda plan, episodes: []), PLAN, REQUEST, [fragment(1, 0, 3)])


def test_lists_and_numbers_of_any_kind_travel_as_arrays():
    algorithm = SimpleNamespace(digest=lambda plan, episodes: {"a": [1, 2, 3], "b": (True, False, True)})
    part = digested(algorithm, PLAN, REQUEST, [fragment(1, 0, 3)])
    assert (part["a"].tolist(), part["b"].dtype) == ([1, 2, 3], np.dtype(bool))


# --- one order


@given(some_fragments())
@QUICK
def test_rows_come_in_episode_order(fragments):
    gathered, episodes = in_episode_order([digest_of(fragments)]), ordered(fragments)
    assert np.array_equal(gathered.batch["scaled"], 2.0 * episodes.rewards)
    assert np.array_equal(gathered.batch["actions"], episodes.actions)
    assert np.array_equal(gathered.batch["observations"], FILTER(episodes.observations))
    assert np.array_equal(gathered.batch["ended"], episodes.ended)
    assert np.array_equal(gathered.ended, episodes.ended)
    assert gathered.steps == episodes.steps
    for name in PER_FRAGMENT:
        assert np.array_equal(gathered.fragments[name], getattr(episodes, name)), name
    in_turn = [FILTER(f.observations).sum(axis=0) * f.rewards.sum() for f in episodes.fragments()]
    assert np.array_equal(gathered.batch["gradients"], in_turn)


@given(some_fragments(), st.data())
@QUICK
def test_it_does_not_matter_which_rank_sent_which_fragment(fragments, data):
    """Up to four ranks, some of them perhaps without work, in whatever order each of them played."""
    alone = in_episode_order([digest_of(fragments)])
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=len(fragments), max_size=len(fragments)))
    dealt = [[f for f, rank in zip(fragments, ranks, strict=True) if rank == r] for r in range(4)]
    together = in_episode_order([digest_of(part) for part in dealt])
    assert same_bits(together.batch, alone.batch)
    assert same_bits(together.fragments, alone.fragments)


@given(some_fragments(lengths=st.just(1)), st.data())
@QUICK
def test_fragments_of_one_step_each(fragments, data):
    """As many rows for the steps as for the fragments: both readings are the same order."""
    cut = data.draw(st.integers(0, len(fragments)))
    gathered, episodes = in_episode_order([digest_of(fragments[:cut]), digest_of(fragments[cut:])]), ordered(fragments)
    assert np.array_equal(gathered.batch["scaled"], 2.0 * episodes.rewards)
    assert np.array_equal(gathered.batch["ended"], episodes.ended)
    assert np.array_equal(gathered.fragments["starts"], episodes.starts)


def test_a_rank_whose_fragments_have_one_step_does_not_turn_the_others_into_rows():
    """On one rank rows for steps and for fragments may be as many; all ranks together decide what is meant."""
    short, long = [fragment(1, 0, 1), fragment(3, 0, 1)], [fragment(2, 0, 4), fragment(0, 0, 2)]
    gathered = in_episode_order([digest_of(short), digest_of(long)])
    episodes = ordered([*short, *long])
    assert np.array_equal(gathered.batch["scaled"], 2.0 * episodes.rewards)
    assert np.array_equal(gathered.batch["ended"], episodes.ended)


def parts_with(**odd):
    """Return what two ranks send, of 6 steps in 2 fragments and 2 in 1, with one more array; None: it has none."""
    dealt = ([fragment(4, 0, 4), fragment(5, 0, 2)], [fragment(6, 0, 2)])
    more = [{"odd": array} if array is not None else {} for array in odd["odd"]]
    return [digest_of(fragments) | array for fragments, array in zip(dealt, more, strict=True)]


@pytest.mark.parametrize("rows", [0, 1, 3, 5, 7])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_wrong_number_of_rows_is_an_error_that_names_the_array(rows, ranks):
    """The other rank's are right, which does not help."""
    parts = parts_with(odd=(np.zeros(rows), np.zeros(2)))[:ranks]
    with pytest.raises(
        AlgorithmFailed, match=r"digest\(\) returned 'odd' .*for each step or one for each fragment"
    ) as failure:
        in_episode_order(parts)
    assert f"{rows} rows" in str(failure.value)
    assert "6 steps in 2 fragments" in str(failure.value)


@pytest.mark.parametrize(
    "odd",
    [
        (np.zeros(6), np.zeros(1)),  # steps on one rank, fragments on the other
        (np.zeros((6, 2)), np.zeros((2, 3))),
        (np.zeros(6), None),
        (None, np.zeros(2)),
    ],
)
def test_what_differs_from_rank_to_rank_is_an_error_that_names_the_array(odd):
    with pytest.raises(AlgorithmFailed, match="'odd'"):
        in_episode_order(parts_with(odd=odd))


def test_gather_on_one_rank_is_the_order_alone():
    part = digest_of([fragment(5, 0, 3), fragment(2, 0, 2)])
    (gathered, found), again = gather(SerialComm(), part, {"x": np.ones(1)}), in_episode_order([part])
    assert found[0]["x"] == 1
    assert same_bits(gathered.batch, again.batch)
    assert gathered.fragments["numbers"].tolist() == [2, 5]


# --- what a rank collects with


def collector_of(rank, ranks, **changes):
    comm, spec = SerialComm(), describe("CartPole-v1")
    comm.rank, comm.size = rank, ranks
    return make_collector(Settings(env="CartPole-v1", **changes), spec, spec.policy((8,)), comm)


def test_the_settings_choose_the_collector():
    episodes = collector_of(1, 3, envs_per_rank=7, pool="static")
    assert isinstance(episodes, EpisodeCollector)
    assert episodes.rollouts.num_envs == 7  # of this rank
    segments = [collector_of(rank, 3, requests="segments", num_envs=7, envs_per_rank=2) for rank in range(3)]
    assert all(isinstance(collector, SegmentCollector) for collector in segments)
    assert [slot for collector in segments for slot in collector.slots] == list(range(7))  # of the whole job
    assert {collector.total_envs for collector in segments} == {7}


def test_a_rank_without_a_slot_is_refused():
    with pytest.raises(BadInput, match="--num-envs 3 or more"):
        check_ranks(Settings(requests="segments", num_envs=2), 3)
    check_ranks(Settings(requests="segments", num_envs=3), 3)
    check_ranks(Settings(requests="episodes", num_envs=2), 3)
