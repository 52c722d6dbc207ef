"""Draw several runs in one picture, return against steps and against seconds; seeds of one setting become a band."""

import os
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput
from minitrpo.experience.evaluation import half_interval
from minitrpo.policies import Array
from minitrpo.reports import plots
from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, dots, mean_of_last
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.program import command
from minitrpo.training.settings import MAY_CHANGE

KINDS = (".png", ".pdf", ".svg")
EPISODES = 100  # over which a return is averaged
POINTS = 200  # of a band
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
LINES = ("-", "--", ":", "-.")
NO_SETTING = ("seed", *MAY_CHANGE, "eval_every", "eval_episodes", "record_every")  # runs that differ here share a curve
Curve = tuple[Array, Array, Array]  # environment steps, seconds, returns


@command("plot")
def main(name: str, words: list[str]) -> int:
    """Write the picture and print where it is."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder, or a folder of run folders")
    parser.add_argument("--out", metavar="FILE", help="the picture (default: comparison.png, or the next free name)")
    args = parser.parse_args(words)
    folders: list[RunFolder] = []
    for path in args.runs:
        inside = sorted(config.parent for config in Path(path).glob("**/config.json"))
        is_run = (Path(path) / "config.json").exists() or not inside
        folders += [RunFolder.open(str(folder)) for folder in ([path] if is_run else inside)]
    names = chain(["comparison.png"], (f"comparison_{number}.png" for number in count(2)))
    out = Path(args.out or next(free for free in names if not os.path.lexists(free)))
    if out.suffix not in KINDS:
        raise BadInput(f"--out {out} must end in {', '.join(KINDS)}")
    content = compare(folders).encoded(out.suffix[1:])
    try:
        write_atomically(out, content)
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror}") from error
    print(out)
    return 0


def compare(runs: list[RunFolder]) -> Any:
    """Return a matplotlib Figure of these runs: a line for each setting, a band for its seeds (95 %, Student's).

    The return is that of evaluations where all runs have some, else the mean over the last 100 episodes. BadInput if a
    folder is damaged. A notebook shows the picture.
    """
    evaluated = all(np.isfinite(run.columns().get("eval_return", np.zeros(0))).any() for run in runs)
    figure, grouped = plots.picture(11, 4.5), groups(runs)
    axes = figure.subplots(1, 2, sharey=True)
    for number, (label, (_, members)) in enumerate(zip(labels(grouped), grouped, strict=True)):
        style = {"color": COLORS[number % len(COLORS)], "linestyle": LINES[number // len(COLORS) % len(LINES)]}
        curves = [curve(run.columns(), evaluated) for run in members]
        many = f"{label} ({len(members)} seeds)" if len(members) > 1 else label
        for axis, against in zip(axes, (0, 1), strict=True):
            _draw(axis, [(c[against], c[2]) for c in curves if len(c[2])], style, many)
    figure.suptitle(", ".join(sorted({settings["env"] for settings, _ in grouped})))
    what = "return of the mean action, fresh episodes" if evaluated else f"return, mean of the last {EPISODES} episodes"
    axes[0].set(xlabel="environment steps", ylabel=what)
    axes[1].set(xlabel="seconds")
    for axis in axes:
        axis.grid(alpha=0.3)
    bands = len(grouped) < len(runs)
    axes[0].legend(loc="best", title="thin lines: seeds; band: 95 % interval of their mean" if bands else None)
    return figure


def groups(runs: list[RunFolder]) -> list[tuple[dict[str, Any], list[RunFolder]]]:
    """Return the runs by settings and ranks, in the order in which they come; BadInput for two of one seed."""
    found: list[tuple[dict[str, Any], dict[int, RunFolder]]] = []
    for run in runs:
        config = run.read_config()
        settings = {n: v for n, v in config["settings"].items() if n not in NO_SETTING}
        settings["ranks"] = config["provenance"].get("ranks", 1)  # seconds hang on them
        seed, seeds = config["settings"]["seed"], next((seeds for known, seeds in found if known == settings), {})
        if not seeds:
            found.append((settings, seeds))
        if seed in seeds:
            raise BadInput(f"{run.path} and {seeds[seed].path} have the same seed and settings: leave one of them out")
        seeds[seed] = run
    return [(settings, list(seeds.values())) for settings, seeds in found]


def labels(grouped: list[tuple[dict[str, Any], list[RunFolder]]]) -> list[str]:
    """Return a name for each group: its algorithm, and how its settings differ from other groups of that algorithm."""
    several = len({settings["env"] for settings, _ in grouped}) > 1
    names = []
    for settings, _ in grouped:
        alike = [other for other, _ in grouped if other["algorithm"] == settings["algorithm"]]
        differing = [n for n, v in settings.items() if any(other.get(n) != v for other in alike) and n != "env"]
        words = [settings["algorithm"], *([settings["env"]] if several else [])]
        names.append(", ".join([*words, *(f"{n.replace('_', ' ')} {settings[n]}" for n in differing)]))
    return names


def curve(columns: dict[str, Array], evaluated: bool) -> Curve:
    """Return steps, seconds and returns of a run, where there is a return; `evaluated`: those of eval_return."""
    rows = columns["eval_return"] if evaluated else mean_of_last(columns["mean_return"], columns["episodes"], EPISODES)
    known = np.isfinite(rows)
    return columns["env_steps"][known], columns["time_s"][known], rows[known]


def band(curves: list[tuple[Array, Array]]) -> tuple[Array, Array, Array]:
    """Return x (K,), mean and half the 95 % interval of curves (x, y) over what all of them cover, perhaps nothing."""
    begin, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    x = np.linspace(begin, end, POINTS if end > begin else 0)
    y = np.array([np.interp(x, *one) for one in curves])
    return x, y.mean(axis=0), half_interval(y)


def _draw(axis: Any, curves: list[tuple[Array, Array]], style: dict[str, str], label: str) -> None:
    if not curves:
        axis.plot([], [], **style, label=f"{label}: no episode has ended yet")
    elif len(curves) == 1:
        axis.plot(*curves[0], **style, linewidth=2, label=label, **dots(curves[0][0]))
    else:
        for one in curves:
            axis.plot(*one, **style, linewidth=0.7, alpha=0.35)
        x, mean, half = band(curves)
        axis.plot(x, mean, **style, linewidth=2, label=label)
        axis.fill_between(x, mean - half, mean + half, color=style["color"], alpha=0.2, linewidth=0)
