"""Record the runs of the open question A of lecture 04: nice -n 19 python notebooks/recorded/04_limits.py.

Trains InvertedPendulum-v5 with two limits `max_kl` and Reacher-v5 with three, ten seeds each, one rank a run, one run
after the other. Every run of a task gets the same number of updates. Writes 04_limits.csv (a row per update) and
origins.json (what made it). Takes about 5 minutes of one core.
"""

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from keep import keep, processor_seconds

from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
TRAIN = HERE.parent.parent / "mpi_scripts" / "train.py"
SEEDS = tuple(range(10))
# task: limits, steps per update, updates. A batch is made of whole episodes: after a fall it can be far longer.
RUNS = {"InvertedPendulum-v5": ((0.01, 0.1), 1000, 60), "Reacher-v5": ((0.001, 0.01, 0.1), 2000, 20)}
COLUMNS = ("iteration", "env_steps", "episodes", "mean_return", "kl", "line_search_steps")


def train(arguments: list[str], path: Path, updates: int) -> list[dict[str, str]]:
    """Train one policy in this process's shadow for so many updates, and return their rows of the log."""
    command = [sys.executable, str(TRAIN), *arguments, "--out", str(path), "--progress", "none"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = path / "metrics.csv"
    while running.poll() is None and not (metrics.exists() and metrics.read_text().count("\n") > updates):
        time.sleep(0.2)
    running.terminate()
    running.wait()
    rows = RunFolder(path).rows()[:updates]
    assert len(rows) == updates, f"{shlex.join(command)}: only {len(rows)} updates"
    return rows


def main() -> None:
    """Run all seeds of all limits, then write both files."""
    rows: list[dict[str, Any]] = []
    commands = []
    with tempfile.TemporaryDirectory() as scratch:
        jobs = [(env, limit, seed) for env, (limits, *_) in RUNS.items() for limit in limits for seed in SEEDS]
        for number, (env, limit, seed) in enumerate(jobs):
            _, steps, updates = RUNS[env]
            arguments = ["--preset", "episodes", "--env", env, "--total-steps", "10000000"]
            arguments += ["--steps-per-update", str(steps), "--max-kl", str(limit), "--seed", str(seed)]
            found = train(arguments, Path(scratch) / str(number), updates)
            rows += [{"env": env, "max_kl": limit, "seed": seed} | {c: row[c] for c in COLUMNS} for row in found]
            commands.append(" ".join(["python mpi_scripts/train.py", *arguments]))
            print(f"{env} max_kl {limit} seed {seed}: {float(rows[-1]['mean_return']):.1f}", flush=True)
    updates_kept = {env: run[2] for env, run in RUNS.items()}
    about = {
        **provenance(1),
        "runs": commands,
        "seeds": SEEDS,
        "updates": updates_kept,
        "cpu_seconds": processor_seconds(),
    }
    keep("04_limits", rows, about)


if __name__ == "__main__":
    main()
