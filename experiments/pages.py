"""Pages that show recorded numbers, which the program writes: tables, and single numbers within sentences.

A table stands between <!-- name --> and <!-- /name -->, lines of their own. A number within a sentence stands between
<!-- =NAME --> and <!-- = -->, which a reader of the page does not see; `experiments.numbers` says what it is. After a
backtick the mark is code, of a page that explains it.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from experiments import growth, pictures, rules
from experiments.harness import FULL
from experiments.numbers import NUMBERS
from experiments.registry import BLOCKS
from minitrpo.course.scaling.command import recorded
from minitrpo.course.scaling.predict import draw
from minitrpo.errors import BadInput

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "experiments").glob("*.md"))]
NUMBER = re.compile(r"(?<!`)(<!-- =([\w.-]+) -->).*?(<!-- = -->)")


@cache
def computed(make: Callable[[], str]) -> str:
    """Return what a block or a number is; several pages may show it."""
    return make()


def number(name: str) -> str:
    """Return the text of a number; BadInput if there is none of this name."""
    if name not in NUMBERS:
        raise BadInput(f"a page asks for the number {name}, which experiments/numbers does not have")
    return computed(NUMBERS[name])


def filled(text: str) -> str:
    """Return a page with what is recorded in its places."""
    for name, block in BLOCKS.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if between.search(text):
            text = between.sub(lambda match, block=block: f"{match[1]}{computed(block)}\n{match[2]}", text)
    return NUMBER.sub(lambda match: f"{match[1]}{number(match[2])}{match[3]}", text)


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
