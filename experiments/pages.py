"""Pages that show recorded numbers, which the program writes: tables, and single numbers within sentences.

A table stands between <!-- name --> and <!-- /name -->, lines of their own. A number within a sentence stands between
<!-- =NAME --> and <!-- = -->, which a reader of the page does not see; `experiments.numbers` says what it is. After a
backtick the mark is code, of a page that explains it. No line begins with the mark of a number: Markdown takes such a
line for HTML and shows links, emphasis and code in it as they are typed. Paragraphs are wrapped so that none does.
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
WIDTH, WIDEST = 120, 132  # without marks: of a line that is wrapped; of one that stays as it was typed
LEADING = re.compile(r"(?:\s|[-*+>]\s|\d+[.)]\s)*<!-- =")  # a line or an item of a list that begins with a mark
MARK = re.compile(r"<!-- =[\w. -]*-->")
# What a line of a paragraph does not begin with: tables, headings, code, pictures, blocks that a program writes
NO_PROSE = re.compile(r"\s*(?:\||#|```|!\[|<!-- /?[\w-]+ -->|$)")
ITEM = re.compile(r"(\s*)((?:[-*+]|\d+[.)])\s+)?")
# A number with its marks, code or a formula is one word
WORD = re.compile(
    r"(?:<!-- =[\w.-]+ -->.*?<!-- = -->|`[^`]+`|\$[^$]+\$|\S)+"
)  # a number with its marks, code or a formula is one word
AT_NO_BEGIN = re.compile(r"<!-- =|(?:[-*+>|#]+|\d+[.)])$")  # such words would make of a line something else


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


def width(line: str) -> int:
    """Return how wide a line is without its marks."""
    return len(MARK.sub("", line))


def wrapped(paragraph: str) -> str:
    """Return the lines of a paragraph or of an item of a list, wrapped so that none begins with a mark."""
    indent, item = ITEM.match(paragraph).groups(default="")  # type: ignore[union-attr]
    lines: list[list[str]] = [[]]
    for word in WORD.findall(re.sub(r"\s+", " ", paragraph[len(indent + item) :])):
        if width(f"{indent}{item}{' '.join([*lines[-1], word])}") > WIDTH and len(lines[-1]) > 1:
            begin = len(lines[-1])
            while begin > 1 and AT_NO_BEGIN.match([*lines[-1], word][begin]):
                begin -= 1
            lines[-1], rest = lines[-1][:begin], lines[-1][begin:]
            lines.append([*rest, word])
        else:
            lines[-1].append(word)
    first, *others = (" ".join(words) for words in lines)
    return "\n".join([f"{indent}{item}{first}", *(f"{indent}{' ' * len(item)}{other}" for other in others)])


def paragraphs(text: str) -> list[tuple[bool, str]]:
    """Return the parts of a page, in order: (True, a paragraph or an item of a list), and (False, any other line)."""
    found, code, block, joins = list[tuple[bool, str]](), False, "", False
    for line in text.split("\n"):
        code ^= line.lstrip().startswith("```")
        if edge := re.fullmatch(r"<!-- (/?)([\w-]+) -->", line):
            block = "" if edge[1] else edge[2]
        prose = not code and not block and not NO_PROSE.match(line)
        item = prose and ITEM.match(line)[2] is not None  # type: ignore[index]
        if prose and joins and not item:
            found[-1] = True, f"{found[-1][1]}\n{line}"
        else:
            found.append((prose, line))
        joins = prose
    return found


def reflowed(text: str) -> str:
    """Return a page in which the paragraphs with numbers are wrapped if a line begins with a mark or is too wide."""
    parts = []
    for prose, part in paragraphs(text):
        bad = any(LEADING.match(line) or width(line) > WIDEST for line in part.split("\n"))
        parts.append(wrapped(part) if prose and bad and NUMBER.search(part) else part)
    return "\n".join(parts)


def write() -> list[Path]:
    """Write the pages that are out of date, and return them; draw their pictures."""
    new = {page: reflowed(filled(page.read_text("utf-8"))) for page in PAGES}
    found = [page for page in PAGES if new[page] != page.read_text("utf-8")]
    for page in found:
        page.write_text(new[page], "utf-8")
    for each in (rules.EXPERIMENT, growth.EXPERIMENT):
        pictures.draw(each, FULL, each.runs(), ROOT / "docs")
    draw(recorded(), ROOT / "docs/scaling.png")
    return found
