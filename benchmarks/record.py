"""Results on disk: each with what made it, written whole or not at all, and read again in older forms, too."""

import json
from pathlib import Path
from typing import Any

from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.checkpoint import write_atomically
from minitrpo.run_folder.provenance import provenance

RESULTS = Path(__file__).parent / "results"


def origin(packages: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what made a result, and the cores that it could use; `packages` are named beside our own dependencies."""
    return provenance(packages=packages) | {"usable_cores": cores()}


def machine_of(result: dict[str, Any]) -> str:
    """Return the machine of a result as "2 cores, AMD EPYC", as older results have it."""
    made_by = result["provenance"]
    if "usable_cores" not in made_by:
        return str(made_by["machine"])
    _, _, processor = made_by["machine"].partition(", ")
    return f"{made_by['usable_cores']} cores, {processor}"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` whole or not at all, a line per key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return a result.

    Those of minitrpo 0.1.0 are brought up to date: they called environment slots lanes, and of separate runs that word
    stands in the learner's place.
    """
    result: dict[str, Any] = json.loads(path.read_text())
    for line in result.get("lines", ()):
        if "lanes" in result.get("settings", ()):
            line["envs"] = line.pop("lanes", result["settings"]["lanes"])
        if "learner" in line and "separate" not in line:
            line["separate"] = line["learner"] == "separate"
    return result


def thinned(points: list[tuple[int, float]], most: int = 100) -> list[tuple[int, float]]:
    """Return at most `most` of the points of a curve, evenly spaced, the last one among them."""
    every = -(-len(points) // most)
    return [(steps, round(mean, 3)) for steps, mean in points[:: -max(every, 1)][::-1]]
