"""Draw the pictures of the pages on architecture and speed: python docs/draw.py.

The layers of architecture.png are FLOORS of tests/tools/lint.py, top first; speed.png shows the recorded runs of
`experiments/seconds.py`, and its title counts them.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from experiments.seconds import times_sooner  # noqa: E402
from experiments.speed import shown  # noqa: E402

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#8C8C8C"
FLOORS = (  # the packages of a layer, their colour, and what they are for
    (("mpi_scripts", "course"), GREY, "scripts for mpiexec; checks, grading and measurements for the course"),
    (("commands",), GREY, "train, evaluate, plot, watch, check ...; python_api.py: the same in Python"),
    (("reports",), GREY, "progress, pictures, evaluation, explanations"),
    (("training",), ORANGE, "the two training loops"),
    (("run_folder",), GREY, "settings, log and checkpoints on disk"),
    (("algorithms",), GREEN, "the interface of an algorithm; all algorithms"),
    (("experience",), ORANGE, "environments, rollouts, fragments, observation filter, random numbers"),
    (("supervision",), GREY, "watchdogs, signals, error reports"),
    (("parallel",), ORANGE, "messages, sums in a fixed order, the episode pool, a parameter server"),
    (
        ("step_noise", "trpo", "adaptive", "line_search", "conjugate_gradient", "natural_gradient", "policy_gradient"),
        BLUE,
        "",
    ),
    (("advantages", "critics", "optimisers", "policies", "perceptron", "block_sums"), BLUE, ""),
)
KEY = (  # where, which colour, what it is
    (0, BLUE, "mathematics, one module per lecture"),
    (38, GREEN, "algorithms"),
    (55, ORANGE, "training loop"),
    (76, GREY, "services"),
)


def architecture() -> None:
    """Write architecture.png."""
    figure, axis = plt.subplots(figsize=(11, 7), constrained_layout=True)
    for level, (rooms, color, text) in enumerate(FLOORS):
        y, x = -float(level), 0.0
        letters = sum(len(room) + 3 for room in rooms)
        for room in rooms:
            width = 100 * ((len(room) + 3) / letters) if not text else 100.0
            draw(axis, x, y, width, color)
            size = 10 if text else 8.5
            name = " + ".join(rooms) if text else room
            axis.text(x + 1.5, y, name, va="center", family="monospace", weight="bold", size=size)
            if text:
                axis.text(27, y, text, va="center", size=10.5)
                break
            x += width
    for x, color, text in KEY:
        draw(axis, x, -len(FLOORS) - 0.1, 2.2, color, 0.35)
        axis.text(x + 3, -len(FLOORS) - 0.1, text, va="center", size=9.5)
    axis.annotate("", (103, -len(FLOORS) + 0.6), (103, 0.4), arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 2})
    axis.text(104.5, -5.5, "imports only from layers below", rotation=270, va="center", size=10, color="#555555")
    axis.set(xlim=(-1, 107), ylim=(-len(FLOORS) - 0.6, 0.6))
    axis.axis("off")
    figure.savefig(HERE / "architecture.png", dpi=110)


# What a rank does in an iteration, from left to right: begin, end, colour, text
OF_ROOT = (
    (0, 9, GREY, "plan"),
    (12, 38, ORANGE, "play episodes"),
    (46, 57, ORANGE, "sort by\nnumber"),
    (60, 72, BLUE, "advantages"),
    (72.5, 84, BLUE, "TRPO step"),
    (84.5, 93, BLUE, "critic"),
    (93.5, 100, GREY, "log"),
)
OF_OTHERS = ((12, 33, ORANGE, "play episodes"), (12, 41, ORANGE, "play episodes"), (12, 36, ORANGE, "play episodes"))
TRAVELS = ((9, 12, "theta, filter,\nhow much to play"), (41, 46, "steps,\nby episode"))


def iteration() -> None:
    """Write iteration.png: what four ranks do in one iteration, and what travels between them."""
    figure, axis = plt.subplots(figsize=(11, 4.4), constrained_layout=True)
    for rank, boxes in enumerate((OF_ROOT, *([box] for box in OF_OTHERS))):
        axis.text(-1.5, -rank, f"rank {rank}", ha="right", va="center", size=11, weight="bold")
        for begin, end, color, text in boxes:
            draw(axis, begin, -rank, end - begin, color, 0.6)
            axis.text((begin + end) / 2, -rank, text, ha="center", va="center", size=9.5)
    for rank, (_, end, _, _) in enumerate(OF_OTHERS, start=1):
        axis.plot([end, 41], [-rank, -rank], color=GREY, linestyle=":", linewidth=1.5)  # it waits
        arrow = {"arrowstyle": "-|>", "color": GREEN, "linewidth": 1.6}
        axis.annotate("", (12, -rank + 0.3), (9, -0.05), arrowprops=arrow)
        axis.annotate("", (46, -0.05), (41, -rank), arrowprops=arrow)
    axis.plot([38, 46], [0, 0], color=GREY, linestyle=":", linewidth=1.5)
    for begin, end, text in TRAVELS:
        axis.text((begin + end) / 2, 0.42, text, ha="center", va="bottom", size=9.5, color=GREEN)
    for begin, end, text in ((9, 12, "broadcast"), (41, 46, "gather")):
        axis.text((begin + end) / 2, -3.55, text, ha="center", va="top", size=11, color=GREEN, weight="bold")
    axis.text(73, -1.7, "With --learner sharded rank 0 broadcasts the sorted steps, and the", size=9.5, ha="center")
    axis.text(
        73, -2.0, "other ranks compute parts of the step or fit the critic at the same time.", size=9.5, ha="center"
    )
    axis.text(73, -2.5, "dotted: a rank waits for the slowest one", size=9.5, ha="center", color="#555555")
    axis.set(xlim=(-8, 101), ylim=(-4, 1.1))
    axis.axis("off")
    figure.savefig(HERE / "iteration.png", dpi=110)


def draw(axis: plt.Axes, x: float, y: float, width: float, color: str, height: float = 0.78) -> None:
    """Draw a box."""
    shape = FancyBboxPatch(
        (x + 0.4, y - height / 2), width - 0.8, height, boxstyle="round,pad=0,rounding_size=0.6",
        facecolor=color + "26", edgecolor=color, linewidth=1.6, mutation_aspect=0.1,
    )  # fmt: skip
    axis.add_patch(shape)


def speed() -> None:
    """Write speed.png: how many times sooner sb3-contrib's final return is reached, a dot for each environment."""
    times = {env: times_sooner(of) for env, of in shown().items()}
    names = sorted(times, key=times.__getitem__)
    figure, axis = plt.subplots(figsize=(9, 4.2), constrained_layout=True)
    for row, name in enumerate(names):
        axis.plot([1, times[name]], [row, row], color=BLUE, linewidth=2.5)
        axis.plot(times[name], row, "o", color=BLUE, markersize=9)
        plate = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axis.text(times[name] * 1.1, row, f"{times[name]:.{int(times[name] < 10)}f}", va="center", size=12, bbox=plate)
    middle = float(np.median(list(times.values())))
    axis.axvline(middle, color=GREY, linestyle="--", linewidth=1)
    axis.text(middle * 1.04, -0.75, f"median {middle:.1f}", color="#555555", size=11, va="center")
    axis.set_yticks(range(len(names)), names, size=12)
    axis.set_xscale("log")
    marks = (1, 2, 5, 10, 20, 50, 100)
    axis.set_xticks(marks, [f"{mark}" for mark in marks], size=11)
    axis.minorticks_off()
    axis.set(xlim=(1, 110), ylim=(-1.2, len(names) - 0.4))
    axis.set_xlabel("minitrpo reaches sb3-contrib's final return this many times sooner", size=12)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(f"Sooner by the clock: {middle:.1f} times in the median of {len(times)} environments", size=13)
    figure.savefig(HERE / "speed.png", dpi=110)


if __name__ == "__main__":
    architecture()
    iteration()
    speed()
