"""From a process to a job: one BLAS thread, a watchdog, MPI if there are ranks, one way to end per way to fail."""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from minitrpo.errors import AlgorithmFailed, BadInput, EpisodeFailed, Stopped, too_long
from minitrpo.parallel.comm import Comm, connect
from minitrpo.parallel.launcher import launched_rank
from minitrpo.supervision import status
from minitrpo.supervision.shutdown import EXIT, NoWayOut, exit_now
from minitrpo.supervision.signals import (
    FAILED,
    INTERRUPTED,
    OK,
    STOPPED,
    got_through,
    ignore_sigint,
    is_command,
    repeat_sigint,
    was_interrupted,
)
from minitrpo.supervision.stderr import refuse, say
from minitrpo.supervision.watchdog import LINGER, Watchdog, let_others_speak

Result = TypeVar("Result")
# What a disk, not a bug of ours, answers
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT, errno.EFBIG}
DISK |= {errno.EMFILE, errno.ENFILE, errno.EISDIR, errno.ENOTDIR}
OUTPUT = {errno.EPIPE, errno.EBADF}  # what a pipe answers that nobody reads, or a stdout that was closed


@dataclass
class Outcome:
    """How work ended on this rank."""

    code: int = OK


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
    with answered(name, comm, watchdog) as outcome:
        watchdog.heed_interrupts()
        signal.signal(signal.SIGINT, repeat_sigint if launched_rank() == 0 else ignore_sigint)
        with threadpool_limits(1), NoWayOut(comm, watchdog):
            if comm.rank == 0 and was_interrupted():
                raise KeyboardInterrupt
            work(comm, watchdog)
        comm.close()
    watchdog.dismiss()
    if is_command():
        exit_now(outcome.code)
    os._exit = EXIT
    return outcome.code


@contextmanager
def answered(name: str, comm: Comm, watchdog: Watchdog) -> Iterator[Outcome]:
    """Answer what work raises with a message and an exit code; a failure of one rank among several does not return."""
    outcome = Outcome()
    try:
        yield outcome
    except BadInput as error:  # raised by all ranks alike: see `raise_on_all`
        outcome.code = refuse(name, error)
    except Stopped as stop:  # on all ranks alike
        outcome.code = STOPPED
        if comm.rank == 0:
            print(f"{stop}; to go on: {status.job().get('resume')}", flush=True)
        comm.close()
    except KeyboardInterrupt:
        interrupted(comm, watchdog)
        outcome.code = INTERRUPTED
    except BaseException as error:
        if lost_a_rank(error):  # who was killed has a watchdog that knows more
            let_others_speak(status.job(), LINGER)
        of_training = isinstance(error, EpisodeFailed) and not error.evaluation
        watchdog.report(explain(error), getattr(error, "episode", None) if of_training else None)
        if comm.size > 1:
            comm.abort(FAILED)
        outcome.code = FAILED
    finally:
        if is_command():  # what ends is not interrupted
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def guarded(stuck_after: float, name: str) -> Iterator[None]:
    """Give work of one process a watchdog; BadInput if `stuck_after` is no time."""
    if not 0 < stuck_after < float("inf"):
        raise BadInput(f"{name} must be a positive number of seconds, not {stuck_after:g}")
    watchdog = Watchdog(stuck_after)
    try:
        with NoWayOut(Comm(), watchdog):
            yield
    finally:
        watchdog.dismiss()
        os._exit = EXIT


def interrupted(comm: Comm, watchdog: Watchdog) -> None:
    """Say how to go on after Ctrl-C, and end the other ranks."""
    got_through()
    watchdog.dismiss()
    resume = status.job().get("resume")
    print("\ninterrupted" + (f"; to go on from the last checkpoint: {resume}" if resume else ""), flush=True)
    if comm.size > 1:
        comm.abort(INTERRUPTED)


def explain(error: BaseException) -> str:
    """Return what to print of a failure: one line where the cause is known, the whole traceback for a bug."""
    if isinstance(error, OSError) and error.errno in DISK and error.filename is None and stdout_is_full():
        return "stopped: cannot print: no space left where stdout goes"
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


def stdout_is_full() -> bool:
    """Return whether what was printed last is still waiting, because it cannot be written."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        return True
    return False


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
    reason = comm.broadcast_object(next(filter(None, comm.gather_objects(reason)), ""))
    if reason:
        raise BadInput(reason)
    return cast(Result, result)
