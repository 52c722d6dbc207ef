"""The first update of a run of whole episodes gets the steps that are wanted, though nobody knows an episode's length.

One update of 5 episodes of CartPole instead of hundreds was what a guess of the time limit gave.
"""

import numpy as np
import pytest
from runs import lasting, train
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.collectors import EpisodeCollector, Request
from minitrpo.experience.environments import describe
from minitrpo.experience.fragments import concatenate
from minitrpo.experience.make_vector_env import make_vector_env
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.episode_pool import DynamicPool, RankRequests, missing_requests
from minitrpo.run_folder.folder import RunFolder

JOB = ("--preset", "episodes", "--env", "CartPole-v1", "--hidden", 8, "--seed", 3)


@given(st.integers(1, 10**5), st.lists(st.integers(1, 500), min_size=1, max_size=30))
@settings(deadline=None)
def test_requests_end_near_the_steps_that_are_wanted(steps, lengths):
    """Episodes of any lengths, again and again: within half a mean episode and what the last of them are off."""
    endless, played, episodes, count = np.resize(lengths, steps + 9 * len(lengths)), 0, 0, 1
    while count:
        assert count <= 8 * max(episodes, 1)
        played += int(endless[episodes : episodes + count].sum())
        episodes += count
        count = missing_requests(steps, played, episodes)
    assert played >= steps - 0.5 * played / episodes


def test_what_fits_already_is_not_asked_for_more():
    assert missing_requests(5_000, 5_000, 100) == 0  # Reacher: 50 steps each, guessed rightly
    assert missing_requests(1_400, 1_000, 1) == 0  # the nearest whole number
    assert missing_requests(1_600, 1_000, 1) == 1
    assert missing_requests(2_000, 8, 2) == 16  # two episodes say little: 498 more would be a guess again


@pytest.mark.parametrize("pool", ["dynamic", "static"])
def test_a_first_update_has_the_steps_that_are_wanted_with_the_same_bits_on_any_ranks(pool, tmp_path):
    words = (*JOB, "--steps-per-update", 2_000, "--total-steps", 3_000, "--pool", pool)
    train(tmp_path / "0", *words)
    columns = RunFolder(tmp_path / "0").columns()
    assert columns["env_steps"][0] == pytest.approx(2_000, rel=0.1), "4 episodes of about 20 steps would be 80"
    for ranks in (2, 3):
        train(tmp_path / f"{ranks}", *words, ranks=ranks)
        assert lasting(tmp_path / f"{ranks}") == lasting(tmp_path / "0")


def test_an_episode_of_a_later_round_is_played_again_as_it_was():
    spec = describe("CartPole-v1")
    policy = spec.policy((8,))
    theta = policy.initialise(np.random.default_rng(1))
    rollouts = Rollouts(spec, policy, make_vector_env(spec, 4), 0)
    collector = EpisodeCollector(rollouts, RankRequests(DynamicPool(SerialComm()), 1, 4))
    request = Request(1, 2, theta, ObservationFilter.identity(spec.observation_size), wanted=500)
    fragments = concatenate(collector.collect(request)).sorted().fragments()
    assert len(fragments) > 15
    assert [int(f.numbers[0]) for f in fragments] == list(range(len(fragments)))
    (again,) = collector.rerun(request, 15)
    np.testing.assert_array_equal(again.observations, fragments[15].observations)
    np.testing.assert_array_equal(again.actions, fragments[15].actions)
