"""Figures that a reader moves without a kernel: a slider's positions as pictures, switched by an HTML range input.

They stand where one slider says it all. Of the lecture runs what that slider needs, then its own function draws each
position; a picture is loaded when it is looked at for the first time. Without scripts the first one stands.
"""

import ast
import contextlib
import hashlib
import io
import re
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.course.alt_text import describe

SLIDERS = {  # lecture: the function whose slider it is, what the slider is called on the page
    "02_natural_gradient": ("show_region", "log10 of the limit on the KL"),
    "03_conjugate_gradient": ("show_valley", "ratio of the two eigenvalues"),
    "05a_advantages": ("draw_lambdas", "how right the critic is"),
}
SOURCES = Path(__file__).parents[1] / "source"
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


def frames(notebook: Path, folder: Path) -> str:
    """Write the pictures of a lecture's slider into a folder that pages call _static; return the HTML around them."""
    matplotlib.use("agg")
    function, name, slider = reached(SOURCES / f"{notebook.stem}.py", SLIDERS[notebook.stem][0])
    values = positions(slider)
    first = int(np.abs(values - slider.value).argmin())
    pictures = [drawn(function, name, float(value), folder) for value in values]
    images = "".join(
        f'<img src="_static/{place}" alt="{escape(alt)}" data-value="{value:g}" loading="lazy" {size}'
        f"{' hidden' * (number != first)}>"
        for number, (value, (place, alt, size)) in enumerate(zip(values, pictures, strict=True))
    )
    label = escape(SLIDERS[notebook.stem][1])
    control = f'<input type="range" min="0" max="{len(values) - 1}" value="{first}" aria-valuetext="{values[first]:g}">'
    shown = f"<output>{values[first]:g}</output>"
    return f'<div class="frames"><label>{label} {control} {shown}</label>{images}<script>{SCRIPT}</script></div>'


def positions(slider: Any) -> Any:
    """Return at most MOST of a slider's positions, as evenly spaced as its step allows, both ends among them."""
    count = round((slider.max - slider.min) / slider.step) + 1
    even = next(n for n in range(min(MOST, count), 1, -1) if (count - 1) % (n - 1) == 0)
    if even > MOST // 2 or even == count:
        return np.linspace(slider.min, slider.max, even)
    return slider.min + slider.step * np.round(np.linspace(0, count - 1, MOST))


def reached(source: Path, function: str) -> tuple[Any, str, Any]:
    """Return the function of a lecture's slider, the name of its argument and the slider."""
    calls = [node for node in ast.walk(parsed(source)) if isinstance(node, ast.Call) and node.args]
    call = next(each for each in calls if ast.unparse(each.func).endswith("interact") and called(each) == function)
    control = call.keywords[0]
    names = {node.id for node in ast.walk(control) if isinstance(node, ast.Name)}
    space = what_it_needs(source, {function, *names})
    return space[function], str(control.arg), eval(ast.unparse(control.value), space)  # noqa: S307


def called(call: ast.Call) -> str:
    """Return the first argument of a call, as it is written."""
    return ast.unparse(call.args[0])


def parsed(source: Path) -> ast.Module:
    """Return the code of a lecture, without the lines that IPython alone knows."""
    return ast.parse(re.sub(r"^[%!].*", "", source.read_text("utf-8"), flags=re.MULTILINE))


def what_it_needs(source: Path, names: set[str], **given: Any) -> dict[str, Any]:
    """Run of a lecture what these names need, and return all that it made; `given` stands for what was measured."""
    wanted, needed, space = set(names), list[ast.stmt](), dict(given)
    for part in reversed(parsed(source).body):
        found = [node for node in ast.walk(part) if isinstance(node, ast.Name)]
        stored = {node.id for node in found if isinstance(node.ctx, ast.Store)}
        filled = (node.value for node in ast.walk(part) if isinstance(node, ast.Subscript))
        stored |= {node.id for node in filled if isinstance(part, ast.For) and isinstance(node, ast.Name)}
        within = stored if isinstance(part, ast.FunctionDef) else set()  # its local names
        made = (stored - within) | {getattr(part, "name", None)}
        made |= {alias.asname or alias.name for alias in getattr(part, "names", ())}
        if made & wanted - given.keys():
            wanted |= {node.id for node in found} - within
            needed.insert(0, part)
    with contextlib.chdir(source.parent.parent), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(ast.Module(needed, []), source.stem, "exec"), space)  # noqa: S102 - our own lecture
    return space


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
