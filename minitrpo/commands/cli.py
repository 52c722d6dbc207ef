"""How every command begins and ends: one line and exit code 2 for bad input, no traceback for what is not a bug."""

import errno
import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from minitrpo.errors import BadInput, too_long
from minitrpo.run_folder.provenance import program
from minitrpo.supervision.signals import FAILED, INTERRUPTED, OK, got_through, heed_interrupts
from minitrpo.supervision.stderr import prepare_streams, refuse, say

UNREAD = {errno.EPIPE, errno.EBADF}  # what stdout answers when nobody reads it, or when it was closed
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


class Main(Protocol):
    """What a script calls, without words: those of its command line."""

    def __call__(self, words: list[str] | None = None) -> int: ...


@dataclass
class Ending:
    """How a command ends."""

    code: int = OK


def command(name: str) -> Callable[[Callable[[str, list[str]], int]], Main]:
    """Make a command's main of a function: (what the program is called, words of its command line) -> exit code."""

    def decorate(work: Callable[[str, list[str]], int]) -> Main:
        @functools.wraps(work)
        def main(words: list[str] | None = None) -> int:
            prepare_streams()
            heed_interrupts()
            title = name if name == "minitrpo" else program(name)
            with answered(title) as ending:
                check_folder()
                ending.code = work(title, sys.argv[1:] if words is None else words)
            return ending.code

        return main

    return decorate


@contextmanager
def answered(title: str) -> Iterator[Ending]:
    """Answer what a command raises with a line and an exit code; a reader who had enough (`| head`) is no failure."""
    ending = Ending()
    try:
        try:
            yield ending
        except SystemExit as end:  # --help
            ending.code = end.code if isinstance(end.code, int) else OK
        sys.stdout.flush()
    except BadInput as error:
        ending.code = refuse(title, error)
    except KeyboardInterrupt:
        got_through()
        say(f"{title}: interrupted")
        ending.code = INTERRUPTED
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            ending.code = refuse(title, too_long(error))
            return
        if error.filename is not None or error.errno not in UNREAD | FULL:
            raise
        if error.errno in FULL:
            say(f"{title}: cannot print: {error.strerror}")
        _forget_stdout()
        ending.code = FAILED


def check_folder() -> None:
    """Raise BadInput if the folder that we are in has gone."""
    try:
        os.getcwd()
    except OSError as error:
        raise BadInput("the folder you are in was deleted: change to one that exists") from error


def _forget_stdout() -> None:
    """Send what is still to be printed nowhere: Python would try again at its end, and complain."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
