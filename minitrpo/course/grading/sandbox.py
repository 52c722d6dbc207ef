"""Run a submission in a process of its own, with limits, within walls where there are any, and survive what it does."""

import functools
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import minitrpo
from minitrpo.course.grading.processes import die_with, end, environment, sweeping
from minitrpo.course.grading.seal import heard
from minitrpo.course.grading.submissions import Submission
from minitrpo.course.grading.walls import able, around, coverable

LOADING = 120.0  # seconds until the process is ready for the first cell, on the busiest machine
LONGEST = 10**6  # bytes of a line that a submission's process may tell
ANSWERS = [Path(minitrpo.__file__).parents[1] / "notebooks" / name for name in ("solutions", "source")]
LIVES = 8  # cells and exercises that may end the process before the rest is given up


@dataclass(frozen=True)
class Limits:
    """Seconds for each cell and for each check, and MiB of memory for each process."""

    seconds: float = 120.0
    memory: int = 4096


@dataclass
class Outcome:
    """What was seen: points and symptom by exercise, and what is to be said of cells."""

    verdicts: dict[str, tuple[int, str]] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)  # number -> problem
    skipped: set[str] = field(default_factory=set)  # cells that are not run again


def run(submission: Submission, limits: Limits, others: tuple[Path, ...] = ()) -> Outcome:
    """Return what became of a submission's cells and exercises; a step that ends the process is left out next time.

    others: folders that it is not to see, where there are walls.
    """
    outcome, how = Outcome(), ""
    for _ in range(LIVES):
        ending = _life(submission, limits, outcome, others)
        if ending is None:
            return outcome
        step, how = ending
        if step.get("begins") == "cell":
            outcome.cells[str(step["number"])] = how
            outcome.skipped.add(str(step["number"]))
        elif step.get("begins") == "exercise":
            outcome.verdicts.setdefault(step["name"], (0, f"its check {how}"))
        else:
            break
    for name in submission.exercises:
        outcome.verdicts.setdefault(name, (0, f"not checked: the notebook's process {how}, as often as it was started"))
    return outcome


def _life(
    submission: Submission, limits: Limits, outcome: Outcome, others: tuple[Path, ...]
) -> tuple[dict[str, Any], str] | None:
    """Run it once; return None if it came to its end, else the step that was being done, and how it ended."""
    word = secrets.token_hex(32)
    task = {
        "cells": [cell.text for cell in submission.cells],
        "exercises": submission.exercises,
        "skipped": sorted(outcome.skipped),
        "done": sorted(outcome.verdicts),
        "memory": limits.memory,
        "word": word,
        "walled": able(),
    }
    with tempfile.TemporaryDirectory(prefix="minitrpo-grade-", ignore_cleanup_errors=True) as folder:
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as pipe, sweeping() as sweep:
            child = _started(folder, writing, task, others)
            try:
                return _followed(pipe, child, limits, outcome, word)
            finally:
                end(child)
                sweep()


def _started(folder: str, writing: int, task: dict[str, Any], others: tuple[Path, ...]) -> subprocess.Popen[bytes]:
    """Return the process, with its task on the way to it."""
    file = Path(folder) / "task.json"
    file.write_text(json.dumps(task))
    variables = environment(folder)
    code = f"from minitrpo.course.grading.inside import main; main({writing})"
    command = [sys.executable, "-P", "-c", code]
    if able():
        needed = [
            folder,
            *variables["PYTHONPATH"].split(os.pathsep),
            sys.prefix,
            sys.base_prefix,
            sys.executable,
            *sys.path,
        ]
        command = around(
            folder, coverable([*others, *ANSWERS, Path.home()], [Path(each) for each in needed if each]), command
        )
    else:
        variables["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")  # nobody has written there
    with file.open("rb") as stdin:
        child = subprocess.Popen(
            command, cwd=folder, env=variables, pass_fds=(writing,), stdin=stdin, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=functools.partial(die_with, os.getpid()),
        )  # fmt: skip
    os.close(writing)
    file.unlink()
    return child


def _followed(
    pipe: IO[bytes], child: subprocess.Popen[bytes], limits: Limits, outcome: Outcome, word: str
) -> tuple[dict[str, Any], str] | None:
    """Note what the process tells, step by step; see `_life`."""
    step: dict[str, Any] = {}
    count, rest, deadline = 0, b"", time.monotonic() + LOADING
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([pipe], [], [], max(0.0, left))
        if not ready or left <= 0:  # who writes without pause has no more time than others
            return step, f"ran longer than {limits.seconds:g} s"
        new = os.read(pipe.fileno(), 65536)
        *lines, rest = (rest + new).split(b"\n")
        rest = rest[:LONGEST]
        for told in filter(None, (heard(line, word, count) for line in lines)):
            count = told["count"]
            if told.get("ends") == "all":
                return None
            step, deadline = (told, time.monotonic() + limits.seconds) if "begins" in told else (step, deadline)
            if told.get("ends") and (change := _noted(told, outcome)):
                return step, change
        if not new:
            with suppress(subprocess.TimeoutExpired):
                child.wait(10)
            return step, _ending(child.poll())


def _noted(told: dict[str, Any], outcome: Outcome) -> str:
    """Note a step that was done; return why the process is to be left, "" if it is not."""
    if told["ends"] == "exercise":
        outcome.verdicts[told["name"]] = (told["points"], told["symptom"])
    elif told["problem"]:
        outcome.cells[str(told["number"])] = f"does not run: {told['problem']}"
    return str(told["tampering"]).replace("it changes", "changes")


def _ending(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "closed what it is heard through"
    code = 128 - code if code > 128 else code  # as the walls tell a signal
    if code >= 0:
        return f"ended the process (exit code {code})"
    return f"ended the process ({signal.Signals(-code).name})"
