"""The whole family on its reference tasks: every member as typed, five seeds each, on a rank per core.

    python -m benchmarks.family
    python -m benchmarks.family --ranks 1 --seeds 3      CartPole on other numbers of ranks: results/family_ranks

A run that is recorded in results/family is not run again. Steps and seconds to a goal are read off fresh episodes:
every so often twenty of the mean action are played, from which nothing is learned, and the goal is reached when their
mean is at least the goal's. The final return is that of a hundred fresh episodes after the run. Goals are the same
for all members on one task.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.options import make_parser, names, positive_numbers
from benchmarks.record import RESULTS, origin, read_json, thinned, write_json
from benchmarks.returns import curve_of
from minitrpo import evaluate
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.parallel.cores import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import command
from minitrpo.supervision.jobs import flags, mpiexec

CARTPOLE, PENDULUM, REACHER = "CartPole-v1", "Pendulum-v1", "Reacher-v5"
PUCK = "minitrpo.course.linear_quadratic:LinearQuadratic-v0"
INVERTED, HOPPER, CHEETAH = "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5"
GOAL = {CARTPOLE: 475.0, PENDULUM: -250.0, REACHER: -8.0, INVERTED: 900.0, HOPPER: 1000.0, CHEETAH: 1000.0}
EVERY = {CARTPOLE: 5_000, PENDULUM: 5_000, REACHER: 10_000, INVERTED: 10_000, HOPPER: 50_000, CHEETAH: 50_000}
ON_POLICY = (CARTPOLE, PENDULUM, REACHER, HOPPER, CHEETAH)
TASKS: dict[str, tuple[str, ...]] = {
    "trpo": (CARTPOLE, PENDULUM, REACHER),
    "policy-gradient": (CARTPOLE,),
    "actor-critic": (CARTPOLE,),
    "a2c": ON_POLICY,
    "a3c": ON_POLICY,
    "batch-ppo": ON_POLICY,
    "one-step-q": (CARTPOLE,),
    "sarsa": (CARTPOLE,),
    "n-step-q": (CARTPOLE,),
    "async-n-step-q": (CARTPOLE,),
    "async-one-step-q": (CARTPOLE,),
    "async-sarsa": (CARTPOLE,),
    "dqn": (CARTPOLE,),
    "gorila": (CARTPOLE,),
    "naf": (PENDULUM,),
    "async-naf": (PENDULUM,),
    "guided-policy-search": (INVERTED, REACHER, PUCK),
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
    words += flags({"eval_every": EVERY.get(run.env, 10_000), "eval_episodes": 20})
    words += ["--oversubscribe"] if ranks > cores() else []
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        output = mpiexec(ranks, "train", *words, *flags({"progress": "none", "out": out}), timeout=3600)
        columns = RunFolder(out).columns()
        final = evaluate(out, episodes=100)
    curve = curve_of(columns)
    seconds = np.interp([steps for steps, _ in curve], columns["env_steps"], columns["time_s"]).tolist()
    known = np.isfinite(columns["eval_return"])
    steps, clock, mean = (columns[name][known].tolist() for name in ("env_steps", "time_s", "eval_return"))
    result = {
        **run._asdict(),
        "ranks": ranks,
        "theta_sha256": output.split()[-1],
        "seconds": float(columns["time_s"][-1]),
        "load": os.getloadavg()[0],
        "provenance": origin() | {"command": f"mpiexec -n {ranks} {command('train', *words)}"},
        "total_steps": int(columns["env_steps"][-1]),
        "final": final.mean,
        "fresh": [[int(n), round(s, 2), r] for n, s, r in zip(steps, clock, mean, strict=True)],
        "curve": thinned(curve),
        "clock": thinned([(round(s, 2), mean) for s, (_, mean) in zip(seconds, curve, strict=True)]),
    }
    write_json(run.path, result)


def first_at(run: dict[str, Any]) -> tuple[float, float] | None:
    """Return the steps and seconds after which fresh episodes reached the task's goal; None if they never did."""
    goal = GOAL.get(run["env"], np.inf)
    if "fresh" not in run:  # recorded before: the mean of the last 100 training episodes
        steps, seconds = (next((x for x, mean in run[name] if mean >= goal), None) for name in ("curve", "clock"))
        return None if steps is None or seconds is None else (steps, seconds)
    return next(((steps, seconds) for steps, seconds, mean in run["fresh"] if mean >= goal), None)


def line(algorithm: str, env: str) -> dict[str, Any] | None:
    """Return what is to be reported of a member on a task; None if nothing is recorded."""
    paths = sorted((RESULTS / "family").glob(f"{algorithm}_{env.rpartition(':')[2]}_*.json"))
    runs = [read_json(path) for path in paths]
    if not runs:
        return None
    reached = [found for run in runs if (found := first_at(run))]
    steps, clock = np.median(reached, axis=0).tolist() if reached else (None, None)
    return {
        "algorithm": algorithm,
        "env": env,
        "goal": GOAL.get(env),
        "seeds": len(runs),
        "fresh": all("fresh" in run for run in runs),
        "reached": len(reached) if env in GOAL else None,
        "steps": steps,
        "clock": clock,
        "final": [run["final"] if "final" in run else run["curve"][-1][1] for run in runs],
        "total_steps": runs[0]["curve"][-1][0],
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "provenance": runs[0]["provenance"],
    }


def lines() -> list[dict[str, Any]]:
    """Return what is to be reported of every member on every task of which something is recorded."""
    found = [line(name, env) for name in ALGORITHMS for env in TASKS.get(name, ())]
    return [each for each in found if each]


def by_ranks() -> dict[str, dict[int, list[float | None]]]:
    """Return the seconds to the goal on CartPole, by member and number of ranks, seed by seed; None: not reached.

    The runs as typed are among them, of those seeds that other numbers of ranks have, too.
    """
    found: dict[str, dict[int, list[float | None]]] = {}
    others = sorted((RESULTS / "family_ranks").glob("*.json"))
    typed = sorted({RESULTS / "family" / f"{path.stem.rpartition('_')[0]}.json" for path in others})
    for run in map(read_json, [*others, *typed]):
        reached = first_at(run)
        found.setdefault(run["algorithm"], {}).setdefault(run["ranks"], []).append(reached and reached[1])
    return found


def main() -> None:
    """Run all that is missing, one run after the other: each has all cores."""
    parser = make_parser(__doc__)
    parser.add_argument("--algorithm", type=names, default=",".join(TASKS), help="names with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ranks", type=positive_numbers, help="numbers with commas: CartPole on so many ranks")
    args = parser.parse_args()
    ranks = args.ranks or []
    tasks = [(name, env) for name in args.algorithm for env in TASKS[name] if not ranks or env == CARTPOLE]
    for seed in range(args.seeds):
        for name, env in tasks:
            for run in [Run(name, env, seed, n) for n in ranks or [0]]:
                if not run.path.exists():
                    train(run)
                    print(run.path.name, read_json(run.path)["final"], flush=True)


if __name__ == "__main__":
    main()
