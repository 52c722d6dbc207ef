"""The table of grades: a row for each student and exercise, and one for a notebook of which there is more to say."""

import csv
import io
from pathlib import Path
from typing import NamedTuple

import minitrpo
from minitrpo.errors import shown
from minitrpo.grading.sandbox import Limits, Outcome, run
from minitrpo.grading.submissions import Submission, check_cell, remarks

NOTEBOOK = "(notebook)"


class Row(NamedTuple):
    """One line of the table; points are None in the row of a notebook as a whole."""

    student: str
    exercise: str
    points: int | None
    symptom: str


def graded(submission: Submission, limits: Limits) -> list[Row]:
    """Return the rows of a submission."""
    if submission.problem:
        rows = [Row(submission.student, name, 0, "not checked") for name in submission.exercises]
        return [*rows, Row(submission.student, NOTEBOOK, None, submission.problem)]
    outcome = run(submission, limits)
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
        self.files = {file.resolve(): file.read_bytes() for file in package.rglob("*.py")}
        self.files |= {each.path.resolve(): each.content for each in submissions if each.content}

    def mended(self) -> list[str]:
        """Put back what was changed or deleted, and return the names of those files."""
        changed = [file for file, content in self.files.items() if _differs(file, content)]
        for file in changed:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self.files[file])
        return [file.name for file in changed]


def _differs(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() != content
    except OSError:
        return True


def as_csv(rows: list[Row]) -> str:
    """Return the table as a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
    return text.getvalue()


def as_text(rows: list[Row]) -> str:
    """Return the table as it is printed."""
    lines = [[shown("" if cell is None else cell, str, 300) for cell in row] for row in (Row._fields, *rows)]
    *widths, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join("  ".join([*map(str.ljust, line, widths), line[-1]]).rstrip() for line in lines)


def sums(rows: list[Row]) -> list[str]:
    """Return "student: 2 of 3" for each student."""
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row.student, []).extend([] if row.points is None else [row.points])
    return [f"{student}: {sum(points)} of {len(points)}" for student, points in found.items()]
