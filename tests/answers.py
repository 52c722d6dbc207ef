"""The answers in exercises/mutants, a file a lecture: RIGHT and WRONG functions, and rows: EDITS make wrong
ones, ODD make answers that are right, with a remark.

A row is `what: change`, a change as `course.checks.mistakes` has it; a name in it may be one of the file's own.
"""

import importlib.util
from pathlib import Path

from minitrpo.course.checks.mistakes import edited, rows
from minitrpo.course.checks.register import find, names


def load(path):
    spec = importlib.util.spec_from_file_location(f"mutants_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(module, name, row):
    """Return the wrong answer of a row."""
    what, change = row.split(": ", 1)
    function = edited(find(name).target, change, vars(module))
    function.__name__ = what
    return function


FILES = [load(path) for path in sorted((Path(__file__).parent / "exercises" / "mutants").glob("[0-9]*.py"))]
KNOWN = names()  # transition
RIGHT = [(name, f) for module in FILES for name, some in module.RIGHT.items() for f in some if name in KNOWN]
WRONG = [(n, f) for m in FILES for n, some in getattr(m, "WRONG", {}).items() for f in some if n in KNOWN]


def of_rows(module, table):
    """Return the answers that rows make."""
    return [
        (name, made(module, name, row))
        for name, block in getattr(module, table, {}).items()
        for row, _ in rows(block)
        if name in KNOWN
    ]


WRONG += [answer for module in FILES for answer in of_rows(module, "EDITS")]
ODD = [answer for module in FILES for answer in of_rows(module, "ODD")]
