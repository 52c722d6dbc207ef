"""The table of grades: for each student a row for the notebook and one for each exercise; and a text to hand back."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.course.checks.framework.register import find
from minitrpo.course.grading.running import Outcome
from minitrpo.course.grading.submissions import Submission
from minitrpo.errors import BadInput, shorten

# Points by hand: the number alone, or before a colon or the word "points". "3. step is wrong" has no points in it.
POINTS = re.compile(r"\s*([+-]?\d+(?:[.,]\d+)?)\s*(?:$|:|points?\b|pts?\b)", re.IGNORECASE)
DOUBT = "(by_hand)"  # in the column exercise, of a row that says why a number was not counted
SHOWN = 3  # cells that do not run: later ones mostly lack what those should have made


class Row(NamedTuple):
    """One line of the table. points: None in the row of the notebook; by_hand: points that are added, and words."""

    student: str
    exercise: str
    points: int | None
    by_hand: str
    symptom: str


Marks = dict[tuple[str, str], str]  # (student, exercise) -> what the lecturer has typed


def rows_of(submission: Submission, outcome: Outcome, marks: Marks) -> list[Row]:
    """Return the rows of a submission: that of the notebook, those of its exercises, and doubts about marks by hand."""
    wrong = [f"{cell} {outcome.cells[cell.number]}" for cell in submission.cells if cell.number in outcome.cells]
    more = [f"and {len(wrong) - SHOWN} more cells"] if len(wrong) > SHOWN else []
    said = "; ".join(wrong[:SHOWN] + more)
    whole = f"does not run from top to bottom: {said}" if wrong else "runs from top to bottom"
    found: list[tuple[str, int | None, str]] = [
        (f"({submission.lecture or 'notebook'})", None, submission.problem or whole)
    ]
    if not submission.problem:
        found += [(name, *verdict(submission, outcome, name)) for name in submission.exercises]
    student = submission.student
    rows = [
        Row(student, name, points, marks.get((as_text_cell(student), name), ""), symptom)
        for name, points, symptom in found
    ]
    return rows + [Row(student, DOUBT, None, "", doubt(row)) for row in rows if is_doubtful(row.by_hand)]


def verdict(submission: Submission, outcome: Outcome, name: str) -> tuple[int, str]:
    """Return points and symptom of an exercise: if its function is not there, why."""
    points, symptom = outcome.verdicts[name]
    if points or symptom:
        return points, symptom
    broken = [cell for cell in submission.cells if cell.number in outcome.cells and cell.defines(name)]
    if broken:
        return 0, f"{broken[-1]} {outcome.cells[broken[-1].number]}"
    return 0, f"there is no function {name} in the notebook"


def sums(rows: Iterable[Row]) -> dict[str, tuple[float, int]]:
    """Return {student: (points, those by hand included, and the points of all exercises of the notebook)}."""
    found: dict[str, tuple[float, int]] = {}
    for row in rows:
        points, possible = found.get(row.student, (0, 0))
        found[row.student] = (points + (row.points or 0) + number(row.by_hand), possible + points_of(row))
    return found


def points_of(row: Row) -> int:
    """Return the points of the exercise of a row by the register; 0 in a row of something else."""
    return 0 if row.points is None else find(row.exercise).points


def number(by_hand: str) -> float:
    """Return the points of a mark by hand: 0.5 of "0.5", "0,5: a fine figure" and "0.5 points"; 0 if it has none."""
    begins = POINTS.match(by_hand)
    return float(begins[1].replace(",", ".")) if begins else 0.0


def is_doubtful(by_hand: str) -> bool:
    """Return whether a mark by hand begins with a number that `number` does not take for points."""
    return re.match(r"\s*[+-]?\d", by_hand) is not None and POINTS.match(by_hand) is None


def doubt(row: Row) -> str:
    """Return what is said of a row whose mark by hand is doubtful."""
    return (
        f"{row.exercise}: {shorten(row.by_hand)} adds no points, because it may be a remark that begins with a number; "
        "write points as 0.5, as 0.5: well put, or as 0.5 points"
    )


def handed_back(rows: list[Row]) -> str:
    """Return a student's rows as a text for the student."""
    ((student, (points, possible)),) = sums(rows).items()
    lines = [f"{student}: {points:g} of {possible}", ""]
    for row in rows:
        if row.exercise == DOUBT:  # which is for the lecturer
            continue
        points_said = "" if row.points is None else f" ({row.points} of {points_of(row)})"
        lines.append(f"{row.exercise}: {row.symptom}{points_said}")
        lines += [f"    by hand: {row.by_hand}"] * bool(row.by_hand)
    return "\n".join([*lines, ""])


def as_text_cell(cell: Any) -> Any:
    """Return a cell that a spreadsheet takes for a text, whatever a student has called a file."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def as_csv(rows: Sequence[tuple[Any, ...]], names: tuple[str, ...] = Row._fields) -> str:
    """Return a table as a CSV file; marks by hand stay as they were typed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(c if name == "by_hand" else as_text_cell(c) for c, name in zip(row, names, strict=True))
    return text.getvalue()


def marks_in(path: Path) -> Marks:
    """Return the marks by hand in a table of grades; BadInput if the file is none."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}, which may have marks by hand: {error}") from None
    comma = ";" if ";" in text.partition("\n")[0] else ","  # as spreadsheets write them where 0,5 is a number
    lines = csv.DictReader(io.StringIO(text), delimiter=comma)
    if not {"student", "exercise", "by_hand"} <= set(lines.fieldnames or ()):
        raise BadInput(f"{path} is no table of grades, with a column by_hand: move it away, or choose another --out")
    return {(line["student"], line["exercise"]): line["by_hand"] or "" for line in lines}


def as_text(rows: Sequence[tuple[Any, ...]], names: tuple[str, ...] = Row._fields) -> str:
    """Return a table as it is printed."""
    lines = [[shorten("" if cell is None else cell, str, 300) for cell in row] for row in (names, *rows)]
    *widths, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join("  ".join([*map(str.ljust, line, widths), line[-1]]).rstrip() for line in lines)
