"""minitrpo, started as a user would."""

from dataclasses import asdict
from typing import Any

from experiments.systems.workload import RECORD_EVERY, Times
from minitrpo.course.speedup.experiment import timed_run
from minitrpo.supervision.jobs import flags

ALSO: dict[str, dict[str, Any]] = {  # settings in addition to the workload
    "trpo": {"preset": "episodes", "fisher_fraction": 1.0},
    "batch-ppo": {"anneal": "none"},
    "a2c": {"record_every": RECORD_EVERY},
    "dqn": {"n_step": 1, "filter": "none", "record_every": RECORD_EVERY},  # one-step targets, for all
}


def words_of(workload: Any, algorithm: str, **more: Any) -> list[str]:
    """Return the arguments of train.py."""
    given = asdict(workload)
    steps, updates = given.pop("steps"), given.pop("updates")
    size = {"steps_per_update": getattr(workload, "steps_per_update", steps)}
    return flags({**given, "algorithm": algorithm, **size, **ALSO[algorithm], "total_steps": steps * updates, **more})


def train(workload: Any, algorithm: str, ranks: int, **more: Any) -> Times:
    """Train on this many ranks; times are rank 0's, its waiting counted as collecting."""
    columns = timed_run(ranks, words_of(workload, algorithm, **more))
    for update_s, iteration_s in zip(columns["update_s"], columns["iteration_s"], strict=True):
        yield float(iteration_s - update_s), float(update_s)
