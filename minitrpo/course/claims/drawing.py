"""The pictures of claims: an arm has one colour in all of them; the author's points are grey, behind."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.commands.plot import band
from minitrpo.course.claims.claim import Claim, Run, Runs
from minitrpo.course.claims.panels import axes_of, ghosts, heights, legend, look, names, seeds, tasks
from minitrpo.course.claims.quantities import rows, seconds
from minitrpo.course.statistics import mean_interval
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports.plots import COLORS, GREY
from minitrpo.reports.trained import half_interval

Draw = Callable[[Any, Claim, Runs], None]
LABELS = {
    "env_steps": "environment steps (thousands)",
    "iteration": "updates",
    "time_s": "wall-clock time (s)",
    "mean_return": "episode return while training",
    "fresh": "return of 20 fresh episodes, mean action",
    "steps_per_update": "steps per update that the rule asks for",
}
FEW = 20  # points of a curve, below which they are marked
THIN = {"linewidth": 0.6, "alpha": 0.3}


def curves(
    x: str = "env_steps",
    y: str = "mean_return",
    only: tuple[str, ...] = (),
    widths: tuple[float, ...] = (),
    until: float = np.inf,
) -> Draw:
    """Return how to draw y against x: the mean of the seeds, its 95 % interval, every seed thinly behind.

    only: these arms; by default all. widths: of the lines of arms that lie on each other, seed by seed. until: of x.
    """

    def draw(figure: Any, claim: Claim, runs: Runs) -> None:
        chosen = {key: found for key, found in runs.items() if not only or key[0] in only}
        axes, scale = axes_of(figure, tasks(chosen)), 1e3 if x == "env_steps" else 1.0
        for (name, env), found in chosen.items():
            style, axis = look(claim, name), axes[env]
            each = [known(found_one, x, y, scale, until) for found_one in found]
            for one in each if len(each) > 1 and not widths else []:
                axis.plot(*one, **style, **THIN)
            if widths:
                coinciding(axis, each, style | {"linewidth": widths[names(claim).index(name)]}, name)
            else:
                middle(axis, each, style, name)
        for env, axis in axes.items():
            axis.set(xlabel=LABELS[x], ylabel=LABELS[y], title=f"{env}, {seeds(chosen, env)}")
            axis.set_xlim(0, until / scale if np.isfinite(until) else None)
            ghosts(axis, claim, env, scale)
            heights(axis)
        legend(figure, axes)

    return draw


def known(run: Run, x: str, y: str, scale: float, until: float) -> tuple[Array, Array]:
    """Return a run's curve as far as the first place beyond `until`, without the places that have no return."""
    at, values = rows(run, x, y)
    there = np.isfinite(values) & (np.concatenate([[0.0], at[:-1]]) < until)
    return at[there] / scale, values[there]


def middle(axis: Any, each: list[tuple[Array, Array]], style: dict[str, Any], name: str) -> None:
    """Draw the mean of several curves with its interval, over what all of them cover."""
    x, mean, half = band(each) if len(each) > 1 else (*each[0], np.zeros(len(each[0][0])))
    axis.plot(x, mean, **style, linewidth=2, label=name, marker="o" if len(x) < FEW else None, markersize=4)
    axis.fill_between(x, mean - half, mean + half, color=style["color"], alpha=0.18, linewidth=0)


def coinciding(axis: Any, each: list[tuple[Array, Array]], style: dict[str, Any], name: str) -> None:
    """Draw every seed as it is, in a width that shows what lies behind."""
    for number, one in enumerate(each):
        axis.plot(*one, **style, label=name if number == 0 else None)


def against_ranks(name: str, steps: str) -> Draw:
    """Return how to draw the seconds of a phase against ranks, relative to one rank, with the author's beside them."""

    def draw(figure: Any, claim: Claim, runs: Runs) -> None:
        axes = axes_of(figure, tasks(runs))
        for env, axis in axes.items():
            found = {arm.ranks: runs[arm.name, env] for arm in claim.arms if (arm.name, env) in runs}
            times = {n: np.array([seconds(name).of(run) for run in one]) for n, one in found.items()}
            base, ranks = times[min(times)].mean(), sorted(times)
            intervals = [mean_interval(100 * times[n] / base) for n in ranks]
            bars = np.nan_to_num([[i.middle - i.low for i in intervals], [i.high - i.middle for i in intervals]])
            label = f"here, 100 % is {base:.3g} s"
            means = [i.middle for i in intervals]
            axis.errorbar(ranks, means, bars, fmt="o-", color=COLORS[name], capsize=4, label=label)
            axis.plot(ranks, [100 / n for n in ranks], "--", color="black", linewidth=0.8, label="ideal")
            axis.set(xlabel="ranks (the author: threads)", xticks=range(1, 9), xlim=(0.5, 8.5))
            axis.set(
                ylabel=f"time to {name} {steps} (% of one rank)", title=f"{env}, {seeds(runs, env)}", ylim=(0, None)
            )
            there = min(run["usable_cores"] for one in found.values() for run in one)
            axis.axvspan(there + 0.5, 8.5, color=GREY, alpha=0.12, label=f"beyond the {there} cores here")
            for ghost in claim.ghosts:
                y = 100 * np.array(ghost.y) / ghost.y[0]
                label = f"author 2016, 100 % is {ghost.y[0]:.3g} s"
                axis.plot(ghost.x, y, "s-", color=GREY, markersize=4, label=label, zorder=1)
        legend(figure, axes)

    return draw


def phases(figure: Any, claim: Claim, runs: Runs) -> None:
    """Draw which part of an update each phase takes: a bar for each arm, and the author's."""
    axes = axes_of(figure, tasks(runs))
    for env, axis in axes.items():
        bars = {name: found for (name, task), found in runs.items() if task == env}
        for row, (name, found) in enumerate(bars.items()):
            left = 0.0
            each = np.array([[100 * seconds(phase).of(run) for phase in PHASES] for run in found])
            parts = 100 * each / each.sum(axis=1, keepdims=True)
            for phase, width, half in zip(PHASES, parts.mean(axis=0), half_interval(parts), strict=True):
                label = phase if row == 0 else None
                axis.barh(name, width, left=left, color=COLORS[phase], label=label, height=0.5)
                if phase == "collect":
                    axis.errorbar(width, row, xerr=np.nan_to_num(half), color="black", capsize=4)
                    axis.text(width / 2, row, f"{width:.0f} %", ha="center", va="center", color="white")
                left += width
        for ghost in claim.ghosts:
            axis.barh(f"author 2016,\n{ghost.name}", ghost.y[0], color=GREY, height=0.5)
            axis.barh(
                f"author 2016,\n{ghost.name}", 100 - ghost.y[0], left=ghost.y[0], color=GREY, alpha=0.4, height=0.5
            )
            axis.text(ghost.y[0] / 2, len(bars), f"collecting, {ghost.y[0]:.0f} %", ha="center", va="center")
        axis.set(xlabel="share of an update (%)", xlim=(0, 100), title=f"{env}, {seeds(runs, env)}")
    legend(figure, axes)


def bars(words: str, of: Callable[[Run], float], claimed: float | None = None) -> Draw:
    """Return how to draw one number of each arm: the mean of its seeds, its interval, each seed as a dot, the claim."""

    def draw(figure: Any, claim: Claim, runs: Runs) -> None:
        axes = axes_of(figure, tasks(runs))
        for env, axis in axes.items():
            shown = [name for name, task in runs if task == env]
            for number, name in enumerate(shown):
                values = np.array([of(run) for run in runs[name, env]], float)
                half = float(half_interval(values[:, None])[0])
                look_of = {"color": look(claim, name)["color"]}
                axis.bar(number, values.mean(), **look_of, alpha=0.55, width=0.6)
                axis.errorbar(number, values.mean(), np.nan_to_num(half), color="black", capsize=4)
                axis.plot(np.full(len(values), number + 0.2), values, "k.", markersize=4)
            for ghost in (g for g in claim.ghosts if g.env == env and g.name in shown):
                place = np.full(len(ghost.y), shown.index(ghost.name) - 0.2)
                axis.plot(place, ghost.y, "D", color=GREY, markersize=5, label="author 2016, each run")
            if claimed is not None:
                axis.axhline(claimed, color=GREY, linestyle="--", label=f"claimed: {claimed:,g}")
            slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if len(shown) > 3 else {}
            axis.set_xticks(range(len(shown)), shown, **slanted)
            axis.set(ylabel=words, title=f"{env}, {seeds(runs, env)}")
        legend(figure, axes)

    return draw


def traces(only: tuple[str, ...]) -> Draw:
    """Return how to draw the steps per update that the rule asked for: every seed, in its arm's colour."""

    def draw(figure: Any, claim: Claim, runs: Runs) -> None:
        chosen = {key: found for key, found in runs.items() if key[0] in only}
        axes = axes_of(figure, tasks(chosen))
        for (name, env), found in chosen.items():
            for number, run in enumerate(found):
                ends = run["rows"]["env_steps"][-1]
                steps = np.array([[at, asked] for _, at, asked, _ in run["decisions"]] or [[0, 0]], float)
                x, y = np.append(steps[:, 0], ends) / 1e3, np.append(steps[:, 1], steps[-1, 1])
                label = name if number == 0 else None
                axes[env].plot(x, y, **look(claim, name), drawstyle="steps-post", linewidth=1, alpha=0.7, label=label)
        for env, axis in axes.items():
            axis.set(xlabel=LABELS["env_steps"], ylabel=LABELS["steps_per_update"], xlim=(0, None), ylim=(0, None))
            axis.set(title=f"{env}, {seeds(chosen, env)}")
        legend(figure, axes)

    return draw
