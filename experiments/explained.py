"""What `minitrpo explain` said of runs with a planted fault and of healthy runs: tests/tools/explained.py keeps it."""

from collections import Counter
from typing import Any

from experiments import tables
from experiments.tables import markdown as table

FOLDER = tables.DATA / "explained"
COLUMNS = ("fault", "names", "algorithm", "env", "seed", "first", "second")  # of a run; names: the kinds that are right


def recorded() -> dict[str, Any]:
    """Return the newest recorded set: its columns in "rows", its machine, version and date."""
    return tables.load(FOLDER)[-1]


def rows() -> list[dict[str, Any]]:
    """Return the recorded runs, each with COLUMNS."""
    columns = recorded()["rows"]
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in zip(*(columns[name] for name in COLUMNS), strict=True)]


def hit(row: dict[str, Any]) -> bool:
    """Return whether one of the findings that name the planted fault is among the first two."""
    return not {row["first"], row["second"]}.isdisjoint(row["names"].split())


def report() -> str:
    """Return how often planted faults were found, which were missed, and what was said of healthy runs."""
    if not (FOLDER / "runs.csv").exists():
        return "Not recorded yet."
    run = recorded()
    planted, healthy = ([row for row in rows() if bool(row["fault"]) == faulty] for faulty in (True, False))
    faults = len({each["fault"] for each in planted})
    found = f"{sum(map(hit, planted))} have the fault among the first two findings"
    lines = [(f"{len(planted)} runs with one of {faults} planted faults", found)]
    missed = Counter(each["fault"] for each in planted if not hit(each))
    if missed:
        lines.append(("the others", "; ".join(f"{fault}: {count}" for fault, count in missed.items())))
    first = Counter(each["first"] for each in healthy)
    lines.append((f"{len(healthy)} healthy runs", f"{first.pop('', 0)} have no finding"))
    lines += [(f"{count} of these have a first finding", f"`{kind}`") for kind, count in first.most_common()]
    made = f"{run['machine']['cores']} cores, {run['machine']['machine'].partition(', ')[2]}; {run['date']}"
    text = table(("runs", "result"), lines, 2)
    return f"{text}\n\n*{seeds()}; version {run['version']}; {made}; `{run['setting']}`.*"


def seeds() -> str:
    """Return the seeds of the recorded runs: Seed 1; Seeds 1, 3."""
    found = sorted({each["seed"] for each in rows()})
    return f"{'Seeds' if len(found) > 1 else 'Seed'} {', '.join(f'{seed:.0f}' for seed in found)}"
