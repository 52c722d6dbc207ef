"""Record what lecture 10 shows of real ranks: python notebooks/recorded/10_real.py, on a machine that is idle.

Two workers descend together in four ways, ten times each, one run after the other: by messages to a server on a third
rank, with a barrier and without; and in memory that both share, with a lock around each update and without. Writes
10_real.csv (a row per run) and in origins.json (medians, bootstrap intervals, what made them). Takes about two minutes.
"""

import json
import os
from typing import Any

import numpy as np
from keep import keep
from scipy import stats

from minitrpo.course.classroom import mpiexec_code
from minitrpo.policies import Array
from minitrpo.run_folder.provenance import provenance

ROUNDS = 10
WAYS = {  # name: (mode, ranks, epochs that take a second or so)
    "messages, everybody waits": ("synchronous", 3, 40),
    "messages, nobody waits": ("asynchronous", 3, 40),
    "shared memory, with a lock": ("locked", 2, 200),
    "shared memory, without": ("hogwild", 2, 200),
}
CODE = """
import fcntl, json, sys
import minitrpo.course.parallel_sgd.descent as sgd
from minitrpo.course.parallel_sgd.problem import SGDSettings
from minitrpo.parallel.comm import connect
from minitrpo.parallel.parameter_server import staleness_of

mode, seed, epochs = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
lock = open(__file__)  # the same file for all ranks, each with its own handle

class Locked(sgd.WindowStore):
    def push(self, gradient, version):
        fcntl.flock(lock, fcntl.LOCK_EX)
        super().push(gradient, version)
        fcntl.flock(lock, fcntl.LOCK_UN)

if mode == "locked":
    sgd.WindowStore, mode = Locked, "hogwild"
comm = connect()
trace = sgd.run(SGDSettings(mode=mode, seed=seed, epochs=epochs), comm)
if comm.rank == 0:
    gradients, (mean, oldest) = int(trace.histogram.sum()), staleness_of(trace.histogram)
    print(json.dumps({"gradients": gradients, "seconds": trace.seconds[-1], "lost": trace.lost, "staleness": mean,
                      "oldest": oldest, "loss": trace.loss[-1]}))
"""


def median(values: Array) -> tuple[float, float, float]:
    """Return the median of some values and its 95 % bootstrap interval."""
    limits = stats.bootstrap((values,), np.median, n_resamples=5000, rng=0).confidence_interval
    return float(np.median(values)), float(limits.low), float(limits.high)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is shown of the runs: gradients per second in each way, and ratios of two ways of one round."""
    ways: dict[str, Any] = {}
    rates = {}
    for way in WAYS:
        own = [row for row in rows if row["way"] == way]
        rates[way] = np.array([row["gradients"] / row["seconds"] for row in own])
        middle, *limits = map(round, median(rates[way]))
        lost, updates = sum(row["lost"] for row in own), sum(row["gradients"] for row in own)
        ways[way] = {"median": middle, "interval": limits, "lost": lost, "updates": updates}
    _, messages, lock, free = rates.values()
    ratios = {"from messages to shared memory": median(lock / messages), "from a lock to none": median(free / lock)}
    busy = round(max(row["load"] for row in rows), 1)
    return {"rounds": ROUNDS, "workers": 2, "largest_load_average": busy, "ways": ways, "ratios": ratios}


def main() -> None:
    """Run all ways in turn, then write both files."""
    rows: list[dict[str, Any]] = []
    for seed in range(ROUNDS):
        for way, (mode, ranks, epochs) in WAYS.items():
            seen = json.loads(mpiexec_code(ranks, CODE, mode, seed, epochs, timeout=120))
            rows.append({"way": way, "ranks": ranks, "seed": seed, **seen, "load": os.getloadavg()[0]})
            print(rows[-1], flush=True)
    about = {**provenance(), **summary(rows)}
    keep("10_real", rows, about)


if __name__ == "__main__":
    main()
