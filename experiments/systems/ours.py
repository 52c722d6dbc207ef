"""minitrpo, started as a user would."""

from typing import Any

from experiments.systems.times import Times
from minitrpo.course.speedup.experiment import timed_run
from minitrpo.supervision.mpiexec import flags


def words_of(work: Any, **more: Any) -> list[str]:
    """Return the arguments of train.py."""
    return [*work.words.split(), *flags({"total_steps": work.steps * work.updates, **more})]


def train(work: Any, ranks: int, **more: Any) -> Times:
    """Train on this many ranks; times are rank 0's, its waiting counted as collecting."""
    columns = timed_run(ranks, ["--env", work.env, *words_of(work, **more)])
    for update_s, iteration_s in zip(columns["update_s"], columns["iteration_s"], strict=True):
        yield float(iteration_s - update_s), float(update_s)
