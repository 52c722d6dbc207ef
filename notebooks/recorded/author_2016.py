"""Recompute the author's own figures of 2016, which lectures 06, 08, 15 and 17 quote.

    python notebooks/recorded/author_2016.py PATH

PATH is an extract of the logs in Kevin Frans's repository kvfrans/parallel-trpo at commit a08599d (it is not shipped
here), a CSV file, gzipped or not, with a row per update of a run: experiment, env, run, config, update, nominal_steps,
elapsed_s, mean_return, max_kl, collect_s, learn_s. It holds every update of `results/speedup/` and every 10th of
`results/vs_fixed/`. Writes author_2016.json.
"""

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from keep import HERE

SOURCE = {
    "repository": "https://github.com/kvfrans/parallel-trpo",
    "commit": "a08599d699db0d63a19131801f30d607f84290ba",
    "made_by": "python notebooks/recorded/author_2016.py PATH",
    "note": "single runs of Gym's version 1 tasks; run 2 of vs_fixed was committed after the post of 2016",
}
FOLDERS = {"Reacher-v1": "reacher", "Swimmer-v1": "swimmer", "HalfCheetah-v1": "halfcheetah"}  # run 2: reacher2, ...
COMMON_STEPS = {"Reacher-v1": 3.9e6, "Swimmer-v1": 5.6e6, "HalfCheetah-v1": 9.7e6}  # about what all runs reached
MODES = {  # as in the names of the files: mode, steps/update, max-KL, what a decision adds to each
    "fixed 20,000, 0.001": ("none", 20000, 0.001, 0, 0),
    "fixed 20,000, 0.005": ("none", 20000, 0.005, 0, 0),
    "fixed 20,000, 0.01": ("none", 20000, 0.01, 0, 0),
    "fixed 10,000, 0.001": ("none", 10000, 0.001, 0, 0),
    "fixed 5,000, 0.001": ("none", 5000, 0.001, 0, 0),
    "fixed 1,500, 0.001": ("none", 1500, 0.001, 0, 0),
    "adapt steps": ("adaptive", 1000, 0.001, 300, 0),
    "adapt KL": ("adaptive", 20000, 0.001, 0, 0.0005),
    "adapt both": ("adaptive", 1000, 0.001, 300, 0.0005),
    "adapt both, margin": ("adaptive-margin", 1000, 0.001, 300, 0.0005),
}
LIMITS = list(MODES)[:3]
Runs = dict[tuple[str, str, int, str], np.ndarray]


def read(path: Path) -> Runs:
    """Return the columns (update, nominal steps, return, collecting s, learning s) of every run, rows as updates."""
    names = ("update", "nominal_steps", "mean_return", "collect_s", "learn_s")
    runs: dict[tuple[str, str, int, str], list[list[float]]] = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for row in csv.DictReader(file):
            key = (row["experiment"], row["env"], int(row["run"]), row["config"])
            runs.setdefault(key, []).append([float(row[name] or "nan") for name in names])
    return {key: np.array(rows) for key, rows in runs.items()}


def vs_fixed(runs: Runs, env: str, name: str) -> tuple[list[np.ndarray], list[str]]:
    """Return both runs of `results/vs_fixed/` with a setting and the files that they come from."""
    mode, steps, kl, steps_by, kl_by = MODES[name]
    config = f"mode={mode};steps={steps};kl={kl:g};d_steps={steps_by};d_kl={kl_by:g}"
    file = f"{env}-{mode}-{steps:f}-{kl:f}-{steps_by:f}-{kl_by:f}"
    folders = [FOLDERS[env], f"{FOLDERS[env]}2"]
    return [runs["vs_fixed", env, run, config] for run in (1, 2)], [f"results/vs_fixed/{f}/{file}" for f in folders]


def speedup(runs: Runs) -> dict[str, Any]:
    """Return the seconds of an update on 1 to 8 threads: the first (20 episodes), and the median of the others."""
    threads = list(range(1, 9))
    each = [runs["speedup", "Reacher-v1", 1, f"threads={n}"] for n in threads]
    rollout, learn = (np.array([np.median(run[1:, column]) for run in each]) for column in (3, 4))
    return {
        "files": "results/speedup/Reacher-v1-1 to Reacher-v1-8",
        "threads": threads,
        "updates_after_the_first": [len(run) - 1 for run in each],
        "rollout_s": rollout.round(3).tolist(),
        "learn_s": learn.round(3).tolist(),
        "first_rollout_s": [run[0, 3] for run in each],
        "first_episodes": 20,  # 20,000 // 1,000; the later batches: 20,000 // 49
        "later_episodes": 20_000 // 49,
        "collecting_fraction": (rollout / (rollout + learn)).round(4).tolist(),
    }


def curves(runs: Runs, env: str, name: str) -> dict[str, Any]:
    """Return the mean returns of every 10th update of both runs with a setting."""
    both, files = vs_fixed(runs, env, name)
    updates, *returns = (column.round(1).tolist() for column in (both[0][:, 0], *(run[:, 2] for run in both)))
    return {"files": files, "steps_per_update": MODES[name][1], "updates": updates, "mean_return": returns}


def last_tenth(rows: np.ndarray, steps: float) -> float:
    """Return the mean return of the last tenth of the steps that all runs of a task reached, or of the run's own."""
    begins = np.concatenate([[0.0], np.cumsum(10 * rows[:-1, 1])])  # a row stands for 10 updates
    stop = min(steps, float(10 * rows[:, 1].sum()))
    within = (begins >= 0.9 * stop) & (begins < stop)
    return round(float(np.average(rows[within, 2], weights=rows[within, 1])), 1)


def main() -> None:
    """Write author_2016.json."""
    runs = read(Path(sys.argv[1]))
    tenths = {
        env: {name: [last_tenth(rows, steps) for rows in vs_fixed(runs, env, name)[0]] for name in MODES}
        for env, steps in COMMON_STEPS.items()
    }
    what = "mean return over the last tenth of `steps`, or of a shorter run's own: [run 1, run 2]"
    results = {
        "source": SOURCE,
        "speedup": speedup(runs),
        "returns": {env: {name: curves(runs, env, name) for name in LIMITS} for env in FOLDERS},
        "last_tenth": {"what": what, "steps": COMMON_STEPS, "tasks": tenths},
    }
    (HERE / "author_2016.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
