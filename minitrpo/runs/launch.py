"""From a process to a job: one BLAS thread, a watchdog, MPI if there are ranks, one way to end per way to fail."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.parallel.ranks import Ranks, connect
from minitrpo.parallel.watchdog import Watchdog

Found = TypeVar("Found")
OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def launch(work: Callable[[Ranks, Watchdog], None], name: str, stuck_after: float) -> int:
    """Run `work` on every rank of this job and return the exit code; a rank that fails ends all of them.

    BLAS gets one thread: ranks are the parallelism here, and sums then have one order on any machine.
    """
    watchdog = Watchdog(stuck_after)
    signal.signal(signal.SIGINT, insist)
    try:
        ranks = connect()
    except (ImportError, RuntimeError) as error:
        watchdog.dismiss()
        print(f"{name}: MPI does not work here: {error}; python -m minitrpo.doctor knows more", file=sys.stderr)
        return FAILED
    try:
        with threadpool_limits(1):
            work(ranks, watchdog)
        ranks.close()
    except BadInput as error:  # raised by all ranks alike: see `together`
        if ranks.rank == 0:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        code = BAD_INPUT
    except KeyboardInterrupt:
        interrupted(ranks, watchdog)
        code = INTERRUPTED
    except BaseException as error:
        watchdog.report(explain(error), [error.episode] if isinstance(error, EpisodeFailed) else [])
        ranks.abort(FAILED)
        code = FAILED
    else:
        code = OK
    watchdog.dismiss()
    return code


def insist(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt, and again until it gets through: Python drops what is raised inside some callbacks."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, insist)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
    raise KeyboardInterrupt


def interrupted(ranks: Ranks, watchdog: Watchdog) -> None:
    """Say how to go on after Ctrl-C; MPI ranks leave at once, as their partners may be gone already."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # launchers may send it twice
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    watchdog.dismiss()
    resume = watchdog.job().get("resume")
    if ranks.rank == 0:
        print("\ninterrupted" + (f"; nothing is lost, to go on: {resume}" if resume else ""), flush=True)
    if ranks.size == 1:
        return
    sys.stderr.flush()
    if ranks.rank == 0:
        ranks.abort(INTERRUPTED)
    time.sleep(5.0)  # once a rank has left, the launcher kills all others: the root speaks first, and ends them
    os._exit(INTERRUPTED)


def explain(error: BaseException) -> str:
    """Return what to print of a failure: one line for an episode, the whole traceback for a bug of ours."""
    if isinstance(error, EpisodeFailed):
        return f"stopped: {error}"
    return "stopped:\n" + "".join(traceback.format_exception(error)).rstrip()


def together(ranks: Ranks, work: Callable[[], Found]) -> Found:
    """Return what `work` returns on this rank; if it raises BadInput on any rank, raise the same on all."""
    found, reason = None, ""
    try:
        found = work()
    except BadInput as error:
        reason = str(error)
    reason = ranks.broadcast_object(next(filter(None, ranks.gather_objects(reason)), ""))
    if reason:
        raise BadInput(reason)
    return cast(Found, found)


def command(ranks: int, script: str, *arguments: str) -> str:
    """Return a command line as a user would type it."""
    python = " ".join(["python", script, *arguments])
    return f"mpiexec -n {ranks} {python}" if ranks > 1 else python


def script_path(name: str) -> str:
    """Return where the script beside the running one is, as seen from here: mpi_scripts/replay.py."""
    return os.path.join(os.path.relpath(os.path.dirname(os.path.abspath(sys.argv[0]))), name)
