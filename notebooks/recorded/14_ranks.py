"""Record what lecture 14 shows of real ranks: python notebooks/recorded/14_ranks.py, on a machine that is idle.

Six updates of guided policy search on Reacher with eight first states: on one rank; on two, of which one learns; on two
that both learn. Eight rounds, one run after the other. Writes 14_ranks.csv (a row per run: medians over the updates
behind the first, in seconds) and 14_ranks.json (what made it). Takes about two and a half minutes.
"""

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.runs.folder import RunFolder
from minitrpo.runs.jobs import mpiexec
from minitrpo.runs.provenance import provenance

HERE = Path(__file__).parent
ROUNDS, UPDATES = 8, 6
WAYS = {"one rank": (1, "root"), "two, one learns": (2, "root"), "two, both learn": (2, "sharded")}
JOB = ("--algorithm", "guided-policy-search", "--env", "Reacher-v5", "--total-steps", 3200 * UPDATES)
TIMES = ("iteration_s", "collect_s", "update_s")


def train(way: str) -> dict[str, Any]:
    """Train once; return the medians of what an update takes."""
    ranks, learner = WAYS[way]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = (*JOB, "--learner", learner, "--progress", "none", "--out", out)
        mpiexec(ranks, "train", *words, timeout=120)
        columns = RunFolder(out).columns()
    return {name: round(float(np.median(columns[name][1:])), 4) for name in TIMES}


def main() -> None:
    """Run all rounds and write both files."""
    rows = []
    for number in range(ROUNDS):
        for way, (ranks, learner) in WAYS.items():
            rows.append({"round": number, "way": way, "ranks": ranks, "learner": learner, **train(way)})
            print(*rows[-1].values(), flush=True)
    with (HERE / "14_ranks.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    about = {**provenance(1), "job": " ".join(str(word) for word in JOB), "rounds": ROUNDS}
    (HERE / "14_ranks.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
