"""Draw the way of the course, figures/course_map.png, from the tables of README.md: python notebooks/course_map.py."""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#8C8C8C"
ROWS = (  # what the row is about, its colour, and its lectures of the course
    ("one step", BLUE, ("00", "01", "02", "03", "04")),
    ("learning", GREEN, ("05a", "05b", "05c")),
    ("many processes", ORANGE, ("06", "07a", "07b", "08")),
    ("adapting", PURPLE, ("09a",)),
)
WIDTH, HEIGHT, COLUMNS = 1.9, 1.0, 5  # of a box and its gap; electives in a row


class Lecture(NamedTuple):
    """A row of the tables of README.md."""

    number: str
    title: str
    needs: str
    elective: bool


def lectures() -> list[Lecture]:
    """Return the lectures of the tables of README.md, in their order."""
    course, electives = (HERE / "README.md").read_text("utf-8").split("## Electives")
    row = re.compile(r"^\| \[(\w+) ([^\]]*)\]\([^)]*\) \| [^|]* \| [^|]* \| ([^|]*) \|", re.MULTILINE)
    return [
        Lecture(number, title, needs, part is electives)
        for part in (course, electives)
        for number, title, needs in row.findall(part)
    ]


def box(axis: plt.Axes, x: float, y: float, lecture: Lecture, color: str) -> None:
    """Draw the box of a lecture: filled if it belongs to the course, white with its needs if it is an elective."""
    face = "white" if lecture.elective else color + "33"
    shape = "round,pad=0,rounding_size=0.06"
    axis.add_patch(FancyBboxPatch((x, y), 1.66, 0.8, boxstyle=shape, facecolor=face, edgecolor=color, linewidth=1.5))
    title = textwrap.fill(lecture.title, 17)
    axis.text(x + 0.07, y + 0.69, lecture.number, size=9, weight="bold", va="top")
    axis.text(x + 0.5, y + 0.69, title, size=6.6, va="top", linespacing=1.05)
    if lecture.elective:
        axis.text(x + 0.07, y + 0.07, f"needs {lecture.needs}", size=7, va="bottom", color="#555555")


def main() -> None:
    """Draw the rows of the course with arrows from lecture to lecture, and the electives below."""
    known = {lecture.number: lecture for lecture in lectures()}
    electives = [lecture for lecture in known.values() if lecture.elective]
    bottom = len(ROWS) + -(-len(electives) // COLUMNS)
    figure, axis = plt.subplots(figsize=(10.5, 0.92 * bottom + 0.5))
    arrow = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4}
    for level, (name, color, numbers) in enumerate(ROWS):
        y = -HEIGHT * level
        axis.text(-0.1, y + 0.4, textwrap.fill(name, 10), ha="right", va="center", color="#333333", size=10)
        for column, number in enumerate(numbers):
            box(axis, WIDTH * column, y, known[number], color)
            if column:
                axis.annotate("", (WIDTH * column, y + 0.4), (WIDTH * column - 0.24, y + 0.4), arrowprops=arrow)
        if level:
            axis.annotate("", (0.8, y + 0.8), (0.8, y + 1.0), arrowprops=arrow)
    axis.axhline(-HEIGHT * len(ROWS) + 0.9, color=GREY, linewidth=0.8, linestyle=":")
    for place, lecture in enumerate(electives):
        level, column = divmod(place, COLUMNS)
        box(axis, WIDTH * column, -HEIGHT * (len(ROWS) + level) - 0.05, lecture, GREY)
    axis.text(-0.1, -HEIGHT * len(ROWS) + 0.35, "electives", ha="right", va="center", color="#333333", size=10)
    axis.set(xlim=(-0.95, WIDTH * COLUMNS), ylim=(-HEIGHT * (bottom - 1) - 0.15, 0.9))
    axis.axis("off")
    figure.savefig(HERE / "figures" / "course_map.png", dpi=110, bbox_inches="tight", pad_inches=0.05)


if __name__ == "__main__":
    main()
