"""Submitted notebooks: which there are, which lecture each is of, and which code cells it has."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.course.checks.framework.register import lectures
from minitrpo.errors import BadInput, shorten

LARGEST = 2**26  # bytes of a notebook


class Cell(NamedTuple):
    """A code cell: its number among all cells, as JupyterLab counts them, its text, and the exercise it was built for.

    exercise: "" for other cells, and where the notebook has lost its metadata.
    """

    number: int
    text: str
    exercise: str = ""

    def __str__(self) -> str:
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        return f'cell {self.number} ("{shorten(first, str)}")'

    def defines(self, exercise: str) -> bool:
        """Return whether a student writes the function or the program of an exercise here."""
        written = rf"^ *def {exercise}\b|\A%%mpi\b.*--name[ =]{exercise}\b"
        return self.exercise == exercise or bool(re.search(written, self.text, re.MULTILINE))

    def has(self, exercise: str) -> bool:
        """Return whether an exercise is written or checked here."""
        return self.defines(exercise) or bool(re.search(rf"\bcheck\(['\"]{exercise}['\"]", self.text))


@dataclass(frozen=True)
class Submission:
    """A notebook that was handed in. path: within the folder of all; problem: why it cannot be graded, "" if it can."""

    path: Path
    lecture: str = ""
    cells: tuple[Cell, ...] = ()
    problem: str = ""

    @property
    def student(self) -> str:
        """Return what the student is called: the file's path, so that it can be written even if it is no UTF-8."""
        return written(self.path.with_suffix(""))

    @property
    def exercises(self) -> tuple[str, ...]:
        """Return the exercises of the lecture, none where it is not known."""
        return lectures().get(number_of(self.lecture), ())


def submissions(path: Path) -> list[Submission]:
    """Return the submissions in a folder, or the one that a file is; BadInput if there is none."""
    if not path.exists():
        raise BadInput(f"there is no {path}: name a notebook, or a folder of them")
    if path.is_file() and path.suffix != ".ipynb":
        raise BadInput(f"{path} is no notebook: its name does not end in .ipynb")
    files = [path] if path.is_file() else sorted(path.rglob("*.ipynb"))
    folder = path.parent if path.is_file() else path
    files = [file for file in files if ".ipynb_checkpoints" not in file.parts]
    if not files:
        raise BadInput(f"there is no notebook in {path}")
    return [submission(file, file.relative_to(folder)) for file in files]


def written(path: Path) -> str:
    """Return a path so that it can be written, even one whose name is no UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def submission(file: Path, path: Path) -> Submission:
    """Return a file as a submission, whatever is in it."""
    try:
        notebook = json.loads(content(file, LARGEST))
        cells = code_cells(notebook)
        lecture = lecture_of(notebook, cells)
    except BadInput as error:
        return Submission(path, problem=str(error))
    except OSError as error:
        return Submission(path, problem=f"the file cannot be read: {error.strerror}")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return Submission(path, problem="the file is no notebook (of format 4)")
    return Submission(path, lecture, cells, "" if lecture else "no exercise of the course is in it")


def content(path: Path, most: int) -> bytes:
    """Return what is in a file that somebody else has made; BadInput for a link, a pipe, or more bytes than that."""
    if path.is_symlink() or not path.is_file():
        raise BadInput("this is no file: a folder, a pipe or a link")
    if path.stat().st_size > most:
        raise BadInput(f"the file has more than {most} bytes")
    return path.read_bytes()


def code_cells(notebook: Any) -> tuple[Cell, ...]:
    """Return the code cells of a notebook read as JSON."""
    return tuple(
        Cell(number, "".join(cell["source"]), str(cell.get("metadata", {}).get("exercise", "")))  # a text, or its lines
        for number, cell in enumerate(notebook["cells"], start=1)
        if cell["cell_type"] == "code"
    )


def lecture_of(notebook: Any, cells: tuple[Cell, ...]) -> str:
    """Return the lecture that a notebook was built for, such as 05a_advantages.

    A notebook that has lost its metadata is of the lecture of whose exercises it has most, by its number such as 05a;
    "" if it has none.
    """
    course = lectures()
    built = str(notebook.get("metadata", {}).get("minitrpo", {}).get("lecture"))
    if number_of(built) in course and re.fullmatch(r"\w{3,80}", built):
        return built
    hits = {number: sum(any(c.has(e) for c in cells) for e in exercises) for number, exercises in course.items()}
    best = max(hits, key=hits.__getitem__)
    return best if hits[best] else ""


def number_of(lecture: str) -> str:
    """Return the number of a lecture: 05a of 05a_advantages."""
    return lecture.partition("_")[0]
