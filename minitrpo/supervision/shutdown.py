"""How a process that trained ends: with its exit code and soon, whatever an environment left behind or takes over."""

import atexit
import ctypes
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from minitrpo.errors import describe_error
from minitrpo.parallel.comm import Comm
from minitrpo.supervision.descendants import Descendants
from minitrpo.supervision.signals import FAILED
from minitrpo.supervision.stderr import say
from minitrpo.supervision.watchdog import LINGER, Watchdog

EXIT = os._exit  # the real one


class NoWayOut:
    """While it lasts, os._exit in this process is a failure that is reported: its code may be 0, and nobody would know.

    A simulator that leaves from within a library of C is not caught: the watchdog reports it, but its code stands.
    """

    def __init__(self, comm: Comm, watchdog: Watchdog) -> None:
        self._comm, self._watchdog, self._process = comm, watchdog, os.getpid()
        self._first = threading.Lock()

    def __enter__(self) -> "NoWayOut":
        os._exit = self._leave  # type: ignore[assignment]
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        os._exit = EXIT if kind is None else ending_with(FAILED)  # type: ignore[assignment]

    def _leave(self, code: int = 0) -> NoReturn:
        if os._exit != self._leave:  # somebody kept this one for later
            os._exit(code)
        if os.getpid() == self._process:  # not a child of an environment's
            if not self._first.acquire(blocking=False):
                threading.Event().wait()  # another thread is about to end us, and has more to say
            self._watchdog.report_end(f"was left by os._exit({code})")
            if self._comm.size > 1:
                self._comm.abort(FAILED)
            code = FAILED  # 2 would say that nothing was done
        EXIT(code)


def ending_with(code: int) -> Callable[..., None]:
    """Return what os._exit does once a process ends with this code: a thread that calls it waits for the end."""
    process = os.getpid()

    def leave(other: int = 0) -> None:
        if os.getpid() != process:
            EXIT(other)
        if threading.current_thread() is not threading.main_thread():
            threading.Event().wait()
        EXIT(code)

    return leave


def exit_now(code: int) -> NoReturn:
    """End this process: what was registered for the end is called, and what then still hangs is left behind.

    Not by returning: Python would wait for every thread, and for the `__del__` of every environment.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that was asked for is done
    os._exit = ending_with(code)  # type: ignore[assignment]
    sys.unraisablehook = _tell  # of what is called here without a caller
    _finalise_mpi()
    with suppress(RuntimeError):  # a limit on threads, or no excepthook: nothing but faulthandler ends what hangs then
        deadline = threading.Timer(LINGER, _exit, (code,))
        deadline.daemon = True
        deadline.start()
    with suppress(OSError, ValueError, RuntimeError):  # who holds the interpreter's lock stops that one, not this
        faulthandler.dump_traceback_later(3 * LINGER, exit=True, file=os.open(os.devnull, os.O_WRONLY))
    for farewell in (getattr(threading, "_shutdown", None), atexit._run_exitfuncs, _flush):
        with suppress(BaseException):
            if farewell is not None:
                farewell()
    _exit(code)


def _finalise_mpi() -> None:
    """Say goodbye to the launcher, which takes a process that goes without for a failure."""
    if "mpi4py.MPI" in sys.modules:
        from mpi4py import MPI

        if MPI.Is_initialized() and not MPI.Is_finalized():
            MPI.Finalize()


def _exit(code: int) -> NoReturn:
    """End without Python's own end; with MPI as a program in C does: only then MPICH has said goodbye to the launcher.

    What C registers for the end is not called without need: another thread may still use it, which is a crash.
    """
    with suppress(BaseException):
        Descendants(os.getpid()).end()  # what an environment left behind holds our streams, and a launcher waits
    with suppress(AttributeError, OSError, TypeError):  # a system on which this process has no such function
        library = ctypes.CDLL(None)
        library.fflush(None)
        if "mpi4py.MPI" in sys.modules:
            library.exit(code)
    EXIT(code)


def _tell(unraisable: Any) -> None:
    say(f"minitrpo: something that was left for the end raised {describe_error(unraisable.exc_value)}")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
