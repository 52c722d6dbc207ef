"""Record what lecture 05b shows of TRPO in one file: python notebooks/recorded/05_one_file.py.

Trains CartPole-v1 and Reacher-v5 by mpi_scripts/trpo_in_one_file.py with five seeds each, two runs side by side, and
writes 05_one_file.csv (a row per update) and in origins.json (what made it). Takes about 3 minutes of two cores.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from keep import keep

from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCRIPT = "mpi_scripts/trpo_in_one_file.py"
SEEDS = (0, 1, 2, 3, 4)
RUNS = {"CartPole-v1": ["--total-steps", "50000"], "Reacher-v5": ["--discount", "0.95", "--total-steps", "300000"]}
LINE = re.compile(r" *(\d+) steps, mean return +(\S+), KL (\S+)")


def train(job: tuple[str, int]) -> list[dict[str, Any]]:
    """Return a row per update of a run, as the script printed it."""
    env, seed = job
    command = [sys.executable, SCRIPT, "--env", env, "--seed", str(seed), *RUNS[env]]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = [LINE.fullmatch(line) for line in done.stdout.splitlines()[:-1]]
    rows = [{"env": env, "seed": seed, "env_steps": m[1], "mean_return": m[2], "kl": m[3]} for m in found if m]
    print(f"{env} seed {seed}: {rows[-1]['mean_return']} after {rows[-1]['env_steps']} steps", flush=True)
    return rows


def main() -> None:
    """Run all seeds of both tasks, then write both files."""
    jobs = [(env, seed) for env in RUNS for seed in SEEDS]
    with ThreadPoolExecutor(2) as pool:
        rows = [row for found in pool.map(train, jobs) for row in found]
    commands = [f"python {SCRIPT} --env {env} --seed {seed} {' '.join(RUNS[env])}" for env, seed in jobs]
    about = {**provenance(1), "runs": commands, "seeds": SEEDS}
    keep("05_one_file", rows, about)


if __name__ == "__main__":
    main()
