"""Extract what lecture 04 shows of the author's runs: python notebooks/recorded/04_author.py CLONE.

CLONE is a clone of github.com/kvfrans/parallel-trpo. Its `results/vs_fixed/reacher` (run 1) holds one JSON file per
setting; Reacher-v1, 20,000 steps per update, and the mean return of every update are in `mean_reward`. Writes
04_author.csv (a row per limit and update) and 04_author.json (from which files).
"""

import csv
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = "https://github.com/kvfrans/parallel-trpo"
COMMIT = "1f6aed6d6ce82ed91951ca00bc13939a7ebe09c1"  # the one that added the three files
FILES = {
    limit: f"results/vs_fixed/reacher/Reacher-v1-none-20000.000000-{limit:.6f}-0.000000-0.000000"
    for limit in (0.001, 0.005, 0.01)
}
UPDATES = (0, 10, 20, 50, 100)


def main(clone: Path) -> None:
    """Read three logs, write both files."""
    rows = []
    for limit, name in FILES.items():
        returns = json.loads((clone / name).read_text())["mean_reward"]
        rows += [(limit, update, f"{returns[update]:.3f}") for update in UPDATES]
    with (HERE / "04_author.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("max_kl", "update", "mean_return"))
        writer.writerows(rows)
    about = {
        "command": "python notebooks/recorded/04_author.py CLONE",
        "repository": REPOSITORY,
        "commit": COMMIT,
        "files": list(FILES.values()),
        "environment": "Reacher-v1",
        "steps_per_update": 20000,
    }
    (HERE / "04_author.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
