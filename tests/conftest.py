"""What tests of whole runs share: run a script, alone or under mpiexec, and read the folder it leaves."""

import functools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from quick import leave_out

from minitrpo.experience.randomness import reset_seed
from minitrpo.run_folder.columns import TIMINGS
from minitrpo.run_folder.folder import RunFolder

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


def pytest_configure():
    """Heed the signals that a shell's background job, or nohup, ignores: programs that tests start inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what `make test` leaves to the others: see quick.py."""
    leave_out(items, pytest.mark.slow, pytest.mark.thorough)


def pytest_runtest_setup():
    """Skip what would begin after TESTS_UNTIL, seconds since 1970, if .ci/run has set it."""
    if time.time() > float(os.environ.get("TESTS_UNTIL", "inf")):
        pytest.skip("no time is left: see .ci/run")


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
    from forked import MAINS, forked

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
    """Run train.py into a folder and insist that it went well; with several ranks, all of them work on any machine."""
    if ranks > 1:
        arguments = (*arguments, "--oversubscribe")
    outcome = run("train.py", "--out", out, "--progress", "none", *arguments, ranks=ranks, **options)
    assert outcome.code == 0, outcome.out + outcome.err
    return outcome


def fails(run_seed: int, key: int, number: int) -> bool:
    """Return whether an environment of toys/failing_envs.py fails in this episode."""
    return reset_seed(run_seed, key, number) % 7 == 3


def lasting(folder: Path) -> tuple[list[dict[str, str]], dict[str, bytes]]:
    """Return what must be equal in equal runs: metrics without timings, as text, and the checkpoint's bytes."""
    opened = RunFolder(folder)
    rows = [{k: v for k, v in row.items() if k not in TIMINGS} for row in opened.rows()]
    kept = {k: v for k, v in opened.load_checkpoint().items() if k not in ("run_time_s", "run_checksum", "run_log")}
    arrays = {k: np.ascontiguousarray(v).tobytes() for k, v in kept.items()}
    return rows, arrays


@pytest.fixture(scope="session")
def cartpole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run that several tests look at."""
    folder = tmp_path_factory.mktemp("runs") / "cartpole"
    train(folder, "--preset", "episodes", "--env", "CartPole-v1", "--total-steps", 6000, "--steps-per-update", 1000)
    return folder
