"""The whole family on its reference tasks: every member as typed, five seeds each, on a rank per core.

    python -m benchmarks.family
    python -m benchmarks.family --ranks 1 --seeds 3      CartPole on other numbers of ranks: results/family_ranks

A run that is recorded in results/family is not run again. The score is the mean return of the last 100 training
episodes (`returns` has the same), and a member has reached its goal when that is at least the goal's.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.options import make_parser, names, positive_numbers
from benchmarks.record import RESULTS, origin, read_json, thinned, write_json
from benchmarks.returns import curve_of
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.parallel.speedup import cores
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.jobs import flags, mpiexec
from minitrpo.runs.provenance import command

CARTPOLE, PENDULUM, REACHER = "CartPole-v1", "Pendulum-v1", "Reacher-v5"
PUCK = "minitrpo.experience.linear_quadratic:LinearQuadratic-v0"
GOALS: dict[str, dict[str, float | None]] = {  # the return to be reached; None: recorded without a goal
    "trpo": {CARTPOLE: 475, PENDULUM: -250, REACHER: -8},
    "policy-gradient": {CARTPOLE: 475},
    "actor-critic": {CARTPOLE: 475},
    "a2c": {CARTPOLE: 475, PENDULUM: None},
    "a3c": {CARTPOLE: 475, PENDULUM: None},
    "one-step-q": {CARTPOLE: None},
    "sarsa": {CARTPOLE: 400},
    "n-step-q": {CARTPOLE: 400},
    "async-n-step-q": {CARTPOLE: 400},
    "dqn": {CARTPOLE: 400},
    "gorila": {CARTPOLE: 400},
    "batch-ppo": {CARTPOLE: 475, PENDULUM: -250, REACHER: -8},
    "naf": {PENDULUM: -250},
    "guided-policy-search": {"InvertedPendulum-v5": 900, REACHER: -8, PUCK: None},
}
TRPO_STEPS = {CARTPOLE: 150_000, PENDULUM: 500_000, REACHER: 500_000}  # the others know how long they need


class Run(NamedTuple):
    """A training run of a member on a task."""

    algorithm: str
    env: str
    seed: int
    ranks: int = 0  # 0: a rank per core, as typed

    @property
    def path(self) -> Path:
        """Return where the run is recorded."""
        name = f"{self.algorithm}_{self.env.rpartition(':')[2]}_{self.seed}"
        return (
            RESULTS / ("family_ranks" if self.ranks else "family") / f"{name}{f'_{self.ranks}' * (self.ranks > 0)}.json"
        )


def train(run: Run) -> None:
    """Train as typed and record the curve."""
    ranks = run.ranks or cores()
    words = flags({"algorithm": run.algorithm, "env": run.env, "seed": run.seed})
    words += flags({"total_steps": TRPO_STEPS[run.env]}) if run.algorithm == "trpo" else []
    words += ["--oversubscribe"] if ranks > cores() else []
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        output = mpiexec(ranks, "train", *words, *flags({"progress": "none", "out": out}), timeout=1800)
        columns = RunFolder(out).columns()
    curve = curve_of(columns)
    seconds = np.interp([steps for steps, _ in curve], columns["env_steps"], columns["time_s"])
    result = {
        **run._asdict(),
        "ranks": ranks,
        "theta_sha256": output.split()[-1],
        "seconds": float(columns["time_s"][-1]),
        "provenance": origin() | {"command": f"mpiexec -n {ranks} {command('train', *words)}"},
        "curve": thinned(curve),
        "clock": thinned([(round(s, 2), mean) for s, (_, mean) in zip(seconds.tolist(), curve, strict=True)]),
    }
    write_json(run.path, result)


def first_at(curve: list[Any], goal: float) -> float | None:
    """Return the first abscissa of a curve at which it is at least the goal; None if it never is."""
    return next((x for x, mean in curve if mean >= goal), None)


def line(algorithm: str, env: str, goal: float | None) -> dict[str, Any] | None:
    """Return what is to be reported of a member on a task; None if nothing is recorded."""
    paths = sorted((RESULTS / "family").glob(f"{algorithm}_{env.rpartition(':')[2]}_*.json"))
    runs = [read_json(path) for path in paths]
    if not runs:
        return None
    found: dict[str, Any] = {"reached": None, "steps": None, "clock": None}
    if goal is not None:
        reached = [run for run in runs if first_at(run["curve"], goal) is not None]
        found["reached"] = len(reached)
        if reached:
            found["steps"] = float(np.median([first_at(run["curve"], goal) for run in reached]))
            found["clock"] = float(np.median([first_at(run["clock"], goal) for run in reached]))
    return {
        "algorithm": algorithm,
        "env": env,
        "goal": goal,
        "seeds": len(runs),
        **found,
        "final": [run["curve"][-1][1] for run in runs],
        "total_steps": runs[0]["curve"][-1][0],
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "provenance": runs[0]["provenance"],
    }


def lines() -> list[dict[str, Any]]:
    """Return what is to be reported of every member on every task of which something is recorded."""
    found = [line(name, env, goal) for name in ALGORITHMS for env, goal in GOALS.get(name, {}).items()]
    return [each for each in found if each]


def by_ranks() -> dict[str, dict[int, list[float | None]]]:
    """Return the seconds to the goal on CartPole, by member and number of ranks, seed by seed; None: not reached.

    The runs as typed are among them, of those seeds that other numbers of ranks have, too.
    """
    found: dict[str, dict[int, list[float | None]]] = {}
    others = sorted((RESULTS / "family_ranks").glob("*.json"))
    typed = sorted({RESULTS / "family" / f"{path.stem.rpartition('_')[0]}.json" for path in others})
    for run in map(read_json, [*others, *typed]):
        if (goal := GOALS[run["algorithm"]][run["env"]]) is None:
            continue
        found.setdefault(run["algorithm"], {}).setdefault(run["ranks"], []).append(first_at(run["clock"], goal))
    return found


def main() -> None:
    """Run all that is missing, one run after the other: each has all cores."""
    parser = make_parser(__doc__)
    parser.add_argument("--algorithm", type=names, default=",".join(GOALS), help="names with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ranks", type=positive_numbers, help="numbers with commas: CartPole on so many ranks")
    args = parser.parse_args()
    ranks = args.ranks or []
    tasks = [(name, env) for name in args.algorithm for env in GOALS[name] if not ranks or env == CARTPOLE]
    for seed in range(args.seeds):
        for name, env in tasks:
            for run in [Run(name, env, seed, n) for n in ranks or [0]]:
                if not run.path.exists():
                    train(run)
                    print(run.path.name, read_json(run.path)["curve"][-1], flush=True)


if __name__ == "__main__":
    main()
