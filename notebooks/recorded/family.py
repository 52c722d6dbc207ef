"""Copy what lectures 11a, 11b, 12, 13 and 16 show of members: python notebooks/recorded/family.py.

Nothing is run: `python -m experiments run family` did that, every member as typed, five seeds. Writes family.csv, a row
per run: the environment steps after which fresh episodes were at the task's goal (empty if they never were, or where
there is no goal), and the mean return of a hundred fresh episodes after the run; origins.json says where they are from.
"""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))
from keep import note  # noqa: E402

from experiments.family import EXPERIMENT, GOAL, rows  # noqa: E402

COLUMNS = ("algorithm", "env", "seed", "env_steps", "goal", "steps_to_goal", "last_return")


def main() -> None:
    """Read the runs and write both files."""
    runs = [run for _, _, some in rows(EXPERIMENT.runs()) for run in some]
    with (HERE / "family.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for run in runs:
            env, numbers = run["env"].rpartition(":")[2], (run["total_steps"], run["steps_to_goal"])
            steps, reached = (int(number) if number != "" else "" for number in numbers)
            row = (run["arm"], env, int(run["seed"]), steps, GOAL.get(env, ""), reached, run["final"])
            writer.writerow(row)
    about = {"machines": [run["machine"] for run in runs[:1]], "runs": sorted({run["setting"] for run in runs})}
    note("family", about)


if __name__ == "__main__":
    main()
