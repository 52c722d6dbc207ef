"""Record what lectures 11a and 13 say of steps a second: python notebooks/recorded/rates.py, on a machine that is idle.

Members as typed, one run after the other, by turns; the time is the training's, without the start of its processes.
On CartPole both ranks of a2c work (--oversubscribe), which as typed leaves such light steps to one. Writes rates.csv (a
row per run) and rates.json (means with Student's intervals, ratios with Welch's, what made them). Refuses where other
programs use the cores, before a round or during a run. Takes about ten minutes.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from keep import keep

from minitrpo.course.classroom import train
from minitrpo.course.machine import Others, busy_share
from minitrpo.course.statistics import Interval, mean_interval, ratio_interval
from minitrpo.run_folder.provenance import provenance

ROUNDS, BUSY = 8, 0.1


class Kind(NamedTuple):
    """Which runs are compared."""

    algorithm: str
    env: str
    ranks: int
    steps: int
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return its name in rates.json."""
        return f"{self.algorithm}, {self.env}, {self.ranks}"


BOTH = ("--oversubscribe",)
KINDS = (
    *(Kind(name, "CartPole-v1", ranks, 40_000, BOTH) for name in ("a2c", "a3c") for ranks in (1, 2)),
    *(Kind(name, "CartPole-v1", 2, 15_000) for name in ("dqn", "gorila")),
    *(Kind(name, "Pendulum-v1", 2, 40_000) for name in ("trpo", "batch-ppo", "a3c")),
    Kind("naf", "Pendulum-v1", 2, 10_000),
)
RATIOS = {  # what is told of which two
    "a2c, two to one": ("a2c, CartPole-v1, 2", "a2c, CartPole-v1, 1"),
    "a3c, two to one": ("a3c, CartPole-v1, 2", "a3c, CartPole-v1, 1"),
    "a3c to a2c": ("a3c, CartPole-v1, 2", "a2c, CartPole-v1, 2"),
}


def run_of(kind: Kind, seed: int) -> dict[str, Any]:
    """Return the row of a run."""
    others = Others()
    job = ("--algorithm", kind.algorithm, "--env", kind.env, "--total-steps", kind.steps, "--seed", seed, *kind.words)
    columns = train(kind.ranks, *job).columns()
    busy = others.share()
    steps, seconds = float(columns["env_steps"][-1]), float(columns["time_s"][-1])
    late = round(float(np.mean(columns["staleness_mean"])), 3) if "staleness_mean" in columns else ""
    row = {**kind._asdict(), "words": " ".join(kind.words), "seed": seed, "rate": round(steps / seconds)}
    return row | {"staleness": late, "busy_share_of_others": round(busy, 3)}


def refuse(share: float) -> None:
    """End unless the machine is idle."""
    if share > BUSY:
        sys.exit(f"rates.py: other programs use {share:.0%} of the cores: wait until they are idle ({BUSY:.0%})")


def told(interval: Interval) -> list[float]:
    """Return an interval as a list of middle, low, high."""
    return [float(f"{x:.4g}") for x in (interval.middle, interval.low, interval.high)]


def main() -> None:
    """Run all in turn, then write both files."""
    rows = []
    for seed in range(ROUNDS):
        refuse(busy_share(2.0))
        for kind in KINDS:
            rows.append(run_of(kind, seed))
            print(rows[-1], flush=True)
            refuse(rows[-1]["busy_share_of_others"])
    rates = {kind.name: [row["rate"] for row in rows[i :: len(KINDS)]] for i, kind in enumerate(KINDS)}
    late = [
        row["staleness"] for row in rows if (row["algorithm"], row["env"], row["ranks"]) == ("a3c", "CartPole-v1", 2)
    ]
    about = {
        **provenance(2),
        "rounds": ROUNDS,
        "largest_busy_share_of_others": max(row["busy_share_of_others"] for row in rows),
        "rates": {name: told(mean_interval(some)) for name, some in rates.items()},
        "ratios": {name: told(ratio_interval(rates[one], rates[other])) for name, (one, other) in RATIOS.items()},
        "staleness": round(float(np.mean(late)), 3),
    }
    keep("rates", rows, about)


if __name__ == "__main__":
    main()
