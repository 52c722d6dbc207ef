"""Pictures of the results."""

from collections import defaultdict
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, RED

COLORS = (BLUE, GREEN, ORANGE, RED)


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
