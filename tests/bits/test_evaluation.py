"""Evaluation: fresh episodes of the mean action, with the same numbers on any ranks, that change nothing of a run."""

import re
import shutil

import gymnasium
import numpy as np
import pytest
from runs import lasting, run, train
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minitrpo.contract import OWN
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import evaluation_seed, reset_seed
from minitrpo.parallel import timing
from minitrpo.parallel.comm import SerialComm
from minitrpo.reports.trained import Evaluation, half_interval, trained
from minitrpo.run_folder.columns import EVALUATION
from minitrpo.run_folder.folder import RunFolder

EVAL = ("--eval-every", 500, "--eval-episodes", 5)
SMALL = ("--env", "CartPole-v1", "--steps-per-update", 300, "--hidden", "8", "--checkpoint-every", 1)
KINDS = {
    "segments": ("--requests", "segments", "--num-envs", 4, "--learner", "root"),
    "episodes": ("--requests", "episodes", "--learner", "root"),
    "sharded": ("--learner", "sharded"),
    "sharded, no overlap": ("--learner", "sharded", "--overlap", "no"),
    "rows of two updates": ("--record-every", 2),
    "a policy with a state": ("--algorithm", "n-step-q", "--steps-per-update", 320),
    "replay": ("--algorithm", "dqn", "--steps-per-update", 64, "--record-every", 4),
}
natural = st.integers(0, 2**63 - 1)


@given(natural, natural, natural)
def test_no_evaluation_begins_as_an_episode_of_training_does(seed, iteration, number):
    assert reset_seed(seed, iteration, number) < 2**31 <= evaluation_seed(seed, iteration, number) < 2**32


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_the_same_bits_on_any_ranks_across_a_resume_and_changes_nothing(kind, tmp_path):
    job = (*SMALL, *KINDS[kind])
    without = train(tmp_path / "without", *job, "--total-steps", 1500)
    alone = train(tmp_path / "alone", *job, *EVAL, "--total-steps", 1500)
    assert alone.sha256 == without.sha256
    rows, arrays = lasting(tmp_path / "alone")
    assert [{k: v for k, v in row.items() if k not in EVALUATION} for row in rows] == lasting(tmp_path / "without")[0]
    for ranks in (2, 3):
        train(tmp_path / f"on{ranks}", *job, *EVAL, "--total-steps", 1500, ranks=ranks)
        assert lasting(tmp_path / f"on{ranks}") == (rows, arrays)
    shutil.copytree(tmp_path / "alone", tmp_path / "again")
    (tmp_path / "again" / "checkpoint_before.npz").replace(tmp_path / "again" / "checkpoint.npz")
    again = run("train.py", "--resume", tmp_path / "again", "--progress", "none", "--oversubscribe", ranks=2)
    assert "row(s) after update" in again.out, "an update was lost, and is made again"
    assert lasting(tmp_path / "again") == (rows, arrays)


def test_a_cell_is_filled_in_the_row_that_passes_a_multiple(tmp_path):
    train(tmp_path / "run", *SMALL, *EVAL, "--total-steps", 3000)
    folder = RunFolder(tmp_path / "run")
    steps, filled = folder.columns()["env_steps"], np.isfinite(folder.columns()["eval_return"])
    assert (filled == (np.diff(steps // 500, prepend=0) > 0)).all()
    assert 3 <= filled.sum() < len(filled)
    assert [bool(row["eval_return"]) for row in folder.rows()] == filled.tolist()


def test_the_last_evaluation_is_shown(tmp_path):
    words = ("--out", tmp_path / "run", *SMALL, *EVAL, "--total-steps", 1500, "--progress", "lines")
    shown = run("train.py", *words).out
    returns = [row["eval_return"] for row in RunFolder(tmp_path / "run").rows() if row["eval_return"]]
    assert f"| eval {float(returns[-1]):.2f} |" in shown.splitlines()[-3]


def test_nothing_is_evaluated_that_was_not_asked_for(cartpole_run):
    assert not set(EVALUATION) & set(RunFolder(cartpole_run).header)


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1", "InvertedPendulum-v5"])
def test_it_is_what_playing_by_hand_returns(env, tmp_path):
    """The last row's: the mean action of theta, the observations filtered, the actions stretched and clipped."""
    more = ("--steps-per-update", 500, "--eval-every", 1000, "--eval-episodes", 3, "--total-steps", 1000)
    train(tmp_path / "run", "--env", env, "--hidden", "8", "--num-envs", 4, *more)
    folder = RunFolder(tmp_path / "run")
    arrays, spec = folder.load_checkpoint(), describe(env)
    seen, policy = ObservationFilter.from_vector(arrays[OWN + "filter"]), spec.policy((8,))
    space, returns = gymnasium.make(env).action_space, []
    for number in range(3):
        world, total, over = gymnasium.make(env), 0.0, False
        observation, _ = world.reset(seed=evaluation_seed(0, int(arrays[OWN + "counters"][0]), number))
        while not over:
            best = policy.distribution(arrays["theta"], seen(np.asarray(observation, float)[None]))[0]
            if spec.discrete:
                action = int(np.argmax(best))
            else:
                middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
                action = np.clip(middle + half * best[: len(half)], space.low, space.high).astype(np.float32)
            observation, reward, terminated, truncated, _ = world.step(action)
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    assert float(folder.rows()[-1]["eval_return"]) == pytest.approx(np.mean(returns), rel=1e-9)


TRANSPORTS = {"events": (1, 2), "window": (1, 2), "server": (1, 2)}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_without_a_barrier_too(transport, tmp_path):
    job = ("--algorithm", "a3c", "--env", "CartPole-v1", "--transport", transport, "--steps-per-update", 400)
    found = []
    for ranks in TRANSPORTS[transport]:
        train(tmp_path / f"on{ranks}", *job, *EVAL, "--total-steps", 2000, ranks=ranks)
        columns = RunFolder(tmp_path / f"on{ranks}").columns()
        filled = np.diff(columns["env_steps"] // 500, prepend=0) > 0
        assert (np.isfinite(columns["eval_return"]) == filled).all()
        found.append(lasting(tmp_path / f"on{ranks}"))
    if transport == "events":
        assert found[0] == found[1]
        train(tmp_path / "without", *job, "--total-steps", 2000)
        theta = RunFolder(tmp_path / "without").load_checkpoint()["theta"]
        assert found[0][1]["theta"] == theta.tobytes()


@pytest.mark.parametrize(("mode", "says"), [("raise", "stopped"), ("kill", "was killed"), ("stuck", "is stuck")])
def test_a_failure_is_named_as_one_of_an_evaluation(mode, says, tmp_path):
    job = ("--env", f"evaluated_envs:Examined-{mode}-v0", *SMALL[2:], *EVAL, "--total-steps", 3000, "--stuck-after", 2)
    done = run("train.py", "--out", tmp_path / "run", *job, "--progress", "none", "--oversubscribe", ranks=2)
    assert done.code != 0
    assert re.search(rf"rank \d {says}.*episode \d of the evaluation after update 2 \(reset seed \d+\)", done.err)
    assert "to play that episode" not in done.err, "replay plays episodes of training"
    assert "this goes on from the last checkpoint" in done.err


def test_its_seconds_are_not_those_of_the_row(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    timeline = timing.Timeline(SerialComm(), keep=True)
    for name, span, seconds in (("update", timeline.span, 3), ("evaluate", timeline.outside, 50)):
        with span(name):
            clock[0] += seconds
    clock[0] += 1
    row = timeline.row(rest_is_waiting=True)
    assert (row["update_s"], row["wait_s"], row["iteration_s"]) == (3, 1, 4)
    assert timeline.spans == [("update", 0, 3), ("evaluate", 3, 50)]


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated") / "run"
    train(folder, *SMALL, "--total-steps", 600)
    return folder


def test_the_command_says_the_same_on_any_ranks(short_run):
    said = {run("evaluate", short_run, "--episodes", 21, ranks=ranks).out for ranks in (0, 2, 3)}
    assert len(said) == 1
    assert re.fullmatch(r"mean return \S+, 95 % interval \S+ to \S+, of 21 fresh episodes\n", said.pop())
    other = run("evaluate", short_run, "--episodes", 21, "--seed", 1).out
    sampled = run("evaluate", short_run, "--episodes", 21, "--sample").out
    assert len({other, sampled, run("evaluate", short_run, "--episodes", 21).out}) == 3


BAD = {
    "no run": (("nowhere",), "there is no folder nowhere"),
    "no episodes": (("RUN", "--episodes", 0), "--episodes must lie in"),
    "a seed below 0": (("RUN", "--seed", -1), "--seed must lie in"),
    "no time": (("RUN", "--stuck-after", 0), "--stuck-after must be a positive number"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line(what, short_run, tmp_path):
    words, says = BAD[what]
    words = [str(short_run) if word == "RUN" else word for word in words]
    done = run("evaluate", *words, cwd=tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert says in done.err


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(size=(9, 2))
    low, high = stats.t.interval(0.95, 8, values[:, 0].mean(), stats.sem(values[:, 0]))
    assert Evaluation(values[:, 0]).interval == pytest.approx((low, high))
    assert half_interval(values)[1] == pytest.approx(stats.t.ppf(0.975, 8) * stats.sem(values[:, 1]))
    assert np.isnan(half_interval(values[:1])).all()


def test_a_policy_takes_one_observation_or_many(short_run):
    policy, rng = trained(RunFolder(short_run)), np.random.default_rng(0)
    many = rng.normal(size=(40, 4))
    actions = policy(many)
    assert actions.tolist() == [policy(one) for one in many]
    assert set(actions.tolist()) == {0, 1}
    drawn = np.array([policy(many[:1], np.random.default_rng(n))[0] for n in range(200)])
    assert set(drawn.tolist()) == {0, 1}
    with pytest.raises(ValueError, match=r"has shape \(4,\)"):
        policy(np.zeros(3))
