"""Record what lecture 05b shows of TRPO in one file: python notebooks/recorded/one_file.py.

Trains CartPole-v1 and Reacher-v5 by mpi_scripts/trpo_in_one_file.py with five seeds each, and writes 05_one_file.csv, a
row per update. Takes about 3 minutes of two cores.
"""

import re
from itertools import product

from keep import HERE, Row, each, keep

from minitrpo.supervision.mpiexec import mpiexec

SCRIPT = HERE.parents[1] / "mpi_scripts/trpo_in_one_file.py"
RUNS = {"CartPole-v1": "--total-steps 50000", "Reacher-v5": "--discount 0.95 --total-steps 300000"}
LINE = re.compile(r" *(\d+) steps, mean return +(\S+), KL (\S+)")


def train(job: tuple[str, int]) -> list[Row]:
    """Return a row per update of a run, as the script printed it."""
    env, seed = job
    said = mpiexec(1, str(SCRIPT), "--env", env, "--seed", seed, *RUNS[env].split(), timeout=3600)
    found = filter(None, map(LINE.fullmatch, said.splitlines()))
    return [{"env": env, "seed": seed, "env_steps": m[1], "mean_return": m[2], "kl": m[3]} for m in found]


if __name__ == "__main__":
    keep("05_one_file", each(train, product(RUNS, range(5))), words_of_the_script=RUNS)
