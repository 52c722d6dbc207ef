"""How busy this machine is: other programs make a measured time too long. Serves lectures 06 and 08."""

import os
import sys

import psutil

BUSY = 0.2  # of all cores: 0.4 of 2, 1.6 of 8


def busy_share(seconds: float = 0.3) -> float:
    """Return which part of all cores is in use while this process sleeps that long, 0 to 1."""
    return float(psutil.cpu_percent(seconds)) / 100


def load_share() -> float:
    """Return the load average of the last minute for each core: programs that wanted to run."""
    return float(psutil.getloadavg()[0]) / (os.cpu_count() or 1)


class Others:
    """Which part of all cores other programs use, from here on: what is in use, less this process and its children.

    Children count when they have ended and were waited for.
    """

    def __init__(self) -> None:
        self._began = self._now()

    def share(self) -> float:
        """Return the share since this was made, 0 to 1."""
        used, total, own = (after - before for after, before in zip(self._now(), self._began, strict=True))
        return max(0.0, used - own) / max(total, 0.01)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Return seconds: of all cores together in use and in all, and of this process and its children."""
        times = psutil.cpu_times()._asdict()
        total = sum(seconds for name, seconds in times.items() if not name.startswith("guest"))  # which user holds
        return total - times["idle"] - times.get("iowait", 0.0), total, sum(os.times()[:4])


class Recording:
    """How idle the machine was during a long recording, for the record; a recording begins only on an idle machine.

    SystemExit, with the cure, if others use more than BUSY of the cores at the beginning; --even-if-busy goes on.
    """

    def __init__(self) -> None:
        self._before, self._others = busy_share(2.0), Others()
        if self._before > BUSY and "--even-if-busy" not in sys.argv:
            busy = f"{self._before:.0%} of its cores in use, {BUSY:.0%} allowed"
            sys.exit(f"not recorded: this machine is busy ({busy}). Wait, or say --even-if-busy")

    def conditions(self) -> str:
        """Return one line about what else ran, before and during the recording."""
        return f"other programs used {self._before:.0%} of the cores before it, {self._others.share():.0%} during it"
