"""The family's table, for the README, and its picture: all members on one task."""

from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.family import CARTPOLE, GOALS, RESULTS
from benchmarks.record import read_json
from benchmarks.summaries import iqm
from benchmarks.tables import table
from minitrpo.algorithms.registry import ALGORITHMS, load


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
    """Return a picture of all members on CartPole: the seeds' middle return against steps and seconds."""
    figure, axes = plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True, sharey=True)
    members = [x["algorithm"] for x in found if x["env"] == CARTPOLE]
    colors, styles = plt.get_cmap("tab10").colors, ("-", "--")
    for i, name in enumerate(members):
        runs = [read_json(path) for path in sorted((RESULTS / "family").glob(f"{name}_{CARTPOLE}_*.json"))]
        for axis, key, unit in ((axes[0], "curve", 1e3), (axes[1], "clock", 1.0)):
            points = [np.array(run[key]).T for run in runs]
            grid = np.linspace(max(x[0] for x, _ in points), min(x[-1] for x, _ in points), 200)
            middle = iqm(np.array([np.interp(grid, x, mean) for x, mean in points]), axis=0)
            axis.plot(grid / unit, middle, styles[i // len(colors)], color=colors[i % len(colors)], label=name)
    axes[0].set(xlabel="thousand environment steps", ylabel=f"return on {CARTPOLE}, last 100 episodes", xscale="log")
    axes[1].set(xlabel="seconds", xscale="log")
    for axis in axes:
        axis.axhline(GOALS["a2c"][CARTPOLE] or 0, color="grey", linestyle=":")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8, ncols=2)
    return figure
