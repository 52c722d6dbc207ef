"""The watchdog: a tiny process for each rank; it reports what the rank was doing when it was killed or got stuck.

A launcher ends the job when a process dies, but it does not report which episode did it. The watchdog shares the
rank's `status` (a few integers), sleeps on a pipe, and wakes when the pipe breaks. It is forked before MPI starts.
"""

import os
import select
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from minitrpo.parallel.launcher import launched_rank, launched_size
from minitrpo.supervision import status
from minitrpo.supervision.status import CALLS

STUCK_AFTER = 30.0  # seconds without a call that returns: the default
PATIENCE = 20  # times as long as an environment's call may an algorithm's take: an update is rightly slow
TICK, AT_MOST = 1.0, 2.0  # seconds between two looks; that count between them
RARELY = 5  # looks at the rank for one at what it has started
HOME, INTERRUPT = b"h", bytes([signal.SIGINT])  # what a rank, or its Ctrl-C, says to its watchdog
LINGER = 60.0  # seconds that a launcher may take to end a job
SPARED = "resource_tracker"  # multiprocessing's: it clears up shared memory and leaves when all others have gone
LAUNCHER = os.getppid()

_pipe = -1  # the rank's end


# --- the rank's side


@contextmanager
def guarded(stuck_after: float) -> Iterator[None]:
    """Give the body of a `with` a watchdog, which ends this process if a call takes longer than `stuck_after` s."""
    global _pipe
    status.share()
    print(end="", flush=True)  # not twice
    reading, _pipe = os.pipe()
    rank, claimed = os.getpid(), claim_of_launcher()
    if os.fork() == 0:
        try:
            _guard(reading, rank, stuck_after)
            _clear(claimed)
        finally:
            os._exit(0)
    os.close(reading)
    os.set_blocking(_pipe, False)
    signal.set_wakeup_fd(_pipe, warn_on_full_buffer=False)  # of Ctrl-C it hears at once: the number is written to it
    try:
        yield
    finally:
        dismiss()


def dismiss() -> None:
    """Send the watchdog home, if there is one: this rank ends by itself from here on."""
    if _pipe >= 0:
        with suppress(OSError):  # it has gone after Ctrl-C
            os.write(_pipe, HOME)
        _close()


def report(failure: str, episode: int | None = None) -> None:
    """Print why this rank failed and in which episode, unless another rank was first; send the watchdog home."""
    announce(claim(), failure, episode)
    dismiss()


def _close() -> None:
    """Close the pipe: at the end, and in every process that an environment forks."""
    global _pipe
    if _pipe >= 0:
        with suppress(ValueError):  # from the heartbeat's thread
            signal.set_wakeup_fd(-1)
        os.close(_pipe)
        _pipe = -1


os.register_at_fork(after_in_child=_close)


# --- the watchdog's side


def _guard(pipe: int, rank: int, stuck_after: float) -> None:
    """Sleep until the rank ends; print a report if it ended without a message, or if it is stuck."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it goes when its rank goes
    os.dup2(pipe, 0)
    os.closerange(3, 4096)  # nothing of the rank's may stay open here but stderr
    os.close(1)
    detector, children = HangDetector(rank, stuck_after), Path(f"/proc/{LAUNCHER}/task/{LAUNCHER}/children")
    # the other ranks that this machine's launcher has started; none if Linux does not list them
    others = {int(child) for child in children.read_text().split()} - {rank} if children.exists() else set()
    started, interrupted = set[Any](), False
    for look in count():
        gone = os.getppid() != rank  # a child of the environment's may hold the pipe open
        ready, _, _ = select.select([0], [], [], 0 if gone else TICK)
        message = os.read(0, 1) if ready else b""
        interrupted |= message == INTERRUPT
        ended = gone or (bool(ready) and message == b"")
        if message == HOME or (ended and interrupted):
            return
        complaint = "was killed or crashed" if ended else detector.look()
        if complaint and not interrupted:
            _say(complaint, others)
            if not gone:
                os.kill(rank, signal.SIGKILL)
            end(started | started_by(rank))  # a launcher waits for whoever holds what it gave the rank
            return
        if look % RARELY == 0:  # after the rank has gone, its children are not known
            started = {each for each in started if each.is_running()} | started_by(rank)


def _clear(claimed: Path) -> None:
    """Remove the claim of a launcher's ranks, if one of them has failed, when none is left that might still speak."""
    if not claimed.exists():
        return
    null, until = os.open(os.devnull, os.O_RDWR), time.monotonic() + LINGER
    for stream in (0, 2):  # the launcher waits for whoever holds what it gave the rank
        os.dup2(null, stream)
    while time.monotonic() < until:
        state, _, beginning = state_of(LAUNCHER)
        if state == "Z" or not claimed.name.endswith(f"-{LAUNCHER}-{beginning}"):  # Z: it ended and nobody has asked
            break  # for its exit code yet, which in a container may never happen
        time.sleep(0.1)
    claimed.unlink(missing_ok=True)


class HangDetector:
    """How long a rank gets no further, in time that its watchdog saw pass: who is suspended with it counts nothing."""

    def __init__(self, process: int, stuck_after: float) -> None:
        self._process, self._stuck_after = process, stuck_after
        self._still, self._heartbeat, self._last = 0.0, -1, time.monotonic()

    def look(self) -> str:
        """Return why the rank is to be ended, "" if it is not."""
        clock, heartbeat = time.monotonic(), status.heartbeat()
        passed, self._last = min(clock - self._last, AT_MOST), clock
        now, (state, parent, _) = status.now(), state_of(self._process)
        if now == "MPI_Init" and launched_size() > 1 and parent not in ("", str(LAUNCHER)):  # MPI would wait for ever
            return "has lost its launcher, which was killed"
        stopped = state == "T" and launched_size() > 1  # alone: Ctrl-Z
        if not stopped and (heartbeat != self._heartbeat or now == "" or state in ("T", "t")):
            self._still, self._heartbeat = 0.0, heartbeat
            return ""
        self._still += passed
        call = CALLS[now]
        limit = self._stuck_after * (PATIENCE if stopped or call.patient else 1)
        if self._still <= limit:
            return ""
        if stopped:
            return f"was stopped (SIGSTOP) and did not continue for {limit:g} s"
        if now == "step":
            return f"is stuck: no environment step for {limit:g} s"
        longer = f", {PATIENCE} times --stuck-after," if call.patient else ""
        return f"is stuck: {call.name} has not returned for {limit:g} s{longer}"


def state_of(process: int) -> tuple[str, str, str]:
    """Return what a process does (T stopped, t traced, Z ended), its parent and its beginning; "" if not known."""
    try:
        state, parent, *more = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return state, parent, more[17]
    except OSError:
        return "", "", ""


def started_by(process: int) -> set[Any]:
    """Return the processes under one, as psutil has them, which knows them even when their numbers are given again."""
    import psutil  # which takes a while to load

    with suppress(psutil.Error):
        return set(psutil.Process(process).children(recursive=True))
    return set()


def end(processes: set[Any]) -> None:
    """End processes and what they have started since, but not this process itself."""
    import psutil

    for each in processes:
        with suppress(psutil.Error):
            for process in (*each.children(recursive=True), each):
                if process.pid != os.getpid() and not any(SPARED in word for word in process.cmdline()):
                    process.kill()


# --- what is said, by one rank


def _say(what: str, others: set[int]) -> None:
    """Print how the rank ended, and in which call or episodes; others: the other ranks of this machine."""
    job, now = status.job(), status.now()
    call, idle = CALLS[now], now == "" and not status.episodes()
    first = any(state_of(each)[0] not in ("", "Z") for each in others)  # the launcher kills all when one has died
    if launched_size() > 1 and (idle or call.patient) and "killed" in what and not first:
        let_others_speak(1.0)
        if others and job.get("several_machines"):
            return  # the first was on another machine, or its watchdog has reported
    claimed = claim()  # before anything slow: the launcher is about to kill the other ranks
    iteration, episodes = status.iteration(), status.episodes() if job else []
    of = f"of iteration {iteration}" if iteration >= 0 else f"of the evaluation after update {-iteration}"
    playing = [f"episode {number} {of} (reset seed {seed})" for seed, number in episodes]
    place = "outside the environments"
    if playing:
        place = f"while playing {job['environment']}: {', '.join(playing)}"
    elif now == "MPI_Init":
        place = "while it joined the others, perhaps for lack of room in /dev/shm: python -m minitrpo doctor knows more"
    elif call.whose:
        place = f"in the {call.name} of {job.get(call.whose, f'the {call.whose}')}"
    announce(claimed, f"{what} {place}", episodes[0][1] if episodes and iteration >= 0 else None)


def let_others_speak(seconds: float) -> None:
    """Wait until another rank has reported why it failed, but at most this long."""
    deadline, run = time.monotonic() + seconds, status.job().get("run")
    while run and not (Path(run) / "failure.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


@cache
def claim_of_launcher() -> Path:
    """Return the file that the first of a launcher's ranks to fail makes while there is no run folder."""
    return Path(tempfile.gettempdir()) / f"minitrpo-{os.getuid()}-{LAUNCHER}-{state_of(LAUNCHER)[2]}"


def claim() -> int | None:
    """Return a file for the message, failure.txt of the run folder, opened; None if another rank was first to fail.

    Before there is a run folder, it is one of this launcher's; -1 where none can be had, or is needed.
    """
    run = status.job().get("run")
    paths = [Path(run) / "failure.txt"] if run else []
    for path in [*paths, claim_of_launcher()] if launched_size() > 1 else paths:
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return None
        except FileNotFoundError:  # the root's machine has the folder, this one has not
            continue
        except OSError:  # a full disk, a folder that may not be written: say it on the screen at least
            break
    return -1


def announce(claimed: int | None, failure: str, episode: int | None) -> None:
    """Write one message to stderr and to what was claimed; the first rank to fail speaks for all."""
    if claimed is None:
        return
    job, lines = status.job(), [f"minitrpo: rank {launched_rank()} {failure}"]
    if job.get("replay") and episode is not None:
        again = f"{job['replay']} {episode} --iteration {status.iteration()}"
        lines.append(f"  to play that episode in one process: {again}")
    if job.get("resume"):
        lines.append(f"  after you have fixed the cause, continue from the last checkpoint: {job['resume']}")
    text = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
    for file in (2, claimed):
        if file >= 0:
            with suppress(OSError):  # whatever happens, the job must be ended after this
                os.write(file, text)
    if claimed >= 0:
        os.close(claimed)
