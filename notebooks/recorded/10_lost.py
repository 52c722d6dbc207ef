"""Record what lecture 10 says of lost updates: python notebooks/recorded/10_lost.py, on a machine that is idle.

- `counted`: A3C, Gorila and n-step Q without a barrier, CartPole as typed but for 60,000 steps, two workers in shared
  memory without locks, three seeds; and A3C whose optimiser computes new means beside the old ones and writes them
  over those; each also beside two other programs that want the two cores. How many updates were applied, and how many
  of them are missing in the optimiser's own count.
- `learned`: A3C with events, of which 0, 1, 3 and 10 % of the updates are lost on purpose, ten seeds: environment
  steps until the mean return of a row's last 100 episodes is 475, and the return of the last tenth of the run.

Writes 10_lost.csv (a row per run) and 10_lost.json (means, Student's 95 % intervals, what made them). Takes about five
minutes.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from minitrpo.course.machine import busy_share
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.jobs import mpiexec

HERE = Path(__file__).parent
SPIN = "while True: pass"
MEMBERS = {  # how it is called here: its name on the command line
    "A3C": "a3c",
    "Gorila": "gorila",
    "n-step Q": "async-n-step-q",
    "A3C that writes back": "lost_updates:WritingBack",
}
COUNT_SEEDS, COUNT_STEPS = (0, 1, 2), 60_000
LOST, SEEDS, GOAL = (0.0, 0.01, 0.03, 0.1), range(10), 475.0
COLUMNS = ("what", "algorithm", "beside", "lost_on_purpose", "seed", "applied", "lost", "steps_to_goal", "last_return")


def counted(algorithm: str, beside: int, seed: int, folder: Path) -> dict[str, Any]:
    """Return what was applied and lost by two workers, with so many other programs beside them."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(beside)]
    try:
        words = (
            "--algorithm",
            MEMBERS[algorithm],
            "--env",
            "CartPole-v1",
            "--seed",
            seed,
            "--total-steps",
            COUNT_STEPS,
        )
        mpiexec(2, "train", *words, "--transport", "window", "--out", folder, "--progress", "none", timeout=600)
    finally:
        for other in others:
            other.kill()
    columns = RunFolder(folder).columns()
    row = {"what": "counted", "algorithm": algorithm, "beside": beside, "seed": seed}
    return row | {"applied": int(columns["applied"].sum()), "lost": int(columns["lost"].sum())}


def learned(job: tuple[float, int, Path]) -> dict[str, Any]:
    """Return how soon and how well A3C learned, with this part of its updates lost."""
    lost, seed, folder = job
    words = ("--algorithm", "lost_updates:Losing", "--env", "CartPole-v1", "--transport", "events", "--lost-part", lost)
    command = [sys.executable, "-m", "minitrpo", "train", *map(str, words), "--seed", str(seed)]
    subprocess.run([*command, "--out", str(folder), "--progress", "none"], cwd=HERE, check=True, capture_output=True)
    columns = RunFolder(folder).columns()
    ended, returns = columns["episodes"], columns["mean_return"]
    window, steps = [], float("inf")
    for row in range(len(returns)):
        window = (window + [returns[row]] * int(ended[row]))[-100:]
        if len(window) == 100 and np.mean(window) >= GOAL:
            steps = columns["env_steps"][row]
            break
    last = float(np.nanmean(returns[-len(returns) // 10 :]))
    row = {"what": "learned", "algorithm": "a3c", "lost_on_purpose": lost, "seed": seed}
    return row | {"applied": int(columns["applied"].sum()), "steps_to_goal": steps, "last_return": last}


def interval(values: list[float]) -> list[float] | None:
    """Return the mean and Student's 95 % interval of it; None if a run never got there."""
    if not np.all(np.isfinite(values)):
        return None
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    return [round(float(number), 1) for number in (np.mean(values), low, high)]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the lecture shows."""
    count: dict[str, Any] = {}
    for name in MEMBERS:
        for beside in (0, 2):
            own = [
                row for row in rows if (row["what"], row["algorithm"], row.get("beside")) == ("counted", name, beside)
            ]
            count.setdefault(name, []).append([sum(row[k] for row in own) for k in ("lost", "applied")])
    learn: dict[str, Any] = {}
    for lost in LOST:
        own = [row for row in rows if row["what"] == "learned" and row["lost_on_purpose"] == lost]
        learn[f"{lost:g}"] = {
            "reached": int(np.isfinite([row["steps_to_goal"] for row in own]).sum()),
            "steps_to_goal": interval([row["steps_to_goal"] for row in own]),
            "last_return": interval([row["last_return"] for row in own]),
        }
    return {"seeds": len(SEEDS), "goal": GOAL, "counted": count, "learned": learn}


def main() -> None:
    """Run all, then write both files."""
    share = busy_share(3.0)
    if share > 0.1:
        sys.exit(
            f"10_lost.py: {share:.0%} of the cores are in use: what is lost depends on that; wait until they are idle"
        )
    os.chdir(HERE)  # where python finds lost_updates
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for seed in COUNT_SEEDS:
            for name in MEMBERS:
                for beside in (0, 2):
                    rows.append(counted(name, beside, seed, Path(place) / f"{name}-{beside}-{seed}"))
                    print(rows[-1], flush=True)
        jobs = [(lost, seed, Path(place) / f"lost{lost}-{seed}") for seed in SEEDS for lost in LOST]
        with Pool(2) as pool:  # events have the same bits whatever runs beside them
            for row in pool.imap(learned, jobs):
                rows.append(row)
                print(row, flush=True)
    with (HERE / "10_lost.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    about = {"busy_share_before": round(share, 3), "provenance": provenance(1)}
    (HERE / "10_lost.json").write_text(json.dumps(summary(rows) | about, indent=1) + "\n")


if __name__ == "__main__":
    main()
