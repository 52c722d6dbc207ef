"""Walls around a submission, made of namespaces: only its own folder may be written, the others are not there.

`sandbox` starts this file by itself, in new namespaces (`unshare`), with what it is to run; what that leaves behind
ends with it. It knows the standard library alone. Where a system has no such namespaces, `able` says so.
"""

import ctypes
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BIND, RECURSIVE, HERE, READ_ONLY = 4096, 0x8000, -100, 1  # of mount(2) and mount_setattr(2)
MOUNT_SETATTR = 442  # the number of that call, on every machine
DROP_CAPABILITY, NO_NEW_PRIVILEGES, LAST_CAPABILITY = 24, 38, 63  # of prctl(2)
FAILED = 97


def around(folder: str, hidden: list[str], command: list[str]) -> list[str]:
    """Return a command that runs another one within walls. folder: its own. hidden: folders that it is not to see."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*unshare, sys.executable, "-I", "-S", __file__, folder, json.dumps(hidden), *command]


@functools.cache
def able() -> bool:
    """Return whether this system lets this user build walls."""
    if shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = around(folder, [], [sys.executable, "-I", "-S", "-c", "open('x', 'w')"])
        done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode == 0


def build(folder: str, hidden: list[str]) -> None:
    """Make all read-only but one folder, and cover others; nobody within can undo it. OSError where that fails."""
    library = ctypes.CDLL(None, use_errno=True)

    def insist(code: int) -> None:
        if code:
            raise OSError(ctypes.get_errno(), "no walls")

    def writable(place: str, yes: bool, recursive: int) -> None:
        change = (ctypes.c_uint64 * 4)(0 if yes else READ_ONLY, READ_ONLY if yes else 0, 0, 0)
        insist(library.syscall(MOUNT_SETATTR, HERE, place.encode(), recursive, change, 32))

    insist(library.mount(folder.encode(), folder.encode(), None, BIND, None))
    for place in hidden:
        insist(library.mount(b"none", place.encode(), b"tmpfs", 0, None))
    if os.path.isdir("/dev/shm"):  # noqa: S108 - ranks of a notebook meet there
        insist(library.mount(b"none", b"/dev/shm", b"tmpfs", 0, None))
    writable("/", False, RECURSIVE)
    for place in (folder, "/dev/shm"):  # noqa: S108
        if os.path.isdir(place):
            writable(place, True, 0)
    os.chdir(folder)  # as it is now
    for capability in range(LAST_CAPABILITY):
        library.prctl(DROP_CAPABILITY, capability, 0, 0, 0)
    library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def coverable(places: list[Path], needed: list[Path]) -> list[str]:
    """Return those folders in which nothing lies that a submission needs."""
    real = {each.resolve() for each in places if each.is_dir()}
    kept = [each.resolve() for each in needed]
    return sorted(str(each) for each in real if not any(need.is_relative_to(each) for need in kept))


def main(folder: str, hidden: str, *command: str) -> int:
    """Run a command within walls; whatever it leaves behind ends when this process does, which is their first."""
    try:
        build(folder, json.loads(hidden))
    except OSError:
        return FAILED
    child = os.fork()
    if child == 0:
        os.execv(command[0], command)  # noqa: S606
    while True:
        ended, status = os.wait()  # orphans come here, too
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))
