"""The watchdog: a tiny process for each rank; it reports what the rank was doing when it was killed or got stuck.

A launcher ends the job when a process dies, but it does not report which episode did it. A rank notes in `status` what
it is doing: a few integers in memory that its watchdog shares, and can read while the rank hangs. The watchdog is
forked before MPI starts, sleeps on a pipe, and wakes when the pipe breaks.
"""

import ctypes
import json
import mmap
import os
import select
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from minitrpo.parallel.this_process import launched_rank, launched_size
from minitrpo.policies import Array

STUCK_AFTER = 30.0  # seconds without a call that returns: the default
PATIENCE = 20  # times as long as an environment's call may an algorithm's take: an update is rightly slow
TICK, AT_MOST = 1.0, 2.0  # seconds between two looks; that count between them
RARELY = 5  # looks at the rank for one at what it has started
HOME, INTERRUPT = b"h", bytes([signal.SIGINT])  # what a rank, or its Ctrl-C, says to its watchdog
LINGER = 60.0  # seconds that a launcher may take to end a job
SPARED = "resource_tracker"  # multiprocessing's: it clears up shared memory and leaves when all others have gone
LAUNCHER = os.getppid()
UNSEEN = (psutil.Error, OSError)  # a process has ended, or belongs to another user; too many files are open

_pipe = -1  # the rank's end


# --- what a rank is doing


class Call(NamedTuple):
    """A call that may not return."""

    name: str  # by which its user knows it
    whose: str = ""  # environment | algorithm

    @property
    def patient(self) -> bool:
        """Return whether it may rightly take long."""
        return self.whose != "environment"


OURS = ("plan", "prepare", "learn", "state", "restore", "gradient", "apply")
CALLS = {
    "": Call(""),  # none
    "make": Call("constructor", "environment"),
    **{name: Call(name, "environment") for name in ("reset", "step", "close", "render")},
    "MPI_Init": Call("MPI_Init"),
    "begin": Call("constructor", "algorithm"),
    **{name: Call(name, "algorithm") for name in OURS},
}
NUMBERS = {name: number for number, name in enumerate(CALLS)}
IDLE = -1
MAX_SLOTS = 1024  # of a rank; there is no more room
TEXT = 2**18  # bytes; an argument of a command line has at most half as many


class Memory(ctypes.Structure):
    """The memory of a status."""

    _fields_ = (
        ("call", ctypes.c_int64),  # the number of the one of CALLS that has not returned
        ("calls", ctypes.c_int64),  # how many there were
        ("slot", ctypes.c_int64),  # whose environment is at work; IDLE if that is not known
        ("iteration", ctypes.c_int64),  # the update for which episodes are played; -n: an evaluation after update n
        ("seeds", ctypes.c_int64 * MAX_SLOTS),  # with which the slots' episodes were reset
        ("numbers", ctypes.c_int64 * MAX_SLOTS),  # of the slots' episodes; IDLE: none is being played
        ("job", ctypes.c_char * TEXT),
    )


class Status:
    """What a process is doing. A process has one, `status`."""

    def __init__(self) -> None:
        self.memory = Memory()  # that of this process alone, until `share`
        self._clear()

    def share(self) -> None:
        """Begin with an empty status, in memory that a process forked from here on reads, too."""
        self.memory = Memory.from_buffer(mmap.mmap(-1, ctypes.sizeof(Memory)))
        self._clear()

    def _clear(self) -> None:
        self.memory.slot = IDLE
        self.pause()

    def begin(self, call: str, slot: int = IDLE) -> None:
        """Note that one of CALLS is made now.

        Args:
            call: its name in CALLS.
            slot: whose environment is called; IDLE for a call of all environments, or of the algorithm.

        """
        memory = self.memory
        memory.slot, memory.call = slot, NUMBERS[call]
        memory.calls += 1

    def end(self) -> None:
        """Note that the call has returned."""
        self.memory.slot, self.memory.call = IDLE, 0

    @contextmanager
    def at(self, call: str) -> Iterator[None]:
        """Note a call that is made in the body of a `with`."""
        self.begin(call)
        try:
            yield
        finally:
            self.end()

    def play(self, seeds: Array, numbers: Array, iteration: int) -> None:
        """Note that episodes are being played.

        Args:
            seeds: with which each slot's environment was reset, (slots,).
            numbers: of the episodes, (slots,); IDLE for a slot without one.
            iteration: the update for which they are played; -n: the evaluation after update n.

        """
        self.pause()
        slots = min(len(seeds), MAX_SLOTS)
        self.memory.iteration = iteration
        self.memory.seeds[:slots] = seeds[:slots].tolist()
        self.memory.numbers[:slots] = numbers[:slots].tolist()

    def occupy(self, slot: int, seed: int, number: int) -> None:
        """Note that a slot plays another episode from here on, or none (IDLE)."""
        if slot < MAX_SLOTS:
            self.memory.seeds[slot], self.memory.numbers[slot] = seed, number

    def pause(self) -> None:
        """Note that no episode is being played."""
        ctypes.memset(self.memory.numbers, 0xFF, ctypes.sizeof(self.memory.numbers))  # IDLE has all its bits set

    def episodes(self) -> list[tuple[int, int]]:
        """Return (reset seed, number) of the episode whose environment is at work, or of all that are being played."""
        memory = self.memory
        slots = range(MAX_SLOTS) if memory.slot == IDLE else [memory.slot]
        return [(memory.seeds[slot], memory.numbers[slot]) for slot in slots if memory.numbers[slot] != IDLE]

    def describe(self, **job: Any) -> None:
        """Note what the job is: environment, algorithm, run (the run folder), replay and resume (commands)."""
        text = json.dumps(job).encode()
        self.memory.job = text if len(text) < TEXT else b""

    def job(self) -> dict[str, Any]:
        """Return what `describe` noted, {} before."""
        return json.loads(self.memory.job or b"{}")


status = Status()


# --- the rank's side


@contextmanager
def guarded(stuck_after: float) -> Iterator[None]:
    """Give the body of a `with` a watchdog, which ends this process if a call takes longer than `stuck_after` s."""
    global _pipe
    status.share()
    print(end="", flush=True)  # not twice
    rank, claimed = psutil.Process(), claim_of_launcher()
    reading, _pipe = os.pipe()
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


def _guard(pipe: int, rank: psutil.Process, stuck_after: float) -> None:
    """Sleep until the rank ends; print a report if it ended without a message, or if it is stuck."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it goes when its rank goes
    os.dup2(pipe, 0)
    os.closerange(3, 4096)  # nothing of the rank's may stay open here but stderr
    os.close(1)
    detector = HangDetector(rank, stuck_after)
    others = started_by(LAUNCHER, recursive=False) - {rank}  # the ranks that this machine's launcher has started
    started, interrupted = set[psutil.Process](), False
    for look in count():
        gone = os.getppid() != rank.pid  # a child of the environment's may hold the pipe open
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
                os.kill(rank.pid, signal.SIGKILL)
            end(started | started_by(rank.pid))  # a launcher waits for whoever holds what it gave the rank
            return
        if look % RARELY == 0:  # after the rank has gone, its children are not known
            started = {process for process in started if process.is_running()} | started_by(rank.pid)


def _clear(claimed: Path) -> None:
    """Remove the claim of a launcher's ranks, if one of them has failed, when none is left that might still speak."""
    if not claimed.exists():
        return
    null, until = os.open(os.devnull, os.O_RDWR), time.monotonic() + LINGER
    for stream in (0, 2):  # the launcher waits for whoever holds what it gave the rank
        os.dup2(null, stream)
    with suppress(*UNSEEN):
        launcher = psutil.Process(LAUNCHER)
        while works(launcher) and time.monotonic() < until:
            time.sleep(0.1)
    claimed.unlink(missing_ok=True)


class HangDetector:
    """How long a rank gets no further, in time that its watchdog saw pass: who is suspended with it counts nothing."""

    def __init__(self, rank: psutil.Process, stuck_after: float) -> None:
        self._rank, self._stuck_after = rank, stuck_after
        self._still, self._calls, self._last = 0.0, -1, time.monotonic()

    def look(self) -> str:
        """Return why the rank is to be ended, "" if it is not."""
        clock, call, calls = time.monotonic(), list(CALLS)[status.memory.call], status.memory.calls
        passed, self._last = min(clock - self._last, AT_MOST), clock
        try:
            state, parent = self._rank.status(), self._rank.ppid()
        except UNSEEN:  # if it has ended, the pipe will say so
            return ""
        if call == "MPI_Init" and launched_size() > 1 and parent != LAUNCHER:  # MPI would wait for ever
            return "has lost its launcher, which was killed"
        stopped = state == psutil.STATUS_STOPPED and launched_size() > 1  # alone: Ctrl-Z
        waits = call == "" or state in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
        if not stopped and (calls != self._calls or waits):
            self._still, self._calls = 0.0, calls
            return ""
        self._still += passed
        patient = CALLS[call].patient
        limit = self._stuck_after * (PATIENCE if stopped or patient else 1)
        if self._still <= limit:
            return ""
        if stopped:
            return f"was stopped (SIGSTOP) and did not continue for {limit:g} s"
        if call == "step":
            return f"is stuck: no environment step for {limit:g} s"
        longer = f", {PATIENCE} times --stuck-after," if patient else ""
        return f"is stuck: {CALLS[call].name} has not returned for {limit:g} s{longer}"


def works(process: psutil.Process) -> bool:
    """Return whether a process has not ended. A zombie has: only nobody has asked for its exit code yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except UNSEEN:
        return False


def started_by(process: int, recursive: bool = True) -> set[psutil.Process]:
    """Return the processes that one has started, and those that they have started.

    Args:
        process: its number.
        recursive: False for its own children alone.

    """
    with suppress(*UNSEEN):
        return set(psutil.Process(process).children(recursive=recursive))
    return set()


def end(processes: Iterable[psutil.Process]) -> None:
    """End processes and what they have started since, but not this process itself."""
    for first in processes:
        with suppress(*UNSEEN):
            for process in (*first.children(recursive=True), first):
                if process.pid != os.getpid() and not any(SPARED in word for word in process.cmdline()):
                    process.kill()


# --- what is said, by one rank


def _say(what: str, others: set[psutil.Process]) -> None:
    """Print how the rank ended, and in which call or episodes; others: the other ranks of this machine."""
    job, call, iteration = status.job(), CALLS[list(CALLS)[status.memory.call]], status.memory.iteration
    idle = call.name == "" and not status.episodes()
    first = any(map(works, others))  # the launcher kills all when one has died
    if launched_size() > 1 and (idle or call.patient) and "killed" in what and not first:
        let_others_speak(1.0)
        if others and job.get("several_machines"):
            return  # the first was on another machine, or its watchdog has reported
    claimed = claim()  # before anything slow: the launcher is about to kill the other ranks
    episodes = status.episodes() if job else []
    place = "outside the environments"
    if episodes:
        when = f"iteration {iteration}" if iteration >= 0 else f"the evaluation after update {-iteration}"
        playing = [f"episode {number} of {when} (reset seed {seed})" for seed, number in episodes]
        place = f"while playing {job['environment']}: {', '.join(playing)}"
    elif call.name == "MPI_Init":
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
    began = 0.0
    with suppress(*UNSEEN):  # in seconds since the machine was started: its clock may be changed
        began = psutil.Process(LAUNCHER).create_time() - psutil.boot_time()
    return Path(tempfile.gettempdir()) / f"minitrpo-{os.getuid()}-{LAUNCHER}-{began:.2f}"


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
        again = f"{job['replay']} {episode} --iteration {status.memory.iteration}"
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
