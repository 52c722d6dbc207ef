"""Before the loop: a command line becomes settings, a checked environment and a run folder on every rank."""

import datetime
import os
import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.parallel.ranks import Ranks
from minitrpo.policies import Array
from minitrpo.runs.command_line import Job
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.launch import command, together
from minitrpo.runs.settings import Settings
from minitrpo.runs.training import Start, check_ranks

PACKAGES = ("minitrpo", "numpy", "scipy", "autograd", "gymnasium", "mujoco", "mpi4py")


def prepare(job: Job, ranks: Ranks) -> Start:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written."""
    root = ranks.rank == 0
    settings, checkpoint = ranks.broadcast_object(together(ranks, lambda: _load(job) if root else None))
    spec = together(ranks, lambda: _suited(settings, ranks))
    path = ranks.broadcast_object(together(ranks, lambda: _folder(job, settings, ranks) if root else None))
    return Start(settings, spec, RunFolder(Path(path)), checkpoint)


def provenance(ranks: int) -> dict[str, Any]:
    """Return what made a run: command, versions, machine, date."""
    return {
        "command": command(ranks, *map(shlex.quote, sys.argv)),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "ranks": ranks,
        "cores": os.cpu_count(),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
    }


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def _load(job: Job) -> tuple[Settings, dict[str, Array]]:
    if job.resume is None:
        return job.settings(), {}
    folder = RunFolder.open(job.resume)
    return job.resumed(folder.read_config()["settings"]), folder.load_checkpoint()


def _suited(settings: Settings, ranks: Ranks) -> EnvironmentSpec:
    check_ranks(settings, ranks.size)
    return describe(settings.env)


def _folder(job: Job, settings: Settings, ranks: Ranks) -> str:
    if job.resume is not None:
        return job.resume
    folder = RunFolder.create(job.out, settings.env, settings.seed)
    folder.write_config(settings, provenance(ranks.size))
    return str(folder.path)
