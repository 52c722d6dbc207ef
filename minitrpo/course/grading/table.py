"""The table of grades: a row for each student and exercise, and one for a notebook of which there is more to say."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import minitrpo
from minitrpo.course.grading.sandbox import Limits, Outcome, run
from minitrpo.course.grading.submissions import Submission, check_cell, remarks
from minitrpo.errors import shorten

NOTEBOOK = "(notebook)"


class Row(NamedTuple):
    """One line of the table; points are None in the row of a notebook as a whole."""

    student: str
    exercise: str
    points: int | None
    symptom: str


def graded(submission: Submission, limits: Limits, others: tuple[Path, ...] = ()) -> list[Row]:
    """Return the rows of a submission. others: folders that it is not to see, where there are walls."""
    if submission.problem:
        rows = [Row(submission.student, name, 0, "not checked") for name in submission.exercises]
        return [*rows, Row(submission.student, NOTEBOOK, None, submission.problem)]
    outcome = run(submission, limits, others)
    rows = [Row(submission.student, name, *verdict(submission, outcome, name)) for name in submission.exercises]
    cells = sorted(outcome.cells.items(), key=lambda item: int(item[0]))
    notes = [f"code cell {number} {problem}" for number, problem in cells] + remarks(submission.cells)
    return [*rows, Row(submission.student, NOTEBOOK, None, "; ".join(notes))] if notes else rows


def verdict(submission: Submission, outcome: Outcome, name: str) -> tuple[int, str]:
    """Return points and symptom of an exercise, with what became of its check cell."""
    points, symptom = outcome.verdicts[name]
    change = check_cell(name, submission.cells)
    return points, f"{symptom} (its check cell was {change})" if change else symptom


class Guard:
    """The files that no submission may change: the package and all submissions; what is changed is put back."""

    def __init__(self, submissions: list[Submission]) -> None:
        package = Path(minitrpo.__file__).parent
        self.package = package.resolve()
        self.files = {file.resolve(): file.read_bytes() for file in package.rglob("*.py*") if file.is_file()}
        self.files |= {each.path.resolve(): each.content for each in submissions if each.content}

    def mended(self) -> list[str]:
        """Put back what was changed or deleted, and return the names of those files."""
        changed = [file for file, content in self.files.items() if _differs(file, content)]
        for bytecode in set(self.package.rglob("*.pyc")) - self.files.keys():
            bytecode.unlink(missing_ok=True)  # it would be run instead of its source, for ever after
        for file in changed:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self.files[file])
        return [file.name for file in changed if file.suffix != ".pyc"]  # those others of the user's write, too


def _differs(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() != content
    except OSError:
        return True


def defused(cell: Any) -> Any:
    """Return a cell that a spreadsheet takes for a text, whatever a student has called a file."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def as_csv(rows: Sequence[tuple[Any, ...]], names: tuple[str, ...] = Row._fields) -> str:
    """Return a table as a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def as_text(rows: Sequence[tuple[Any, ...]], names: tuple[str, ...] = Row._fields) -> str:
    """Return a table as it is printed."""
    lines = [[shorten("" if cell is None else cell, str, 300) for cell in row] for row in (names, *rows)]
    *widths, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join("  ".join([*map(str.ljust, line, widths), line[-1]]).rstrip() for line in lines)


def sums(rows: list[Row]) -> list[str]:
    """Return "student: 2 of 3" for each student."""
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row.student, []).extend([] if row.points is None else [row.points])
    return [f"{student}: {sum(points)} of {len(points)}" for student, points in found.items()]
