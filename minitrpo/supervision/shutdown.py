"""How a process that trained ends: with its exit code and soon, whatever an environment left behind."""

import atexit
import ctypes
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from minitrpo.supervision.descendants import end, started_by

LONGEST = 5.0  # seconds for what was registered for the end


def exit_now(code: int) -> NoReturn:
    """End this process with this code: what was registered for the end is called, nothing else is waited for.

    Not by returning: Python would wait for every thread, and for the `__del__` of every environment.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that was asked for is done
    if "mpi4py.MPI" in sys.modules:  # a launcher takes a process that goes without for a failure
        from mpi4py import MPI

        if MPI.Is_initialized() and not MPI.Is_finalized():
            MPI.Finalize()
    end(started_by(os.getpid()))  # they hold our streams, and a launcher waits for whoever does
    deadline = threading.Timer(LONGEST, _exit, (code,))
    deadline.daemon = True
    deadline.start()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    _exit(code)


def _exit(code: int) -> NoReturn:
    """End without Python's own end; with MPI as a program in C does.

    Only there MPICH says goodbye to the launcher, which else kills the ranks that end a moment later.
    """
    if "mpi4py.MPI" in sys.modules:
        with suppress(AttributeError, OSError, TypeError):  # a system on which this process has no such function
            ctypes.CDLL(None).exit(code)
    os._exit(code)
