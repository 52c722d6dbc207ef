"""The shared memory in which ranks of one machine meet: MPI crashes without a word where there is too little of it."""

import os
from contextlib import suppress

PLACE = "/dev/shm"  # noqa: S108
MB = 2**20
PER_RANK = 8 * MB  # MPICH 5.0 joins 8 ranks on 64 MB (docker's default) and 12, not 16; 8 not on 32; 2 on 20, not on 16
CURE = "docker run --shm-size=1g, or a larger tmpfs on /dev/shm, which all may write to"


def room() -> int:
    """Return how many bytes are free for ranks to meet in: 0 if nobody may write; endless where that is not known."""
    with suppress(OSError, AttributeError):
        place = os.statvfs(PLACE)
        return place.f_bavail * place.f_frsize if os.access(PLACE, os.W_OK) else 0
    return 2**60


def enough_for(free: int) -> int:
    """Return how many ranks meet in so many bytes for sure; 16 MB and less are no sure room for two."""
    return free // PER_RANK if free > 2 * PER_RANK else 1
