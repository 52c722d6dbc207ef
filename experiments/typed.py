"""Measured numbers that somebody typed into a page, instead of having them written from what is recorded.

A number stands in one of four places, or it is typed: in a generated block, between the marks of a generated number, in
code or a formula (a setting or a definition: `0.01`, $0.91$), or in a name (a link, a heading, a date, a version).
Of what is left, small whole numbers may stand as they are, such as "2 cores" and "rank 0", unless a unit of something
measured follows, or they fill a cell of a table.
"""

import re
from typing import NamedTuple

# What is no text of the page, in this order: each is replaced by nothing, or by what stands after it here
BLOCK = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", re.DOTALL)
NUMBER = re.compile(r"<!-- =[\w.-]+ -->.*?<!-- = -->")
CODE = re.compile(r"^( *)```.*?^\1```|``.+?``|`[^`]+`|\$\$.+?\$\$|\$[^$\n]+\$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^]]*\]\((?:https?:|mailto:)[^)]*\)|\]\([^)]*\)")  # of another site with its text
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
ITEM = re.compile(r"^ *\d+\. ", re.MULTILINE)  # of a numbered list

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"\b(?:\d{{1,2}}(?: (?:and|to) \d{{1,2}})? )?(?:{MONTHS})(?: \d{{4}})?\b|\b\d{{4}}-\d\d-\d\d\b")
YEAR = re.compile(r"\b(?:19|20)\d\d\b(?![\d,.]*\d)(?! *(?:steps|runs|episodes|times|s\b|ms\b|%))")
VERSIONED = (
    "[Pp]ython|numpy|scipy|gymnasium|mpi4py|MPICH|MPI|MuJoCo|Debian|slurm-wlm|PyTorch|[Vv]ersions?|WSL|Zen|CC BY"
)
VERSION = re.compile(rf"\b(?:{VERSIONED}) v?\d[\d.]*\d?(?:,? (?:and|or|to) \d+(?:\.\d+)*)*|\b\d+\.\d+\.\d+\b")
NAME = re.compile(r"\b[A-Za-z][\w/]*(?:-[A-Za-z0-9]\w*)+|\b[A-Za-z]+\d\w*|\b\d+(?:st|nd|rd|th)\b")  # Ant-v5, A3C, 09a

LEVEL = re.compile(r"\b95\s+%(?=\s+(?:interval|intervals|bootstrap|over|\())")  # of an interval, everywhere the same

UNITS = (
    "times|%|per cent|ms|s|µs|us|microseconds?|milliseconds?|seconds?|minutes?|min|hours?|h|days?|[KMGTk]i?B(?:/s)?|GHz"
)
UNITS += "|steps|updates|episodes|runs|pairs|seeds|draws|kills|lines|points|dollars|of"
FOUND = re.compile(
    r"(?<![\w.])[-+~]?(?:"
    r"\d[\d,]*\.\d+(?:e-?\d+)?|\d+e-?\d+|"  # a fraction, a power of ten
    r"\d{1,3}(?:,\d{3})+|\d{3,}|"  # large
    rf"\d+(?= ?(?:to|or|and|-) ?\d[\d.,]*[ -]?(?:{UNITS})(?!\w))|"  # the first of a range of them
    rf"\d+(?=[ -]?(?:{UNITS})(?!\w))"  # with a unit
    r")(?![\w])"
)
CELL = re.compile(r"(?<=\|) *[-+~*]*\d[\d,.]*\*?(?= *[|;(])")  # begins a cell of a table


class Typed(NamedTuple):
    """A number that was typed: the line of the page, counted from 1, and the number with some words around it."""

    line: int
    words: str


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with blanks for what the pattern finds; its lines stay."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def typed_numbers(page: str) -> list[Typed]:
    """Return every number of a page that is typed though it looks measured."""
    text = page
    for pattern in (BLOCK, NUMBER, CODE, COMMENT, LINK, HEADING, ITEM, DATE, VERSION, YEAR, LEVEL, NAME):
        text = blanked(pattern, text)
    where = sorted({match.start() for pattern in (FOUND, CELL) for match in pattern.finditer(text)})
    lines = page.splitlines()
    found: dict[int, Typed] = {}
    for at in where:
        row, column = text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)
        found.setdefault(at, Typed(row + 1, lines[row][max(0, column - 30) : column + 30].strip()))
    return list(found.values())
