"""Seconds to a good return: train.py as typed beside sb3-contrib with rl-zoo's settings, on ten environments.

    python -m benchmarks.seconds

How many steps a return takes is read off the curves that `returns` has recorded: the first step at which the
interquartile mean over seeds reaches sb3-contrib's final one. How many steps a second takes is measured here, on this
machine, by turns, in short runs of both: train.py as typed on as many ranks as there are cores, sb3-contrib with its
two environments and its own threads. Start-up does not count, for neither.
"""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, read_json, write_json
from benchmarks.summaries import median
from experiments.returns import EXPERIMENT, LONGER, OURS, STEPS, THEIRS
from experiments.tables import curve
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.course.statistics import iqm
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags, mpiexec

SLOW = ("Ant-v5", "Humanoid-v5", "Walker2d-v5")  # physics
SYSTEMS = (OURS, THEIRS)


def crossing(curves: list[Any], target: float) -> int | None:
    """Return the first of the curves' steps at which their interquartile mean reaches `target`; None if it never does.

    curves: (steps, return) pairs of every seed.
    """
    arrays = [np.array(curve, float).T for curve in curves]
    begin, end = max(steps[0] for steps, _ in arrays), min(steps[-1] for steps, _ in arrays)
    grid = np.unique(np.concatenate([steps for steps, _ in arrays]))
    grid = grid[(grid >= begin) & (grid <= end)]
    means = iqm(np.array([np.interp(grid, steps, returns) for steps, returns in arrays]), axis=0)
    reached = np.flatnonzero(means >= target)
    return int(grid[reached[0]]) if len(reached) else None


def final(curves: list[Any]) -> float:
    """Return the interquartile mean over seeds of where the curves end."""
    return float(iqm(np.array([curve[-1][1] for curve in curves])))


def curves_of(env: str, system: str) -> list[Any]:
    """Return the recorded curves of a system, seed by seed; the longer ones if there are such."""
    runs = EXPERIMENT.runs()
    longer = runs.get((LONGER, env), []) if system == OURS else []
    return [list(zip(*curve(run), strict=True)) for run in longer or runs[system, env]]


def our_rate(env: str, steps: int) -> float:
    """Return environment steps per second of the command as typed."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        mpiexec(cores(), "train", *flags({"env": env, "total_steps": steps, "out": out, "progress": "none"}))
        columns = RunFolder(out).columns()
    return float(columns["env_steps"][-1] / columns["time_s"][-1])


def their_rate(env: str, steps: int) -> float:
    """Return environment steps per second of sb3-contrib."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        words = flags({"env": env, "total_steps": steps, "seed": 0, "threads": cores(), "out": out})
        subprocess.run([sys.executable, "-W", "ignore", "-m", "benchmarks.sb3", *words], check=True)
        return steps / float(read_json(out)["seconds"])


def line(env: str, rates: dict[str, list[float]]) -> dict[str, Any]:
    """Return what is to be reported of an environment; rates: steps per second of every round, by system."""
    target = final(curves_of(env, THEIRS))
    steps = {system: crossing(curves_of(env, system), target) for system in SYSTEMS}
    rate = {system: median(rates[system]) for system in SYSTEMS}
    seconds = {system: n / rate[system] if (n := steps[system]) else None for system in SYSTEMS}
    ours, theirs = seconds[OURS], seconds[THEIRS]
    return {
        "env": env,
        "target": target,
        "seeds": {system: len(curves_of(env, system)) for system in SYSTEMS},
        "steps": steps,
        "rate": rate,
        "seconds": seconds,
        "ratio": theirs / ours if ours and theirs else None,
    }


def main() -> None:
    """Measure and write results/seconds.json."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", type=names, default=",".join(STEPS), help="ids with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=120_000, help="of ours in one run; a tenth for sb3-contrib")
    args = parser.parse_args()
    rates: dict[str, dict[str, list[float]]] = {env: defaultdict(list) for env in args.env}
    for number, (env, system) in by_turns(args.rounds, [(env, system) for env in args.env for system in SYSTEMS]):
        steps = args.steps // (4 if env in SLOW else 1)
        rate = our_rate(env, steps) if system == OURS else their_rate(env, max(4096, steps // 10))
        rates[env][system].append(rate)
        print(f"round {number}, {env:26} {system:12} {rate:9,.0f} steps/s", flush=True)
    result = {
        "provenance": origin(("torch", "stable-baselines3", "sb3-contrib")),
        "settings": {"rounds": args.rounds, "steps": args.steps, "ranks": cores()},
        "lines": [line(env, rates[env]) for env in args.env],
        "rates": rates,
    }
    write_json(RESULTS / "seconds.json", result)


if __name__ == "__main__":
    main()
