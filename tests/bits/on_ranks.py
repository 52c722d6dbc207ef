"""Train many runs one after the other on the ranks of one mpiexec job, as to begin one takes more than to train.

mpiexec -n 3 python on_ranks.py JOBS.json: the keyword arguments of `minitrpo.train`, a list with one dict for each run.
"""

import json
import sys
from pathlib import Path

import minitrpo
from minitrpo.commands import train
from minitrpo.supervision.mpiexec import mpiexec

OWN = Path(__file__).parents[2] / "mpi_scripts" / "own"  # examples of a user's own algorithm
TOYS = Path(__file__).parents[1] / "toys"


def settings(line):
    """Return a command line as keyword arguments: "--max-kl 0.1" -> {"max_kl": "0.1"}."""
    words = line.split()
    return {name[2:].replace("-", "_"): value for name, value in zip(words[::2], words[1::2], strict=True)}


def on_ranks(ranks, jobs, folder):
    """Train these runs on so many ranks; all of them work, whatever cores there are, unless a job says otherwise."""
    file = folder / f"{ranks}.json"
    file.write_text(json.dumps(jobs, default=str))
    return mpiexec(ranks, __file__, file, timeout=300.0)


def train_one_by_one(jobs):
    """Train these runs in this process; pictures, which take a second each, are not drawn."""
    drawn, train.learning_curve = train.learning_curve, lambda folder, *charts: "no picture"
    try:
        for job in jobs:
            minitrpo.train(**{"progress": "none", "oversubscribe": True} | job)
    finally:
        train.learning_curve = drawn


if __name__ == "__main__":
    sys.path[:0] = [str(TOYS), str(OWN)]
    train_one_by_one(json.loads(Path(sys.argv[1]).read_text()))
