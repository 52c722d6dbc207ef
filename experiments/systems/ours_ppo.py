"""minitrpo's Batch PPO, started as a user would."""

from dataclasses import asdict

from experiments.systems.workload import BatchWorkload, Times
from minitrpo.course.speedup.experiment import timed_run
from minitrpo.supervision.jobs import flags


def words_of(workload: BatchWorkload, **more: object) -> list[str]:
    """Return what train.py is told."""
    settings = asdict(workload) | {"algorithm": "batch-ppo", "anneal": "none"}
    steps, updates = settings.pop("steps"), settings.pop("updates")
    return flags({**settings, "steps_per_update": steps, "total_steps": steps * updates, **more})


def train(workload: BatchWorkload, ranks: int, learner: str) -> Times:
    """Train on this many ranks; times are rank 0's, its waiting counted as collecting."""
    columns = timed_run(ranks, words_of(workload, learner=learner))
    for update_s, iteration_s in zip(columns["update_s"], columns["iteration_s"], strict=True):
        yield float(iteration_s - update_s), float(update_s)
