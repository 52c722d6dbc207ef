"""Submitted notebooks: which there are, which lecture each is of, and what became of its check cells."""

import ast
import functools
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.course import checks
from minitrpo.course.checks import names, target
from minitrpo.course.checks.register import LECTURES
from minitrpo.errors import BadInput

SOURCES = Path(__file__).parents[3] / "notebooks" / "source"
LARGEST = 2**26  # bytes of a notebook
CHECKS = Path(checks.__file__).parent


class Cell(NamedTuple):
    """A code cell: its text, and which exercise it had or checked when the notebook was built."""

    text: str
    exercise: str
    check: str


@dataclass(frozen=True)
class Submission:
    """A notebook that was handed in. `problem` says why it cannot be read, if so."""

    student: str
    path: Path
    content: bytes
    cells: tuple[Cell, ...] = ()
    problem: str = ""
    exercises: tuple[str, ...] = field(default=())


def submissions(path: Path) -> list[Submission]:
    """Return the submissions in a folder, or the one that a file is; BadInput if there is none."""
    if not path.exists():
        raise BadInput(f"there is no {path}: name a notebook, or a folder of them")
    if path.is_file() and path.suffix != ".ipynb":
        raise BadInput(f"{path} is no notebook: its name does not end in .ipynb")
    files = [path] if path.is_file() else sorted(path.rglob("*.ipynb"))
    folder = path.parent if path.is_file() else path
    files = [f for f in files if ".ipynb_checkpoints" not in f.parts]
    if not files:
        raise BadInput(f"there is no notebook in {path}")
    return [submission(written(file.relative_to(folder).with_suffix("")), file) for file in files]


def written(path: Path) -> str:
    """Return a path so that it can be written, even one whose name is no UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def submission(student: str, path: Path) -> Submission:
    """Return a file as a submission, whatever is in it."""
    try:
        read = content(path, LARGEST)
    except BadInput as error:
        return Submission(student, path, b"", problem=str(error))
    except OSError as error:
        return Submission(student, path, b"", problem=f"the file cannot be read: {error.strerror}")
    try:
        cells = code_cells(json.loads(read))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        named = exercises_of((), student)
        return Submission(student, path, read, problem="the file is no notebook (of format 4)", exercises=named)
    found = exercises_of(cells, student)
    problem = "" if found else "no exercise of the course is in it"
    return Submission(student, path, read, cells, problem, found)


def content(path: Path, most: int) -> bytes:
    """Return what is in a file that somebody else has made; BadInput for a link, a pipe, or more bytes than that."""
    if path.is_symlink() or not path.is_file():
        raise BadInput("this is no file: a folder, a pipe or a link")
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise BadInput(f"the file has more than {most} bytes")
    return found


def code_cells(notebook: Any) -> tuple[Cell, ...]:
    """Return the code cells of a notebook read as JSON."""
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text, marks = cell["source"], cell.get("metadata", {})
            cells.append(
                Cell("".join(text), str(marks.get("exercise", "")), str(marks.get("check", "")))  # a text, or its lines
            )
    return tuple(cells)


@functools.cache
def course() -> dict[str, tuple[str, ...]]:
    """Return {lecture: its exercises}: of the sources where this is a clone, else by the files of checks."""
    sources = sorted(SOURCES.glob("[0-9]*.py"))
    if sources:
        mark = re.compile(r'^# %%.*exercise="(\w+)"', re.MULTILINE)
        found = {source.stem: mark.findall(source.read_text("utf-8")) for source in sources}
        return {lecture: tuple(name for name in some if name in names()) for lecture, some in found.items()}
    files = {lecture: CHECKS / f"{lecture}.py" for lecture in LECTURES}
    texts = {lecture: file.read_text("utf-8") for lecture, file in files.items() if file.exists()}
    return {lecture: tuple(name for name in names() if f'"{name}",\n' in text) for lecture, text in texts.items()}


def exercises_of(cells: tuple[Cell, ...], student: str) -> tuple[str, ...]:
    """Return the exercises of the lecture that a notebook is of: by its file's name, else by what is in it."""
    for lecture, exercises in course().items():
        if lecture in student.rpartition("/")[2]:
            return exercises
    lectures = list(course().values())
    hits = [sum(is_in(name, cells) for name in exercises) for exercises in lectures]
    return lectures[hits.index(max(hits))] if max(hits, default=0) else ()


def is_in(name: str, cells: tuple[Cell, ...]) -> bool:
    """Return whether a notebook has, defines or checks an exercise."""
    words = re.compile(rf"^def {target(name).__name__}\b|\bcheck\(['\"]{name}['\"]", re.MULTILINE)
    return any(name in (cell.exercise, cell.check) or words.search(cell.text) for cell in cells)


def check_cell(name: str, cells: tuple[Cell, ...]) -> str:
    """Return what became of the cell that checks an exercise: "" if it is there, else "deleted" or "edited"."""
    as_built = ast.dump(ast.parse(f'check("{name}", {target(name).__name__})').body[0])
    if any(ast.dump(statement) == as_built for cell in cells for statement in statements(cell.text)):
        return ""
    rest = re.compile(rf"\bcheck\(\s*['\"]{name}['\"]")
    return "edited" if any(cell.check == name or rest.search(cell.text) for cell in cells) else "deleted"


def statements(text: str) -> list[ast.stmt]:
    """Return the statements of a cell, none if it is not Python."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def remarks(cells: tuple[Cell, ...]) -> list[str]:
    """Return where a reader of the notebook should look: at its own `check`, at looks behind the scenes."""
    found = []
    for number, cell in enumerate(cells, start=1):
        for node in (node for statement in statements(cell.text) for node in ast.walk(statement)):
            word = redefined_check(node) or peeked(node)
            if word and (text := f"code cell {number} {word}") not in found:
                found.append(text)
    return found


def redefined_check(node: ast.AST) -> str:
    """Return what is said of a node that gives the name `check` to something else."""
    bound = isinstance(node, ast.FunctionDef) and node.name == "check"
    bound |= isinstance(node, ast.Name) and node.id == "check" and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.ImportFrom | ast.Import):
        ours = getattr(node, "module", None) in ("minitrpo.checks", "minitrpo.course.checks")
        bound |= not ours and any((a.asname or a.name) == "check" for a in node.names)
    return "redefines check (grading does not use it)" if bound else ""


FRAMES_OF = ("tb_frame", "gi_frame", "cr_frame", "f_back", "f_locals", "f_globals", "__subclasses__")
PEEKING = {"getsource": "reads source code", "getsourcelines": "reads source code", "__file__": "reads source code"}
PEEKING |= dict.fromkeys(
    ("_getframe", "currentframe", "get_objects", "get_referrers", *FRAMES_OF), "looks at what the check keeps"
)


def peeked(node: ast.AST) -> str:
    """Return what is said of a node that reads the package's source, or what a check expects."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.alias):
        name = node.name
    return f"{PEEKING[name]} ({name})" if name in PEEKING else ""
