"""The answers in exercises/mutants, a file a lecture: RIGHT and WRONG functions, and rows.

EDITS make wrong answers, ODD such as are right, with a remark.

A row is `what: change`, a change as `course.checks.mistakes` has it; a name in it may be one of the file's own.
"""

import importlib.util
from pathlib import Path

from minitrpo.course.checks.mistakes import edited, rows
from minitrpo.course.checks.register import find


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


def of_rows(module, table):
    """Return the answers that rows make."""
    blocks = getattr(module, table, {}).items()
    return [(name, made(module, name, row)) for name, block in blocks for row, _ in rows(block)]


RIGHT = [(name, f) for module in FILES for name, some in module.RIGHT.items() for f in some]
WRONG = [(name, f) for module in FILES for name, some in getattr(module, "WRONG", {}).items() for f in some]
WRONG += [answer for module in FILES for answer in of_rows(module, "EDITS")]
ODD = [answer for module in FILES for answer in of_rows(module, "ODD")]
