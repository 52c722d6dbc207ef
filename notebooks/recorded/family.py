"""Copy what lectures 11a, 11b, 12, 13 and 16 show of members: python notebooks/recorded/family.py.

Nothing is run: `python -m benchmarks.family` did that, every member as typed, five seeds. Writes family.csv, a row per
run: the environment steps after which fresh episodes were at the task's goal (empty if they never were, or where there
is no goal), and the mean return of a hundred fresh episodes after the run; and family.json, where these are from.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))
from benchmarks.family import GOAL, RESULTS, TASKS, first_at  # noqa: E402

COLUMNS = ("algorithm", "env", "seed", "env_steps", "goal", "steps_to_goal", "last_return")


def row_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the lectures need of a run."""
    env = run["env"].rpartition(":")[2]
    values = (run["algorithm"], env, run["seed"], run["total_steps"], GOAL.get(env, ""), first_at(run), run["final"])
    return dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    """Read the runs and write both files."""
    names = [f"{member}_{env.rpartition(':')[2]}_*.json" for member, tasks in TASKS.items() for env in tasks]
    paths = [path for name in names for path in sorted((RESULTS / "family").glob(name))]
    runs = [json.loads(path.read_text("utf-8")) for path in paths]
    with (HERE / "family.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row_of(run) for run in runs)
    about = {key: value for key, value in runs[0]["provenance"].items() if key != "command"}
    about["runs"] = [run["provenance"]["command"] for run in runs]
    (HERE / "family.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
