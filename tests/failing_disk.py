"""A file system that fails at the n-th call: what python is told of a full disk, a bad wire, too many open files."""

import builtins
import errno
import io
import os
import signal
from pathlib import Path

CALLS = ("open", "mkdir", "replace", "unlink", "fsync", "truncate")  # of module os, beside io.open
NEED_ROOM = ("open", "mkdir", "fsync", "write")


class Faults:
    """Counts the calls about what lies in a folder, lets the n-th fail, and with `lasting` all later that need room."""

    def __init__(self, folder, number, error, lasting):
        self.folder, self.number, self.error, self.lasting = folder, number, error, lasting
        self.calls = []  # open, write, ...; those that only read begin with "reading"

    def look(self, what, about):
        """Count a call, and raise if its turn has come."""
        path = path_of(about)
        if not f"{path}/".startswith(f"{self.folder}/"):
            return
        self.calls.append(what)
        later = self.lasting and 0 < self.number < len(self.calls) and what in NEED_ROOM
        if len(self.calls) == self.number or later:
            if self.error == "KILL":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(getattr(errno, self.error), os.strerror(getattr(errno, self.error)), path)

    def install(self):
        """Take the place of python's own functions, in this process, for good."""
        for name in CALLS:
            setattr(os, name, self.watched(name, getattr(os, name)))
        builtins.open = io.open = self.watched_open(io.open)

    def watched(self, name, function):
        def call(about, *args, **options):
            writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
            reads = name == "open" and not (args[0] if args else options["flags"]) & writes
            self.look(f"reading {name}" if reads else name, about)
            return function(about, *args, **options)

        return call

    def watched_open(self, function):
        def call(about, mode="r", *args, **options):
            if not isinstance(about, int) and "opener" not in options:  # an opener calls os.open
                self.look("open" if set(mode) & set("wax+") else "reading open", about)
            file = function(about, mode, *args, **options)
            return File(file, path_of(about), self) if set(mode) & set("wax+") else file

        return call


def path_of(about):
    """Return the name of a file, that of a descriptor, too."""
    if not isinstance(about, int):
        return os.path.abspath(os.fspath(about))
    try:
        return os.readlink(f"/proc/self/fd/{about}")
    except OSError:
        return ""


class File:
    """A file whose calls that write are counted."""

    def __init__(self, file, path, faults):
        self.__dict__ |= {"_file": file, "_path": path, "_faults": faults}

    def __getattr__(self, name):
        if name in ("write", "truncate"):
            self._faults.look(name, self._path)
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


def main_with(words):
    """Run train with faults: folder, number, error, lasting, then its own words; write which calls there were."""
    from minitrpo.commands import train

    folder, number, error, lasting, *words = words
    faults = Faults(folder, int(number), error, lasting == "lasting")
    faults.install()
    try:
        return train.main(words)
    finally:
        Path(folder).with_name("calls").write_text("\n".join(faults.calls))
