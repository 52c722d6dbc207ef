"""What signals are to us: Ctrl-C interrupts the root, SIGTERM asks a run to end at a checkpoint, or again: now."""

import math
import os
import signal
import time
from typing import Any

from minitrpo.parallel.launcher import is_command, launched_rank

IMPATIENT = 2.0  # seconds: launchers send a signal twice, and the second would interrupt the answer to the first

_interrupted = -IMPATIENT  # when Ctrl-C came last
_asked_to_stop = math.inf  # when SIGTERM came first


def hold_interrupts() -> None:
    """Let Ctrl-C wait while modules are loaded, and until MPI knows all ranks: they would wait for one that left."""
    if is_command():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def heed_interrupts() -> None:
    """From here on Ctrl-C, one that waited too, raises KeyboardInterrupt at the root, which ends the other ranks."""
    if is_command():
        signal.signal(signal.SIGINT, _interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _interrupt(number: int, frame: Any) -> None:
    global _interrupted
    again, _interrupted = time.monotonic() - _interrupted < IMPATIENT, time.monotonic()
    if launched_rank() == 0 and not again:
        raise KeyboardInterrupt


def heed_terminations() -> None:
    """From here on SIGTERM is a request to the root; launchers send it to all ranks."""
    if is_command():
        signal.signal(signal.SIGTERM, _stop)


def _stop(number: int, frame: Any) -> None:
    global _asked_to_stop
    again, _asked_to_stop = time.monotonic() - _asked_to_stop >= IMPATIENT, min(_asked_to_stop, time.monotonic())
    if again and signal.getsignal(signal.SIGINT) is _interrupt:
        _interrupt(number, frame)  # the update may never end, as an episode without a time limit


def asked_to_stop() -> bool:
    """Return whether this process was asked to end soon."""
    return _asked_to_stop < math.inf


# --- a process that an environment forks has Python's own handlers

OURS: dict[int, Any] = {
    signal.SIGINT: (_interrupt, signal.default_int_handler),
    signal.SIGTERM: (_stop, signal.SIG_DFL),
}
_mask = set[Any]()  # the signals that were blocked before


def _hold_signals() -> None:
    """Let a signal to a child wait until it has handlers of its own: Python would forget one that came before."""
    global _mask
    _mask = signal.pthread_sigmask(signal.SIG_BLOCK, OURS)


def _release_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask)


def _become_a_child() -> None:
    for number, (ours, default) in OURS.items():
        if signal.getsignal(number) is ours:
            signal.signal(number, default)
    _release_signals()


os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals, after_in_child=_become_a_child)
