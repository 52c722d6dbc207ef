"""Record runs of train that lectures show: python notebooks/recorded/training.py [NAME ...]; all without a name.

Minutes of two cores: 04_limits 3, 05_eight 5, 05_seeds 4, 09_adaptive 8, 09_long 7, 12_simulators 3, 13_ratio 3.
10_lost (8) and rates (10) begin on an idle machine only: what is lost, and how fast steps are, depends on what else
runs.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from film import before_and_after
from keep import HERE, Row, each, keep, note

from minitrpo import evaluate
from minitrpo.course.classroom import train
from minitrpo.course.machine import Recording
from minitrpo.run_folder.folder import RunFolder

Rows = Callable[[RunFolder], list[Row]]


class Record(NamedTuple):
    """A table of runs: what their rows begin with, the words of train, more of them for a value, and what is kept."""

    heads: list[Row]
    words: str
    more: dict[Any, str]
    rows: Rows
    seeds: int = 5
    alone: bool = False  # one run at a time, on an idle machine


def grid(**columns: Any) -> list[Row]:
    """Return all combinations of the values of some columns."""
    return [dict(zip(columns, values, strict=True)) for values in product(*columns.values())]


def updates(*names: str, most: int | None = None) -> Rows:
    """Return what makes a row of each update, or of the first so many, of these columns."""
    return lambda folder: [{name: f"{float(row[name]):.6g}" for name in names} for row in folder.rows()[:most]]


def lost(folder: RunFolder) -> list[Row]:
    """Return how many updates were applied and lost, and the mean return of the last tenth of the run."""
    c = folder.columns()
    last = np.nanmean(c["mean_return"][-len(c["mean_return"]) // 10 :])
    return [{"applied": int(c["applied"].sum()), "lost": int(c["lost"].sum()), "last_return": float(last)}]


def rate(folder: RunFolder) -> list[Row]:
    """Return the steps a second of the training, without the start of its processes, and the mean staleness."""
    c = folder.columns()
    late = round(float(np.mean(c["staleness_mean"])), 3) if "staleness_mean" in c else ""
    return [{"rate": round(c["env_steps"][-1] / c["time_s"][-1]), "staleness": late}]


def score(folder: RunFolder) -> list[Row]:
    """Return the mean return of 48 fresh episodes of the policy that was learned; all of them of full length."""
    env = folder.read_config()["settings"]["env"].replace("own:OutOfStep-v0", "Pendulum-v1")
    make: Any = partial(gymnasium.make, env)
    return [{"score": round(evaluate(folder.path, 48, sample=True, env=make).mean, 2)}]


def both_returns(folder: RunFolder) -> list[Row]:
    """Return the mean return of the last fifth of the updates, and that of 20 fresh episodes of the mean action.

    The first is empty if no episode ended in these updates.
    """
    c = folder.columns()
    late = c["mean_return"][-max(1, len(c["mean_return"]) // 5) :]
    late = late[np.isfinite(late)]
    mean_action = evaluate(folder.path, 20, sample=False).mean
    return [{"training": round(float(late.mean()), 3) if len(late) else "", "mean_action": round(mean_action, 3)}]


def last_hundred(folder: RunFolder) -> list[Row]:
    """Return the mean return of about the last hundred episodes."""
    c = folder.columns()
    rows = np.flatnonzero(c["episodes"])[::-1]  # with an episode in them, the newest first
    rows = rows[: np.searchsorted(np.cumsum(c["episodes"][rows]), 100) + 1]
    return [{"last_return": round(float(np.average(c["mean_return"][rows], weights=c["episodes"][rows])), 1)}]


def filmed(*names: str) -> Rows:
    """Return what makes a row of each update, and a film of the cheetah before and after the run."""

    def rows(folder: RunFolder) -> list[Row]:
        if folder.read_config()["settings"]["env"] == "HalfCheetah-v5":
            returns = before_and_after(folder, HERE / "09_before_after.mp4", steps=80)
            note("09_before_after", run="HalfCheetah-v5 of 09_long", seeds=[0], returns_of_80_steps=returns)
        return updates(*names)(folder)

    return rows


ARMS = {
    "fixed, max-KL 0.005": "--steps-per-update 2000 --max-kl 0.005",
    "fixed, 1,000 steps, max-KL 0.01": "--steps-per-update 1000 --max-kl 0.01",
    "both, margin 0": "--steps-per-update 2000 --max-kl 0.005 --adapt both --margin 0",
    "both, margin 0.05": "--steps-per-update 2000 --max-kl 0.005 --adapt both --margin 0.05",
}
RECORDS = {
    "04_limits": Record(  # a batch is made of whole episodes: after a fall it can be far longer
        grid(env=["InvertedPendulum-v5"], max_kl=(0.01, 0.1)),
        "--preset episodes --env {env} --steps-per-update 1000 --max-kl {max_kl} --total-steps 250000",
        {},
        updates("iteration", "env_steps", "episodes", "mean_return", "kl", "line_search_steps", most=60),
        seeds=10,
    ),
    "05_seeds": Record(
        grid(env=("Reacher-v5", "Swimmer-v5")),
        "--preset episodes --env {env} --total-steps 300000",
        {"Swimmer-v5": "--discount 0.9999"},
        updates("env_steps", "mean_return"),
    ),
    "05_eight": Record(
        grid(env=("CartPole-v1", "InvertedPendulum-v5", "Reacher-v5"), algorithm=("trpo", "policy-gradient")),
        "--algorithm {algorithm} --env {env}",
        {
            "CartPole-v1": "--total-steps 15000",
            "InvertedPendulum-v5": "--total-steps 20000",
            "Reacher-v5": "--total-steps 50000",
        },
        both_returns,
        seeds=8,
    ),
    "09_adaptive": Record(
        grid(env=("Reacher-v5", "Swimmer-v5"), arm=ARMS),
        "--preset episodes --env {env} --adapt-window 5",
        {"Reacher-v5": "--total-steps 100000", "Swimmer-v5": "--total-steps 150000 --discount 0.9999", **ARMS},
        updates("env_steps", "mean_return", "steps_per_update", "max_kl"),
    ),
    "09_long": Record(  # the rule as published: windows of ten updates, a margin of 5 %; one run of each robot
        grid(env=("HalfCheetah-v5", "Humanoid-v5")),
        "--preset episodes --env {env} --steps-per-update 5000 --max-kl 0.005 --adapt both --margin 0.05",
        {"HalfCheetah-v5": "--total-steps 7400000", "Humanoid-v5": "--total-steps 300000"},
        filmed("env_steps", "mean_return", "mean_length", "steps_per_update", "max_kl"),
        seeds=1,
    ),
    "10_lost": Record(  # two ranks in shared memory without locks; A3C in one process that loses a part on purpose
        grid(algorithm=("a3c", "gorila", "async-n-step-q"), ranks=[2], lost_on_purpose=[""])
        + grid(algorithm=["own:Losing"], ranks=[1], lost_on_purpose=(0.0, 0.01, 0.03, 0.1)),
        "--algorithm {algorithm} --env CartPole-v1",
        {2: "--transport window --total-steps 60000", 1: "--transport events --lost-part {lost_on_purpose}"},
        lost,
        seeds=10,
        alone=True,
    ),
    "12_simulators": Record(  # 2,048 steps of all simulators together per update
        grid(what=["final"], env=("CartPole-v1", "Pendulum-v1"), simulators=(1, 4, 16, 64, 256))
        + grid(what=["out of step"], env=["Pendulum-v1"], simulators=(64, 256)),
        "--algorithm batch-ppo --learner root --num-envs {simulators} --env",
        {
            "final": "{env}",
            "out of step": "own:OutOfStep-v0",
            "CartPole-v1": "--total-steps 12288 --anneal-steps 150000",
            "Pendulum-v1": "--total-steps 61440 --anneal-steps 500000",
        },
        score,
    ),
    "13_ratio": Record(  # a round is 16 steps of all environments, a row of the log 1,280
        grid(num_envs=(4, 16), replay_ratio=(0.0625, 0.25)),
        "--algorithm dqn --env CartPole-v1 --total-steps 60000 --num-envs {num_envs} --replay-ratio {replay_ratio}",
        {4: "--steps-per-update 64 --record-every 20", 16: "--steps-per-update 256 --record-every 5"},
        last_hundred,
    ),
    "rates": Record(  # as typed, but both ranks of a2c work, which leaves such light steps to one
        grid(algorithm=("a2c", "a3c"), env=["CartPole-v1"], ranks=(1, 2))
        + grid(algorithm=("trpo", "batch-ppo", "a3c", "naf"), env=["Pendulum-v1"], ranks=[2]),
        "--algorithm {algorithm} --env {env} --total-steps",
        dict.fromkeys(("trpo", "batch-ppo", "a2c", "a3c"), "40000")
        | {"naf": "10000", "CartPole-v1": "--oversubscribe"},
        rate,
        seeds=8,
        alone=True,
    ),
}


def words_of(record: Record, head: Row) -> str:
    """Return the words of train of a setting, without the seed."""
    more = (record.more[value] for value in head.values() if value in record.more)
    return " ".join((record.words, *more)).format(**head)


def made(job: tuple[str, Row, int]) -> list[Row]:
    """Train once, and return the rows of the run."""
    name, head, seed = job
    record = RECORDS[name]
    folder = train(head.get("ranks", 1), *words_of(record, head).split(), "--seed", seed, timeout=3600)
    return [head | {"seed": seed} | row for row in record.rows(folder)]


def main() -> None:
    """Make and keep what is named, seed by seed: what else the machine does meets all settings alike."""
    os.chdir(HERE)  # where python finds own
    for name in [word for word in sys.argv[1:] if word in RECORDS] or RECORDS:
        record = RECORDS[name]
        idle = Recording() if record.alone else None
        jobs = [(name, head, seed) for seed in range(record.seeds) for head in record.heads]
        rows = each(made, jobs, at_a_time=1 if idle else 2)
        more = {"conditions": idle.conditions()} if idle else {}
        keep(name, rows, words_of_train=[words_of(record, head) for head in record.heads], **more)


if __name__ == "__main__":
    main()
