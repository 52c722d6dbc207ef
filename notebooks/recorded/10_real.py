"""Record what lecture 10 shows of real ranks: python notebooks/recorded/10_real.py on a machine that is idle.

Ten rounds of the synchronous, the asynchronous and the lock-free descent of `minitrpo parallel-sgd`, two workers each
(the first two have a server of their own on rank 0), one after the other; writes 10_real.csv (a row per run) and
10_real.json (medians, bootstrap intervals, what made them). Takes about two minutes.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from minitrpo.runs.jobs import mpiexec_code
from minitrpo.runs.provenance import provenance

HERE = Path(__file__).parent
ROUNDS, EPOCHS = 10, 200
RANKS = {"synchronous": 3, "asynchronous": 3, "hogwild": 2}  # two workers each
CODE = """
import json, sys
from minitrpo.algorithms.parallel_sgd import SGDSettings
from minitrpo.parallel.comm import connect
from minitrpo.parallel.parameter_server import staleness_of
from minitrpo.runs.sgd import run
comm = connect()
trace = run(SGDSettings(mode=sys.argv[1], seed=int(sys.argv[2]), epochs=float(sys.argv[3])), comm)
if comm.rank == 0:
    updates, (mean, oldest) = int(trace.histogram.sum()), staleness_of(trace.histogram)
    print(json.dumps({"gradients": updates, "seconds": trace.seconds[-1], "lost": trace.lost,
                      "staleness": mean, "oldest": oldest, "loss": trace.loss[-1]}))
"""


def main() -> None:
    """Run all modes in turn, then write both files."""
    rows: list[dict[str, Any]] = []
    for seed in range(ROUNDS):
        for mode, ranks in RANKS.items():
            seen = json.loads(mpiexec_code(ranks, CODE, mode, seed, EPOCHS, timeout=120))
            rows.append({"mode": mode, "ranks": ranks, "seed": seed, **seen})
            print(rows[-1], flush=True)
    with (HERE / "10_real.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    modes = {}
    for mode in RANKS:
        own = [row for row in rows if row["mode"] == mode]
        rates = np.array([row["gradients"] / row["seconds"] for row in own])
        limits = stats.bootstrap((rates,), np.median, n_resamples=5000, rng=0).confidence_interval
        modes[mode] = {
            "median": round(float(np.median(rates))),
            "interval": [round(float(limits.low)), round(float(limits.high))],
            "lost": sum(row["lost"] for row in own),
            "updates": sum(row["gradients"] for row in own),
            "staleness": float(np.mean([row["staleness"] for row in own])),
        }
    about = {**provenance(3), "rounds": ROUNDS, "epochs": EPOCHS, "workers": 2, "modes": modes}
    (HERE / "10_real.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
