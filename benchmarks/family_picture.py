"""The family's picture: every group's learning curves before the others' in grey, and what a goal took each member."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import EngFormatter, NullFormatter

from benchmarks.family import CARTPOLE, GOAL, PENDULUM, REACHER, RESULTS, first_at
from benchmarks.record import read_json
from benchmarks.summaries import iqm
from minitrpo.reports.plots import GREY

# A hue for each group, a shade for each member, the same in every panel
GROUPS = {
    "Policy gradients": {"trpo": "#0072B2", "batch-ppo": "#45A9E0", "policy-gradient": "#14315C"},
    "Actor-critics": {"a2c": "#E69F00", "a3c": "#A65200", "actor-critic": "#C9B400"},
    "Q-learning, all in step": {"n-step-q": "#009E73", "one-step-q": "#8CC63F", "sarsa": "#00513F"},
    "Q-learning, asynchronous": {"async-n-step-q": "#CC79A7", "async-one-step-q": "#6A3D9A", "async-sarsa": "#A98BD0"},
    "Replay": {"dqn": "#D55E00", "gorila": "#8B1E1E"},
}
ELSEWHERE = {"naf": "#E8536B", "async-naf": "#00A6A6", "guided-policy-search": "#333333"}  # continuous actions alone
COLORS = {name: color for group in (*GROUPS.values(), ELSEWHERE) for name, color in group.items()}
CONTINUOUS = {
    PENDULUM: ("trpo", "batch-ppo", "a2c", "a3c", "naf", "async-naf"),
    REACHER: ("trpo", "batch-ppo", "a2c", "a3c", "guided-policy-search"),
}
FIRST_STEPS = 3_000  # before them nothing is learned
KEY = """How to read it

Above: each group in colour, all other members
in grey. A line is the interquartile mean of
5 seeds, a band goes from the lowest to the
highest. A return is the mean of the last 100
episodes.

Below: steps until new episodes return {goal:.0f} on
CartPole. A small dot is a seed, the large one
the median of those that got there; at the right,
how many did."""


def runs_of(name: str, env: str) -> list[dict[str, Any]]:
    """Return the recorded runs of a member on a task, seed by seed."""
    return [read_json(path) for path in sorted((RESULTS / "family").glob(f"{name}_{env}_?.json"))]


def family_picture(_: Any) -> Any:
    """Return the picture of all members: their learning curves group by group, and steps to one goal."""
    figure = plt.figure(figsize=(16, 12.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.35, 1))
    panels: Any = above.subplots(2, 4)
    for axis, (title, members) in zip(panels.flat, GROUPS.items(), strict=False):
        curves(axis, CARTPOLE, tuple(members))
        axis.set_title(f"{title}: CartPole", loc="left", fontsize=12, weight="bold")
    for axis, (env, names) in zip(panels.flat[len(GROUPS) :], CONTINUOUS.items(), strict=False):
        curves(axis, env, names)
        axis.set_title(env.partition("-")[0], loc="left", fontsize=12, weight="bold")
    panels[1, 3].axis("off")
    panels[1, 3].text(0, 1, KEY.format(goal=GOAL[CARTPOLE]), va="top", fontsize=10, linespacing=1.45)
    dots(below.subplots())
    return figure


def curves(axis: Any, env: str, names: tuple[str, ...]) -> None:
    """Draw these members on a task in colour, each with its name at the right, and all others in grey."""
    drawn = []
    for name in (*(n for n in COLORS if n not in names), *names):
        points = [np.array(run["curve"]).T for run in runs_of(name, env)]
        if not points:
            continue
        grid = np.geomspace(max(x[0] for x, _ in points), min(x[-1] for x, _ in points), 200)
        each = np.array([np.interp(grid, x, mean) for x, mean in points])
        middle = iqm(each, axis=0)
        if name not in names:
            axis.plot(grid, middle, color="#D0D0D0", linewidth=1, zorder=1)
            continue
        axis.fill_between(grid, each.min(axis=0), each.max(axis=0), color=COLORS[name], alpha=0.13, linewidth=0)
        axis.plot(grid, middle, color=COLORS[name], linewidth=2.2, zorder=3)
        drawn.append((float(middle[-1]), name))
    _plain(axis)
    axis.set(xscale="log", xlabel="environment steps", ylabel="return", xlim=(FIRST_STEPS, None))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    low, high = axis.get_ylim()
    for place, name in apart([(y - low) / (high - low) for y, _ in drawn], [name for _, name in drawn], 0.085):
        look = {"color": COLORS[name], "va": "center", "weight": "bold", "fontsize": 9}
        axis.text(1.02, place, name, transform=axis.transAxes, **look)


def apart(places: list[float], names: list[str], gap: float) -> Iterator[tuple[float, str]]:
    """Yield names with the places nearest to theirs, from the top down, at least `gap` from each other."""
    above = 1.0 + gap
    for place, name in sorted(zip(places, names, strict=True), reverse=True):
        above = min(place, above - gap)
        yield above, name


def dots(axis: Any) -> None:
    """Draw the steps to the goal of every member on CartPole, the quickest learner on top."""
    found = {name: runs_of(name, CARTPOLE) for group in GROUPS.values() for name in group}
    steps = {name: [first_at(run) for run in runs] for name, runs in found.items()}
    order = sorted(found, key=lambda name: median(steps[name]))  # who never got there comes last, without a dot
    for row, name in enumerate(order):
        interval(axis, row, steps[name], COLORS[name])
        reached = sum(each is not None for each in steps[name])
        axis.text(1.01, row, f"{reached} of {len(steps[name])}", transform=axis.get_yaxis_transform(), va="center")
    axis.set(yticks=range(len(order)), yticklabels=order, ylim=(len(order) - 0.5, -0.5), xscale="log")
    for label, name in zip(axis.get_yticklabels(), order, strict=True):
        label.set(color=COLORS[name], weight="bold")
    axis.set_title(f"Environment steps to {GOAL[CARTPOLE]:.0f} on CartPole", loc="left", fontsize=12, weight="bold")
    _plain(axis)
    axis.set_xticks([10e3, 20e3, 50e3, 100e3, 200e3, 500e3])
    axis.grid(visible=True, axis="x", which="both", alpha=0.2)
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_minor_formatter(NullFormatter())


def interval(axis: Any, row: float, values: list[float | None], color: str) -> None:
    """Draw the seeds that reached the goal, from the first to the last, and their median."""
    there = [value for value in values if value is not None]
    if there:
        axis.plot([min(there), max(there)], [row, row], color=color, linewidth=2, alpha=0.5, zorder=1)
        axis.plot(there, [row] * len(there), "o", color=color, markersize=3.5, alpha=0.6, zorder=2)
        axis.plot(median(values), row, "o", markersize=10, color=color, zorder=3)


def median(values: list[float | None]) -> float:
    """Return the median of those that are numbers; infinity if there is none."""
    there = [value for value in values if value is not None]
    return float(np.median(there)) if there else float("inf")


def _plain(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(GREY)
    axis.grid(alpha=0.2)
