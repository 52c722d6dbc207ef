"""The answers in exercises/mutants, a file a lecture: RIGHT and WRONG functions, and EDITS, rows that make wrong ones.

A row is `what: old => new`, an edit of the package's source in which $ is the old once more, or more of them with &&
between; or `what: body`, a new body of the function, in which `right` is the package's. \\n is a new line; a row that
ends with \\ goes on in the next.
"""

import importlib.util
import inspect
import re
from pathlib import Path

from minitrpo.course.checks import target
from minitrpo.course.checks.edits import without_docstring


def load(path):
    spec = importlib.util.spec_from_file_location(f"mutants_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(block):
    """Return [(what, change)] of a block of rows."""
    lines = re.sub(r"\s*\\\n\s*", " ", block).strip().splitlines()
    return [tuple(line.strip().split(": ", 1)) for line in lines]


def changed(source, change):
    """Return a function's source with a change made in it; an old piece that is not there exactly once is an error."""
    if " =>" not in change:
        found = re.match(r"(?s).*?\) -> [^\n]*:\n", source)
        return f"{found[0]}    {change}\n".replace(r"\n", "\n")
    for pair in change.split(" && "):
        old, new = (piece.strip().replace(r"\n", "\n") for piece in f"{pair} ".split(" => "))
        assert source.count(old) == 1, f"{old!r} is {source.count(old)} times in the source"
        source = source.replace(old, new.replace("$", old))
    return source


def made(module, name, what, change):
    """Return the wrong answer of a row."""
    right = inspect.unwrap(target(name))
    there = {**vars(module), **right.__globals__, "right": target(name)}
    exec(compile(changed(without_docstring(inspect.getsource(right)), change), f"{name}, {what}", "exec"), there)
    function = there[right.__name__]
    function.__name__ = what
    return function


FILES = [load(path) for path in sorted((Path(__file__).parent / "exercises" / "mutants").glob("[0-9]*.py"))]
RIGHT = [(name, f) for module in FILES for name, some in module.RIGHT.items() for f in some]
WRONG = [(name, f) for module in FILES for name, some in getattr(module, "WRONG", {}).items() for f in some]
WRONG += [
    (name, made(module, name, what, change))
    for module in FILES
    for name, block in module.EDITS.items()
    for what, change in rows(block)
]
