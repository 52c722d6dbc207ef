"""Collectors: what is played follows from the request alone, and is played again as it was; first states.

That ranks together play what one plays, and go on with what others had begun: test_conformance.py.
"""

import numpy as np
import pytest
from fragments import apart, in_turn

import minitrpo
from minitrpo.errors import EpisodeFailed
from minitrpo.experience.environments import describe, make
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import first_state_seed, reset_seed
from minitrpo.experience.rollouts import Rollouts, concatenate, make_vector_env
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.episode_pool import DynamicPool
from minitrpo.training.collect import EpisodeCollector, Request, SegmentCollector

SEED, SLOTS = 5, 5


def same_bits(a, b):
    """Return whether all arrays agree in dtype, shape and bits."""
    pairs = [(getattr(a, name), getattr(b, name)) for name in vars(a)]
    return all((x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()) for x, y in pairs)


def rollouts_and_request(env_id, amount, wanted=0, **options):
    spec = describe(env_id)
    policy, rng = spec.policy((8,)), np.random.default_rng(1)
    theta = policy.initialise(rng)
    frozen = ObservationFilter.identity(spec.observation_size).merged(rng.standard_normal((30, spec.observation_size)))
    rollouts = Rollouts(spec, policy, make_vector_env(spec, SLOTS), SEED, **options)
    return rollouts, Request(3, amount, theta, frozen, wanted=wanted)


def episode_collector(env_id, amount, **options):
    rollouts, request = rollouts_and_request(env_id, amount, **options)
    return EpisodeCollector(rollouts, DynamicPool(Comm()), Comm()), request


def segment_collector(amount):
    rollouts, request = rollouts_and_request("CartPole-v1", amount)
    return SegmentCollector(rollouts, range(SLOTS), SLOTS), request


# --- whole episodes


def test_a_pool_is_empty_when_all_was_drawn_until_it_is_refilled():
    collector, request = episode_collector("CartPole-v1", 7)
    assert collector.unfinished() == {}
    first = in_turn(concatenate(collector.collect(request)))
    assert first.numbers.tolist() == list(range(7))
    assert collector.collect(request) == []  # it is empty
    collector.refill()
    assert same_bits(in_turn(concatenate(collector.collect(request))), first)


@pytest.mark.parametrize("wanted", [0, 500])
def test_an_episode_is_played_again_as_it_was(wanted):
    """Also one of a later round, where more were asked for, as the first gave fewer steps than are wanted."""
    collector, request = episode_collector("CartPole-v1", 7, wanted=wanted)
    everything = apart(in_turn(concatenate(collector.collect(request))))
    assert [int(f.numbers[0]) for f in everything] == list(range(len(everything)))
    assert len(everything) > 15 if wanted else len(everything) == 7
    again, _ = episode_collector("CartPole-v1", 7)
    for number in (0, len(everything) - 1):
        (played,) = again.rerun(request, number)
        assert same_bits(played, everything[number])
    assert wanted or again.rerun(request, -1) == again.rerun(request, 7) == []  # were not requested


def test_the_seed_of_a_first_state_depends_on_the_turn_alone_until_they_are_renewed():
    assert {first_state_seed(5, k, n, 3) for k in range(4) for n in range(0, 12, 3)} == {reset_seed(5, 0, 0)}
    assert len({first_state_seed(5, 2, n, 3) for n in range(12)}) == 3
    assert first_state_seed(5, 2, 7) == reset_seed(5, 2, 7)
    sets = [tuple(first_state_seed(5, k, n, 2, renewed=3) for n in range(4)) for k in range(1, 10)]
    assert [sets.index(each) for each in sets] == [0, 0, 0, 3, 3, 3, 6, 6, 6]
    assert sets[0] == tuple(first_state_seed(5, 1, n, 2) for n in range(4))
    assert len({seed for each in sets for seed in each}) == 6


def test_episodes_begin_in_first_states_in_turn_and_go_on_differently():
    collector, request = episode_collector("Pendulum-v1", 5, first_states=2)
    fragments, env = apart(in_turn(concatenate(collector.collect(request)))), make("Pendulum-v1")
    for number, fragment in enumerate(fragments):
        first, _ = env.reset(seed=reset_seed(SEED, 0, number % 2))
        np.testing.assert_array_equal(fragment.observations[0], first.astype(float))
    assert len({fragment.returns[0] for fragment in fragments}) == 5


def test_a_failure_names_the_seed_of_its_first_state(tmp_path):
    seed = next(s for s in range(100) if reset_seed(s, 0, 1) % 7 == 3)  # of the second first state
    small = {"first_states": 2, "steps_per_update": 400, "progress": "none"}
    with pytest.raises(EpisodeFailed) as failure:
        minitrpo.train("failing_envs:Failing-raise-v0", seed=seed, out=tmp_path / "run", **small)
    assert failure.value.seed == reset_seed(seed, 0, 1)


# --- segments


def test_an_episode_is_replayed_among_the_segments_of_its_iteration():
    collector, request = segment_collector(50)
    again, _ = segment_collector(50)
    segments = concatenate(collector.collect(request))
    assert segments.numbers.max() >= SLOTS  # a second episode in some slot
    collector.refill()
    assert same_bits(concatenate(again.rerun(request, int(segments.numbers.max()))), segments)
