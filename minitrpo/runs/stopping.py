"""SIGTERM, with which a cluster takes its machine back: a run ends at its next checkpoint and can go on to the bit."""

import os
import signal
import time
from typing import Any

from minitrpo.parallel.launcher import is_command, launched_rank

STOPPED = 143  # exit code: what a shell says of a process that SIGTERM ended
IMPATIENT = 2.0  # seconds: launchers send a signal twice, a user who sends it again later will not wait
HEARD: list[float] = []


def heed_terminations() -> None:
    """From here on SIGTERM is a request to the root; launchers send it to all ranks."""
    HEARD.clear()
    if is_command():
        signal.signal(signal.SIGTERM, _remember)


def asked_to_stop() -> bool:
    """Return whether this process was asked to end soon."""
    return bool(HEARD)


def _remember(number: int, frame: Any) -> None:
    HEARD.append(time.monotonic())
    if launched_rank() == 0 and HEARD[-1] - HEARD[0] > IMPATIENT:
        os.kill(os.getpid(), signal.SIGINT)
