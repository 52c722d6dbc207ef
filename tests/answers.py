"""The answers in exercises/mutants, a file a lecture: functions that are right, and tables of rows.

A right answer to `energy` is a function `energy_...` or a row of RIGHT; rows of WRONG make wrong answers, those of ODD
answers that are right, with a remark. A row is `what: change`, a change as `course.checks.mistakes` has it; a name in
it may be one of the file's own.
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
    """Return the answer of a row."""
    what, change = row.split(": ", 1)
    function = edited(find(name).target, change, vars(module))
    function.__name__ = what
    return function


FILES = [load(path) for path in sorted((Path(__file__).parent / "exercises" / "mutants").glob("[0-9]*.py"))]


def of_rows(table):
    """Return (exercise, answer) of each row of the tables of this name."""
    tables = [(module, name, block) for module in FILES for name, block in getattr(module, table, {}).items()]
    return [(name, made(module, name, row)) for module, name, block in tables for row, _ in rows(block)]


FUNCTIONS = [(name, what, f) for module in FILES for name in module.WRONG for what, f in vars(module).items()]
RIGHT = [(name, f) for name, what, f in FUNCTIONS if what.startswith(f"{name}_")] + of_rows("RIGHT")
WRONG, ODD = of_rows("WRONG"), of_rows("ODD")
