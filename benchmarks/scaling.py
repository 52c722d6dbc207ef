"""Time per update and phase on 1 to 4 times the cores, for both learners and both pools.

    python -m benchmarks.scaling

Every run is `mpiexec -n RANKS python mpi_scripts/train.py` in a folder of its own; the rounds go through all
combinations by turns. A run's first update is not counted. On more ranks than cores the question is what is lost.
As many separate runs of one rank as there are cores, side by side, show what the machine itself has to give: cores
share caches, memory and power, and those of a virtual machine may be two threads of one.
"""

import argparse
import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.record import RESULTS, interval, median, provenance, rounded, write_json
from minitrpo.classroom import launch
from minitrpo.parallel.speedup import cores, efficiency, karp_flatt, speedup, speedup_interval
from minitrpo.policies import Array
from minitrpo.runs.folder import RunFolder

PHASES = ("collect_s", "wait_s", "gather_s", "update_s", "iteration_s")
Key = tuple[str, str, str, int]  # environment, learner, pool, ranks
SEPARATE = "separate"  # in place of a learner: so many runs of one rank that share nothing


def run(key: Key, arguments: Any) -> Array:
    """Return the seconds per phase of the counted updates, (updates, phases); of separate runs: per run and update."""
    env, learner, pool, ranks = key
    if learner == SEPARATE:
        with ThreadPoolExecutor(ranks) as side_by_side:
            found = side_by_side.map(run, [(env, "root", pool, 1)] * ranks, [arguments] * ranks)
            return np.concatenate(list(found)) / ranks
    steps, total = arguments.steps, arguments.steps * arguments.updates
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        named = {"env": env, "learner": learner, "pool": pool, "steps-per-update": steps, "total-steps": total}
        words = [str(word) for name, value in named.items() for word in (f"--{name}", value)]
        launch(ranks, "train.py", *words, "--progress", "none", "--out", out, timeout=600)
        columns = RunFolder(out).columns()
    return np.stack([columns[phase] for phase in PHASES], axis=1)[1:]


def line(key: Key, times: Array, one: Array) -> dict[str, Any]:
    """Return what is to be said of one combination; `one`: the times of the same on one rank."""
    env, learner, pool, ranks = key
    whole, alone = times[:, -1], one[:, -1]
    collecting, collecting_alone = times[:, :3].sum(axis=1), one[:, :3].sum(axis=1)
    factor = speedup(alone, whole)
    return {
        "env": env,
        "learner": learner,
        "pool": pool,
        "ranks": ranks,
        **{phase: median(times[:, i]) for i, phase in enumerate(PHASES)},
        "collect_speedup": rounded(speedup(collecting_alone, collecting)),
        "speedup": rounded(factor),
        "interval": interval_of(alone, whole) if ranks > 1 else (1.0, 1.0),
        "efficiency": rounded(efficiency(factor, ranks)),
        "karp_flatt": rounded(karp_flatt(factor, ranks)) if ranks > 1 else None,
        "seconds_interval": interval(whole),
    }


def interval_of(alone: Array, whole: Array) -> tuple[float, float]:
    """Return the bootstrap interval of a speed-up."""
    low, high = speedup_interval(alone, whole)
    return rounded(low), rounded(high)


def main() -> None:
    """Measure and write results/scaling.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="HalfCheetah-v5,Reacher-v5", help="ids with commas")
    parser.add_argument("--ranks", default=",".join(str(cores() * k // 2) for k in (1, 2, 4, 8) if cores() * k // 2))
    parser.add_argument("--learner", default="root,sharded")
    parser.add_argument("--pool", default="dynamic,static")
    parser.add_argument("--steps", type=int, default=20_000, help="per update")
    parser.add_argument("--updates", type=int, default=5, help="in a run, the first of which is not counted")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    numbers = sorted({1, *map(int, arguments.ranks.split(","))})
    names = (arguments.env.split(","), arguments.learner.split(","), arguments.pool.split(","))
    keys: list[Key] = list(itertools.product(*names, numbers))
    alone: dict[Key, Key] = {key: (*key[:3], 1) for key in keys}
    for env in names[0] if cores() > 1 else ():
        alone[env, SEPARATE, names[2][0], cores()] = (env, names[1][0], names[2][0], 1)
    keys = list(alone)
    times: dict[Key, list[Array]] = {key: [] for key in keys}
    for number in range(1, arguments.rounds + 1):
        for key in keys if number % 2 else reversed(keys):
            times[key].append(run(key, arguments))
            seconds = dict(zip(PHASES, np.median(times[key][-1], axis=0).round(3).tolist(), strict=True))
            print(f"round {number}, {', '.join(map(str, key))} rank(s): {seconds}", flush=True)
    all_times = {key: np.concatenate(found) for key, found in times.items()}
    lines = [line(key, found, all_times[alone[key]]) for key, found in all_times.items()]
    settings = {key: value for key, value in vars(arguments).items() if key != "env"}
    raw = {", ".join(map(str, key)): found.round(5).tolist() for key, found in all_times.items()}
    write_json(
        RESULTS / "scaling.json",
        {"provenance": provenance(), "cores": cores(), "settings": settings, "lines": lines, "phases": PHASES} | raw,
    )


if __name__ == "__main__":
    main()
