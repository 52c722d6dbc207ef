"""What a process knows, before anything is loaded, of how it was started: which command, which of how many ranks."""

import os
import signal
import sys
from typing import Any

# How launchers tell a process how many it is one of: MPICH and Intel (PMI), Open MPI, MVAPICH, PMIx under Slurm.
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK")
SCRIPTS = ("train.py", "speedup.py", "watch.py", "replay.py")
INTERRUPTED = 130  # exit code of Ctrl-C
REMEMBERED: list[int] = []


def launched_size() -> int:
    """Return how many processes the launcher says there are; 1 without a launcher."""
    return next((int(os.environ[name]) for name in SIZE_VARIABLES if name in os.environ), 1)


def launched_rank() -> int:
    """Return which process this is according to the launcher, before MPI is initialised; 0 without a launcher."""
    return next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), 0)


def is_command() -> bool:
    """Return whether this process is a command of ours, which ends when its work is done; not a notebook or test."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return os.path.basename(sys.argv[0]) in SCRIPTS if spec is None else spec.name.startswith("minitrpo.")


def leave_at_interrupts() -> None:
    """Answer Ctrl-C with a line while modules are loaded: nothing has begun, and a traceback would help nobody.

    A rank among several remembers it: the others would wait for one that left before MPI knows it.
    """
    if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def heed_interrupts() -> None:
    """End that where a process is alone: what is loaded can answer by itself."""
    if signal.getsignal(signal.SIGINT) is _leave and launched_size() == 1:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def was_interrupted() -> bool:
    """Return whether there was a Ctrl-C that this rank has only remembered."""
    return bool(REMEMBERED)


def _leave(number: int, frame: Any) -> None:
    if launched_size() > 1:
        REMEMBERED.append(number)
        return
    os.write(2, b"interrupted before anything began\n")
    os._exit(INTERRUPTED)
