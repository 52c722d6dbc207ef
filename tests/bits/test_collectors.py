"""Collectors: what a rank plays follows from the request alone, and the ranks together play all of it once."""

from dataclasses import fields

import numpy as np
import pytest

from minitrpo.experience.collectors import UNFINISHED, EpisodeCollector, Request, SegmentCollector
from minitrpo.experience.environments import describe
from minitrpo.experience.fragments import Fragments, concatenate
from minitrpo.experience.make_vector_env import make_vector_env
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.episode_pool import DynamicPool, RankRequests, StaticPool, slots_of

SEED, WIDTH, SLOTS = 5, 4, 5
ENVS = ["CartPole-v1", "Pendulum-v1"]


def same_bits(a, b):
    """Return whether all arrays agree in dtype, shape and bits."""
    pairs = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(Fragments)]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


def rollouts_and_request(env_id, width, amount, iteration=3):
    spec = describe(env_id)
    policy, rng = spec.policy((8,)), np.random.default_rng(1)
    theta = policy.initialise(rng)
    frozen = ObservationFilter.identity(spec.observation_size).merged(rng.standard_normal((30, spec.observation_size)))
    rollouts = Rollouts(spec, policy, make_vector_env(spec, width), SEED)
    return rollouts, Request(iteration, amount, theta, frozen)


def rank_of(rank, ranks):
    comm = SerialComm()
    comm.rank, comm.size = rank, ranks
    return comm


def episode_collector(env_id, amount, rank=0, ranks=1, pool=StaticPool):
    rollouts, request = rollouts_and_request(env_id, WIDTH, amount)
    return EpisodeCollector(rollouts, RankRequests(pool(rank_of(rank, ranks)), ranks, WIDTH)), request


def segment_collector(env_id, amount, rank=0, ranks=1, iteration=3):
    rollouts, request = rollouts_and_request(env_id, SLOTS, amount, iteration)
    return SegmentCollector(rollouts, slots_of(rank, ranks, SLOTS), SLOTS), request


# --- whole episodes


@pytest.mark.parametrize("env_id", ENVS)
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_together_play_the_episodes_that_one_plays(env_id, ranks):
    collector, request = episode_collector(env_id, 7, pool=DynamicPool)
    alone = concatenate(collector.collect(request)).sorted()
    assert alone.numbers.tolist() == list(range(7))
    parts = []
    for rank in range(ranks):
        part, request = episode_collector(env_id, 7, rank, ranks)
        parts.append(concatenate(part.collect(request)))
        assert sorted(parts[-1].numbers.tolist()) == list(range(rank, 7, ranks))
    assert same_bits(concatenate(parts).sorted(), alone)


def test_a_pool_that_is_refilled_gives_the_next_request():
    collector, request = episode_collector("CartPole-v1", 3, pool=DynamicPool)
    first = concatenate(collector.collect(request)).sorted()
    assert collector.collect(request) == []  # it is empty
    collector.refill()
    assert same_bits(concatenate(collector.collect(request)).sorted(), first)


@pytest.mark.parametrize("number", [0, 4, 6])
def test_one_episode_is_replayed_as_it_was(number):
    collector, request = episode_collector("CartPole-v1", 7)
    everything = concatenate(collector.collect(request)).sorted().fragments()
    again, _ = episode_collector("CartPole-v1", 7)
    (played,) = again.rerun(request, number)
    assert same_bits(played, everything[number])


@pytest.mark.parametrize("number", [-1, 7])
def test_an_episode_that_was_not_requested_cannot_be_replayed(number):
    collector, request = episode_collector("CartPole-v1", 7)
    assert collector.rerun(request, number) == []


def test_episodes_are_requested_by_the_mean_length_and_leave_nothing_behind():
    collector, request = episode_collector("CartPole-v1", 2)
    assert (collector.amount(999, 100.0), collector.amount(1, 100.0)) == (10, 1)
    assert collector.steps(10) is None  # nobody knows before they are over
    assert collector.waits_for_ends
    collector.collect(request)
    assert collector.unfinished() == {}
    collector.restore({"unfinished_numbers": np.arange(3)}, 4)
    assert len(collector.rollouts.slots) == 0


# --- segments


@pytest.mark.parametrize("env_id", ENVS)
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_together_step_the_slots_that_one_steps(env_id, ranks):
    """Several updates, so that episodes are cut and go on; and what a checkpoint gets is the same, too."""
    collectors = {size: [segment_collector(env_id, 60, r, size)[0] for r in range(size)] for size in (1, ranks)}
    for iteration in (1, 2, 3):
        _, request = segment_collector(env_id, 60, iteration=iteration)
        alone, together = (
            concatenate([f for c in of_ranks for f in c.collect(request)]) for of_ranks in collectors.values()
        )
        assert alone.steps == collectors[1][0].steps(60) == 60 * SLOTS
        assert same_bits(together.sorted(), alone.sorted())
    (saved,), parts = ([c.unfinished() for c in of_ranks] for of_ranks in collectors.values())
    assert all(np.array_equal(np.concatenate([part[name] for part in parts]), saved[name]) for name in saved)


@pytest.mark.parametrize("env_id", ENVS)
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 2), (3, 1), (2, 3)])
def test_unfinished_episodes_go_on_on_any_number_of_ranks(env_id, before, after):
    first = [segment_collector(env_id, 30, rank, before) for rank in range(before)]
    for collector, request in first:
        collector.collect(request)
    parts = [collector.unfinished() for collector, _ in first]
    saved = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    assert all(name.startswith(UNFINISHED) and array.dtype != object for name, array in saved.items())
    then = [segment_collector(env_id, 30, rank, after, iteration=4) for rank in range(after)]
    for collector, _ in then:
        collector.restore(saved, 4)
        assert len(collector.rollouts.slots) == len(collector.slots)
    request = then[0][1]
    went_on = concatenate([f for collector, _ in first for f in collector.collect(request)]).sorted()
    resumed = concatenate([f for collector, _ in then for f in collector.collect(request)]).sorted()
    assert went_on.starts.max() > 0  # something had been cut
    assert same_bits(went_on, resumed)


def test_a_checkpoint_from_before_the_first_segment_begins_afresh():
    collector, request = segment_collector("CartPole-v1", 10)
    fresh, _ = segment_collector("CartPole-v1", 10)
    collector.restore({"theta": np.zeros(3)}, 1)
    assert same_bits(concatenate(collector.collect(request)), concatenate(fresh.collect(request)))


@pytest.mark.parametrize(("steps", "amount"), [(1, 1), (5, 1), (6, 2), (1000, 200), (1001, 201)])
def test_a_segment_is_as_long_as_it_takes_for_the_steps_that_are_wanted(steps, amount):
    collector, _ = segment_collector("CartPole-v1", 1)
    assert collector.amount(steps, mean_length=123.0) == amount
    assert collector.steps(amount) == 5 * amount >= steps
    assert not collector.waits_for_ends


def test_an_episode_is_replayed_among_the_segments_of_its_iteration():
    collector, request = segment_collector("CartPole-v1", 50)
    again, _ = segment_collector("CartPole-v1", 50)
    segments = concatenate(collector.collect(request))
    assert segments.numbers.max() >= SLOTS  # a second episode in some slot
    collector.refill()
    assert same_bits(concatenate(again.rerun(request, int(segments.numbers.max()))), segments)
