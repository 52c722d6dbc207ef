"""Nothing hangs: whatever an environment does, the job ends, with one message that says where and what to do."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SCRIPTS, run, train

JOB = ("--total-steps", 100_000, "--steps-per-update", 2000, "--stuck-after", 2)
CAUSES = {
    "raise": "step raised RuntimeError: the arm fell off",
    "unlucky-reset": "reset raised RuntimeError: the arm does not move",
    "nan": "not finite",
    "kill": "was killed or crashed",
    "segfault": "was killed or crashed",
    "stuck": "is stuck: no environment step for 2 s",
}


@pytest.mark.parametrize("ranks", [0, 3])
@pytest.mark.parametrize("mode", CAUSES)
def test_the_job_ends_and_names_the_episode(mode, ranks, tmp_path):
    env = f"failing_envs:Failing-{mode}-v0"
    out = tmp_path / "run"
    outcome = run("train.py", "--env", env, "--out", out, "--progress", "none", *JOB, ranks=ranks, timeout=60)
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
    assert f"replay.py {out} {episodes[0]}" in outcome.err
    assert f"--resume {out}" in outcome.err
    if mode in ("raise", "nan", "unlucky-reset"):  # the replay does the same, in one process
        replay = run("replay.py", out, episodes[0])
        assert replay.code == 1
        assert f"episode {episodes[0]} of iteration {iteration}" in replay.err


def test_a_bug_of_ours_ends_all_ranks_too(tmp_path):
    """Any exception on one rank: here the disk refuses the root's log."""
    out = tmp_path / "run"
    script = (
        "import sys; sys.argv = ['train.py', '--env', 'CartPole-v1', '--out', sys.argv[1], '--progress', 'none'];"
        "from minitrpo.runs import folder; import runpy;"
        "folder.RunFolder.append = lambda self, row: (_ for _ in ()).throw(OSError('disk full'));"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    script = script.replace("'train.py'", repr(str(SCRIPTS / "train.py")))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["mpiexec", "-n", "3", sys.executable, "-c", script, str(out)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.count("OSError: disk full") == 1
    assert len(re.findall(r"^minitrpo: rank 0 stopped", done.stderr, re.MULTILINE)) == 1


def test_a_good_episode_can_be_replayed(tmp_path):
    train(tmp_path / "run", "--env", "CartPole-v1", "--total-steps", 1500, "--steps-per-update", 500)
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
    command = [*launcher, sys.executable, str(SCRIPTS / "train.py"), "--env", "CartPole-v1", "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--total-steps", "10000000"],
        env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not (out / "checkpoint.npz").exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"to go on: {'mpiexec -n 3 ' if ranks else ''}python" in said
    assert f"--resume {out}" in said
    assert "Traceback" not in said
    assert "WARN" not in said
    assert not (out / "failure.txt").exists()
