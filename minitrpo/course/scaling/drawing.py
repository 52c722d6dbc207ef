"""Lecture 15: the picture of a prediction: seconds against ranks, and where an iteration's seconds go."""

from pathlib import Path

import numpy as np

from minitrpo.course.scaling.inputs import Inputs
from minitrpo.course.scaling.model import MENDED, TODAY, Design, Machine
from minitrpo.course.scaling.predict import RANKS, Job, Prediction, best_batch, predicted

SHADES = ("#9ecae1", "#3182bd", "#756bb1", "#de2d26", "#fdae6b", "#a1d99b", "#636363", "#31a354", "#e6550d", "#c994c7")


def draw(inputs: Inputs, job: Job, machine: Machine, path: Path) -> None:
    """Draw seconds of the job under three designs, and the parts of an iteration of the package as it is."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    today, mended = ([predicted(inputs, job, machine, d, ranks) for ranks in RANKS] for d in (TODAY, MENDED))
    alone = [predicted(inputs, job, machine, Design(), ranks) for ranks in RANKS]
    grown = [best_batch(inputs, job, machine, MENDED, ranks) for ranks in RANKS]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), constrained_layout=True)
    figure.suptitle(f"{job.steps:,.0f} steps of {job.task.environment}: simulated, not measured")
    left.loglog(RANKS, today[0].seconds / np.array(RANKS), "--", color="0.6", label="ideal")
    for label, rows, style in (
        ("rank 0 learns alone", alone, "o-"),
        ("sharded learner, as the package is", today, "s-"),
        ("sums in trees, samples stay where they are", mended, "^-"),
        ("the same, batches that grow", grown, "v-"),
    ):
        left.loglog(RANKS, [row.seconds for row in rows], style, label=label)
    left.set(
        xlabel="ranks", ylabel="seconds to the return of the job", ylim=(0.5 * min(r.seconds for r in grown), None)
    )
    left.grid(alpha=0.3)
    left.legend()
    stack(right, today)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def stack(axis: object, rows: list[Prediction]) -> None:
    """Draw which fraction of an iteration each part takes."""
    bottom, places = np.zeros(len(rows)), [f"{row.ranks:,}" for row in rows]
    for shade, name in zip(SHADES * 2, (name for name, _ in rows[0].one.parts()), strict=False):
        heights = np.array([dict(row.one.parts())[name] / row.one.seconds for row in rows])
        axis.bar(places, heights, bottom=bottom, color=shade, label=name)  # type: ignore[attr-defined]
        bottom += heights
    axis.set(xlabel="ranks", ylabel="fraction of an iteration, as the package is", ylim=(0, 1.35))  # type: ignore[attr-defined]
    axis.legend(ncols=4, loc="upper center", fontsize=8)  # type: ignore[attr-defined]
