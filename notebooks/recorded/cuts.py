"""Copy what lectures show of experiments: python notebooks/recorded/cuts.py. Nothing is run.

Writes family.csv, a row per run of `python -m experiments run family`: the environment steps after which fresh episodes
were at the task's goal (empty if they never were, or where there is no goal), and the mean return of a hundred fresh
episodes after the run. And 09_steps.csv: of claim S1, four numbers of steps per update, the mean return of ten seeds
with Student's interval.
"""

import sys

import numpy as np
from keep import HERE, Row, keep

from minitrpo.course.statistics import mean_interval

sys.path.insert(0, str(HERE.parents[1]))
from experiments import family
from experiments.claims import CLAIMS
from experiments.tables import Run


def members() -> None:
    """Write family.csv."""
    runs = [run for _, _, some in family.rows(family.EXPERIMENT.runs()) for run in some]
    found = []
    for run in runs:
        env, (steps, reached) = run["env"].rpartition(":")[2], (run["total_steps"], run["steps_to_goal"])
        row = {"algorithm": run["arm"], "env": env, "seed": int(run["seed"]), "env_steps": int(steps)}
        row |= {"goal": family.GOAL.get(env, ""), "steps_to_goal": reached if reached == "" else int(reached)}
        found.append(row | {"last_return": run["final"]})
    keep("family", found, of(runs, "experiments/data/family"))


def steps() -> None:
    """Write 09_steps.csv."""
    rows: list[Row] = []
    for (arm, _), runs in CLAIMS["S1"].runs().items():
        curves = [run["curves"] for run in runs]
        update, seen = (curves[0][name] for name in ("iteration", "env_steps"))
        for k in np.flatnonzero((update <= 60) | (seen <= 300_000)):
            found = mean_interval([curve["mean_return"][k] for curve in curves])
            row = {"arm": arm, "update": int(update[k]), "env_steps": int(seen[k])}
            rows.append(row | {name: round(x, 2) for name, x in zip(("mean", "low", "high"), found, strict=True)})
    keep("09_steps", rows, of(runs, "experiments/data/claims, claim S1") | {"seeds": len(runs)})


def of(runs: list[Run], source: str) -> Row:
    """Return what made some runs: each date, version and machine once."""
    found = {name: sorted({run[name] for run in runs}) for name in ("date", "version")}
    found["machine"] = sorted({run["machine"]["machine"] for run in runs})
    return {"source": source, **{name: ", ".join(values) for name, values in found.items()}}


if __name__ == "__main__":
    members()
    steps()
