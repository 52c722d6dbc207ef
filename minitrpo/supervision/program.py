"""How a program of ours begins and ends: its ranks, what signals are to it, and an exit code for each failure."""

import atexit
import ctypes
import functools
import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from minitrpo.errors import AlgorithmFailed, BadInput, EnvironmentFailed, EpisodeFailed, JobFailed, Stopped, shorten
from minitrpo.parallel.comm import Comm, connect
from minitrpo.parallel.this_process import is_command, launched_rank, launched_size, one_blas_thread, program
from minitrpo.supervision.watchdog import dismiss, end, let_others_speak, report, started_by, status

OK, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
STOPPED = 143  # what a shell says of a process that SIGTERM ended
NO_READER = 141  # what it says of one that wrote to a pipe whose reader, such as head, had left
LINGER = 1.5  # seconds that a rank gives one that may know more
IMPATIENT = 2.0  # seconds: launchers send a signal twice, and the second would interrupt the answer to the first

_interrupted = -IMPATIENT  # when Ctrl-C came last
_asked_to_stop = math.inf  # when SIGTERM came first


# --- the beginning


def command(name: str) -> Callable[[Callable[[str, list[str]], int]], Callable[..., int]]:
    """Make a command's main of a function: (what the program is called, words of its command line) -> exit code.

    It takes the words, by default those of this program's command line.
    """

    def decorate(work: Callable[[str, list[str]], int]) -> Callable[..., int]:
        @functools.wraps(work)
        def main(words: list[str] | None = None) -> int:
            title = program(name)
            try:
                if launched_size() == 1:
                    heed_interrupts()
                code = work(title, sys.argv[1:] if words is None else words)
                print(end="", flush=True)
            except BaseException as error:
                code = answer(error, title)
            if is_command():
                exit_now(code)
            return code

        return main

    return decorate


@contextmanager
def ranks() -> Iterator[Comm]:
    """Yield the communicator of all ranks; a failure of one among several ends all, as the others wait for it.

    Raises:
        BadInput: MPI does not work on this machine.

    """
    try:
        with status.at("MPI_Init"):
            comm = connect()
    except (ImportError, RuntimeError) as error:
        raise BadInput(f"MPI does not work here: {error}; see python -m minitrpo doctor") from error
    try:
        heed_interrupts()
        with one_blas_thread():
            yield comm
    except (BadInput, Stopped):  # on all ranks alike: see `comm.on_all`
        comm.close()
        raise
    except BaseException as error:
        if comm.size > 1:
            code = answer(error)
            comm.abort(code)
            os._exit(code)  # MPI may take a moment
        raise
    comm.close()


# --- signals: Ctrl-C interrupts the root; SIGTERM asks a run to end at a checkpoint, or again: now


def heed_interrupts() -> None:
    """From here on Ctrl-C, one that waited too, raises KeyboardInterrupt at the root, which ends the other ranks.

    Until MPI knows all ranks it waits: they would wait for one that left. See `commands`.
    """
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


# A process that an environment forks has Python's own handlers.

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


# --- the end


def answer(error: BaseException, title: str = "minitrpo") -> int:
    """Say why a program ends, once for all ranks, and return its exit code."""
    resume, first = status.job().get("resume"), launched_rank() == 0
    match error:
        case SystemExit():  # --help
            return error.code if isinstance(error.code, int) else OK
        case Stopped():
            if first:
                print(f"{error}; to continue: {resume}", flush=True)
            return STOPPED
        case KeyboardInterrupt():
            dismiss()
            print("\ninterrupted" + (f"; to continue from the last checkpoint: {resume}" if resume else ""), flush=True)
            return INTERRUPTED
        case BrokenPipeError() if not status.job().get("run"):
            return NO_READER
        case BadInput():
            what = shorten(error, str, 1000)
        case FileNotFoundError(filename=None):
            what = "the folder you are in was deleted: change to one that exists"
        case OSError(filename=str() as name) if not status.job().get("run"):  # nothing has begun
            what = f"{shorten(name)}: {error.strerror}"
        case _:
            if lost_a_rank(error):  # who was killed has a watchdog that knows more
                let_others_speak(LINGER)
            of_training = isinstance(error, EpisodeFailed) and not error.evaluation
            report(explain(error), getattr(error, "episode", None) if of_training else None)
            return FAILED
    if first:
        print(f"{title}: {what}", file=sys.stderr)
    return REFUSED


def explain(error: BaseException) -> str:
    """Return what to print of a failure: one line where the cause is known, the whole traceback for a bug."""
    if isinstance(error, OSError) and error.strerror:
        what = f"write {error.filename}" if error.filename else "write into the run folder, or cannot print"
        return f"stopped: cannot {what}: {error.strerror}; written files are complete"
    if isinstance(error, EnvironmentFailed | EpisodeFailed | AlgorithmFailed | JobFailed):
        return f"stopped: {error}"
    if lost_a_rank(error):
        return (
            f"lost its connection to another rank, which was killed or crashed; MPI says: {str(error).splitlines()[-1]}"
        )
    return "stopped:\n" + "".join(traceback.format_exception(error)).rstrip()


def lost_a_rank(error: BaseException) -> bool:
    """Return whether MPI raised this of a message that failed under way, not of one that made no sense."""
    if type(error).__module__.partition(".")[0] != "mpi4py":
        return False
    from mpi4py import MPI

    failed = {MPI.ERR_OTHER, MPI.ERR_INTERN, MPI.ERR_UNKNOWN}
    return isinstance(error, MPI.Exception) and error.Get_error_class() in failed


def exit_now(code: int) -> NoReturn:
    """End this process with this code, whatever an environment left behind.

    Not by returning: Python would wait for every thread, and for the `__del__` of every environment.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that was asked for is done
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi and mpi.Is_initialized() and not mpi.Is_finalized():  # a launcher takes who goes without for a failure
        mpi.Finalize()
    end(started_by(os.getpid()))  # they hold our streams, and a launcher waits for whoever does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # full, or closed from the start
            stream.flush()
    if mpi:  # as a program in C: only there MPICH says goodbye to the launcher, which else kills the other ranks
        ctypes.CDLL(None).exit(code)
    os._exit(code)
