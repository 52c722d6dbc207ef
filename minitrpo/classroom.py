"""What a lecture needs around its mathematics: budgets, predictions, MPI jobs started from a notebook, colours."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.episodes import Episodes, concatenate
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Rollouts
from minitrpo.experience.simulators import simulators
from minitrpo.policies import Array, Policy
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "RED",
    "JobFailed",
    "Played",
    "budget",
    "compare",
    "launch",
    "launch_code",
    "play",
    "scripts",
    "temporary_runs",
    "train",
]

T = TypeVar("T")

threadpool_limits(1)  # a lecture times one core; with more threads, sums and clocks would vary from machine to machine


def budget(full: T, quick: T) -> T:
    """Return `full`, or `quick` when MINITRPO_BUDGET=quick, as tests set it: the same lecture in seconds."""
    return quick if os.environ.get("MINITRPO_BUDGET") == "quick" else full


def compare(what: str, guess: float | None, measured: float, unit: str = "") -> None:
    """Print a prediction beside the measurement."""
    unit = f" {unit}" if unit else ""
    if guess is None:
        print(f"{what}: no prediction was typed; measured {measured:.3g}{unit}")
    else:
        print(f"{what}: you predicted {guess:.3g}{unit}, measured {measured:.3g}{unit}")


@dataclass(frozen=True)
class Played:
    """A policy and a batch of its episodes."""

    spec: EnvironmentSpec
    policy: Policy
    theta: Array
    episodes: Episodes

    @property
    def actions(self) -> Array:
        """Return the actions as the policy's log_prob takes them: (N, A) floats, or (N,) integers."""
        actions = self.episodes.actions
        return actions[:, 0] if self.spec.discrete else actions


class JobFailed(RuntimeError):
    """A job started with `launch` ended badly; the text has what its ranks printed."""


def launch(ranks: int, script: str, *arguments: object, timeout: float = 120.0) -> str:
    """Run `mpiexec -n ranks python script arguments` from a notebook and return what it printed on stdout.

    script: a file, or the name of one in mpi_scripts/. The kernel itself never starts MPI. Raises JobFailed with the
    ranks' own messages if the job fails, takes longer than `timeout` seconds, or runs on another number of ranks.
    """
    path = script if Path(script).exists() else str(scripts() / script)
    command = [mpiexec(), "-n", str(ranks), sys.executable, path, *map(str, arguments)]
    environment = {**os.environ, "MPIEXEC_TIMEOUT": str(int(timeout) + 5), "MINITRPO_RANKS": str(ranks)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise JobFailed(f"no end after {timeout:g} s: {' '.join(command[3:])}") from None
    if done.returncode != 0:
        raise JobFailed(f"exit code {done.returncode}: {' '.join(command[3:])}\n{done.stderr[-3000:]}")
    return done.stdout


def launch_code(ranks: int, code: str, *arguments: object, timeout: float = 60.0) -> str:
    """Run a piece of Python on several ranks, as `launch` does a script: for programs of a few lines in a lecture."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(code)
        return launch(ranks, str(script), *arguments, timeout=timeout)


def mpiexec() -> str:
    """Return the launcher beside this Python, or the one on the PATH."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise JobFailed("there is no mpiexec here; python -m minitrpo.doctor knows the cure")
    return found


def scripts() -> Path:
    """Return the folder mpi_scripts/ of the checkout this package belongs to."""
    return Path(__file__).parent.parent / "mpi_scripts"


def temporary_runs() -> Path:
    """Return a new folder for the runs of a lecture, outside the course's own folders."""
    return Path(tempfile.mkdtemp(prefix="minitrpo-"))


def play(
    env_id: str, steps: int, theta: Array | None = None, seed: int = 0, hidden: tuple[int, ...] = (64, 64)
) -> Played:
    """Return a batch of whole episodes, about `steps` steps, of a policy (fresh if `theta` is None), in one process.

    Observations come unfiltered. The same call gives the same bits.
    """
    spec = describe(env_id)
    policy = spec.policy(hidden)
    if theta is None:
        theta = policy.initialise(generator(seed, 0, 0, Purpose.POLICY))
    rollouts = Rollouts(spec, policy, simulators(spec, 16), seed)
    identity = ObservationFilter.identity(spec.observation_size, clip=np.inf)
    parts: list[Episodes] = []
    while sum(part.steps for part in parts) < steps:
        wave = iter(range(len(parts), len(parts) + 4))  # four at a time; by number, so that the lockstep does not show
        together = rollouts.play(theta, identity, 1, lambda wave=wave: next(wave, None), at_once=4).sorted()  # type: ignore[misc]
        parts += together.pieces()
    while sum(part.steps for part in parts[:-1]) >= steps:
        parts.pop()
    return Played(spec, policy, theta, concatenate(parts))


def train(ranks: int, *arguments: object, timeout: float = 150.0) -> RunFolder:
    """Train on `ranks` ranks with these arguments of train.py, in a folder of its own, and return the run folder."""
    folder = temporary_runs() / "run"
    launch(ranks, "train.py", "--out", folder, "--progress", "none", *arguments, timeout=timeout)
    return RunFolder(folder)
