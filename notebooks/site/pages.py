"""The pages of the repository on the site: which there are, and where their links lead.

A page is on the site if links lead to it from README.md, so that notes that lie about are not published. The folder
`notebooks/teaching`, which has the answers of the exam, is for lecturers alone.
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
CODE = r"^ *```.*?^ *```|(?<!\[)`[^`\n]+`"  # in which nothing is a link
LINK = r"(?P<picture>!?)\[(?P<words>(?:`[^`\n]*`|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)"
PART = re.compile(f"{LINK}|{CODE}", re.DOTALL | re.MULTILINE)
PICTURES = (".png", ".svg", ".jpg", ".gif")


class Site(NamedTuple):
    """What links of the site may lead to."""

    names: dict[Path, str]  # of a file of the repository: the name of its page
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
            ours = target.is_relative_to(ROOT) and (answers or not target.is_relative_to(TEACHING))
            if ours and target.suffix == ".md" and target.is_file() and target not in names:
                names[target] = name_of(target)
                waiting.append(target)
    if answers:
        notes = [TEACHING / f"{path.stem.partition('_')[0]}.md" for path in lectures]
        names |= {note: name_of(note) for note in notes if note.exists()}
    return names | {path: path.stem for path in lectures}


def name_of(page: Path) -> str:
    """Return the name of a page: that of its folder for a README.md; with its folder, if that is not a usual one."""
    if page.name == "README.md":
        return page.parent.name
    return page.stem if page.parent.name in ("docs", "notebooks", ROOT.name) else f"{page.parent.name}-{page.stem}"


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
    if path in site.names:
        suffix = ".ipynb" if path.suffix == ".py" else ".md"
        return f"[{words}]({site.names[path]}{suffix}{''.join(anchor)})"
    if path.suffix in PICTURES:
        name = f"{path.parent.name}-{path.name}"
        (site.source / "pictures").mkdir(exist_ok=True)
        shutil.copy(path, site.source / "pictures" / name)
        return f"{found['picture']}[{words}](pictures/{name})"
    if site.repository and path.is_relative_to(ROOT):
        kind = "tree" if path.is_dir() else "blob"
        return f"[{words}]({site.repository}/{kind}/HEAD/{path.relative_to(ROOT).as_posix()})"
    return words
