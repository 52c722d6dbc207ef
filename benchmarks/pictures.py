"""Pictures of the results."""

from collections import defaultdict
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from experiments.returns import OURS
from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, RED

COLORS = (BLUE, GREEN, ORANGE, RED)


def limit(result: dict[str, Any]) -> Any:
    """Return a picture of collecting beside open-loop physics."""
    lines = result["lines"]
    env_ids = list(dict.fromkeys(x["environment"] for x in lines))
    widths = sorted({x["envs"] for x in lines})
    thick = 0.8 / len(widths)
    figure, axis = plt.subplots(figsize=(9, 5), constrained_layout=True)
    for i, (width, color) in enumerate(zip(widths, cycle(COLORS))):
        of_width = [x for x in lines if x["envs"] == width]
        places = [env_ids.index(x["environment"]) + (i - (len(widths) - 1) / 2) * thick for x in of_width]
        axis.barh(places, [x["ratio"] for x in of_width], height=thick, color=color, label=f"{width} slots")
    axis.axvline(1, color=GREY, linestyle="--")
    axis.set(yticks=range(len(env_ids)), yticklabels=env_ids, xlim=(0, 1.05))
    axis.set_xlabel("collecting, as a fraction of the same physics open-loop (1 rank, 1 thread)")
    axis.invert_yaxis()
    figure.legend(loc="outside upper right", ncols=len(widths))
    return figure


def whole(result: dict[str, Any]) -> Any:
    """Return a picture of a whole run beside its physics."""
    [run] = result["lines"]
    figure, axis = plt.subplots(figsize=(9, 1.8), constrained_layout=True)
    bars = axis.barh(["physics alone", "whole run"], [run["physics_s"], run["run_s"]], color=[GREY, BLUE])
    axis.bar_label(bars, fmt=" %.1f s")
    axis.set_xlabel(f"seconds for {run['steps']:,} steps of {run['environment']}, all cores")
    axis.invert_yaxis()
    return figure


def scaling(result: dict[str, Any]) -> Any:
    """Return a picture of speed-up against ranks, a panel per environment."""
    envs = list(dict.fromkeys(x["env"] for x in result["lines"]))
    figure, axes = plt.subplots(1, len(envs), figsize=(5.5 * len(envs), 4.4), constrained_layout=True, squeeze=False)
    for axis, env in zip(axes[0], envs, strict=True):
        _speedups(axis, [x for x in result["lines"] if x["env"] == env], result["cores"])
        axis.set_title(env)
    return figure


def _speedups(axis: Any, lines: list[dict[str, Any]], cores: int) -> None:
    """Draw the speed-ups of one environment: a curve for every learner and pool."""
    curves = defaultdict(list)
    for x in lines:
        if x["separate"]:
            axis.axhline(x["speedup"], linestyle="-.", color=GREY, label=f"{x['ranks']} separate runs")
        else:
            curves[x["learner"], x["pool"]].append((x["ranks"], x["speedup"], *x["interval"]))
    for ((learner, pool), points), color, style in zip(curves.items(), cycle(COLORS), cycle(("o-", "s--"))):
        ranks, speed, low, high = np.array(points).T
        bars, label = np.clip([speed - low, high - speed], 0, None), f"{learner} learner, {pool} pool"
        axis.errorbar(ranks, speed, bars, fmt=style, color=color, capsize=3, label=label)
    ranks = np.unique([x["ranks"] for x in lines])
    axis.plot(ranks, np.minimum(ranks, cores), ":", color=GREY, label=f"ideal on {cores} cores")
    axis.set(xlabel="ranks", ylabel="whole iteration, times 1 rank", xscale="log", ylim=(0, None))
    axis.set_xticks(ranks, [f"{n}" for n in ranks], minor=False)
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)


def as_typed(result: dict[str, Any]) -> Any:
    """Return a picture of the seconds that whole commands take."""
    lines = result["lines"]
    figure, axis = plt.subplots(figsize=(9, 3), constrained_layout=True)
    bars = axis.barh(
        [f"{x['env']}, {x['system']}" for x in lines],
        [x["seconds"] for x in lines],
        color=[BLUE if x["system"] == OURS else ORANGE for x in lines],
    )
    axis.bar_label(bars, [f" {x['seconds']:.1f} s, return {x['return']:.1f}" for x in lines])
    axis.set_xlabel(f"seconds of the whole command, {lines[0]['steps']:,} steps")
    axis.margins(x=0.25)
    axis.invert_yaxis()
    return figure
