"""minitrpo's algorithms whose updates are short, started as a user would."""

from dataclasses import asdict

from experiments.systems.workload import RECORD_EVERY, ReplayWorkload, ShortWorkload, Times
from minitrpo.course.speedup.experiment import timed_run
from minitrpo.supervision.jobs import flags


def words_of(workload: ShortWorkload | ReplayWorkload, algorithm: str, **more: object) -> list[str]:
    """Return what train.py is told."""
    settings = asdict(workload) | {"algorithm": algorithm, "steps_per_update": workload.steps_per_update, **more}
    steps, updates = settings.pop("steps"), settings.pop("updates")
    return flags({**settings, "record_every": RECORD_EVERY, "total_steps": steps * updates})


def train(workload: ShortWorkload | ReplayWorkload, algorithm: str, ranks: int, more: dict[str, object]) -> Times:
    """Train on this many ranks; times are rank 0's, its waiting counted as collecting. A row has the sums."""
    columns = timed_run(ranks, words_of(workload, algorithm, **more))
    for update_s, iteration_s in zip(columns["update_s"], columns["iteration_s"], strict=True):
        yield float(iteration_s - update_s), float(update_s)
