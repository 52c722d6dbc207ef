"""Processes that a grader starts: with few variables and little memory, ended with all that they have started."""

import ctypes
import os
import signal
import site
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import minitrpo

# All of our own variables that a submission gets: what else is there is nobody's business
KEPT = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "MUJOCO_GL", "PYTHONHASHSEED", "VIRTUAL_ENV"}
DIE_WITH_PARENT, ADOPT_ORPHANS = 1, 36  # of prctl(2)


def children(process: int) -> list[int]:
    """Return the processes that a process has started and that are there; none where the system does not say."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def is_spared(process: int) -> bool:
    """Return whether a process has ended already, or ends by itself, as multiprocessing's resource tracker does."""
    with suppress(OSError, IndexError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state in ("Z", "X") or b"resource_tracker" in Path(f"/proc/{process}/cmdline").read_bytes()
    return True


def end(child: subprocess.Popen[Any]) -> None:
    """End the process and those that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def die_with(parent: int) -> None:
    """Let this process, which is about to be another program, end when the grader does, however that ends."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limited(memory: int, parent: int) -> None:
    """Allow this process, which is about to be another program, so many MiB, and no longer life than its parent."""
    die_with(parent)
    with suppress(ImportError, ValueError, OSError):  # Windows, or a smaller limit that is there already
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (memory * 2**20, hard))


def environment(folder: str) -> dict[str, str]:
    """Return the variables of a process that works in this folder: what else we have is nobody's business."""
    root = str(Path(minitrpo.__file__).parents[1])
    return {key: value for key, value in os.environ.items() if key in KEPT} | {
        "HOME": folder,
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MINITRPO_BUDGET": "quick",
        "MPLBACKEND": "Agg",
        "TMPDIR": folder,
        "IPYTHONDIR": folder,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }


@contextmanager
def sweeping() -> Iterator[Callable[[], None]]:
    """Adopt whoever loses its parent meanwhile; yield what ends all that have come, whatever sessions they are in."""
    library, before = ctypes.CDLL(None), set(children(os.getpid()))

    def adopt(yes: int) -> None:
        with suppress(AttributeError):
            library.prctl(ADOPT_ORPHANS, yes, 0, 0, 0)

    def sweep() -> None:
        while new := set(children(os.getpid())) - before:
            for process in new:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                with suppress(OSError):
                    os.waitpid(process, 0)

    adopt(1)
    try:
        yield sweep
    finally:
        adopt(0)
