"""Run a command of minitrpo in a fork of this process: a process of its own without the seconds of starting one."""

import faulthandler
import gc
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings

from conftest import SCRIPTS, TOYS, lasting

import minitrpo.supervision.watchdog
from minitrpo.commands import replay, train, watch
from minitrpo.course.claims import command as figures
from minitrpo.course.grading import command as grade
from minitrpo.course.grading import leaderboard
from minitrpo.course.speedup import command as speedup

MAINS = {"train": train.main, "speedup": speedup.main, "watch": watch.main, "replay": replay.main, "grade": grade.main}
MAINS |= {"figures": figures.main, "entry": leaderboard.main}


class Forked:
    """A command at work; `end` waits until it and everything it started have let go of stderr."""

    def __init__(self, command, words, cwd):
        self.command, self.words = command, list(map(str, words))
        self.stdout = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self.stderr, writing = os.pipe()
        self.began = time.monotonic()
        gc.freeze()  # a collection in the fork would copy all pages
        self.pid = os.fork()
        if self.pid == 0:
            self._become(writing, cwd)
        os.close(writing)

    def _become(self, writing, cwd):
        code = 99
        try:
            gc.disable()
            faulthandler.disable()
            for number in (signal.SIGINT, signal.SIGALRM):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            os.setsid()
            null = os.open(os.devnull, os.O_RDONLY)
            for ours, theirs in ((null, 0), (self.stdout.fileno(), 1), (writing, 2)):
                os.dup2(ours, theirs)
            os.closerange(3, 256)
            sys.stdout = os.fdopen(1, "w")
            sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
            os.chdir(cwd)
            sys.path.insert(0, str(TOYS))
            os.environ["PYTHONPATH"] = os.pathsep.join([str(TOYS), *filter(None, [os.environ.get("PYTHONPATH")])])
            sys.argv = [str(SCRIPTS / f"{self.command}.py"), *self.words]
            warnings.resetwarnings()  # those that pytest makes errors of
            sys.modules["__main__"].__spec__ = None  # a script, not python -m pytest
            train.learning_curve = lambda folder, *charts: "no picture"  # takes a second
            minitrpo.supervision.watchdog.LAUNCHER = os.getpid()  # claims of other tests are not ours
            code = MAINS[self.command](self.words)
            sys.stdout.flush()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 98
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code or 0)

    def end(self, timeout=30):
        """Return self with code, out and err."""
        err, until = b"", self.began + timeout
        while True:
            ready, _, _ = select.select([self.stderr], [], [], max(0, until - time.monotonic()))
            if not ready:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"no end after {timeout} s: {self.words}\n{err.decode()}")
            piece = os.read(self.stderr, 65536)
            if not piece:
                break
            err += piece
        os.close(self.stderr)
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        self.stdout.seek(0)
        self.out, self.err = self.stdout.read().decode(errors="replace"), err.decode(errors="replace")
        self.stdout.close()
        return self

    def __str__(self):
        return f"{self.command} {' '.join(self.words)}\nexit code {self.code}\n{self.out}\n{self.err}"


def forked(command, *words, cwd, timeout=30):
    """Return the finished command, with code, out and err."""
    return Forked(command, words, cwd).end(timeout)


def goes_on_to_the_bit(words, folder):
    """Train into a new folder, and again from the checkpoint before the last: the same end, to the bit."""
    whole = forked("train", *words, "--progress", "none", "--out", "whole", cwd=folder, timeout=60)
    assert whole.code == 0, whole
    shutil.copytree(folder / "whole", folder / "again")
    (folder / "again" / "checkpoint_before.npz").replace(folder / "again" / "checkpoint.npz")
    last_env = max((i for i, word in enumerate(words) if word == "--env"), default=0)
    named = (
        (*words[:2], *words[last_env : last_env + 2]) if words[:1] == ("--algorithm",) else ()
    )  # their modules may lie here
    again = forked("train", "--resume", "again", *named, "--progress", "none", cwd=folder, timeout=60)
    assert again.code == 0, again
    assert "row(s) after update" in again.out, "an update was lost, and is made again"
    assert lasting(folder / "again") == lasting(folder / "whole")
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
