"""Run the project's commands, alone or under mpiexec, and read what they leave: what tests of whole runs share."""

import faulthandler
import functools
import gc
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

from experiments.__main__ import figures
from minitrpo.commands import replay, watch
from minitrpo.commands import train as train_command
from minitrpo.course import demo
from minitrpo.course.grading import command as grade
from minitrpo.course.grading import leaderboard
from minitrpo.course.lab import command as lab
from minitrpo.course.speedup import command as speedup
from minitrpo.experience.randomness import reset_seed
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.metrics_csv import TIMINGS

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "mpi_scripts"
TOYS = Path(__file__).parent / "toys"  # environments that misbehave, importable as failing_envs


class Outcome:
    """A finished process: exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def sha256(self) -> str:
        found = re.fullmatch(r"theta sha256: ([0-9a-f]{64})", self.out.splitlines()[-1])
        assert found, f"the last line is no hash:\n{self.out}\n{self.err}"
        return found.group(1)


_mpi = {"marked": False}


def mpi_is_marked(marked: bool) -> None:
    """Say whether the test that runs now is marked mpi."""
    _mpi["marked"] = marked


def needs(resource: str, there: bool) -> None:
    """Skip the test if a resource is not there; .ci/skips.txt has its name and a reason."""
    if not there:
        pytest.skip(resource)


@functools.cache
def open_mpi() -> bool:
    """Return whether mpiexec is Open MPI's, which does with Ctrl-C what it likes: see docs/cluster.md."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(["mpiexec", "--version"], env=environment, capture_output=True, text=True, check=False)
    return "Open MPI" in done.stdout or "OpenRTE" in done.stdout


def run(
    script: str, *arguments: object, ranks: int = 0, cwd: Path | None = None, timeout: float = 120, new: bool = False
) -> Outcome:
    """Run mpi_scripts/SCRIPT with `mpiexec -n ranks`, or in a fork of this process if ranks is 0, as that is quicker.

    A script without .py is the command of that name: python -m minitrpo SCRIPT. new: a new process instead of a fork.
    """
    assert _mpi["marked"] or not ranks, "a test that starts mpiexec is marked: @pytest.mark.mpi"
    name = script.removesuffix(".py")
    if not ranks and not new and name != script and name in MAINS:
        done = forked(name, *arguments, cwd=cwd or Path.cwd(), timeout=timeout)
        return Outcome(done.code, done.out, done.err)
    launcher = ["mpiexec", "-n", str(ranks)] if ranks else []
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = os.pathsep.join([str(TOYS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": own}
    program = [str(SCRIPTS / script)] if script.endswith(".py") else ["-m", "minitrpo", script]
    command = [*launcher, sys.executable, *program, *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def train(out: Path, *arguments: object, ranks: int = 0, **options: object) -> Outcome:
    """Run train.py into a folder and insist that it went well; with several ranks, all of them work on any machine.

    A checkpoint is written after every update, unless the arguments say otherwise: none depends on the clock.
    """
    if ranks > 1:
        arguments = (*arguments, "--oversubscribe")
    usual = ("--progress", "none", "--checkpoint-every", 1)
    outcome = run("train.py", "--out", out, *usual, *arguments, ranks=ranks, **options)
    assert outcome.code == 0, outcome.out + outcome.err
    return outcome


def fails(run_seed: int, key: int, number: int) -> bool:
    """Return whether an environment of toys/failing_envs.py fails in this episode."""
    return reset_seed(run_seed, key, number) % 7 == 3


def lasting(folder: Path) -> tuple[list[dict[str, str]], dict[str, bytes]]:
    """Return what must be equal in equal runs: metrics without timings, as text, and the checkpoint's bytes."""
    opened = RunFolder(folder)
    rows = [{k: v for k, v in row.items() if k not in TIMINGS} for row in opened.rows()]
    kept = {k: v for k, v in opened.load_checkpoint().items() if k != "run_time_s"}
    arrays = {k: np.ascontiguousarray(v).tobytes() for k, v in kept.items()}
    return rows, arrays


MAINS = {"train": train_command.main, "speedup": speedup.main, "watch": watch.main, "replay": replay.main}
MAINS |= {"grade": grade.main}
MAINS |= {"figures": figures, "entry": leaderboard.main, "demo": demo.main, "lab": lab.main}


class Forked:
    """A command at work; `end` waits until it and everything it started have let go of stderr."""

    def __init__(self, command, words, cwd):
        self.command, self.words = command, list(map(str, words))
        self.stdout = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self.stderr, writing = os.pipe()
        self.began = time.monotonic()
        gc.freeze()  # a collection in the fork would copy all pages
        self.pid = os.fork()
        if self.pid == 0:
            self._become(writing, cwd)
        os.close(writing)

    def _become(self, writing, cwd):
        code = 99
        try:
            gc.disable()
            faulthandler.disable()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            null = os.open(os.devnull, os.O_RDONLY)
            for ours, theirs in ((null, 0), (self.stdout.fileno(), 1), (writing, 2)):
                os.dup2(ours, theirs)
            os.closerange(3, 256)
            sys.stdout = os.fdopen(1, "w")
            sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
            os.chdir(cwd)
            sys.path.insert(0, str(TOYS))
            os.environ["PYTHONPATH"] = os.pathsep.join([str(TOYS), *filter(None, [os.environ.get("PYTHONPATH")])])
            sys.argv = [str(SCRIPTS / f"{self.command}.py"), *self.words]
            warnings.resetwarnings()  # those that pytest makes errors of
            sys.modules["__main__"].__spec__ = None  # a script, not python -m pytest
            train_command.learning_curve = lambda folder, *charts: "no picture"  # takes a second
            code = MAINS[self.command](self.words)
            sys.stdout.flush()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 98
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code or 0)

    def end(self, timeout=120):
        """Return self with code, out and err."""
        err, until = b"", self.began + timeout
        while True:
            ready, _, _ = select.select([self.stderr], [], [], max(0, until - time.monotonic()))
            if not ready:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"no end after {timeout} s: {self.words}\n{err.decode()}")
            piece = os.read(self.stderr, 65536)
            if not piece:
                break
            err += piece
        os.close(self.stderr)
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        self.stdout.seek(0)
        self.out, self.err = self.stdout.read().decode(errors="replace"), err.decode(errors="replace")
        self.stdout.close()
        return self

    def __str__(self):
        return f"{self.command} {' '.join(self.words)}\nexit code {self.code}\n{self.out}\n{self.err}"


def forked(command, *words, cwd, timeout=120):
    """Return the finished command, with code, out and err."""
    return Forked(command, words, cwd).end(timeout)
