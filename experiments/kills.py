"""Runs that were killed at random instants and resumed: what tests/tools/soak.py recorded."""

import re
from typing import Any, NamedTuple

from experiments import tables
from experiments.tables import markdown as table

SAME, COUNTED = "the same", "counted right"  # outcomes of kills.py that are as they must be


class Killed(NamedTuple):
    """One recorded series: what made it, how many runs there were and how often they were hit, and the outcomes."""

    run: dict[str, Any]
    runs: int
    kills: int
    outcomes: dict[str, int]
    slowest_end: float  # seconds


def recorded() -> list[Killed]:
    """Return all recorded series, the oldest first."""
    found = []
    for run in (run for run in tables.load(tables.DATA / "cluster") if run["experiment"] == "kills"):
        what, seen = str(run["rows"]["what"][0]), str(run["rows"]["seen"][0])
        outcomes = {name: int(count) for name, count in re.findall(r"'([^']+)': (\d+)", seen)}
        counts = (int(words.split()[0]) for words in (what, seen))
        found.append(Killed(run, *counts, outcomes, float(run["rows"]["slowest_end_s"][0])))
    return found


def report() -> str:
    """Return a row for each series: how many runs were killed, and how many ended as they must."""
    rows = []
    for each in recorded():
        other = {name: count for name, count in each.outcomes.items() if name not in (SAME, COUNTED)}
        right = [f"{each.outcomes.get(name, 0)}" for name in (SAME, COUNTED)]
        wrong = ", ".join(f"{name} {count}" for name, count in other.items()) or "none"
        options = " ".join(re.findall(r"--(?:kills|seed) \d+", each.run["setting"]))
        made = (f"{each.run['date']}, version {each.run['version']}", f"`{options}`")
        rows.append((*made, f"{each.runs}", f"{each.kills}", *right, wrong, f"{each.slowest_end:.0f}"))
    header = ("date", "options of `soak.py`", "killed runs", "kills", "ended with the same bits")
    return table((*header, "counted every gradient", "others", "slowest end, s"), rows, 2)
