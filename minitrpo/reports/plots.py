"""The picture of a run. matplotlib is imported only when one is drawn, without pyplot: a user's own figures stay."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.folder import RunFolder

# Okabe & Ito's colours, which survive a projector and colour blindness
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, GREY = "#CC79A7", "#8C8C8C"
COLORS = dict(zip(PHASES, (BLUE, ORANGE, RED, GREEN), strict=True))
STEPS = "environment steps (thousands)"
MANY_ROWS = 40  # beyond, points are no longer marked, and what goes up and down is smoothed
LOOK: dict[Any, Any] = {"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25}
LOOK |= {"legend.frameon": False, "legend.borderaxespad": 0.2, "legend.handlelength": 1.4, "legend.columnspacing": 1.2}
WIDE = 300.0  # times the least is the most: from there on a positive quantity has a logarithmic axis


def learning_curve(folder: RunFolder, *charts: tuple[tuple[str, ...], str]) -> Path:
    """Draw return against steps and time, where the time went, and what else happened; return the picture's path.

    charts: what the algorithm wants to be seen: one or two columns of metrics.csv, of one unit, and that unit.
    """
    from matplotlib import rc_context

    config, c = folder.read_config(), folder.columns()
    steps, path = c["env_steps"] / 1e3, folder.path / "learning_curve.png"
    below: list[Callable[..., None]] = [partial(_phases, updates=config["settings"].get("record_every", 1))]
    shown = [([name for name in chart if name in c and np.isfinite(c[name]).any()], label) for chart, label in charts]
    below += [partial(_chart, chart=chart, label=label) for chart, label in shown if chart]
    if len(set(c["steps_per_update"])) > 1:
        below.append(_steps_per_update)
    with rc_context(LOOK):
        figure = picture(max(11.0, 3.7 * len(below)), 7)
        figure.suptitle(title(config, c["ranks"]), fontsize=14)
        places = figure.add_gridspec(2, 2 * len(below))
        for number, (x, label) in enumerate(((steps, STEPS), (c["time_s"], "wall-clock time (s)"))):
            axis = figure.add_subplot(places[0, number * len(below) : (number + 1) * len(below)])
            draw_returns(axis, x, label, c)
        for number, draw in enumerate(below):
            axis = figure.add_subplot(places[1, 2 * number : 2 * number + 2])
            axis.set(xlabel=STEPS, xlim=(0, steps[-1] if len(steps) else 1))
            draw(axis, steps, c)
        write_atomically(path, figure.encoded())
    return path


def picture(width: float, height: float, dpi: int = 110) -> Any:
    """Return a matplotlib Figure that notebooks show, too: `encoded` gives the bytes of its file."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def encoded(self, kind: str = "png") -> bytes:
            content = io.BytesIO()
            self.savefig(content, format=kind)
            return content.getvalue()

        _repr_png_ = encoded

    return Picture(figsize=(width, height), layout="constrained", dpi=dpi)


def title(config: dict[str, Any], ranks: Array) -> str:
    """Return what a run was: algorithm, environment, seed, and on how many ranks."""
    s, counts = config["settings"], sorted({int(n) for n in ranks} or {int(config["provenance"].get("ranks", 1))})
    text = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"{s['algorithm']} on {s['env'].rpartition(':')[2]}, seed {s['seed']}, {text} rank{'s' * (counts != [1])}"


def smooth(y: Array, window: int = 10) -> Array:
    """Return the mean of the last `window` entries at each place, ignoring NaN."""
    windows = [y[max(0, i + 1 - window) : i + 1] for i in range(len(y))]
    return np.array([np.nan if np.isnan(w).all() else np.nanmean(w) for w in windows])


def window_of(episodes: Array) -> int:
    """Return over how many episodes to average; episodes: of each row; a tenth of their sum, 10 to 100."""
    return int(np.clip(episodes.sum() // 10, 10, 100))


def mean_of_last(means: Array, episodes: Array, window: int) -> Array:
    """Return the mean return of the last `window` episodes (at first of those there are) at each row, NaN before any.

    means, episodes: of the rows, NaN where there is no episode. Of a row that counts in part, its mean counts.
    """
    ended = np.concatenate([[0.0], np.cumsum(episodes)])
    total = np.concatenate([[0.0], np.cumsum(np.where(episodes > 0, means, 0.0) * episodes)])
    before = np.maximum(ended - window, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(((total - np.interp(before, ended, total)) / (ended - before))[1:])


def draw_returns(axis: Any, x: Array, label: str, c: dict[str, Array]) -> None:
    """Draw each row's mean return, boldly that of the last episodes, and the evaluations of --eval-every."""
    axis.set(xlabel=label, ylabel="episode return")
    means, evaluations = c["mean_return"], c.get("eval_return", np.full(len(x), np.nan))
    ended, known = np.isfinite(means), np.isfinite(evaluations)  # rows of segments may see no episode's end
    if not ended.any():
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, "no episode has ended yet", ha="center", transform=axis.transAxes, color=GREY, fontsize=12)
        return
    window = window_of(c["episodes"])
    bold = mean_of_last(means, c["episodes"], window)[ended]  # between them nothing changes
    axis.plot(x[ended], means[ended], color=BLUE, alpha=0.35, linewidth=1, label="rows of the log", **dots(x[ended]))
    axis.plot(x[ended], bold, color=BLUE, linewidth=2.5, label=f"mean of the last {window} episodes")
    axis.set_xlim(0, x[-1])
    look = {"textcoords": "offset points", "va": "center", "color": BLUE, "weight": "bold"}
    axis.annotate(f"{bold[-1]:.4g}", (x[ended][-1], bold[-1]), (6, 0), **look)
    if known.any():
        axis.plot(x[known], evaluations[known], "D", color=ORANGE, markersize=5, zorder=4, label="evaluations")
    _legend(axis, 2)


def _phases(axis: Any, x: Array, c: dict[str, Array], updates: int) -> None:
    """Stack the seconds of every phase per row, smoothed; what takes next to nothing is not drawn."""
    axis.set(ylabel="seconds of rank 0 per " + ("update" if updates == 1 else f"{updates} updates"))
    seconds = {phase: c[f"{phase}_s"] for phase in PHASES}
    seconds["other"] = np.maximum(c["iteration_s"] - sum(seconds.values()), 0.0)
    whole = c["iteration_s"].sum()
    bands = {phase: smooth(each) for phase, each in seconds.items() if each.sum() > 0.005 * whole}
    heights = [np.concatenate([band[:1], band]) for band in bands.values()]
    if heights:
        x, colors = np.concatenate([[0.0], x]), {**COLORS, "other": GREY}
        axis.stackplot(x, heights, labels=bands, colors=[colors[name] for name in bands], alpha=0.85)
        axis.set_ylim(0, 1.05 * np.sum(heights, axis=0).max())
        _legend(axis, 3)


def _steps_per_update(axis: Any, x: Array, c: dict[str, Array]) -> None:
    """Draw how many steps were wanted for each update, as the adaptive rule chose them."""
    axis.plot(x, c["steps_per_update"], color=ORANGE, linewidth=2.5, drawstyle="steps-pre")
    axis.set(ylabel="steps per update", ylim=(0, 1.1 * c["steps_per_update"].max()))


def _chart(axis: Any, x: Array, c: dict[str, Array], chart: list[str], label: str) -> None:
    """Draw what the algorithm wants to be seen; a second column that never changes is a limit."""
    words = [name.replace("_", " ") for name in chart]
    for name, word, color in zip(chart, words, (GREEN, PURPLE), strict=False):
        known, first = np.isfinite(c[name]), name == chart[0]
        if first and known.sum() > MANY_ROWS:
            axis.plot(x[known], c[name][known], color=color, linewidth=0.8, alpha=0.35)
            axis.plot(x, smooth(c[name]), color=color, linewidth=2, label=f"{word}, mean of 10 rows")
        elif first or len(set(c[name])) > 1:
            look = {"color": color, "linewidth": 1.2 if first else 2.5, **dots(x[known])}
            axis.plot(x[known], c[name][known], label=word, **look)
        else:
            axis.axhline(c[name][0], color=GREY, linestyle="--", label=f"{word} {c[name][0]:g}")
    axis.set_ylabel(label or ", ".join(words))
    values = np.concatenate([c[name][np.isfinite(c[name])] for name in chart])
    if values.min() > 0 and values.max() > WIDE * values.min():
        axis.set_yscale("log")
    elif values.min() >= 0:
        axis.set_ylim(0, 1.1 * values.max() or 1.0)
    _legend(axis, 1)


def dots(x: Array) -> dict[str, Any]:
    """Return the look of points where they are few."""
    return {"marker": "o", "markersize": 4, "clip_on": False} if len(x) <= MANY_ROWS else {}


def _legend(axis: Any, columns: int) -> None:
    """Put the legend above the axes, where no curve is; it must not be wider than they are, or they give way."""
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)
