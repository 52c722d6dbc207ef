"""Lecture 15: predicted and measured seconds of an iteration, on as many ranks as this machine can start."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minitrpo.course.scaling.formulas import INFINITE, Network, rounds
from minitrpo.course.scaling.inputs import Inputs
from minitrpo.course.scaling.model import Design, Machine, iteration
from minitrpo.course.scaling.predict import table
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.course.speedup.statistics import interval
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array
from minitrpo.supervision.jobs import flags

STEPS, UPDATES, FIRST = 4096, 9, 4  # per update; in a run; of these, not counted
MANY = 8  # ranks, on fewer cores, too
AGAIN = 5  # simulations, whose episodes are drawn anew


class Run(NamedTuple):
    """What is predicted and measured: a run of whole episodes, all of whose ranks work."""

    environment: str
    ranks: int
    learner: str = "root"
    pool: str = "dynamic"

    @property
    def words(self) -> list[str]:
        """Return the arguments of train."""
        settings = {"env": self.environment, "learner": self.learner, "pool": self.pool, "preset": "episodes"}
        return [*flags(settings | {"steps_per_update": STEPS, "total_steps": STEPS * UPDATES}), "--oversubscribe"]


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
        net, exchange = network, exchange + 4 * rounds(run.ranks) * network.latency
    machine = Machine(net, cores(), exchange=exchange)
    task, design = inputs.task(run.environment), Design(run.learner, run.pool)
    drawn = [iteration(inputs, task, machine, design, run.ranks, STEPS, seed).seconds for seed in range(AGAIN)]
    return float(np.median(drawn))


def of_updates(columns: dict[str, Array]) -> Array:
    """Return the seconds of the counted iterations of a run; episodes never make STEPS exactly."""
    return columns["iteration_s"][FIRST:] * STEPS / columns["steps"][FIRST:]


def compared(inputs: Inputs, again: int, tell: Callable[[str], None]) -> str:
    """Return predicted and measured seconds as text. Raises JobFailed."""
    all_runs = runs(list(inputs.tasks))
    seconds: dict[Run, list[Array]] = {run: [] for run in all_runs}
    for number, run in by_turns(again, all_runs):
        seconds[run].append(of_updates(timed_run(run.ranks, run.words)))
        tell(f"round {number}, {run.environment}, {run.ranks} rank(s), {run.learner}: {seconds[run][-1].mean():.3g} s")
    return report(inputs, {run: np.concatenate(found) for run, found in seconds.items()})


def report(inputs: Inputs, seconds: dict[Run, Array]) -> str:
    """Return the comparison as a table in Markdown, and the median errors."""
    lines, errors = [], {}
    for run, found in seconds.items():
        simulated, middle, (low, high) = predicted(inputs, run), float(np.median(found)), interval(found)
        errors[run] = 100 * (simulated / middle - 1)
        what = (run.environment, f"{run.ranks}{'*' * (run.ranks > cores())}", run.learner, run.pool)
        lines.append((*what, f"{simulated:.3g}", f"{middle:.3g} ({low:.3g} to {high:.3g})", f"{errors[run]:+.0f} %"))
    head = ("", "ranks", "learner", "pool", "predicted, s", "measured, s (95 %)", "error")
    said = []
    for title, most in (("all", INFINITE), ("a core for every rank", cores())):
        some = [abs(error) for run, error in errors.items() if run.ranks <= most]
        said.append(f"median error, {title}, {len(some)} configurations: {np.median(some):.0f} %")
    return f"{table(head, lines, {0, 2, 3})}\n\n*{'; '.join(said)}; inputs {inputs.origin}. \\* more ranks than cores.*"
