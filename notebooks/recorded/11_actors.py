"""Record what lecture 11a shows of its own loops: python notebooks/recorded/11_actors.py.

CartPole, five seeds and three step sizes each, two processes side by side; the loops are those of eleven.py. Every
so many environment steps the policy plays 16 fresh episodes; their mean return is the score.

- `online`: 1 or 16 simulators, an update every step or every 5;
- `together`: 8, 32 or 128 simulators, an update every 5 steps; stopped once the score is at the goal;
- `late`: the same simulators in 1, 4 or 16 workers of 8, each of which pulls, plays 5 steps and pushes its gradient.

Writes 11_actors.csv (a row per score) and in origins.json (what made it). Takes about 6 minutes of two cores.
"""

from multiprocessing import Pool
from typing import Any, NamedTuple

from eleven import Late, Together, score
from keep import keep, processor_seconds

from minitrpo.run_folder.provenance import provenance

SEEDS = (0, 1, 2, 3, 4)
STEP_SIZES = (3e-4, 1e-3, 3e-3, 1e-2)
GOAL = 450.0
COLUMNS = ("what", "workers", "envs", "n", "step_size", "seed", "env_steps", "score")


class Job(NamedTuple):
    """One run; envs: simulators of a worker."""

    what: str
    workers: int
    envs: int
    n: int
    step_size: float
    seed: int


def jobs() -> list[Job]:
    """Return all runs, seed by seed."""
    online = [("online", 1, envs, n, size) for n, envs in ((1, 1), (5, 1), (1, 16), (5, 16)) for size in STEP_SIZES[:3]]
    many = [(what, w, 8, 5, size) for what in ("together", "late") for w in (1, 4, 16) for size in STEP_SIZES[1:]]
    return [Job(*kind, seed) for seed in SEEDS for kind in online + many]


def play(job: Job) -> list[dict[str, Any]]:
    """Return the scores of a run."""
    online = job.what == "online"
    total, every, goal = (20_000, 2_000, float("inf")) if online else (120_000, 6_000, GOAL)
    late = job.what == "late"
    loop: Any = (
        Late(job.seed, job.step_size, job.workers, job.envs, job.n)
        if late
        else Together(job.seed, job.step_size, job.workers * job.envs, job.n)
    )
    rows, taken, reached = [], 0, 0.0
    while taken < total and reached < goal:
        before = taken
        taken += loop.update().steps
        if taken // every > before // every:
            reached = score(loop.theta)
            rows.append(dict(zip(COLUMNS, (*job, taken, round(reached, 1)), strict=True)))
    print(*job, [row["score"] for row in rows], flush=True)
    return rows


def main() -> None:
    """Run all, two at a time, then write both files."""
    with Pool(2) as pool:
        rows = [row for rows in pool.imap(play, jobs(), chunksize=1) for row in rows]
    about = {**provenance(1), "seeds": SEEDS, "goal": GOAL, "cpu_seconds": processor_seconds()}
    keep("11_actors", rows, about)


if __name__ == "__main__":
    main()
