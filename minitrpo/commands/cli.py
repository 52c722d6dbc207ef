"""How every command begins and ends: one line and exit code 2 for bad input, no traceback for what is not a bug."""

import functools
import os
import sys
from collections.abc import Callable

from minitrpo.errors import BadInput, shorten
from minitrpo.run_folder.provenance import program
from minitrpo.supervision.signals import FAILED, INTERRUPTED, OK, heed_interrupts
from minitrpo.supervision.stderr import prepare_streams, refuse, say


def command(name: str) -> Callable[[Callable[[str, list[str]], int]], Callable[..., int]]:
    """Make a command's main of a function: (what the program is called, words of its command line) -> exit code.

    It takes the words, by default those of this program's command line.
    """

    def decorate(work: Callable[[str, list[str]], int]) -> Callable[..., int]:
        @functools.wraps(work)
        def main(words: list[str] | None = None) -> int:
            prepare_streams()
            heed_interrupts()
            title = name if name == "minitrpo" else program(name)
            try:
                check_folder()
                code = answered(lambda: work(title, sys.argv[1:] if words is None else words))
                sys.stdout.flush()
                return code
            except BadInput as error:
                return refuse(title, error)
            except KeyboardInterrupt:
                say(f"{title}: interrupted")
                return INTERRUPTED
            except OSError as error:
                if error.filename is not None:
                    return refuse(title, BadInput(f"{shorten(str(error.filename))}: {error.strerror}"))
                if not isinstance(error, BrokenPipeError):  # a reader who had enough (`| head`) is no failure
                    say(f"{title}: cannot print: {error.strerror}")
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try again at its end, and complain
                return FAILED

        return main

    return decorate


def answered(work: Callable[[], int]) -> int:
    """Return the exit code of a command's work, that of --help included."""
    try:
        return work()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else OK


def check_folder() -> None:
    """Raise BadInput if the folder that we are in has gone."""
    try:
        os.getcwd()
    except OSError as error:
        raise BadInput("the folder you are in was deleted: change to one that exists") from error
