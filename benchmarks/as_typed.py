"""The command as typed: train.py beside sb3-contrib's TRPO as its documentation types it, whole runs by turns.

    python -m benchmarks.as_typed

Neither is told more than the environment and the number of steps. The score is the mean return of the last 100
training episodes; the threshold is sb3-contrib's median score in these runs. Seconds are those of the whole command,
start-up included; what a return takes is its steps at the run's own speed.
"""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, write_json
from benchmarks.summaries import interval, median
from experiments.returns import OURS, THEIRS, last_episodes
from experiments.seconds import crossing
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags, launcher


def curve_of(columns: Any) -> list[Any]:
    """Return (environment steps, mean return) of a run of ours."""
    return list(zip(*last_episodes(columns).values(), strict=True))


def run(system: str, env: str, steps: int, seed: int) -> dict[str, Any]:
    """Return seconds, memory of the largest process in MB, and the learning curve of one whole command."""
    words = {"env": env, "total_steps": steps, "seed": seed}
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        if system == OURS:
            command = [launcher(), "-n", f"{cores()}", sys.executable, "-m", "minitrpo", "train"]
            command += flags({**words, "out": out})
        else:
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sb3", "--plain"]
            command += flags({**words, "threads": cores(), "out": out})
        begin = time.perf_counter()
        measured = [sys.executable, "-c", PEAK, *command]
        done = subprocess.run(measured, check=True, capture_output=True, text=True, env={**os.environ})
        seconds = time.perf_counter() - begin
        curve = json.loads(out.read_text())["curve"] if system == THEIRS else curve_of(RunFolder(out).columns())
    return {"seconds": seconds, "peak_mb": int(done.stderr.split()[-1]), "curve": curve, "steps": steps}


PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
unit = 1024 if sys.platform == "linux" else 1024**2
print(round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit), file=sys.stderr)
sys.exit(code)
"""


def line(env: str, system: str, runs: list[dict[str, Any]], reference: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is to be reported of a system on an environment; reference: sb3-contrib's runs."""
    threshold = float(np.median([each["curve"][-1][1] for each in reference]))
    seconds = np.array([each["seconds"] for each in runs])
    reached = [(crossing([np.transpose(each["curve"])], threshold), each) for each in runs]
    needed = [n / each["steps"] * each["seconds"] for n, each in reached if n]
    ratios = [theirs["seconds"] / ours for theirs, ours in zip(reference, seconds, strict=True)]
    return {
        "env": env,
        "system": system,
        "steps": runs[0]["steps"],
        "rate": median([each["steps"] / each["seconds"] for each in runs]),
        "seconds": median(seconds),
        "return": median([each["curve"][-1][1] for each in runs]),
        "threshold": threshold,
        "threshold_s": median(needed) if len(needed) > len(runs) / 2 else None,
        "reached": f"{len(needed)} of {len(runs)}",
        "peak_mb": max(each["peak_mb"] for each in runs),
        "ratio": median(ratios),
        "interval": interval(ratios),
    }


def main() -> None:
    """Measure and write results/as_typed.json."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", type=names, default="HalfCheetah-v5,Reacher-v5", help="ids with commas")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3, help="with seeds 0, 1, 2, ...")
    args = parser.parse_args()
    runs = defaultdict(list)
    for number, (env, system) in by_turns(
        args.rounds, [(env, system) for env in args.env for system in (OURS, THEIRS)]
    ):
        runs[env, system].append(run(system, env, args.steps, number - 1))
        last = runs[env, system][-1]
        print(
            f"round {number}, {env}, {system}: {last['seconds']:.1f} s, return {last['curve'][-1][1]:.1f}", flush=True
        )
    lines = [line(env, system, some, runs[env, THEIRS]) for (env, system), some in sorted(runs.items())]
    result = {
        "provenance": origin(("torch", "stable-baselines3", "sb3-contrib")),
        "settings": vars(args),
        "lines": lines,
    }
    write_json(RESULTS / "as_typed.json", result)


if __name__ == "__main__":
    main()
