"""The picture of the rules: learning curves from a right and from a bad start, and scores from all five starts."""

from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import EngFormatter

from benchmarks.rules import FIXED, MARGIN, NOISE, STARTS, STEPS, Recorded
from benchmarks.rules_report import Scores, complete, normalised, over_environments
from minitrpo.commands.plot import COLORS
from minitrpo.course.statistics import mean_interval
from minitrpo.reports.trained import half_interval

LOOKS = {FIXED: COLORS[0], MARGIN: COLORS[1], NOISE: COLORS[2]}
BAD = (10, 1)
STYLES = {STARTS[0]: "-", BAD: ":"}
WORDS = {
    (1, 1): "as by default",
    (10, 1): "steps x 10",
    (0.1, 1): "steps x 0.1",
    (1, 10): "max-KL x 10",
    (1, 0.1): "max-KL x 0.1",
}


def rules_picture(found: Recorded) -> Any:
    """Return a figure of what is complete: a panel of curves for each environment, and one of the scores."""
    found = complete(found)
    names = list(dict.fromkeys(env for env, _, _ in found))
    across = min(4, len(names))
    down = -(-len(names) // across)
    figure = plt.figure(figsize=(16, 4 + 4 * down), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(down, 1))
    panels: Any = above.subplots(down, across, squeeze=False)
    for axis in panels.flat[len(names) :]:
        axis.axis("off")
    for axis, env in zip(panels.flat, names, strict=False):
        for start, style in STYLES.items():
            for rule, color in LOOKS.items():
                curve(axis, list(found[env, rule, start].values()), STEPS[env], color, style)
        axis.set_title(f"{env}, {len(found[env, FIXED, STARTS[0]])} seeds", loc="left", fontsize=12)
        plain(axis)
    for axis in panels[:, 0]:
        axis.set_ylabel("mean training return")
    for axis in panels[-1]:
        axis.set_xlabel("environment steps")
    scores_of_starts(below.subplots(), normalised(found))
    return figure


def curve(axis: Any, runs: list[dict[str, Any]], steps: int, color: str, style: str) -> None:
    """Draw the mean of some runs with its 95 % interval."""
    x = np.linspace(0, steps, 200)
    each = np.array([np.interp(x, *np.transpose(run["curve"])) for run in runs])
    there = x >= max(run["curve"][0][0] for run in runs)
    mean, half = each.mean(axis=0)[there], half_interval(each)[there]
    axis.plot(x[there], mean, style, color=color, linewidth=2)
    if style == "-":
        axis.fill_between(x[there], mean - half, mean + half, color=color, alpha=0.15, linewidth=0)


def plain(axis: Any) -> None:
    """Take what says nothing off an axis."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)
    axis.xaxis.set_major_formatter(EngFormatter())


def scores_of_starts(axis: Any, scores: Scores) -> None:
    """Draw the mean score over environments from every start, its interval over seeds, and a dot for each of them."""
    for shift, (rule, color) in zip((-0.25, 0.0, 0.25), LOOKS.items(), strict=True):
        for place, start in enumerate(STARTS):
            each = [of_env[rule, start] for of_env in scores.values()]
            together = over_environments(each)
            middle = mean_interval(together)
            axis.bar(place + shift, middle.middle, 0.22, color=color, alpha=0.55, label=rule if not place else None)
            if len(together) > 1:
                axis.errorbar(place + shift, middle.middle, middle.high - middle.middle, color="black", capsize=4)
            axis.plot(np.full(len(each), place + shift), [np.mean(values) for values in each], "k.", markersize=5)
    axis.set_xticks(range(len(STARTS)), [f"started {WORDS[start]}" for start in STARTS])
    axis.set(ylabel="normalised score", ylim=(min(0.0, axis.get_ylim()[0]), None))
    axis.set_title(
        "bars: mean over environments, 95 % interval over seeds; dots: environments", loc="left", fontsize=12
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.25)
    axis.plot([], [], "-", color="black", label="above: started as by default")
    axis.plot([], [], STYLES[BAD], color="black", label="above: started with ten times the steps/update")
    axis.legend(frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.1))
