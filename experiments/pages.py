"""Pages that show recorded numbers: what stands between <!-- name --> and <!-- /name --> is written by the program."""

import re
from pathlib import Path

from experiments import growth, pictures, rules
from experiments.harness import FULL
from experiments.registry import BLOCKS
from minitrpo.course.scaling.command import recorded
from minitrpo.course.scaling.predict import draw

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs/own-algorithm.md", ROOT / "docs/claims.md", ROOT / "docs/adapting.md", ROOT / "docs/family.md"]
PAGES += [ROOT / "docs/scaling.md", *sorted((ROOT / "experiments").glob("*.md"))]


def filled(text: str) -> str:
    """Return a page with what is recorded in its places."""
    for name, block in BLOCKS.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if between.search(text):
            content = block()
            text = between.sub(lambda match, content=content: f"{match[1]}{content}\n{match[2]}", text)
    return text


def write() -> list[Path]:
    """Write the pages that are out of date, and return them; draw their pictures."""
    new = {page: filled(page.read_text("utf-8")) for page in PAGES}
    found = [page for page in PAGES if new[page] != page.read_text("utf-8")]
    for page in found:
        page.write_text(new[page], "utf-8")
    for each in (rules.EXPERIMENT, growth.EXPERIMENT):
        pictures.draw(each, FULL, each.runs(), ROOT / "docs")
    draw(recorded(), ROOT / "docs/scaling.png")
    return found
