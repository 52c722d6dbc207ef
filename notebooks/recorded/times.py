"""Record seconds that lectures 07, 08 and 10 show: python notebooks/recorded/times.py [NAME ...], on an idle machine.

08_speedup: whole updates of Reacher, for a job that is the same on any number of ranks, for one that grows with them,
and where rank 0 learns or both do (7 minutes). 07_times: how long 2 ranks collect 1,000 steps of HalfCheetah as one
episode or as segments. 08_spinning: how long rank 0 works among ranks that wait asleep or spin. 10_real: two workers
that descend together in four ways, by messages and in shared memory (2 minutes).
"""

import json
import sys

import numpy as np
from keep import Row, keep

from minitrpo.course.classroom import mpiexec_code
from minitrpo.course.machine import Recording
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.run_folder.metrics_log import SECONDS

ROUNDS, UPDATES = 4, 4  # timed updates of a run; one before them warms up
STEPS = 20_000
# The preset had this fraction when 08_speedup was recorded (0.3.0); since then it takes all states.
PAPER = "--preset paper --fisher-fraction 0.2"
RUNS = {("20,000 steps", ranks): (STEPS, PAPER) for ranks in (1, 2, 4, 8)}
RUNS |= {("5,000 steps a rank", ranks): (5_000 * ranks, PAPER) for ranks in (1, 2, 4)}
RUNS |= {("root learns", ranks): (STEPS, "--preset episodes") for ranks in (1, 2)}
RUNS |= {("both learn", 2): (STEPS, "--preset episodes --learner sharded")}
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
WAYS = {  # name: (mode, ranks, epochs that take a second or so)
    "messages, everybody waits": ("synchronous", 3, 40),
    "messages, nobody waits": ("asynchronous", 3, 40),
    "shared memory, with a lock": ("locked", 2, 200),
    "shared memory, without": ("hogwild", 2, 200),
}
DESCENT = """
import fcntl, json, sys
import minitrpo.course.parallel_sgd.descent as sgd
from minitrpo.course.parallel_sgd.problem import SGDSettings
from minitrpo.parallel.comm import connect

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
    print(json.dumps({"gradients": int(trace.histogram.sum()), "seconds": trace.seconds[-1], "lost": trace.lost}))
"""


def collecting() -> list[Row]:
    """Return the milliseconds of collecting, a row per run."""
    words = "--preset episodes --env HalfCheetah-v5 --steps-per-update 1000 --total-steps 12000 --requests"
    rows = []
    for number, kind in by_turns(ROUNDS, ("episodes", "segments")):
        columns = timed_run(2, [*words.split(), kind])
        seconds = np.median((columns["collect_s"] + columns["wait_s"])[1:])
        rows.append({"what": kind, "round": number, "milliseconds": round(1e3 * float(seconds), 4)})
    return rows


def updates() -> list[Row]:
    """Return the seconds of phases, a row per timed update."""
    rows = []
    for number, (what, ranks) in by_turns(ROUNDS, list(RUNS)):
        steps, words = RUNS[what, ranks]
        words = f"--env Reacher-v5 --steps-per-update {steps} --total-steps {(UPDATES + 1) * steps} {words}"
        found = timed_run(ranks, words.split())
        for i in range(1, UPDATES + 1):
            row = {"what": what, "ranks": ranks, "round": number, "update": i + 1, "steps": steps}
            rows.append(row | {name: round(found[name][i], 6) for name in SECONDS})
        print(rows[-1], flush=True)
    return rows


def spinning() -> list[Row]:
    """Return seconds that rank 0 needs for the same sum, the others asleep or spinning."""
    rows = []
    for number, ranks in by_turns(ROUNDS, (2, 8)):
        asleep, spun = map(float, mpiexec_code(ranks, WAITING, 40_000_000).split())
        rows.append({"ranks": ranks, "round": number, "asleep_s": round(asleep, 6), "spinning_s": round(spun, 6)})
    return rows


def descending() -> list[Row]:
    """Return gradients applied and lost and the seconds of it, a row per run."""
    rows = []
    for seed in range(10):
        for way, (mode, ranks, epochs) in WAYS.items():
            found = json.loads(mpiexec_code(ranks, DESCENT, mode, seed, epochs, timeout=120))
            rows.append({"way": way, "seed": seed, **found})
    return rows


TABLES = {"07_times": collecting, "08_speedup": updates, "08_spinning": spinning, "10_real": descending}

if __name__ == "__main__":
    for table in [word for word in sys.argv[1:] if word in TABLES] or TABLES:
        idle = Recording()
        measured = TABLES[table]()
        keep(table, measured, conditions=idle.conditions())
