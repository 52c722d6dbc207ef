"""Jobs of two ranks under mpiexec: whatever happens to one, the job ends with an exit code and one message.

Three of these wait by the real clock: a rank that is killed, one that is stuck, one that is stopped.
"""

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
from runs import ROOT, TOYS, fails, forked, lasting, needs, open_mpi, run

from minitrpo.experience.randomness import reset_seed

pytestmark = pytest.mark.mpi
JOB = ("--env", "CartPole-v1", "--hidden", 4, "--steps-per-update", 500, "--total-steps", 4000, "--checkpoint-every", 1)
SEGMENTS = ("--requests", "segments", "--num-envs", 2, "--steps-per-update", 100, "--hidden", 4)
HOME = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
HOME["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(TOYS)])


def started(*words, cwd, patch="", launcher=("mpiexec", "-n", "2")):
    """Start train.py on two ranks, after some lines of Python on both."""
    words = ["train.py", *map(str, words), "--oversubscribe", "--progress", "none"]
    program = f"import sys\nsys.argv = {words}\n{patch}\nfrom minitrpo.commands.train import main\nsys.exit(main())"
    return subprocess.Popen(
        [*launcher, sys.executable, "-c", program], cwd=cwd, env=HOME, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process):
    """Return the exit code, what was printed, and what the ranks said in one line each."""
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, out + err, re.findall(r"^minitrpo: (rank \d .*)$", err, re.MULTILINE)


def seed_of(failing):
    """Return a seed with which just one of the first two episodes fails: that of rank 0, or of rank 1."""
    return next(s for s in itertools.count() if [fails(s, 0, n) for n in range(2)] == [n == failing for n in range(2)])


def test_a_failing_environment_is_named_by_its_rank_and_plays_again_as_the_message_says(tmp_path):
    seed = seed_of(1)
    job = (*SEGMENTS, "--total-steps", 10**6, "--out", tmp_path / "run", "--progress", "none", "--oversubscribe")
    done = run("train", "--env", "failing_envs:Failing-raise-v0", "--seed", seed, *job, ranks=2)
    assert done.code == 1
    (said,) = re.findall(r"^minitrpo: (.*)$", done.err, re.MULTILINE)
    episode = f"episode 1 of iteration 1 (reset seed {reset_seed(seed, 0, 1)})"
    assert said.startswith(f"rank 1 stopped: failing_envs:Failing-raise-v0 failed in {episode}: step raised")
    assert (tmp_path / "run" / "failure.txt").read_text() in done.err
    assert f"mpiexec -n 2 python -m minitrpo train --resume {tmp_path / 'run'}\n" in done.err
    (command,) = re.findall(r"to play that episode in one process: (.*)$", done.err, re.MULTILINE)
    assert command.startswith("python -m minitrpo replay ")
    again = subprocess.run(shlex.split(command), env=HOME, capture_output=True, text=True, timeout=120, check=False)
    assert again.returncode == 1
    assert episode in again.stderr


BEFORE_THE_FOLDER = {  # what a rank does before there is a run folder: how the message begins
    "raise": ("raise RuntimeError('no memory')", "rank [01] "),
    "killed": ("os.kill(os.getpid(), 9) if launched_rank() else time.sleep(30)", "rank 1 was killed or crashed"),
}


@pytest.mark.parametrize("way", BEFORE_THE_FOLDER)
def test_a_job_that_fails_before_it_has_a_folder_says_so_once_and_leaves_nothing_behind(way, tmp_path, monkeypatch):
    act, begins = BEFORE_THE_FOLDER[way]
    patch = (
        "import os, time\nfrom minitrpo.training import start\n"
        "from minitrpo.parallel.this_process import launched_rank\n"
        f"def begin(job):\n    {act}\n"
        "start.working_ranks = lambda settings, comm, oversubscribe: begin(settings)"
    )
    (tmp_path / "tmp").mkdir()
    monkeypatch.setitem(HOME, "TMPDIR", str(tmp_path / "tmp"))
    code, printed, said = ended(started(*JOB, "--out", "run", cwd=tmp_path, patch=patch))
    assert code != 0
    assert len(said) == 1, printed
    assert re.match(begins, said[0]), printed
    until = time.monotonic() + 20
    while left := [path.name for path in (tmp_path / "tmp").iterdir() if path.name.startswith("minitrpo-")]:
        assert time.monotonic() < until, left
        time.sleep(0.1)


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_the_job_and_nothing_is_lost(tmp_path, monkeypatch):
    """The other one, which waits for it, does not speak for it, although its watchdog wakes up first."""
    patch = (
        "import time\nfrom minitrpo.supervision import watchdog\nstatus = watchdog.status\njob = status.job\n"
        "pause = 0.3 * (watchdog.launched_rank() == 0)\n"
        "status.job = lambda: (time.sleep(pause), job())[1]"
    )
    words = ("--env", "failing_envs:Failing-late-slow-kill-v0", *SEGMENTS, "--seed", seed_of(0), "--total-steps", 600)
    code, printed, said = ended(started(*words, "--checkpoint-every", 1, "--out", "run", cwd=tmp_path, patch=patch))
    assert code != 0
    assert len(said) == 1, printed
    assert re.match(r"rank 0 was killed or crashed while playing .* episode 0 of iteration 3 ", said[0]), said
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    whole = forked("train", *words, "--progress", "none", "--out", "whole", cwd=tmp_path)
    again = forked("train", "--resume", "run", *words[:2], "--progress", "none", cwd=tmp_path)
    assert (whole.code, again.code) == (0, 0), again
    assert lasting(tmp_path / "run") == lasting(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "why"), [("stuck", "is stuck: no environment step"), ("leave", "")])
def test_a_rank_that_is_stuck_in_a_step_or_leaves_it_ends_the_job(mode, why, tmp_path):
    words = ("--env", f"failing_envs:Failing-{mode}-v0", *SEGMENTS, "--seed", seed_of(1), "--total-steps", 10**6)
    code, printed, said = ended(started(*words, "--stuck-after", 3, cwd=tmp_path))
    assert code != 0
    assert len(said) == 1, printed
    assert re.match(rf"rank 1 {why}.* while playing .* episode 1 of iteration 1 ", said[0]), said


@pytest.mark.slow
def test_a_rank_that_is_stopped_is_given_up(tmp_path):
    patch = "from minitrpo.supervision import watchdog\nwatchdog.PATIENCE = 2"
    words = ("--env", "failing_envs:Failing-stopped-v0", *SEGMENTS, "--seed", seed_of(1), "--total-steps", 10**6)
    code, printed, said = ended(started(*words, "--stuck-after", 3, cwd=tmp_path, patch=patch))
    assert code != 0
    assert len(said) == 1, printed
    assert said[0].startswith("rank 1 was stopped (SIGSTOP)")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_to_mpiexec_ends_all_ranks_alike_and_the_run_goes_on_to_the_bit(number, tmp_path):
    needs("open-mpi", number == signal.SIGTERM or not open_mpi())
    process = started(*JOB, "--total-steps", 10**6, "--out", "run", cwd=tmp_path)
    while not (tmp_path / "run" / "checkpoint_before.npz").exists():
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(number)
    code, printed, said = ended(process)
    assert code == {signal.SIGTERM: 143, signal.SIGINT: 130}[number], printed
    assert said == []
    assert len(re.findall("stopped by SIGTERM|interrupted", printed)) == 1, printed
    assert "mpiexec -n 2 python" in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "run" / "failure.txt").exists()
    again = forked("train", "--resume", "run", "--total-steps", steps(tmp_path / "run") + 1000, cwd=tmp_path)
    whole = forked("train", *JOB, "--total-steps", steps(tmp_path / "run"), "--out", "whole", cwd=tmp_path)
    assert (again.code, whole.code) == (0, 0), again
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
    assert lasting(tmp_path / "run")[0] == lasting(tmp_path / "whole")[0]


@pytest.mark.slow
def test_an_asynchronous_run_that_is_told_to_end_stops_on_all_ranks(tmp_path):
    patch = (
        "import os, signal\nfrom minitrpo.run_folder.folder import RunFolder\nappend = RunFolder.append\n"
        "RunFolder.append = lambda self, row: (os.kill(os.getpid(), signal.SIGTERM), append(self, row))[1]"
    )
    words = ("--algorithm", "a3c", "--anneal", "none", *JOB, "--total-steps", 10**6, "--out", "run")
    code, printed, said = ended(started(*words, cwd=tmp_path, patch=patch))
    assert (code, said, printed.count("stopped by SIGTERM")) == (143, [], 1), printed
    again = forked("train", "--resume", "run", "--total-steps", steps(tmp_path / "run") + 1000, cwd=tmp_path)
    assert again.code == 0, again


def steps(folder):
    """Return how many steps a run has taken."""
    return int(lasting(folder)[0][-1]["env_steps"])


FULL_DISK = """
import resource
from minitrpo.run_folder.folder import RunFolder
append = RunFolder.append
def append_on_a_full_disk(self, row):
    if row["iteration"] == 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    append(self, row)
RunFolder.append = append_on_a_full_disk
"""


@pytest.mark.slow
def test_a_disk_that_is_full_ends_the_job_with_one_line_and_nothing_is_lost(tmp_path):
    code, printed, said = ended(started(*JOB, "--out", "run", cwd=tmp_path, patch=FULL_DISK))
    assert code == 1
    assert len(said) == 1, printed
    assert said[0].startswith("rank 0 stopped: cannot write ")
    assert "Traceback" not in printed
    assert not list((tmp_path / "run").glob("*.tmp"))
    again = forked("train", "--resume", "run", "--progress", "none", cwd=tmp_path)
    whole = forked("train", *JOB, "--progress", "none", "--out", "whole", cwd=tmp_path)
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
    assert lasting(tmp_path / "run") == lasting(tmp_path / "whole")


@pytest.mark.slow
def test_too_little_shared_memory_is_named(tmp_path):
    needs("shm", subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0)
    small = 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec mpiexec -n 2 "$@"'
    code, printed, said = ended(started(*JOB, cwd=tmp_path, launcher=("unshare", "-m", "bash", "-c", small, "-")))
    assert code != 0
    assert len(said) == 1, printed
    assert "/dev/shm" in said[0]


def test_what_mpi_raises_when_a_rank_has_gone_is_one_line():
    program = (
        "from mpi4py import MPI\nfrom minitrpo.supervision.program import explain\n"
        "print([len(explain(MPI.Exception(number)).splitlines()) for number in (MPI.ERR_OTHER, MPI.ERR_RANK)])"
    )
    said = subprocess.run([sys.executable, "-c", program], env=HOME, capture_output=True, text=True, check=True).stdout
    assert said == "[1, 2]\n", "of what is misused it is a traceback"
