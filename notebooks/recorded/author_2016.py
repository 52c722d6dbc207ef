"""Recompute the author's own figures of 2016, which lectures 04 to 09 quote.

    python notebooks/recorded/author_2016.py PATH

PATH is an extract of the logs in Kevin Frans's repository kvfrans/parallel-trpo at commit a08599d (it is not shipped
here), a CSV file, gzipped or not, with a row per update of a run: experiment, env, run, config, update, nominal_steps,
elapsed_s, mean_return, max_kl, collect_s, learn_s. It holds every update of `results/speedup/` and every 10th of
`results/vs_fixed/`: the rule of lecture 09a acts every 10th update, so no decision is missing. Writes author_2016.json.
"""

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
COMMIT = "a08599d699db0d63a19131801f30d607f84290ba"
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
# What the extract does not hold was read in the files themselves, and is typed here; seconds are rollout_time * 60.
READ = {
    "halfcheetah_seconds": {
        "one episode, 5 actors": 0.77,
        "20,000 steps, 5 actors": 4.53,
        "20,000 steps, 1 actor": 15.45,
        "how": "middle of the rollout_time of the first 730 updates, of all 500, of 300 of 340; most within 1 %",
        "files": {
            "one episode, 5 actors": "results/vs_fixed/halfcheetah/HalfCheetah-v1-adaptive-1000.000000-0.001000-"
            "300.000000-0.000500",
            "20,000 steps, 5 actors": "results/vs_fixed/halfcheetah/HalfCheetah-v1-none-20000.000000-0.001000-0.000000-"
            "0.000000",
            "20,000 steps, 1 actor": "results/try1/HalfCheetah-v1-1",
        },
    },
    "code": {
        "model.py": "runs a line search, then `theta = thprev + fullstep`; Monte-Carlo returns; damping 0.001; "
        "predicts with the critic's previous fit, then fits",
        "main.py": "every 10 updates the sum of 10 mean returns against the 10 before; steps/update - 300 while above "
        "1200, + 300 while below 20,000 (with margin: below 10,000); max-KL + 0.0005 while below 0.01, - while above "
        "0.001; the first sum is compared with -1,000,000",
        "main.py at b0c9358f27c12afe562bc535ce6709013644d045": "the margin's first form: stuck if "
        "`recent_total_reward < last_reward * 1.1`",
        "main.py at ab6c6683bd1402d3f1d7ddbe8f941d07b7de953e": "stuck if below `last_reward + abs(last_reward * 0.05)`",
        "rollouts.py": "episodes of a batch = steps/update // mean length of the last batch, 1,000 at first; an "
        "episode is cut one step before the limit; weights are handed out by one copy per actor and time.sleep(0.1)",
        "results/speedup/README.md": "about a 2x speedup with 4 multiprocesses running on a 4 core macbook pro",
    },
}


def read(path: Path) -> dict[tuple[str, str, int, str], np.ndarray]:
    """Return the columns (update, nominal steps, return, collecting s, learning s) of every run, rows as updates."""
    runs: dict[tuple[str, str, int, str], list[list[float]]] = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for row in csv.DictReader(file):
            key = (row["experiment"], row["env"], int(row["run"]), row["config"])
            names = ("update", "nominal_steps", "mean_return", "collect_s", "learn_s")
            runs.setdefault(key, []).append([float(row[name] or "nan") for name in names])
    return {key: np.array(rows) for key, rows in runs.items()}


def vs_fixed(runs: dict[Any, np.ndarray], env: str, run: int, name: str) -> tuple[np.ndarray, str]:
    """Return a run of `results/vs_fixed/` and the file it comes from."""
    mode, steps, kl, steps_by, kl_by = MODES[name]
    config = f"mode={mode};steps={steps};kl={kl:g};d_steps={steps_by};d_kl={kl_by:g}"
    folder = FOLDERS[env] + ("2" if run == 2 else "")
    file = f"results/vs_fixed/{folder}/{env}-{mode}-{steps:f}-{kl:f}-{steps_by:f}-{kl_by:f}"
    return runs["vs_fixed", env, run, config], file


def speedup(runs: dict[Any, np.ndarray]) -> dict[str, Any]:
    """Return the seconds of an update on 1 to 8 threads: the first (20 episodes), and the median of the others."""
    threads = list(range(1, 9))
    each = [runs["speedup", "Reacher-v1", 1, f"threads={n}"] for n in threads]
    rollout, learn = (np.array([np.median(run[1:, column]) for run in each]) for column in (3, 4))
    total = rollout + learn
    return {
        "files": "results/speedup/Reacher-v1-1 to Reacher-v1-8",
        "threads": threads,
        "updates_after_the_first": [len(run) - 1 for run in each],
        "rollout_s": rollout.round(3).tolist(),
        "learn_s": learn.round(3).tolist(),
        "first_rollout_s": [run[0, 3] for run in each],
        "first_learn_s": [run[0, 4] for run in each],
        "first_episodes": 20,  # 20,000 // 1,000; the later batches: 20,000 // 49
        "later_episodes": 20_000 // 49,
        "steps_of_an_episode": 49,
        "rollout_speedup": (rollout[0] / rollout).round(3).tolist(),
        "iteration_speedup": (total[0] / total).round(3).tolist(),
        "collecting_fraction": (rollout / total).round(4).tolist(),
        "returns_of_1_thread": {"updates": every(each[0], 0), "mean_return": every(each[0], 2)},
    }


def every(run: np.ndarray, column: int, step: int = 10) -> list[float]:
    """Return every `step`-th entry of a column, rounded."""
    return run[::step, column].round(1).tolist()


def curves(runs: dict[Any, np.ndarray], env: str, names: list[str]) -> dict[str, Any]:
    """Return the mean returns of every 10th update, by setting: both runs."""
    found = {name: [vs_fixed(runs, env, run, name) for run in (1, 2)] for name in names}
    return {
        name: {
            "files": [file for _, file in both],
            "steps_per_update": MODES[name][1],
            "updates": every(both[0][0], 0, 1),
            "mean_return": [every(run, 2, 1) for run, _ in both],
        }
        for name, both in found.items()
    }


def last_tenth(runs: dict[Any, np.ndarray], env: str, run: int, name: str) -> float:
    """Return the mean return of the last tenth of the steps that all runs of a task reached, or of the run's own."""
    rows, _ = vs_fixed(runs, env, run, name)
    begins = np.concatenate([[0.0], np.cumsum(10 * rows[:-1, 1])])  # a row stands for 10 updates
    stop = min(COMMON_STEPS[env], float(10 * rows[:, 1].sum()))
    within = (begins >= 0.9 * stop) & (begins < stop)
    return float(np.average(rows[within, 2], weights=rows[within, 1]))


def margin(runs: dict[Any, np.ndarray], env: str, run: int) -> dict[str, Any]:
    """Return what the rule with margin decided, from the steps/update of neighbouring windows."""
    rows, file = vs_fixed(runs, env, run, "adapt both, margin")
    steps = rows[:, 1]
    moves = "".join("s" if change > 0 else "." for change in np.diff(steps))
    cap = np.flatnonzero(steps >= 10_000)
    total = float(10 * steps.sum())
    return {
        "file": file,
        "updates": 10 * len(rows),
        "steps": total,
        "largest_steps_per_update": float(steps.max()),
        "decisions": len(moves),
        "stuck": moves.count("s"),
        "longest_run_of_stuck": max(len(part) for part in moves.split(".")),
        "first_at_cap_of_10000": float(10 * steps[: cap[0]].sum()) if len(cap) else None,
        "fraction_of_steps_at_cap": round(float(10 * steps[cap].sum()) / total, 3),
        "last_return": round(float(rows[-10:, 2].mean()), 1),
    }


def main() -> None:
    """Write author_2016.json."""
    path = Path(sys.argv[1])
    runs = read(path)
    kls = ["fixed 20,000, 0.001", "fixed 20,000, 0.005", "fixed 20,000, 0.01"]
    results = {
        "source": {
            "repository": "https://github.com/kvfrans/parallel-trpo",
            "commit": COMMIT,
            "made_by": "python notebooks/recorded/author_2016.py PATH",
            "note": "single runs of Gym's version 1 tasks; run 2 of vs_fixed was committed after the post of 2016",
        },
        "speedup": speedup(runs),
        "returns": {env: curves(runs, env, kls) for env in FOLDERS},
        "last_tenth": {
            "what": "mean return over the last tenth of `steps`, or of a shorter run's own: [run 1, run 2]",
            "steps": COMMON_STEPS,
            "tasks": {
                env: {name: [round(last_tenth(runs, env, run, name), 1) for run in (1, 2)] for name in MODES}
                for env in FOLDERS
            },
        },
        "margin": {env: [margin(runs, env, run) for run in (1, 2)] for env in FOLDERS},
        "read": READ,
    }
    (HERE / "author_2016.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
