"""What Canvas and Moodle exported comes back with the points in it, and is otherwise as it was."""

import csv
import io
import re

import pytest

from minitrpo.course.grading.gradebook import filled
from minitrpo.course.grading.table import NOTEBOOK, Row
from minitrpo.errors import BadInput

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 3 (4711),Final Score
    Points Possible,,,,,4.0,(read only)
"Doe, Jane",12345,S1,jdoe,A,,50
"Roe, Richard",67890,S2,rroe,A,1,60
"Poe, Edgar",24680,S3,epoe,B,,70
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (grade),Feedback comments
Participant 12345,Jane Doe,jane@example.org,Submitted,,4.00,-,
Participant 67890,Zoë Roe,zoe@example.org,Submitted,,4.00,-,"well, done"
"""


def rows_of(points):
    rows = [Row(student, f"exercise {k}", 1, "right") for student, count in points.items() for k in range(count)]
    return [*rows, *(Row(student, NOTEBOOK, None, "a note") for student in points)]


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("names", [("doejane_12345_67890_lab3", "roerichard_LATE_67890_12345_lab3"), ("jdoe", "RRoe")])
def test_canvas_gets_its_own_table_back_with_the_points(tmp_path, names):
    book = tmp_path / "book.csv"
    book.write_text(CANVAS, "utf-8-sig")  # Canvas writes a byte order mark
    text, missing = filled(book, "Lab 3 (4711)", rows_of({names[0]: 3, names[1]: 2}))
    assert not missing
    assert [line["Lab 3 (4711)"] for line in read(text)] == ["4.0", "3", "2", ""]
    before, after = read(CANVAS), read(text)
    others = [name for name in before[0] if name != "Lab 3 (4711)"]
    assert [[line[n] for n in others] for line in before] == [[line[n] for n in others] for line in after]


@pytest.mark.parametrize("name", ["Jane Doe_12345_assignsubmission_file_/lab3", "jane", "jane@example.org", "Jane Doe"])
def test_moodle_gets_its_own_table_back_with_the_points(tmp_path, name):
    book = tmp_path / "book.csv"
    book.write_text(MOODLE)
    text, missing = filled(book, None, rows_of({name: 3, "Zoë Roe_67890_assignsubmission_file_/lab3": 0}))
    assert not missing
    assert [line["Grade"] for line in read(text)] == ["3", "0"]
    kept = [{**line, "Grade": ""} for line in read(text)]
    assert kept == read(MOODLE)


def test_whoever_is_not_in_it_or_twice_is_named_and_nothing_is_guessed(tmp_path):
    book = tmp_path / "book.csv"
    book.write_text(MOODLE)
    text, missing = filled(book, None, rows_of({"ann": 3, "jane": 1, "Jane Doe_12345_x": 2, "zoe": 4}))
    assert sorted(missing) == ["Jane Doe_12345_x", "ann", "jane"]
    assert [line["Grade"] for line in read(text)] == ["", "4"]


@pytest.mark.parametrize(
    ("content", "column", "said"),
    [
        (CANVAS, None, "choose --column from 'Section', 'Lab 3 (4711)', 'Final Score'"),
        (MOODLE, "Lab", "no column 'Lab'"),
        ("a,b\n1,2\n", None, "does not say who is who"),
        ("", None, "does not say who is who"),
        ('Student,Grade\n"open', None, "no CSV file"),
        (b"\xff\xfe\x00", None, "no CSV file"),
        (None, None, "No such file"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path, content, column, said):
    book = tmp_path / "book.csv"
    if content is not None:
        book.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput, match=re.escape(said)):
        filled(book, column, [])
