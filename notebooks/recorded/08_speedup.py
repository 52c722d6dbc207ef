"""Record what lecture 08 shows: python notebooks/recorded/08_speedup.py, on an idle machine. Takes about four minutes.

A word behind it, such as learners, measures that part alone.

Four measurements, each a CSV file with a row per timed update and a JSON file with what made it:
08_speedup (a job of 20,000 steps on 1, 2, 4, 8 ranks) and 08_weak (5,000 steps a rank), both by `minitrpo speedup`;
08_learners (who learns, and when: whole updates on 1 and 2 ranks); 08_spinning (rank 0 among ranks that wait).
"""

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.classroom import mpiexec_code
from minitrpo.course.machine import Recording
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.course.speedup.statistics import interval, speedup, speedup_interval
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.metrics_log import SECONDS
from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
ROUNDS, UPDATES = 4, 4  # timed updates of a run; one before them warms up
SPEEDUP = {
    "08_speedup": "--ranks 1,2,4,8 --updates 4 --rounds 4",
    "08_weak": "--ranks 1,2,4 --updates 4 --rounds 4 --steps-per-update 5000 --weak",
}
REACHER = ["--env", "Reacher-v5", "--steps-per-update", "20000", "--total-steps", str((UPDATES + 1) * 20_000)]
LEARNERS = {  # (scheme, ranks) -> arguments of train
    ("paper, root learns", 1): ["--preset", "paper"],
    ("paper, root learns", 2): ["--preset", "paper"],
    ("paper, both learn", 2): ["--preset", "paper", "--learner", "sharded"],
    ("episodes, root learns", 1): ["--preset", "episodes"],
    ("episodes, root learns", 2): ["--preset", "episodes"],
    ("episodes, both learn", 2): ["--preset", "episodes", "--learner", "sharded"],
}
WAITING = """
import sys, time
from mpi4py import MPI
from minitrpo.parallel.comm import connect

comm = connect()
for wait in (comm.barrier, MPI.COMM_WORLD.Barrier):
    comm.barrier()
    start = time.perf_counter()
    if comm.rank == 0:
        sum(range(int(sys.argv[1])))
    wait()
    if comm.rank == 0:
        print(time.perf_counter() - start)
"""
Row = dict[str, Any]


def strong_and_weak() -> None:
    """Run `minitrpo speedup` for a job of one size, and for one that grows."""
    for name, words in SPEEDUP.items():
        recording = Recording()
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "speedup"
            command = [sys.executable, "-m", "minitrpo", "speedup", *words.split(), "--out", str(out)]
            subprocess.run(command, check=True)
            shutil.copy(out / "speedup.csv", HERE / f"{name}.csv")
            about = json.loads((out / "speedup.json").read_text())
        about["settings"].pop("out")
        about["provenance"]["conditions"] = recording.conditions()
        about["provenance"]["command"] = f"python -m minitrpo speedup {words}"
        (HERE / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n")


def learners() -> list[Row]:
    """Return a row per timed update of every scheme."""
    rows: list[Row] = []
    for number, (scheme, ranks) in by_turns(ROUNDS, list(LEARNERS)):
        found = timed_run(ranks, [*REACHER, *LEARNERS[scheme, ranks]])
        for i in range(1, UPDATES + 1):
            row = {"scheme": scheme, "ranks": ranks, "round": number, "update": i + 1}
            rows.append(row | {name: round(found[name][i], 6) for name in SECONDS})
    return rows


def learners_summary(rows: list[Row]) -> list[Row]:
    """Return the median of every scheme, and its speed-up over the same preset on one rank."""
    lines = []
    for scheme, ranks in LEARNERS:
        here = [row["iteration_s"] for row in rows if (row["scheme"], row["ranks"]) == (scheme, ranks)]
        start = f"{scheme.partition(',')[0]}, root learns"
        base = [row["iteration_s"] for row in rows if (row["scheme"], row["ranks"]) == (start, 1)]
        line = {"scheme": scheme, "ranks": ranks, "median_iteration_s": float(np.median(here))}
        line |= {"interval_s": interval(here), "speedup": speedup(base, here)}
        lines.append(line | {"speedup_interval": speedup_interval(base, here) if ranks > 1 else (1.0, 1.0)})
    return lines


def spinning() -> list[Row]:
    """Return seconds that rank 0 needs for the same sum, the others asleep or spinning."""
    rows: list[Row] = []
    for number, ranks in by_turns(ROUNDS, (2, 8)):
        asleep, spun = map(float, mpiexec_code(ranks, WAITING, 40_000_000).split())
        rows.append({"ranks": ranks, "round": number, "asleep_s": round(asleep, 6), "spinning_s": round(spun, 6)})
    return rows


def write(name: str, rows: list[Row], recording: Recording, load: tuple[float, ...], about: Row) -> None:
    """Write rows as CSV, and beside them what made them."""
    with (HERE / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    origin = {**provenance(), "usable_cores": cores(), "load_before": load, "load_after": os.getloadavg()}
    origin["conditions"] = recording.conditions()
    (HERE / f"{name}.json").write_text(json.dumps({"provenance": origin, **about}, indent=2) + "\n")


def who_learns() -> None:
    """Measure whole updates by who learns."""
    recording, load = Recording(), os.getloadavg()
    rows = learners()
    words = {f"{scheme}, {ranks} rank(s)": shlex.join([*REACHER, *more]) for (scheme, ranks), more in LEARNERS.items()}
    write("08_learners", rows, recording, load, {"arguments_of_train": words, "summary": learners_summary(rows)})


def who_spins() -> None:
    """Measure what ranks cost that wait without sleeping."""
    recording, load = Recording(), os.getloadavg()
    rows = spinning()
    factors = {
        str(ranks): speedup(
            *([row[key] for row in rows if row["ranks"] == ranks] for key in ("spinning_s", "asleep_s"))
        )
        for ranks in (2, 8)
    }
    write("08_spinning", rows, recording, load, {"slow_down_by_spinning": factors})


PARTS = {"speedup": strong_and_weak, "learners": who_learns, "spinning": who_spins}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
