"""Why HalfCheetah learns well on one seed and badly on another: how much of an episode is upside down, as it learns.

Each seed is trained as typed, but in 16 environments. Every 50,000 steps the mean action plays an episode of
Gymnasium's own environment. It is upside down where the cosine of the trunk's pitch is negative.
"""

import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, train
from experiments.tables import curve
from experiments.tables import markdown as table
from minitrpo import load
from minitrpo.experience.environments import without_mujoco_warnings

ENV, STEPS, PIECE = "HalfCheetah-v5", 600_000, 50_000
PITCH = 2  # where the trunk's angle stands in qpos


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Train piece by piece, and look at the policy after each."""
    shutil.rmtree(folder / "run", ignore_errors=True)  # what an interrupted one did not look at is gone
    looks = []
    for steps in range(PIECE, job.steps + 1, PIECE):
        out, theta = train(job._replace(steps=steps), ranks, folder, longer=steps)
        looks.append((steps, *episode(load(out.path), steps)))
    columns = zip(("env_steps", "return", "down"), zip(*looks, strict=True), strict=True)
    return {"theta": theta}, {"looks": dict(columns)}


def episode(policy: Any, number: int) -> tuple[float, float]:
    """Return the return of an episode of the mean action, and the fraction of it that was upside down."""
    with without_mujoco_warnings():
        env = gymnasium.make(ENV)
    observation, _ = env.reset(seed=1_000_000 + number)
    rewards, down, over = [], [], False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        over = terminated or truncated
        rewards.append(float(reward))
        down.append(np.cos(env.unwrapped.data.qpos[PITCH]) < 0)
    env.close()
    return sum(rewards), float(np.mean(down))


def report(experiment: Experiment, runs: Runs) -> str:
    """Return a line for each run: its end, and when it lay on its back."""
    header = ("seed", "begun", "return in the end", "upside down at 200,000", "at 400,000", "in the end")
    rows = []
    for name, run in ((name, run) for (name, _), some in runs.items() for run in some):
        steps, down = curve(run, "env_steps", "down")
        places = [np.searchsorted(steps, n) for n in (200_000, 400_000, steps[-1])]
        at = [f"{down[place]:.0%}" if place < len(down) else "-" for place in places]
        rows.append((f"{run['seed']:.0f}", name, f"{curve(run, y='return')[1][-1]:,.0f}", *at))
    return table(header, rows)


EXPERIMENT = Experiment(
    name="posture",
    title="how much of HalfCheetah's episodes is upside down, as it learns",
    arms=(
        Arm("as typed", ENV, "--num-envs 16", 1),
        Arm("initial_log_std 0", ENV, "--num-envs 16 --initial-log-std 0", 1),
    ),
    full=Size(5, {ENV: STEPS}),
    quick=Size(1, {ENV: PIECE}),
    measure=measure,
    report=report,
)
