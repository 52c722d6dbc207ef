"""Figures that a reader moves without a kernel: a slider's positions as pictures, switched by an HTML range input.

They stand where one slider says it all. The lecture's own cells run up to that slider, then its own function draws each
position; a picture is loaded when it is looked at for the first time. Without scripts the first one stands.
"""

import contextlib
import hashlib
import io
import re
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets
import matplotlib
import nbformat
import numpy as np
from IPython.core.inputtransformer2 import TransformerManager
from matplotlib import pyplot as plt

from minitrpo.course.alt_text import describe

SLIDERS = {  # lecture: the function whose slider it is, what the slider is called on the page
    "02_natural_gradient": ("show_region", "log10 of the limit on the KL"),
    "03_conjugate_gradient": ("show_valley", "ratio of the two eigenvalues"),
    "05a_advantages": ("draw_lambdas", "how right the critic is"),
}
WIDGET = "application/vnd.jupyter.widget-view+json"
MOST = 13  # positions
SCRIPT = """(box => {
  const range = box.querySelector("input"), pictures = box.querySelectorAll("img"), shown = box.querySelector("output");
  range.addEventListener("input", () => {
    pictures.forEach((picture, place) => { picture.hidden = place != range.value; });
    shown.value = pictures[range.value].dataset.value;
    range.setAttribute("aria-valuetext", shown.value);
  });
})(document.currentScript.parentElement);"""


class Reached(Exception):
    """The slider that was looked for; what it draws with, and the slider itself."""


def frames(stem: str, notebook: Any, folder: Path) -> str:
    """Write the pictures of a lecture's slider into a folder that pages call _static; return the HTML around them."""
    function, name, slider = reached(stem, notebook)
    values = positions(slider)
    first = int(np.abs(values - slider.value).argmin())
    pictures = [drawn(function, name, float(value), folder) for value in values]
    images = "".join(
        f'<img src="_static/{place}" alt="{escape(alt)}" data-value="{value:g}" loading="lazy" {size}'
        f"{' hidden' * (number != first)}>"
        for number, (value, (place, alt, size)) in enumerate(zip(values, pictures, strict=True))
    )
    label = escape(SLIDERS[stem][1])
    control = f'<input type="range" min="0" max="{len(values) - 1}" value="{first}" aria-valuetext="{values[first]:g}">'
    shown = f"<output>{values[first]:g}</output>"
    return f'<div class="frames"><label>{label} {control} {shown}</label>{images}<script>{SCRIPT}</script></div>'


def positions(slider: Any) -> Any:
    """Return at most MOST of a slider's positions, evenly spaced, both ends among them."""
    count = round((slider.max - slider.min) / slider.step) + 1
    return np.linspace(
        slider.min, slider.max, next(n for n in range(min(MOST, count), 1, -1) if (count - 1) % (n - 1) == 0)
    )


def reached(stem: str, notebook: Any) -> tuple[Any, str, Any]:
    """Run a lecture up to its slider; return the function, the name of its argument and the slider."""
    wanted = SLIDERS[stem][0]

    def interact(function: Any, **sliders: Any) -> None:
        if function.__name__ == wanted:
            raise Reached(function, *next(iter(sliders.items())))

    names: dict[str, Any] = {"__name__": "__main__"}
    before, ipywidgets.interact = ipywidgets.interact, interact
    matplotlib.use("agg")
    try:
        with contextlib.chdir(Path(__file__).parents[1]), contextlib.redirect_stdout(io.StringIO()):
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    text = TransformerManager().transform_cell(cell.source)
                    exec(compile(text, stem, "exec"), names)  # noqa: S102 - our own lecture
                    plt.close("all")
    except Reached as found:
        return found.args  # type: ignore[return-value]
    finally:
        ipywidgets.interact = before
    raise ValueError(f"{stem} has no slider for {wanted}")


def drawn(function: Any, name: str, value: float, folder: Path) -> tuple[str, str, str]:
    """Draw one position; return where the picture is, its alt text and its size as HTML has it."""
    plt.close("all")
    function(**{name: value})
    figure, data = plt.gcf(), io.BytesIO()
    figure.savefig(data, format="webp", bbox_inches="tight", pil_kwargs={"lossless": True, "quality": 40, "method": 4})
    width, height = plt.imread(data, format="webp").shape[1::-1]
    place = f"frames/{hashlib.sha256(data.getvalue()).hexdigest()[:16]}.webp"
    (folder / "frames").mkdir(exist_ok=True)
    (folder / place).write_bytes(data.getvalue())
    return place, describe(figure), f'width="{width}" height="{height}"'


def moved(notebook: Any, html: str, wanted: str) -> None:
    """Put this HTML where a lecture's slider for a function stands, and say no more that it needs a kernel."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and re.search(rf"interact\(\s*{wanted}\b", cell.source):
            others = [output for output in cell.outputs if WIDGET not in output.get("data", {})]
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": html}), *others]
        cell.source = re.sub(r" \((?:the slider|it)\s+needs a\s+running kernel[^)]*\)", "", cell.source)
