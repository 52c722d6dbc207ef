"""Copy what lectures show of experiments: python notebooks/recorded/cuts.py. Nothing is run."""

import sys

import numpy as np
from keep import HERE, Row, keep

from minitrpo.course.statistics import mean_interval

sys.path.insert(0, str(HERE.parents[1]))
from experiments import family
from experiments.claims import CLAIMS


def members() -> None:
    """Write family.csv: the steps of a run to its goal (empty: never, or none), the mean of 100 episodes at its end."""
    runs, found = [run for _, _, some in family.rows(family.EXPERIMENT.runs()) for run in some], []
    for run in runs:
        env, (steps, at) = run["env"].rpartition(":")[2], (run["total_steps"], run["steps_to_goal"])
        row = {"algorithm": run["arm"], "env": env, "seed": int(run["seed"]), "env_steps": int(steps)}
        row |= {"goal": family.GOAL.get(env, ""), "steps_to_goal": at and int(at), "last_return": run["final"]}
        found.append(row)
    keep("family", found, **of(runs, "experiments/data/family"))


def steps() -> None:
    """Write 09_steps.csv: means of claim S1 over seeds, with Student's interval."""
    rows: list[Row] = []
    for (arm, _), runs in CLAIMS["S1"].runs().items():
        curves = [run["curves"] for run in runs]
        update, seen = (curves[0][name] for name in ("iteration", "env_steps"))
        for k in np.flatnonzero((update <= 60) | (seen <= 300_000)):
            middle, low, high = (round(x, 2) for x in mean_interval([curve["mean_return"][k] for curve in curves]))
            row = {"arm": arm, "update": int(update[k]), "env_steps": int(seen[k]), "mean": middle}
            rows.append(row | {"low": low, "high": high})
    keep("09_steps", rows, **of(runs, "experiments/data/claims, claim S1"), seeds=len(runs))


def of(runs: list[Row], source: str) -> Row:
    """Return what made some runs: each date, version and machine once."""
    found = {"date": {r["date"] for r in runs}, "version": {r["version"] for r in runs}}
    found["machine"] = {r["machine"]["machine"] for r in runs}
    return {"source": source, **{name: ", ".join(sorted(each)) for name, each in found.items()}}


if __name__ == "__main__":
    members()
    steps()
