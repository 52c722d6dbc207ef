"""The answers in exercises/mutants, a file a lecture: functions that are right, and tables of rows.

A right answer to `energy` is a function `energy_...` or a row of RIGHT; rows of WRONG make wrong answers, those of ODD
answers that are right, with a remark. A row is `what: change`, a change as `course.checks.mistakes` has it; a name in
it may be one of the file's own. Edits of one token of the solution are wrong answers, too, without a row (see
test_edits.py): a row of EQUAL names an edit that changes nothing, and says why.
"""

import importlib.util
from pathlib import Path

from minitrpo.course.checks.framework.mistakes import edited, rows
from minitrpo.course.checks.framework.register import find, names


def load(path):
    spec = importlib.util.spec_from_file_location(f"mutants_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(module, name, what, change):
    """Return the answer of a row, or None: then MISFITS says why."""
    try:
        function = edited(find(name).target, change, vars(module))
    except ValueError as error:
        MISFITS.append(f"{module.__name__}, {name}, {what}: {error}")
        return None
    function.__name__ = what
    return function


def of_rows(table):
    """Return (exercise, answer) of each row of the tables of this name."""
    tables = [(module, name) for module in FILES for name in getattr(module, table, {})]
    found = [(name, made(module, name, *row)) for module, name in tables for row in rows_of(name, table, [module])]
    return [(name, answer) for name, answer in found if answer is not None]


def rows_of(name, table, modules=None):
    """Return (what, change) of each row of an exercise in the tables of this name."""
    blocks = [getattr(module, table, {}).get(name, "") for module in modules or FILES]
    return [tuple(row.split(": ", 1)) for block in blocks for row, _ in rows(block)]


def exercise_of(what):
    """Return which exercise a function answers that is called so: of `gae_loop` it is gae."""
    begins = [name for name in names() if what.startswith(f"{name}_")]
    return max(begins, key=len, default="")


FILES = [load(path) for path in sorted((Path(__file__).parent / "exercises" / "mutants").glob("[0-9]*.py"))]
MISFITS = []  # rows that do not fit the package's function any more
OWN = [(what, f) for m in FILES for what, f in vars(m).items() if getattr(f, "__module__", "") == m.__name__]
RIGHT = [(exercise_of(what), f) for what, f in OWN if exercise_of(what)] + of_rows("RIGHT")
WRONG, ODD = of_rows("WRONG"), of_rows("ODD")
