"""How every command begins and ends: one line and exit code 2 for bad input, no traceback for what is not a bug."""

import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import Protocol

from minitrpo.errors import BadInput, shown
from minitrpo.parallel.launcher import INTERRUPTED, heed_interrupts, launched_rank
from minitrpo.parallel.voice import prepare_streams, say
from minitrpo.runs.provenance import program

FAILED, REFUSED = 1, 2
UNREAD = {errno.EPIPE, errno.EBADF}  # what stdout answers when nobody reads it, or when it was closed
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


class Main(Protocol):
    """What a script calls, without words: those of its command line."""

    def __call__(self, words: list[str] | None = None) -> int: ...


def command(name: str) -> Callable[[Callable[[str, list[str]], int]], Main]:
    """Make a command's main of a function: (what the program is called, words of its command line) -> exit code."""

    def decorate(work: Callable[[str, list[str]], int]) -> Main:
        @functools.wraps(work)
        def main(words: list[str] | None = None) -> int:
            prepare_streams()
            heed_interrupts()
            title = name if name == "minitrpo" else program(name)
            try:
                return printed(lambda: work(title, sys.argv[1:] if words is None else words), title)
            except BadInput as error:
                return refuse(title, error)
            except KeyboardInterrupt:
                say(f"{title}: interrupted")
                return INTERRUPTED

        return main

    return decorate


def printed(work: Callable[[], int], title: str) -> int:
    """Return the exit code of what prints; a reader who had enough (`| head`) is no failure to talk about."""
    try:
        check_folder()
        code = work()
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in UNREAD | FULL:
            raise
        if error.errno in FULL:
            say(f"{title}: cannot print: {error.strerror}")
        _forget_stdout()
        return FAILED
    except SystemExit as end:  # --help
        code = end.code if isinstance(end.code, int) else 0
        return printed(lambda: code, title)
    return code


def check_folder() -> None:
    """Raise BadInput if the folder that we are in has gone."""
    try:
        os.getcwd()
    except OSError as error:
        raise BadInput("the folder you are in was deleted: change to one that exists") from error


def refuse(title: str, error: BadInput) -> int:
    """Say one line, on one rank, and return the exit code of bad input."""
    if launched_rank() == 0:
        say(f"{title}: {shown(error, str, 1000)}")
    return REFUSED


def _forget_stdout() -> None:
    """Send what is still to be printed nowhere: Python would try again at its end, and complain."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
