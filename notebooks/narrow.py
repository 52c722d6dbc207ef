"""The signature and the docstring of a function of the package, in the shorter lines of an exercise cell."""

import ast
import re
import textwrap
from itertools import pairwise

WIDTH = 95  # letters: a window of 1,280 pixels shows about 100 of them beside the list of files
SOURCE_WIDTH = 120  # of the lines that come in
QUOTES = '"""'


def head(lines: list[str]) -> list[str]:
    """Return the lines of a function up to the end of its docstring, none longer than WIDTH."""
    first = next(number for number, line in enumerate(lines) if line.lstrip("r ").startswith(QUOTES))
    function = ast.parse("\n".join([*lines, "    pass"])).body[0]
    assert isinstance(function, ast.FunctionDef)
    parameters = [argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
    return [*signature(lines[:first]), *docstring(lines[first:], parameters)]


def signature(lines: list[str]) -> list[str]:
    """Return the lines of a signature; if one of them is too long, every parameter gets a line of its own."""
    if max(map(len, lines)) <= WIDTH:
        return lines
    start = next(number for number, line in enumerate(lines) if line.startswith("def "))
    beginning, *parts = top_level(" ".join(line.strip() for line in lines[start:]))
    ending = parts.pop()
    return [*lines[:start], beginning, *(f"    {part}," for part in parts if part), ending]


def top_level(text: str) -> list[str]:
    """Return "def name(", the parameters, and ") -> what is returned:" of a signature on one line."""
    parts, depth = [""], 0
    for place, letter in enumerate(text):
        depth -= letter in ")]"
        if depth == 0 and letter == ")":
            return [*(part.strip() for part in parts), text[place:]]
        if depth == 1 and letter == ",":
            parts.append("")
        else:
            parts[-1] += letter
        if depth == 0 and letter == "(":
            parts.append("")
        depth += letter in "(["
    raise ValueError(f"this is no signature: {text}")


def docstring(lines: list[str], parameters: list[str]) -> list[str]:
    """Return the lines of a docstring, filled anew; what it says of a parameter, and its source, begin a line."""
    if max(map(len, lines)) <= WIDTH:
        return lines
    names = rf"(?:{'|'.join(parameters)})"
    entry = rf"(?:{names}(?:, {names})*(?: \([^)]*\))?|Source): "
    narrow = []
    for paragraph in paragraphs(lines):
        blanks = paragraph[: len(paragraph) - len(paragraph.lstrip())]
        for text in re.split(rf"(?<=[.;]) (?={entry})", paragraph):
            hanging = blanks + "    " * bool(re.match(entry, text.lstrip()))
            narrow += filled(f"{blanks}{text.lstrip()}", hanging) if text.strip() else [text]
    if narrow[-1].strip() != QUOTES:  # the docstring was on one line
        narrow[-1:] = [narrow[-1].removesuffix(QUOTES), f"    {QUOTES}"]
    return narrow


def paragraphs(lines: list[str]) -> list[str]:
    """Return the paragraphs of a docstring, each on one line; a line between two of them stays an empty line."""
    joined = [lines[0]]
    for before, line in pairwise(lines):
        if goes_on(before, line):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return joined


def goes_on(before: str, line: str) -> bool:
    """Return whether a line continues the one before, which then was full or ends within a sentence."""
    if not before.strip() or not line.strip() or line.strip() == QUOTES:
        return False
    full = len(before) + 1 + len(line.split()[0]) > SOURCE_WIDTH
    return full or before.rstrip()[-1] not in ".:;"


def filled(line: str, following: str) -> list[str]:
    """Return a line in lines of at most WIDTH; following: what stands before all but the first."""
    if len(line) <= WIDTH:
        return [line]
    return textwrap.wrap(line, WIDTH, subsequent_indent=following, break_long_words=False, break_on_hyphens=False)
