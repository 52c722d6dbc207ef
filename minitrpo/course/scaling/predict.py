"""Lecture 15: what a job would take on 1 to 100,000 ranks, what it would cost, and what breaks first: simulated."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.designs import MENDED, TODAY, Design, Machine
from minitrpo.course.scaling.inputs import Inputs, Task
from minitrpo.course.scaling.learning import travelling
from minitrpo.course.scaling.model import Iteration, iteration

RANKS = (1, 8, 64, 512, 4096, 32_768, 100_000)
BATCHES = range(-5, 8)  # how often a batch is doubled, or halved
TENTH = 0.1
STEPS_EACH = 1_000  # of a rank in an update, where the batch grows with the ranks
COPIES = 3  # of the experience, in the root's memory: as received, joined, sorted


@dataclass(frozen=True)
class Job:
    """What is to be done: as much learning as `steps` steps in updates of `batch` steps are."""

    task: Task
    steps: float = 1e6
    batch: int = 50_000
    price: float = 0.04  # dollars for a core and an hour
    restart: float = 60.0  # seconds after a failure


@dataclass(frozen=True)
class Prediction:
    """One row of the table."""

    ranks: int
    batch: int
    updates: float
    seconds: float  # of the whole job, start and failures included
    efficiency: float  # of the ranks' time; 1 is one rank's
    dollars: float
    start: float  # seconds until all ranks may begin
    one: Iteration

    @property
    def bottleneck(self) -> tuple[str, float]:
        """Return the largest part of the job besides playing at full width, and which fraction of the seconds it is."""
        parts = [(name, self.updates * seconds) for name, seconds in self.one.parts() if name != "ideal"]
        name, seconds = max([*parts, ("start", self.start)], key=lambda pair: pair[1])
        return name, seconds / (self.start + self.updates * self.one.seconds)


def predicted(inputs: Inputs, job: Job, machine: Machine, design: Design, ranks: int, batch: int = 0) -> Prediction:
    """Return the whole job on P ranks, with updates of `batch` steps (the job's, by default)."""
    batch = batch or job.batch
    one = iteration(inputs, job.task, machine, design, ranks, batch)
    updates = formulas.updates_needed(batch, job.batch, job.steps / job.batch, job.task.noise_scale)
    start = starting(inputs, ranks)
    work = start + updates * one.seconds
    seconds, alone = surviving(inputs, job, machine, ranks, work), alone_seconds(inputs, job, machine)
    dollars = job.price * ranks * seconds / 3600
    return Prediction(ranks, batch, updates, seconds, alone / (ranks * seconds), dollars, start, one)


def alone_seconds(inputs: Inputs, job: Job, machine: Machine) -> float:
    """Return the seconds of the job on one rank."""
    one = iteration(inputs, job.task, machine, Design(learner="root"), 1, job.batch)
    return inputs.messages.start + job.steps / job.batch * one.seconds


def starting(inputs: Inputs, ranks: int) -> float:
    """Return the seconds until all ranks may begin: the launcher starts them one after another, they load at once."""
    return inputs.messages.start + inputs.messages.start_each * (ranks - 1)


def surviving(inputs: Inputs, job: Job, machine: Machine, ranks: int, work: float) -> float:
    """Return the expected seconds of a job with failures, checkpointed after Daly; as it is if no core ever fails."""
    between, checkpoint = machine.failures / ranks, inputs.messages.checkpoint
    if math.isinf(between):
        return work
    interval = min(work, max(formulas.daly(checkpoint, between), checkpoint))
    return formulas.with_failures(work, interval, checkpoint, job.restart, between)


def best_batch(inputs: Inputs, job: Job, machine: Machine, design: Design, ranks: int) -> Prediction:
    """Return the job with the batch, smaller or larger, with which it learns as much in the fewest seconds."""
    batches = [max(1, round(job.batch * 2.0**doubled)) for doubled in BATCHES]
    return min((predicted(inputs, job, machine, design, ranks, b) for b in batches), key=lambda each: each.seconds)


def table(rows: list[Prediction]) -> list[str]:
    """Return rows as text; every number in it is simulated."""
    head = "ranks  steps/update  updates  seconds  efficiency  dollars  largest cost besides playing"
    lines = [head]
    for row in rows:
        name, share = row.bottleneck
        numbers = f"{row.ranks:7,}  {row.batch:11,}  {row.updates:7.1f}  {row.seconds:7.4g}  {row.efficiency:10.2g}"
        lines.append(f"{numbers}  {row.dollars:7.3g}  {name} ({100 * share:.0f} %)")
    return lines


def breaks(
    inputs: Inputs, task: Task, machine: Machine, each: int, memory: float, updates: int, design: Design = TODAY
) -> dict[str, float]:
    """Return from how many ranks on each of these costs a tenth of an iteration, about; infinite: not up to 100,000.

    A tenth of one in which nothing else is lost: playing, digesting, and a rank's share of the sums.

    each: steps of a rank in an update, so the batch grows with the ranks. memory: bytes of the root's; there it counts
    that they are full. updates: of a job, a tenth of which its start may take.
    """
    at = sorted({*(2**k for k in range(1, 17)), RANKS[-1]})
    ones = {ranks: iteration(inputs, task, machine, design, ranks, each * ranks) for ranks in at}

    def crossing(cost: Callable[[int], float]) -> float:
        """Return where a cost, as a multiple of what it may be, passes 1: on a straight line between two logarithms."""
        before, then = 1, 0.0
        for ranks in at:
            now = cost(ranks)
            if now >= 1 and ranks == at[0]:
                return float(ranks)
            if now >= 1:
                slope = (1 - then) / (now - then)
                return math.exp((1 - slope) * math.log(before) + slope * math.log(ranks))
            before, then = ranks, now
        return formulas.INFINITE

    tenth = {
        "gather to rank 0": "gather",
        "arithmetic of rank 0": "root",
        "samples to the learning ranks": "spread",
        "sums and broadcasts": "sums",
        "the pool's one counter": "counter",
        "the last episodes": "wait",
        "the few ranks of the critic": "critic",
    }
    found = {name: crossing(partial(tenths, part, task, each, ones)) for name, part in tenth.items()}
    many, _ = travelling(task, machine, design, RANKS[-1], 1, each)
    found["memory of rank 0"] = memory / (COPIES * many)
    found["start-up of ranks"] = crossing(lambda ranks: starting(inputs, ranks) / (TENTH * updates * own(ones[ranks])))
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def tenths(part: str, task: Task, each: int, ones: dict[int, Iteration], ranks: int) -> float:
    """Return a part of an iteration in tenths of what it takes if nothing is lost.

    Of the critic that which is beyond a rank's fair share.
    """
    fair = task.critic(each * ranks) / ranks if part == "critic" else 0.0
    return (float(vars(ones[ranks])[part]) - fair) / (TENTH * own(ones[ranks]))


def own(one: Iteration) -> float:
    """Return the seconds of an iteration in which nothing is lost."""
    return one.ideal + one.digest + one.shared


def weak(inputs: Inputs, job: Job, machine: Machine, each: int) -> list[str]:
    """Return as text how many steps a second there are, and what they are worth, if every rank plays `each` an update.

    Weak scaling: the batch grows with the ranks, beyond the noise scale for little.
    """
    lines = ["  ranks  steps/update  steps/s, as it is  steps/s, in trees  seconds to the job's return, in trees"]
    for ranks in RANKS:
        today, in_trees = (predicted(inputs, job, machine, d, ranks, each * ranks) for d in (TODAY, MENDED))
        rates = [f"{each * ranks / row.one.seconds:17,.0f}" for row in (today, in_trees)]
        lines.append(f"{ranks:7,}  {each * ranks:12,}  {'  '.join(rates)}  {in_trees.seconds:38.4g}")
    return lines
