"""Lecture 15: predicted and measured seconds of an iteration, on as many ranks as this machine can start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from minitrpo.course.machine import Others
from minitrpo.course.scaling.designs import Design, Machine
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.formulas import rounds as log2
from minitrpo.course.scaling.inputs import Inputs
from minitrpo.course.scaling.model import iteration
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.course.speedup.statistics import interval
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array
from minitrpo.supervision.jobs import flags

STEPS, UPDATES, FIRST = 4096, 9, 4  # per update; in a run; of these, not counted
MANY = 8  # ranks, on fewer cores, too
CABLE = ", 2 hosts"  # in the name of what ran over a slow cable: see hosts.py
AGAIN = 5  # simulations, whose episodes are drawn anew


@dataclass(frozen=True)
class Run:
    """What is predicted and measured: a run of whole episodes, all of whose ranks work."""

    environment: str
    ranks: int
    learner: str = "root"
    pool: str = "dynamic"


@dataclass(frozen=True)
class Row:
    """One line of the comparison, in seconds of an iteration."""

    environment: str
    ranks: int
    learner: str
    pool: str
    oversubscribed: bool
    predicted: float
    measured: float
    low: float
    high: float
    others: float  # which part of the cores other programs used meanwhile

    @property
    def error(self) -> float:
        """Return by how much the prediction is off, as a fraction of what was measured."""
        return self.predicted / self.measured - 1


def runs(environments: list[str]) -> list[Run]:
    """Return what is compared: one rank, all cores and more of them, both learners and both pools."""
    several = sorted({2, cores(), cores() + 1, MANY})
    found = [Run(name, ranks) for name in environments for ranks in (1, *several)]
    found += [Run(name, ranks, "sharded") for name in environments for ranks in {2, cores(), MANY} if ranks > 1]
    return found + [Run(name, several[0], "root", "static") for name in environments]


def predicted(inputs: Inputs, run: Run, network: Network | None = None) -> float:
    """Return the simulated seconds of an iteration here; network: another, whose latency short messages have."""
    net, exchange = inputs.messages.network, inputs.messages.exchange
    if network is not None:
        net, exchange = network, exchange + 4 * log2(run.ranks) * network.latency
    machine = Machine(net, cores(), exchange=exchange)
    task, design = inputs.task(run.environment), Design(run.learner, run.pool)
    drawn = [iteration(inputs, task, machine, design, run.ranks, STEPS, seed).seconds for seed in range(AGAIN)]
    return float(np.median(drawn))


def words_of(run: Run) -> list[str]:
    """Return the arguments of train."""
    settings = {"env": run.environment, "learner": run.learner, "pool": run.pool, "preset": "episodes"}
    return [*flags(settings | {"steps_per_update": STEPS, "total_steps": STEPS * UPDATES}), "--oversubscribe"]


def measured(run: Run) -> Array:
    """Return the seconds of the counted iterations of one real run."""
    columns = timed_run(run.ranks, words_of(run))
    return columns["iteration_s"][FIRST:] * STEPS / columns["steps"][FIRST:]  # episodes never make STEPS exactly


def compared(inputs: Inputs, rounds: int, tell: Callable[[str], None]) -> list[Row]:
    """Return the predicted and measured seconds of all runs on this machine. Raises JobFailed."""
    return beside(runs(list(inputs.tasks)), partial(predicted, inputs), measured, rounds, tell)


def beside(
    all_runs: list[Run],
    predict: Callable[[Run], float],
    measure: Callable[[Run], Array],
    rounds: int,
    tell: Callable[[str], None],
    where: str = "",
) -> list[Row]:
    """Return predicted and measured seconds of some runs, measured in turn; where: words after the environment."""
    seconds: dict[Run, list[Array]] = {run: [] for run in all_runs}
    others: dict[Run, list[float]] = {run: [] for run in all_runs}
    for number, run in by_turns(rounds, all_runs):
        watching = Others()
        seconds[run].append(measure(run))
        others[run].append(watching.share())
        said = f"round {number}, {run.environment}{where}, {run.ranks} rank(s), {run.learner}"
        tell(f"{said}: {seconds[run][-1].mean():.3g} s")
    rows = []
    for run in all_runs:
        found = np.concatenate(seconds[run])
        low, high = interval(found)
        seen = (float(np.median(found)), low, high, float(np.mean(others[run])))
        name, ranks = run.environment + where, run.ranks
        rows.append(Row(name, ranks, run.learner, run.pool, ranks > cores(), predict(run), *seen))
    return rows


def report(rows: list[Row]) -> list[str]:
    """Return the comparison as text, and the median error."""
    lines = ["environment     ranks  learner  pool     predicted  measured     95 % interval   error"]
    for r in rows:
        many = "*" if r.oversubscribed else " "
        name = f"{r.environment:14s}  {r.ranks:4d}{many}  {r.learner:7s}  {r.pool:7s}"
        lines.append(
            f"{name}  {r.predicted:9.3g}  {r.measured:8.3g}  {r.low:7.3g} to {r.high:7.3g}  {100 * r.error:+4.0f} %"
        )
    near, far = ([row for row in rows if not row.oversubscribed and (CABLE in row.environment) == f] for f in (0, 1))
    for title, some in (("all", rows), ("a core for every rank", near), ("over a slow cable", far)):
        if some:
            middle = np.median([abs(row.error) for row in some])
            lines.append(f"median error, {title}, {len(some)} configurations: {100 * middle:.0f} %")
    return [*lines, "* more ranks than cores"]
