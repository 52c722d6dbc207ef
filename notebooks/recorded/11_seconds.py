"""Record what lecture 11a shows of real seconds: python notebooks/recorded/11_seconds.py, on a machine that is idle.

A2C and A3C as typed, on one rank and on two, CartPole, 40,000 environment steps; eight rounds, one run after the
other. Writes 11_seconds.csv (a row per run) and 11_seconds.json (medians, ratios of two ranks to one with their
bootstrap intervals, what made them). Takes about two minutes.
"""

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from minitrpo.course.classroom import train
from minitrpo.policies import Array
from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
ROUNDS, STEPS = 8, 40_000


def run_of(algorithm: str, ranks: int, seed: int) -> dict[str, Any]:
    """Return the row of a run."""
    job = ("--algorithm", algorithm, "--env", "CartPole-v1", "--total-steps", STEPS, "--seed", seed, "--oversubscribe")
    columns = train(ranks, *job).columns()
    steps, seconds = float(columns["env_steps"][-1]), float(columns["time_s"][-1])
    late = round(float(np.mean(columns["staleness_mean"])), 3) if "staleness_mean" in columns else 0.0
    row = {"algorithm": algorithm, "ranks": ranks, "seed": seed, "rate": round(steps / seconds), "staleness": late}
    return row | {"load": round(os.getloadavg()[0], 2)}


def median(values: Array) -> list[float]:
    """Return the median of some values and its 95 % bootstrap interval."""
    limits = stats.bootstrap((values,), np.median, n_resamples=5000, rng=0).confidence_interval
    return [round(float(x), 3) for x in (np.median(values), limits.low, limits.high)]


def main() -> None:
    """Run all in turn, then write both files."""
    kinds = [(algorithm, ranks) for algorithm in ("a2c", "a3c") for ranks in (1, 2)]
    rows = []
    for seed in range(ROUNDS):
        for kind in kinds:
            rows.append(run_of(*kind, seed))
            print(rows[-1], flush=True)
    with (HERE / "11_seconds.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    rate = {kind: np.array([r["rate"] for r in rows if (r["algorithm"], r["ranks"]) == kind]) for kind in kinds}
    late = [row["staleness"] for row in rows if (row["algorithm"], row["ranks"]) == ("a3c", 2)]
    about = {
        **provenance(2),
        "rounds": ROUNDS,
        "steps": STEPS,
        "largest_load_average": max(row["load"] for row in rows),
        "rates": {
            f"{algorithm}, {ranks}": round(float(np.median(rate[algorithm, ranks]))) for algorithm, ranks in kinds
        },
        "two_to_one": {algorithm: median(rate[algorithm, 2] / rate[algorithm, 1]) for algorithm in ("a2c", "a3c")},
        "a3c_to_a2c": median(rate["a3c", 2] / rate["a2c", 2]),
        "staleness": round(float(np.mean(late)), 3),
    }
    (HERE / "11_seconds.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
