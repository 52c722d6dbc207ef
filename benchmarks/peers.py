"""Whole training iterations beside the other TRPOs: same environment, batch, network, CG and critic epochs.

    python -m benchmarks.peers

Every system runs in a process of its own, started afresh in every round; the rounds go through all systems by turns.
The first update is not counted. Libraries keep their own defaults in everything that `workload` does not name, the
number of threads among it. tianshou takes full-batch critic steps, as many as the others have epochs over minibatches
of 128.
"""

import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.options import make_parser
from benchmarks.record import RESULTS, origin, write_json
from benchmarks.summaries import interval, median
from benchmarks.systems import SYSTEMS
from benchmarks.workload import Workload
from minitrpo.runs.jobs import flags
from minitrpo.runs.scaling import by_turns

PACKAGES = ("torch", "stable-baselines3", "sb3-contrib", "tianshou", "pfrl")
REFERENCE = "sb3-contrib, 1 environment"


def run(system: str, workload: Workload) -> dict[str, Any]:
    """Return the times and the memory of one run."""
    words = flags({"env": workload.env, "steps": workload.steps, "updates": workload.updates})
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.one_peer", system, *words]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if process.returncode != 0:
        sys.exit(f"{system}: exit code {process.returncode}\n{process.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result


def line(system: str, runs: list[dict[str, Any]], reference: float, steps: int) -> dict[str, Any]:
    """Return what is to be reported of one system; reference: median seconds of an update of the one compared with."""
    collect, update = np.array(times_of(runs)).T
    ratios = reference / (collect + update)
    return {
        "system": system,
        "rate": median(steps / (collect + update)),
        "collect_s": median(collect),
        "update_s": median(update),
        "peak_mb": max(each["peak_mb"] for each in runs),
        "ratio": median(ratios),
        "interval": interval(ratios),
    }


def times_of(runs: list[dict[str, Any]]) -> list[list[float]]:
    """Return [seconds collecting, seconds updating] of every update of all rounds."""
    return [times for each in runs for times in each["times"]]


def main() -> None:
    """Measure and write results/peers.json."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--steps", type=int, default=20_000, help="per update")
    parser.add_argument("--updates", type=int, default=3, help="in a run, the first of which is not counted")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    workload, runs = Workload(args.env, args.steps, args.updates), defaultdict(list)
    for number, system in by_turns(args.rounds, list(SYSTEMS)):
        runs[system].append(run(system, workload))
        collect, update = np.median(runs[system][-1]["times"], axis=0)
        print(f"round {number}, {system:28} collecting {collect:7.3f} s, updating {update:7.3f} s", flush=True)
    reference = float(np.median(np.sum(times_of(runs[REFERENCE]), axis=1)))
    result = {
        "provenance": origin(PACKAGES),
        "settings": asdict(workload) | {"rounds": args.rounds},
        "lines": [line(system, runs[system], reference, workload.steps) for system in SYSTEMS],
        "times": {system: times_of(runs[system]) for system in SYSTEMS},
    }
    write_json(RESULTS / "peers.json", result)


if __name__ == "__main__":
    main()
