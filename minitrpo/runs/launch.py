"""From a process to a job: one BLAS thread, a watchdog, MPI if there are ranks, one way to end per way to fail."""

import errno
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from minitrpo.errors import AlgorithmFailed, BadInput, EpisodeFailed, Stopped
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.parallel.comm import Comm, connect
from minitrpo.parallel.launcher import INTERRUPTED, is_command, launched_rank, was_interrupted
from minitrpo.parallel.voice import say
from minitrpo.parallel.watchdog import LINGER, Watchdog, let_others_speak
from minitrpo.runs.ending import NoWayOut, depart
from minitrpo.runs.entrance import FAILED, refuse
from minitrpo.runs.stopping import STOPPED

Result = TypeVar("Result")
OK = 0
# What a disk, not a bug of ours, answers
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT, errno.EFBIG}
DISK |= {errno.EMFILE, errno.ENFILE, errno.EISDIR, errno.ENOTDIR}
OUTPUT = {errno.EPIPE, errno.EBADF}  # what a pipe answers that nobody reads, or a stdout that was closed


def launch(work: Callable[[Comm, Watchdog], None], name: str, stuck_after: float) -> int:
    """Run `work` on every rank of this job and return the exit code; a rank that fails ends all of them.

    BLAS gets one thread: ranks are the parallelism here, and sums then have one order on any machine.
    """
    watchdog = Watchdog(stuck_after)
    try:
        with watchdog.status.at(Doing.JOINING):
            comm = connect()
    except (ImportError, RuntimeError) as error:
        watchdog.dismiss()
        say(f"{name}: MPI does not work here: {error}; python -m minitrpo.doctor knows more")
        return FAILED
    code = attempt(work, name, comm, watchdog)
    watchdog.dismiss()
    if is_command():
        depart(code)
    return code


@contextmanager
def guarded(stuck_after: float, name: str) -> Iterator[RankStatus]:
    """Give work of one process a watchdog, and yield the status that it reads; BadInput if `stuck_after` is no time."""
    if not 0 < stuck_after < float("inf"):
        raise BadInput(f"{name} must be a positive number of seconds, not {stuck_after:g}")
    watchdog = Watchdog(stuck_after)
    try:
        yield watchdog.status
    finally:
        watchdog.dismiss()


def attempt(work: Callable[[Comm, Watchdog], None], name: str, comm: Comm, watchdog: Watchdog) -> int:
    """Return the exit code of `work`; a failure of one rank among several does not return."""
    code = OK
    try:
        watchdog.heed_interrupts()
        signal.signal(signal.SIGINT, repeat_sigint if launched_rank() == 0 else ignore_sigint)
        with threadpool_limits(1), NoWayOut(comm, watchdog):
            if comm.rank == 0 and was_interrupted():
                raise KeyboardInterrupt
            try:
                work(comm, watchdog)
            except Stopped as stop:  # on all ranks alike
                code = stopped(stop, comm, watchdog)
        comm.close()
    except BadInput as error:  # raised by all ranks alike: see `raise_on_all`
        return refuse(name, error)
    except KeyboardInterrupt:
        interrupted(comm, watchdog)
        return INTERRUPTED
    except BaseException as error:
        if lost_a_rank(error):  # who was killed has a watchdog that knows more
            let_others_speak(watchdog.job(), LINGER)
        watchdog.report(explain(error), error.episode if isinstance(error, EpisodeFailed) else None)
        if comm.size > 1:
            comm.abort(FAILED)
        return FAILED
    finally:
        if is_command():  # what ends is not interrupted
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


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
    print("\ninterrupted" + (f"; to go on from the last checkpoint: {resume}" if resume else ""), flush=True)
    if comm.size > 1:
        comm.abort(INTERRUPTED)


def stopped(stop: Stopped, comm: Comm, watchdog: Watchdog) -> int:
    """Say where a run ended that was asked to, and how it goes on; return its exit code."""
    if comm.rank == 0:
        print(f"{stop}; to go on: {watchdog.job().get('resume')}", flush=True)
    return STOPPED


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
