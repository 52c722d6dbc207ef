"""Lecture 15: predicted and measured seconds on two hosts, which are namespaces of this machine with a slow cable."""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.scaling.checking import FIRST, STEPS, Row, Run, beside, predicted, words_of
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import Inputs
from minitrpo.errors import BadInput, JobFailed
from minitrpo.policies import Array
from minitrpo.run_folder.folder import RunFolder

CHECKOUT = Path(__file__).parents[3]
SECONDS = 300.0  # for a run
RUNS = [Run(name, 2, learner, "static") for name in ("Reacher-v5", "HalfCheetah-v5") for learner in ("root", "sharded")]


@dataclass(frozen=True)
class Cable:
    """The network between the hosts."""

    milliseconds: float
    megabits: float  # a second

    @property
    def network(self) -> Network:
        """Return it in the units of the model."""
        return Network(1e-3 * self.milliseconds, 8e-6 / self.megabits)

    def __str__(self) -> str:
        return f"2 hosts, {self.milliseconds:g} ms, {self.megabits:g} Mbit/s"


def namespaces() -> Any:
    """Return the checkout's tests/tools/namespaces.py; BadInput if two hosts cannot be made."""
    folder = CHECKOUT / "tests" / "tools"
    if not folder.is_dir():
        raise BadInput("--hosts needs a checkout, which has tests/tools")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    found = importlib.import_module("namespaces")
    lacking = found.missing()
    if lacking:
        raise BadInput(f"--hosts: two hosts cannot be made here: {lacking}")
    return found


def over_hosts(inputs: Inputs, cable: Cable, rounds: int, tell: Callable[[str], None]) -> list[Row]:
    """Return predicted and measured seconds, with a rank on each host. Raises JobFailed."""
    some = [run for run in RUNS if run.environment in inputs.tasks]
    with namespaces().Hosts(2) as hosts, hosts.slow_cable(cable.milliseconds, cable.megabits):
        count = iter(range(10**6))

        def measure(run: Run) -> Array:
            return measured(hosts, run, f"run-{next(count)}")

        return beside(some, lambda run: predicted(inputs, run, cable.network), measure, rounds, tell, f", {cable}")


def measured(hosts: Any, run: Run, name: str) -> Array:
    """Return the seconds of the counted iterations of one real run over two hosts."""
    path = os.pathsep.join([str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = ("-m", "minitrpo", "train", *words_of(run), "--progress", "none", "--out", hosts.here / name)
    process = hosts.start("1:1,2:1", sys.executable, *words, env={"PYTHONPATH": path})
    out, err = process.communicate(timeout=SECONDS)
    if process.returncode:
        raise JobFailed(f"exit code {process.returncode} over two hosts: {out[-500:]}{err[-1500:]}")
    columns = RunFolder(hosts.folder("a") / name).columns()
    steps = np.diff(columns["env_steps"], prepend=0.0)
    return np.asarray(columns["iteration_s"][FIRST:] * STEPS / steps[FIRST:])
