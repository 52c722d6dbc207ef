"""Pictures of a run. matplotlib is imported only when one is drawn."""

from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.policies import Array
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.settings import PHASES

# Okabe & Ito's colours, which survive a projector and colour blindness
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, GREY = "#CC79A7", "#8C8C8C"
COLORS = dict(zip(PHASES, (BLUE, ORANGE, RED, GREEN), strict=True))


def learning_curve(folder: RunFolder, chart: tuple[str, ...] = (), label: str = "") -> Path:
    """Draw return against steps and time, where the time went, steps/update and `chart`; return the picture's path.

    chart: one or two columns of metrics.csv, of one unit, that the algorithm wants to be seen. label: that unit.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    config, c = folder.read_config()["settings"], folder.columns()
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), constrained_layout=True)
    figure.suptitle(f"{config['env']}, seed {config['seed']}, {int(c['ranks'][-1])} rank(s)")
    _returns(axes[0, 0], c["env_steps"] / 1e3, c["mean_return"], "environment steps (thousands)")
    axes[0, 0].set_ylabel("episode return (the environment's own)")
    _returns(axes[0, 1], c["time_s"], c["mean_return"], "wall-clock time (s)")
    _phases(axes[1, 0], c)
    _settings(axes[1, 1], c, [name for name in chart if name in c], label)
    path = folder.path / "learning_curve.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def smooth(y: Array, window: int = 10) -> Array:
    """Return the mean of the last `window` entries at each place, ignoring NaN."""
    windows = [y[max(0, i + 1 - window) : i + 1] for i in range(len(y))]
    return np.array([np.nan if np.isnan(w).all() else np.nanmean(w) for w in windows])


def _returns(axis: Any, x: Array, y: Array, label: str) -> None:
    ended = np.isfinite(y)  # updates from segments may see no episode's end
    marker = "." if ended.sum() < 40 else None
    axis.plot(x[ended], y[ended], color=BLUE, alpha=0.3, linewidth=1, marker=marker, label="mean of an update")
    axis.plot(x, smooth(y), color=BLUE, linewidth=2, label="mean of 10 updates")
    axis.set(xlabel=label)
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right")


def _phases(axis: Any, c: dict[str, Array]) -> None:
    """Stack the seconds of every phase per iteration, smoothed."""
    x = c["env_steps"] / 1e3
    seconds = {phase: c[f"{phase}_s"] for phase in PHASES}
    other = c["iteration_s"] - sum(seconds.values())
    bands = [smooth(band) for band in seconds.values()] + [smooth(np.maximum(other, 0.0))]
    axis.stackplot(x, bands, labels=[*PHASES, "other"], colors=[*COLORS.values(), GREY], alpha=0.85)
    axis.set(xlabel="environment steps (thousands)", ylabel="seconds per iteration on rank 0")
    axis.set_ylim(0, 1.3 * np.sum(bands, axis=0).max())  # room for the legend
    axis.legend(loc="upper right", ncols=3)


def _settings(axis: Any, c: dict[str, Array], chart: list[str], label: str) -> None:
    """Draw steps/update on the left axis, and on the right what the algorithm wants to be seen."""
    x = c["env_steps"] / 1e3
    lines = axis.plot(x, c["steps_per_update"], color=ORANGE, linewidth=2, drawstyle="steps-pre", label="steps/update")
    axis.set(xlabel="environment steps (thousands)", ylim=(0, 1.15 * c["steps_per_update"].max()))
    axis.set_ylabel("steps/update wanted", color=ORANGE)
    if chart:
        right = axis.twinx()
        for name, (width, alpha) in zip(chart, ((1, 0.5), (2, 1.0)), strict=False):
            lines += right.plot(x, c[name], color=GREEN, alpha=alpha, linewidth=width, label=name.replace("_", " "))
        right.set_ylabel(label or ", ".join(name.replace("_", " ") for name in chart[:2]), color=GREEN)
        _, top = right.get_ylim()
        if all((c[name][np.isfinite(c[name])] >= 0).all() for name in chart):
            right.set_ylim(0, 1.1 * top)
    axis.legend(handles=lines, loc="lower right")
