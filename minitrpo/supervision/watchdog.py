"""The watchdog: a tiny process beside each rank that says, when the rank was killed or got stuck, what it was doing.

A launcher ends the job when a process dies, but nobody would learn which episode did it. The watchdog shares the
rank's `status` (a few integers), sleeps on a pipe, and wakes when the pipe breaks. It is forked before MPI starts.
"""

import faulthandler
import os
import select
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from minitrpo.parallel.launcher import launched_rank, launched_size
from minitrpo.supervision import status
from minitrpo.supervision.descendants import end, started_by
from minitrpo.supervision.hang_detector import TICK, HangDetector
from minitrpo.supervision.status import CALLS
from minitrpo.supervision.stderr import say

LINGER = 1.5  # seconds that a rank gives one that may know more
RARELY = 100  # times as long as it takes to look for what the rank has started passes until the next look
HOME, INTERRUPT = b"h", bytes([signal.SIGINT])  # what a rank, or its Ctrl-C, says to its watchdog
CRASH = b"F"  # how faulthandler begins, "Fatal Python error: Segmentation fault"
BEGAN, LAUNCHER = time.time(), os.getppid()  # a shell launches one job after the other


class Watchdog:
    """The rank's side: `report` what failed, `dismiss` when all went well."""

    def __init__(self, stuck_after: float) -> None:
        status.share()
        self._pipe = -1
        if hasattr(os, "fork"):
            self._fork(stuck_after)

    def heed_interrupts(self) -> None:
        """Tell the watchdog of Ctrl-C at once, even in a call that Python's handler has to wait for."""
        if self._pipe >= 0:
            os.set_blocking(self._pipe, False)
            signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)  # the signal's number is written to it

    def dismiss(self) -> None:
        """Send the watchdog home: this rank ends by itself from here on."""
        if self._pipe >= 0:
            with suppress(OSError):  # it has gone after Ctrl-C
                os.write(self._pipe, HOME)
            self._close()

    def report(self, failure: str, episode: int | None = None) -> None:
        """Print why this rank failed and in which episode, unless another rank was first; send the watchdog home."""
        announce(claim(), failure, episode)
        self.dismiss()

    def _close(self) -> None:
        """Close the pipe: at the end, and in every process that an environment forks."""
        if self._pipe >= 0:
            with suppress(ValueError):  # from the heartbeat's thread
                signal.set_wakeup_fd(-1)
            if self._hears_crashes:
                faulthandler.disable()
            os.close(self._pipe)
            self._pipe = -1

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
        os.register_at_fork(after_in_child=self._close)
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
        detector, started, next_look, interrupted = HangDetector(parent, stuck_after), set[Any](), 0.0, False
        while True:
            gone = os.getppid() != parent  # a child of the environment's may hold the pipe open
            ready, _, _ = select.select([0], [], [], 0 if gone else TICK)
            message = os.read(0, 1) if ready else b""
            interrupted |= message == INTERRUPT
            ended = gone or (bool(ready) and message in (b"", CRASH))
            complaint = "crashed" if message == CRASH else "was killed or crashed" if ended else detector.look()
            if message == HOME or (ended and interrupted):
                return
            if complaint and not interrupted:
                _say(complaint)
                if not gone and message != CRASH:
                    os.kill(parent, signal.SIGKILL)
                end(started | started_by(parent))  # a launcher waits for whoever holds what it gave the rank
                return
            if time.monotonic() >= next_look:  # when the rank has gone, nobody knows whose children they are
                began = time.monotonic()
                started = {each for each in started if each.is_running()} | started_by(parent)
                next_look = began + RARELY * (time.monotonic() - began)


def _say(what: str) -> None:
    """Print what has become of the rank, and in which call or episodes."""
    job, now = status.job(), status.now()
    call, idle = CALLS[now], now == "" and not status.is_playing()
    if launched_size() > 1 and (idle or call.patient) and "killed" in what:
        let_others_speak()  # the launcher kills all ranks when one has died: it was perhaps not this one
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
    elif job.get("several_machines") and "crashed" in what:
        place += ", perhaps because a rank on another machine was killed"
    announce(claimed, f"{what} {place}", episodes[0][1] if episodes and iteration >= 0 else None)


def let_others_speak(seconds: float = 1.0) -> None:
    """Wait until another rank has said why it failed, `seconds` at most."""
    deadline, run = time.monotonic() + seconds, status.job().get("run")
    while run and not (Path(run) / "failure.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def claim() -> int | None:
    """Return a file for the message, failure.txt of the run folder, opened; None if another rank was first to fail.

    Before there is a run folder, it is one of this launcher's; -1 where none can be had, or is needed.
    """
    run = status.job().get("run")
    for path in ([Path(run) / "failure.txt"] if run else []) + ([_of_launcher()] if launched_size() > 1 else []):
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return None
        except FileNotFoundError:  # the root's machine has the folder, this one has not
            continue
        except OSError:  # a full disk, a folder that may not be written: say it on the screen at least
            break
    return -1


def _of_launcher() -> Path:
    """Return the file with which a rank of this launcher is the first to speak, while there is no run folder."""
    path = Path(tempfile.gettempdir()) / f"minitrpo-{getattr(os, 'getuid', int)()}-{LAUNCHER}"
    with suppress(OSError):
        if path.stat().st_mtime < BEGAN - 60:  # of another launcher, which had the same number
            path.unlink()
    return path


def announce(claimed: int | None, failure: str, episode: int | None) -> None:
    """Write one message to stderr and to what was claimed; the first rank to fail speaks for all."""
    if claimed is None:
        return
    job, lines = status.job(), [f"minitrpo: rank {launched_rank()} {failure}"]
    if job.get("replay") and episode is not None:
        again = f"{job['replay']} {episode} --iteration {status.iteration()}"
        lines.append(f"  to play that episode in one process: {again}")
    if job.get("resume"):
        lines.append(f"  once the cause is mended, this goes on from the last checkpoint: {job['resume']}")
    text = "\n".join(lines)
    say(text)
    if claimed >= 0:
        with suppress(OSError):  # whatever happens, the job must be ended after this
            os.write(claimed, (text + "\n").encode(errors="backslashreplace"))
        os.close(claimed)
