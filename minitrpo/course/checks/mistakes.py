r"""Known mistakes as rows: the package's own function with pieces of its source exchanged.

A row is a change and what is said of it, `old => new :: does this :: do that`, for "Your answer does this; it should do
that." Several exchanges stand between &&; in a new piece $ is the old one; \n is a new line. A change without an arrow
is a new body, in which `right` is the package's function.

The source is what `ast.unparse` makes of it, without comments and docstring, and with the local variables of
`recorded_names.py`, whatever they are called now: so no row depends on a name, a comment or a line's end.
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

from minitrpo.course.checks.differential import Candidate
from minitrpo.course.checks.recorded_names import RECORDED


def lines_of(table: str) -> list[str]:
    """Return the lines of a table; one that ends with a backslash goes on in the next."""
    return [line.strip() for line in re.sub(r"\s*\\\n\s*", " ", table).strip().splitlines()]


def rows(table: str) -> Iterator[tuple[str, str]]:
    """Yield (change, symptom) of a table; its hints, lines that begin with a question mark, are none."""
    for line in (line for line in lines_of(table) if not line.startswith("? ")):
        change, *said = (part.strip() for part in f"{line} ".split(" :: "))
        yield change, f"Your answer {said[0]}; it should {said[1]}." if len(said) == 2 else "".join(said)


def edited(target: str, change: str, more: Mapping[str, Any] = MappingProxyType({})) -> Candidate:
    """Return the package's "module:function" with a change; ValueError if an old piece is not there exactly once.

    more: names that a change may use in addition to those of the module.
    """
    module, _, name = target.partition(":")
    home = importlib.import_module(module)
    names = {**more, **vars(home), "right": getattr(home, name)}
    source = source_of(target)
    if " => " not in f"{change} ":
        head = re.match(r"(@.*\n)*def .*\n", source)
        assert head
        source = f"{head[0]}    {written(change)}\n"
    else:
        for exchange in f"{change} ".split(" && "):
            old, new = (written(piece) for piece in f"{exchange} ".split(" => "))
            if source.count(old) != 1:
                raise ValueError(f"{old!r} occurs {source.count(old)} times in {target}, not once")
            source = source.replace(old, new.replace("$", old))
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
    return normalised(inspect.getsource(function), RECORDED.get(target, "").split())


def normalised(source: str, recorded: list[str]) -> str:
    """Return the source of a function without docstring and comments, its local names as they were recorded."""
    [function] = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    if ast.get_docstring(function):
        function.body = function.body[1:]
    now = local_names(function)
    if len(now) == len(recorded):
        Renamed(dict(zip(now, recorded, strict=True))).visit(function)
    return ast.unparse(function) + "\n"


def local_names(function: ast.FunctionDef) -> list[str]:
    """Return what a function calls its parameters and variables, in the order in which they appear."""
    found = dict[tuple[int, int], str]()  # by line and column
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found[node.lineno, node.col_offset] = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.lineno, node.col_offset] = node.id
        elif isinstance(node, ast.FunctionDef) and node is not function:
            found[node.lineno, node.col_offset] = node.name
    return list(dict.fromkeys(name for _, name in sorted(found.items())))


class Renamed(ast.NodeTransformer):
    """Exchanges the names of local variables."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        node.arg = self.names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)
