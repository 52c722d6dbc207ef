"""Learning curves: minitrpo's tuned preset beside sb3-contrib with rl-zoo's settings, on the same environments.

    python -m benchmarks.returns

A run that is recorded in results/returns is not run again, so that an interrupted benchmark goes on where it was. The
score of a run is the mean return of its last 100 training episodes, actions sampled, in the environment's own rewards.
"""

import argparse
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.record import RESULTS, provenance, thinned, write_json
from minitrpo.classroom import launch
from minitrpo.parallel.speedup import cores
from minitrpo.runs.folder import RunFolder

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
FEW_SEEDS = ("Ant-v5", "Humanoid-v5")  # slow physics: two seeds
Run = tuple[str, str, int]  # system, environment, seed


def path_of(run: Run) -> Path:
    """Return where a run is recorded."""
    system, env, seed = run
    return RESULTS / "returns" / f"{system}_{env}_{seed}.json"


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
    _, env, seed = run
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = ["--env", env, "--seed", str(seed), "--preset", "tuned", "--total-steps", str(STEPS[env])]
        said = launch(1, "train.py", *words, "--progress", "none", "--stuck-after", 3600, "--out", out, timeout=7200)
        columns = RunFolder(out).columns()
        settings = RunFolder(out).read_config()["settings"]
    result = {
        "system": "minitrpo",
        "env": env,
        "seed": seed,
        "settings": settings,
        "theta_sha256": said.split()[-1],
        "provenance": provenance() | {"command": " ".join(["python mpi_scripts/train.py", *words])},
        "curve": thinned(curve_of(columns)),
    }
    write_json(path_of(run), result)


def theirs(run: Run) -> None:
    """Train sb3-contrib in a process of its own."""
    _, env, seed = run
    words = ("--env", env, "--total-steps", str(STEPS[env]), "--seed", str(seed), "--out", str(path_of(run)))
    subprocess.run(
        [sys.executable, "-m", "benchmarks.sb3", *words], check=True, capture_output=True, cwd=RESULTS.parent.parent
    )


SYSTEMS = {"minitrpo": ours, "sb3-contrib": theirs}


def do(run: Run) -> None:
    """Run what is not recorded yet."""
    if not path_of(run).exists():
        SYSTEMS[run[0]](run)
        print(path_of(run).name, flush=True)


def main() -> None:
    """Run all that is missing, one run per core."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", default=",".join(SYSTEMS), help="with commas")
    parser.add_argument("--env", default=",".join(STEPS), help="ids with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=cores(), help="runs side by side (default: a run per core)")
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1"}
    runs = [
        (system, env, seed)
        for seed, system, env in itertools.product(
            range(arguments.seeds), arguments.system.split(","), arguments.env.split(",")
        )
        if seed < 2 or env not in FEW_SEEDS
    ]
    with ThreadPoolExecutor(arguments.jobs) as workers:
        list(workers.map(do, runs))


if __name__ == "__main__":
    main()
