"""Fresh episodes: of trained policies that act by their mean, without noise, and of the action 0.

All other returns of `experiments` are those of training: of a policy that draws its actions, whose noise costs reward.
How much noise is left differs between systems, so fresh episodes of the mean action (of CartPole's two, the more
probable one) are played on a few environments. They begin with the same seeds for every system.
The return of the action 0, of a robot whose motors do nothing, is what a target should be above.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.returns import OURS, STEPS, THEIRS, apart, form_of, last_episodes
from experiments.tables import Run, written
from experiments.tables import markdown as table
from minitrpo import load
from minitrpo.course.statistics import Interval, difference_interval, mean_interval
from minitrpo.experience.environments import without_mujoco_warnings
from minitrpo.policies import Array

EPISODES, FIRST = 20, 10_000  # fresh episodes of a policy, and the seed of the first one, which no training begins with
TRAINED = ("CartPole-v1", "Pendulum-v1", "Reacher-v5")
ZERO = "action 0"


def fresh(env_id: str, act: Callable[[Any], Any]) -> Array:
    """Return the returns of EPISODES episodes in which `act` chooses an action from an observation."""
    with without_mujoco_warnings():
        env, returns = gymnasium.make(env_id, disable_env_checker=True), []
    for seed in range(FIRST, FIRST + EPISODES):
        observation, total, over = env.reset(seed=seed)[0], 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return np.array(returns)


def of_peer(env_id: str, steps: int, seed: int) -> tuple[float, Array]:
    """Return the last training return of sb3-contrib's TRPO with rl-zoo's settings, and those of fresh episodes."""
    from experiments.systems.sb3 import mean_action, run

    model, curve, _ = run(env_id, steps, seed)
    return curve.points[-1][1], fresh(env_id, mean_action(model))


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the mean return of the last 100 training episodes, and that of fresh episodes of the mean action."""
    if job.arm.name == THEIRS:
        training, returns = alone(of_peer, job.arm.env, job.steps, job.seed)
        return {"training": training, "fresh": returns.mean()}, {}
    out, theta = train(job, ranks, folder)
    training = last_episodes(out.columns())["mean_return"][-1]
    return {"theta": theta, "training": training, "fresh": fresh(job.arm.env, load(out.path)).mean()}, {}


def measure_still(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the mean, the lowest and the highest return of episodes of the action 0."""
    space = gymnasium.make(job.arm.env, disable_env_checker=True).action_space
    returns = alone(fresh, job.arm.env, Still(np.zeros(space.shape or (), space.dtype)))
    return {"mean": returns.mean(), "lowest": returns.min(), "highest": returns.max(), "episodes": len(returns)}, {}


class Still:
    """A policy that always takes the same action."""

    def __init__(self, action: Array) -> None:
        self.action = action

    def __call__(self, observation: Any) -> Array:
        """Return the action."""
        return self.action


def values(runs: list[Run], name: str) -> Array:
    """Return a number of every run, (seeds,)."""
    return np.array([run[name] for run in runs])


def differences(runs: Runs) -> dict[str, tuple[Interval, bool]]:
    """Return the fresh returns of ours minus theirs, and whether that is beyond chance, all tasks asked at once."""
    envs = [env for env in TRAINED if (OURS, env) in runs and (THEIRS, env) in runs]
    pairs = [(values(runs[OURS, env], "fresh"), values(runs[THEIRS, env], "fresh")) for env in envs]
    return dict(zip(envs, apart(pairs), strict=True))


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of training returns and of fresh returns, and by how much ours differ."""
    rows = []
    for env in (env for env in TRAINED if (OURS, env) in runs and (THEIRS, env) in runs):
        form, counts = form_of(env), {len(runs[system, env]) for system in (OURS, THEIRS)}
        both = [(values(runs[OURS, env], name), values(runs[THEIRS, env], name)) for name in ("training", "fresh")]
        means = [written(mean_interval(each), form) for pair in both for each in pair]
        differences = [written(difference_interval(*pair), form) for pair in both]
        rows.append((env, f"{min(counts)}", *means, *differences))
    header = ("environment", "seeds")
    header += tuple(f"{what}, {name}" for what in ("training", "mean action") for name in (OURS, THEIRS))
    return table((*header, "ours minus theirs: training", "mean action"), rows)


def report_still(experiment: Experiment, runs: Runs) -> str:
    """Return the table of the returns of the action 0."""
    rows = []
    for (_, env), [run] in runs.items():
        numbers = [f"{run[name]:{form_of(env)}}" for name in ("mean", "lowest", "highest")]
        rows.append((env, *numbers))
    return table(("environment", f"{ZERO}, mean of {EPISODES} episodes", "lowest", "highest"), rows)


@cache
def still() -> dict[str, float]:
    """Return the mean return of the action 0, by environment."""
    return {env: float(run["mean"]) for (_, env), [run] in STILL.runs().items()}


EXPERIMENT = Experiment(
    name="mean_action",
    title="fresh episodes of the mean action, ours and sb3-contrib's",
    arms=tuple(Arm(system, env, "", 1) for env in TRAINED for system in (OURS, THEIRS)),
    full=Size(3, dict.fromkeys(TRAINED, 100_000)),
    quick=Size(2, {"CartPole-v1": 20_000}, only=(OURS,)),
    measure=measure,
    report=report,
    data="fresh",
    packages=("torch", "stable-baselines3", "sb3-contrib"),
)
STILL = Experiment(
    name="standing_still",
    title="returns of the action 0",
    arms=tuple(Arm(ZERO, env, "", 1) for env in STEPS if env != "CartPole-v1"),
    full=Size(1),
    quick=Size(1, {"Pendulum-v1": 0}),
    measure=measure_still,
    report=report_still,
    data="fresh",
)
