"""Nothing hangs: whatever an environment does, the job ends, with one message that says where and what to do."""

import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import SCRIPTS, TOYS, fails, open_mpi, run, train

from minitrpo.experience.randomness import reset_seed
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.learner import OWN

PYTHONPATH = os.pathsep.join([str(TOYS), *filter(None, [os.environ.get("PYTHONPATH")])])
JOB = ("--total-steps", 100_000, "--steps-per-update", 2000, "--stuck-after", 2)
CAUSES = {
    "raise": "step raised RuntimeError: the arm fell off",
    "unlucky-reset": "reset raised RuntimeError: the arm does not move",
    "nan": "not finite",
    "slow-kill": "was killed or crashed",  # slow: of ranks that are killed while they play, the launcher's may be first
    "segfault": "crashed while playing",
    "stuck": "is stuck: no environment step for 2 s",
}


def as_typed(message, **environment):
    """Run the command that a failure message gives for playing the episode again, as a person would."""
    (command,) = re.findall(r"to play that episode in one process: (.*)$", message, re.MULTILINE)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        shlex.split(command), env={**os.environ, "PATH": path, "PYTHONPATH": PYTHONPATH, **environment},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("ranks", [0, 3])
@pytest.mark.parametrize("mode", CAUSES)
def test_the_job_ends_and_names_the_episode(mode, ranks, tmp_path):
    env = f"failing_envs:Failing-{mode}-v0"
    out = tmp_path / "run"
    outcome = run(
        "train.py",
        "--preset",
        "episodes",
        "--env",
        env,
        "--out",
        out,
        "--progress",
        "none",
        *JOB,
        ranks=ranks,
        timeout=60,
    )
    assert outcome.code != 0
    said = re.findall(r"^minitrpo: rank (\d+) (.*)$", outcome.err, re.MULTILINE)
    assert len(said) == 1, outcome.err
    rank, message = int(said[0][0]), said[0][1]
    assert rank < max(ranks, 1)
    assert CAUSES[mode] in message
    assert env in message
    iteration = int(re.search(r"iteration (\d+)", message)[1])
    episodes = re.findall(r"episode (\d+)", message)
    seeds = [int(seed) for seed in re.findall(r"reset seed (\d+)", message)]
    assert len(episodes) == len(seeds) == 1
    assert seeds[0] % 7 == 3, "the episode named is the one that failed"
    assert (out / "failure.txt").read_text() in outcome.err
    assert f"replay.py {out} {episodes[0]} --iteration {iteration}\n" in outcome.err
    assert f"--resume {out}" in outcome.err
    if mode in ("raise", "nan", "unlucky-reset"):  # the replay does the same, in one process
        replay = as_typed(outcome.err)
        assert replay.returncode == 1
        assert f"episode {episodes[0]} of iteration {iteration}" in replay.stderr


# Jobs whose first failure lies in iteration 6, whatever the policy does: what they are told, the keys of the episodes
# that must be well, and of those of which one is to fail
SEGMENTS = ("--requests", "segments", "--num-envs", 4)
LATER = {
    "episodes": (  # 3 of 25 steps each
        ("--preset", "episodes", "--env", "failing_envs:Failing-short-raise-v0", "--steps-per-update", 75),
        [(iteration, number) for iteration in range(1, 6) for number in range(3)],
        [(6, number) for number in range(3)],
    ),
    "segments of episodes that began after the checkpoint": (  # of 40 steps: episode 2's step 20 is its slot's step 220
        ("--preset", "episodes", "--env", "failing_envs:Failing-raise-v0", *SEGMENTS, "--steps-per-update", 160),
        [(0, number) for number in range(4)],
        [(0, number) for number in range(4, 8)],
    ),
    "segments of episodes that began before it": (  # of 20 steps: the first episode's step 120
        ("--preset", "episodes", "--env", "failing_envs:Failing-late-raise-v0", *SEGMENTS, "--steps-per-update", 80),
        [],
        [(0, number) for number in range(4)],
    ),
}


def failing_in(job):
    """Return the run's seed, and key and number of the one episode that fails."""
    _, well, failing = LATER[job]
    seeds = (seed for seed in itertools.count() if not any(fails(seed, *key) for key in well))
    seed = next(seed for seed in seeds if sum(fails(seed, *key) for key in failing) == 1)
    return seed, *next(key for key in failing if fails(seed, *key))


@pytest.mark.parametrize("job", LATER)
@pytest.mark.parametrize("ranks", [0, 2])
def test_a_failure_later_than_the_checkpoint_is_played_again(job, ranks, tmp_path):
    """The updates in between are taken again, to the bit; and a segment's failure knows its iteration."""
    seed, key, number = failing_in(job)
    out = tmp_path / "run"
    rest = ("--seed", seed, "--checkpoint-every", 3, "--total-steps", 100_000, "--out", out, "--progress", "none")
    outcome = run("train.py", *LATER[job][0], *rest, *(("--oversubscribe",) if ranks else ()), ranks=ranks)
    assert outcome.code == 1
    where = f"episode {number} of iteration 6 (reset seed {reset_seed(seed, key, number)}): "
    assert where + "step raised RuntimeError: the arm fell off" in outcome.err
    assert f"{number} --iteration 6\n" in outcome.err
    folder = RunFolder(out)
    assert folder.load_checkpoint()[OWN + "counters"][0] == 3
    assert [row["iteration"] for row in folder.rows()] == ["1", "2", "3", "4", "5"]
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    replay = as_typed(outcome.err)
    assert replay.returncode == 1
    assert where in replay.stderr
    early = run("replay.py", out, number, "--iteration", 3)
    assert (early.code, early.err.count("\n")) == (2, 1)
    assert "--iteration 3 lies before the checkpoint, which is of iteration 3" in early.err
    assert before == {path.name: path.read_bytes() for path in out.iterdir()}, "looking changes nothing"


@pytest.mark.parametrize("job", LATER)
def test_an_episode_played_again_is_the_same_from_any_checkpoint(job, tmp_path):
    """The same actions, and so the same return: here of the episode that fails, in an environment that behaves."""
    words, seed, number = LATER[job][0], *failing_in(job)[::2]
    stories = []
    for every in (1, 3):
        out = ("--out", tmp_path / f"{every}", "--checkpoint-every", every)
        outcome = run("train.py", *words, "--seed", seed, *out, "--progress", "none")
        stories.append(as_typed(outcome.err, TOYS_BEHAVE="1"))
        assert stories[-1].returncode == 0, stories[-1].stderr
        assert RunFolder(tmp_path / f"{every}").load_checkpoint()[OWN + "counters"][0] == {1: 5, 3: 3}[every]
    assert re.fullmatch(rf"episode {number} of iteration 6: \d+ steps, return -\d+\.\d+, .*\n", stories[0].stdout)
    assert stories[0].stdout == stories[1].stdout


@pytest.mark.parametrize("mode", ["slow-kill", "segfault", "stuck", "nan"])
def test_whatever_happens_in_a_segment_is_reported_with_its_iteration(mode, tmp_path):
    """Its episodes outlast iterations: their keys say 0, the message does not."""
    seed = next(seed for seed in itertools.count() if sum(fails(seed, 0, number) for number in range(4)) == 1)
    number = next(number for number in range(4) if fails(seed, 0, number))
    job = (*SEGMENTS, "--steps-per-update", 100, "--seed", seed, "--stuck-after", 2)
    out = ("--out", tmp_path / "run", "--progress", "none", "--oversubscribe")
    outcome = run(
        "train.py",
        "--preset",
        "episodes",
        "--env",
        f"failing_envs:Failing-late-{mode}-v0",
        *job,
        *out,
        ranks=2,
        timeout=60,
    )
    assert outcome.code != 0
    assert f"episode {number} of iteration 5 (reset seed {reset_seed(seed, 0, number)})" in outcome.err
    assert f"replay.py {tmp_path / 'run'} {number} --iteration 5\n" in outcome.err


def train_with(patch, *arguments, ranks=0):
    """Run train.py after a line of Python on every rank."""
    words = [str(SCRIPTS / "train.py"), *map(str, arguments), "--progress", "none"]
    script = f"import sys, runpy; sys.argv = {words}; {patch}; runpy.run_path(sys.argv[0], run_name='__main__')"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    launcher = ["mpiexec", "-n", str(ranks)] if ranks else []
    return subprocess.run(
        [*launcher, sys.executable, "-c", script], env={**os.environ, "PATH": path, "PYTHONPATH": PYTHONPATH},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def messages(stderr):
    return re.findall(r"^minitrpo: (.*)$", stderr, re.MULTILINE)


def test_a_bug_of_ours_ends_all_ranks_too(tmp_path):
    """Any exception on one rank: here the disk refuses the root's log."""
    raises = "(_ for _ in ()).throw(OSError('disk full'))"
    patch = f"from minitrpo.run_folder import folder; folder.RunFolder.append = lambda self, row: {raises}"
    done = train_with(patch, "--preset", "episodes", "--env", "CartPole-v1", "--out", tmp_path / "run", ranks=3)
    assert done.returncode != 0
    assert done.stderr.count("OSError: disk full") == 1
    assert len(messages(done.stderr)) == 1
    assert messages(done.stderr)[0].startswith("rank 0 stopped")


@pytest.mark.parametrize("ranks", [0, 3])
def test_a_rank_that_is_killed_while_it_learns_is_reported(ranks, tmp_path):
    """As when memory runs out: no episode is to blame, and none is named."""
    patch = (
        "import os; from minitrpo.training import learner; learner.Learner.learn = lambda *_: os.kill(os.getpid(), 9)"
    )
    done = train_with(patch, "--preset", "episodes", "--env", "CartPole-v1", "--out", tmp_path / "run", ranks=ranks)
    assert done.returncode != 0
    (message,) = messages(done.stderr)
    assert re.fullmatch(r"rank \d was killed or crashed outside the environments", message)
    assert f"--resume {tmp_path / 'run'}" in done.stderr
    assert "to play that episode" not in done.stderr


def test_a_rank_that_was_waiting_does_not_speak_for_the_one_that_died(tmp_path):
    """The launcher kills it, too, and its watchdog may wake up before that of the rank which began."""
    seeds = (seed for seed in itertools.count() if [fails(seed, 0, n) for n in range(2)] == [True, False])
    patch = (
        "import time; from minitrpo.supervision import watchdog; job = watchdog.Watchdog.job; "
        "pause = 0.3 * (watchdog.launched_rank() == 0); "
        "watchdog.Watchdog.job = lambda self: (time.sleep(pause), job(self))[1]"
    )
    job = ("--requests", "segments", "--num-envs", 2, "--steps-per-update", 100, "--seed", next(seeds))
    out = ("--out", tmp_path / "run", "--oversubscribe")
    done = train_with(patch, "--preset", "episodes", "--env", "failing_envs:Failing-slow-kill-v0", *job, *out, ranks=2)
    (message,) = messages(done.stderr)
    assert message.startswith("rank 0 was killed or crashed while playing")
    assert "episode 0 of iteration 1 " in message


def test_a_module_names_the_module_that_plays_it_again(tmp_path):
    job = (
        "--preset",
        "episodes",
        "--env",
        "failing_envs:Failing-raise-v0",
        "--out",
        tmp_path / "run",
        "--progress",
        "none",
    )
    outcome = run("train", *job, ranks=2)
    assert f"python -m minitrpo replay {tmp_path / 'run'} " in outcome.err
    assert f"mpiexec -n 2 python -m minitrpo train --resume {tmp_path / 'run'}\n" in outcome.err
    replay = as_typed(outcome.err)
    assert replay.returncode == 1
    assert "the arm fell off" in replay.stderr


def test_a_good_episode_can_be_replayed(tmp_path):
    train(
        tmp_path / "run",
        "--preset",
        "episodes",
        "--env",
        "CartPole-v1",
        "--total-steps",
        1500,
        "--steps-per-update",
        500,
    )
    replay = run("replay.py", tmp_path / "run", 0)
    assert replay.code == 0
    assert re.fullmatch(r"episode 0 of iteration \d+: (\d+) steps, return \1, terminated\n", replay.out)
    assert run("replay.py", tmp_path / "run", 10_000).code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
@pytest.mark.parametrize("ranks", [0, 3])
def test_an_interrupted_run_says_how_to_go_on(ranks, tmp_path):
    out = tmp_path / "run"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    launcher = ["mpiexec", "-n", str(ranks)] if ranks else []
    command = [
        *launcher,
        sys.executable,
        str(SCRIPTS / "train.py"),
        "--preset",
        "episodes",
        "--env",
        "CartPole-v1",
        "--out",
        str(out),
    ]
    process = subprocess.Popen(
        [*command, "--total-steps", "10000000"],
        env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not (out / "checkpoint.npz").exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert "Traceback" not in said
    if ranks and open_mpi():
        assert process.returncode == 1
        assert RunFolder(out).load_checkpoint()["theta"].size
        return
    assert process.returncode == 130
    assert f"to go on from the last checkpoint: {'mpiexec -n 3 ' if ranks else ''}python" in said
    assert f"--resume {out}" in said
    assert "Traceback" not in said
    assert "WARN" not in said
    assert not (out / "failure.txt").exists()
