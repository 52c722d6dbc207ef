"""Record the two ratios of lecture 07: python notebooks/recorded/07_times.py, on an idle machine, in half a minute.

Writes 07_times.csv (a row per measurement) and in origins.json (medians, what made it): how long 20,000 steps take from
2 ranks to the root, and how long 2 ranks collect 1,000 steps of HalfCheetah as one episode or as segments.
"""

import json
import os
from typing import Any

import numpy as np
from keep import keep

from minitrpo.course.classroom import mpiexec_code
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.provenance import provenance

ROUNDS = 4
TRAVEL = """
import json, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
mine, counts, theta = np.ones((10_000, 24)), [240_000, 240_000], np.ones(5_000)
ways = {
    "gather": lambda: np.concatenate(comm.gather(mine) or [mine]),
    "Gatherv": lambda: comm.Gatherv(mine, [np.empty((20_000, 24)), counts]),
    "Bcast of theta": lambda: comm.Bcast(theta),
}
for name, way in ways.items():
    seconds = []
    for _ in range(25):
        comm.Barrier()
        start = time.perf_counter()
        way()
        comm.Barrier()
        seconds.append(time.perf_counter() - start)
    ways[name] = float(np.median(seconds))
if comm.rank == 0: print(json.dumps(ways))
"""
JOB = ["--preset", "episodes", "--env", "HalfCheetah-v5", "--steps-per-update", "1000", "--total-steps", "12000"]


def main() -> None:
    """Measure by turns and write both files."""
    load = os.getloadavg()
    rows: list[dict[str, Any]] = []
    for number, what in by_turns(ROUNDS, ("travel", "episodes", "segments")):
        if what == "travel":
            found = json.loads(mpiexec_code(2, TRAVEL))
        else:
            columns = timed_run(2, [*JOB, "--requests", what])
            found = {what: float(np.median((columns["collect_s"] + columns["wait_s"])[1:]))}
        rows += [{"what": name, "round": number, "milliseconds": round(1e3 * s, 4)} for name, s in found.items()]
        print(number, found, flush=True)
    medians = {
        name: float(np.median([row["milliseconds"] for row in rows if row["what"] == name]))
        for name in dict.fromkeys(row["what"] for row in rows)
    }
    about = {
        "arguments_of_train": JOB,
        "rounds": ROUNDS,
        "provenance": {**provenance(), "usable_cores": cores(), "load_before": load, "load_after": os.getloadavg()},
        "travel_ms": {name: medians[name] for name in ("gather", "Gatherv", "Bcast of theta")},
        "collecting_ms": {name: medians[name] for name in ("episodes", "segments")},
    }
    keep("07_times", rows, about)


if __name__ == "__main__":
    main()
