"""From a process to a job: one BLAS thread, a watchdog, MPI if there are ranks, one way to end per way to fail."""

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from minitrpo.errors import AlgorithmFailed, BadInput, EpisodeFailed
from minitrpo.parallel.comm import Comm, connect, launched_rank
from minitrpo.parallel.watchdog import LINGER, Watchdog
from minitrpo.runs.command_line import refuse

Result = TypeVar("Result")
OK, FAILED, INTERRUPTED = 0, 1, 130
# What a disk, not a bug of ours, answers
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT, errno.EFBIG}
DISK |= {errno.EMFILE, errno.ENFILE, errno.EISDIR, errno.ENOTDIR}
OUTPUT = {errno.EPIPE, errno.EBADF}  # what a pipe answers that nobody reads, or a stdout that was closed


def launch(work: Callable[[Comm, Watchdog], None], name: str, stuck_after: float) -> int:
    """Run `work` on every rank of this job and return the exit code; a rank that fails ends all of them.

    BLAS gets one thread: ranks are the parallelism here, and sums then have one order on any machine.
    """
    watchdog, threads = Watchdog(stuck_after), threading.enumerate()
    watchdog.heed_interrupts()
    signal.signal(signal.SIGINT, repeat_sigint if launched_rank() == 0 else ignore_sigint)
    try:
        comm = connect()
    except (ImportError, RuntimeError) as error:
        watchdog.dismiss()
        print(f"{name}: MPI does not work here: {error}; python -m minitrpo.doctor knows more", file=sys.stderr)
        return FAILED
    try:
        with threadpool_limits(1):
            work(comm, watchdog)
        comm.close()
    except BadInput as error:  # raised by all ranks alike: see `raise_on_all`
        code = refuse(name, error)
    except KeyboardInterrupt:
        interrupted(comm, watchdog)
        code = INTERRUPTED
    except BaseException as error:
        watchdog.report(explain(error), error.episode if isinstance(error, EpisodeFailed) else None)
        comm.abort(FAILED)
        code = FAILED
    else:
        code = OK
    watchdog.dismiss()
    wait_for_no_thread(code, threads)
    return code


def wait_for_no_thread(code: int, known: list[threading.Thread]) -> None:
    """End this process soon even if an environment left a thread behind that never ends; `known`: those before it."""
    if any(not (thread.daemon or thread in known) for thread in threading.enumerate()):
        timer = threading.Timer(LINGER, os._exit, (code,))
        timer.daemon = True
        timer.start()


def repeat_sigint(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt, and again until it gets through: Python drops what is raised inside some callbacks.

    Launchers send SIGINT twice, and the second must not interrupt the answer to the first.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, repeat_sigint)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
    raise KeyboardInterrupt


def ignore_sigint(number: int, frame: object) -> None:
    """Do nothing at Ctrl-C: the root, which may be waiting for this rank, ends all of them."""


def interrupted(comm: Comm, watchdog: Watchdog) -> None:
    """Say how to go on after Ctrl-C, and end the other ranks."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    watchdog.dismiss()
    resume = watchdog.job().get("resume")
    print("\ninterrupted" + (f"; nothing is lost, to go on: {resume}" if resume else ""), flush=True)
    if comm.size > 1:
        comm.abort(INTERRUPTED)


def explain(error: BaseException) -> str:
    """Return what to print of a failure: one line where the cause is known, the whole traceback for a bug."""
    if isinstance(error, OSError) and error.errno in DISK:
        return (
            f"stopped: cannot write {error.filename or 'the run folder'}: {error.strerror}; what was written is whole"
        )
    if getattr(sys.stdout, "closed", False) or (isinstance(error, OSError) and error.errno in OUTPUT):
        return "stopped: cannot print: stdout was closed, by the environment or by the program that read it"
    if isinstance(error, EpisodeFailed | AlgorithmFailed):
        return f"stopped: {error}"
    return "stopped:\n" + "".join(traceback.format_exception(error)).rstrip()


def raise_on_all(comm: Comm, work: Callable[[], Result]) -> Result:
    """Return what `work` returns on this rank; if it raises BadInput on any rank, raise the same on all."""
    result, reason = None, ""
    try:
        result = work()
    except BadInput as error:
        reason = str(error)
    reason = comm.broadcast_object(next(filter(None, comm.gather_objects(reason)), ""))
    if reason:
        raise BadInput(reason)
    return cast(Result, result)
