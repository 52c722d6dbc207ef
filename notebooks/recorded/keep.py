"""How the other scripts of this folder make runs and keep what they measured."""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from minitrpo.parallel.this_process import cores
from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
Row = dict[str, Any]
Job = TypeVar("Job")


def each(work: Callable[[Job], list[Row]], jobs: Iterable[Job], at_a_time: int = 2) -> list[Row]:
    """Return the rows that `work` makes of each job, in their order; so many processes share the jobs."""
    rows: list[Row] = []
    with ProcessPoolExecutor(at_a_time) as pool:
        for found in pool.map(work, jobs):
            rows += found
            print(found[-1], flush=True)
    return rows


def keep(name: str, rows: Sequence[Row], **about: Any) -> None:
    """Write NAME.csv, a row for each of `rows`, and into origins.json what made them."""
    with (HERE / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    note(name, **about)


def note(name: str, **about: Any) -> None:
    """Write into origins.json what made the file of this name: this machine, now, or the experiment named `source`."""
    path = HERE / "origins.json"
    made = about if "source" in about else {**provenance(), "usable_cores": cores(), **about}
    known = json.loads(path.read_text()) | {name: made}
    path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
