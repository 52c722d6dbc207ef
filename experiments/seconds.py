"""Seconds to a good return: train.py as typed, and sb3-contrib with rl-zoo's settings, on ten environments.

How many steps a return takes is read off the curves that `returns` has recorded: the first step at which the
interquartile mean over seeds reaches sb3-contrib's final one. How many steps a second takes is measured here, on one
machine, by turns, in short runs of both: train.py as typed on as many ranks as there are cores, sb3-contrib with its
two environments and its own threads. Start-up does not count, for neither.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import returns
from experiments.fresh import still
from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.returns import LONGER, OURS, STEPS, THEIRS, theirs
from experiments.tables import aligned, curve
from experiments.tables import markdown as table
from minitrpo.course.statistics import iqm
from minitrpo.parallel.this_process import cores
from minitrpo.policies import Array

SLOW = ("Ant-v5", "Humanoid-v5", "Walker2d-v5")  # physics: a quarter of the steps
LENGTH = {env: 25_000 if env in SLOW else 100_000 for env in STEPS}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the environment steps per second of a run; of sb3-contrib in a tenth of the steps."""
    if job.arm.name == THEIRS:
        steps = max(4096, job.steps // 10)
        return {"rate": steps / alone(theirs, job.arm.env, steps, 0, threads=cores())[1]}, {}
    columns = train(job, ranks, folder)[0].columns()
    return {"rate": columns["env_steps"][-1] / columns["time_s"][-1]}, {}


class Needed(NamedTuple):
    """What a system needs for a return: the steps after which it first has it and after which it keeps it.

    None: it never does. rate: its environment steps a second.
    """

    steps: int | None
    stays: int | None
    rate: float

    @property
    def seconds(self) -> float | None:
        """Return the seconds until the return is first reached."""
        return self.steps / self.rate if self.steps else None

    @property
    def stays_s(self) -> float | None:
        """Return the seconds until the return is reached for good."""
        return self.stays / self.rate if self.stays else None


def mean_curve(curves: list[Any]) -> tuple[Array, Array]:
    """Return all steps that curves have in common, and the interquartile mean there; curves: (steps, returns)."""
    seen = np.unique(np.concatenate([steps for steps, _ in curves]))
    grid, values = aligned(curves, lambda begin, end: seen[(seen >= begin) & (seen <= end)])
    return grid, iqm(values, axis=0)


def crossing(curves: list[Any], target: float) -> int | None:
    """Return the first of the curves' steps at which their interquartile mean reaches `target`; None if it never does.

    curves: (steps, returns) of every seed.
    """
    grid, mean = mean_curve(curves)
    reached = np.flatnonzero(mean >= target)
    return int(grid[reached[0]]) if len(reached) else None


def staying(curves: list[Any], target: float) -> int | None:
    """Return the first step from which the interquartile mean stays at `target` or above; None if it ends below."""
    grid, mean = mean_curve(curves)
    below = np.flatnonzero(mean < target)
    first = below[-1] + 1 if len(below) else 0
    return int(grid[first]) if first < len(grid) else None


@cache
def recorded(share: float = 1.0) -> dict[str, tuple[float, dict[str, Needed]]]:
    """Return what `needed` does of the recorded runs."""
    return needed(EXPERIMENT.runs(), share)


def needed(runs: Runs, share: float = 1.0) -> dict[str, tuple[float, dict[str, Needed]]]:
    """Return {environment: (sb3-contrib's final return, {system: what it needs for it})}.

    share: of the way from sb3-contrib's first return to its final one, if the target is not the latter.
    """
    learned, found = returns.EXPERIMENT.runs(), {}
    for env in (env for env in STEPS if (OURS, env) in runs and (THEIRS, env) in runs):
        curves = {OURS: learned.get((LONGER, env)) or learned[OURS, env], THEIRS: learned[THEIRS, env]}
        first = float(mean_curve(list(map(curve, curves[THEIRS])))[1][0])
        target, of = (1 - share) * first + share * float(iqm(returns.ends(curves[THEIRS]))), {}
        for system, some in curves.items():
            each, rate = list(map(curve, some)), np.median([run["rate"] for run in runs[system, env]])
            of[system] = Needed(crossing(each, target), staying(each, target), float(rate))
        found[env] = target, of
    return found


def times_sooner(of: dict[str, Needed]) -> float:
    """Return how many times sooner ours is there; 0 if it never is."""
    ours, others = of[OURS].seconds, of[THEIRS].seconds
    return others / ours if ours and others else 0.0


def times_sooner_for_good(of: dict[str, Needed]) -> float:
    """Return how many times sooner ours stays above the return than sb3-contrib first reaches it; 0: it ends below."""
    ours, others = of[OURS].stays_s, of[THEIRS].seconds
    return others / ours if ours and others else 0.0


def worth_reaching(found: dict[str, Any]) -> dict[str, Any]:
    """Return the environments on which sb3-contrib's final return is above that of doing nothing."""
    return {env: (target, of) for env, (target, of) in found.items() if target > still().get(env, -np.inf)}


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of seconds to sb3-contrib's final return."""
    header = ("environment", "return", "steps, thousands", "until it stays above", "steps/s", "seconds")
    header += (f"{THEIRS}: steps", "steps/s", "seconds", "times sooner", "times sooner, to stay above")
    rows = []
    for env, (target, of) in needed(runs).items():
        cells = [f"{target:{returns.form_of(env)}}"]
        for system, one in of.items():
            cells.append(f"{one.steps / 1e3:,.0f}" if one.steps else "not reached")
            if system == OURS:
                cells.append(f"{one.stays / 1e3:,.0f}" if one.stays else "ends below")
            cells += [f"{one.rate:,.0f}", f"{one.seconds:.1f}" if one.seconds else "-"]
        rows.append((env, *cells, f"{times_sooner(of):.1f}", f"{times_sooner_for_good(of):.1f}"))
    return table(header, rows)


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
