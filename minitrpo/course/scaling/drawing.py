"""Lecture 15: the picture of a prediction: seconds against ranks, and where an iteration's seconds go."""

from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.scaling.predict import RANKS, Prediction
from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED

GROUPS = {  # what an iteration is made of -> parts of the model, and a colour
    "playing": (("ideal", "narrow"), BLUE),
    "waiting for the last episodes": (("counter", "wait"), ORANGE),
    "messages": (("broadcast", "gather", "spread", "sums"), RED),
    "arithmetic of the policy's step": (("digest", "root", "shared"), PURPLE),
    "fit of the critic": (("critic",), GREEN),
}
COLORS = (GREY, BLUE, GREEN, ORANGE)


def draw(title: str, tables: dict[str, list[Prediction]], path: Path) -> None:
    """Draw the seconds of the job by design, and where an iteration of the second design spends them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    first = next(iter(tables.values()))[0]
    left.loglog(RANKS, first.seconds / np.array(RANKS), ":", color="black", label="ideal: seconds of one rank / ranks")
    for color, marker, (label, rows) in zip(COLORS, "os^v", tables.items(), strict=True):
        left.loglog(RANKS, [row.seconds for row in rows], f"{marker}-", color=color, label=label)
    least = min(row.seconds for rows in tables.values() for row in rows)
    left.set(xlabel="ranks", ylabel="seconds", ylim=(0.5 * least, None), title=f"{title}, simulated")
    left.grid(alpha=0.3)
    name = list(tables)[1]
    stack(right, tables[name])
    right.set(xlabel="ranks", ylabel="share of an iteration (%)", ylim=(0, 100), title=f"{name}: where the seconds go")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(ncols=2 if axis is right else 1, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False)
    figure.savefig(path, dpi=100, metadata={"Software": None})


def stack(axis: Any, rows: list[Prediction]) -> None:
    """Draw which share of an iteration each group of parts takes."""
    bottom, places = np.zeros(len(rows)), [f"{row.ranks:,}" for row in rows]
    for name, (parts, color) in GROUPS.items():
        heights = np.array([100 * sum(getattr(row.one, part) for part in parts) / row.one.seconds for row in rows])
        axis.bar(places, heights, bottom=bottom, color=color, label=name)
        bottom += heights
