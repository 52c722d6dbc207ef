"""What a rank has started, and what that has started: a worker that outlives it would keep the launcher waiting."""

import os
from contextlib import suppress
from typing import Any

SPARED = "resource_tracker"  # multiprocessing's: it clears up shared memory and leaves when all others have gone


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
