"""Build the web page of the course, or its slides: for students, with nothing solved, or with all answers.

    python notebooks/site/build.py                      pages, into site/
    python notebooks/site/build.py --slides             slides, into slides/
    python notebooks/site/build.py --answers            the same for the lecturer, into site-with-answers/
    python notebooks/site/build.py --slides --answers   and into slides-with-answers/

Students get exercises without their bodies, predictions open, and each measurement folded behind "predict first".
Sphinx with myst-nb turns the executed solutions into pages; nothing is fetched while it works, nor when a page is read.
Sliders need a kernel: on the page stands the picture that they showed.
"""

import argparse
import re
import shutil
import sys
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
SLIDE = 130  # words on a slide
PREDICT = "Predict first; then look at what was measured"
DOWNLOAD = (
    "{{download}}`Download this lecture as a notebook <notebooks/{name}>`, for JupyterLab in a clone of the course."
)
WITHOUT = "These pages leave the exercises open and fold the measurements away, so that you can predict first."
WITH = "These are the pages for lecturers: every exercise is solved, and every measurement stands open."


def main() -> int:
    """Build; the exit code is Sphinx's, whose warnings are errors."""
    parser = argparse.ArgumentParser(description="Build the web page of the course, or its slides.")
    parser.add_argument("--slides", action="store_true", help="slides instead of pages")
    parser.add_argument("--answers", action="store_true", help="for the lecturer: exercises solved, nothing folded")
    parser.add_argument("--out", type=Path, help="the folder to write (default: site or slides, -with-answers)")
    args = parser.parse_args()
    name = ("slides" if args.slides else "site") + "-with-answers" * args.answers
    out = args.out or NOTEBOOKS.parent / name
    with TemporaryDirectory() as folder:
        source, built = Path(folder) / "source", Path(folder) / "built" / "pages"  # myst-nb leaves a folder beside it
        source.mkdir()
        write_sources(source, args.slides, args.answers)
        shutil.copytree(HERE / "static", source / "static")
        shutil.copy(NOTEBOOKS / "recorded" / "01_before_after.mp4", source / "static")
        shutil.copy(HERE / "conf.py", source / "conf.py")
        builder, leftovers = ("revealjs" if args.slides else "html"), Path(folder) / "doctrees"
        code = sphinx(["-q", "-W", "--keep-going", "-b", builder, "-d", str(leftovers), str(source), str(built)])
        (built / ".buildinfo").unlink(missing_ok=True)
        shutil.rmtree(built / "_sources", ignore_errors=True)  # empty
        for deck in built.glob("*.html") if args.slides else ():
            deck.write_text(closed(deck.read_text("utf-8")), "utf-8")
        shutil.copytree(built, out, dirs_exist_ok=True)
        return code


def closed(deck: str) -> str:
    """Return a deck whose last slides are closed, too: sphinx-revealjs leaves that to the browser."""
    slides, end, rest = deck.rpartition("\n        </div>\n    </div>")
    return slides + "</section>\n" * (deck.count("<section") - deck.count("</section")) + end + rest


def write_sources(source: Path, as_slides: bool, answers: bool) -> None:
    """Write what Sphinx reads: a page for each lecture, the claims, the glossary, the first page, and downloads."""
    lectures = sorted((NOTEBOOKS / "solutions").glob("[0-9]*.ipynb"))
    (source / "notebooks").mkdir()
    for path in lectures:
        notebook = nbformat.read(path, as_version=4)
        if not answers:
            notebook = unsolved(notebook, nbformat.read(NOTEBOOKS / path.name, as_version=4))
        notebook = slides(notebook) if as_slides else page(notebook)
        if not as_slides:
            notebook.cells.insert(1, nbformat.v4.new_markdown_cell(DOWNLOAD.format(name=path.name)))
        nbformat.write(notebook, source / path.name)
        shutil.copy((NOTEBOOKS / "solutions" if answers else NOTEBOOKS) / path.name, source / "notebooks" / path.name)
    shutil.copy(NOTEBOOKS / "glossary.md", source / "glossary.md")
    shutil.copy(DOCS / "claims.md", source / "claims.md")
    shutil.copytree(DOCS / "claims", source / "claims")
    for path in (NOTEBOOKS / "figures").iterdir():
        shutil.copy(path, source / path.name)
    names = "\n".join([*(path.stem for path in lectures), "claims", "glossary"])
    first = (HERE / "index.md").read_text().replace("ANSWERS", WITH if answers else WITHOUT)
    first = first.replace("PLAN", plan_of((NOTEBOOKS / "README.md").read_text()))
    (source / "index.md").write_text(first.replace("LECTURES", names))


def plan_of(readme: str) -> str:
    """Return the table of the course's own page, lecture by lecture, without its last column, the seconds of a run."""
    rows = [
        line for line in readme.splitlines() if re.match(r"\| (lecture |\[\d\d|-|--)", line) or line.startswith("|---")
    ]
    return "\n".join(linked(row.rstrip("|").rpartition("|")[0] + "|") for row in rows)


def unsolved(solved: nbformat.NotebookNode, student: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a lecture as students have it, with what was measured folded away and their answers still to be given."""
    cells = [cell for cell in solved.cells if "solution" not in cell.metadata]
    for cell, theirs in zip(cells, student.cells, strict=True):
        cell.source = theirs.source
        if "check" in cell.metadata:
            cell.outputs = []
        elif cell.cell_type == "code" and re.search(r"\b(reveal|compare|compare_mean)\(", cell.source):
            for output in cell.outputs:
                if "text" in output:
                    output.text = re.sub(r"you predicted:? [^\n]*?(, measured|\. What)", unguessed, output.text)
            tags = [*cell.metadata.get("tags", []), "hide-output"]
            cell.metadata.update(tags=tags, mystnb={"code_prompt_show": PREDICT, "code_prompt_hide": "Hide {type}"})
    solved.cells = cells
    return solved


def unguessed(found: re.Match[str]) -> str:
    """Return "measured" or "What happened" without the guess that stands before it."""
    return found[1].lstrip(",. ")


def page(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a lecture as it is to be read on a page."""
    states = notebook.metadata.pop("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    next(cell for cell in notebook.cells if cell.cell_type == "code").metadata["tags"] = ["hide-input"]  # imports
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [shown for output in cell.outputs for shown in still(output, states)]
        else:
            cell.source = linked(cell.source)
    return notebook


def slides(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a lecture as slides: one for each heading, and a new one wherever the last is full.

    What only a reader needs is left out: imports, checks, code that draws, and the offers of help.
    """
    pages, cells, full = page(notebook), [], 0
    for number, cell in enumerate(pages.cells):
        if cell.cell_type == "markdown":
            cell.source, full = in_portions(re.sub(r"^Stuck\?.*?(\n\n|\Z)", "", cell.source, flags=re.DOTALL), full)
        else:
            if number == 1 or "check" in cell.metadata:
                continue
            if "hide-input" in cell.metadata.get("tags", []):
                cell.metadata["tags"] = ["remove-input", *(t for t in cell.metadata["tags"] if t == "hide-output")]
                if not cell.outputs:
                    continue
            size = weight(cell)
            if full and full + size > SLIDE:
                cells.append(nbformat.v4.new_markdown_cell(BREAK))
                full = 0
            full += size
        cells.append(cell)
    pages.cells = [cell for cell in cells if cell.source.strip() or cell.get("outputs")]
    return pages


def weight(cell: nbformat.NotebookNode) -> int:
    """Return how much of a slide a cell with code takes, in words."""
    code = 0 if "remove-input" in cell.metadata.get("tags", []) else 6 * len(cell.source.splitlines())
    return code + sum(70 if "data" in output else 8 * len(output.text.splitlines()) for output in cell.outputs)


def in_portions(text: str, full: int) -> tuple[str, int]:
    """Return a text with a break before each paragraph with which a slide would get too full, and how full the last is.

    Nothing is broken within a box or an answer that is folded: what HTML opens on a slide it closes there.
    """
    kept, depth = [], 0
    for paragraph in text.split("\n\n"):
        words = len(paragraph.split())
        begins = depth == 0 and (full + words > SLIDE or paragraph.startswith("<details"))
        if paragraph.startswith("#"):
            full = 0
        elif full and begins:
            kept.append(BREAK)
            full = 0
        depth += len(re.findall(r"<(?:div|details)\b", paragraph)) - len(re.findall(r"</(?:div|details)>", paragraph))
        full += words
        kept.append(paragraph)
    return "\n\n".join(kept), full


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
