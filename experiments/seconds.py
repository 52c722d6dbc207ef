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
from experiments.returns import LONGER, OURS, STEPS, THEIRS
from experiments.tables import curve
from experiments.tables import markdown as table
from minitrpo.course.statistics import iqm
from minitrpo.parallel.launcher import cores

SLOW = ("Ant-v5", "Humanoid-v5", "Walker2d-v5")  # physics: a quarter of the steps
LENGTH = {env: 25_000 if env in SLOW else 100_000 for env in STEPS}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the environment steps per second of a run."""
    if job.arm.name == THEIRS:
        return alone(their_rate, job)
    columns = train(job, ranks, folder)[0].columns()
    return {"rate": columns["env_steps"][-1] / columns["time_s"][-1]}, {}


def their_rate(job: Job) -> Measured:
    """Return the environment steps per second of sb3-contrib, in a tenth of the steps."""
    from experiments.systems.sb3 import trained  # which takes PyTorch

    steps = max(4096, job.steps // 10)
    return {"rate": steps / trained(job.arm.env, steps, 0, threads=cores())[1]}, {}


def crossing(curves: list[Any], target: float) -> int | None:
    """Return the first of the curves' steps at which their interquartile mean reaches `target`; None if it never does.

    curves: (steps, returns) of every seed.
    """
    begin, end = max(steps[0] for steps, _ in curves), min(steps[-1] for steps, _ in curves)
    grid = np.unique(np.concatenate([steps for steps, _ in curves]))
    grid = grid[(grid >= begin) & (grid <= end)]
    means = iqm(np.array([np.interp(grid, *one) for one in curves]), axis=0)
    reached = np.flatnonzero(means >= target)
    return int(grid[reached[0]]) if len(reached) else None


def needed(runs: Runs) -> dict[str, Any]:
    """Return {environment: (target, {system: (steps, rate, seconds)})}; None for steps and seconds never reached."""
    learned, found = returns.EXPERIMENT.runs(), {}
    for env in (env for env in STEPS if (OURS, env) in runs and (THEIRS, env) in runs):
        curves = {OURS: learned.get((LONGER, env)) or learned[OURS, env], THEIRS: learned[THEIRS, env]}
        curves = {system: [curve(run) for run in some] for system, some in curves.items()}
        target = float(iqm(np.array([each[-1] for _, each in curves[THEIRS]])))
        of = {}
        for system in (OURS, THEIRS):
            steps, rate = crossing(curves[system], target), np.median([run["rate"] for run in runs[system, env]])
            of[system] = steps, rate, steps / rate if steps else None
        found[env] = target, of
    return found


def times_sooner(of: dict[str, Any]) -> float:
    """Return how many times sooner ours is there; 0 if it never is."""
    ours, theirs = of[OURS][2], of[THEIRS][2]
    return theirs / ours if ours and theirs else 0.0


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of seconds to sb3-contrib's final return."""
    header = ("environment", "return", "steps, thousands", "steps/s", "seconds", f"{THEIRS}: steps", "steps/s")
    rows, found = [], needed(runs)
    for env, (target, of) in found.items():
        cells = []
        for steps, rate, seconds in of.values():
            reached = (f"{steps / 1e3:,.0f}", f"{seconds:.1f}") if steps else ("not reached", "-")
            cells += [reached[0], f"{rate:,.0f}", reached[1]]
        sooner, form = times_sooner(of), ".2f" if env == "Reacher-v5" else ".0f"
        rows.append((env, f"{target:{form}}", *cells, f"{sooner:.1f}" if sooner else "-"))
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
