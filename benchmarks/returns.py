"""Learning curves: minitrpo as typed beside sb3-contrib with rl-zoo's settings, on the same environments.

    python -m benchmarks.returns
    python -m benchmarks.returns --longer      two million steps of ours where one was not enough: results/longer

A run that is recorded in results/returns is not run again, so that an interrupted benchmark goes on where it was. The
score of a run is the mean return of its last 100 training episodes, actions sampled, in the environment's own rewards.
"""

import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, thinned, write_json
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import command
from minitrpo.supervision.jobs import flags, mpiexec

OURS, THEIRS = "minitrpo", "sb3-contrib"
LAST = 100  # episodes that a score is the mean of
STEPS = {
    "HalfCheetah-v5": 1_000_000,
    "Hopper-v5": 1_000_000,
    "Walker2d-v5": 1_000_000,
    "Swimmer-v5": 1_000_000,
    "Reacher-v5": 1_000_000,
    "InvertedDoublePendulum-v5": 1_000_000,
    "CartPole-v1": 100_000,
    "Pendulum-v1": 100_000,
    "Ant-v5": 1_000_000,
    "Humanoid-v5": 1_000_000,
}
LONGER = {"Walker2d-v5": 2_000_000, "Humanoid-v5": 2_000_000}  # of ours: where sb3-contrib's end was not reached
FEW_SEEDS = ("Ant-v5", "Humanoid-v5")  # slow physics: two seeds


class Run(NamedTuple):
    """A training run of a system on an environment."""

    system: str
    env: str
    seed: int
    longer: bool = False

    @property
    def path(self) -> Path:
        """Return where the run is recorded."""
        return RESULTS / ("longer" if self.longer else "returns") / f"{self.system}_{self.env}_{self.seed}.json"

    @property
    def steps(self) -> int:
        """Return how many environment steps it takes."""
        return (LONGER if self.longer else STEPS)[self.env]


def curve_of(columns: dict[str, Any]) -> list[tuple[int, float]]:
    """Return (environment steps, mean return of about the last 100 episodes) after every update with an episode."""
    points: list[tuple[int, float]] = []
    episodes, returns = columns["episodes"], columns["mean_return"]
    for i in np.flatnonzero(episodes):
        first = i
        while first > 0 and episodes[first : i + 1].sum() < LAST:
            first -= 1
        some = np.flatnonzero(episodes[first : i + 1]) + first
        points.append((int(columns["env_steps"][i]), float(np.average(returns[some], weights=episodes[some]))))
    return points


def ours(run: Run) -> None:
    """Train on one rank, as the number of ranks does not matter to the result, and record the curve."""
    words = flags({"env": run.env, "seed": run.seed, "total_steps": run.steps})
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        unseen = flags({"progress": "none", "stuck_after": 3600, "out": out})  # what does not touch the result
        output = mpiexec(1, "train", *words, *unseen, timeout=7200)
        columns = RunFolder(out).columns()
        settings = RunFolder(out).read_config()["settings"]
    result = {
        "system": run.system,
        "env": run.env,
        "seed": run.seed,
        "settings": settings,
        "theta_sha256": output.split()[-1],
        "provenance": origin() | {"command": command("train", *words)},
        "curve": thinned(curve_of(columns)),
    }
    write_json(run.path, result)


def theirs(run: Run) -> None:
    """Train sb3-contrib in a process of its own."""
    words = flags({"env": run.env, "total_steps": run.steps, "seed": run.seed, "out": run.path})
    subprocess.run(
        [sys.executable, "-m", "benchmarks.sb3", *words], check=True, capture_output=True, cwd=RESULTS.parent.parent
    )


SYSTEMS = {OURS: ours, THEIRS: theirs}


def record(run: Run) -> None:
    """Run what is not recorded yet."""
    if not run.path.exists():
        SYSTEMS[run.system](run)
        print(run.path.name, flush=True)


def main() -> None:
    """Run all that is missing, one run per core."""
    parser = make_parser(__doc__)
    parser.add_argument("--system", type=names, default=",".join(SYSTEMS), help="with commas")
    parser.add_argument("--env", type=names, default=",".join(STEPS), help="ids with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--longer", action="store_true", help="ours alone, where it did not reach sb3-contrib's end")
    parser.add_argument("--jobs", type=int, default=cores(), help="runs side by side (default: a run per core)")
    args = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1"}
    systems, env_ids = ([OURS], list(LONGER)) if args.longer else (args.system, args.env)
    combinations = itertools.product(range(args.seeds), systems, env_ids)
    few = [(system, env, seed) for seed, system, env in combinations if seed < 2 or env not in FEW_SEEDS]
    runs = [Run(*each, args.longer) for each in few]
    with ThreadPoolExecutor(args.jobs) as workers:
        list(workers.map(record, runs))


if __name__ == "__main__":
    main()
