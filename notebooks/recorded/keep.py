"""How the other scripts of this folder keep what they measured."""

import csv
import json
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def keep(name: str, rows: Sequence[dict[str, Any]], about: dict[str, Any]) -> None:
    """Write NAME.csv, a row for each of `rows`, and into origins.json what made them."""
    with (HERE / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    note(name, about)


def note(name: str, about: dict[str, Any]) -> None:
    """Write into origins.json what made the files of this name."""
    path = HERE / "origins.json"
    known = json.loads(path.read_text()) | {name: about}
    path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


def processor_seconds() -> int:
    """Return the seconds of the processor that child processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(used.ru_utime + used.ru_stime)
