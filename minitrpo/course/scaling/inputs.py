"""Lecture 15: the measurements on this machine that a prediction begins with, and their file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.scaling.formulas import Network
from minitrpo.course.speedup.statistics import interval
from minitrpo.errors import BadInput, shorten
from minitrpo.policies import Array
from minitrpo.run_folder.checkpoint import write_atomically

CHECKOUT = Path(__file__).parents[3] / "notebooks" / "recorded"
RECORDED = (CHECKOUT if CHECKOUT.is_dir() else Path()) / "15_inputs.json"
PARTS = ("tick", "digest", "order", "rest", "advantages", "gradient", "product", "trial", "critic")


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
    digest: Line  # what a rank makes of its steps before they travel, packing included
    order: Line  # unpacking and sorting at the root
    rest: Line  # of an update: filter, report
    advantages: Line
    gradient: Line
    product: Line  # one Fisher product, of the fraction of the steps that it uses
    trial: Line  # one policy of the line search
    critic: Line  # its whole fit
    apply: float  # a gradient at a parameter server
    noise: float  # drawing a perturbation of the policy, and adding it
    trials: float  # policies that a line search tries, on average
    parameters: int  # of the policy
    step_bytes: float  # that travel for each step; of which to rank 0, where rows go straight to who needs them:
    root_bytes: float
    shared_slowdown: float  # how many times as long a core takes when all cores of the machine are in use
    noise_scale: float  # steps; infinite where the batches were too small to see a signal
    lengths: Array  # of the last episodes, in steps


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


def fitted(samples: dict[str, list[float]]) -> dict[str, Any]:
    """Return the line through the medians of samples, {"512": [seconds, ...]}, and the interval of each median.

    A line never has a negative part: where the fit would, it is drawn through 0.
    """
    counts = np.array([float(count) for count in samples])
    medians = np.array([float(np.median(values)) for values in samples.values()])
    weights = 1 / medians  # a part of a small number counts like that of a large one
    matrix = np.stack([np.ones_like(counts), counts], axis=1) * weights[:, None]
    fixed, each = np.linalg.lstsq(matrix, medians * weights, rcond=None)[0]
    if fixed < 0:
        fixed, each = 0.0, float(np.sum(counts * weights * medians * weights) / np.sum((counts * weights) ** 2))
    intervals = {count: interval(values) for count, values in samples.items()}
    return {"line": [float(fixed), max(float(each), 0.0)], "intervals": intervals}


def task_from(content: dict[str, Any]) -> Task:
    """Return the task that `parts.py` measured."""
    fields: dict[str, Any] = {name: Line(*content[name]["line"]) for name in PARTS}
    fields |= {name: value for name, value in content.items() if name not in PARTS}
    return Task(**fields | {"lengths": np.array(content["lengths"])})


def messages_from(content: dict[str, Any]) -> Messages:
    """Return the messages that `messages.py` measured."""
    rest = {name: float(value) for name, value in content["seconds"].items()}
    return Messages(Network(*content["network"]), **rest)


def load(path: Path) -> Inputs:
    """Return recorded inputs; BadInput if there are none."""
    try:
        content = json.loads(path.read_text("utf-8"))
        tasks = {name: task_from(task) for name, task in content["tasks"].items()}
        return Inputs(tasks, messages_from(content["messages"]), content["provenance"])
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; run scaling.py measure first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not what scaling.py measure writes ({error!r}); measure again") from error


def save(path: Path, content: dict[str, Any]) -> None:
    """Write what was measured, a line per key, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def medians(samples: Sequence[float]) -> dict[str, Any]:
    """Return the median of some seconds and its interval."""
    return {"median": float(np.median(samples)), "interval": interval(samples)}
