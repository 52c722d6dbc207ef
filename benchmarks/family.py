"""The whole family on its reference tasks: every member as typed, five seeds each, on a rank per core.

    python -m benchmarks.family
    python -m benchmarks.family --apart                  members with a barrier: one rank each, one for each core
    python -m benchmarks.family --env CartPole-v1        of a member's tasks these alone
    python -m benchmarks.family --seeds 2 --held-out     on seeds that nobody had used: results/family_held_out

A run that is recorded in results/family is not run again. Steps to a goal are read off fresh episodes:
every so often twenty of the mean action are played, from which nothing is learned, and the goal is reached when their
mean is at least the goal's. The final return is that of a hundred fresh episodes after the run. Goals are the same
for all members on one task. A member with a barrier learns the same, to the bit, on one rank, so apart costs less time.
Seconds are not told: other programs may run beside these.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, read_json, thinned, write_json
from benchmarks.returns import curve_of
from minitrpo import evaluate
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.course.members import DESIGNS
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import command
from minitrpo.supervision.jobs import flags, mpiexec

CARTPOLE, PENDULUM, REACHER = "CartPole-v1", "Pendulum-v1", "Reacher-v5"
PUCK = "minitrpo.course.linear_quadratic:LinearQuadratic-v0"
INVERTED, HOPPER, CHEETAH = "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5"
GOAL = {CARTPOLE: 475.0, PENDULUM: -250.0, REACHER: -8.0, INVERTED: 900.0, HOPPER: 1000.0, CHEETAH: 1000.0}
EVERY = {CARTPOLE: 5_000, PENDULUM: 5_000, REACHER: 10_000, INVERTED: 10_000, HOPPER: 50_000, CHEETAH: 50_000}
LONG = (
    *((name, CARTPOLE) for name in ("one-step-q", "sarsa", "n-step-q")),
    *((name, CARTPOLE) for name in ("async-one-step-q", "async-sarsa", "async-n-step-q")),
    *((name, PENDULUM) for name in ("a2c", "a3c")),
)
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
HELD_OUT = 8_000  # seeds from here on were drawn when all settings stood
TRPO_STEPS = {CARTPOLE: 150_000, PENDULUM: 500_000, REACHER: 500_000}  # the others know how long they need


class Run(NamedTuple):
    """A training run of a member on a task."""

    algorithm: str
    env: str
    seed: int

    @property
    def path(self) -> Path:
        """Return where the run is recorded."""
        folder = "family" if self.seed < HELD_OUT else "family_held_out"
        return RESULTS / folder / f"{self.algorithm}_{self.env.rpartition(':')[2]}_{self.seed}.json"

    @property
    def waits(self) -> bool:
        """Return whether the member has a barrier: then it learns the same on any number of ranks."""
        return DESIGNS[self.algorithm].sync == "barrier"


def every(algorithm: str, env: str) -> int:
    """Return after how many steps fresh episodes are played: rarely in a long run, or most of it would be these."""
    return EVERY.get(env, 10_000) * (4 if (algorithm, env) in LONG else 1)


def train(run: Run, apart: bool = False) -> None:
    """Train as typed and record the curve."""
    ranks = 1 if apart else cores()
    words = flags({"algorithm": run.algorithm, "env": run.env, "seed": run.seed})
    words += flags({"total_steps": TRPO_STEPS[run.env]}) if run.algorithm == "trpo" else []
    words += flags({"eval_every": every(run.algorithm, run.env), "eval_episodes": 20})
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        output = mpiexec(ranks, "train", *words, *flags({"progress": "none", "out": out}), timeout=3600)
        columns = RunFolder(out).columns()
        final = evaluate(out, episodes=100)
    curve = curve_of(columns)
    known = np.isfinite(columns["eval_return"])
    steps, mean = (columns[name][known].tolist() for name in ("env_steps", "eval_return"))
    result = {
        **run._asdict(),
        "ranks": ranks,
        "theta_sha256": output.split()[-1],
        "provenance": origin() | {"command": f"mpiexec -n {ranks} {command('train', *words)}"},
        "total_steps": int(columns["env_steps"][-1]),
        "final": final.mean,
        "fresh": [[int(n), r] for n, r in zip(steps, mean, strict=True)],
        "curve": thinned(curve),
    }
    write_json(run.path, result)


def first_at(run: dict[str, Any]) -> float | None:
    """Return the steps after which fresh episodes reached the task's goal; None if they never did."""
    goal, gap = GOAL.get(run["env"], np.inf), every(run["algorithm"], run["env"])
    before = 0
    for steps, mean in run["fresh"]:
        if steps // gap > before // gap:  # some runs were looked at more often; they are read as often as the others
            if mean >= goal:
                return steps
            before = steps
    return None


def line(algorithm: str, env: str, folder: str = "family") -> dict[str, Any] | None:
    """Return what is to be reported of a member on a task; None if nothing is recorded."""
    paths = sorted((RESULTS / folder).glob(f"{algorithm}_{env.rpartition(':')[2]}_*.json"))
    runs = [read_json(path) for path in paths]
    if not runs:
        return None
    reached = [steps for run in runs if (steps := first_at(run))]
    return {
        "algorithm": algorithm,
        "env": env,
        "goal": GOAL.get(env),
        "seeds": len(runs),
        "reached": len(reached) if env in GOAL else None,
        "steps": float(np.median(reached)) if reached else None,
        "final": [run["final"] for run in runs],
        "total_steps": runs[0]["total_steps"],
        "provenance": runs[0]["provenance"],
    }


def lines(folder: str = "family") -> list[dict[str, Any]]:
    """Return what is to be reported of every member on every task of which something is recorded."""
    found = [line(name, env, folder) for name in ALGORITHMS for env in TASKS.get(name, ())]
    return [each for each in found if each]


def main() -> None:
    """Run all that is missing, one run after the other: each has all cores."""
    parser = make_parser(__doc__)
    parser.add_argument("--algorithm", type=names, default=",".join(TASKS), help="names with commas")
    parser.add_argument("--env", type=names, default=",".join(GOAL | {PUCK: 0}), help="tasks with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--apart", action="store_true", help="members with a barrier on a rank each, side by side")
    parser.add_argument("--held-out", action="store_true", help=f"seeds from {HELD_OUT} on")
    args = parser.parse_args()
    first = HELD_OUT if args.held_out else 0
    tasks = [(name, env) for name in args.algorithm for env in TASKS[name] if env in args.env]
    runs = [Run(name, env, seed) for seed in range(first, first + args.seeds) for name, env in tasks]
    waiting = [run for run in runs if not run.path.exists()]
    apart = [run for run in waiting if args.apart and run.waits]
    with ThreadPoolExecutor(cores()) as pool:
        for run, _ in zip(apart, pool.map(lambda run: train(run, apart=True), apart), strict=True):
            say(run)
    for run in waiting:
        if run not in apart:
            train(run)
            say(run)


def say(run: Run) -> None:
    """Print a line about a run that is recorded."""
    print(run.path.name, read_json(run.path)["final"], flush=True)


if __name__ == "__main__":
    main()
