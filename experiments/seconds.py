"""Seconds to a good return: train.py as typed, and sb3-contrib with rl-zoo's settings, on ten environments.

How many steps a return takes is read off the curves that `returns` has recorded: the first step at which the
interquartile mean over seeds reaches sb3-contrib's final one. How many steps a second takes is measured here, on one
machine, by turns, in short runs of both: train.py as typed on as many ranks as there are cores, sb3-contrib with its
two environments and its own threads. Start-up does not count, for neither.
"""

from pathlib import Path
from typing import Any

import numpy as np

from experiments import returns
from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.returns import LONGER, OURS, STEPS, THEIRS, theirs
from experiments.tables import aligned, curve
from experiments.tables import markdown as table
from minitrpo.course.statistics import iqm
from minitrpo.parallel.launcher import cores

SLOW = ("Ant-v5", "Humanoid-v5", "Walker2d-v5")  # physics: a quarter of the steps
LENGTH = {env: 25_000 if env in SLOW else 100_000 for env in STEPS}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the environment steps per second of a run; of sb3-contrib in a tenth of the steps."""
    if job.arm.name == THEIRS:
        steps = max(4096, job.steps // 10)
        return {"rate": steps / alone(theirs, job.arm.env, steps, 0, threads=cores())[1]}, {}
    columns = train(job, ranks, folder)[0].columns()
    return {"rate": columns["env_steps"][-1] / columns["time_s"][-1]}, {}


def crossing(curves: list[Any], target: float) -> int | None:
    """Return the first of the curves' steps at which their interquartile mean reaches `target`; None if it never does.

    curves: (steps, returns) of every seed.
    """
    seen = np.unique(np.concatenate([steps for steps, _ in curves]))
    grid, each = aligned(curves, lambda begin, end: seen[(seen >= begin) & (seen <= end)])
    reached = np.flatnonzero(iqm(each, axis=0) >= target)
    return int(grid[reached[0]]) if len(reached) else None


def needed(runs: Runs) -> dict[str, Any]:
    """Return {environment: (target, {system: (steps, rate, seconds)})}; None for steps and seconds never reached."""
    learned, found = returns.EXPERIMENT.runs(), {}
    for env in (env for env in STEPS if (OURS, env) in runs and (THEIRS, env) in runs):
        curves = {OURS: learned.get((LONGER, env)) or learned[OURS, env], THEIRS: learned[THEIRS, env]}
        target = float(iqm(np.array([curve(run)[1][-1] for run in curves[THEIRS]])))
        of = {}
        for system, some in curves.items():
            steps, rate = crossing(list(map(curve, some)), target), np.median([r["rate"] for r in runs[system, env]])
            of[system] = steps, rate, steps / rate if steps else None
        found[env] = target, of
    return found


def times_sooner(of: dict[str, Any]) -> float:
    """Return how many times sooner ours is there; 0 if it never is."""
    ours, others = of[OURS][2], of[THEIRS][2]
    return others / ours if ours and others else 0.0


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of seconds to sb3-contrib's final return."""
    header = ("environment", "return", "steps, thousands", "steps/s", "seconds", f"{THEIRS}: steps", "steps/s")
    rows, found = [], needed(runs)
    for env, (target, of) in found.items():
        cells = [f"{target:{returns.form_of(env)}}"]
        for steps, rate, seconds in of.values():
            cells += [f"{steps / 1e3:,.0f}" if steps else "not reached", f"{rate:,.0f}"]
            cells += [f"{seconds:.1f}" if steps else "-"]
        rows.append((env, *cells, f"{times_sooner(of):.1f}"))
    each = [times_sooner(of) for _, of in found.values()]
    text = f"Median over the environments, one not reached counted as 0: **{np.median(each):.1f} times** sooner, "
    text += f"range {min(each):.1f} to {max(each):.1f}."
    if any((of[OURS][0] or 0) > STEPS[env] for env, (_, of) in found.items()):
        text += " Where ours took more than a million steps, its runs are of two million (`returns`)."
    return f"{table((*header, 'seconds', 'times sooner'), rows)}\n\n{text}"


EXPERIMENT = Experiment(
    name="seconds",
    title="seconds to sb3-contrib's final return",
    arms=tuple(Arm(system, env, "", 2) for env in STEPS for system in (OURS, THEIRS)),
    full=Size(2, LENGTH),
    quick=Size(1, {"CartPole-v1": 20_000}),
    measure=measure,
    report=report,
    seconds=True,
    packages=("torch", "stable-baselines3", "sb3-contrib"),
)
