"""From a process to a job: one BLAS thread, a watchdog, MPI if there are ranks, one way to end per way to fail."""

import errno
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from minitrpo.errors import AlgorithmFailed, BadInput, EpisodeFailed, Stopped, too_long
from minitrpo.parallel.comm import Comm, connect
from minitrpo.parallel.launcher import launched_rank
from minitrpo.supervision import status
from minitrpo.supervision.shutdown import exit_now
from minitrpo.supervision.signals import (
    FAILED,
    INTERRUPTED,
    OK,
    STOPPED,
    ignore_sigint,
    interrupt,
    is_command,
    was_interrupted,
)
from minitrpo.supervision.stderr import refuse, say
from minitrpo.supervision.watchdog import LINGER, Watchdog, let_others_speak

Result = TypeVar("Result")
# What a disk or a stdout, not a bug of ours, answers
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT, errno.EFBIG}
DISK |= {errno.EMFILE, errno.ENFILE, errno.EISDIR, errno.ENOTDIR, errno.EPIPE}


def launch(work: Callable[[Comm, Watchdog], None], name: str, stuck_after: float) -> int:
    """Run `work` on every rank of this job and return the exit code; a rank that fails ends all of them.

    BLAS gets one thread: ranks are the parallelism here, and sums then have one order on any machine.
    """
    watchdog = Watchdog(stuck_after)
    try:
        with status.at("MPI_Init"):
            comm = connect()
    except (ImportError, RuntimeError) as error:
        watchdog.dismiss()
        say(f"{name}: MPI does not work here: {error}; python -m minitrpo doctor knows more")
        return FAILED
    watchdog.heed_interrupts()
    code = answered(lambda: work(comm, watchdog), name, comm, watchdog)
    if is_command():
        exit_now(code)
    return code


def answered(work: Callable[[], None], name: str, comm: Comm, watchdog: Watchdog) -> int:
    """Return the exit code of work, and say why it is not 0; a failure of one rank among several does not return."""
    try:
        signal.signal(signal.SIGINT, interrupt if launched_rank() == 0 else ignore_sigint)
        if comm.rank == 0 and was_interrupted():
            raise KeyboardInterrupt
        with threadpool_limits(1):
            work()
        comm.close()
        code = OK
    except BadInput as error:  # raised by all ranks alike: see `raise_on_all`
        code = refuse(name, error)
    except Stopped as stop:  # on all ranks alike
        if comm.rank == 0:
            print(f"{stop}; to go on: {status.job().get('resume')}", flush=True)
        comm.close()
        code = STOPPED
    except BaseException as error:
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
        say_why(error, watchdog)
        if comm.size > 1:
            comm.abort(code)
    watchdog.dismiss()
    return code


def say_why(error: BaseException, watchdog: Watchdog) -> None:
    """Say that this rank was interrupted, and how to go on; or how it failed, unless another one was first."""
    if isinstance(error, KeyboardInterrupt):
        watchdog.dismiss()
        resume = status.job().get("resume")
        print("\ninterrupted" + (f"; to go on from the last checkpoint: {resume}" if resume else ""), flush=True)
        return
    if lost_a_rank(error):  # who was killed has a watchdog that knows more
        let_others_speak(LINGER)
    of_training = isinstance(error, EpisodeFailed) and not error.evaluation
    watchdog.report(explain(error), getattr(error, "episode", None) if of_training else None)


@contextmanager
def guarded(stuck_after: float, name: str) -> Iterator[None]:
    """Give work of one process a watchdog; BadInput if `stuck_after` is no time."""
    if not 0 < stuck_after < float("inf"):
        raise BadInput(f"{name} must be a positive number of seconds, not {stuck_after:g}")
    watchdog = Watchdog(stuck_after)
    try:
        yield
    finally:
        watchdog.dismiss()


def explain(error: BaseException) -> str:
    """Return what to print of a failure: one line where the cause is known, the whole traceback for a bug."""
    if isinstance(error, OSError) and error.errno in DISK:
        what = f"write {error.filename}" if error.filename else "write into the run folder, or cannot print"
        return f"stopped: cannot {what}: {error.strerror}; what was written is whole"
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
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        reason = str(too_long(error))
    reason = comm.broadcast(next(filter(None, comm.gather(reason)), ""))
    if reason:
        raise BadInput(reason)
    return cast(Result, result)
