"""What a process knows, before anything is loaded, of how it was started: which it is of how many ranks."""

import os
import sys

# How launchers tell a process how many it is one of: MPICH and Intel (PMI), Open MPI, MVAPICH, PMIx under Slurm.
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK")


def launched_size() -> int:
    """Return how many processes the launcher says there are; 1 without a launcher."""
    return next((int(os.environ[name]) for name in SIZE_VARIABLES if _is_number(name)), 1)


KEPT = [*sys.argv]  # as it was at first: an environment may empty it


def command_line() -> list[str]:
    """Return the words that started this program, the program's name first."""
    words = sys.argv
    return words if isinstance(words, list) and words and all(isinstance(word, str) for word in words) else KEPT


def launched_rank() -> int:
    """Return which process this is according to the launcher, before MPI is initialised; 0 without a launcher."""
    return next((int(os.environ[name]) for name in RANK_VARIABLES if _is_number(name)), 0)


def _is_number(name: str) -> bool:
    """Return whether a variable has been set by a launcher: to a few digits."""
    text = os.environ.get(name, "")
    return text.isascii() and text.isdecimal() and len(text) < 10
