"""The reference of what is public, by autodoc: which modules it has, and how their docstrings are read.

It has the names of `minitrpo` and `minitrpo.checks`, the mathematics, the algorithms, and what else lectures import.
Docstrings are plain text with `names` and indented formulas. Of a record the reference shows each field with the
comment behind it, which has the shapes; signatures are written as in the source. No code is shown.
"""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
LECTURES = sorted((ROOT / "notebooks" / "source").glob("[0-9]*.py"))
PACKAGE = ["minitrpo", "minitrpo.checks", "minitrpo.algorithms"]  # which show names of other modules
# PACKAGE shows the names of these, which have no page of their own
BEHIND = (
    "minitrpo.python_api",
    "minitrpo.errors",
    "minitrpo.algorithms.user_classes",
    "minitrpo.course.checks.framework.register",
)
LECTURES_USE = "What else the lectures use"
ABOUT = """What is public, from the docstrings. In the shapes, N is the number of steps, D that of the numbers in an
observation, A in an action, P in the parameter vector, and K in the parameters of an action's distribution."""


def sections() -> dict[str, dict[str, list[str]]]:
    """Return {section: {module: the names that it shows}}; no names: all that are public."""
    mathematics = modules("minitrpo", "*.py")
    family = modules("minitrpo/algorithms", "**/*.py")
    shown = {*mathematics, *family, *PACKAGE, *BEHIND}
    return {
        "The package": {"minitrpo": [], "minitrpo.checks": [], "minitrpo.algorithms": exported("minitrpo.algorithms")},
        "The mathematics": {name: [] for name in mathematics},
        "The algorithms": {name: [] for name in family},
        LECTURES_USE: {name: names for name, names in sorted(used_by_lectures().items()) if name not in shown},
    }


def modules(folder: str, pattern: str) -> list[str]:
    """Return the names of the modules of a folder, without those whose names a package shows."""
    files = sorted((ROOT / folder).glob(pattern))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if not file.stem.startswith("__")]
    own = [name for name in imported(tree(ROOT / "minitrpo/algorithms/__init__.py")) if "algorithms" in name]
    return [name for name in names if name not in {*BEHIND, *PACKAGE, *own}]


@cache
def tree(file: Path) -> ast.Module:
    """Return the syntax of a file, without the lines that IPython alone knows."""
    lines = file.read_text("utf-8").split("\n")
    return ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in lines))


def imported(syntax: ast.Module) -> dict[str, list[str]]:
    """Return {module of the package: the names that are imported from it}."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(syntax):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minitrpo"):
            found.setdefault(node.module or "", []).extend(alias.name for alias in node.names)
    return found


def exported(package: str) -> list[str]:
    """Return the names that a package takes from its modules."""
    file = ROOT / package.replace(".", "/") / "__init__.py"
    return sorted(name for names in imported(tree(file)).values() for name in names)


def used_by_lectures() -> dict[str, list[str]]:
    """Return {module: what lectures import from it}: classes and functions with a docstring; [] for a whole module."""
    found: dict[str, set[str]] = {}
    whole = set()
    for lecture in LECTURES:
        for module, names in imported(tree(lecture)).items():
            for name in names:
                if importlib.util.find_spec(module).submodule_search_locations and is_module(f"{module}.{name}"):
                    whole.add(f"{module}.{name}")
                elif callable(thing := getattr(importlib.import_module(module), name)) and is_ours(thing):
                    found.setdefault(thing.__module__, set()).add(name)
    return {module: [] if module in whole else sorted(found[module]) for module in found.keys() | whole}


def is_module(name: str) -> bool:
    """Return whether there is a module of this name."""
    return importlib.util.find_spec(name) is not None


def is_ours(thing: Any) -> bool:
    """Return whether a class or function is of this package, and has a docstring."""
    return bool(thing.__doc__) and str(getattr(thing, "__module__", "")).startswith("minitrpo.")


def write(source: Path) -> None:
    """Write a page for each module, and one that lists them, into the folder that Sphinx reads."""
    first = ["# API reference", ABOUT]
    for section, shown in sections().items():
        rows = [f"| {{py:mod}}`{module}` | {sentence(module)} |" for module in shown]
        first.append("\n".join([f"## {section}", "", "| module | |", "| --- | --- |", *rows]))
        blocks = {module: block(module, names) for module, names in shown.items()}
        if section == LECTURES_USE:
            blocks = {"lectures": "\n\n".join([heading(section, "="), *blocks.values()])}
        for name, text in blocks.items():
            (source / f"{name}.rst").write_text(text + "\n", "utf-8")
        side = [f"{name.rpartition('.')[2]} <{name}>" for name in blocks]
        first.append("\n".join(["```{toctree}", ":hidden:", "", *side, "```"]))
    (source / "reference.md").write_text("\n\n".join(first) + "\n", "utf-8")


def places() -> dict[Path, str]:
    """Return {file of a module: the name of its page}."""
    shown = {name: section for section, names in sections().items() for name in names}
    specs = {name: importlib.util.find_spec(name) for name in shown}
    pages = {name: "lectures" if section == LECTURES_USE else name for name, section in shown.items()}
    return {Path(spec.origin): pages[name] for name, spec in specs.items() if spec and spec.origin}


def sentence(module: str) -> str:
    """Return the first paragraph of a module's docstring, for a cell of a table."""
    text = (importlib.import_module(module).__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"([|*_<$])", r"\\\1", text)


def heading(text: str, line: str) -> str:
    """Return a heading, underlined."""
    return f"{text}\n{line * len(text)}"


def block(module: str, names: list[str]) -> str:
    """Return what autodoc is asked for a module, below a heading."""
    options = f"   :members: {', '.join(names)}\n   :member-order: bysource"
    options += "\n   :imported-members:" * (module in PACKAGE)
    return f"{heading(module, '-')}\n\n.. automodule:: {module}\n{options}"


def docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Make reStructuredText of a docstring, in place."""
    known = parameters(thing) if callable(thing) else set()
    text = "\n\n".join(paragraph(part, known) for part in "\n".join(lines).split("\n\n"))
    if what == "module" and (about := built_in(name)):
        first, _, rest = text.partition("\n\n")
        text = f"{first}\n\nIt is built in {' and '.join(about)}.\n\n{rest}"
    fields = [f"* **{field}**: {code(kind)}{said and ': ' + marked(said)}" for field, kind, said in fields_of(thing)]
    lines[:] = [*text.split("\n"), "", *fields, ""]


def built_in(module: str) -> list[str]:
    """Return links to the lectures whose first table names the file of a module."""
    file = module.replace(".", "/") + ".py"
    found = [path for path in LECTURES if re.search(rf"^# \| .*`{file}`", path.read_text("utf-8"), re.MULTILINE)]
    return [f":doc:`lecture {path.stem.partition('_')[0]} <{path.stem}>`" for path in found]


def paragraph(text: str, known: set[str]) -> str:
    """Return a paragraph: a formula or code that is indented as it is; a list with room before it."""
    if not text.strip():
        return ""
    if all(line.startswith("  ") for line in text.split("\n")):
        return "::\n\n" + textwrap.indent(textwrap.dedent(text), "   ")
    text = re.sub(r"(?<!\n)\n(?=(- |\d+\. ))", "\n\n", text)
    text = marked(text)
    begins = r"(?m)(^|(?<=[.;:!?)] )|(?<=[.;:!?)]\n))((?:[\w\\]+, )*[\w\\]+): "

    def bold(found: re.Match[str]) -> str:
        names = found[2].replace("\\", "").split(", ")
        return ", ".join(f"**{name}**" for name in names) + ": " if {*names} <= known else found[0]

    return re.sub(begins, bold, text)


def marked(text: str) -> str:
    """Return a text in which `names` are code and no other sign means anything."""
    parts = re.split(r"`([^`\n]+)`", text)
    return "".join(code(part) if n % 2 else plain(part) for n, part in enumerate(parts))


def plain(text: str) -> str:
    """Return a text whose signs mean nothing."""
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def code(text: str) -> str:
    """Return a piece of code; the name of something public becomes a link to it."""
    role = f":py:obj:`{text}`" if re.fullmatch(r"[A-Za-z_][\w.]*", text) else f"``{text}``"
    return rf"\ {role}\ "


def parameters(thing: Any) -> set[str]:
    """Return the names of what a function or a class takes."""
    try:
        return {*inspect.signature(thing).parameters, *(field for field, _, _ in fields_of(thing))}
    except (TypeError, ValueError):
        return set()


def node_of(thing: Any) -> tuple[ast.stmt | None, list[str]]:
    """Return the syntax of a function or class, and the lines of its source; None if it has none."""
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
        return ast.parse(source).body[0], source.split("\n")
    except (OSError, TypeError, SyntaxError):
        return None, []


def fields_of(thing: Any) -> list[tuple[str, str, str]]:
    """Return (name, "type = default", what the comment behind it or the setting's help says) of a record's fields."""
    if not inspect.isclass(thing) or not (dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")):
        return []
    node, lines = node_of(thing)
    helps = (
        {f.name: f.metadata.get("help", "") for f in dataclasses.fields(thing)}
        if hasattr(thing, "__dataclass_fields__")
        else {}
    )
    found = []
    for each in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id[0] != "_":
            kind = ast.unparse(each.annotation)
            if not kind.startswith("ClassVar"):
                simple = isinstance(each.value, ast.Constant | ast.Tuple | ast.UnaryOp | ast.Name)
                default = f" = {ast.unparse(each.value)}" if each.value and simple else ""
                if helps.get(each.target.id):
                    default = f" = {getattr(thing, each.target.id)!r}"
                behind = lines[(each.end_lineno or 1) - 1].partition("  # ")[2]
                found.append((each.target.id, kind + default, helps.get(each.target.id) or behind))
    return found


def signature(app: Sphinx, what: str, name: str, thing: Any, options: Any, given: str, returned: str) -> Any:
    """Return a signature with the types as the source has them; a record's fields stand below it."""
    if inspect.isclass(thing):
        return ("", None) if fields_of(thing) else None
    node, _ = node_of(thing)
    if not isinstance(node, ast.FunctionDef) or given is None:
        return None
    if what == "method" and node.args.args and node.args.args[0].arg in ("self", "cls"):
        del node.args.args[0]
    return f"({ast.unparse(node.args)})", ast.unparse(node.returns) if node.returns else ""


def unwanted(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Return True for what Python says of a named tuple's fields."""
    return True if (getattr(thing, "__doc__", "") or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", unwanted)
    return {"parallel_read_safe": True}
