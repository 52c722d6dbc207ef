"""Whole training iterations beside other libraries: same environment, batch, network and passes over the batch.

    python -m benchmarks.peers                  TRPO: results/peers.json
    python -m benchmarks.peers --family ppo     PPO, stable-baselines3, RLtools, rlox, EnvPool: results/peers_ppo.json
    python -m benchmarks.peers --family a2c     A2C, stable-baselines3; and dqn

Every system runs in a process of its own, started afresh in every round; the rounds go through all systems by turns.
The first update is not counted. Libraries keep their own defaults in everything that `workload` does not name, the
number of threads among it. tianshou and rlox take full-batch critic steps, as many as the others have epochs over
minibatches of 128. RLtools collects and updates in one call: all of its time is counted as collecting.
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
from benchmarks.systems import FAMILIES
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.supervision.jobs import flags


def run(family: str, system: str, workload: Any) -> dict[str, Any]:
    """Return the times and the memory of one run."""
    words = flags({"env": workload.env, "steps": workload.steps, "updates": workload.updates})
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.one_peer", family, system, *words]
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
    parser.add_argument("--env", help="(trpo, ppo: HalfCheetah-v5, a2c, dqn: CartPole-v1)")
    parser.add_argument("--family", choices=FAMILIES, default="trpo")
    parser.add_argument(
        "--steps", type=int, help="per update (trpo: 20000, ppo: 2048; per 50 updates: a2c 4000, dqn 3200)"
    )
    parser.add_argument(
        "--updates", type=int, help="in a run, the first of which is not counted (trpo: 3, ppo: 25, a2c, dqn: 11)"
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    family, runs = FAMILIES[args.family], defaultdict(list)
    workload = family.workload(args.env or family.env, args.steps or family.steps, args.updates or family.updates)
    for number, system in by_turns(args.rounds, list(family.systems)):
        runs[system].append(run(args.family, system, workload))
        collect, update = np.median(runs[system][-1]["times"], axis=0)
        print(f"round {number}, {system:28} collecting {collect:7.3f} s, updating {update:7.3f} s", flush=True)
    reference = float(np.median(np.sum(times_of(runs[family.reference]), axis=1)))
    result = {
        "provenance": origin(family.packages),
        "settings": asdict(workload) | {"rounds": args.rounds},
        "reference": family.reference.partition(",")[0],
        "lines": [line(system, runs[system], reference, workload.steps) for system in family.systems],
        "times": {system: times_of(runs[system]) for system in family.systems},
    }
    write_json(RESULTS / ("peers.json" if args.family == "trpo" else f"peers_{args.family}.json"), result)


if __name__ == "__main__":
    main()
