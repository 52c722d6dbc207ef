"""What the scripts of this folder share: where the tree is, how a run is started here, and how a result is kept."""

import datetime
import os
import re
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT)]

import report  # noqa: E402

from experiments import tables  # noqa: E402
from experiments.harness import machine_and_version  # noqa: E402
from minitrpo.algorithms.registry import ALGORITHMS  # noqa: E402
from minitrpo.run_folder.provenance import provenance  # noqa: E402

TRAIN = ("-m", "minitrpo", "train")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was set up is taken down, as at Ctrl-C
HASH = re.compile(r"^theta sha256: ([0-9a-f]{64})$", re.MULTILINE)
CHEAP = ("--env", "CartPole-v1", "--steps-per-update", "500", "--total-steps", "4000", "--progress", "none")


def family(sync):
    """Return the algorithms whose ranks keep step so, "barrier" or "asynchronous", each with its environment."""
    environments = {name: re.findall(r"--env \S+", entry.trial)[0] for name, entry in ALGORITHMS.items()}
    return {name: tuple(env.split()) for name, env in environments.items() if ALGORITHMS[name].sync == sync}


FAMILY, ASYNCHRONOUS = family("barrier"), family("asynchronous")


def environment():
    """Return the variables for a job: this tree, this Python's own launcher."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PATH": path, "PYTHONPATH": own}


def alone(*words, timeout=300.0):
    """Run train in one process; return what it printed. RuntimeError if it fails."""
    done = subprocess.run(
        [sys.executable, *TRAIN, *map(str, words)], env=environment(), capture_output=True, text=True, timeout=timeout,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def sha256(text):
    """Return the hash that a run printed, "" if none."""
    found = HASH.findall(text)
    return found[-1] if found else ""


def keep(name, rows):
    """Record the rows of a result and what made it, and write the page."""
    command = re.sub(r" --keep \S+", "", provenance()["command"])  # where environments lay says nothing
    machine, version = machine_and_version()
    columns = {column: [row.get(column, "") for row in rows] for column in dict.fromkeys(chain(*rows))}
    made = {"experiment": name, "version": version, "date": f"{datetime.date.today()}"}
    tables.add(report.RESULTS, made, command, machine, {"rows": columns})
    report.main()
    print(f"kept in {report.RESULTS.relative_to(ROOT)}")


def unavailable(reason):
    """Say in one line what this machine lacks, and leave with exit code 2."""
    print(f"{Path(sys.argv[0]).name}: not on this machine: {reason}", file=sys.stderr)
    sys.exit(2)


class Table:
    """Lines of a result as they come: what was tried, whether it went well, what was seen, in how many seconds."""

    def __init__(self):
        self.rows, self.began = [], time.monotonic()

    def add(self, what, well, seen="", **numbers):
        """Keep a line and print it."""
        seconds = round(time.monotonic() - self.began, 1)
        self.rows.append({"what": what, "well": bool(well), "seen": seen, "seconds": seconds, **numbers})
        told = ", ".join(f"{name} {value}" for name, value in numbers.items())
        print(f"{'ok  ' if well else 'FAIL'} {seconds:6.1f} s  {what}: {seen}{' ' if told else ''}{told}", flush=True)
        self.began = time.monotonic()

    @property
    def well(self):
        """Return whether all lines are."""
        return all(row["well"] for row in self.rows)


class Built:
    """What `_build` sets up for the length of a `with`, and `close` takes away again, also when building it failed."""

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()
