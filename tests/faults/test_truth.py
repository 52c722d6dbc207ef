"""What a message says is so: of an older policy, of a file that cannot be read, of a launcher's variable."""

import errno
import io
import os
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest
from runs import SCRIPTS, run
from runs import forked

from minitrpo.commands import doctor
from minitrpo.errors import BadInput, shown
from minitrpo.parallel.launcher import launched_rank, launched_size
from minitrpo.run_folder import checkpoint
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision import shared_memory, watchdog


@pytest.mark.parametrize("words", [("watch", "run", "--steps", 3), ("replay", "run", 0)])
def test_an_older_policy_is_named(words, cartpole_run, tmp_path):
    shutil.copytree(cartpole_run, tmp_path / "run")
    (tmp_path / "run" / "checkpoint.npz").write_bytes(b"x")
    done = forked(*words, cwd=tmp_path)
    assert done.code == 0, done
    assert "checkpoint.npz is damaged" in done.err
    assert "this is the older policy of checkpoint_before.npz" in done.err
    assert "pickle" not in done.err


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENFILE])
def test_what_passes_is_no_damage(number, cartpole_run, monkeypatch):
    def load(path):
        raise OSError(number, "it passes", str(path))

    monkeypatch.setattr(checkpoint, "read_arrays", load)
    with pytest.raises(BadInput, match=r"cannot read .*checkpoint\.npz: it passes; nothing was changed"):
        checkpoint.newest(cartpole_run)


def pickled():
    """Return an array of objects as numpy writes it."""
    content = io.BytesIO()
    np.save(content, np.array([{}]), allow_pickle=True)
    return content.getvalue()


@pytest.mark.parametrize("content", [b"", b"x", b"\x80\x04.", pickled()])
def test_nobody_is_told_to_allow_pickle(content, tmp_path):
    (tmp_path / "checkpoint.npz").write_bytes(content)
    with pytest.raises(BadInput, match="damaged") as refused:
        checkpoint.newest(tmp_path)
    assert "pickle" not in str(refused.value)


@pytest.mark.parametrize("text", ["abc", "", "-1", "1.5", "²", "9" * 5000])
def test_a_launchers_variable_that_is_no_number_is_none(text, monkeypatch):
    monkeypatch.setenv("PMI_RANK", text)
    monkeypatch.setenv("PMI_SIZE", text)
    assert (launched_rank(), launched_size()) == (0, 1)


def test_ranks_of_many_digits_are_refused_in_one_line(tmp_path):
    done = run("speedup.py", "--ranks", f"1,{'9' * 5000}", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert len(done.err) < 300


def test_a_full_stdout_is_not_the_run_folder(tmp_path):
    words = "--env CartPole-v1 --total-steps 300 --steps-per-update 300 --hidden 4 --critic linear --out run"
    line = f"{sys.executable} {SCRIPTS / 'train.py'} {words} > /dev/full"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot print: no space left where stdout goes" in done.stderr
    assert "run folder" not in done.stderr


def test_another_user_cannot_silence_a_failure(monkeypatch):
    """Whoever holds the name without listening, or listens as another user, is not a rank of ours."""
    monkeypatch.setattr(watchdog, "LAUNCHER", f"test-{os.getpid()}")
    monkeypatch.setattr(watchdog, "CLAIMS", [])
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(f"\0minitrpo-test-{os.getpid()}")
        assert watchdog._is_first()
        stranger.listen()
        assert not watchdog._is_first()
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert watchdog._is_first()


def test_a_stranger_who_answers_nobody_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(watchdog, "LAUNCHER", f"deaf-{os.getpid()}")
    monkeypatch.setattr(watchdog, "CLAIMS", [])
    callers = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(f"\0minitrpo-deaf-{os.getpid()}")
        stranger.listen(0)
        for caller in callers:  # until its queue is full
            caller.setblocking(False)
            caller.connect_ex(f"\0minitrpo-deaf-{os.getpid()}")
        assert watchdog._is_first()
    for caller in callers:
        caller.close()


# --- /dev/shm

SMALL = f"mount -t tmpfs -o %s tmpfs /dev/shm; exec mpiexec -n 2 {sys.executable} {SCRIPTS / 'train.py'}"
MAY_MOUNT = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not MAY_MOUNT, reason="this user may not mount a small /dev/shm")
@pytest.mark.parametrize("options", ["size=1m", "size=16m", "ro"])
def test_too_little_shared_memory_is_named(options, tmp_path):
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    line = f"{SMALL % options} --env CartPole-v1 --total-steps 100"
    done = subprocess.run(["unshare", "-m", "bash", "-c", line], cwd=tmp_path, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("minitrpo:")]
    assert len(said) == 1, done.stderr
    assert "crashed while it joined the others; /dev/shm has " in said[0]
    assert said[0].endswith("MB free, and MPI may need 24 for 2 ranks: " + shared_memory.CURE)


@pytest.mark.parametrize(("free", "ranks"), [(0, 1), (1, 1), (16, 1), (17, 2), (20, 2), (32, 4), (64, 8), (1024, 128)])
def test_how_many_ranks_a_shared_memory_is_enough_for(free, ranks, monkeypatch):
    monkeypatch.setattr(shared_memory, "room", lambda: free * shared_memory.MB)
    assert shared_memory.enough_for(free * shared_memory.MB) == ranks
    assert shared_memory.shortage(ranks) == ""
    assert f"has {free} MB free" in shared_memory.shortage(ranks + 1)


def test_the_doctor_looks_at_shared_memory(monkeypatch):
    for free, cores, well in ((64, 2, True), (64, 16, False), (16, 1, False), (2**44, 64, True)):
        monkeypatch.setattr(doctor, "room", lambda free=free: free * shared_memory.MB)
        monkeypatch.setattr(doctor, "usable", lambda cores=cores: cores)
        finding = doctor.shared_memory()
        assert (finding.name, finding.well) == ("/dev/shm", well)
        assert ("--shm-size" in str(finding)) == (not well)


# --- environments that meddle with what is ours

MEDDLES = """
import os, sys, tempfile
from pathlib import Path
from gymnasium.envs.classic_control import CartPoleEnv

class Mutes(CartPoleEnv):
    def step(self, action):
        sys.stdout = None
        return super().step(action)

class Leaves(CartPoleEnv):
    def __init__(self, **_):
        os.chdir(tempfile.mkdtemp())
        os.rmdir(os.getcwd())
        super().__init__()

class Writes(CartPoleEnv):
    log, steps = Path("run/metrics.csv").absolute(), 0
    def step(self, action):
        Writes.steps += 1
        if Writes.steps == 500:
            self.log.open("a").write("my own line\\n")
        return super().step(action)

class Cuts(Writes):
    def step(self, action):
        if Writes.steps == 500:
            os.truncate(self.log, 10)
        return super().step(action)
"""
SHORT = ("--hidden", 4, "--critic", "linear", "--steps-per-update", 300, "--progress", "none", "--num-envs", 4)


@pytest.fixture
def meddling(tmp_path):
    (tmp_path / "meddles.py").write_text(MEDDLES)
    return tmp_path


@pytest.mark.parametrize("name", ["Mutes", "Leaves"])
def test_the_hash_is_printed_whatever_an_environment_replaces(name, meddling):
    done = forked("train", "--env", f"meddles:{name}", "--total-steps", 300, *SHORT, "--out", "run", cwd=meddling)
    assert (done.code, done.err) == (0, ""), done
    assert done.out.splitlines()[-1].startswith("theta sha256: ")


def test_what_somebody_adds_to_the_log_is_cut_off_and_said(meddling):
    done = forked("train", "--env", "meddles:Writes", "--total-steps", 900, *SHORT, "--out", "run", cwd=meddling)
    assert (done.code, done.err) == (0, ""), done
    assert "note: somebody else wrote 12 byte(s) to metrics.csv: they are cut off" in done.out
    again = ("--resume", "run", "--env", "meddles:Writes", "--total-steps", 1500, "--progress", "none")
    assert forked("train", *again, cwd=meddling).code == 0
    assert [row["iteration"] for row in RunFolder(meddling / "run").rows()] == ["1", "2", "3", "4", "5"]


def test_a_log_that_is_cut_ends_the_run_in_one_line(meddling):
    done = forked("train", "--env", "meddles:Cuts", "--total-steps", 900, *SHORT, "--out", "run", cwd=meddling)
    assert done.code == 1
    assert "metrics.csv: it was cut while the run was at work" in done.err.splitlines()[0]
    assert "Traceback" not in done.err


NO_THREADS = """
import faulthandler, sys, threading
def cannot(*_, **__):
    raise RuntimeError("can't start new thread")
threading.Thread.start = faulthandler.dump_traceback_later = cannot
sys.path[0] = sys.argv.pop(1)
from minitrpo.commands.train import main
sys.exit(main(sys.argv[1:]))
"""


def test_no_thread_is_needed_to_end(tmp_path):
    words = ["--env", "CartPole-v1", "--total-steps", 300, *SHORT, "--out", "run", "--overlap", "no"]
    command = [sys.executable, "-c", NO_THREADS, str(SCRIPTS), *map(str, words)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize(("length", "whole"), [(57, True), (58, True), (59, False), (1000, False)])
def test_a_value_is_shown_whole_where_it_fits(length, whole):
    """With its quotation marks in 60 letters."""
    text = shown("x" * length)
    assert text == (f"'{'x' * length}'" if whole else f"'{'x' * 56}...")
