"""Run a submission in a process of its own, with limits, and survive whatever it does."""

import asyncio
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import minitrpo
from minitrpo.course.grading.submissions import Submission
from minitrpo.supervision import watchdog

LOADING = 120.0  # seconds until the process is ready for the first cell, on the busiest machine
LIVES = 8  # cells and exercises that may end the process before the rest is given up
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# The only ones of our environment variables that a submission gets: the others may be private
KEPT = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "MUJOCO_GL", "PYTHONHASHSEED", "VIRTUAL_ENV"}


@dataclass(frozen=True)
class Limits:
    """Seconds for each cell and for each check, and MiB of memory for each process."""

    seconds: float = 120.0
    memory: int = 4096


@dataclass
class Outcome:
    """What was seen: {exercise: (points, symptom)}, and {number of a cell: what went wrong in it}.

    A symptom is "" if the notebook has no such function.
    """

    verdicts: dict[str, tuple[int, str]] = field(default_factory=dict)
    cells: dict[int, str] = field(default_factory=dict)


async def run(submission: Submission, limits: Limits) -> Outcome:
    """Return what became of a submission's cells and exercises; a step that ends the process is left out next time."""
    outcome, left_out, how = Outcome(), set[int](), ""
    for _ in range(LIVES):
        step, how = await attempt(submission, limits, outcome, left_out)
        if "cell" in step:
            outcome.cells[int(step["cell"])] = how
            left_out.add(int(step["cell"]))
        elif "exercise" in step:
            outcome.verdicts.setdefault(step["exercise"], (0, f"its check {how}"))
        else:
            break
    for name in submission.exercises:
        outcome.verdicts.setdefault(name, (0, f"not checked: the notebook's process {how}, as often as it was started"))
    return outcome


async def attempt(
    submission: Submission, limits: Limits, outcome: Outcome, left_out: set[int]
) -> tuple[dict[str, Any], str]:
    """Run it once, and note what it tells; return the step that ended it and how, {} if it came to its end."""
    task = {
        "cells": {cell.number: cell.text for cell in submission.cells if cell.number not in left_out},
        "exercises": [name for name in submission.exercises if name not in outcome.verdicts],
        "memory": limits.memory,
        "walled": has_namespaces(),
    }
    step: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="minitrpo-grade-", ignore_cleanup_errors=True) as folder:
        child = await asyncio.create_subprocess_exec(
            *(UNSHARE if task["walled"] else []),
            *(sys.executable, "-P", "-c", "from minitrpo.course.grading.inside import main; main()"),
            cwd=folder, env=environment(folder), start_new_session=True, limit=2**20,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert child.stdin is not None  # it stays open: the process ends when the grader does, however that ends
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(task).encode() + b"\n")
            while line := await asyncio.wait_for(child.stdout.readline(), limits.seconds if step else LOADING):
                entry = json.loads(line)
                if "end" in entry:
                    return {}, ""
                step = entry
                if error := entry.get("error"):
                    outcome.cells[int(entry["cell"])] = f"raised {error}"
                    if error.startswith("MemoryError"):  # what it has filled would be missing in the checks
                        return step, f"raised {error}"
                elif "points" in entry:
                    outcome.verdicts[entry["exercise"]] = (entry["points"], entry["symptom"])
            return step, ending(await asyncio.wait_for(child.wait(), limits.seconds))
        except TimeoutError:
            return step, f"ran longer than {limits.seconds:g} s"
        finally:
            others = watchdog.started_by(child.pid)
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            watchdog.end(others)
            await child.wait()


def ending(code: int) -> str:
    """Return how a process ended, in words."""
    return f"ended the process ({f'exit code {code}' if code >= 0 else signal.Signals(-code).name})"


@functools.cache
def has_namespaces() -> bool:
    """Return whether this system lets this user run a process that can write in one folder alone."""
    if shutil.which(UNSHARE[0]) is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        code = "import os; from minitrpo.course.grading.inside import close_in; close_in(os.getcwd()); open('x', 'w')"
        command = [*UNSHARE, sys.executable, "-P", "-c", code]
        done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=False)
        return done.returncode == 0


def environment(folder: str) -> dict[str, str]:
    """Return the variables of a process that works in this folder."""
    root = str(Path(minitrpo.__file__).parents[1])
    return {key: value for key, value in os.environ.items() if key in KEPT} | {
        "HOME": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
        "MINITRPO_BUDGET": "quick",
        "MPLBACKEND": "Agg",
        "TMPDIR": folder,
        "IPYTHONDIR": folder,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
