"""SIGTERM, sent before a cluster takes its machine back: a checkpoint, one line, exit 143, and on to the bit."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from runs import SCRIPTS, run, train

from minitrpo.commands.train import unfinished

JOB = ("--env", "CartPole-v1", "--steps-per-update", 500, "--total-steps", 40_000)
KINDS = {
    "every update": (),
    "seldom": ("--checkpoint-every", 1000),
    "sharded": ("--learner", "sharded"),
    "rows of ten": ("--algorithm", "a2c", "--record-every", 10, "--checkpoint-every", 1000),
    "events": ("--algorithm", "a3c", "--transport", "events", "--checkpoint-every", 1000),
}


def stopped(folder, *words, ranks=1, after=5):
    """Start a run, send SIGTERM when it has so many updates; return (exit code, stdout, stderr)."""
    launcher = ["mpiexec", "-n", str(ranks)] if ranks > 1 else []
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [*launcher, sys.executable, SCRIPTS / "train.py", "--out", folder, "--progress", "none", *words]
    process = subprocess.Popen(
        [str(word) for word in command], env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    log, deadline = Path(folder) / "metrics.csv", time.monotonic() + 60
    while not (log.exists() and log.read_text().count("\n") > after) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_told_to_end_saves_and_goes_on_to_the_bit(kind, tmp_path):
    whole = train(tmp_path / "whole", *JOB, *KINDS[kind])
    code, out, err = stopped(tmp_path / "run", *JOB, *KINDS[kind])
    assert (code, err) == (143, "")
    last = out.splitlines()[-1]
    assert last.startswith("stopped by SIGTERM after update ")
    assert f"--resume {tmp_path}/run" in last
    update = int(last.split("after update ")[1].split(",")[0])
    rows = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert int(rows[-1].split(",")[0]) == update
    again = run("train.py", "--resume", tmp_path / "run", "--progress", "none")
    assert "dropped" not in again.out
    assert again.sha256 == whole.sha256


def test_what_comes_between_the_runs_of_two_seeds_is_not_forgotten(tmp_path):
    """While a run's picture is drawn: the next seed does not begin, and the command for it is printed."""
    words = ("--env", "CartPole-v1", "--steps-per-update", 500, "--total-steps", 2000, "--progress", "none")
    command = [sys.executable, SCRIPTS / "train.py", "--out", "o", *words, "--seeds", "0-1"]
    process = subprocess.Popen([str(word) for word in command], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    log, deadline = tmp_path / "o" / "seed0" / "metrics.csv", time.monotonic() + 60
    while not (log.exists() and ",2048," in log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 143, out
    last = out.splitlines()[-1]
    assert last.startswith("stopped by SIGTERM")
    if "before seed 1" in last:
        assert last.endswith("--seeds 1")
        assert not (tmp_path / "o" / "seed1").exists()
        again = [sys.executable, *shlex.split(last.partition("to go on: python ")[2])]
        assert subprocess.run(again, cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0
        assert (tmp_path / "o" / "seed1" / "learning_curve.png").exists()
    whole = run("train.py", *words, "--seed", 0, "--out", tmp_path / "whole")
    assert f"theta sha256: {whole.sha256}" in out


@pytest.mark.parametrize("transport", ["server", "window"])
def test_an_asynchronous_run_counts_on(transport, tmp_path):
    words = (*JOB, "--algorithm", "a3c", "--transport", transport)
    code, out, _ = stopped(tmp_path / "run", *words, ranks=2)
    assert code == 143
    assert "stopped by SIGTERM" in out
    again = run("train.py", "--resume", tmp_path / "run", "--progress", "none", ranks=2)
    assert again.code == 0, again.err


@pytest.mark.parametrize("ranks", [2, 3])
def test_all_ranks_of_a_job_end_alike(ranks, tmp_path):
    whole = train(tmp_path / "whole", *JOB)
    code, out, err = stopped(tmp_path / "run", *JOB, "--oversubscribe", ranks=ranks)
    assert code == 143
    assert out.count("stopped by SIGTERM") == 1
    assert "Traceback" not in err
    assert "was killed" not in err
    assert run("train.py", "--resume", tmp_path / "run", "--progress", "none").sha256 == whole.sha256


def test_what_mpi_raises_when_a_rank_has_gone_is_one_line():
    program = (
        "from mpi4py import MPI\nfrom minitrpo.supervision.launch import explain\n"
        "for number in (MPI.ERR_OTHER, MPI.ERR_RANK):\n    print(explain(MPI.Exception(number)))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    lost, misused = said.split("\n", 1)
    assert lost.startswith("lost its connection to another rank, which was killed or crashed; MPI says: ")
    assert misused.startswith("stopped:\nmpi4py.MPI.Exception: ")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a watchdog")
def test_signals_that_follow_the_first_find_a_watchdog_that_listens():
    """On a busy machine the answer to Ctrl-C takes longer than the launcher's second one, or our own alarm."""
    script = """if True:
        import signal, time
        from minitrpo.supervision.watchdog import Watchdog

        watchdog = Watchdog(60.0)
        watchdog.heed_interrupts()
        for number in (signal.SIGINT, signal.SIGALRM, signal.SIGUSR1):
            signal.signal(number, lambda *_: None)
            signal.raise_signal(number)
            time.sleep(0.3)
        watchdog.dismiss()
    """
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(("steps", "ended"), [((), 0), ((200, 400), 0), ((200, 401), 0), ((200, 399), 2), ((399,), 1)])
def test_which_update_a_run_ended_at(steps, ended):
    rows = [{"iteration": str(number), "env_steps": str(taken)} for number, taken in enumerate(steps, 1)]
    folder, settings = SimpleNamespace(rows=lambda: rows), SimpleNamespace(total_steps=400)
    assert unfinished(SimpleNamespace(folder=folder, settings=settings)) == ended
