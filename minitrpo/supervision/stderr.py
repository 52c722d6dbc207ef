"""What a process says on stderr: it arrives whatever was done to the streams meanwhile, and on any terminal."""

import os
import sys
from contextlib import suppress

from minitrpo.errors import BadInput, shorten
from minitrpo.parallel.launcher import launched_rank
from minitrpo.supervision.signals import REFUSED

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

HIGH = 200  # descriptors from here on are in nobody's way
KEPT: list[tuple[int, os.stat_result]] = []  # stderr as it was at the beginning


def prepare_streams() -> None:
    """Remember stderr, let every terminal print every text, and leave no stream to whatever file is opened next."""
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        with suppress(OSError):  # closed by who started this process: the next file would become its stderr
            os.open(os.devnull, os.O_RDWR)
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            with suppress(ValueError):  # closed
                stream.reconfigure(errors="backslashreplace")
    keep_stderr()


def keep_stderr() -> None:
    """Remember what stderr is now."""
    for number, _ in KEPT:
        with suppress(OSError):
            os.close(number)
    KEPT.clear()
    if fcntl is not None:
        with suppress(OSError):
            number = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, HIGH)
            KEPT.append((number, os.fstat(number)))


def say(text: str) -> None:
    """Write lines to stderr as it was at the beginning; where that has gone, to stderr as it is, else to stdout."""
    content = (text + "\n").encode(errors="backslashreplace")
    kept = [number for number, file in KEPT if is_still(number, file)]
    for number in (*kept, 2, 1):
        with suppress(OSError):
            os.write(number, content)
            return


def refuse(title: str, error: BadInput) -> int:
    """Say one line, on one rank, and return the exit code of bad input."""
    if launched_rank() == 0:
        say(f"{title}: {shorten(error, str, 1000)}")
    return REFUSED


def is_still(number: int, file: os.stat_result) -> bool:
    """Return whether a descriptor is what it was: an environment may have closed it, and opened another file."""
    try:
        return os.path.samestat(os.fstat(number), file)
    except OSError:
        return False
