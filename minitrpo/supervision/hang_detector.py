"""Whether a rank gets any further: what its watchdog looks at once a second."""

import time
from pathlib import Path

from minitrpo.parallel.launcher import launched_rank, launched_size
from minitrpo.supervision import status
from minitrpo.supervision.status import CALLS
from minitrpo.supervision.stderr import say

STUCK_AFTER = 30.0  # seconds without a call that returns: the default
PATIENCE = 20  # times as long as an environment's call may an algorithm's take: an update is rightly slow
TICK = 1.0  # seconds between two looks


class HangDetector:
    """How long a rank gets no further, in time that its watchdog saw pass: who is suspended with it counts nothing."""

    def __init__(self, process: int, stuck_after: float) -> None:
        self._process, self._stuck_after = process, stuck_after
        self._still, self._stopped, self._heartbeat, self._last = 0.0, 0.0, -1, time.monotonic()

    def look(self) -> str:
        """Return why the rank is to be ended, "" if it is not."""
        clock, heartbeat = time.monotonic(), status.heartbeat()
        passed, self._last = min(clock - self._last, 2 * TICK), clock
        now, state = status.now(), state_of(self._process)
        if state == "T" and launched_size() > 1:  # alone: Ctrl-Z
            return self._look_at_stopped(passed)
        self._stopped = 0.0
        if heartbeat != self._heartbeat or now == "" or state in ("T", "t"):
            self._still, self._heartbeat = 0.0, heartbeat
            return ""
        self._still += passed
        call = CALLS[now]
        limit = self._stuck_after * (PATIENCE if call.patient else 1)
        if self._still <= limit:
            return ""
        if now == "step":
            return f"is stuck: no environment step for {limit:g} s"
        longer = f", {PATIENCE} times --stuck-after," if call.patient else ""
        return f"is stuck: {call.name} has not returned for {limit:g} s{longer}"

    def _look_at_stopped(self, passed: float) -> str:
        """Say once that the others wait for this rank; after a long time they have waited enough."""
        before, self._stopped = self._stopped, self._stopped + passed
        if before <= self._stuck_after < self._stopped:
            say(
                f"minitrpo: rank {launched_rank()} is stopped, and the others wait for it: "
                f"kill -CONT {self._process} lets it go on"
            )
        limit = PATIENCE * self._stuck_after
        return f"was stopped (SIGSTOP) and did not go on for {limit:g} s" if self._stopped > limit else ""


def state_of(process: int) -> str:
    """Return a letter for what a process does: T stopped, t traced, Z ended; "" if it is not there, or not Linux."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
