"""The picture of a run. matplotlib is imported only when one is drawn, without pyplot: a user's own figures stay."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.run_folder.checkpoint import write_atomically
from minitrpo.run_folder.folder import RunFolder

# Okabe & Ito's colours, which survive a projector and colour blindness
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, GREY = "#CC79A7", "#8C8C8C"
COLORS = dict(zip(PHASES, (BLUE, ORANGE, RED, GREEN), strict=True))
STEPS = "environment steps (thousands)"
WINDOWS = (10, 20, 50, 100)  # episodes in a mean: at most a tenth of the run's
MANY_ROWS = 40  # beyond, points are no longer marked, and what goes up and down is smoothed
WIDE = 300.0  # times the least is the most: from there on a positive quantity has a logarithmic axis


def learning_curve(folder: RunFolder, *charts: tuple[tuple[str, ...], str]) -> Path:
    """Draw return against steps and time, where the time went, and what else happened; return the picture's path.

    charts: what the algorithm wants to be seen: one or two columns of metrics.csv, of one unit, and that unit.
    """
    from matplotlib.figure import Figure

    config, c = folder.read_config(), folder.columns()
    updates = config["settings"].get("record_every", 1)
    below: list[Callable[[Any], None]] = [lambda axis: _phases(axis, c, updates)]
    for chart, label in charts:
        shown = [name for name in chart if name in c and np.isfinite(c[name]).any()]
        if shown:
            below.append(partial(_chart, c=c, chart=shown, label=label))
    if len(set(c["steps_per_update"])) > 1:
        below.append(lambda axis: _steps_per_update(axis, c))
    figure = Figure(figsize=(max(11.0, 3.7 * len(below)), 7), layout="constrained")
    figure.suptitle(title(config, c["ranks"]), fontsize=14)
    places = figure.add_gridspec(2, 2 * len(below))
    for number, (x, name) in enumerate(((c["env_steps"] / 1e3, STEPS), (c["time_s"], "wall-clock time (s)"))):
        half = slice(number * len(below), (number + 1) * len(below))
        axis = figure.add_subplot(places[0, half])
        _returns(axis, x, c["mean_return"], c["episodes"], name)
        _evaluations(axis, x, c.get("eval_return", np.zeros(0)))
    for number, draw in enumerate(below):
        draw(figure.add_subplot(places[1, 2 * number : 2 * number + 2]))
    path = folder.path / "learning_curve.png"
    content = io.BytesIO()
    figure.savefig(content, dpi=110, format="png")
    write_atomically(path, content.getvalue())
    return path


def title(config: dict[str, Any], ranks: Array) -> str:
    """Return what a run was: algorithm, environment, seed, and how many ranks it had, one after the other."""
    s, numbers = config["settings"], [int(n) for n in ranks] or [int(config["provenance"].get("ranks", 1))]
    changes = [n for n, before in zip(numbers, [0, *numbers], strict=False) if n != before]
    text = ", then ".join(map(str, changes)) if len(changes) < 5 else f"{min(changes)} to {max(changes)}"
    word = "rank" if changes == [1] else "ranks"
    return f"{s['algorithm']} on {s['env'].rpartition(':')[2]}, seed {s['seed']}, {text} {word}"


def smooth(y: Array, window: int = 10) -> Array:
    """Return the mean of the last `window` entries at each place, ignoring NaN."""
    windows = [y[max(0, i + 1 - window) : i + 1] for i in range(len(y))]
    return np.array([np.nan if np.isnan(w).all() else np.nanmean(w) for w in windows])


def window_of(episodes: Array) -> int:
    """Return over how many episodes to average a run whose rows have so many: a tenth of all, 10 to 100."""
    return max((n for n in WINDOWS if 10 * n <= episodes.sum()), default=WINDOWS[0])


def mean_of_last(means: Array, episodes: Array, window: int) -> Array:
    """Return the mean return of the last `window` episodes (at first of those there are) at each row, NaN before any.

    means, episodes: of the rows, NaN where there is no episode. Of a row that counts in part, its mean counts.
    """
    ended = np.concatenate([[0.0], np.cumsum(episodes)])
    total = np.concatenate([[0.0], np.cumsum(np.where(episodes > 0, means, 0.0) * episodes)])
    before = np.maximum(ended - window, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(((total - np.interp(before, ended, total)) / (ended - before))[1:])


def _returns(axis: Any, x: Array, means: Array, episodes: Array, label: str) -> None:
    """Draw the mean return of every row's episodes, and boldly that of the last so many; its last value is written."""
    _plain(axis)
    axis.set(xlabel=label, ylabel="episode return (the environment's own)")
    ended = np.isfinite(means)  # rows of segments may see no episode's end
    if not ended.any():
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "no episode has ended yet", ha="center", transform=axis.transAxes, color=GREY, fontsize=12)
        return
    window = window_of(episodes)
    bold = mean_of_last(means, episodes, window)[ended]  # between them nothing changes
    axis.plot(x[ended], means[ended], color=BLUE, alpha=0.35, linewidth=1, label="each row", **dots(x[ended]))
    axis.plot(x[ended], bold, color=BLUE, linewidth=2.5, label=f"mean of the last {window} episodes")
    axis.set_xlim(0, x[-1])
    look = {"textcoords": "offset points", "va": "center", "color": BLUE, "weight": "bold"}
    axis.annotate(f"{bold[-1]:.4g}", (x[ended][-1], bold[-1]), (6, 0), **look)
    _legend(axis, 2)


def _evaluations(axis: Any, x: Array, returns: Array) -> None:
    """Mark the mean returns of fresh episodes, where --eval-every had them played."""
    known = np.isfinite(returns)
    if known.any():
        look = {"color": ORANGE, "markersize": 5, "zorder": 4, "label": "evaluations"}
        axis.plot(x[known], returns[known], "D", **look)
        _legend(axis, 2)


def _phases(axis: Any, c: dict[str, Array], updates: int) -> None:
    """Stack the seconds of every phase per row, smoothed; what takes next to nothing is not drawn."""
    _plain(axis)
    axis.set(xlabel=STEPS, ylabel="seconds of rank 0 per " + ("update" if updates == 1 else f"{updates} updates"))
    seconds = {phase: c[f"{phase}_s"] for phase in PHASES}
    seconds["other"] = np.maximum(c["iteration_s"] - sum(seconds.values()), 0.0)
    whole = c["iteration_s"].sum()
    bands = {phase: smooth(each) for phase, each in seconds.items() if each.sum() > 0.005 * whole}
    x = np.concatenate([[0.0], c["env_steps"] / 1e3])
    heights = [np.concatenate([band[:1], band]) for band in bands.values()]
    if heights:
        axis.stackplot(x, heights, labels=bands, colors=[{**COLORS, "other": GREY}[name] for name in bands], alpha=0.85)
        axis.set(xlim=(0, x[-1]), ylim=(0, 1.05 * np.sum(heights, axis=0).max()))
        _legend(axis, 3)


def _steps_per_update(axis: Any, c: dict[str, Array]) -> None:
    """Draw how many steps were wanted for each update, as the adaptive rule chose them."""
    _plain(axis)
    axis.plot(c["env_steps"] / 1e3, c["steps_per_update"], color=ORANGE, linewidth=2.5, drawstyle="steps-pre")
    axis.set(xlabel=STEPS, ylabel="steps wanted per update", ylim=(0, 1.1 * c["steps_per_update"].max()))
    axis.set_xlim(0, c["env_steps"][-1] / 1e3)


def _chart(axis: Any, c: dict[str, Array], chart: list[str], label: str) -> None:
    """Draw what the algorithm wants to be seen; a second column that never changes is a limit."""
    _plain(axis)
    x, looks = c["env_steps"] / 1e3, ({"linewidth": 1.2, "color": GREEN}, {"linewidth": 2.5, "color": PURPLE})
    for name, look in zip(chart, looks, strict=False):
        known, words = np.isfinite(c[name]), name.replace("_", " ")
        if name != chart[0] and len(set(c[name])) == 1:
            axis.axhline(c[name][0], color=GREY, linestyle="--", label=f"{words} {c[name][0]:g}")
        elif name == chart[0] and known.sum() > MANY_ROWS:
            axis.plot(x[known], c[name][known], color=GREEN, linewidth=0.8, alpha=0.35)
            axis.plot(x, smooth(c[name]), color=GREEN, linewidth=2, label=f"{words}, mean of 10 rows")
        else:
            axis.plot(x[known], c[name][known], label=words, **dots(x[known]), **look)
    axis.set(xlim=(0, x[-1]), xlabel=STEPS, ylabel=label or ", ".join(name.replace("_", " ") for name in chart))
    values = np.concatenate([c[name][np.isfinite(c[name])] for name in chart])
    if values.min() > 0 and values.max() > WIDE * values.min():
        axis.set_yscale("log")
    elif values.min() >= 0:
        axis.set_ylim(0, 1.1 * values.max() or 1.0)
    _legend(axis, 1)


def dots(x: Array) -> dict[str, Any]:
    """Return the look of points where they are few."""
    return {"marker": "o", "markersize": 4, "clip_on": False} if len(x) <= MANY_ROWS else {}


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)


def _legend(axis: Any, columns: int) -> None:
    """Put the legend above the axes, where no curve is; it must not be wider than they are, or they give way."""
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": columns}
    axis.legend(**place, frameon=False, borderaxespad=0.2, handlelength=1.4, columnspacing=1.2)
