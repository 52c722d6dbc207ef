"""What pictures show: a panel for each task, an arm's colour in all of them, seeds behind their mean, theirs grey.

A band is the 95 % interval of the mean over seeds (Student's), as far as returns can be. `curves(...)` and the like
return how an experiment's runs are drawn onto a matplotlib Figure.
"""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import AT_WORK, FULL, Experiment, Runs
from experiments.tables import Run, curve
from minitrpo.commands.plot import COLORS as HUES
from minitrpo.commands.plot import band
from minitrpo.course.statistics import Interval, mean_interval
from minitrpo.experience.evaluation import half_interval
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports.plots import COLORS, GREY

Draw = Callable[[Any, Any, Runs], None]
Arms = dict[str, list[Run]]
LABELS = {
    "env_steps": "environment steps (thousands)",
    "iteration": "updates",
    "time_s": "wall-clock time (s)",
    "mean_return": "episode return while training",
    "eval_return": "return of 20 fresh episodes, mean action",
    "steps_per_update": "steps per update that the rule asks for",
}
POSSIBLE = {"CartPole-v1": (0, 500), "InvertedPendulum-v5": (0, 1000)} | dict.fromkeys(
    ("Pendulum-v1", "Reacher-v5"), (-np.inf, 0)
)
STYLES, MARKS = ("-", "--", ":"), "os^Dv<>p*h"
ORDERS = (  # of arms of which claims compare different ones
    ("1 rank", *(f"{n} ranks" for n in (2, 3, 4, 5, 8))),
    tuple(f"max-KL {limit}" for limit in ("0.001", "0.005", "0.01", "0.1", "1")),
)
FEW = 20  # points of a curve, below which they are marked


class Ghost(NamedTuple):
    """Points that somebody else measured, of one arm: x and y as the picture has them."""

    env: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def draw(experiment: Experiment, kind: str, runs: Runs, folder: Path | None = None) -> Path:
    """Draw an experiment, into a folder or among the runs at work, and return the picture's path."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    experiment.draw(figure, experiment, runs)
    title = f"{experiment.title[:1].upper()}{experiment.title[1:]}{'' if kind == FULL else f' ({kind} set)'}"
    wide = textwrap.fill(title, int(11 * figure.get_figwidth()))
    figure.suptitle(wide, fontsize=12, x=0.01, horizontalalignment="left")
    path = (folder or AT_WORK / "pictures") / f"{experiment.name}{'' if kind == FULL else f'-{kind}'}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    return path


# --- what all of them share


def names(experiment: Experiment) -> list[str]:
    """Return the names of an experiment's arms, each once."""
    return list(dict.fromkeys(arm.name for arm in experiment.arms))


def look(experiment: Experiment, name: str) -> dict[str, Any]:
    """Return the colour and line of an arm; grey is somebody else's."""
    number = next((order for order in ORDERS if name in order), names(experiment)).index(name)
    return {"color": HUES[number % 5], "linestyle": STYLES[number // 5 % len(STYLES)]}


def axes_of(figure: Any, panels: list[str], across: int = 2) -> dict[str, Any]:
    """Return a plain axis for each task, at most `across` in a row."""
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    figure.set_size_inches(5.4 * across, 3.7 * down + 0.5)
    axes = {panel: figure.add_subplot(down, across, number) for number, panel in enumerate(panels, 1)}
    for axis in axes.values():
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
        axis.set_axisbelow(True)
    return axes


def heights(axis: Any) -> None:
    """Let the lines decide how high the axis is: the interval of two seeds would press them flat."""
    lines = np.concatenate([line.get_ydata() for line in axis.get_lines()])
    low, high = np.nanmin(lines), np.nanmax(lines)
    bottom, top = axis.get_ylim()
    room = 0.3 * (high - low)
    axis.set_ylim(max(bottom, low - room), min(top, high + room))


def headed(env: str, runs: Runs) -> str:
    """Return the title of a panel: its task, and how many seeds it shows."""
    counts = sorted({len(found) for (_, task), found in runs.items() if task == env})
    several = "" if counts == [1] else "s"
    return f"{env}, {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} seed{several}"


def ghosts(axis: Any, some: tuple[Ghost, ...], env: str, scale: float) -> None:
    """Draw somebody else's points, as far as the axis goes: grey, behind, each arm with its own line and mark."""
    right = axis.get_xlim()[1]
    for number, ghost in enumerate(some):
        x = np.array(ghost.x) / scale
        if ghost.env == env and (x <= right).any():
            style = {"color": GREY, "marker": MARKS[number % len(MARKS)], "markersize": 4, "zorder": 1}
            near, label = x <= right, f"author 2016: {ghost.name}"
            axis.plot(x[near], np.array(ghost.y)[near], **style, linestyle=":", linewidth=0.8, label=label)
    axis.set_xlim(0, right)


def legend(figure: Any, axes: dict[str, Any]) -> None:
    """Put one legend of everything that is drawn below the axes, where no curve is."""
    entries: dict[str, Any] = {}
    for axis in axes.values():
        entries |= {label: line for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    across = int(figure.get_figwidth() / 2.7)
    figure.set_figheight(figure.get_figheight() + 0.2 * -(-len(entries) // across))
    style = {"frameon": False, "fontsize": 9, "ncols": across}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", **style)


# --- kinds of pictures


def panels(paint: Callable[[Any, Any, str, Arms], None], only: tuple[str, ...] = ()) -> Draw:
    """Return how to draw a panel for each task: `paint(axis, experiment, task, runs of its arms)`. only: these arms."""

    def draw(figure: Any, experiment: Any, runs: Runs) -> None:
        chosen = {key: found for key, found in runs.items() if not only or key[0] in only}
        axes = axes_of(figure, list(dict.fromkeys(env for _, env in chosen)))
        for env, axis in axes.items():
            axis.set_title(headed(env, chosen))
            paint(axis, experiment, env, {name: found for (name, task), found in chosen.items() if task == env})
        legend(figure, axes)

    return draw


def curves(
    x: str = "env_steps",
    y: str = "mean_return",
    only: tuple[str, ...] = (),
    widths: tuple[float, ...] = (),
    until: float = np.inf,
) -> Draw:
    """Return how to draw y against x: the mean of the seeds, its interval, every seed thinly behind.

    only: these arms; by default all. widths: of the lines of arms that lie on each other, seed by seed. until: of x.
    """
    scale = 1e3 if x == "env_steps" else 1.0

    def paint(axis: Any, experiment: Any, env: str, arms: Arms) -> None:
        for name, found in arms.items():
            each = [known(run, x, y, scale, until) for run in found]
            if widths:
                thick = {"linewidth": widths[names(experiment).index(name)]}
                for number, one in enumerate(each):
                    axis.plot(*one, **look(experiment, name), **thick, label=None if number else name)
            else:
                middle(axis, each, look(experiment, name), name, env)
        axis.set(xlabel=LABELS[x], ylabel=LABELS[y], xlim=(0, until / scale if np.isfinite(until) else None))
        ghosts(axis, experiment.ghosts, env, scale)
        heights(axis)

    return panels(paint, only)


def known(run: Run, x: str, y: str, scale: float, until: float) -> tuple[Array, Array]:
    """Return a run's curve as far as the first place beyond `until`, without the places that have no return."""
    at, values = curve(run, x, y)
    there = np.isfinite(values) & (np.concatenate([[0.0], at[:-1]]) < until)
    return at[there] / scale, values[there]


def possible(interval: Interval, env: str) -> Interval:
    """Return an interval of returns, as far as returns can be."""
    return Interval(*np.clip(interval, *POSSIBLE.get(env, (-np.inf, np.inf))).tolist())


def middle(axis: Any, each: list[Any], style: dict[str, Any], name: str, env: str) -> None:
    """Draw several curves thinly, their mean over what all of them cover, and its interval as far as is possible."""
    for one in each if len(each) > 1 else []:
        axis.plot(*one, **style, linewidth=0.6, alpha=0.3)
    x, mean, half = band(each) if len(each) > 1 else (*each[0], np.zeros(len(each[0][0])))
    axis.plot(x, mean, **style, linewidth=2, label=name, marker="o" if len(x) < FEW else None, markersize=4)
    low, high = np.clip([mean - half, mean + half], *POSSIBLE.get(env, (-np.inf, np.inf)))
    axis.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)


def paint_ranks(axis: Any, experiment: Any, env: str, arms: Arms) -> None:
    """Draw the seconds of collecting against ranks, relative to one rank, with the author's."""
    ranks = [arm.ranks for arm in experiment.arms if arm.env == env and arm.name in arms]
    times = [np.array([phase_seconds(run, "collect") for run in found]) for found in arms.values()]
    base = times[0].mean()
    bars = np.array([mean_interval(100 * each / base) for each in times])
    style = {"fmt": "o-", "color": COLORS["collect"], "capsize": 4, "label": f"here, 100 % is {base:.3g} s"}
    axis.errorbar(ranks, bars[:, 0], np.nan_to_num(np.abs(bars[:, 1:] - bars[:, :1])).T, **style)
    axis.plot(ranks, [100 / n for n in ranks], "--", color="black", linewidth=0.8, label="ideal")
    axis.set(xlabel="ranks (the author: threads)", xticks=range(1, 9), xlim=(0.5, 8.5), ylim=(0, None))
    axis.set_ylabel("time to collect 20,000 steps (% of one rank)")
    there = min(run["machine"]["cores"] for found in arms.values() for run in found)
    axis.axvspan(there + 0.5, 8.5, color=GREY, alpha=0.12, label=f"beyond the {there} cores here")
    for ghost in experiment.ghosts:
        label = f"author 2016, 100 % is {ghost.y[0]:.3g} s"
        y = 100 * np.array(ghost.y) / ghost.y[0]
        axis.plot(ghost.x, y, "s-", color=GREY, markersize=4, label=label, zorder=1)


def phase_seconds(run: Run, phase: str) -> float:
    """Return the median seconds of an update that a phase takes, without the first row."""
    return float(np.median(curve(run, y=f"{phase}_s")[1][1:]))


def paint_phases(axis: Any, experiment: Any, env: str, arms: Arms) -> None:
    """Draw which part of an update each phase takes: a bar for each arm, and the author's."""
    for row, (name, found) in enumerate(arms.items()):
        left, each = 0.0, np.array([[phase_seconds(run, phase) for phase in PHASES] for run in found])
        parts = 100 * each / each.sum(axis=1, keepdims=True)
        for phase, width, half in zip(PHASES, parts.mean(axis=0), half_interval(parts), strict=True):
            label = None if row else phase
            axis.barh(name, width, left=left, color=COLORS[phase], label=label, height=0.5)
            if phase == "collect":
                axis.errorbar(width, row, xerr=np.nan_to_num(half), color="black", capsize=4)
                axis.text(width / 2, row, f"{width:.0f} %", ha="center", va="center", color="white")
            left += width
    for ghost in experiment.ghosts:
        name, part = f"author 2016,\n{ghost.name}", ghost.y[0]
        axis.barh(name, part, color=GREY, height=0.5)
        axis.barh(name, 100 - part, left=part, color=GREY, alpha=0.4, height=0.5)
        axis.text(part / 2, len(arms), f"collecting, {part:.0f} %", ha="center", va="center")
    axis.set(xlabel="share of an update (%)", xlim=(0, 100))


def bars(words: str, of: Callable[[Run], float], claimed: float | None = None) -> Draw:
    """Return how to draw one number of each arm: the mean of its seeds, its interval, each seed as a dot, the claim."""

    def paint(axis: Any, experiment: Any, env: str, arms: Arms) -> None:
        for number, (name, found) in enumerate(arms.items()):
            values = np.array([of(run) for run in found], float)
            half = np.nan_to_num(half_interval(values[:, None])[0])
            axis.bar(number, values.mean(), color=look(experiment, name)["color"], alpha=0.55, width=0.6)
            axis.errorbar(number, values.mean(), half, color="black", capsize=4)
            axis.plot(np.full(len(values), number + 0.2), values, "k.", markersize=4)
        for ghost in (g for g in experiment.ghosts if g.env == env and g.name in arms):
            place = np.full(len(ghost.y), [*arms].index(ghost.name) - 0.2)
            axis.plot(place, ghost.y, "D", color=GREY, markersize=5, label="author 2016, each run")
        if claimed is not None:
            axis.axhline(claimed, color=GREY, linestyle="--", label=f"claimed: {claimed:,g}")
        slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if len(arms) > 3 else {}
        axis.set_xticks(range(len(arms)), arms, **slanted)
        axis.set_ylabel(words)

    return panels(paint)


def paint_traces(axis: Any, experiment: Any, env: str, arms: Arms) -> None:
    """Draw the steps per update that the rule asked for, of every seed."""
    for name, found in arms.items():
        for number, run in enumerate(found):
            steps, asked = (run["decisions"][column] for column in ("env_steps", "steps_per_update"))
            x, y = np.append(steps, curve(run)[0][-1]) / 1e3, np.append(asked, asked[-1:])
            style = {"drawstyle": "steps-post", "linewidth": 1, "alpha": 0.7, "label": None if number else name}
            axis.plot(x[-len(y) :], y, **look(experiment, name), **style)
    axis.set(xlabel=LABELS["env_steps"], ylabel=LABELS["steps_per_update"], xlim=(0, None), ylim=(0, None))
