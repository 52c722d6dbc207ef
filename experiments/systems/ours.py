"""minitrpo, started as a user would."""

from dataclasses import asdict

from experiments.systems.workload import Times, Workload
from minitrpo.course.speedup.experiment import timed_run
from minitrpo.supervision.jobs import flags


def train(workload: Workload, ranks: int, learner: str) -> Times:
    """Train on this many ranks; times are rank 0's, its waiting counted as collecting."""
    settings = asdict(workload) | {"learner": learner, "fisher_fraction": 1.0}
    steps, updates = settings.pop("steps"), settings.pop("updates")
    columns = timed_run(
        ranks, flags({"preset": "episodes", **settings, "steps_per_update": steps, "total_steps": steps * updates})
    )
    for update_s, iteration_s in zip(columns["update_s"], columns["iteration_s"], strict=True):
        yield float(iteration_s - update_s), float(update_s)
