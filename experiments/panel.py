"""The panel: all runs that are missing, the most telling ones first; rows are added to two tables.

    python -m experiments.panel FOLDER
    python -m experiments.panel FOLDER --arm wide '{"initial_log_std": 0.5}' --seeds 3

FOLDER/runs.csv has a row per run, FOLDER/curves.csv its mean return in 50 parts of its steps. What stands there is not
run again, so that the panel can be stopped and started at any time; what failed stands in FOLDER/failed.csv, and is run
again when its line is taken out. Where actions are discrete, arms that differ in --initial-log-std alone are the same
run: its rows are copied. While FOLDER/PAUSE exists no run begins. FOLDER/pids names the processes.
Ours is run on the choosing half alone, unless --held-out is said, which is for the end.
"""

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from experiments.panel_environments import CHOOSING, DISCRETE, HALVES, HELD_OUT, TASKS
from experiments.panel_run import ARMS, PEERS, RANDOM, Rows

PARTS = 50  # of a curve
LAST = 0.1  # of the episodes: the end
COLUMNS = ["task", "system", "seed", "steps", "episodes", "seconds", "cpu_seconds", "area", "end", "deviation"]
COLUMNS += ["versions", "machine"]
LONGEST = 3 * 3600  # seconds, on a machine that does other things


class Run(NamedTuple):
    """A run of a system on a task."""

    task: str
    system: str
    seed: int


def curve(rows: Rows, steps: int) -> list[float]:
    """Return the mean return of the episodes that ended in each part of the steps; NaN where none did."""
    ends, returns, counts = np.array(rows, dtype=float).T
    part = np.minimum((ends - 1) // (steps / PARTS), PARTS - 1).astype(int)
    sums, of_part = (np.bincount(part, weights, PARTS) for weights in (returns * counts, counts))
    with np.errstate(invalid="ignore"):
        return list(sums / of_part)


def filled(values: list[float]) -> list[float]:
    """Return a curve without gaps: each holds the value before it, those at the beginning the first one."""
    last, full = next(value for value in values if value == value), []
    for value in values:
        last = last if value != value else value
        full.append(last)
    return full


def end(rows: Rows) -> float:
    """Return the mean return of the last tenth of the episodes."""
    _, returns, counts = np.array(rows, dtype=float).T
    wanted = max(LAST * counts.sum(), 1)
    after = counts[::-1].cumsum()[::-1] - counts  # episodes in later rows
    return float(np.average(returns, weights=np.clip(wanted - after, 0, counts)))


def planned(arms: Iterable[str], seeds: int, held_out: bool) -> list[Run]:
    """Return all runs in their order: what a first table needs, then more seeds."""
    cheap_first = sorted(TASKS, key=lambda name: TASKS[name].steps)
    first, last = ([name for name in cheap_first if HALVES[name] == half] for half in (CHOOSING, HELD_OUT))
    runs = [Run(task, RANDOM, 0) for task in (*first, *last)]
    runs += [Run(task, system, 0) for task in first for system in (*PEERS, *arms)]
    runs += [Run(task, system, 0) for task in last for system in (*PEERS, *(arms if held_out else ()))]
    for seed in range(1, seeds):
        runs += [Run(task, system, seed) for task in first for system in (*arms, *PEERS)]
        runs += [Run(task, system, seed) for task in last for system in (*PEERS, *(arms if held_out else ()))]
    return runs


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Panel:
    """The tables, the processes, and who may write."""

    def __init__(self, folder: Path, flags: dict[str, dict[str, Any]], commit: str) -> None:
        self.folder, self.flags, self.commit = folder, ARMS | flags, commit
        self.lock, self.pids = threading.Lock(), {os.getpid()}
        folder.mkdir(parents=True, exist_ok=True)
        self.note_pids()

    def append(self, name: str, columns: list[str], row: list[Any]) -> None:
        """Add a row to a table, whole."""
        path = self.folder / name
        with self.lock, path.open("a", newline="") as file:
            csv.writer(file).writerows([row] if path.stat().st_size else [columns, row])

    def note_pids(self, begun: int = 0, ended: int = 0) -> None:
        """Write which processes there are."""
        with self.lock:
            self.pids = (self.pids | {begun}) - {0, ended}
            (self.folder / "pids").write_text("\n".join(map(str, sorted(self.pids))) + "\n")

    def done(self) -> set[Run]:
        """Return the runs that are recorded or that failed."""
        rows = read(self.folder / "runs.csv") + read(self.folder / "failed.csv")
        return {Run(row["task"], row["system"], int(row["seed"])) for row in rows}

    def record(self, run: Run) -> None:
        """Run in a process of its own, and add what it found to the tables."""
        while (self.folder / "PAUSE").exists():
            time.sleep(5)
        if self.copied(run):
            return
        words = [sys.executable, "-W", "ignore", "-m", "experiments.panel_run", run.task, run.system, str(run.seed)]
        more = ["--flags", json.dumps(self.flags[run.system])] if run.system in self.flags else []
        with TemporaryDirectory() as folder:
            out, log, begin = Path(folder) / "episodes.json", Path(folder) / "log", time.perf_counter()
            with log.open("w") as file:
                process = subprocess.Popen([*words, str(out), *more], stdout=file, stderr=file, cwd=folder)
            self.note_pids(begun=process.pid)
            timer = threading.Timer(LONGEST, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            self.note_pids(ended=process.pid)
            seconds, cpu = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
            rows: Rows = json.loads(out.read_text()) if status == 0 and out.exists() else []
            said = log.read_text(errors="replace")[-600:]
        if not rows:
            said = said or f"status {status}, no episode"
            self.append("failed.csv", ["task", "system", "seed", "seconds", "said"], [*run, round(seconds), said])
            print(f"FAILED {run.task}, {run.system}, {run.seed}: {said[-200:]}", flush=True)
            return
        steps = rows[-1][0] if run.system == RANDOM else TASKS[run.task].steps
        mean = curve(rows, steps)
        returns = [each for _, each, count in rows for _ in range(count)]
        row = [*run, steps, len(returns), round(seconds, 1), round(cpu, 1)]
        whole = float(np.mean(returns))
        scores = (whole, whole) if run.system == RANDOM else (float(np.mean(filled(mean))), end(rows))
        row += [float(f"{value:.6g}") for value in (*scores, np.std(returns))]
        self.append("curves.csv", ["task", "system", "seed", *map(str, range(PARTS))], [*run, *texts(mean)])
        self.append("runs.csv", COLUMNS, [*row, self.versions(run.system), machine()])
        print(f"{time.strftime('%H:%M:%S')} {run.task}, {run.system}, {run.seed}: {row[5:9]}", flush=True)

    def acting(self, run: Run) -> dict[str, Any] | None:
        """Return what acts of an arm's flags on a task; None for a system that is no arm of ours."""
        flags = self.flags.get(run.system)
        idle = ("initial_log_std",) if run.task in DISCRETE else ()
        return None if flags is None else {name: value for name, value in flags.items() if name not in idle}

    def copied(self, run: Run) -> bool:
        """Copy the rows of an arm that is the same on this task and at this commit, if there are such."""
        acting = self.acting(run)
        if acting is None:
            return False
        for row in read(self.folder / "runs.csv"):
            same = Run(row["task"], row["system"], int(row["seed"]))
            like = same._replace(system=run.system) == run and self.acting(same) == acting
            if like and row["versions"] == self.versions(run.system):
                curves = read(self.folder / "curves.csv")
                of_same = [c for c in curves if Run(c["task"], c["system"], int(c["seed"])) == same]
                for name, values in (("curves.csv", of_same[0]), ("runs.csv", row)):
                    self.append(name, list(values), list((values | {"system": run.system}).values()))
                return True
        return False

    def versions(self, system: str) -> str:
        """Return what made a result."""
        names = ["stable-baselines3", "sb3-contrib", "torch"] if system in PEERS else []
        ours = [f"minitrpo {self.commit}"] if system not in (*PEERS, RANDOM) else []
        return "; ".join([*ours, *(f"{name} {version(name)}" for name in (*names, "gymnasium", "numpy"))])


def texts(values: list[float]) -> list[str]:
    """Return numbers with six digits, and nothing for NaN."""
    return ["" if value != value else f"{value:.6g}" for value in values]


def machine() -> str:
    """Return the cores and the processor."""
    models = [
        line.partition(": ")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return f"{os.cpu_count()} cores, {models[0] if models else platform.machine()}"


def main() -> None:
    """Run all that is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--arm", nargs=2, action="append", metavar=("NAME", "JSON"), help="instead of those of panel_run"
    )
    parser.add_argument("--held-out", action="store_true", help="ours on the held-out half, too: once, at the end")
    parser.add_argument("--commit", default="", help="of ours, for the record")
    args = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    flags = {name: json.loads(words) for name, words in args.arm or ()}
    panel = Panel(args.folder, flags, args.commit)
    done = panel.done()
    runs = [run for run in planned(flags or ARMS, args.seeds, args.held_out) if run not in done]
    with ThreadPoolExecutor(args.jobs) as workers:
        list(workers.map(panel.record, runs))


if __name__ == "__main__":
    main()
