"""Lecture 15: the measurements on one machine that a prediction begins with, and their file."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.machine import BUSY
from minitrpo.course.scaling.formulas import Network
from minitrpo.errors import BadInput, shorten
from minitrpo.policies import Array

CHECKOUT = Path(__file__).parents[3] / "notebooks" / "recorded"
RECORDED = (CHECKOUT if CHECKOUT.is_dir() else Path()) / "15_inputs.json"


@dataclass(frozen=True)
class Line:
    """Seconds that grow with a number: `fixed` and `each` for every one."""

    fixed: float
    each: float

    def __call__(self, count: float) -> float:
        """Return the seconds of `count` of them."""
        return self.fixed + self.each * count


@dataclass(frozen=True)
class Task:
    """What one environment costs on one core. Numbers count steps, those of `tick` the episodes in play."""

    environment: str
    tick: Line  # one step of all episodes in play
    prepare: Line  # what a rank makes of its steps before they travel, packing included
    order: Line  # unpacking and sorting at the root
    rest: Line  # of an update: filter, report
    advantages: Line
    policy: Line  # its whole step: gradient, Fisher products, line search
    critic: Line  # its whole fit
    trials: float  # policies that a line search tries, on average
    parameters: int  # of the policy
    step_bytes: float  # that travel for each step
    shared_slowdown: float  # how many times as long a core takes when all cores of the machine are in use
    noise_scale: float  # steps; infinite where the batches were too small to see a signal
    lengths: Array  # of the last episodes, in steps


PARTS = [field.name for field in fields(Task) if field.type is Line]


@dataclass(frozen=True)
class Messages:
    """What messages cost among the ranks of one machine, in seconds."""

    network: Network
    draw: float  # from the pool's counter, while it serves no other rank
    exchange: float  # one iteration's messages with an empty payload: mostly waking up
    all_gather: float  # the shortest one, as the sharded learner sends hundreds of
    start: float  # until one rank may begin
    start_each: float  # and for each more, a core
    checkpoint: float


@dataclass(frozen=True)
class Inputs:
    """All of it, and where it comes from."""

    tasks: dict[str, Task]
    messages: Messages
    provenance: dict[str, Any]

    def task(self, environment: str) -> Task:
        """Return one environment's; BadInput if it was not measured."""
        if environment not in self.tasks:
            raise BadInput(
                f"--env {shorten(environment)} was not measured; there are {', '.join(self.tasks)}: "
                f"run scaling.py measure --env {shorten(environment)} first"
            )
        return self.tasks[environment]

    @property
    def origin(self) -> str:
        """Return in a few words where they come from, and whether their seconds are to be trusted."""
        made, share = self.provenance, self.provenance["busy_share_of_others"]
        busy = f", while others used {100 * share:.0f} % of the cores: do not trust the seconds" if share > BUSY else ""
        return f"measured on {made['cores']} cores, {made['machine'].partition(', ')[2]}, {made['date'][:10]}{busy}"


def load(path: Path) -> Inputs:
    """Return what `measure` wrote; BadInput if it did not."""
    try:
        content = json.loads(path.read_text("utf-8"))
        tasks = {
            name: Task(**task | {part: Line(*task[part]) for part in PARTS} | {"lengths": np.array(task["lengths"])})
            for name, task in content["tasks"].items()
        }
        messages = content["messages"]
        messages = Messages(**messages | {"network": Network(*messages["network"])})
        return Inputs(tasks, messages, content["provenance"])
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; run scaling.py measure first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not what scaling.py measure writes ({error!r}); measure again") from error
