"""Copy what lectures 11a and 11b show of members: python notebooks/recorded/11_family.py [benchmarks/results/family].

Nothing is run: `python -m benchmarks.family` did that, every member as typed, five seeds, on a rank per core. Writes
11_family.csv (a row per run: environment steps to the goal, mean of the last 100 returns) and 11_family.json (where
they are from). Seconds are left out: other programs were at work during these runs.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

from family_runs import outcome

HERE = Path(__file__).parent
FAMILY = HERE.parent.parent / "benchmarks" / "results" / "family"
GOALS = {"CartPole-v1": 475, "Pendulum-v1": -250}  # those of benchmarks/family.py
MEMBERS = ("actor-critic", "a2c", "a3c", "one-step-q", "sarsa", "n-step-q", "async-one-step-q", "async-sarsa",
           "async-n-step-q", "naf")  # fmt: skip
COLUMNS = ("algorithm", "env", "seed", "env_steps", "goal", "steps_to_goal", "last_return", "fresh")


def row_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the lecture needs of a run; steps_to_goal is empty if the goal was not reached."""
    head = (run["algorithm"], run["env"], run["seed"], run["curve"][-1][0], GOALS[run["env"]])
    found = dict(zip(COLUMNS, head, strict=False)) | outcome(run, GOALS[run["env"]])
    return {name: found[name] for name in COLUMNS}


def main() -> None:
    """Read the runs and write both files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FAMILY
    names = [f"{member}_{env}_*.json" for env in GOALS for member in MEMBERS]
    runs = [json.loads(path.read_text()) for name in names for path in sorted(folder.glob(name))]
    with (HERE / "11_family.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row_of(run) for run in runs)
    first = {key: value for key, value in runs[0]["provenance"].items() if key != "command"}
    commands = [run["provenance"]["command"] for run in runs]
    (HERE / "11_family.json").write_text(
        json.dumps({**first, "ranks": runs[0]["ranks"], "runs": commands}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
