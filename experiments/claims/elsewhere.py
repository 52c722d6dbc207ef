"""What a second machine measured of claims about seconds: intervals only, as its runs were not kept.

`experiments/data/claims_elsewhere/intervals.csv` has a row for each question: the experiment whose runs they were, the
task, the number, its arms, how many seeds, and the mean or ratio with its 95 % interval.
"""

import csv
from functools import cache

from experiments.claims.questions import Part
from experiments.tables import DATA, markdown
from minitrpo.course.statistics import Interval

FILE = DATA / "claims_elsewhere" / "intervals.csv"
Key = tuple[str, str, str, str]  # experiment, task, quantity, arms


@cache
def rows() -> dict[Key, dict[str, str]]:
    """Return the rows of the table, by what they are about."""
    known = csv.DictReader(FILE.read_text("utf-8").splitlines())
    return {(row["experiment"], row["env"], row["quantity"], row["arms"]): row for row in known}


def interval_of(experiment: str, part: Part) -> Interval | None:
    """Return what the second machine measured of a question; None if it did not, or with too few cores for it."""
    row = rows().get((experiment, part.env, part.quantity.words, " / ".join(part.arms)))
    if row is None or int(row["cores"]) < part.cores:
        return None
    return Interval(float(row["middle"]), float(row["low"]), float(row["high"]))


def table() -> str:
    """Return the page's table: a row for each question, and what made them."""
    cells, forms = [], {"simulated seconds per second of collecting": ",.0f"}
    for (experiment, env, quantity, arms), row in rows().items():
        interval = Interval(float(row["middle"]), float(row["low"]), float(row["high"]))
        cells.append((experiment, f"{env}, {quantity}: {arms}", f"{interval:{forms.get(quantity, '.3g')}}"))
    made = next(iter(rows().values()))
    by = f"{made['cores']} cores, {made['machine']}; version {made['version']}; {made['date']}"
    return f"{markdown(('claim', 'question', 'found, 95 % interval'), cells, 3)}\n\n*{by}; only intervals were kept.*"
