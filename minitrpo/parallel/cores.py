"""How many processes can run at once here."""

import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # where Linux says how many cores' worth of time a container gets


def cores() -> int:
    """Return how many processes can truly run at once here; more ranks than that are oversubscribed.

    Counts the cores this process may use, and a container's quota of time where Linux tells it.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text().split()
        return min(usable, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max 100000": no quota
        return usable
