"""A file system that fails at the n-th call: what python is told of a full disk, a bad wire, too many open files."""

import builtins
import io
import os
from pathlib import Path

CALLS = ("open", "mkdir", "replace", "unlink", "fsync", "truncate", "stat")  # of module os, beside io.open
METHODS = ("write", "flush", "close", "read", "truncate")  # of a file


class Faults:
    """Counts the calls about what lies in a folder, and lets the n-th of them fail, and with `lasting` all that follow.

    A close or a stat never fails.
    """

    def __init__(self, folder, number, error, lasting=False):
        self.folder, self.number, self.error, self.lasting = str(folder), number, error, lasting
        self.calls = []  # open, write, ...; those that only read begin with "reading"

    def look(self, what, about, readonly=False):
        """Count a call, and raise if its turn has come."""
        if not self.is_here(about) or what in ("close", "stat", "flush"):
            return
        self.calls.append(f"reading {what}" if readonly else what)
        due = len(self.calls) >= self.number if self.lasting else len(self.calls) == self.number
        if due and can_fail(self.calls[-1], self.error):
            number = getattr(__import__("errno"), self.error)
            raise OSError(number, os.strerror(number), str(self.path(about)))

    def path(self, about):
        """Return the name of a file, that of a descriptor too."""
        if not isinstance(about, int):
            return os.path.abspath(os.fspath(about))
        try:
            return os.readlink(f"/proc/self/fd/{about}")
        except OSError:
            return ""

    def is_here(self, about):
        name = self.path(about)
        return name == self.folder or name.startswith(self.folder + "/")

    def install(self):
        """Take the place of python's own functions, in this process, for good."""
        for name in CALLS:
            setattr(os, name, self.watched(name, getattr(os, name)))
        builtins.open = io.open = self.watched_open(io.open)

    def watched(self, name, function):
        def call(about, *args, **options):
            writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
            reads = name == "open" and not (args[0] if args else options["flags"]) & writes
            self.look(name, about, readonly=reads)
            return function(about, *args, **options)

        return call

    def watched_open(self, function):
        def call(about, mode="r", *args, **options):
            if not self.is_here(about):
                return function(about, mode, *args, **options)
            readonly = not set(mode) & set("wax+")
            if not isinstance(about, int) and "opener" not in options:  # an opener calls os.open
                self.look("open", about, readonly)
            return File(function(about, mode, *args, **options), self.path(about), self, readonly)

        return call


def can_fail(call, error):
    """Return whether a call may fail so: reading needs no room, and opening alone needs a descriptor."""
    return {"EIO": True, "ENOSPC": not call.startswith("reading"), "EMFILE": call.endswith("open")}[error]


class File:
    """A file whose calls are counted."""

    def __init__(self, file, path, faults, readonly):
        self.__dict__ |= {"_file": file, "_path": path, "_faults": faults, "_readonly": readonly}

    def __getattr__(self, name):
        if name in METHODS:
            self._faults.look(name, self._path, self._readonly)
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __iter__(self):
        return iter(self._file)


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
