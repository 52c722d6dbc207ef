r"""Known mistakes as rows: the package's own function with pieces of its source exchanged.

A row is a change and what is said of it, `old => new :: does this :: do that`, for "Your answer does this; it should do
that." Several exchanges stand between &&; in a new piece $ is the old one; \n is a new line. A change without an arrow
is a new body, in which `right` is the package's function.

The source is what `ast.unparse` makes of it, without comments and docstring: no row depends on a comment or a line's
end. A row does depend on the names of local variables. Who renames one renames it in the rows, which the tests name.
"""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from minitrpo.course.checks.framework.differential import Candidate


def lines_of(table: str) -> list[str]:
    """Return the lines of a table; one that ends with a backslash goes on in the next."""
    return [line.strip() for line in re.sub(r"\s*\\\n\s*", " ", table).strip().splitlines()]


def rows(table: str) -> Iterator[tuple[str, str]]:
    """Yield (change, symptom) of a table; its hints, lines that begin with a question mark, are none."""
    for line in (line for line in lines_of(table) if not line.startswith("? ")):
        change, *said = (part.strip() for part in f"{line} ".split(" :: "))
        yield change, f"Your answer {said[0]}; it should {said[1]}." if len(said) == 2 else "".join(said)


def edited(target: str, change: str, more: Mapping[str, Any] = MappingProxyType({})) -> Candidate:
    """Return the package's function with a change.

    Args:
        target: "module:function".
        change: as a row has it.
        more: names that a change may use in addition to those of the module.

    Raises:
        ValueError: if an old piece is not there exactly once.
        SyntaxError: if what comes out is no Python.
    """
    return compiled(target, edited_source(target, change), more)


def edited_source(target: str, change: str) -> str:
    """Return the source of "module:function" with a change; ValueError if an old piece is not there exactly once."""
    source = source_of(target)
    if " => " not in f"{change} ":
        head = re.match(r"(@.*\n)*def .*\n", source)
        assert head
        return f"{head[0]}    {written(change)}\n"
    for exchange in f"{change} ".split(" && "):
        old, new = (written(piece) for piece in f"{exchange} ".split(" => "))
        if source.count(old) != 1:
            raise ValueError(f"the row {change!r} does not fit {target}: {old!r} occurs {source.count(old)} times")
        source = source.replace(old, new.replace("$", old))
    return source


def compiled(target: str, source: str, more: Mapping[str, Any] = MappingProxyType({})) -> Candidate:
    """Return the function that a source defines among the names of the module of "module:function"."""
    module, _, name = target.partition(":")
    home = importlib.import_module(module)
    names = {**more, **vars(home), "right": getattr(home, name)}
    exec(compile(source, f"<{name}, edited>", "exec"), names)  # noqa: S102 (our own source)
    changed: Candidate = names[name]
    return changed


def written(piece: str) -> str:
    """Return a piece of source as a row has it; a backslash and n are a new line."""
    return piece.strip().replace(r"\n", "\n")


@cache
def source_of(target: str) -> str:
    """Return the source of "module:function" in its normal form."""
    module, _, name = target.partition(":")
    function = inspect.unwrap(getattr(importlib.import_module(module), name))
    return normalised(inspect.getsource(function))


def normalised(source: str) -> str:
    """Return the source of a function without docstring and comments."""
    [function] = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    if ast.get_docstring(function):
        function.body = function.body[1:]
    return ast.unparse(function) + "\n"
