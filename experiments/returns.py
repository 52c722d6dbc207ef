"""Learning curves: minitrpo as typed, and sb3-contrib with rl-zoo's settings, on the same environments.

The score of a run is the mean return of its last 100 training episodes, actions sampled, in the environment's own
rewards. Seconds do not count. Rows of version 0.1.0 were typed with `--preset tuned`, which is the default now.
"""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.pictures import axes_of, headed, legend
from experiments.tables import Run, curve
from experiments.tables import markdown as table
from minitrpo.course.statistics import iqm, iqm_interval
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, ORANGE

OURS, THEIRS, LONGER = "minitrpo", "sb3-contrib", "minitrpo, longer"  # where ours did not reach theirs
LAST, POINTS = 100, 100  # episodes that a score is the mean of; points of a recorded curve, at most
MILLION = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Swimmer-v5", "Reacher-v5", "InvertedDoublePendulum-v5")
STEPS = dict.fromkeys(MILLION, 1_000_000) | dict.fromkeys(("CartPole-v1", "Pendulum-v1"), 100_000)
STEPS |= dict.fromkeys(("Ant-v5", "Humanoid-v5"), 1_000_000)
SLOW = ("Ant-v5", "Humanoid-v5")  # two seeds
PUBLISHED = {  # of TRPO: final or best mean returns; README.md explains the letters
    "HalfCheetah-v5": "1803 (a, v3), 1786 (b, v3), 4471 (c, v3, max), 1290 (d, v2), 1561 (e, v2, 2M)",
    "Hopper-v5": "3372 (a, v3), 3618 (b, v3), 2046 (c, v3, max), 1913 (d, v2), 3038 (e, v2, 2M)",
    "Walker2d-v5": "4502 (a, v3), 4933 (b, v3), 3827 (c, v3, max), 2342 (d, v2), 3260 (e, v2, 2M)",
    "Swimmer-v5": "359 (a, v3), 366 (b, v3), 41 (c, v3, max), 95 (d, v2), 197 (e, v2, 2M)",
    "Reacher-v5": "-5.1 (c, v2, max), -4.82 (d, v2)",
    "InvertedDoublePendulum-v5": "8435 (c, v2, max), 6732 (d, v2)",
    "CartPole-v1": "500 (b)",
    "Pendulum-v1": "-175 (b)",
    "Ant-v5": "3554 (a, v3), 4982 (b, v3), 2867 (c, v3, max)",
    "Humanoid-v5": "810 (c, v3, max)",
}


def last_episodes(columns: dict[str, Array]) -> dict[str, Array]:
    """Return at most POINTS rows: environment steps, and the mean return of about the last 100 episodes."""
    found = []
    episodes, returns = columns["episodes"], columns["mean_return"]
    ended = np.flatnonzero(episodes)
    for i in ended:
        first = i
        while first > 0 and episodes[first : i + 1].sum() < LAST:
            first -= 1
        some = np.flatnonzero(episodes[first : i + 1]) + first
        found.append(np.average(returns[some], weights=episodes[some]))
    return few({"env_steps": columns["env_steps"][ended], "mean_return": np.array(found)})


def few(points: dict[str, Array]) -> dict[str, Array]:
    """Return at most POINTS rows, equally spaced, with the last one."""
    every = max(1, -(-len(points["env_steps"]) // POINTS))
    return {name: values[::-every][::-1] for name, values in points.items()}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the curve of a run of ours, or of theirs in a process of its own."""
    if job.arm.name == THEIRS:
        return alone(theirs, job)
    out, theta = train(job, ranks, folder)
    return {"theta": theta}, {"curves": last_episodes(out.columns())}


def theirs(job: Job) -> Measured:
    """Return the curve of a run of sb3-contrib."""
    from experiments.systems.sb3 import trained  # which takes PyTorch

    steps, means = np.transpose(trained(job.arm.env, job.steps, job.seed)[0])
    return {}, {"curves": few({"env_steps": steps, "mean_return": means})}


def last(runs: list[Run]) -> Array:
    """Return the scores of runs."""
    return np.array([curve(run)[1][-1] for run in runs])


def final(env: str, runs: list[Run]) -> tuple[str, str]:
    """Return the interquartile mean of the scores of runs, how many they are, and its interval."""
    if not runs:
        return "-", "-"
    form, (low, high) = ".2f" if env == "Reacher-v5" else ".0f", iqm_interval(last(runs))
    return f"{float(iqm(last(runs))):{form}} ({len(runs)})", f"{low:{form}} to {high:{form}}"


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of final returns with sb3-contrib's and the published ones."""
    header = ("environment", "steps", f"{OURS}, IQM", "95 % interval", "version", f"{THEIRS}, IQM", "95 % interval")
    rows = []
    for env, published in PUBLISHED.items():
        ours, theirs = (runs.get((system, env), []) for system in (OURS, THEIRS))
        versions = ", ".join(sorted({run["version"] for run in ours}))
        rows.append((env, f"{STEPS[env]:,}", *final(env, ours), versions, *final(env, theirs), published))
    return table((*header, "published"), rows)


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the interquartile mean over seeds and their range, against environment steps."""
    axes = axes_of(figure, [env for env in STEPS if (OURS, env) in runs or (THEIRS, env) in runs], across=4)
    for env, axis in axes.items():
        for system, color in ((OURS, BLUE), (THEIRS, ORANGE)):
            points = [curve(run) for run in runs.get((system, env), [])]
            if points:
                grid = np.linspace(max(steps[0] for steps, _ in points), min(steps[-1] for steps, _ in points), 100)
                each = np.array([np.interp(grid, steps, means) for steps, means in points])
                axis.plot(grid / 1e3, iqm(each, axis=0), color=color, label=system)
                axis.fill_between(grid / 1e3, each.min(axis=0), each.max(axis=0), color=color, alpha=0.18, linewidth=0)
        axis.set(xlabel="thousand environment steps", ylabel="return, last 100 episodes", title=headed(env, runs))
    legend(figure, axes)


EXPERIMENT = Experiment(
    name="returns",
    title="learning curves as typed, and sb3-contrib's with rl-zoo's settings",
    arms=(
        *(Arm(system, env, "", 1) for env in STEPS for system in (OURS, THEIRS)),
        *(Arm(LONGER, env, "", 1) for env in ("Walker2d-v5", "Humanoid-v5")),
    ),
    full=Size(5, STEPS, times={LONGER: 2}, other=dict.fromkeys(SLOW, 2)),
    quick=Size(2, {"CartPole-v1": 20_000, "Pendulum-v1": 20_000}, only=(OURS,)),
    measure=measure,
    draw=draw,
    report=report,
    packages=("torch", "stable-baselines3", "sb3-contrib"),
)
