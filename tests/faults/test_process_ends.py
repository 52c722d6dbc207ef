"""How one process ends: killed, left, by SIGTERM or Ctrl-C; its exit code, one line, and the same bits after a resume.

Signals come from within, at a known update: nothing depends on the clock. Several ranks: `test_jobs.py`.
"""

import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hostile_envs import CRASHING, Walk, later, walk
from runs import MAINS, forked, lasting

from minitrpo.commands import train as train_command
from minitrpo.commands.train import unfinished
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision import program as our_program
from minitrpo.supervision import watchdog
from minitrpo.supervision.watchdog import end, guarded, started_by

SHORT = ("--hidden", 4, "--critic", "linear", "--progress", "none")
JOB = ("--env", "CartPole-v1", "--hidden", 4, "--steps-per-update", 100, "--total-steps", 800, "--progress", "none")


def at_update(number, do, monkeypatch):
    """Do something in processes that are forked from here on, when an update is about to be logged."""
    append = RunFolder.append

    def watched(self, row):
        if row["iteration"] == number:
            do()
        return append(self, row)

    monkeypatch.setattr(RunFolder, "append", watched)


def signalled(number):
    return lambda: os.kill(os.getpid(), number)


# --- killed, or left


@pytest.mark.parametrize("name", CRASHING)
def test_a_process_that_ends_in_an_environment_is_told_by_its_watchdog(name, tmp_path):
    done = forked("train", "--env", f"Hostile-{name}-v0", *SHORT, "--out", "run", cwd=tmp_path)
    assert done.code not in (0, 2), done
    said = [line for line in done.err.splitlines() if line.startswith("minitrpo: rank 0 ")]
    assert len(said) == 1, done
    assert CRASHING[name] in said[0]
    assert ("episode" in said[0]) == ("step" in name)
    assert "Traceback" not in done.err


def test_a_process_that_is_killed_while_it_learns_goes_on_to_the_bit(tmp_path, monkeypatch):
    """As when memory runs out: no episode is to blame, and none is named; its row was written before its checkpoint."""
    whole = forked("train", *JOB, "--checkpoint-every", 3, "--out", "whole", cwd=tmp_path)
    with monkeypatch.context() as patch:
        at_update(6, signalled(signal.SIGKILL), patch)
        done = forked("train", *JOB, "--checkpoint-every", 3, "--out", "run", cwd=tmp_path)
    assert done.code == -9, done
    first, *more = done.err.splitlines()
    assert re.match(r"minitrpo: rank 0 was killed or crashed .*outside the environments", first), done
    assert not any("to play that episode" in line for line in more)
    assert "--resume run" in more[-1]
    again = forked("train", "--resume", "run", "--progress", "none", cwd=tmp_path)
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
    assert lasting(tmp_path / "run") == lasting(tmp_path / "whole")


# --- SIGTERM: before a cluster takes its machine back

STOPPED = {
    "every update": ("--checkpoint-every", 1),
    "seldom": ("--checkpoint-every", 1000),
    "rows of ten": ("--algorithm", "a2c", "--record-every", 10, "--checkpoint-every", 1000, "--total-steps", 4000),
    "events": ("--algorithm", "a3c", "--transport", "events", "--checkpoint-every", 1000, "--total-steps", 8000),
}
SLOWER = ("events", "rows of ten")


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.slow] * (k in SLOWER)) for k in STOPPED])
def test_a_run_that_is_told_to_end_saves_and_goes_on_to_the_bit(kind, tmp_path, monkeypatch):
    words = (*JOB, *STOPPED[kind])
    whole = forked("train", *words, "--out", "whole", cwd=tmp_path)
    number = int(RunFolder(tmp_path / "whole").rows()[1]["iteration"])
    with monkeypatch.context() as patch:
        at_update(number, signalled(signal.SIGTERM), patch)
        done = forked("train", *words, "--out", "run", cwd=tmp_path)
    assert (done.code, done.err) == (143, ""), done
    last = done.out.splitlines()[-1]
    assert "--resume run" in last
    update = int(re.match(r"stopped by SIGTERM after update (\d+), ", last)[1])
    assert [int(row["iteration"]) for row in RunFolder(tmp_path / "run").rows()][-1] == update >= number
    again = forked("train", "--resume", "run", "--progress", "none", cwd=tmp_path)
    assert "dropped" not in again.out
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
    assert lasting(tmp_path / "run") == lasting(tmp_path / "whole")


def test_who_is_told_again_to_end_waits_for_no_update(tmp_path, monkeypatch):
    monkeypatch.setattr(our_program, "IMPATIENT", 0.0)  # seconds
    told = later(lambda self: (os.kill(os.getpid(), signal.SIGTERM), Walk.see(self), 0.0, False, False, {})[1:])
    walk({}, "told", step=told)  # for ever
    words = ("--env", "Hostile-told-v0", "--requests", "episodes", *SHORT)
    done = forked("train", *words, "--out", "run", cwd=tmp_path)
    assert (done.code, done.err) == (130, ""), done
    assert "interrupted" in done.out.splitlines()[-1]


def test_what_comes_between_the_runs_of_two_seeds_is_not_forgotten(tmp_path, monkeypatch):
    """While a run's picture is drawn: the next seed does not begin, and the command for it is printed."""
    with monkeypatch.context() as patch:
        patch.setattr(train_command, "draw", lambda context: os.kill(os.getpid(), signal.SIGTERM) or "no picture")
        done = forked("train", *JOB, "--out", "o", "--seeds", "0-1", cwd=tmp_path)
    assert done.code == 143, done
    assert "theta sha256: " in done.out, "the first is whole"
    last = done.out.splitlines()[-1]
    assert last.startswith("stopped by SIGTERM before seed 1"), done
    assert not (tmp_path / "o" / "seed1").exists()
    again = shlex.split(last.partition("train.py ")[2])
    assert forked("train", *again, cwd=tmp_path).code == 0
    assert (tmp_path / "o" / "seed1" / "checkpoint.npz").exists()


@pytest.mark.parametrize(("steps", "ended"), [((), 0), ((200, 400), 0), ((200, 401), 0), ((200, 399), 2), ((399,), 1)])
def test_which_update_a_run_ended_at(steps, ended):
    rows = [{"iteration": str(number), "env_steps": str(taken)} for number, taken in enumerate(steps, 1)]
    folder, settings = SimpleNamespace(rows=lambda: rows), SimpleNamespace(total_steps=400)
    assert unfinished(SimpleNamespace(folder=folder, settings=settings)) == ended


# --- Ctrl-C


def test_an_interrupted_run_says_how_to_go_on_and_the_command_may_be_copied(tmp_path, monkeypatch):
    """It is one that was extended, in a folder whose name has blanks."""
    whole = forked("train", *JOB, "--out", "whole", cwd=tmp_path)
    forked("train", *JOB, "--total-steps", 300, "--out", "my first run", cwd=tmp_path)
    extended = ("--resume", "my first run", "--total-steps", 800, "--progress", "none", "--checkpoint-every", 1)
    with monkeypatch.context() as patch:
        at_update(6, signalled(signal.SIGINT), patch)
        done = forked("train", *extended, cwd=tmp_path)
    assert (done.code, "Traceback" in done.out + done.err) == (130, False), done
    assert not (tmp_path / "my first run" / "failure.txt").exists()
    command = re.search(r"from the last checkpoint: (.*)$", done.out, re.MULTILINE)[1]
    again = forked("train", *shlex.split(command.partition("train.py ")[2]), "--progress", "none", cwd=tmp_path)
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
    assert len(RunFolder(tmp_path / "my first run").read_config()["resumed"]) == 2


def test_ctrl_c_while_modules_are_loaded():
    program = (
        "import os, sys; sys.argv = ['train.py']; import minitrpo.commands; os.kill(os.getpid(), 2)\n"
        "from minitrpo.commands.train import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (130, "interrupted", ""), done


def several(words):
    """Get signals one after the other, as on a machine where the answer to the first takes long."""
    with guarded(60.0):
        for number in (signal.SIGINT, signal.SIGALRM, signal.SIGUSR1):
            signal.signal(number, lambda *_: None)
            signal.raise_signal(number)
            time.sleep(0.2)


MAINS["several"] = several


def test_signals_that_follow_the_first_find_a_watchdog_that_listens(tmp_path):
    done = forked("several", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


# --- what an environment has started

LEFT = {
    "a thread": lambda: threading.Thread(target=time.sleep, args=(1000,)).start(),
    "a process": lambda: multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,)).start(),
}


@pytest.mark.parametrize("what", LEFT)
def test_what_would_hang_at_the_end_changes_no_exit_code(what, tmp_path, monkeypatch):
    """Of a run that is done, of one that failed; and whoever waits for its stderr is not kept waiting."""
    for code, do in ((0, LEFT[what]), (1, lambda: (LEFT[what](), int("no")))):
        with monkeypatch.context() as patch:
            at_update(3, do, patch)
            done = forked("train", *JOB, "--total-steps", 400, "--out", f"run{code}", cwd=tmp_path)
        assert done.code == code, done


@pytest.mark.parametrize("how", ["fine", "kill-away"])
def test_a_worker_ends_with_its_rank(how, tmp_path, monkeypatch):
    """One that was forked, or is in a session of its own: who ends in `forked` has let go of stderr, workers, too."""
    monkeypatch.setenv("POOLED", str(tmp_path / "workers"))
    monkeypatch.setattr(watchdog, "TICK", 0.01)
    done = forked("train", "--env", f"children_envs:Pooled-{how}-v0", *SHORT, "--total-steps", 2_000, cwd=tmp_path)
    assert (done.code == 0) == (how == "fine"), done
    workers = [int(number) for number in (tmp_path / "workers").read_text().split()]
    assert workers
    assert all(map(gone, workers))


def gone(process):
    """Return whether a process ends."""
    deadline = time.monotonic() + 60
    while works(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not works(process)


def works(process):
    """Return whether a process is there, and no zombie for which nobody has waited yet."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_who_has_lost_its_parent_is_still_known():
    """A process starts another in a session of its own, and is killed: the other is ended, and nobody else."""
    code = "import subprocess as s; s.Popen(['sleep', '999'], start_new_session=True).wait()"
    parent = subprocess.Popen([sys.executable, "-c", code])
    bystander = subprocess.Popen(["sleep", "999"])
    try:
        while not (started := started_by(parent.pid)):
            time.sleep(0.02)
            assert parent.poll() is None
        assert len(started) == 1
        parent.kill()
        parent.wait()
        end(started)
        assert all(gone(each.pid) for each in started)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def clears(words):
    watchdog._clear(Path(words[0]))
    return 0


MAINS["clears"] = clears


def test_a_launcher_that_has_ended_and_was_not_waited_for_is_gone(tmp_path, monkeypatch):
    """In a container nobody may wait for it: the claim of its ranks is cleared all the same."""
    launcher, claimed = subprocess.Popen(["true"]), tmp_path / "claim"
    claimed.touch()
    try:
        while (process := psutil.Process(launcher.pid)).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert not watchdog.works(process)
        assert watchdog.works(psutil.Process())
        monkeypatch.setattr(watchdog, "LAUNCHER", launcher.pid)
        cleared = forked("clears", claimed, cwd=tmp_path, timeout=watchdog.LINGER / 2)
        assert cleared.code == 0, cleared
        assert not claimed.exists()
    finally:
        launcher.wait()
