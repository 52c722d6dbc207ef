"""Episodes that begin in a few states in turn, observations left as they are, and a number of episodes by plan."""

import re

import numpy as np
import pytest
from runs import lasting, run, train

from minitrpo.algorithms.algorithm import Plan
from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.environments import describe, make
from minitrpo.experience.fragments import concatenate
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import first_state_seed, reset_seed
from minitrpo.experience.rollouts import Rollouts
from minitrpo.experience.vector_env import GymnasiumVectorEnv
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.learner import check_plan

JOB = ("--env", "Pendulum-v1", "--critic", "linear", "--total-steps", 2400, "--steps-per-update", 1200)


def test_the_seed_of_a_first_state_depends_on_the_turn_alone():
    assert {first_state_seed(5, k, n, 3) for k in range(4) for n in range(0, 12, 3)} == {reset_seed(5, 0, 0)}
    assert len({first_state_seed(5, 2, n, 3) for n in range(12)}) == 3
    assert first_state_seed(5, 2, 7) == reset_seed(5, 2, 7)


def test_first_states_are_renewed_after_so_many_updates():
    sets = [tuple(first_state_seed(5, k, n, 2, renewed=3) for n in range(4)) for k in range(1, 10)]
    assert [sets.index(each) for each in sets] == [0, 0, 0, 3, 3, 3, 6, 6, 6]
    assert sets[0] == tuple(first_state_seed(5, 1, n, 2) for n in range(4))
    assert len({seed for each in sets for seed in each}) == 6


@pytest.mark.parametrize("width", [1, 4])
def test_episodes_begin_in_turn_and_go_on_differently(width):
    spec = describe("Pendulum-v1")
    policy = spec.policy((4,))
    theta = policy.initialise(np.random.default_rng(0))
    rollouts = Rollouts(spec, policy, GymnasiumVectorEnv(spec, width), 9, first_states=2)
    numbers = iter(range(5))
    played = rollouts.play(theta, ObservationFilter.identity(3), 4, lambda: next(numbers, None), width)
    fragments, env = concatenate(played).sorted().fragments(), make("Pendulum-v1")
    for number, fragment in enumerate(fragments):
        first, _ = env.reset(seed=reset_seed(9, 0, number % 2))
        np.testing.assert_array_equal(fragment.observations[0], first.astype(float))
    assert len({fragment.returns[0] for fragment in fragments}) == 5


def test_the_same_bits_on_any_number_of_ranks_and_across_a_resume(tmp_path):
    job = (*JOB, "--first-states", 2)
    alone = train(tmp_path / "alone", *job)
    assert alone.sha256 != train(tmp_path / "own", *JOB).sha256
    for ranks in (2, 3):
        assert train(tmp_path / f"{ranks}", *job, ranks=ranks).sha256 == alone.sha256
    train(tmp_path / "half", *job, "--total-steps", 1200, ranks=2)
    resumed = run("train.py", "--resume", tmp_path / "half", "--total-steps", 2400, "--progress", "none")
    assert resumed.sha256 == alone.sha256
    assert lasting(tmp_path / "half") == lasting(tmp_path / "alone")


@pytest.mark.parametrize("env", ["failing_envs:Failing-raise-v0", "failing_envs:Failing-kill-v0"])
def test_a_failure_names_the_seed_of_its_first_state(env, tmp_path):
    seed = next(s for s in range(100) if reset_seed(s, 0, 1) % 7 == 3)  # of the second first state
    words = ("--env", env, "--seed", seed, "--first-states", 2, "--steps-per-update", 400, "--progress", "none")
    done = run("train.py", *words, "--out", tmp_path / "run")
    assert done.code != 0
    assert re.search(rf"\b{reset_seed(seed, 0, 1)}\b", done.err), done.err


@pytest.mark.parametrize(("kind", "count"), [("none", 0.0), ("running", 2400.0)])
def test_a_filter_that_is_none_stays_as_it_is(kind, count, tmp_path):
    train(tmp_path / "run", *JOB, "--filter", kind)
    found = ObservationFilter.from_vector(RunFolder(tmp_path / "run").load_checkpoint()["run_filter"])
    assert found.count == count
    large = np.array([[1e5, -1e50, 1.0]])
    assert np.array_equal(found(large.copy()), large) == (kind == "none")


@pytest.mark.parametrize("episodes", [0, -1, 2.5, "3", 10**13])
def test_a_plan_of_episodes_that_makes_no_sense(episodes):
    with pytest.raises(AlgorithmFailed, match="episodes"):
        check_plan(Plan(np.zeros(3), episodes=episodes), (3,))
