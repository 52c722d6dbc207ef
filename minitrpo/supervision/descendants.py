"""What a rank has started, and what that has started: a worker that outlives it would keep the launcher waiting."""

import os
import signal
from contextlib import suppress
from pathlib import Path

SPARED = b"resource_tracker"  # multiprocessing's: it clears up shared memory and leaves when all others have gone
ROUNDS = 20  # who is being ended may still start another


class Descendants:
    """The processes under one, as they were at the last look: when it has gone, nobody knows whose children they are.

    Where it leads a session of its own, as under MPICH's mpiexec, all that are in the session belong to it, too.
    """

    def __init__(self, process: int) -> None:
        self._process, self._seen = process, set[tuple[int, str]]()
        with suppress(OSError, AttributeError):
            self._leads = os.getsid(process) == process
            return
        self._leads = False

    def look(self) -> None:
        """Remember who is there."""
        waiting, self._seen = children(self._process), {each for each in self._seen if each[1] == began(each[0])}
        while waiting:
            process = waiting.pop()
            if process != os.getpid() and (process, began(process)) not in self._seen:
                self._seen.add((process, began(process)))
                waiting += children(process)

    def end(self) -> None:
        """End them all, but not the process itself nor who asks for it."""
        for _ in range(ROUNDS):
            self.look()
            session = in_session(self._process) if self._leads else []
            left = {process for process, _ in self._seen} | set(session)
            left = {each for each in left - {self._process, os.getpid()} if not is_spared(each)}
            if not left:
                return
            for each in left:
                with suppress(OSError):
                    os.kill(each, signal.SIGKILL)


def children(process: int) -> list[int]:
    """Return the processes that a process has started and that are there; none where the system does not say."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def in_session(leader: int) -> list[int]:
    """Return the processes of a session."""
    with suppress(OSError):
        numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        return [number for number in numbers if _stat(number)[3:4] == [str(leader)]]
    return []


def began(process: int) -> str:
    """Return when a process began, "" if it is not there: a number is given again to another process."""
    return (_stat(process)[19:20] or [""])[0]


def is_spared(process: int) -> bool:
    """Return whether a process has ended already, or ends by itself."""
    with suppress(OSError):
        return _stat(process)[:1] in (["Z"], ["X"], []) or SPARED in Path(f"/proc/{process}/cmdline").read_bytes()
    return True


def _stat(process: int) -> list[str]:
    """Return what /proc says of a process, from its state on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
