"""Lecture 15: take all inputs of a prediction on this machine: parts of an update, messages, start-up."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.machine import BUSY, busy_share
from minitrpo.course.scaling import messages
from minitrpo.course.scaling.inputs import Line, fitted, medians
from minitrpo.errors import BadInput, JobFailed
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.checkpoint import write_atomically
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.jobs import launcher, mpiexec

STARTED = (1, 2, 4, 8, 16)  # ranks whose start is timed
PARTS = "minitrpo.course.scaling.parts"


def measured(environments: list[str], steps: int, updates: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return all inputs, as they are recorded. Raises JobFailed."""
    tasks = {}
    for name in environments:
        tell(f"{name}: parts of an update, alone and with all {cores()} cores in use")
        tasks[name] = task(name, steps, updates)
    tell("messages between ranks, and their start")
    parameters = max(each["parameters"] for each in tasks.values())
    return {"provenance": provenance(), "tasks": tasks, "messages": of_messages(parameters)}


def refuse_if_busy(anyway: bool, share: float | None = None) -> float:
    """Return which part of the cores others use; BadInput if that is too much, unless it is to be done anyway."""
    share = busy_share(1.0) if share is None else share
    if share > BUSY and not anyway:
        raise BadInput(
            f"other programs use {100 * share:.0f} % of the cores: their seconds would be in the numbers; "
            "end them, or say --anyway, which marks the result"
        )
    return share


def task(environment: str, steps: int, updates: int) -> dict[str, Any]:
    """Return one environment's parts, and how much slower they are on a machine whose cores are all in use."""
    alone = parts(environment, steps, updates)
    with ThreadPoolExecutor(cores()) as side_by_side:
        crowd = list(side_by_side.map(lambda _: parts(environment, steps, updates), range(cores())))
    tick = float(np.median([Line(*each["tick"]["line"])(16) for each in crowd]))
    slowdown = tick / Line(*alone["tick"]["line"])(16)
    return alone | {"shared_slowdown": max(1.0, slowdown) if cores() > 1 else 1.0}


def parts(environment: str, steps: int, updates: int) -> dict[str, Any]:
    """Return what `parts.py` prints in a process of its own."""
    command = [sys.executable, "-m", PARTS, environment, str(steps), str(updates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise JobFailed(f"exit code {done.returncode}: {' '.join(command[1:])}\n{done.stderr[-2000:]}")
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def of_messages(parameters: int) -> dict[str, Any]:
    """Return what messages cost between two ranks, how long ranks take to start, and how long a checkpoint takes."""
    content: dict[str, Any] = json.loads(mpiexec(2, str(Path(messages.__file__)), parameters, 100))
    start, start_each = starts()
    seconds = {name: content[name]["median"] for name in ("draw", "exchange", "all_gather")}
    seconds |= {"start": start["median"], "start_each": start_each["line"][1]}
    checkpoint = checkpoints(4 * 8 * parameters)
    return content | {
        "starts": {"import and MPI_Init": start, "launcher": start_each},
        "checkpoint": checkpoint,
        "seconds": seconds | {"checkpoint": checkpoint["median"]},
    }


def starts() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the seconds of one rank's start, package and MPI included, and those of the launcher by ranks."""
    script = "from minitrpo.training import synchronous; from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    one = [seconds_of([launcher(), "-n", "1", sys.executable, "-c", script]) for _ in range(5)]
    true = shutil.which("true") or "true"
    several = {str(n): [seconds_of([launcher(), "-n", str(n), true]) for _ in range(5)] for n in STARTED}
    return medians(one), fitted(several)


def seconds_of(command: list[str]) -> float:
    """Return how long a program takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


def checkpoints(size: int) -> dict[str, Any]:
    """Return the seconds in which `size` bytes are on the disk."""
    found, content = [], os.urandom(size)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(10):
            began = time.perf_counter()
            write_atomically(Path(folder) / "checkpoint", content)
            found.append(time.perf_counter() - began)
    return medians(found)
