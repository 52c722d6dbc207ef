"""Draw docs/house.png: python docs/draw_house.py. The floors are those of tests/tools/lint.py, the top one first."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#8C8C8C"
FLOORS = (  # the rooms of a floor, their colour, and what they are for
    (("mpi_scripts", "course"), GREY, "what a class types, and what only a class needs: checks, grading, speed-up"),
    (("commands",), GREY, "train, evaluate, plot, watch, check ...; library.py: the same from Python"),
    (("reports",), GREY, "progress, the picture of a run, its policy and how good it is"),
    (("training",), ORANGE, "the two loops, and all that a reader of them reads"),
    (("run_folder",), GREY, "settings, log and checkpoints on disk"),
    (("contract",), GREEN, "what a user's class must keep"),
    (("algorithms",), GREEN, "what an algorithm is; the members of the family"),
    (("experience",), ORANGE, "how a policy meets the world: environments, rollouts, fragments, filter"),
    (("supervision",), GREY, "that every job ends, and says why"),
    (("parallel",), ORANGE, "ranks, messages, sums in a fixed order, the pool, a parameter server"),
    (
        ("noise", "trpo", "adaptive", "line_search", "conjugate_gradient", "natural_gradient", "policy_gradient"),
        BLUE,
        "",
    ),
    (
        ("returns", "critics", "optimisers", "log_probability", "policies", "acting", "perceptron", "block_sums"),
        BLUE,
        "",
    ),
)
KEY = (  # where, which colour, what it is
    (0, BLUE, "the mathematics, a module a lecture"),
    (36, GREEN, "the family"),
    (52, ORANGE, "the loop and what it plays on"),
    (83, GREY, "what serves them"),
)


def main() -> None:
    """Write the picture."""
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
    axis.text(104.5, -5.5, "imports point down, never up", rotation=270, va="center", size=10, color="#555555")
    axis.set(xlim=(-1, 107), ylim=(-len(FLOORS) - 0.6, 0.6))
    axis.axis("off")
    figure.savefig(Path(__file__).parent / "house.png", dpi=110)


def draw(axis: plt.Axes, x: float, y: float, width: float, color: str, height: float = 0.78) -> None:
    """Draw a room."""
    shape = FancyBboxPatch(
        (x + 0.4, y - height / 2), width - 0.8, height, boxstyle="round,pad=0,rounding_size=0.6",
        facecolor=color + "26", edgecolor=color, linewidth=1.6, mutation_aspect=0.1,
    )  # fmt: skip
    axis.add_patch(shape)


if __name__ == "__main__":
    main()
