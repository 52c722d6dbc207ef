"""What all pictures of claims share: a panel for each task, an arm's colour, the author's grey points, one legend."""

from typing import Any

import numpy as np

from minitrpo.commands.plot import COLORS
from minitrpo.course.claims.claim import Claim, Runs
from minitrpo.reports.plots import GREY

HUES = COLORS[:5]  # grey is the author's
STYLES = ("-", "--", ":")
ORDERS = (  # of arms of which claims compare different ones
    ("1 rank", *(f"{n} ranks" for n in (2, 3, 4, 5, 8))),
    tuple(f"max-KL {limit}" for limit in ("0.001", "0.005", "0.01", "0.1", "1")),
)
MARKS = "os^Dv<>p*h"


def names(claim: Claim) -> list[str]:
    """Return the names of a claim's arms, each once."""
    return list(dict.fromkeys(arm.name for arm in claim.arms))


def look(claim: Claim, name: str) -> dict[str, Any]:
    """Return the colour and line of an arm."""
    number = next((order for order in ORDERS if name in order), names(claim)).index(name)
    return {"color": HUES[number % len(HUES)], "linestyle": STYLES[number // len(HUES) % len(STYLES)]}


def axes_of(figure: Any, panels: list[str]) -> dict[str, Any]:
    """Return a plain axis for each task, at most two beside each other."""
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    figure.set_size_inches(5.4 * across, 3.7 * down + 0.5)
    axes = {panel: figure.add_subplot(down, across, number) for number, panel in enumerate(panels, 1)}
    for axis in axes.values():
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
        axis.set_axisbelow(True)
    return axes


def tasks(runs: Runs) -> list[str]:
    """Return the tasks that runs are of."""
    return list(dict.fromkeys(env for _, env in runs))


def heights(axis: Any) -> None:
    """Let the lines decide how high the axis is: the interval of two seeds would press them flat."""
    lines = np.concatenate([line.get_ydata() for line in axis.get_lines()])
    low, high = np.nanmin(lines), np.nanmax(lines)
    bottom, top = axis.get_ylim()
    room = 0.3 * (high - low)
    axis.set_ylim(max(bottom, low - room), min(top, high + room))


def seeds(runs: Runs, env: str) -> str:
    """Return how many seeds a panel shows."""
    counts = sorted({len(found) for (_, task), found in runs.items() if task == env})
    return " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) + (" seed" if counts == [1] else " seeds")


def ghosts(axis: Any, claim: Claim, env: str, scale: float) -> None:
    """Draw the author's points, as far as the axis goes: grey, behind, each arm with its own line and mark."""
    right = axis.get_xlim()[1]
    for number, ghost in enumerate(claim.ghosts):
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
    look_of = {"frameon": False, "fontsize": 9, "ncols": across}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", **look_of)
