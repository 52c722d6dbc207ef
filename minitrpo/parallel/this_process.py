"""How this process was started: by which program, as which of how many ranks, on how many cores and threads."""

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

# How launchers tell a process how many it is one of: MPICH and Intel (PMI), Open MPI, MVAPICH, PMIx under Slurm.
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK")
SCRIPTS = ("train", "speedup", "watch", "replay")  # commands that are in mpi_scripts/, too
QUOTA = Path("/sys/fs/cgroup/cpu.max")  # where Linux says how many cores' worth of time a container gets


def launched_size() -> int:
    """Return how many processes the launcher says there are; 1 without a launcher."""
    return next((int(os.environ[name]) for name in SIZE_VARIABLES if name in os.environ), 1)


def launched_rank() -> int:
    """Return which process this is according to the launcher, before MPI is initialised; 0 without a launcher."""
    return next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), 0)


def cores() -> int:
    """Return how many processes can truly run at once here; more ranks than that are oversubscribed.

    Counts the cores this process may use, and a container's quota of time where Linux tells it.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text().split()
        return min(usable, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max 100000": no quota
        return usable


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS use one thread in the body of a `with`.

    Ranks are the parallelism here: threads of several ranks would share the same cores. And a sum that one thread takes
    has the same order, so the same bits, on a machine with any number of cores.
    """
    from threadpoolctl import threadpool_limits  # not before Ctrl-C is held: see `commands`

    return threadpool_limits(1)


def script() -> str | None:
    """Return which script of mpi_scripts/ this program is, None if it is none."""
    name = os.path.basename(sys.argv[0]).removesuffix(".py")
    return name if _module() is None and name in SCRIPTS else None


def is_command() -> bool:
    """Return whether this process is a command of ours, which ends when its work is done; not a notebook or test."""
    module = _module()
    if module is not None:
        return module.startswith("minitrpo.")
    return script() is not None or os.path.basename(sys.argv[0]) == "minitrpo"  # the last: that of an installed wheel


def program(name: str) -> str:
    """Return what a command calls itself in messages: train.py, or minitrpo train."""
    return f"{name}.py" if script() == name else f"minitrpo {name}".strip()


def _module() -> str | None:
    """Return which module python -m started, None for a script."""
    return getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", None)
