"""The pages of the repository on the site: which there are, and where their links lead.

A page is on the site if links lead to it from README.md, so that notes that lie about are not published. A program or
another text to which a page links becomes a page with its text; a module of the package has its page in the reference.
Of the folder `notebooks/teaching` students see what has no answers (OPEN). Lectures, files, modules and papers that a
text mentions become links.
"""

import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
TEACHING = NOTEBOOKS / "teaching"
FRONT = ROOT / "README.md"
OPEN = [TEACHING / name for name in ("README.md", "syllabi.md", "projects.md", "leaderboard.md")]
LANGUAGES = {".py": "python", ".sbatch": "sh", ".cff": "yaml", "": "text"}  # of files that are shown as they are
CODE = r"^ *```.*?^ *```|(?<!\[)`[^`\n]+`"  # in which nothing is a link
LINK = r"(?P<picture>!?)\[(?P<words>(?:`[^`\n]*`|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)"
PART = re.compile(f"{LINK}|{CODE}", re.DOTALL | re.MULTILINE)
PICTURES = (".png", ".svg", ".jpg", ".gif")
PAPERS = NOTEBOOKS / "glossary.md"
PAPER = re.compile(r"^- \*\*(?P<key>[^*]+ \d{4})\.\*\*", re.MULTILINE)
NUMBER = r"\d\d[a-c]?"
LECTURES = rf"[Ll]ectures?\s{NUMBER}(?:(?:,| and| to| or)\s{NUMBER})*\b"
KEPT = (  # in which nothing that is mentioned becomes a link
    r"(?s:^ *(?P<fence>```+).*?^ *(?P=fence))",
    r"(?s:\$\$.*?\$\$)",
    r"^#.*$",
    r"^- \*\*.*?\*\*",
    r"^<(?:div|details|img).*$",
    r"!?\[(?:`[^`\n]*`|[^\[\]`])*\]\([^()\s]+\)",
    r"<[^<>\n]+>",
    r"\$[^$\n]+\$",
    r"\{[\w:]+\}`[^`\n]+`",
)


class Site(NamedTuple):
    """What links of the site may lead to."""

    names: dict[Path, str]  # of a file of the repository: the name of its page
    modules: dict[Path, str]  # of a module of the package: the name of its page in the reference
    repository: str  # public address of what is on no page; "" if it has none
    source: Path  # the folder that Sphinx reads


def names_of(lectures: list[Path], answers: bool) -> dict[Path, str]:
    """Return the names of all pages, in the order in which links lead to them; lectures by their sources.

    answers: also those for lecturers alone.
    """
    names = {FRONT: "index"}
    waiting = [FRONT]
    while waiting:
        page = waiting.pop(0)
        for found in PART.finditer(page.read_text("utf-8")):
            target = place_of(found["target"] or "", page)
            if target not in names and (answers or target in OPEN or not target.is_relative_to(TEACHING)):
                if target.suffix == ".md" and target.is_file() and target.is_relative_to(ROOT):
                    waiting.append(target)
                elif not shown_as_it_is(target):
                    continue
                names[target] = name_of(target)
    if answers:
        notes = [TEACHING / f"{path.stem.partition('_')[0]}.md" for path in lectures]
        names |= {note: name_of(note) for note in notes if note.exists()}
    return names | {path: path.stem for path in lectures}


def shown_as_it_is(target: Path) -> bool:
    """Return whether the page of a file is its text: of a program or a licence, not of the package or a lecture."""
    within = target.is_relative_to(ROOT) and not target.is_relative_to(ROOT / "minitrpo")
    return within and target.suffix in LANGUAGES and target.is_file() and target.parent != NOTEBOOKS / "source"


def written(path: Path, site: Site) -> str:
    """Return the text of a page with its links; of a file that is shown as it is, its text within a box."""
    text = path.read_text("utf-8")
    if shown_as_it_is(path):
        return f"# {path.relative_to(ROOT).as_posix()}\n\n````{LANGUAGES[path.suffix]}\n{text}````\n"
    text = mentioned(linked(text, path, site), path, site)
    return with_places(text) if path == PAPERS else text


def name_of(page: Path) -> str:
    """Return the name of a page: that of its folder for a README.md; with its folder, if that is not a usual one."""
    if page.name == "README.md":
        return page.parent.name
    usual = page.parent.name in ("docs", "notebooks", "mpi_scripts", ROOT.name)
    return page.stem if usual else f"{page.parent.name}-{page.stem}"


def place_of(target: str, page: Path) -> Path:
    """Return the file that a link of a page leads to; a notebook's is the source that it is built from."""
    place = target.partition("#")[0]
    path = Path(os.path.normpath(page.parent / place)) if place and ":" not in place else page
    return NOTEBOOKS / "source" / f"{path.stem}.py" if path.suffix == ".ipynb" else path


def linked(text: str, page: Path, site: Site) -> str:
    """Return the text of a page with links that hold on the site; of a link to what is not there its words."""
    return PART.sub(lambda found: found[0] if found["target"] is None else link(found, page, site), text)


def link(found: re.Match[str], page: Path, site: Site) -> str:
    """Return a link as it is on the site; a picture is copied."""
    words, target = found["words"], found["target"]
    if ":" in target or target.startswith("#"):
        return found[0]
    path, anchor = place_of(target, page), target.partition("#")[1:]
    if there := address(path, site):
        return f"[{titled(words, path)}]({there}{''.join(anchor)})"
    if path.suffix in PICTURES:
        name = f"{path.parent.name}-{path.name}"
        (site.source / "pictures").mkdir(exist_ok=True)
        shutil.copy(path, site.source / "pictures" / name)
        return f"{found['picture']}[{words}](pictures/{name})"
    if not path.is_relative_to(ROOT):
        return found[0]
    name = path.relative_to(ROOT).as_posix()
    if site.repository:
        return f"[{words}]({site.repository}/{'tree' if path.is_dir() else 'blob'}/HEAD/{name})"
    if path.is_relative_to(TEACHING):
        return f"{words} (on the lecturers' site: `make docs ARGS=--answers`)"
    return words if name in words else f"{words} (in the repository: `{name}`)"


def titled(words: str, path: Path) -> str:
    """Return the words of a link; for the name of a page's file its title."""
    if path.suffix != ".md" or not re.fullmatch(rf"`?(?:[\w./-]+/)?{re.escape(path.name)}`?", words):
        return words
    title = re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return title[1] if title else words


def address(path: Path, site: Site) -> str:
    """Return the page of a file as Sphinx reads it; "" if it has none."""
    if path in site.modules:
        return f"{site.modules[path]}.rst"
    suffix = ".ipynb" if path.parent == NOTEBOOKS / "source" else ".md"
    return f"{site.names[path]}{suffix}" if path in site.names else ""


def mentioned(text: str, page: Path, site: Site) -> str:
    """Return a text of a page with links from what it mentions."""
    lectures = {path.stem.partition("_")[0]: path for path in site.names if path.parent == NOTEBOOKS / "source"}
    papers = papers_of(site)

    def link(found: re.Match[str]) -> str:
        words = found[0]
        if found["file"]:
            places = (page.parent / found["file"], ROOT / found["file"], NOTEBOOKS / found["file"])
            paths = (Path(os.path.normpath(place)) for place in places)
            named = next((path for path in paths if path != page and address(path, site)), None)
            return f"[{titled(words, named)}]({address(named, site)})" if named else words
        if found["lectures"]:
            others = {number: path for number, path in lectures.items() if path != page}
            one = re.fullmatch(rf"[Ll]ecture\s({NUMBER})", words)
            if one:
                return f"[{words}]({address(others[one[1]], site)})" if one[1] in others else words
            return re.sub(
                NUMBER, lambda n: f"[{n[0]}]({address(others[n[0]], site)})" if n[0] in others else n[0], words
            )
        key = found["paper"] and next(key for key, pattern in papers.items() if re.fullmatch(pattern, words))
        return f"[{words}](#{anchor(key)})" if key else words

    parts = [*KEPT, r"`(?P<file>[\w./-]+)`", r"`[^`\n]+`", rf"\b(?P<lectures>{LECTURES})"]
    parts.append(rf"\b(?P<paper>{'|'.join(papers.values()) or '(?!)'})")
    return re.sub("|".join(parts), link, text, flags=re.MULTILINE)


def papers_of(site: Site) -> dict[str, str]:
    """Return {paper, such as Karp & Flatt 1990: the pattern of its mentions}."""
    keys = PAPER.findall(PAPERS.read_text("utf-8")) if PAPERS in site.names else []
    return {key: pattern(*key.rsplit(" ", 1)) for key in keys}


def pattern(authors: str, year: str) -> str:
    """Return the pattern of a paper's mentions: with "and" for "&", and with the year in brackets."""
    words = r"\s".join(r"(?:&|and)" if word == "&" else re.escape(word) for word in authors.split())
    return rf"{words}(?:,?\s{year}\b|\s\({year}\))"


def anchor(key: str) -> str:
    """Return the name of a paper's place on the page of the references."""
    return "-".join(re.findall(r"\w+", key.lower()))


def with_places(text: str) -> str:
    """Return the page of the references with a place for each paper."""
    return PAPER.sub(lambda found: f"- ({anchor(found['key'])})=\n  {found[0].removeprefix('- ')}", text)
