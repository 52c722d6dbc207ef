"""What matters when actors are added to a replay memory, for lecture 13a: python notebooks/recorded/13_ratio.py.

DQN on CartPole as typed but for two options: 4 or 16 environments, and replay ratios (updates per environment step)
of 1/4 and 1/16, five seeds each, on one rank; a round is 16 steps of all environments. Writes 13_ratio.csv (a row per
run: environment steps at which the mean of the last 100 returns first was 400, empty if it never was; seconds of the
run; last mean) and in origins.json (how it was made). About six minutes.
"""

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from keep import keep

from minitrpo.policies import Array
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import command, provenance
from minitrpo.supervision.jobs import flags, mpiexec

GOAL, STEPS, LAST, SEEDS = 400, 60_000, 100, range(5)
KINDS = ((4, 0.25), (16, 0.25), (16, 0.0625), (4, 0.0625))
COLUMNS = ("num_envs", "replay_ratio", "seed", "env_steps", "goal", "steps_to_goal", "seconds", "last_return")


def words(num_envs: int, ratio: float, seed: int) -> list[str]:
    """Return the options of a run; it is logged every 1,280 steps."""
    settings = {"algorithm": "dqn", "env": "CartPole-v1", "num_envs": num_envs, "steps_per_update": 16 * num_envs}
    settings |= {"replay_ratio": ratio, "total_steps": STEPS, "record_every": 80 // num_envs, "seed": seed}
    return flags(settings)


def moving(episodes: Array, returns: Array) -> Array:
    """Return for each row of a log the mean return of about the last 100 episodes; NaN before there are any."""
    means = np.full(len(episodes), np.nan)
    for i in range(len(episodes)):
        rows = np.flatnonzero(episodes[: i + 1])[::-1]  # with an episode in them, the newest first
        enough = rows[: np.searchsorted(np.cumsum(episodes[rows]), LAST) + 1]
        if len(enough):
            means[i] = np.average(returns[enough], weights=episodes[enough])
    return means


def measured(num_envs: int, ratio: float, seed: int) -> dict[str, Any]:
    """Train, and return a row."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        mpiexec(1, "train", *words(num_envs, ratio, seed), *flags({"progress": "none", "out": out}), timeout=600)
        c = RunFolder(out).columns()
    steps, means = c["env_steps"], moving(c["episodes"], c["mean_return"])
    reached = next((int(at) for at, mean in zip(steps, means, strict=True) if mean >= GOAL), "")
    values = (num_envs, ratio, seed, int(steps[-1]), GOAL, reached, round(float(c["time_s"][-1]), 2))
    return dict(zip(COLUMNS, (*values, round(float(means[-1]), 1)), strict=True))


def main() -> None:
    """Measure seed by seed, so that whatever else the machine does meets all kinds alike; write both files."""
    rows = []
    for seed, kind in product(SEEDS, KINDS):
        rows.append(measured(*kind, seed))
        print(rows[-1], flush=True)
    runs = [command("train", *words(*kind, seed)) for seed, kind in product(SEEDS, KINDS)]
    keep(
        "13_ratio",
        sorted(rows, key=lambda row: (row["num_envs"], row["replay_ratio"], row["seed"])),
        {**provenance(), "runs": runs},
    )


if __name__ == "__main__":
    main()
