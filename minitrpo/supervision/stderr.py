"""What a process says on stderr, on any terminal."""

import os
import sys
from contextlib import suppress

from minitrpo.errors import BadInput, shorten
from minitrpo.parallel.launcher import launched_rank
from minitrpo.supervision.signals import REFUSED


def prepare_streams() -> None:
    """Let every terminal print every text, and leave no stream that is closed to whatever file is opened next."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write lines to stderr, whatever Python's stream is."""
    with suppress(OSError):
        os.write(2, (text + "\n").encode(errors="backslashreplace"))


def refuse(title: str, error: BadInput) -> int:
    """Say one line, on one rank, and return the exit code of bad input."""
    if launched_rank() == 0:
        say(f"{title}: {shorten(error, str, 1000)}")
    return REFUSED
