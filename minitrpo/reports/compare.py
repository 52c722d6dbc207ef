"""Several runs in one picture: seeds of one setting as a band, settings over each other, against steps and seconds."""

import io
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, dots, mean_of_last
from minitrpo.reports.statistics import half_interval
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.settings import MAY_CHANGE

EPISODES = 100  # over which a return is averaged
POINTS = 200  # of a band
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
LINES = ("-", "--", ":", "-.")
NO_SETTING = ("seed", *MAY_CHANGE, "eval_every", "eval_episodes", "record_every")  # of which curves are told apart
Curve = tuple[Array, Array, Array]  # environment steps, seconds, returns
Group = tuple[dict[str, Any], list[RunFolder]]


def compare(runs: list[RunFolder]) -> Any:
    """Return a matplotlib Figure of these runs: a line for each setting, a band for its seeds (95 %, Student's).

    The return is that of evaluations where all runs have some, else the mean over the last 100 episodes. BadInput if a
    folder is damaged. A notebook shows the picture.
    """
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            content = io.BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    evaluated = all(np.isfinite(run.columns().get("eval_return", np.zeros(0))).any() for run in runs)
    figure = Picture(figsize=(11, 4.5), layout="constrained", dpi=110)
    axes, grouped = figure.subplots(1, 2, sharey=True), groups(runs)
    for number, (label, (_, members)) in enumerate(zip(labels(grouped), grouped, strict=True)):
        style = {"color": COLORS[number % len(COLORS)], "linestyle": LINES[number // len(COLORS) % len(LINES)]}
        curves = [curve(run.columns(), evaluated) for run in members]
        many = f"{label} ({len(members)} seeds)" if len(members) > 1 else label
        for axis, against in zip(axes, (0, 1), strict=True):
            _draw(axis, [(c[against], c[2]) for c in curves], style, many)
    envs = sorted({settings["env"] for settings, _ in grouped})
    figure.suptitle(", ".join(envs))
    what = "return of the mean action, fresh episodes" if evaluated else f"return, mean of the last {EPISODES} episodes"
    axes[0].set(xlabel="environment steps", ylabel=what)
    axes[1].set(xlabel="seconds")
    for axis in axes:
        axis.grid(alpha=0.3)
    bands = any(len(members) > 1 for _, members in grouped)
    axes[0].legend(loc="best", title="thin: each seed; band: 95 % of their mean" if bands else None)
    return figure


def groups(runs: list[RunFolder]) -> list[Group]:
    """Return the runs by settings and ranks, in the order in which they come; BadInput for two of one seed."""
    found: list[Group] = []
    for run in runs:
        config = run.read_config()
        settings = {n: v for n, v in config["settings"].items() if n not in NO_SETTING}
        settings["ranks"] = config["provenance"].get("ranks", 1)  # seconds hang on them
        members = next((members for known, members in found if known == settings), None)
        if members is None:
            found.append((settings, [run]))
        else:
            members.append(run)
    for _, members in found:
        seeds = [run.read_config()["settings"]["seed"] for run in members]
        twice = next((i for i, seed in enumerate(seeds) if seed in seeds[:i]), None)
        if twice is not None:
            first = members[seeds.index(seeds[twice])].path
            raise BadInput(f"{members[twice].path} and {first} are runs of one seed and setting: leave one of them out")
    return found


def labels(grouped: list[Group]) -> list[str]:
    """Return a name for each group: its algorithm, and what tells it from the others of that algorithm."""
    several = len({settings["env"] for settings, _ in grouped}) > 1
    names = []
    for settings, _ in grouped:
        alike = [other for other, _ in grouped if other["algorithm"] == settings["algorithm"]]
        told = [n for n, v in settings.items() if any(other.get(n) != v for other in alike) and n != "env"]
        words = [settings["algorithm"], *([settings["env"]] if several else [])]
        names.append(", ".join([*words, *(f"{n.replace('_', ' ')} {settings[n]}" for n in told)]))
    return names


def curve(columns: dict[str, Array], evaluated: bool) -> Curve:
    """Return steps, seconds and returns of a run, where there is a return; `evaluated`: those of eval_return."""
    steps, seconds = columns["env_steps"], columns["time_s"]
    returns = (
        columns["eval_return"] if evaluated else mean_of_last(columns["mean_return"], columns["episodes"], EPISODES)
    )
    known = np.isfinite(returns)
    return steps[known], seconds[known], returns[known]


def band(curves: list[tuple[Array, Array]]) -> tuple[Array, Array, Array]:
    """Return x (K,), mean and half the 95 % interval of curves (x, y) over what all of them cover, perhaps nothing."""
    begin, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    x = np.linspace(begin, end, POINTS if end > begin else 0)
    y = np.array([np.interp(x, *one) for one in curves])
    return x, y.mean(axis=0), half_interval(y)


def _draw(axis: Any, curves: list[tuple[Array, Array]], style: dict[str, str], label: str) -> None:
    drawn = [one for one in curves if len(one[0])]
    if not drawn:
        axis.plot([], [], **style, label=f"{label}: no episode has ended yet")
        return
    if len(drawn) == 1:
        axis.plot(*drawn[0], **style, linewidth=2, label=label, **dots(drawn[0][0]))
        return
    for one in drawn:
        axis.plot(*one, **style, linewidth=0.7, alpha=0.35)
    x, mean, half = band(drawn)
    axis.plot(x, mean, **style, linewidth=2, label=label)
    axis.fill_between(x, mean - half, mean + half, color=style["color"], alpha=0.2, linewidth=0)
