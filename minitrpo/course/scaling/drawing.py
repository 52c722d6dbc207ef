"""Lecture 15: the picture of a prediction: seconds against ranks, and where an iteration's seconds go."""

from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.scaling.predict import RANKS, Prediction

SHADES = (
    "#9ecae1",
    "#3182bd",
    "#756bb1",
    "#de2d26",
    "#fdae6b",
    "#a1d99b",
    "#636363",
    "#31a354",
    "#e6550d",
    "#c994c7",
    "#000000",
    "#bcbd22",
)


def draw(title: str, tables: dict[str, list[Prediction]], path: Path) -> None:
    """Draw seconds of the job by table, and the parts of an iteration of the second table."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), constrained_layout=True)
    figure.suptitle(f"{title}: simulated, not measured")
    first = next(iter(tables.values()))[0]
    left.loglog(RANKS, first.seconds / np.array(RANKS), "--", color="0.6", label="ideal")
    for marker, (label, rows) in zip("os^v", tables.items(), strict=True):
        left.loglog(RANKS, [row.seconds for row in rows], f"{marker}-", label=label)
    least = min(row.seconds for rows in tables.values() for row in rows)
    left.set(xlabel="ranks", ylabel="seconds to the return of the job", ylim=(0.5 * least, None))
    left.grid(alpha=0.3)
    left.legend()
    name = list(tables)[1]
    stack(right, tables[name])
    right.set(xlabel="ranks", ylabel=f"fraction of an iteration, {name.partition(',')[0]}", ylim=(0, 1.35))
    figure.savefig(path, dpi=100)
    plt.close(figure)


def stack(axis: Any, rows: list[Prediction]) -> None:
    """Draw which fraction of an iteration each part takes."""
    bottom, places = np.zeros(len(rows)), [f"{row.ranks:,}" for row in rows]
    for shade, name in zip(SHADES, (name for name, _ in rows[0].one.parts()), strict=True):
        heights = np.array([dict(row.one.parts())[name] / row.one.seconds for row in rows])
        axis.bar(places, heights, bottom=bottom, color=shade, label=name)
        bottom += heights
    axis.legend(ncols=4, loc="upper center", fontsize=8)
