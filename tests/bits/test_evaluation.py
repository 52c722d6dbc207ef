"""Evaluation: fresh episodes of the mean action, with the same numbers on any ranks.

That it changes nothing of a run, and has the same bits on any ranks and across an interruption: test_conformance.py.
"""

import re

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import run, train
from scipy import stats

import minitrpo
from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.experience.evaluation import Evaluation
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import evaluation_seed, reset_seed
from minitrpo.parallel import timing
from minitrpo.parallel.comm import Comm
from minitrpo.reports.trained_policy import trained
from minitrpo.run_folder.folder import RunFolder

EVAL = ("--eval-every", 500, "--eval-episodes", 5)
SMALL = ("--env", "CartPole-v1", "--steps-per-update", 300, "--hidden", "8")
natural = st.integers(0, 2**63 - 1)


@given(natural, natural, natural)
def test_no_evaluation_begins_as_an_episode_of_training_does(seed, iteration, number):
    assert reset_seed(seed, iteration, number) < 2**31 <= evaluation_seed(seed, iteration, number) < 2**32


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_it_is_what_playing_by_hand_returns_in_every_row_that_passes_a_multiple(env, tmp_path):
    """The last row's: the mean action of theta, the observations filtered, the actions stretched and clipped."""
    more = ("--steps-per-update", 600, "--eval-every", 1000, "--eval-episodes", 3, "--total-steps", 3000)
    train(tmp_path / "run", "--env", env, "--hidden", "8", "--num-envs", 4, *more)
    folder = RunFolder(tmp_path / "run")
    arrays, spec, columns = folder.load_checkpoint(), describe(env), folder.columns()
    filled = np.isfinite(columns["eval_return"])
    assert filled.tolist() == (np.diff(columns["env_steps"] // 1000, prepend=0) > 0).tolist()
    assert filled[-1]
    assert not filled.all()
    seen, policy = ObservationFilter.from_vector(arrays[RUN_PREFIX + "filter"]), spec.policy((8,))
    returns = []
    for number in range(3):
        world, total, over = gymnasium.make(env), 0.0, False
        low, high = (0, 0) if spec.discrete else (world.action_space.low, world.action_space.high)
        observation, _ = world.reset(seed=evaluation_seed(0, int(arrays[RUN_PREFIX + "counters"][0]), number))
        while not over:
            best = policy.distribution(arrays["theta"], seen(np.asarray(observation, float)[None]))[0]
            action = int(np.argmax(best))
            if not spec.discrete:
                action = np.clip((high + low) / 2 + (high - low) / 2 * best[: len(low)], low, high).astype(np.float32)
            observation, reward, terminated, truncated, _ = world.step(action)
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    assert columns["eval_return"][-1] == pytest.approx(np.mean(returns), rel=1e-9)


@pytest.mark.parametrize("mode", ["raise", "kill"])
def test_a_failure_is_named_as_one_of_an_evaluation(mode, tmp_path):
    job = ("--env", f"failing_envs:Examined-{mode}-v0", *SMALL[2:], *EVAL, "--total-steps", 3000)
    done = run("train.py", "--out", tmp_path / "run", *job, "--progress", "none")
    assert done.code != 0
    assert re.search(r"episode \d of the evaluation after update 2 \(reset seed \d+\)", done.err)
    assert "to play that episode" not in done.err, "replay plays episodes of training"


def test_its_seconds_are_not_those_of_the_row(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    timeline = timing.Timeline(Comm(), keep=True)
    for name, span, seconds in (("update", timeline.span, 3), ("evaluate", timeline.outside, 50)):
        with span(name):
            clock[0] += seconds
    row = timeline.row(rest_is_waiting=True)
    assert (row["update_s"], row["wait_s"], row["iteration_s"]) == (3, 0, 3)


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated") / "run"
    train(folder, *SMALL, "--total-steps", 600)
    return folder


@pytest.mark.slow
@pytest.mark.mpi
def test_the_command_says_the_same_on_any_ranks(short_run):
    alone, on3 = (run("evaluate", short_run, "--episodes", 21, ranks=ranks).out for ranks in (0, 3))
    assert alone == on3 != ""


def test_other_seeds_and_samples_are_other_numbers_and_no_episodes_make_no_sense(short_run):
    some = ({}, {"seed": 1}, {"sample": True}, {})
    found = [tuple(minitrpo.evaluate(short_run, 21, **options).returns) for options in some]
    assert len(set(found)) == 3
    assert found[0] == found[3]
    for options in ({"episodes": 0}, {"seed": -1}):
        with pytest.raises(BadInput, match=next(iter(options))):
            minitrpo.evaluate(short_run, **options)


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(size=9)
    expected = stats.t.interval(0.95, 8, values.mean(), stats.sem(values))
    assert Evaluation(values).interval == pytest.approx(expected)


def test_a_policy_takes_one_observation_or_many(short_run):
    policy, many = trained(RunFolder(short_run)), np.random.default_rng(0).normal(size=(40, 4))
    actions = policy(many)
    assert actions.tolist() == [policy(one) for one in many]
    drawn = [int(policy(many[:1], np.random.default_rng(n))[0]) for n in range(200)]
    assert set(drawn) == set(actions.tolist()) == {0, 1}
    with pytest.raises(ValueError, match="shape"):
        policy(np.zeros(3))
