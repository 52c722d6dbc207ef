"""The table that a learning platform exported, with the points filled in: Canvas and Moodle take their own file back.

Canvas: Grades, Export; Moodle: the assignment's grading worksheet, or the export of its grades. Both name a downloaded
submission after its student and a number, which the table has, too: doejane_12345_67890_file.ipynb,
"Jane Doe_12345_assignsubmission_file".
"""

import csv
import io
import re
from pathlib import Path

from minitrpo.course.grading.table import Row, sums
from minitrpo.errors import BadInput

WHO = (  # columns that say whose row it is; first name and last name make a full one
    *("id", "sis user id", "sis login id", "student", "identifier", "id number", "username", "email address"),
    *("full name", "integration id"),
)
MOODLE = "Grade"
MOST = 16 * 2**20  # bytes of a table


def filled(path: Path, column: str | None, rows: list[Row]) -> tuple[str, list[str]]:
    """Return the table as CSV with each student's points in `column`, and the students whom it does not have.

    column: None: Moodle's Grade. BadInput if the file is no such table, or has no such column.
    """
    header, *lines = read(path)
    if (name := column or MOODLE) not in header:
        others = ", ".join(repr(each) for each in header if each.strip().lower() not in WHO)
        raise BadInput(f"{path} has no column {name!r}: choose --column from {others}")
    place, points = header.index(name), sums(rows)
    keys = [keys_of(dict(zip(header, line, strict=False))) for line in lines]
    found: dict[int, list[str]] = {}
    for student in points:
        number = next((n for word in words_of(student) for n in range(len(lines)) if word in keys[n]), None)
        found.setdefault(-1 if number is None else number, []).append(student)
    missing = found.pop(-1, [])
    for number, students in found.items():
        if len(students) > 1:  # two notebooks of one student: whose points count is not for a program to say
            missing += students
            continue
        lines[number] += [""] * (len(header) - len(lines[number]))
        lines[number][place] = f"{points[students[0]][0]:g}"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue(), missing


def read(path: Path) -> list[list[str]]:
    """Return the lines of a table; BadInput if there is none."""
    try:
        if path.stat().st_size > MOST:
            raise BadInput(f"{path} is larger than {MOST // 2**20} MiB: that is no table of a class")
        lines = list(csv.reader(io.StringIO(path.read_text("utf-8-sig")), strict=True))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path} is no CSV file: {error}") from None
    if not lines or not {cell.strip().lower() for cell in lines[0]} & {*WHO, "first name"}:
        raise BadInput(f"{path} does not say who is who: export the table from Canvas or Moodle, and give that file")
    return lines


def keys_of(line: dict[str, str]) -> set[str]:
    """Return the words by which a line's student may be called."""
    cells = {name.strip().lower(): cell for name, cell in line.items()}
    said = [cells[name] for name in WHO if cells.get(name)]
    said.append(f"{cells.get('first name', '')} {cells.get('last name', cells.get('surname', ''))}")
    mails = [cell.partition("@")[0] for cell in said if "@" in cell]
    numbers = [digits for cell in said for digits in re.findall(r"\d{3,}$", cell)]  # "Participant 12345"
    return {plain(cell) for cell in (*said, *mails, *numbers)} - {""}


def words_of(student: str) -> list[str]:
    """Return what a submission's name may say of its student: folder by folder, the whole and its parts."""
    parts = [part for folder in student.split("/") for part in (folder, *folder.split("_"))]
    return [plain(part) for part in parts if plain(part)]


def plain(text: str) -> str:
    """Return a name's letters and digits alone, in small."""
    return "".join(letter for letter in text.lower() if letter.isalnum())
