"""Record what lecture 05b shows of many seeds: nice -n 10 python notebooks/recorded/05_seeds.py.

Trains Reacher-v5 and Swimmer-v5 with five seeds each, 300,000 steps and one rank a run, one run after the other, and
writes 05_seeds.csv (a row per update) and in origins.json (what made it). Takes about 6 minutes of one core.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from keep import keep, processor_seconds

from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
TRAIN = HERE.parent.parent / "mpi_scripts" / "train.py"
SEEDS = (0, 1, 2, 3, 4)
RUNS = {"Reacher-v5": ["--total-steps", "300000"], "Swimmer-v5": ["--total-steps", "300000", "--discount", "0.9999"]}
COLUMNS = ("iteration", "env_steps", "episodes", "mean_return", "kl", "line_search_steps", "explained_variance")


def train(env: str, seed: int, arguments: list[str], path: Path) -> RunFolder:
    """Train one policy in this process's shadow and return its run folder."""
    where = ["--out", str(path), "--progress", "none"]
    command = [str(TRAIN), "--preset", "episodes", "--env", env, "--seed", str(seed), *arguments, *where]
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return RunFolder(path)


def main() -> None:
    """Run all seeds of all tasks, then write both files."""
    rows: list[dict[str, Any]] = []
    commands = []
    with tempfile.TemporaryDirectory() as scratch:
        for env, arguments in RUNS.items():
            for seed in SEEDS:
                folder = train(env, seed, arguments, Path(scratch) / f"{env}-{seed}")
                rows += [{"env": env, "seed": seed} | {c: row[c] for c in COLUMNS} for row in folder.rows()]
                words = ["python mpi_scripts/train.py --preset episodes --env", env, "--seed", str(seed), *arguments]
                commands.append(" ".join(words))
                print(f"{env} seed {seed}: {float(rows[-1]['mean_return']):.1f}", flush=True)
    about = {**provenance(1), "runs": commands, "seeds": SEEDS, "cpu_seconds": processor_seconds()}
    keep("05_seeds", rows, about)


if __name__ == "__main__":
    main()
