"""Build the web page of the course, solved lectures, claims, glossary and how to begin, into site/; or slides.

    python notebooks/site/build.py             pages, into site/
    python notebooks/site/build.py --slides    a cell of a lecture is a slide, into slides/

Sphinx with myst-nb turns the executed solutions into pages; nothing is fetched while it works, nor when a page is read.
Sliders need a kernel: on the page stands the picture that they showed.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent
DOCS = NOTEBOOKS.parent / "docs"
WIDGET = "application/vnd.jupyter.widget-view+json"
BREAK = "```{revealjs-break}\n```"


def main() -> int:
    """Build; the exit code is Sphinx's, whose warnings are errors."""
    parser = argparse.ArgumentParser(description="Build the web page of the course, or its slides.")
    parser.add_argument("--slides", action="store_true", help="slides instead of pages")
    parser.add_argument("--out", type=Path, help="the folder to write (default: site, or slides)")
    args = parser.parse_args()
    out = args.out or NOTEBOOKS.parent / ("slides" if args.slides else "site")
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        source.mkdir()
        write_sources(source, slides if args.slides else page)
        shutil.copytree(HERE / "static", source / "static")
        shutil.copy(HERE / "conf.py", source / "conf.py")
        builder = "revealjs" if args.slides else "html"
        built = Path(folder) / "built" / builder  # the notebooks' tool leaves a folder of its own beside it
        code = sphinx(["-q", "-W", "--keep-going", "-b", builder, str(source), str(built)])
        shutil.copytree(built, out, dirs_exist_ok=True)
        return code


def write_sources(source: Path, change: Callable[[nbformat.NotebookNode], nbformat.NotebookNode]) -> None:
    """Write what Sphinx reads: a page for each lecture, the claims, the glossary, the first page."""
    lectures = sorted((NOTEBOOKS / "solutions").glob("[0-9]*.ipynb"))
    for path in lectures:
        nbformat.write(change(nbformat.read(path, as_version=4)), source / path.name)
    shutil.copy(NOTEBOOKS / "glossary.md", source / "glossary.md")
    shutil.copy(DOCS / "claims.md", source / "claims.md")
    shutil.copytree(DOCS / "claims", source / "claims")
    for path in (NOTEBOOKS / "figures").iterdir():
        shutil.copy(path, source / path.name)
    names = "\n".join([*(path.stem for path in lectures), "claims", "glossary"])
    first = (HERE / "index.md").read_text()
    (source / "index.md").write_text(first.replace("LECTURES", names))


def page(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a solution as it is to be read on a page."""
    states = notebook.metadata.pop("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [shown for output in cell.outputs for shown in still(output, states)]
        else:
            cell.source = linked(cell.source)
    return notebook


def slides(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a solution as slides: one for each heading, each long paragraph's end and each cell with code."""
    pages, cells = page(notebook), []
    for cell in pages.cells:
        if cell.cell_type == "markdown":
            cell.source = in_portions(cell.source)
        elif "hide-input" in cell.metadata.get("tags", []):
            cell.metadata["tags"] = ["remove-input"]
        if cells and not cell.source.startswith("#"):
            cells.append(nbformat.v4.new_markdown_cell(BREAK))
        cells.append(cell)
    pages.cells = cells
    return pages


def in_portions(text: str, words: int = 90) -> str:
    """Return a text with a break before the paragraph with which a slide would get too full."""
    kept, count, folded = [], 0, False
    for paragraph in text.split("\n\n"):
        if count and count + len(paragraph.split()) > words and not folded and not paragraph.startswith("#"):
            kept.append(BREAK)
            count = 0
        count = 0 if paragraph.startswith("#") else count + len(paragraph.split())
        folded = (folded or "<details" in paragraph) and "</details>" not in paragraph
        kept.append(paragraph)
    return "\n\n".join(kept)


def still(output: Any, states: dict[str, Any]) -> list[Any]:
    """Return what stands on a page for an output: for a widget, what its pictures show; nothing for its controls."""
    model = output.get("data", {}).get(WIDGET, {}).get("model_id")
    if model is None:
        return [output]
    found = []
    for name in within(model, states):
        for inner in states.get(name, {}).get("state", {}).get("outputs", []):
            found += still(nbformat.from_dict(inner), states)
    return found


def within(model: str, states: dict[str, Any]) -> list[str]:
    """Return the names of a widget and of all that it holds."""
    children = states.get(model, {}).get("state", {}).get("children", [])
    names = [child.removeprefix("IPY_MODEL_") for child in children]
    return [model, *(inner for name in names for inner in within(name, states))]


def linked(text: str) -> str:
    """Return a cell's text with links that hold on the page: to notebooks beside it and figures."""
    text = re.sub(r"\]\((?:\.\./)?(?:solutions/)?(\d\d[ab]?_\w+)\.ipynb", r"](\1.ipynb", text)
    return re.sub(r"\]\((?:\.\./)?figures/", "](", text)


if __name__ == "__main__":
    sys.exit(main())
