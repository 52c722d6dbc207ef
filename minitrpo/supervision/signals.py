"""Exit codes, and what signals are to us: Ctrl-C ends a job with a line, SIGTERM asks a run to end at a checkpoint."""

import os
import signal
import sys
import threading
import time
from typing import Any

from minitrpo.parallel.launcher import command_line, launched_rank, launched_size

OK, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
STOPPED = 143  # what a shell says of a process that SIGTERM ended
IMPATIENT = 2.0  # seconds: launchers send a signal twice, a user who sends it again later will not wait
SCRIPTS = ("train.py", "speedup.py", "watch.py", "replay.py", "minitrpo")  # the last: that of an installed wheel
REMEMBERED: list[float] = []  # when Ctrl-C came
HEARD: list[float] = []  # when SIGTERM came


def is_command() -> bool:
    """Return whether this process is a command of ours, which ends when its work is done; not a notebook or test."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return os.path.basename(command_line()[0]) in SCRIPTS if spec is None else spec.name.startswith("minitrpo.")


def leave_at_interrupts() -> None:
    """Answer Ctrl-C with a line while modules are loaded: nothing has begun, and a traceback would help nobody.

    A rank among several remembers it: the others would wait for one that left before MPI knows it.
    """
    if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def heed_interrupts() -> None:
    """End that where a process is alone: what is loaded can answer by itself."""
    if signal.getsignal(signal.SIGINT) is _leave and launched_size() == 1:
        signal.signal(signal.SIGINT, interrupt)


def was_interrupted() -> bool:
    """Return whether there was a Ctrl-C that this rank has only remembered."""
    return bool(REMEMBERED)


def _leave(number: int, frame: Any) -> None:
    if launched_size() > 1:
        REMEMBERED.append(time.monotonic())
        return
    os.write(2, b"interrupted before anything began\n")
    os._exit(INTERRUPTED)


def interrupt(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt, but not at a launcher's second signal: it would interrupt the answer to the first."""
    REMEMBERED.append(time.monotonic())
    if len(REMEMBERED) < 2 or REMEMBERED[-1] - REMEMBERED[-2] > IMPATIENT:
        raise KeyboardInterrupt


def ignore_sigint(number: int, frame: object) -> None:
    """Do nothing at Ctrl-C: the root, which may be waiting for this rank, ends all of them."""


def heed_terminations() -> None:
    """From here on SIGTERM is a request to the root; launchers send it to all ranks.

    Between two runs of one command it stays one: what came then is not forgotten.
    """
    if is_command() and signal.getsignal(signal.SIGTERM) is not _remember:
        HEARD.clear()
        signal.signal(signal.SIGTERM, _remember)


def asked_to_stop() -> bool:
    """Return whether this process was asked to end soon."""
    return bool(HEARD)


def _remember(number: int, frame: Any) -> None:
    HEARD.append(time.monotonic())
    if launched_rank() == 0 and HEARD[-1] - HEARD[0] > IMPATIENT:
        os.kill(os.getpid(), signal.SIGINT)


FORKING = threading.local()  # .mask: the signals that were blocked before
NOT_A_CHILDS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


def _hold_signals() -> None:
    """Let a signal to a child wait until it has handlers of its own: Python would forget one that came before."""
    FORKING.mask = signal.pthread_sigmask(signal.SIG_BLOCK, NOT_A_CHILDS)


def _release_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, FORKING.mask)


def _become_a_child() -> None:
    """Give a process that an environment forks Python's own handlers."""
    for number, default in NOT_A_CHILDS.items():
        if getattr(signal.getsignal(number), "__module__", "") == __name__:
            signal.signal(number, default)
    _release_signals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals, after_in_child=_become_a_child)
