"""Copy what lecture 13 shows of the family: python notebooks/recorded/13_family.py [benchmarks/results/family].

Nothing is run: `python -m benchmarks.family` did that, every member as typed, five seeds, on a rank per core. Writes
13_family.csv (a row per run: environment steps and seconds to the goal, empty if it was not reached, those of the whole
run, mean of the last 100 returns) and 13_family.json (where they are from).
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FAMILY = HERE.parent.parent / "benchmarks" / "results" / "family"
GOALS = {"CartPole-v1": 400, "Pendulum-v1": -250}  # those of benchmarks/family.py for dqn, gorila and naf
MEMBERS = {"CartPole-v1": ("dqn", "gorila"), "Pendulum-v1": ("naf", "trpo", "batch-ppo", "a2c", "a3c")}
COLUMNS = (
    "algorithm",
    "env",
    "seed",
    "env_steps",
    "goal",
    "steps_to_goal",
    "seconds_to_goal",
    "seconds",
    "last_return",
)


def first_at(curve: list[list[float]], goal: float) -> float | str:
    """Return the first abscissa at which a curve is at its goal; empty if it never is."""
    return next((at for at, mean in curve if mean >= goal), "")


def row_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the lecture needs of a run."""
    goal, (steps, last) = GOALS[run["env"]], run["curve"][-1]
    reached = first_at(run["curve"], goal), first_at(run["clock"], goal)
    values = (run["algorithm"], run["env"], run["seed"], steps, goal, *reached, round(run["seconds"], 2), last)
    return dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    """Read the runs and write both files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FAMILY
    names = [f"{member}_{env}_*.json" for env, members in MEMBERS.items() for member in members]
    runs = [json.loads(path.read_text()) for name in names for path in sorted(folder.glob(name))]
    with (HERE / "13_family.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row_of(run) for run in runs)
    first = {key: value for key, value in runs[0]["provenance"].items() if key != "command"}
    commands = [run["provenance"]["command"] for run in runs]
    (HERE / "13_family.json").write_text(
        json.dumps({**first, "ranks": runs[0]["ranks"], "runs": commands}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
