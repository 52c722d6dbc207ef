"""Lecture 15: the model beside seconds that were recorded on quiet machines: one rank's predict those of several.

From the row of one rank come the seconds of playing and of learning; from runs side by side that share nothing, how
much slower a core is while the others work. What several ranks take is then predicted, and was measured.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.scaling.checking import Row
from minitrpo.course.scaling.designs import Design, Machine
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import Inputs, Line, Messages, Task
from minitrpo.course.scaling.model import iteration
from minitrpo.errors import BadInput

CHECKOUT = Path(__file__).parents[3]
RESULTS, AUTHOR = CHECKOUT / "benchmarks" / "results", CHECKOUT / "notebooks" / "recorded" / "author_2016.json"
FILES = (
    *("scaling", "other/scaling_amd_0.1.0", "other/scaling_amd", "other/scaling_xeon"),
    *("other/scaling_repeat_3", "other/scaling_repeat_6"),
)
LENGTHS = {"HalfCheetah-v5": 1000, "Reacher-v5": 50}  # steps; all episodes alike
FREE = Messages(Network(0.0, 0.0), *[0.0] * 6)
NOTHING = Line(0.0, 0.0)
NAMES = ("threads", "rollout_s", "learn_s")


def of_one_rank(line: dict[str, Any], steps: int, slowdown: float) -> Task:
    """Return a task whose playing and learning take what they took on one rank; a step at any width takes the same."""
    name = str(line["env"])
    alone = dict.fromkeys(("digest", "rest", "advantages", "product", "trial", "critic"), NOTHING)
    return Task(
        environment=name,
        tick=Line(0.0, line["collect_s"] / steps),
        order=Line(0.0, line["gather_s"] / steps),
        gradient=Line(0.0, line["update_s"] / steps),
        **alone,
        apply=0.0,
        noise=0.0,
        trials=0.0,
        parameters=5000,
        step_bytes=200.0,
        root_bytes=20.0,
        shared_slowdown=slowdown,
        noise_scale=float("inf"),
        lengths=np.full(100, LENGTHS[name]),
    )


def rows_of(result: dict[str, Any], machine: str) -> Iterator[Row]:
    """Yield predicted beside measured for every row of several ranks where rank 0 learned."""
    steps, cores = int(result["settings"]["steps"]), int(result["cores"])
    root = [line for line in result["lines"] if line["learner"] == "root" and not line.get("separate")]
    alone = {(line["env"], line["pool"]): line for line in root if line["ranks"] == 1}
    crowded = {line["env"]: line for line in result["lines"] if line["learner"] == "separate" or line.get("separate")}
    for line in root:
        if line["ranks"] == 1:
            continue
        one, crowd = alone[line["env"], line["pool"]], crowded.get(line["env"])
        same = alone[line["env"], "dynamic"]["collect_s"]
        slowdown = max(1.0, crowd["collect_s"] * crowd["ranks"] / same) if crowd else 1.0
        working = min(line["ranks"], cores)  # ranks beyond the cores leave the work to the others
        task = of_one_rank(one, steps, slowdown)
        where = Machine(FREE.network, cores)
        seconds = iteration(Inputs({}, FREE, {}), task, where, Design("root", line["pool"]), working, steps).seconds
        low, high = line["seconds_interval"]
        name, many = f"{line['env']}, {machine}", line["ranks"] > cores
        yield Row(name, line["ranks"], "root", line["pool"], many, seconds, line["iteration_s"], low, high, 0.0)


def read(path: Path) -> Any:
    """Return what is recorded; BadInput outside a checkout, where the records are."""
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise BadInput(f"--recorded needs {path}, which a checkout has: {error.strerror}") from error


def all_rows() -> list[Row]:
    """Return predicted beside measured for all recorded runs in which rank 0 learned."""
    found: list[Row] = []
    for name in FILES:
        result = read(RESULTS / f"{name}.json")
        maker = str(result["provenance"]["machine"]).partition(", ")[2].split("(")[0]
        found += rows_of(result, f"{maker}, {name.rpartition('/')[2]}")
    return found


def of_the_seed(cores: int) -> list[Row]:
    """Return Frans's own seconds of an iteration on 2 to 8 threads (2016), predicted from those on one.

    cores: of his machine.
    """
    about, found = read(AUTHOR)["speedup"], []
    for threads, rollout, learn in zip(*(about[name] for name in NAMES), strict=True):
        seconds = about["rollout_s"][0] / min(threads, cores) + about["learn_s"][0]
        taken, name = rollout + learn, f"Reacher-v1, 2016, if {cores} cores"
        found.append(Row(name, threads, "root", "dynamic", threads > cores, seconds, taken, taken, taken, 0.0))
    return found[1:]
