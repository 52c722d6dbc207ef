"""Build the web page of the course, or its slides: for students, with nothing solved, or with all answers.

    python notebooks/site/build.py                      pages, into site/
    python notebooks/site/build.py --slides             slides, into slides/
    python notebooks/site/build.py --answers            the same for the lecturer, into site-with-answers/
    python notebooks/site/build.py --slides --answers   and into slides-with-answers/

Slides have the first sentence of a long paragraph, what it asks and what it stresses; the whole of it stands in the
speaker's notes (the key S). A lecture has 25 to 40 of them, a short one 18; a solution is folded until it is clicked.
Students get exercises without their bodies, predictions open, and each measurement folded behind "predict first".
Lectures are made of their sources and of what their executed solutions show: no other notebook is read. Sphinx with
myst-nb turns them into pages; nothing is fetched while it works, nor when a page is read.
Sliders need a kernel: on the page stands the picture that they showed, or all of their positions (frames.py).
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent
sys.path[:0] = [str(NOTEBOOKS), str(HERE), str(NOTEBOOKS.parent)]
import build as course  # noqa: E402
from frames import SLIDERS, WIDGET, frames, moved  # noqa: E402

from experiments.claims import CLAIMS  # noqa: E402
from experiments.harness import FULL  # noqa: E402
from experiments.pictures import draw  # noqa: E402

ROOT = NOTEBOOKS.parent
DOCS = ROOT / "docs"
BREAK = "```{revealjs-break}\n```"
NOTES = "```{revealjs-notes}"
ROOM = (130, 150, 170, 190, 210, 230)  # words on a slide: the first that gives few enough
MOST = 38  # slides of a lecture
PICTURE = 70  # words that take as much of a slide as a picture
LONG = 25  # words of a paragraph that is shown whole
PREDICT = "Predict first; then look at what was measured"
SOLUTION = "Show one solution, that of the package"
DOWNLOAD = (
    "{{download}}`Download this lecture as a notebook <notebooks/{name}>`, for JupyterLab in a clone of the course."
)
LAUNCH = """ Or open it in [Binder](https://mybinder.org/v2/gh/{path}/HEAD?urlpath=lab/tree/notebooks/{name}), or in \
[Colab](https://colab.research.google.com/github/{path}/blob/HEAD/notebooks/{name}) with a first cell \
`%pip install -q "minitrpo[course] @ git+https://github.com/{path}"`."""
WITHOUT = "These pages leave the exercises open and fold the measurements away, so that you can predict first."
WITH = "These are the pages for lecturers: every exercise is solved, and every measurement stands open."


def main() -> int:
    """Build; the exit code is Sphinx's, whose warnings are errors."""
    parser = argparse.ArgumentParser(description="Build the web page of the course, or its slides.")
    parser.add_argument("--slides", action="store_true", help="slides instead of pages")
    parser.add_argument("--answers", action="store_true", help="for the lecturer: exercises solved, nothing folded")
    parser.add_argument("--out", type=Path, help="the folder to write (default: site or slides, -with-answers)")
    parser.add_argument("--repository", default=public_address(), help="public address (default: see docs/install.md)")
    args = parser.parse_args()
    if args.repository and not is_public(args.repository):
        parser.error(f"--repository {args.repository} is no public address, such as https://github.com/OWNER/minitrpo")
    name = ("slides" if args.slides else "site") + "-with-answers" * args.answers
    out = args.out or ROOT / name
    with TemporaryDirectory() as folder:
        source, built = Path(folder) / "source", Path(folder) / "built" / "pages"  # myst-nb leaves a folder beside it
        source.mkdir()
        shutil.copytree(HERE / "static", source / "static")
        write_sources(source, args.slides, args.answers, args.repository)
        shutil.copy(NOTEBOOKS / "recorded" / "01_before_after.mp4", source / "static")
        shutil.copy(HERE / "conf.py", source / "conf.py")
        builder, leftovers = ("revealjs" if args.slides else "html"), Path(folder) / "doctrees"
        code = sphinx(["-q", "-W", "--keep-going", "-b", builder, "-d", str(leftovers), str(source), str(built)])
        (built / ".buildinfo").unlink(missing_ok=True)
        shutil.rmtree(built / "_sources", ignore_errors=True)  # empty
        slimmed(built)
        for deck in built.glob("*.html") if args.slides else ():
            deck.write_text(closed(deck.read_text("utf-8")), "utf-8")
        shutil.copytree(built, out, dirs_exist_ok=True)
        return code


def closed(deck: str) -> str:
    """Return a deck whose last slides are closed, too: sphinx-revealjs leaves that to the browser."""
    slides, end, rest = deck.rpartition("\n        </div>\n    </div>")
    return slides + "</section>\n" * (deck.count("<section") - deck.count("</section")) + end + rest


def write_sources(source: Path, as_slides: bool, answers: bool, repository: str) -> None:
    """Write what Sphinx reads: a page for each lecture, the claims, the glossary, the first page, and downloads.

    repository: its public address, to which pages link; "" if it has none.
    """
    on_github = repository.partition("https://github.com/")[2]
    lectures = sorted(course.SOURCES.glob("[0-9]*.py"))
    (source / "notebooks").mkdir()
    for path in lectures:
        name, notebook = f"{path.stem}.ipynb", executed(path)
        nbformat.write(notebook if answers else course.student(path), source / "notebooks" / name)
        slider = "" if as_slides or path.stem not in SLIDERS else frames(path, source / "static")
        if not answers:
            notebook = unsolved(notebook, course.student(path))
        if slider:
            moved(notebook, slider, SLIDERS[path.stem][0])
        notebook = slides(notebook) if as_slides else page(notebook)
        if not as_slides:
            offer = DOWNLOAD.format(name=name) + (LAUNCH.format(name=name, path=on_github) if on_github else "")
            notebook.cells.insert(1, nbformat.v4.new_markdown_cell(offer))
        nbformat.write(notebook, source / name)
    shutil.copy(NOTEBOOKS / "glossary.md", source / "glossary.md")
    place = re.compile(r"\]\(\S*claims_details.md(#\w+)?\)")
    page_of_claims = place.sub(lambda found: f"]({found[1] or '#f1'})", (DOCS / "claims.md").read_text())
    claim_by_claim = (ROOT / "experiments/claims_details.md").read_text().partition("<!-- claims_details -->")[2]
    (source / "claims.md").write_text(with_pictures(page_of_claims + claim_by_claim, source / "claims"))
    for path in (NOTEBOOKS / "figures").iterdir():
        shutil.copy(path, source / path.name)
    names = "\n".join([*(path.stem for path in lectures), "claims", "glossary"])
    first = (HERE / "index.md").read_text().replace("ANSWERS", WITH if answers else WITHOUT)
    first = first.replace("PLAN", plan_of((NOTEBOOKS / "README.md").read_text()))
    code = f"**The code**, with everything on these pages: [{repository}]({repository})." if repository else ""
    first = first.replace("REPOSITORY", code)
    (source / "index.md").write_text(first.replace("LECTURES", names))


def with_pictures(text: str, folder: Path) -> str:
    """Return the page of claims with the picture of each, drawn into a folder."""
    for name, claim in CLAIMS.items():
        if runs := claim.runs():
            picture = f"![{claim.title}]({folder.name}/{draw(claim, FULL, runs, folder).name})"
            text = text.replace(f"## {name}\n", f"## {name}\n\n{picture}\n")
    return text


def executed(source: Path) -> nbformat.NotebookNode:
    """Return a lecture solved, as its source says, with what its solution showed when it was executed."""
    notebook, path = course.solution(source), course.solution_path(source)
    there = course.on_disk(path) or nbformat.v4.new_notebook()
    shown = {cell.id: cell for cell in there.cells if cell.get("execution_count")}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source:
            if cell.id not in shown or shown[cell.id].source != cell.source:
                number = source.stem.partition("_")[0]
                print(
                    f"build.py: {path.name} has changed since its solution: make notebooks ARGS={number}",
                    file=sys.stderr,
                )
                raise SystemExit(course.REFUSED)
            cell.update(shown[cell.id])
    notebook.metadata.update(there.metadata)
    return notebook


def public_address() -> str:
    """Return the repository's address that pyproject.toml names, else a public origin; "" without one."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    asked = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    found = [url for name, url in urls.items() if name.lower() in ("repository", "source", "homepage")]
    if not found and shutil.which("git"):
        found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    return next((url.removesuffix(".git") for url in found if is_public(url)), "")


def is_public(url: str) -> bool:
    """Return whether an address may stand on a page: http(s), a host with a public name, no port and nobody's word."""
    within = ("local", "lan", "internal", "home", "localdomain", "invalid", "test")
    found = re.fullmatch(r"https?://(?:[a-z0-9-]+\.)+([a-z]{2,})/[\w./~-]+", url, re.IGNORECASE)
    return found is not None and found[1].lower() not in within


def slimmed(built: Path) -> None:
    """Leave of the theme's 2,000 icons, over a megabyte on every page, those that a page or a script names."""
    icons = built / "_static" / "scripts" / "fontawesome.js"
    if icons.exists():
        scripts = [path for path in built.rglob("_static/scripts/*.js") if path != icons]
        texts = [path.read_text("utf-8") for path in (*built.glob("*.html"), *scripts)]
        used = {name for text in texts for name in re.findall(r"\bfa-([a-z0-9-]+)", text)}
        entry = r'"?([\w-]+)"?:\[\d+,\d+,\[[^\]]*\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?'
        text = re.sub(entry, lambda found: found[0] if found[1] in used else "", icons.read_text("utf-8"))
        icons.write_text(text, "utf-8")


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
    """Return a lecture as slides, fuller ones where there would be more than a class sees in its time."""
    for room in ROOM:
        deck = filled(deepcopy(notebook), room)
        texts = [cell.source for cell in deck.cells if cell.cell_type == "markdown"]
        if sum(len(re.findall(rf"^#+ |^{re.escape(BREAK)}", text, re.MULTILINE)) for text in texts) <= MOST:
            break
    return deck


def filled(notebook: nbformat.NotebookNode, room: int) -> nbformat.NotebookNode:
    """Return a lecture as slides: one for each heading, and a new one wherever the last has more than `room` words.

    What only a reader needs is left out: imports, checks, code that draws, offers of help, and most of long paragraphs.
    """
    pages, cells, full = page(notebook), [], 0
    for number, cell in enumerate(pages.cells):
        if cell.cell_type == "markdown":
            boxed = "exercise-banner" in cell.metadata.get("tags", [])  # the code has its steps, too
            help_offered = r"^(Stuck\?|\d+\. ).*?(\n\n|\Z)" if boxed else r"^Stuck\?.*?(\n\n|\Z)"
            text = re.sub(help_offered, "", cell.source, flags=re.DOTALL | re.MULTILINE * boxed)
            cell.source, full = in_portions(digest(text), full, room)
        else:
            if number == 1 or "check" in cell.metadata:
                continue
            if "exercise" in cell.metadata and "raise NotImplementedError(" not in cell.source:
                cell.metadata.update(tags=["hide-input"], mystnb={"code_prompt_show": SOLUTION})
            elif "hide-input" in cell.metadata.get("tags", []):
                cell.metadata["tags"] = ["remove-input", *(t for t in cell.metadata["tags"] if t == "hide-output")]
                if not cell.outputs:
                    continue
            size = weight(cell)
            if full and full + size > room:
                cells.append(nbformat.v4.new_markdown_cell(BREAK))
                full = 0
            full += size
        cells.append(cell)
    pages.cells = [cell for cell in cells if cell.source.strip() or cell.get("outputs")]
    return pages


def weight(cell: nbformat.NotebookNode) -> int:
    """Return how much of a slide a cell with code takes, in words."""
    code = 0 if "remove-input" in cell.metadata.get("tags", []) else 6 * len(cell.source.splitlines())
    return code + sum(PICTURE if "data" in output else 8 * len(output.text.splitlines()) for output in cell.outputs)


def in_portions(text: str, full: int, room: int) -> tuple[str, int]:
    """Return a text with a break before each paragraph with which a slide would get too full, and how full the last is.

    Nothing is broken within a box or an answer that is folded, which takes no room: what HTML opens on a slide it
    closes there.
    """
    kept, depth = [], 0
    for paragraph in text.split("\n\n"):
        words = 0 if depth or paragraph.startswith((NOTES, "<details")) else len(paragraph.split())
        words = PICTURE if paragraph.startswith(("![", "<img")) else words
        if paragraph.startswith("#"):
            full = 0
        elif full and depth == 0 and full + words > room:
            kept.append(BREAK)
            full = 0
        depth += opened(paragraph)
        full += words
        kept.append(paragraph)
    return "\n\n".join(kept), full


def opened(paragraph: str) -> int:
    """Return how many more boxes and folded answers a paragraph opens than it closes."""
    return len(re.findall(r"<(?:div|details)\b", paragraph)) - len(re.findall(r"</(?:div|details)>", paragraph))


def digest(text: str) -> str:
    """Return a text whose long paragraphs say what is shown to a room; all of it stands in the speaker's notes (S)."""
    kept, depth = [], 0
    for paragraph in text.split("\n\n"):
        short = paragraph if depth or not re.match(r"[\w\"$(`*]", paragraph) else gist(paragraph)
        depth += opened(paragraph)
        kept.append(short)
        if short != paragraph:
            kept.append(f"{NOTES}\n{paragraph}\n```")
    return "\n\n".join(kept)


def gist(paragraph: str) -> str:
    """Return the sentences of a long paragraph that begin it, ask, stress a word, or lead to what comes next."""
    hidden = re.sub(r"\$[^$]*\$|`[^`]*`|\([^()]*\)", lambda found: "_" * len(found[0]), paragraph)
    ends = [0, *(found.end() for found in re.finditer(r"[.?!]\*{0,2}\s+(?=[A-Z\"*_])", hidden)), len(paragraph)]
    sentences = [paragraph[start:end].rstrip() for start, end in pairwise(ends)]
    if len(paragraph.split()) <= LONG or re.match(r"\d+\.\s|[*-]\s", paragraph) or "$$" in paragraph:
        return paragraph
    marks = ("?", "**")
    shown = [s for n, s in enumerate(sentences) if n == 0 or any(mark in s for mark in marks) or s.endswith(":")]
    whole = all(s.count(sign) % 2 == 0 for s in sentences for sign in ("**", "`", "$"))
    return " ".join(shown) if whole else paragraph


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
    """Return a text with links that hold on the page: to notebooks beside it and figures; of others their words."""
    text = re.sub(r"\]\((?:\.\./)?(?:solutions/)?(\d\d[ab]?_\w+)\.ipynb", r"](\1.ipynb", text)
    text = re.sub(r"\]\(\.\./docs/claims\.md", "](claims.md", text)
    text = re.sub(r"\[([^\]]+)\]\(\.\./(?!figures/)[^)]+\)", r"\1", text)  # in the repository alone
    return re.sub(r"\]\((?:\.\./)?figures/", "](", text)


if __name__ == "__main__":
    sys.exit(main())
