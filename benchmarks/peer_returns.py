"""Returns beside stable-baselines3's at the settings of `peers`: what is compared in seconds there learns alike.

    python -m benchmarks.peer_returns              results/peer_returns.json

The score is the mean return of the last 100 training episodes. It does not depend on the machine's load, so that there
is a run per core.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.options import make_parser
from benchmarks.record import RESULTS, origin, write_json
from benchmarks.systems import FAMILIES, PLAIN, ours_ppo, ours_short
from experiments.returns import last_episodes
from minitrpo.course.statistics import iqm, iqm_interval
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags, mpiexec

OURS, THEIRS = "minitrpo", "stable-baselines3"
UPDATES = {"ppo": 49, "a2c": 25, "dqn": 20}  # rows of `peers`: 100,000 steps, and 64,000 of DQN


def ours(family: str, workload: Any, seed: int) -> float:
    """Return the score of a run of ours."""
    more = PLAIN if family == "dqn" else {}
    words = ours_ppo.words_of(workload) if family == "ppo" else ours_short.words_of(workload, family, **more)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        mpiexec(1, "train", *words, *flags({"seed": seed, "progress": "none", "stuck_after": 3600, "out": out}))
        return float(last_episodes(RunFolder(out).columns())["mean_return"][-1])


def theirs(family: str, workload: Any, seed: int) -> float:
    """Return the score of a run of theirs."""
    model = import_module(f"benchmarks.systems.sb3_{family}").model_of(workload, seed=seed)
    model.learn(workload.steps * workload.updates)
    return float(np.mean([episode["r"] for episode in model.ep_info_buffer]))


def apart(family: str, system: str, seed: int) -> float:
    """Return the score of a run in a process of its own."""
    words = [sys.executable, "-W", "ignore", "-m", "benchmarks.peer_returns", "--one", family, system, str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=3600)
    score = float(json.loads(done.stdout.splitlines()[-1]))
    print(f"{family} {system} {seed}: {score:.1f}", flush=True)
    return score


def line(family: str, system: str, scores: list[float]) -> dict[str, Any]:
    """Return what is to be reported of a system."""
    what = FAMILIES[family]
    found = {"family": family, "system": system, "env": what.env, "steps": what.steps * UPDATES[family]}
    return found | {"scores": scores, "iqm": float(iqm(np.array(scores))), "interval": iqm_interval(np.array(scores))}


def main() -> None:
    """Measure and write results/peer_returns.json; or run one and print its score."""
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--one", nargs=3, metavar=("FAMILY", "SYSTEM", "SEED"), help="this run alone")
    args = parser.parse_args()
    if args.one:
        family, system, seed = args.one
        what = FAMILIES[family]
        workload = what.workload(what.env, what.steps, UPDATES[family])
        print(json.dumps((ours if system == OURS else theirs)(family, workload, int(seed))))
        return
    runs = list(product(UPDATES, (OURS, THEIRS), range(args.seeds)))
    with ThreadPoolExecutor(cores()) as pool:
        scores = dict(zip(runs, pool.map(lambda run: apart(*run), runs), strict=True))
    lines = [line(f, s, [scores[f, s, seed] for seed in range(args.seeds)]) for f in UPDATES for s in (OURS, THEIRS)]
    provenance = origin(("torch", "stable-baselines3"))
    result = {"provenance": provenance, "settings": {"seeds": args.seeds}, "lines": lines}
    write_json(RESULTS / "peer_returns.json", result)


if __name__ == "__main__":
    main()
