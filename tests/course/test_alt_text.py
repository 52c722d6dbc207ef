"""The alt text of a figure says what is in it: panels, axes, where curves begin and end; and it goes into notebooks."""

import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure

from minitrpo.course.alt_text import LINES, MOST, describe

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks"))
from build import KERNEL, execute, without_outputs

DRAWN = """
from matplotlib import pyplot as plt
from minitrpo.course.classroom import BLUE
plt.plot([0, 1, 2], [1, 5, 3], color=BLUE, label="ours")
plt.gca().set(xlabel="steps", ylabel="y")
plt.show()
"""


def test_a_curve_is_told_with_its_ends_and_its_range():
    axis = Figure().add_subplot()
    axis.plot([0, 1, 2], [1.0, 5.0, 3.0], label="ours")
    axis.plot([0, 2], [1.0, 2000.0], label="$x^2$")
    axis.set(xlabel="steps", ylabel="return", title="Reacher")
    assert describe(axis.figure) == (
        "Chart. Reacher: return against steps; ours from 1 to 3 (within 1 to 5); x^2 from 1 to 2,000."
    )


def test_panels_bars_pictures_and_what_has_no_number():
    figure = Figure()
    lying, standing, image, empty = figure.subplots(1, 4)
    lying.barh(["a", "b"], [3, 4])
    standing.bar([1, 2, 3], [5, 6, 7])
    image.imshow(np.eye(2))
    figure.suptitle("All")
    text = describe(figure)
    assert text.startswith("Chart of 3 panels, All. Panel 1: ")
    assert "2 bars of 3 to 4" in text
    assert "3 bars of 5 to 7" in text
    assert "1 picture" in text
    empty.plot([0, 1], [np.nan, np.inf], label="lost")
    assert "lost" in describe(figure)


def test_error_bars_and_a_label_that_a_neighbour_has():
    figure = Figure()
    above, below = figure.subplots(2, 1, sharex=True)
    above.errorbar([1, 2], [3.0, 4.0], [0.1, 0.1], label="measured")
    above.errorbar([1, 2], [3.0, 4.0], [0.1, 0.1], fmt="none", label="bars without a curve")
    below.plot([1, 2], [5.0, 5.0], label="flat")
    above.set_ylabel("seconds")
    below.set_xlabel("ranks")
    assert describe(figure) == (
        "Chart of 2 panels. Panel 1: seconds against ranks; measured from 3 to 4. Panel 2: ranks; flat at 5."
    )


def test_it_stays_short():
    figure = Figure()
    for axis in figure.subplots(4, 4).flat:
        for k in range(LINES + 3):
            axis.plot([0, 1], [k, k + 1], label=f"curve {k}")
    text = describe(figure)
    assert len(text) < MOST + 50
    assert "and 3 more" in text
    assert text.endswith("more of the kind.")


@pytest.mark.slow
def test_the_build_keeps_it_and_the_text_of_the_notebook_is_the_same():
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(DRAWN)], metadata={"kernelspec": KERNEL})
    before = without_outputs(made)
    execute(made)
    told = "Chart. y against steps; ours from 1 to 3 (within 1 to 5)."
    assert made.cells[0].outputs[-1].metadata == {"image/png": {"alt": told}}
    assert made.cells[0].metadata["mystnb"] == {"image": {"alt": told}}
    assert without_outputs(made) == before
