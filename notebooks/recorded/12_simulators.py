"""Record what lecture 12 shows of the number of simulators: python notebooks/recorded/12_simulators.py.

Batch PPO with 2,048 steps per update of all simulators together, five seeds each, one rank a run, two runs at a time:

- `final`: as the package does it, with 1 to 256 simulators;
- `next`: after a cut, V of the first observation of an episode (twelve.py);
- `out of step`: Pendulums whose very first episode is cut at random (twelve.py).

Writes 12_simulators.csv (a row per update) and 12_simulators.json (what made it). Takes about 5 minutes of two cores.
"""

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from minitrpo.runs.folder import RunFolder
from minitrpo.runs.provenance import provenance

HERE = Path(__file__).parent
TRAIN = HERE.parent.parent / "mpi_scripts" / "train.py"
SEEDS = (0, 1, 2, 3, 4)
CARTPOLE, PENDULUM = ("CartPole-v1", 60_000), ("Pendulum-v1", 150_000)
# (what, environment, steps, numbers of simulators, words of the command line)
GROUPS: list[tuple[str, tuple[str, int], tuple[int, ...], list[str]]] = [
    ("final", CARTPOLE, (1, 4, 16, 64, 256), []),
    ("final", PENDULUM, (1, 4, 16, 64, 256), []),
    ("next", PENDULUM, (1, 16), ["--algorithm", "twelve:NextReading"]),
    ("out of step", PENDULUM, (64, 256), ["--env", "twelve:OutOfStep-v0"]),
]
COLUMNS = ("iteration", "env_steps", "episodes", "mean_return", "average_return", "kl", "clip_fraction")


def train(what: str, task: tuple[str, int], simulators: int, seed: int, extra: list[str]) -> tuple[list[Any], str]:
    """Train one policy in a process of its own; return its rows and its command."""
    env, steps = task
    words = ["--algorithm", "batch-ppo", "--env", env, "--total-steps", str(steps), "--num-envs", str(simulators)]
    words += ["--seed", str(seed), *extra]
    with tempfile.TemporaryDirectory() as scratch:
        where = ["--learner", "root", "--out", f"{scratch}/run", "--progress", "none"]
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(TRAIN), *words, *where]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        rows = RunFolder(Path(scratch) / "run").rows()
    own = {"what": what, "env": env, "simulators": simulators, "seed": seed}
    print(what, env, simulators, seed, rows[-1]["average_return"], flush=True)
    return [own | {column: row[column] for column in COLUMNS} for row in rows], " ".join(words)


def main() -> None:
    """Run all, two at a time, then write both files."""
    jobs = [(w, task, n, seed, extra) for w, task, many, extra in GROUPS for n in many for seed in SEEDS]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: train(*job), jobs))
    with (HERE / "12_simulators.csv").open("w", newline="") as file:
        names = ["what", "env", "simulators", "seed", *COLUMNS]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for rows, _ in results for row in rows)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    commands = [f"python mpi_scripts/train.py {words}" for _, words in results]
    about = {**provenance(1), "runs": commands, "seeds": SEEDS, "cpu_seconds": round(used.ru_utime + used.ru_stime)}
    (HERE / "12_simulators.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
