"""Known mistakes as edits: the package's own function with a piece of its source exchanged."""

import ast
import importlib
import inspect
from collections.abc import Mapping

from minitrpo.course.checks.differential import Candidate


def edits(target: str, table: Mapping[str, tuple[str, ...]]) -> dict[str, Candidate]:
    """Return {symptom: the function that makes the mistake} for {symptom: (old, new, old, new, ...)}."""
    return {symptom: edited(target, *pieces) for symptom, pieces in table.items()}


def edited(target: str, *pieces: str) -> Candidate:
    """Return the package's "module:function" with pieces of its source exchanged: old, new, old, new, ...

    ValueError if an old piece does not occur exactly once: the function has changed, and the mistake with it.
    """
    module, _, name = target.partition(":")
    home = importlib.import_module(module)
    source = without_docstring(inspect.getsource(getattr(home, name)))
    for old, new in zip(pieces[::2], pieces[1::2], strict=True):
        if source.count(old) != 1:
            raise ValueError(f"{old!r} occurs {source.count(old)} times in {target}, not once")
        source = source.replace(old, new)
    names = dict(vars(home))
    exec(compile(source, f"<{name}, edited>", "exec"), names)  # noqa: S102 (our own source)
    changed: Candidate = names[name]
    return changed


def without_docstring(source: str) -> str:
    """Return the source of a function with its docstring, the first statement, left out."""
    [function] = ast.parse(source).body
    said = function.body[0]  # type: ignore[attr-defined]
    lines = source.splitlines(keepends=True)
    return "".join(lines[: said.lineno - 1] + lines[said.end_lineno :])
