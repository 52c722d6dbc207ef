"""Lecture 15: what a job would take on 1 to 100,000 ranks, what it would cost, and what breaks first: simulated."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.model import (
    COLUMNS,
    DESIGNS,
    MENDED,
    TODAY,
    Design,
    Inputs,
    Iteration,
    Machine,
    Task,
    bytes_to_root,
    iteration,
)
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED

RANKS = (1, 8, 64, 512, 4096, 32_768, 100_000)
BATCHES = range(-5, 8)  # how often a batch is doubled, or halved
TENTH = 0.1
STEPS_EACH = 1_000  # of a rank in an update, where the batch grows with the ranks
COPIES, MEMORY = 3, 256e9  # of the experience in the root's memory: as received, joined, sorted; and its bytes
RESTART = 60.0  # seconds after a failure
SHOWN = 1  # which of the designs has its costs in a table of several
GROUPS = {  # what an iteration is made of -> parts of the model, and a colour
    "playing": (("ideal", "narrow"), BLUE),
    "waiting for the last episodes": (("counter", "wait"), ORANGE),
    "messages": (("broadcast", "gather", "samples", "sums"), RED),
    "arithmetic of the policy's step": (("prepare", "root", "shared"), PURPLE),
    "fit of the critic": (("critic",), GREEN),
}
TENTHS = {  # what may break first -> a part of the model
    "gather to rank 0": "gather",
    "arithmetic of rank 0": "root",
    "samples to the learning ranks": "samples",
    "sums and broadcasts": "sums",
    "the pool's one counter": "counter",
    "the last episodes": "wait",
}


@dataclass(frozen=True)
class Job:
    """What is to be done, and where: as much learning as `steps` steps in updates of `batch` steps are."""

    inputs: Inputs
    task: Task
    machine: Machine
    steps: float = 1e6
    batch: int = 50_000
    price: float = 0.04  # dollars for a core and an hour

    @cached_property
    def alone(self) -> float:
        """Return the seconds of the job on one rank."""
        one = iteration(self.inputs, self.task, self.machine, Design(), 1, self.batch)
        return self.inputs.messages.start + self.steps / self.batch * one.seconds

    @property
    def title(self) -> str:
        """Return what it is."""
        return f"{self.steps:,.0f} steps of {self.task.environment}"

    @cached_property
    def tables(self) -> dict[str, list["Prediction"]]:
        """Return the job on all numbers of ranks, by design; the last with the batches that take the fewest seconds."""
        batches = [max(1, round(self.batch * 2.0**doubled)) for doubled in BATCHES]
        tried = [[predicted(self, MENDED, ranks, batch) for batch in batches] for ranks in RANKS]
        found = {name: [predicted(self, design, ranks) for ranks in RANKS] for name, design in DESIGNS.items()}
        return found | {"the same, best batch": [min(each, key=lambda row: row.seconds) for each in tried]}


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
        parts = [(name, self.updates * seconds) for name, seconds in vars(self.one).items() if name != "ideal"]
        name, seconds = max([*parts, ("start", self.start)], key=lambda pair: pair[1])
        return name, seconds / (self.start + self.updates * self.one.seconds)


def predicted(job: Job, design: Design, ranks: int, batch: int = 0) -> Prediction:
    """Return the whole job on P ranks, with updates of `batch` steps (the job's, by default)."""
    batch = batch or job.batch
    one = iteration(job.inputs, job.task, job.machine, design, ranks, batch)
    updates = formulas.updates_needed(batch, job.batch, job.steps / job.batch, job.task.noise_scale)
    start, checkpoint = starting(job.inputs, ranks), job.inputs.messages.checkpoint
    seconds = work = start + updates * one.seconds
    between = job.machine.failures / ranks
    if not math.isinf(between):  # a checkpoint after Daly
        interval = min(work, max(formulas.daly(checkpoint, between), checkpoint))
        seconds = formulas.with_failures(work, interval, checkpoint, RESTART, between)
    dollars = job.price * ranks * seconds / 3600
    return Prediction(ranks, batch, updates, seconds, job.alone / (ranks * seconds), dollars, start, one)


def starting(inputs: Inputs, ranks: int) -> float:
    """Return the seconds until all ranks may begin: the launcher starts them one after another, they load at once."""
    return inputs.messages.start + inputs.messages.start_each * (ranks - 1)


def breaks(job: Job, design: Design) -> dict[str, float]:
    """Return from how many ranks on each of these costs a tenth of an iteration, about; infinite: not up to 100,000.

    A tenth of one in which nothing else is lost: playing, digesting, and a rank's share of the sums. Every rank plays
    STEPS_EACH steps in an update, so the batch grows with the ranks. Of the critic that counts which is beyond a rank's
    fair share; of rank 0's memory that it is full; of the start a tenth of the job's updates.
    """
    at = sorted({*(2**k for k in range(1, 17)), RANKS[-1]})
    ones = [iteration(job.inputs, job.task, job.machine, design, ranks, STEPS_EACH * ranks) for ranks in at]
    tenth = [TENTH * (one.ideal + one.prepare + one.shared) for one in ones]
    costs = {name: [getattr(one, part) for one in ones] for name, part in TENTHS.items()}
    fair = [job.task.critic(STEPS_EACH * ranks) / ranks for ranks in at]
    costs["the few ranks of the critic"] = [one.critic - each for one, each in zip(ones, fair, strict=True)]
    costs["start-up of ranks"] = [starting(job.inputs, ranks) / round(job.steps / job.batch) for ranks in at]
    found = {name: crossing(at, np.array(each) / tenth) for name, each in costs.items()}
    found["memory of rank 0"] = MEMORY / (COPIES * bytes_to_root(job.task, design, 1, STEPS_EACH))
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def crossing(at: list[int], costs: Array) -> float:
    """Return where a cost, in multiples of what it may be, passes 1: on a straight line between two logarithms."""
    first = next((k for k, cost in enumerate(costs) if cost >= 1), None)
    if not first:
        return formulas.INFINITE if first is None else float(at[0])
    before, then = costs[first - 1], costs[first]
    slope = (1 - before) / (then - before)
    return math.exp((1 - slope) * math.log(at[first - 1]) + slope * math.log(at[first]))


# --- tables, and the picture: every number in them is simulated


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[int] = ()) -> str:
    """Return a table in Markdown, its columns aligned for a terminal; words: which of them are not numbers."""
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [[f"{cell:{'<>'[at not in words]}{widths[at]}}" for at, cell in enumerate(line)] for line in cells]
    lines.insert(1, ["-" * (width - 1) + "-:"[at not in words] for at, width in enumerate(widths)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def of_design(rows: list[Prediction]) -> str:
    """Return one design's predictions."""
    head = ("ranks", "steps/update", "updates", "seconds", "efficiency", "dollars", "largest cost besides playing")
    lines = []
    for row in rows:
        name, share = row.bottleneck
        numbers = (f"{row.ranks:,}", f"{row.batch:,}", f"{row.updates:.1f}", f"{row.seconds:.4g}")
        lines.append((*numbers, f"{row.efficiency:.2g}", f"{row.dollars:.3g}", f"{name} ({100 * share:.0f} %)"))
    return table(head, lines, {6})


def of_tables(job: Job) -> str:
    """Return the seconds of all designs, and more of the one that is SHOWN."""
    names = list(job.tables)
    head = ["ranks", *(f"{name}: seconds" for name in names), f"{names[SHOWN]}: efficiency", "dollars"]
    head.append("largest other cost")
    lines = []
    for rows in zip(*job.tables.values(), strict=True):
        row, (part, share) = rows[SHOWN], rows[SHOWN].bottleneck
        dollars = float(f"{row.dollars:.2g}")  # two digits, without an exponent
        rest = (f"{100 * row.efficiency:.3g} %", f"{dollars:,g}", f"{part} ({100 * share:.0f} %)")
        lines.append([f"{row.ranks:,}", *(f"{each.seconds:,.3g}" for each in rows), *rest])
    return table(head, lines, {len(head) - 1})


def of_breaks(job: Job) -> str:
    """Return from how many ranks on a cost is a tenth of an iteration, by design."""
    found = {name: breaks(job, design) for name, design in COLUMNS.items()}
    lines = [
        (cost, *("never" if each[cost] > RANKS[-1] else f"{each[cost]:,.0f}" for each in found.values()))
        for cost in found["now"]
    ]
    return table((f"cost, with {STEPS_EACH:,} steps per rank and update (simulated)", *found), lines, {0})


def weak(job: Job) -> str:
    """Return how many steps a second there are, and what they are worth, if every rank plays STEPS_EACH an update.

    Weak scaling: the batch grows with the ranks, beyond the noise scale for little.
    """
    head = ("ranks", "steps/update", "steps/s, as it is", "steps/s, in trees", "seconds to the job's return, in trees")
    lines = []
    for ranks in RANKS:
        batch = STEPS_EACH * ranks
        today, in_trees = (predicted(job, design, ranks, batch) for design in (TODAY, MENDED))
        rates = (f"{batch / row.one.seconds:,.0f}" for row in (today, in_trees))
        lines.append((f"{ranks:,}", f"{batch:,}", *rates, f"{in_trees.seconds:.4g}"))
    return table(head, lines)


def draw(job: Job, path: Path) -> None:
    """Draw the seconds of the job by design, and where an iteration of the one that is SHOWN spends them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    tables, alone = job.tables, next(iter(job.tables.values()))[0].seconds
    left.loglog(RANKS, alone / np.array(RANKS), ":", color="black", label="ideal: seconds of one rank / ranks")
    for color, marker, (label, rows) in zip((GREY, BLUE, GREEN, ORANGE), "os^v", tables.items(), strict=True):
        left.loglog(RANKS, [row.seconds for row in rows], f"{marker}-", color=color, label=label)
    least = min(row.seconds for rows in tables.values() for row in rows)
    left.set(xlabel="ranks", ylabel="seconds", ylim=(0.5 * least, None), title=f"{job.title}, simulated")
    left.grid(alpha=0.3)
    name, ones = list(tables)[SHOWN], [row.one for row in list(tables.values())[SHOWN]]
    bottom = np.zeros(len(ones))
    for label, (parts, color) in GROUPS.items():
        heights = np.array([100 * sum(getattr(one, part) for part in parts) / one.seconds for one in ones])
        right.bar([f"{ranks:,}" for ranks in RANKS], heights, bottom=bottom, color=color, label=label)
        bottom += heights
    right.set(xlabel="ranks", ylabel="share of an iteration (%)", ylim=(0, 100), title=f"{name}: where the seconds go")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(ncols=2 if axis is right else 1, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False)
    figure.savefig(path, dpi=100, metadata={"Software": None})
