"""Copy what lecture 16 shows of the whole family: python notebooks/recorded/14_family.py [benchmarks/results/family].

Nothing is run: `python -m benchmarks.family` did that, every member as typed, five seeds, on a rank per core. Writes
14_family.csv (a row per run: environment steps to the goal, mean of the last 100 returns), 14_curves.csv (some points
of the curves on CartPole and Reacher) and 14_family.json (where they are from).
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from family_runs import outcome

HERE = Path(__file__).parent
FAMILY = HERE.parent.parent / "benchmarks" / "results" / "family"
# one goal for all members on a task: on CartPole the lower of the two in benchmarks/family.py
GOALS = {"CartPole-v1": 400, "Pendulum-v1": -250, "Reacher-v5": -8, "InvertedPendulum-v5": 900}
COLUMNS = ("algorithm", "env", "seed", "env_steps", "goal", "steps_to_goal", "last_return", "fresh")
POINTS = 40  # of a curve


def row_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the lecture needs of a run; goal and steps_to_goal are empty where there is none or it was missed."""
    env = run["env"].rpartition(":")[2]
    head = (run["algorithm"], env, run["seed"], run["curve"][-1][0], GOALS.get(env, ""))
    found = dict(zip(COLUMNS, head, strict=False)) | outcome(run, GOALS.get(env))
    return {name: found[name] for name in COLUMNS}


def points_of(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return some points of a run's curve, the first and the last among them."""
    some = np.unique(np.linspace(0, len(run["curve"]) - 1, POINTS).round().astype(int))
    head = {"algorithm": run["algorithm"], "env": run["env"], "seed": run["seed"]}
    return [head | dict(zip(("env_steps", "mean_return"), run["curve"][i], strict=True)) for i in some]


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with (HERE / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Read the runs and write all files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FAMILY
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    write("14_family.csv", [row_of(run) for run in runs])
    drawn = [run for run in runs if run["env"] in ("CartPole-v1", "Reacher-v5")]
    write("14_curves.csv", [point for run in drawn for point in points_of(run)])
    first = {key: value for key, value in runs[0]["provenance"].items() if key != "command"}
    commands = [run["provenance"]["command"] for run in runs]
    text = json.dumps({**first, "ranks": runs[0]["ranks"], "runs": commands}, indent=2)
    (HERE / "14_family.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
