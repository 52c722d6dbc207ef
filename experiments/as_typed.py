"""The command as typed: train.py, and sb3-contrib's TRPO as its documentation types it, whole runs by turns.

Both get the environment and the number of steps, and nothing else. The score is the mean return of the last 100
training episodes; the threshold is sb3-contrib's median score in these runs. Seconds are those of the whole command,
start-up included; what a return takes is its steps at the run's own speed.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone
from experiments.returns import OURS, THEIRS, few, last_episodes, theirs
from experiments.seconds import crossing
from experiments.tables import markdown as table
from experiments.tables import ranged
from minitrpo.parallel.this_process import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.mpiexec import flags, launcher

SEEDS, STEPS = 3, 100_000


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return what both commands take, by turns, a seed a round."""
    found: dict[str, list[dict[str, Any]]] = {OURS: [], THEIRS: []}
    for seed in range(SEEDS):
        for system in (OURS, THEIRS) if seed % 2 == 0 else (THEIRS, OURS):
            found[system].append(alone(whole_command, system, job, seed, folder / f"run-{seed}"))
    threshold = float(np.median([run["curve"][1][-1] for run in found[THEIRS]]))
    rows = [{"system": system, **row_of(runs, found[THEIRS], threshold, job.steps)} for system, runs in found.items()]
    return {"threshold": threshold}, {"systems": {name: [row[name] for row in rows] for name in rows[0]}}


def whole_command(system: str, job: Job, seed: int, out: Path) -> dict[str, Any]:
    """Return seconds, memory of the largest process in MB, and the learning curve of a command of this process."""
    if system == OURS:
        words = [launcher(), "-n", f"{cores()}", sys.executable, "-m", "minitrpo", "train"]
        words += [*job.words, *flags({"seed": seed, "out": out})]
    else:
        words = [sys.executable, "-W", "ignore", "-m", "experiments.as_typed", job.arm.env, f"{job.steps}", f"{seed}"]
    begin = time.perf_counter()
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    row: dict[str, Any] = {"seconds": time.perf_counter() - begin}
    unit = 1024 if sys.platform == "linux" else 1024**2
    row["peak_mb"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit)
    curve = json.loads(done.stdout.splitlines()[-1]) if system == THEIRS else last_episodes(RunFolder(out).columns())
    return row | {"curve": tuple(map(np.array, curve.values()))}


def row_of(runs: list[Any], reference: list[Any], threshold: float, steps: int) -> dict[str, Any]:
    """Return what is recorded of a system; reference: sb3-contrib's runs."""
    reached = [(crossing([run["curve"]], threshold), run["seconds"]) for run in runs]
    needed = [place / steps * seconds for place, seconds in reached if place]
    ratios = [other["seconds"] / run["seconds"] for other, run in zip(reference, runs, strict=True)]
    return {
        "rate": np.median([steps / run["seconds"] for run in runs]),
        "seconds": np.median([run["seconds"] for run in runs]),
        "return": np.median([run["curve"][1][-1] for run in runs]),
        "threshold_s": np.median(needed) if len(needed) > len(runs) / 2 else np.nan,
        "reached": len(needed),
        "peak_mb": max(run["peak_mb"] for run in runs),
        "ratio": np.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
    }


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of whole commands as typed."""
    rows = []
    for (_, env), [run] in runs.items():
        systems = run["systems"]
        for x in (dict(zip(systems, cells, strict=True)) for cells in zip(*systems.values(), strict=True)):
            numbers = (f"{STEPS:,}", f"{x['rate']:,.0f}", f"{x['seconds']:.1f}", f"{x['return']:.1f}")
            reached = f"{x['threshold_s']:.1f}" if np.isfinite(x["threshold_s"]) else f"- ({x['reached']} of {SEEDS})"
            sooner = ranged(x, ".1f") if x["system"] == OURS else "1"
            rows.append((f"{env}, {x['system']}", *numbers, reached, f"{x['peak_mb']:.0f}", sooner))
    header = ("command", "steps", "steps/s", "seconds", "return", f"seconds to {THEIRS}'s return", "peak MB/process")
    return table((*header, f"times {THEIRS}, of {SEEDS} rounds"), rows)


EXPERIMENT = Experiment(
    name="as_typed",
    title="the command as typed, ours and sb3-contrib's",
    arms=tuple(Arm("both", env, "", 2) for env in ("HalfCheetah-v5", "Reacher-v5")),
    full=Size(1, dict.fromkeys(("HalfCheetah-v5", "Reacher-v5"), STEPS)),
    quick=Size(1, {"Reacher-v5": 10_000}),
    measure=measure,
    report=report,
    seconds=True,
    packages=("torch", "stable-baselines3", "sb3-contrib"),
)

if __name__ == "__main__":  # sb3-contrib's command, as above; the last line on stdout is its curve
    task, total_steps, number = sys.argv[1:]
    steps, means = np.transpose(theirs(task, int(total_steps), int(number), cores(), plain=True)[0])
    print(json.dumps({name: list(x) for name, x in few({"env_steps": steps, "mean_return": means}).items()}))
