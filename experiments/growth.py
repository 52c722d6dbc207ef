"""What a million steps cost as the work grows: more observations, wider networks, more environments on a rank.

One rank, updates of 2,048 steps without the first one, one setting; an environment with more observations has other
physics and more actions, too.
"""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size
from experiments.pictures import axes_of, legend
from experiments.tables import markdown as table
from minitrpo.course.speedup.experiment import timed_run
from minitrpo.reports.plots import COLORS

PHASES, SECONDS = ("collect", "update"), (10, 30, 100, 300)
CHEETAH, HIDDEN, ENVS = "HalfCheetah-v5", 64, 16
OBSERVATIONS = {"Reacher-v5": 10, CHEETAH: 17, "Ant-v5": 105, "Humanoid-v5": 348}
STEPS = dict.fromkeys(OBSERVATIONS, 40_960) | {CHEETAH: 81_920}


def arm(env: str = CHEETAH, hidden: int = HIDDEN, envs: int = ENVS) -> Arm:
    """Return a run with these sizes."""
    words = f"--preset plain --steps-per-update 2048 --hidden {hidden},{hidden} --num-envs {envs}"
    return Arm(f"{hidden} units, {envs} environments", env, words, 1)


SWEEPS = {  # what grows -> the arm of each of its values
    "observations of an environment": {size: arm(env) for env, size in OBSERVATIONS.items()},
    "units in each of two hidden layers": {size: arm(hidden=size) for size in (32, 64, 128, 256)},
    "environments on a rank": {size: arm(envs=size) for size in (1, 4, 16, 64)},
}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the seconds of collecting and updating a million steps."""
    columns = timed_run(ranks, [*job.words, "--seed", f"{job.seed}"])
    steps = columns["steps"][1:].sum() / 1e6
    whole, collect = (columns[name][1:].sum() / steps for name in ("iteration_s", "collect_s"))
    return {"collect": collect, "update": whole - collect}, {}


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of seconds."""
    rows = []
    for what, sweep in SWEEPS.items():
        for size, one in sweep.items():
            took = [[run[phase] for run in runs.get(one[:2], [])] or [np.nan] for phase in PHASES]
            rows.append((what, f"{size}", *(f"{np.median(x):.0f}, range {min(x):.0f} to {max(x):.0f}" for x in took)))
    return table(("what grows", "size", "collecting a million steps, s", "updating, s"), rows)


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the seconds of every round against each size, and their medians."""
    axes = axes_of(figure, list(SWEEPS), across=3)
    for (what, sweep), axis in zip(SWEEPS.items(), axes.values(), strict=True):
        for phase in PHASES:
            took = {size: [run[phase] for run in runs[one[:2]]] for size, one in sweep.items() if one[:2] in runs}
            axis.plot([*took], [np.median(some) for some in took.values()], color=COLORS[phase], label=phase)
            axis.plot([*took], [*took.values()], ".", color=COLORS[phase])
        axis.set(xscale="log", yscale="log", xlabel=what, ylabel="seconds of a million steps", ylim=(5, 500))
        axis.set_xticks(list(sweep), map(str, sweep))
        axis.set_yticks(SECONDS, map(str, SECONDS))
        axis.minorticks_off()
    legend(figure, axes)


EXPERIMENT = Experiment(
    name="growth",
    title="what a million steps cost as the work grows",
    arms=tuple(dict.fromkeys(one for sweep in SWEEPS.values() for one in sweep.values())),
    full=Size(3, STEPS),
    quick=Size(1, {"Reacher-v5": 4_096}),
    measure=measure,
    report=report,
    draw=draw,
    seconds=True,
)
