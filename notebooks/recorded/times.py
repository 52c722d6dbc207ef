"""Record seconds that lectures 07b, 08 and 10 show: python notebooks/recorded/times.py [NAME ...], on an idle machine.

With `--ranks 1,2,4,8,16` 08_speedup is measured on these ranks instead of 1, 2, 4 and 8: a lecturer's machine takes the
place of the recorded one.

08_speedup: whole updates of Reacher, for a job that is the same on any number of ranks, for one that grows with them,
and where rank 0 learns or both do (7 minutes). 07_times: how long 2 ranks collect 1,000 steps of HalfCheetah as one
episode or as segments. 08_spinning: how long rank 0 works among ranks that wait asleep or spin. 10_real: two workers
that descend together in four ways, by messages and in shared memory (2 minutes).
"""

import argparse
import json
import re
from collections.abc import Sequence

import numpy as np
from keep import Row, keep

from minitrpo.course.classroom import mpiexec_code
from minitrpo.course.machine import Recording
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.parallel.this_process import cores
from minitrpo.run_folder.metrics_csv import SECONDS

ROUNDS, UPDATES = 4, 4  # timed updates of a run; one before them warms up
STEPS = 20_000
# The preset had this fraction when 08_speedup was recorded (0.3.0); since then it takes all states.
PAPER = "--preset paper --fisher-fraction 0.2"
RANKS = (1, 2, 4, 8)
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


def ranks_of(text: str) -> tuple[int, ...]:
    """Return the numbers of ranks in a text such as 1,2,4; ArgumentTypeError if 1 is not the smallest of several."""
    if not re.fullmatch(r"[1-9]\d{0,2}(,[1-9]\d{0,2})*", text):
        raise argparse.ArgumentTypeError(f"{text} is no list of numbers such as 1,2,4,8")
    numbers = sorted({int(part) for part in text.split(",")})
    if numbers[:2] != [1, 2]:
        raise argparse.ArgumentTypeError(f"{text}: 1 and 2 must be among the numbers of ranks")
    return tuple(numbers)


def collecting() -> list[Row]:
    """Return the milliseconds of collecting, a row per run."""
    words = "--preset episodes --env HalfCheetah-v5 --steps-per-update 1000 --total-steps 12000 --requests"
    rows = []
    for number, kind in by_turns(ROUNDS, ("episodes", "segments")):
        columns = timed_run(2, [*words.split(), kind])
        seconds = np.median((columns["collect_s"] + columns["wait_s"])[1:])
        rows.append({"what": kind, "round": number, "milliseconds": round(1e3 * float(seconds), 4)})
    return rows


def runs_of(ranks: Sequence[int]) -> dict[tuple[str, int], tuple[int, str]]:
    """Return {(what, ranks): (steps per update, words for train)} of 08_speedup; the first of the ranks is 1."""
    runs = {("20,000 steps", number): (STEPS, PAPER) for number in ranks}
    runs |= {("5,000 steps a rank", number): (5_000 * number, PAPER) for number in ranks if number <= max(4, cores())}
    runs |= {("root learns", number): (STEPS, "--preset episodes") for number in ranks if number <= max(2, cores())}
    sharded = "--preset episodes --learner sharded"
    return runs | {("both learn", number): (STEPS, sharded) for number in ranks if 1 < number <= max(2, cores())}


def updates(numbers: Sequence[int]) -> list[Row]:
    """Return the seconds of phases, a row per timed update."""
    rows, runs = [], runs_of(numbers)
    for number, (what, ranks) in by_turns(ROUNDS, list(runs)):
        steps, words = runs[what, ranks]
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
    parser = argparse.ArgumentParser(description="Record seconds that lectures show.")
    names = ", ".join(TABLES)
    parser.add_argument("names", nargs="*", choices=[*TABLES, []], metavar="NAME", help=f"{names}; default: all")
    parser.add_argument("--ranks", default=RANKS, type=ranks_of, help="of 08_speedup, such as 1,2,4,8,16")
    arguments = parser.parse_args()
    for table in arguments.names or TABLES:
        idle = Recording()
        measured = updates(arguments.ranks) if table == "08_speedup" else TABLES[table]()
        keep(table, measured, conditions=idle.conditions())
