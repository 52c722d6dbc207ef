"""Whole training iterations beside the other TRPOs: same environment, batch, network, CG and critic epochs.

    python -m benchmarks.peers

Every system runs in a process of its own, started afresh in every round; the rounds go through all systems by turns.
The first update is not counted. Libraries keep their own defaults in everything that is not asked for, the number of
threads among it. tianshou takes full-batch critic steps, as many as the others have epochs over minibatches of 128.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.one_peer import CG_ITERATIONS, DAMPING, EPOCHS, MINIBATCH, SYSTEMS
from benchmarks.record import RESULTS, interval, median, provenance, write_json

PACKAGES = ("torch", "stable-baselines3", "sb3-contrib", "tianshou", "pfrl")
REFERENCE = "sb3-contrib, 1 environment"


def run(system: str, arguments: Any) -> dict[str, Any]:
    """Return the times and the memory of one run."""
    words = ("--env", arguments.env, "--steps", str(arguments.steps), "--updates", str(arguments.updates))
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.one_peer", system, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        sys.exit(f"{system}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure and write results/peers.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--steps", type=int, default=20_000, help="per update")
    parser.add_argument("--updates", type=int, default=3, help="in a run, the first of which is not counted")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    times, peaks = defaultdict(list), {}
    for number in range(1, arguments.rounds + 1):
        for system in SYSTEMS if number % 2 else reversed(list(SYSTEMS)):
            found = run(system, arguments)
            times[system] += found["times"]
            peaks[system] = max(found["peak_mb"], peaks.get(system, 0))
            collect, update = np.median(found["times"], axis=0)
            print(f"round {number}, {system:28} collecting {collect:7.3f} s, updating {update:7.3f} s", flush=True)
    reference = np.sum(times[REFERENCE], axis=1)
    lines = []
    for system in SYSTEMS:
        collect, update = np.array(times[system]).T
        whole = collect + update
        lines.append(
            {
                "system": system,
                "rate": median(arguments.steps / whole),
                "collect_s": median(collect),
                "update_s": median(update),
                "peak_mb": peaks[system],
                "ratio": median(np.median(reference) / whole),
                "interval": interval(np.median(reference) / whole),
            }
        )
    asked = {"cg_iterations": CG_ITERATIONS, "cg_damping": DAMPING, "critic_epochs": EPOCHS, "minibatch": MINIBATCH}
    told = {"provenance": provenance(PACKAGES), "settings": vars(arguments) | asked, "lines": lines}
    write_json(RESULTS / "peers.json", told | {"times": dict(times)})


if __name__ == "__main__":
    main()
