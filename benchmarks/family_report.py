"""The family's table, for the README, and its picture: all members on one task."""

from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.family import CARTPOLE, GOALS, RESULTS, by_ranks
from benchmarks.record import read_json
from benchmarks.summaries import iqm
from benchmarks.tables import table
from minitrpo.algorithms.registry import ALGORITHMS, load
from minitrpo.parallel.speedup import cores


def family_table(found: list[dict[str, Any]]) -> str:
    """Return the table of the family, a row for each member and task: where it stands, and what was measured."""
    header = ("--algorithm", "when", "in step by", "what travels", "who learns", "from", "source", "task")
    header += ("goal", "reached it", "median steps", "median seconds", "last 100 episodes")
    rows = []
    for name in ALGORITHMS:
        design = load(name, set()).design
        place = (f"`{name}`", design.when, design.sync, design.travels, design.learns, design.data, design.source)
        own = [x for x in found if x["algorithm"] == name]
        rows += [(*place, *measured_cells(x)) for x in own] or [(*place, "-", "-", "-", "-", "-", "not measured")]
    return table(header, rows)


def measured_cells(x: dict[str, Any]) -> tuple[str, ...]:
    """Return what the table of the family says of a member on a task."""
    form = ",.1f" if abs(x["final"][0]) < 20 else ",.0f"
    ends = f"{float(iqm(np.array(x['final']))):{form}} ({min(x['final']):{form}} to {max(x['final']):{form}})"
    reached = "-" if x["reached"] is None else f"{x['reached']} of {x['seeds']}"
    steps = f"{x['steps']:,.0f}" if x["steps"] else "-"
    seconds = f"{x['clock']:.0f} of {x['seconds']:.0f}" if x["clock"] else f"- of {x['seconds']:.0f}"
    goal = "-" if x["goal"] is None else f"{x['goal']:g}"
    return (x["env"].rpartition(":")[2], goal, reached, steps, seconds, ends)


def family_picture(found: list[dict[str, Any]]) -> Any:
    """Return a picture of all members on CartPole: return against steps and seconds, seconds to the goal by ranks."""
    seconds = by_ranks()
    panels = 3 if seconds else 2  # the third once it has been measured
    figure, axes = plt.subplots(1, panels, figsize=(1 + 5.5 * panels, 5), constrained_layout=True)
    members = [x["algorithm"] for x in found if x["env"] == CARTPOLE]
    colors, styles = plt.get_cmap("tab10").colors, ("-", "--")
    for i, name in enumerate(members):
        look = {"linestyle": styles[i // len(colors)], "color": colors[i % len(colors)], "label": name}
        times = {ranks: [s for s in each if s] for ranks, each in sorted(seconds.get(name, {}).items())}
        reached = {ranks: float(np.median(each)) for ranks, each in times.items() if each}
        if seconds:
            axes[2].plot(list(reached), list(reached.values()), "o", **look)
        runs = [read_json(path) for path in sorted((RESULTS / "family").glob(f"{name}_{CARTPOLE}_*.json"))]
        for axis, key, unit in ((axes[0], "curve", 1e3), (axes[1], "clock", 1.0)):
            points = [np.array(run[key]).T for run in runs]
            grid = np.linspace(max(x[0] for x, _ in points), min(x[-1] for x, _ in points), 200)
            middle = iqm(np.array([np.interp(grid, x, mean) for x, mean in points]), axis=0)
            axis.plot(grid / unit, middle, **look)
    axes[0].set(xlabel="thousand environment steps", ylabel=f"return on {CARTPOLE}, last 100 episodes", xscale="log")
    axes[1].set(xlabel="seconds", xscale="log")
    for axis in axes[:2]:
        axis.axhline(GOALS["a2c"][CARTPOLE] or 0, color="grey", linestyle=":")
    if seconds:
        axes[2].set(
            xlabel=f"ranks, on {cores()} cores", ylabel="seconds to the goal (median of the seeds that reach it)"
        )
        axes[2].set(xticks=sorted({n for each in seconds.values() for n in each}), yscale="log")
    for axis in axes:
        axis.grid(alpha=0.3)
    if members:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=9)
    return figure
