"""The watchdog: a tiny process beside each rank that says, when the rank was killed or got stuck, what it was doing.

A launcher ends the job when a process dies, but nobody would learn which episode did it. The watchdog shares the
rank's `status` (a few integers), sleeps on a pipe, and wakes when the pipe breaks. It is forked before MPI starts.
"""

import faulthandler
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from minitrpo.parallel.launcher import launched_rank, launched_size
from minitrpo.supervision import status
from minitrpo.supervision.descendants import Descendants
from minitrpo.supervision.hang_detector import TICK, HangDetector, state_of
from minitrpo.supervision.shared_memory import shortage
from minitrpo.supervision.status import CALLS
from minitrpo.supervision.stderr import is_still, keep_stderr, say

LINGER = 1.5  # seconds
LAUNCHER = os.getppid() if launched_size() > 1 else os.getpid()  # a shell launches one job after the other
CLAIMS: list[socket.socket] = []  # held while others may ask
HOME, INTERRUPT = b"h", bytes([signal.SIGINT])  # what a rank, or its Ctrl-C, says to its watchdog
CRASH = b"F"  # how faulthandler begins, "Fatal Python error: Segmentation fault"


class Watchdog:
    """The rank's side: `report` what failed, `dismiss` when all went well."""

    def __init__(self, stuck_after: float) -> None:
        keep_stderr()
        status.share()
        self._pipe = -1
        if hasattr(os, "fork"):
            self._fork(stuck_after)

    def heed_interrupts(self) -> None:
        """Send the watchdog home at Ctrl-C, too, even out of a call that Python's handler has to wait for."""
        if self._pipe >= 0:
            os.set_blocking(self._pipe, False)
            signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)  # the signal's number is written to it

    def dismiss(self) -> None:
        """Send the watchdog home: this rank ends by itself from here on."""
        if self._pipe >= 0:
            with suppress(ValueError):  # an environment's thread that ends the process
                signal.set_wakeup_fd(-1)
            if self._hears_crashes:
                faulthandler.disable()
            status.begin("dismissed")  # in case an environment closed the pipe
            with suppress(OSError):  # it has gone at Ctrl-C
                if is_still(self._pipe, self._file):  # and is no file of an environment's
                    os.write(self._pipe, HOME)
                    os.close(self._pipe)
            self._pipe = -1

    def report(self, failure: str, episode: int | None = None) -> None:
        """Print why this rank failed and in which episode, unless another rank was first; send the watchdog home."""
        job = status.job()
        announce(claim(job), failure, job, episode, status.iteration())
        self.dismiss()

    def report_end(self, what: str) -> None:
        """Print where this rank is about to end against its will; send the watchdog home."""
        self._say(what)
        self.dismiss()

    def _fork(self, stuck_after: float) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        reading, self._pipe = os.pipe()
        parent = os.getpid()
        if os.fork() == 0:
            try:
                self._guard(reading, parent, stuck_after)
            finally:
                os._exit(0)
        os.close(reading)
        self._file = os.fstat(self._pipe)
        self._hears_crashes = not faulthandler.is_enabled()
        if self._hears_crashes:  # before the launcher kills the others, whose watchdogs then speak, too
            faulthandler.enable(self._pipe, all_threads=False)

    def _guard(self, pipe: int, parent: int, stuck_after: float) -> None:
        """Sleep until the rank ends; speak up if it did not say goodbye, or if it gets no further."""
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it goes when its rank goes
        os.dup2(pipe, 0)
        os.closerange(3, 4096)  # nothing of the rank's may stay open here but stderr
        os.close(1)
        keep_stderr()
        ears, detector, started = [0], HangDetector(parent, stuck_after), Descendants(parent)
        while True:
            ready, _, _ = select.select(ears, [], [], TICK)
            gone = os.getppid() != parent  # a child of the environment's may hold the pipe open
            if ready or gone:
                message = os.read(0, 1) if ready else b""
                if message == b"" and not gone and _lives(parent):  # an environment closed all that it found open
                    ears.clear()
                    continue
                if message in (b"", CRASH) and status.now() != "dismissed":
                    self._say("crashed" if message else "was killed or crashed")
                    started.end()  # a launcher waits for whoever holds what it gave the rank
                    time.sleep(LINGER if CLAIMS else 0)
                if message == INTERRUPT:
                    _wait_for_end(parent)  # Python complains of a second one into a pipe without a reader
                if message in (b"", HOME, INTERRUPT, CRASH):
                    return
            started.look()
            complaint = detector.look()
            if complaint:
                self._say(complaint)
                os.kill(parent, signal.SIGKILL)
                started.end()
                time.sleep(LINGER if CLAIMS else 0)
                return

    def _say(self, what: str) -> None:
        job, now = status.job(), status.now()
        call, idle = CALLS[now], now == "" and not status.is_playing()
        if launched_size() > 1 and (idle or call.patient) and "killed" in what:
            let_others_speak(job)  # the launcher kills all ranks when one has died: it was perhaps not this one
        claimed = claim(job)  # before anything slow: the launcher is about to kill the other ranks
        iteration = status.iteration()
        episodes = status.episodes() if job else []
        of = f"of iteration {iteration}" if iteration >= 0 else f"of the evaluation after update {-iteration}"
        playing = [f"episode {number} {of} (reset seed {seed})" for seed, number in episodes]
        place = "outside the environments"
        if job.get("several_machines") and "crashed" in what:
            place += ", perhaps because a rank on another machine was killed"
        place = f"while it joined the others{shortage(launched_size())}" if now == "MPI_Init" else place
        if playing:
            place = f"while playing {job['environment']}: {', '.join(playing)}"
        elif call.whose:
            place = f"in the {call.name} of {job.get(call.whose, f'the {call.whose}')}"
        announce(claimed, f"{what} {place}", job, episodes[0][1] if episodes and iteration >= 0 else None, iteration)


def let_others_speak(job: dict[str, Any], seconds: float = 1.0) -> None:
    """Wait until another rank has said why it failed, `seconds` at most."""
    deadline = time.monotonic() + seconds
    while job.get("run") and not (Path(job["run"]) / "failure.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def claim(job: dict[str, Any]) -> int | None:
    """Return failure.txt of the run folder, opened (-1: no folder yet); None if another rank was first to fail."""
    if not job.get("run"):
        return -1 if _is_first() else None
    try:
        return os.open(Path(job["run"]) / "failure.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return None
    except FileNotFoundError:  # the root's machine has the folder, this one has not
        return -1 if _is_first() else None
    except OSError:  # a full disk, a folder that may not be written: say it on the screen at least
        return -1


def _is_first() -> bool:
    """Return whether no other rank of this launcher has spoken: while there is no run folder, a name is the claim.

    The name is an abstract address, which goes with the process that holds it; this one lingers until all have asked.
    """
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0minitrpo-{LAUNCHER}")
        claim.listen(4096)  # as many as may ask
    except OSError:
        return sys.platform != "linux" or not _is_ours(claim)  # elsewhere no such names: every rank speaks
    CLAIMS.append(claim)
    return True


def _is_ours(other: socket.socket) -> bool:
    """Return whether the name is held by a process of this user: another's must not silence a failure."""
    try:
        other.setblocking(False)  # whose queue is full would keep this one waiting
        other.connect(f"\0minitrpo-{LAUNCHER}")
        credentials = other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # pid, uid, gid
        return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()
    except OSError:
        return False


def announce(claimed: int | None, failure: str, job: dict[str, Any], episode: int | None, iteration: int) -> None:
    """Write one message to stderr and to what was claimed; the first rank to fail speaks for all."""
    if claimed is None:
        return
    lines = [f"minitrpo: rank {launched_rank()} {failure}"]
    if job.get("replay") and episode is not None:
        lines.append(f"  to play that episode in one process: {job['replay']} {episode} --iteration {iteration}")
    if job.get("resume"):
        lines.append(f"  once the cause is mended, this goes on from the last checkpoint: {job['resume']}")
    text = "\n".join(lines)
    say(text)
    if claimed >= 0:
        with suppress(OSError):  # whatever happens, the job must be ended after this
            os.write(claimed, (text + "\n").encode(errors="backslashreplace"))
        os.close(claimed)


def _wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        if select.select([0], [], [], TICK)[0] and os.read(0, 1) in (b"", HOME):
            return


def _lives(process: int) -> bool:
    """Return whether a process that lets go of everything lives on for a while."""
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        if state_of(process) in ("", "Z", "X"):
            return False
        time.sleep(0.01)
    return True
