"""Build the site (course, pages, reference, search) or the slides: for students without answers, or with all of them.

    python notebooks/site/build.py                      the site, into site/
    python notebooks/site/build.py --slides             slides of the lectures, into slides/
    python notebooks/site/build.py --answers            the same for the lecturer, into site-with-answers/
    python notebooks/site/build.py --slides --answers   and into slides-with-answers/

The site has every lecture, every page that links lead to from README.md (pages.py), and a reference of what is public
(reference.py). Students get exercises without their bodies, predictions open, and each measurement folded behind
"predict first", and of notebooks/teaching what has no answers; lecturers get all of it.
Slides have the first sentence of a long paragraph, what it asks and what it stresses; the whole of it stands in the
speaker's notes (the key S). A lecture has 25 to 40 of them, a short one 18; a solution is folded until it is clicked.
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

import imageio.v3 as imageio
import nbformat
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parents[1])]
import build as course  # noqa: E402
import reference  # noqa: E402
from frames import SLIDERS, WIDGET, frames, moved  # noqa: E402
from pages import FRONT, NOTEBOOKS, ROOT, TEACHING, Site, linked, mentioned, names_of, written  # noqa: E402

from experiments.claims import CLAIMS  # noqa: E402
from experiments.harness import FULL  # noqa: E402
from experiments.pictures import draw  # noqa: E402

BREAK = "```{revealjs-break}\n```"
NOTES = "```{revealjs-notes}"
ROOM = (130, 150, 170, 190, 210, 230)  # words on a slide: the first that gives few enough
MOST = 38  # slides of a lecture
POSTER = 37  # the frame of the film that stands before it is played
PICTURE = 70  # words that take as much of a slide as a picture
LONG = 25  # words of a paragraph that is shown whole
PREDICT = "Predict first, then open {type}"  # conf.py names the two folds
SOLUTION = "Show one solution, that of the package"
DOWNLOAD = (
    "{{download}}`Download this lecture as a notebook <notebooks/{name}>`, for JupyterLab in a clone of the course."
)
LAUNCH = """ Or open it in [Binder](https://mybinder.org/v2/gh/{path}/HEAD?urlpath=lab/tree/notebooks/{name}), or in \
[Colab](https://colab.research.google.com/github/{path}/blob/HEAD/notebooks/{name}) with a first cell \
`%pip install -q "minitrpo[course] @ git+https://github.com/{path}"`."""
TO_WRITE = re.compile(r"raise NotImplementedError\(|^ *\.\.\.$", re.MULTILINE)  # in an exercise that is not solved
WITHOUT = "The exercises are not solved. What was measured is folded away, so that you can predict it first."
WITH = "This is the site for lecturers: every exercise is solved, and every measurement is shown."
INDEX = """TITLE

<figure class="film">
<video src="_static/01_before_after.mp4" poster="_static/01_before_after.webp" preload="none" controls muted loop
playsinline aria-label="HalfCheetah, twice. Left, before learning: it stands almost still.
Right, after a million steps: it runs."></video>
<figcaption><span>HalfCheetah before learning</span><span>after a million steps</span></figcaption>
</figure>

README

## On this site

ANSWERS The side of every page lists the lectures, the pages and the {doc}`API reference <reference>`. The search
(`Ctrl` + `K`) finds words in all of them."""
TREE = "```{{toctree}}\n:caption: {caption}\n:maxdepth: 1\n:hidden:\n\n{pages}\n```"


def main() -> int:
    """Build; the exit code is Sphinx's, whose warnings are errors."""
    parser = argparse.ArgumentParser(description="Build the site, or the slides of the lectures.")
    parser.add_argument("--slides", action="store_true", help="slides instead of the site")
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
        film = shutil.copy(NOTEBOOKS / "recorded" / "01_before_after.mp4", source / "static")
        imageio.imwrite(source / "static" / "01_before_after.webp", imageio.imread(film, index=POSTER))
        shutil.copy(HERE / "conf.py", source / "conf.py")
        builder, leftovers = ("revealjs" if args.slides else "html"), Path(folder) / "doctrees"
        words = ["-q", "-W", "--keep-going", "-b", builder, "-d", str(leftovers)]
        if args.repository and not args.slides:
            options = (f"repository_url={args.repository}", "use_repository_button=1")
            words += [word for option in options for word in ("-D", f"html_theme_options.{option}")]
        code = sphinx([*words, str(source), str(built)])
        (built / ".buildinfo").unlink(missing_ok=True)
        shutil.rmtree(built / "_sources", ignore_errors=True)  # empty
        slimmed(built)
        for deck in built.glob("*.html") if args.slides else ():
            deck.write_text(closed(deck.read_text("utf-8")), "utf-8")
        if not args.out:
            shutil.rmtree(out, ignore_errors=True)  # pages of other lectures
        shutil.copytree(built, out, dirs_exist_ok=True)
        return code


def closed(deck: str) -> str:
    """Return a deck whose last slides are closed, too: sphinx-revealjs leaves that to the browser."""
    slides, end, rest = deck.rpartition("\n        </div>\n    </div>")
    return slides + "</section>\n" * (deck.count("<section") - deck.count("</section")) + end + rest


def write_sources(source: Path, as_slides: bool, answers: bool, repository: str) -> None:
    """Write what Sphinx reads: the lectures, the pages, the reference, the first page, and downloads.

    repository: its public address, to which pages link; "" if it has none.
    """
    on_github = repository.partition("https://github.com/")[2]
    lectures = sorted(course.SOURCES.glob("[0-9]*.py"))
    names = names_of(lectures, answers)
    if as_slides:
        names = {path: name for path, name in names.items() if path in lectures or name in ("claims", "glossary")}
    site = Site(names, {} if as_slides else reference.places(), repository, source)
    (source / "notebooks").mkdir()
    for path in lectures:
        name, notebook = f"{path.stem}.ipynb", executed(path)
        nbformat.write(notebook if answers else course.student(path), source / "notebooks" / name)
        slider = "" if as_slides or path.stem not in SLIDERS else frames(path, source / "static")
        if not answers:
            notebook = unsolved(notebook, course.student(path))
        if slider:
            moved(notebook, slider, SLIDERS[path.stem][0])
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = linked(cell.source, NOTEBOOKS / name, site)
                cell.source = cell.source if as_slides else mentioned(cell.source, path, site)
        notebook = slides(notebook) if as_slides else page(notebook)
        if not as_slides:
            offer = DOWNLOAD.format(name=name) + (LAUNCH.format(name=name, path=on_github) if on_github else "")
            notebook.cells.insert(1, nbformat.v4.new_markdown_cell(offer))
        nbformat.write(notebook, source / name)
    for path in names.keys() - {*lectures, FRONT}:
        text = with_pictures(written(path, site), source / "claims")
        (source / f"{names[path]}.md").write_text(text, "utf-8")
    if as_slides:
        first, more = "\n".join(["# minitrpo: slides", "", *(f"- [](<{path.stem}.ipynb>)" for path in lectures)]), []
    else:
        reference.write(source)
        first, more = INDEX, ["reference"]
        first = first.replace("ANSWERS", WITH if answers else WITHOUT)
        title, says, rest = linked(FRONT.read_text("utf-8"), FRONT, site).split("\n\n", 2)
        first = first.replace("TITLE", f"{title}\n\n{says}").replace("README", mentioned(rest, FRONT, site), 1)
    listed = groups(names, lectures, more)
    trees = [TREE.format(caption=caption, pages="\n".join(pages)) for caption, pages in listed.items()]
    (source / "index.md").write_text("\n\n".join([first, *trees]) + "\n", "utf-8")


def groups(names: dict[Path, str], lectures: list[Path], more: list[str]) -> dict[str, list[str]]:
    """Return {caption: names of pages}, as the side of every page lists them."""
    first = [NOTEBOOKS / "README.md", *lectures]
    more_of_it = [path for path in names if path.parent == NOTEBOOKS and path.suffix == ".md" and path not in first]
    course_own = [*first, *more_of_it]
    docs = [path for path in names if path.parent == ROOT / "docs"]
    teaching = [path for path in names if path.parent == TEACHING]
    rest = [path for path in names if path not in {FRONT, *course_own, *docs, *teaching}]
    files = [path for path in rest if path.suffix != ".md"]
    rest = [path for path in rest if path.suffix == ".md"]
    listed = {"Course": course_own, "Pages": docs, "For lecturers": teaching, "Experiments and changes": rest}
    listed |= {"Programs and licences": files}
    found = {caption: [names[path] for path in paths if path in names] for caption, paths in listed.items()}
    found = {"Course": found.pop("Course"), "Reference": more} | found
    return {caption: pages for caption, pages in found.items() if pages}


def with_pictures(text: str, folder: Path) -> str:
    """Return a page with the picture of each claim below its heading, drawn into a folder."""
    for name, claim in CLAIMS.items():
        if f"## {name}\n" in text and (runs := claim.runs()):
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
            cell.metadata["tags"] = tags
            cell.metadata.setdefault("mystnb", {}).update(code_prompt_show=PREDICT, code_prompt_hide="Hide {type}")
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
            cell.source = re.sub(r"  # (?:fmt: skip|noqa).*$", "", cell.source, flags=re.MULTILINE)
            cell.outputs = [shown for output in cell.outputs for shown in still(output, states)]
            alts = [output.get("metadata", {}).get("image/png", {}).get("alt") for output in cell.outputs]
            if alt := next(filter(None, alts), None):
                cell.metadata.setdefault("mystnb", {}).setdefault("image", {"alt": alt})
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
            if "exercise" in cell.metadata and not TO_WRITE.search(cell.source):
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


if __name__ == "__main__":
    sys.exit(main())
