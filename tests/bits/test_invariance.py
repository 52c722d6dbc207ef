"""Any number of ranks, either pool, interrupted or not: the same bits. `mpiexec` for real."""

import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from runs import SCRIPTS, fails, lasting, run, train

from minitrpo.course.trace import read_chrome_trace
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.context import meets_too_often
from minitrpo.training.settings import Settings

# A continuous task of equal episodes, a discrete one of unequal ones, and one that ends early; adapting or not.
JOBS = {
    "reacher": ("--preset", "episodes", "--env", "Reacher-v5", "--total-steps", 6000, "--steps-per-update", 1500),
    "cartpole-adapt": (
        *("--preset", "episodes", "--env", "CartPole-v1", "--total-steps", 9000, "--steps-per-update", 1200),
        *("--adapt", "both", "--adapt-window", 2),
    ),
    "hopper-segments": (
        *("--preset", "episodes", "--env", "Hopper-v5", "--total-steps", 5000, "--steps-per-update", 1200),
        *("--requests", "segments", "--num-envs", 6),
    ),
    "pendulum-paper": (
        *("--env", "Pendulum-v1", "--preset", "paper", "--total-steps", 6000, "--steps-per-update", 2000),
        *("--adapt", "steps", "--adapt-window", 1),
    ),
}


@pytest.mark.parametrize("ranks", [(1, 2, 3), pytest.param((5, 8), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("job", JOBS)
def test_any_number_of_ranks_gives_the_same_bits(job, ranks, tmp_path):
    words = [*JOBS[job]]
    if "--num-envs" in words:  # at least one for each rank
        words[words.index("--num-envs") + 1] = max(ranks[-1], 6)
    alone = train(tmp_path / "alone", *words)
    for number in ranks:
        pool = "static" if number % 3 == 0 else "dynamic"
        outcome = train(tmp_path / f"{number}", *words, "--pool", pool, ranks=number)
        assert outcome.sha256 == alone.sha256, f"{number} ranks, {pool} pool"
        assert lasting(tmp_path / f"{number}") == lasting(tmp_path / "alone")


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=() if job in ("reacher", "hopper-segments") else pytest.mark.slow) for job in JOBS]
)
def test_the_sharded_learner_has_the_bits_of_the_root(job, tmp_path):
    root = train(tmp_path / "root", *JOBS[job])
    for ranks, physics in ((1, "auto"), (2, "auto"), (3, "gymnasium")):
        options = ("--learner", "sharded", "--physics", physics)
        outcome = train(tmp_path / f"{ranks}", *JOBS[job], *options, ranks=ranks)
        assert outcome.sha256 == root.sha256, f"{ranks} ranks, physics {physics}"
        assert lasting(tmp_path / f"{ranks}") == lasting(tmp_path / "root")


@pytest.mark.parametrize(
    ("critic", "phases"), [("mlp", [{"policy"}, {"policy"}, {"critic"}]), ("linear", [{"policy", "critic"}] * 3)]
)
def test_who_learns_what_with_the_sharded_learner(critic, phases, tmp_path):
    job = (
        "--preset",
        "episodes",
        "--env",
        "Reacher-v5",
        "--total-steps",
        2000,
        "--steps-per-update",
        2000,
        "--critic",
        critic,
    )
    train(tmp_path / "run", *job, "--learner", "sharded", "--trace", ranks=3)
    spans = read_chrome_trace(tmp_path / "run" / "trace.json")
    assert [{name for name, _, _ in of_rank} & {"policy", "critic"} for of_rank in spans] == phases


def test_where_a_meeting_takes_longer_than_the_steps_one_rank_works_alone_unless_told_otherwise(tmp_path):
    job = ("--algorithm", "a2c", "--env", "CartPole-v1", "--total-steps", 4000, "--progress", "none", "--trace")
    alone = run("train.py", "--out", tmp_path / "alone", *job, ranks=2)
    both = run("train.py", "--out", tmp_path / "both", *job, "--oversubscribe", ranks=2)
    assert alone.sha256 == both.sha256
    assert "2 ranks, 80 light steps between two updates: 1 rank(s) leave the work to the others" in alone.out
    assert "leave the work" not in both.out
    did = [
        [{name for name, _, _ in spans} for spans in read_chrome_trace(tmp_path / name / "trace.json")]
        for name in ("alone", "both")
    ]
    assert "collect" in did[0][0]
    assert did[0][1] == {"idle"}
    assert "collect" in did[1][1]


@pytest.mark.parametrize(
    ("env", "steps", "too_often"),
    [
        ("CartPole-v1", 128, True),
        ("CartPole-v1", 129, False),
        ("Reacher-v5", 80, False),
        ("CartPoleOfMyOwn", 80, False),
    ],
)
def test_only_few_and_light_steps_are_played_by_one_rank(env, steps, too_often):
    assert meets_too_often(replace(Settings(), env=env, steps_per_update=steps)) is too_often


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux can take cores away")
@pytest.mark.parametrize(
    "more",
    [
        (),
        pytest.param(("--requests", "segments", "--num-envs", 6), marks=pytest.mark.slow),
        pytest.param(("--learner", "sharded"), marks=pytest.mark.slow),
    ],
)
def test_ranks_without_a_core_leave_the_work_to_the_others(more, tmp_path):
    job = (
        "--preset",
        "episodes",
        "--env",
        "Reacher-v5",
        "--total-steps",
        3000,
        "--steps-per-update",
        1500,
        "--progress",
        "none",
        *more,
    )
    alone = train(tmp_path / "alone", *job)
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})  # inherited by mpiexec and its ranks
        crowded = run("train.py", "--out", tmp_path / "crowded", "--trace", *job, ranks=3)
    finally:
        os.sched_setaffinity(0, cores)
    assert crowded.sha256 == alone.sha256
    assert "3 ranks, 1 core(s): 2 rank(s) leave the work to the others" in crowded.out
    busy, *others = read_chrome_trace(tmp_path / "crowded" / "trace.json")
    assert "collect" in {name for name, _, _ in busy}
    assert [{name for name, _, _ in spans} for spans in others] == [{"idle"}, {"idle"}]


@pytest.mark.slow
def test_a_run_may_be_resumed_with_the_other_learner(tmp_path):
    whole = train(tmp_path / "whole", *JOBS["reacher"])
    train(tmp_path / "half", *JOBS["reacher"], "--total-steps", 3000, "--learner", "sharded", ranks=2)
    resumed = run("train.py", "--resume", tmp_path / "half", "--learner", "root", "--total-steps", 6000)
    assert resumed.sha256 == whole.sha256
    train(tmp_path / "other", *JOBS["reacher"], "--total-steps", 3000)
    options = ("--resume", tmp_path / "other", "--learner", "sharded", "--total-steps", 6000)
    assert run("train.py", *options, ranks=2).sha256 == whole.sha256


@pytest.mark.slow
def test_static_and_dynamic_pool_agree(tmp_path):
    hashes = {
        train(tmp_path / pool, *JOBS["reacher"], "--pool", pool, ranks=2).sha256 for pool in ("static", "dynamic")
    }
    assert len(hashes) == 1


@pytest.mark.slow
def test_seeds_differ(tmp_path):
    short = ("--preset", "episodes", "--env", "CartPole-v1", "--total-steps", 1000, "--steps-per-update", 500)
    hashes = {train(tmp_path / str(seed), *short, "--seed", seed).sha256 for seed in range(3)}
    assert len(hashes) == 3


@pytest.mark.parametrize("job", ["cartpole-adapt", "hopper-segments"])
def test_a_shorter_run_resumed_on_other_ranks_equals_the_whole(job, tmp_path):
    whole = train(tmp_path / "whole", *JOBS[job])
    arguments = list(JOBS[job])
    arguments[arguments.index("--total-steps") + 1] = 3000
    train(tmp_path / "half", *arguments, ranks=3)
    total = JOBS[job][JOBS[job].index("--total-steps") + 1]
    resumed = run("train.py", "--resume", tmp_path / "half", "--total-steps", total, "--progress", "none", ranks=2)
    assert resumed.sha256 == whole.sha256
    assert lasting(tmp_path / "half") == lasting(tmp_path / "whole")


def test_a_killed_run_resumes_to_the_same_bits(tmp_path):
    job = ("--preset", "episodes", "--env", "Pendulum-v1", "--total-steps", 24000, "--steps-per-update", 2000)
    whole = train(tmp_path / "whole", *job)
    out = tmp_path / "killed"
    command = [sys.executable, str(SCRIPTS / "train.py"), *map(str, job), "--out", str(out), "--progress", "none"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = out / "metrics.csv"
    while not metrics.exists() or len(metrics.read_text().splitlines()) < 4:
        time.sleep(0.005)
        assert process.poll() is None, "the run was over before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert RunFolder(out).load_checkpoint()["run_counters"][0] < 12
    with metrics.open("a") as file:
        file.write("99,torn")  # what a kill in the middle of a row would leave
    assert run("train.py", "--resume", out, "--progress", "none").sha256 == whole.sha256
    assert lasting(out) == lasting(tmp_path / "whole")


def test_resuming_a_finished_run_changes_nothing(tmp_path, cartpole_run):
    before = lasting(cartpole_run)
    outcome = run("train.py", "--resume", cartpole_run, ranks=2)
    assert outcome.code == 0
    assert "note: the run has taken its" in outcome.out + outcome.err
    assert lasting(cartpole_run) == before


def test_neither_the_number_of_slots_nor_the_physics_change_a_bit(tmp_path):
    one = train(tmp_path / "one", *JOBS["reacher"])
    few = train(tmp_path / "few", *JOBS["reacher"], "--envs-per-rank", 5, ranks=2)
    gymnasium = train(tmp_path / "gymnasium", *JOBS["reacher"], "--physics", "gymnasium", ranks=2)
    assert one.sha256 == few.sha256 == gymnasium.sha256


# --- checkpoints every so often

# Small jobs of 45 updates in an environment that kills its rank: what they are told, in which update they are to be
# killed, the keys of the episodes that must be well, and of those of which one is to kill. 2 episodes of 25 steps per
# update; or segments of 10 steps of 2 slots, where step 20 of the ninth episode is step 220
SHORT = "failing_envs:Failing-short-kill-v0"
SEGMENTS = ("--requests", "segments", "--num-envs", 2, "--adapt", "kl", "--adapt-window", 4)
KILLED = {
    "episodes": (
        ("--preset", "episodes", "--env", SHORT, "--steps-per-update", 50, "--total-steps", 2250),
        23,
        [(iteration, number) for iteration in range(1, 23) for number in range(2)],
        [(23, number) for number in range(2)],
    ),
    "segments": (
        ("--preset", "episodes", "--env", SHORT, "--steps-per-update", 20, "--total-steps", 900, *SEGMENTS),
        22,
        [(0, number) for number in range(16)],
        [(0, number) for number in (16, 17)],
    ),
}


def killed_job(name):
    """Return a job's words, with the first seed with which it is killed in that update and not before."""
    words, _, well, killing = KILLED[name]
    seeds = (seed for seed in itertools.count() if not any(fails(seed, *key) for key in well))
    return *words, "--seed", next(seed for seed in seeds if any(fails(seed, *key) for key in killing))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the same jobs leave in one go, in an environment that behaves, with a checkpoint after every update."""
    folder = tmp_path_factory.mktemp("uninterrupted")

    def whole(name):
        if not (folder / name).exists():
            train(folder / name, *killed_job(name))
        return lasting(folder / name)

    return whole


@pytest.mark.parametrize(
    ("name", "every", "saved"),
    [
        ("episodes", "20", 20),
        ("episodes", "1000s", 0),
        ("segments", "1", None),
        ("segments", "20", 20),
        ("segments", "0.05s", None),
    ],
)
def test_a_run_killed_between_two_checkpoints_resumes_to_the_same_bits(
    name, every, saved, uninterrupted, tmp_path, monkeypatch
):
    """saved: of which update the last checkpoint is; None: that is a question of speed.

    The update before the last may be lost, too: it is written while the ranks play on, and are killed.
    """
    out, options = tmp_path / "run", ("--checkpoint-every", every, "--progress", "none", "--oversubscribe")
    killed = run("train.py", *killed_job(name), *options, "--out", out, ranks=2)
    assert killed.code != 0
    assert "was killed or crashed" in killed.err
    iterations = [int(row["iteration"]) for row in RunFolder(out).rows()]
    assert iterations == list(range(1, len(iterations) + 1))
    assert KILLED[name][1] - 2 <= len(iterations) < KILLED[name][1]
    assert RunFolder(out).load_checkpoint()["run_counters"][0] in ([0, *iterations] if saved is None else [saved])
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    resumed = run("train.py", "--resume", out, "--progress", "none")
    assert resumed.code == 0, resumed.err
    assert [int(row["iteration"]) for row in RunFolder(out).rows()] == list(range(1, 46))
    assert lasting(out) == uninterrupted(name)
