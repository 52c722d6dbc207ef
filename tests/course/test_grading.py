"""Grading gives a class the right marks, and what a submission does harms neither the others nor who grades them."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from runs import ROOT, forked, needs

from minitrpo.course.checks.framework import register
from minitrpo.course.checks.framework.register import lectures
from minitrpo.course.grading import inside, running
from minitrpo.course.grading.command import main
from minitrpo.course.grading.running import Outcome
from minitrpo.course.grading.submissions import Cell, Submission, lecture_of
from minitrpo.course.grading.table import Row, handed_back, rows_of, sums

HEADER = """import os, time
import numpy as np
from collections.abc import Callable
from minitrpo.checks import check, mine"""
ENERGY = "def energy(product, b, x):\n    return float(0.5 * x @ product(x) - b @ x)"
WRONG = ENERGY.replace("0.5 * ", "")
CHECK = 'check("energy", energy)'
SOLVER = """def conjugate_gradient(product, b, iterations=10, tolerance=1e-10):
    x, r = np.zeros(len(b)), np.array(b, dtype=float)
    d, rr = r.copy(), r @ r
    enough = tolerance * (b @ b)
    for _ in range(iterations):
        if rr <= enough or not d @ (Ad := product(d)) > 0:
            break
        x, r, old = x + rr / (d @ Ad) * d, r - rr / (d @ Ad) * Ad, rr
        rr = r @ r
        d = r + rr / old * d
    return x, r"""
STARTS = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)', 'MARK'])"
POOL = "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n    print(pool.map(abs, [1, -2]))"
WHOLE, MISSING = "runs from top to bottom", "does not run from top to bottom"

# a class: what a student's cells say of `energy` -> its points, and what is said of it, and of the notebook
CLASS = {
    "honest": ([ENERGY, CHECK], 1, "right", WHOLE),
    "wrong": ([WRONG, CHECK], 0, "", WHOLE),
    "empty": (["def energy(*a):\n    raise NotImplementedError", CHECK], 0, "not attempted", WHOLE),
    "other name": ([ENERGY.replace("energy", "my_energy"), CHECK], 0, "no function energy", "NameError"),
    "raising": (["def energy(*a):\n    return a[3]"], 0, "IndexError", WHOLE),
    "borrowed": (["from minitrpo.conjugate_gradient import energy"], 0, "of the package", WHOLE),
    "mine": (["energy = mine.energy"], 0, "of the package", WHOLE),
    "lambda": (["energy = lambda A, b, x: float(0.5 * x @ A(x) - b @ x)"], 1, "right", WHOLE),
    "method": (["class E:\n    def f(self, A, b, x): return x @ A(x) / 2 - b @ x", "energy = E().f"], 1, "", WHOLE),
    "no colon": ([ENERGY.replace("):", ")")], 0, 'cell 2 ("def energy(product, b, x)") raised SyntaxError', MISSING),
    "no module": (["import nothing_at_all\n" + ENERGY], 0, "raised ModuleNotFoundError", 'cell 2 ("import nothing'),
    "asserts": ([ENERGY + "\nassert energy(np.eye(1).dot, *np.ones((2, 1))) == 7"], 1, "right", "AssertionError"),
    "failing": (["1 / 0", "def f(:", "input()", "np.ones(10**10)", ENERGY], 1, "right", "ZeroDivisionError"),
    "magics": (["%matplotlib inline", "%%time\nx = 1", "!ls", ENERGY], 1, "right", WHOLE),
    "awaits": (["import asyncio\nawait asyncio.sleep(0)", ENERGY], 1, "right", WHOLE),
    "name used again": ([ENERGY, CHECK, "energy = 3"], 1, "right", WHOLE),
    "name deleted": ([ENERGY, "del energy", CHECK], 1, "right", "NameError"),
    "own check": (["def check(*a):\n    print('right')", WRONG, CHECK], 0, "", WHOLE),
    "exits": (["raise SystemExit(0)", ENERGY], 1, "right", "SystemExit"),
    "dies": (["os._exit(0)", "import ctypes; ctypes.string_at(0)", ENERGY], 1, "right", "ended the process (SIGSEGV)"),
    "dies there": (["os._exit(3)\n" + ENERGY], 0, 'cell 2 ("os._exit(3)") ended the process (exit code 3)', MISSING),
    "dies checked": (["def energy(*a):\n    os._exit(0)"], 0, "its check ended the process", WHOLE),
    "endless cell": (["while True:\n    pass", ENERGY], 1, "right", "ran longer"),
    "endless check": (["def energy(*a):\n    time.sleep(999)"], 0, "its check ran longer", WHOLE),
    "memory": (["many = []\nwhile True:\n    many.append(np.ones(10**7))", ENERGY], 1, "right", "MemoryError"),
    "memory checked": (["def energy(*a):\n    return np.ones((10**6, 10**6))"], 0, "MemoryError", WHOLE),
    "writes outside": (["open('PLACE', 'w').write('was here')", ENERGY], 1, "right", "OSError"),
    "leaves a process": ([STARTS, ENERGY], 1, "right", WHOLE),
    "forks": ([POOL, ENERGY], 1, "right", WHOLE),
}  # fmt: skip
QUICK = ("honest", "wrong", "mine", "no colon", "failing", "dies there", "writes outside", "leaves a process")
OTHERS = {  # student -> points, of how many, and what is said of the notebook
    "no bytes": (0, 0, "no notebook"),
    "half": (0, 0, "no notebook"),
    "format 3": (0, 0, "no notebook"),
    "another course": (0, 0, "no exercise"),
    "a link": (0, 0, "no file"),
    "a pipe": (0, 0, "no file"),
    "nothing in it": (0, 2, WHOLE),
    "Jörg/above its imports": (1, 2, f'{MISSING}: cell 1 ("def energy(A: Callable):") raised NameError'),
    "homework (2)": (3, 3, WHOLE),
    "liverpool_05a": (1, 1, WHOLE),
    "'=1+cmd": (3, 3, WHOLE),  # no formula of a spreadsheet
}


def notebook(path, *cells, **metadata):
    """Write a notebook of code cells."""
    cells = [{"cell_type": "code", "source": text, "metadata": {}} for text in cells]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))


def hand_in(folder, chosen=tuple(CLASS), place="", mark=""):
    """Write submissions of a class, each with a right solver. place: a file outside; mark: of a process's command."""
    for student in chosen:
        cells = [cell.replace("PLACE", place).replace("MARK", mark) for cell in CLASS[student][0]]
        notebook(folder / f"{student}.ipynb", HEADER, *cells, SOLVER)


def hand_in_renamed(folder):
    """Write solutions whose names say nothing of their lecture, one of them without its metadata, too."""
    for lecture, name in (("05a_advantages", "homework (2)"), ("05b_trpo", "liverpool_05a"), ("07b_pool", "=1+cmd")):
        built = json.loads((ROOT / "notebooks" / "solutions" / f"{lecture}.ipynb").read_text())
        code = [cell for cell in built["cells"] if cell["cell_type"] == "code"]
        cells = [cell["source"] for n, cell in enumerate(code) if n == 0 or cell["metadata"].get("exercise")]
        notebook(folder / f"{name}.ipynb", *cells, **{} if lecture == "07b_pool" else built["metadata"])


def hand_in_others(folder):
    """Write files that are no notebooks, and notebooks with little in them."""
    for name, text in (("no bytes", ""), ("half", '{"cells": ['), ("format 3", '{"worksheets": []}')):
        (folder / f"{name}.ipynb").write_text(text)
    notebook(folder / "another course.ipynb", "print(1)")
    (folder / "a link.ipynb").symlink_to("nowhere")
    os.mkfifo(folder / "a pipe.ipynb")
    notebook(folder / "nothing in it.ipynb", minitrpo={"lecture": "03_conjugate_gradient"})
    notebook(folder / "Jörg" / "above its imports.ipynb", "def energy(A: Callable):\n    return 0", HEADER, SOLVER)


def table(path):
    """Return {student: {exercise: row}} of a table of grades; the row of the notebook is called ""."""
    found = {}
    for row in csv.DictReader(path.open()):
        name = "" if row["exercise"].startswith("(") else row["exercise"]
        found.setdefault(row["student"], {})[name] = SimpleNamespace(**row)
    return found


def check(rows, chosen):
    """See that a class has its marks."""
    for student in chosen:
        _, points, symptom, note = CLASS[student]
        found = rows[student]
        assert (found["energy"].points, found["conjugate_gradient"].points) == (str(points), "1"), found
        assert symptom in found["energy"].symptom, found
        assert note in found[""].symptom, found


def total(found):
    """Return a student's points, and of how many exercises."""
    return sum(int(row.points or 0) for row in found.values()), len(found) - 1


def running_with(mark):
    """Return the processes whose command line has a word."""
    return subprocess.run(["pgrep", "-f", "--", mark], capture_output=True, text=True, check=False).stdout.split()


def test_a_class_gets_the_right_marks_and_who_marks_by_hand_keeps_them(tmp_path, monkeypatch, capsys):
    needs("namespaces", running.has_namespaces())
    monkeypatch.chdir(tmp_path)
    mark = f"left-{os.getpid()}-{time.time_ns()}"
    hand_in(tmp_path / "class", QUICK, str(tmp_path / "outside"), mark)
    hand_in_others(tmp_path / "class")
    hand_in_renamed(tmp_path / "class")
    before = "student;exercise;points;by_hand\nhonest;energy;1;0,5: well put\nhonest;gone;;1\nwrong;energy;0;1\n"
    (tmp_path / "grades.csv").write_text(before, "utf-8-sig")  # as a spreadsheet leaves it
    (tmp_path / "grades-02.csv").write_text("student,exercise,points,by_hand\nwrong,energy,0,\n")  # thought better of
    assert main(["class", "--memory", "2048"]) == 0
    rows = table(tmp_path / "grades-03.csv")
    check(rows, QUICK)
    for student, (*points, note) in OTHERS.items():
        assert total(rows[student]) == tuple(points), rows[student]
        assert note in rows[student][""].symptom, rows[student]
    assert (rows["honest"]["energy"].by_hand, rows["wrong"]["energy"].by_hand) == ("0,5: well put", "")
    texts = {file.stem: file.read_text() for file in (tmp_path / "grades-03-texts").rglob("*.txt")}
    assert "2.5 of 2" in texts["honest"]
    assert "well put" in texts["honest"]
    assert "raised SyntaxError" in texts["no colon"]
    assert "gone" in capsys.readouterr().err, "a mark by hand that has no row any more is named"
    assert not (tmp_path / "outside").exists()
    assert running_with(mark) == []


BY_HAND = [  # what a lecturer types; the points that are added, None where a number was not counted and a row says so
    *(("", 0), ("well put", 0), ("see step 3", 0), ("- 3. step is wrong", 0), ("1", 1), (" 0,5 ", 0.5), ("-1", -1)),
    *(("0.5: well put", 0.5), ("0,5 : gut", 0.5), ("2 points", 2), ("-1 point, late", -1), ("+1.5 Points!", 1.5)),
    *((remark, None) for remark in ("3. step is wrong", "3. Schritt ist falsch", "1) no axis 2) no title", "2nd try")),
    *((remark, None) for remark in ("0.5 well put", "2 mistakes", "3 pointless steps", "1/2", "2-3 lines too long")),
]


@pytest.mark.parametrize(("typed", "points"), BY_HAND)
def test_points_by_hand_are_what_is_written_as_points_and_of_other_numbers_a_row_says_so(typed, points):
    submission = Submission(Path("ann.ipynb"), "02", problem="it is no notebook")
    rows = rows_of(submission, Outcome(), {("ann", "(02)"): typed})
    assert sums(rows)["ann"] == (points or 0, 0)
    assert [row.exercise for row in rows] == ["(02)"] + ["(by_hand)"] * (points is None)
    assert typed in "".join(row.symptom for row in rows[1:]) or points is not None
    assert "(by_hand)" not in handed_back(rows)
    assert typed in handed_back(rows)


@pytest.mark.slow
def test_the_rest_of_the_class_gets_the_right_marks(tmp_path):
    rest = [student for student in CLASS if student not in QUICK]
    hand_in(tmp_path / "class", rest)
    assert main([str(tmp_path / "class"), "--out", f"{tmp_path}/x.csv", "--memory", "1024", "--seconds", "15"]) == 0
    check(table(tmp_path / "x.csv"), rest)


def test_an_installed_package_gives_the_same_marks(tmp_path):
    shutil.copytree(ROOT / "minitrpo", tmp_path / "site" / "minitrpo", ignore=shutil.ignore_patterns("__pycache__"))
    hand_in_renamed(tmp_path / "class")
    command = [sys.executable, "-P", "-m", "minitrpo", "grade", "class"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")}, check=True)
    for student, found in table(tmp_path / "grades.csv").items():
        assert total(found) == OTHERS[student][:2], found


RING = """%%mpi -n 2 --name ring
from mpi4py import MPI
comm = MPI.COMM_WORLD
numbers = [3, 1, 4]
total = numbers[comm.rank]
if comm.rank == 0 and comm.size > 1:
    comm.send(total, dest=1)
    total = comm.recv(source=comm.size - 1)
if comm.rank > 0:
    total += comm.recv(source=comm.rank - 1)
    comm.send(total, dest=(comm.rank + 1) % comm.size)"""


@pytest.mark.mpi
def test_programs_are_graded_by_their_text(tmp_path):
    """The program of a cell is the answer, whether it ends in the cell or not; a wrong one says which case fails."""
    header = "%load_ext minitrpo.course.mpi\nfrom minitrpo.checks import check, mine"
    failing = "%%mpi -n 1 --name reinforce\n1 / 0"
    gaps = "%%mpi -n 1 --name mean_return\nfrom mpi4py import MPI\nall_returns = [1.0]\nmean = None\n..."
    notebook(tmp_path / "class" / "one.ipynb", header, RING, 'check("ring", ring)', gaps, failing)
    notebook(
        tmp_path / "class" / "two.ipynb", header, RING.replace("total += ", "total = "), "reinforce = mine.reinforce"
    )
    assert main([str(tmp_path / "class"), "--out", f"{tmp_path}/x.csv"]) == 0
    rows = table(tmp_path / "x.csv")
    assert [rows["one"][name].points for name in ("ring", "mean_return", "reinforce")] == ["1", "0", "0"], rows["one"]
    assert rows["one"]["mean_return"].symptom == "not attempted"
    assert "ZeroDivisionError" in rows["one"]["reinforce"].symptom
    assert total(rows["two"]) == (0, 3)
    assert "2 ranks" in rows["two"]["ring"].symptom
    assert rows["two"]["reinforce"].symptom, "the solution, taken from the package, is no answer"


def test_the_points_of_an_exercise_are_those_of_the_register(monkeypatch):
    monkeypatch.setitem(register._exercises, "energy", replace(register.find("energy"), points=3))

    def energy(product, b, x):
        return 0.5 * x @ product(x) - b @ x

    assert inside.verdict("energy", energy) == (3, "right")
    assert inside.verdict("energy", abs)[0] == 0
    rows = [Row("ann", "energy", 3, "", "right"), Row("ann", "conjugate_gradient", 0, "0.5", "")]
    assert sums(rows) == {"ann": (3.5, 4)}
    assert "energy: right (3 of 3)" in handed_back(rows)


def test_every_exercise_belongs_to_the_lecture_in_which_it_is_written():
    mark = re.compile(r'^# %%.*exercise="(\w+)"', re.MULTILINE)
    sources = sorted((ROOT / "notebooks" / "source").glob("[0-9]*.py"))
    written = {source.stem.partition("_")[0]: tuple(mark.findall(source.read_text())) for source in sources}
    assert {number: exercises for number, exercises in written.items() if exercises} == lectures()
    built = {source.stem: json.loads((ROOT / "notebooks" / f"{source.stem}.ipynb").read_text()) for source in sources}
    assert all(book["metadata"]["minitrpo"]["lecture"] == lecture for lecture, book in built.items())


def test_a_lecture_is_known_by_metadata_else_by_its_exercises():
    for built_for, text, lecture in (
        ("05a_advantages", "def energy(A, b, x):", "05a_advantages"),
        ("99_of_another_version", "def energy(A, b, x):", "03"),
        ("", "check('trpo_step', f)", "05b"),
        ("", "energetic = 1", ""),
    ):
        assert lecture_of({"metadata": {"minitrpo": {"lecture": built_for}}}, (Cell(1, text),)) == lecture


def test_bad_paths_are_one_line_and_nothing_is_overwritten(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    notebook(tmp_path / "x.ipynb", ENERGY)
    for words, said in (
        (["nowhere"], "nowhere"),
        (["x.ipynb", "--out", "no/such/grades.csv"], "no/such/grades.csv"),
        (["x.ipynb", "--out", "x.ipynb"], "x.ipynb"),
        (["x.ipynb", "--out", "mine.csv"], "mine.csv"),
        (["x.ipynb", "--seconds", "0"], "--seconds"),
        (["x.ipynb", "--jobs", "0"], "--jobs"),
    ):
        done = forked("grade", *words, cwd=tmp_path, timeout=120)
        assert (done.code, done.err.count("\n"), done.out) == (2, 1, ""), str(done)
        assert said in done.err
    assert sorted(os.listdir(tmp_path)) == ["mine.csv", "x.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("walled", "number"), [(True, signal.SIGKILL), (False, signal.SIGKILL), (False, signal.SIGTERM)]
)
def test_a_grader_that_is_ended_leaves_no_process_of_a_submission(walled, number, tmp_path):
    needs("namespaces", running.has_namespaces() or not walled)
    mark = f"left-{os.getpid()}-{time.time_ns()}"
    notebook(tmp_path / "x.ipynb", STARTS.replace("MARK", mark), "import time; time.sleep(99)", ENERGY)
    program = (
        f"from minitrpo.course.grading import running; running.has_namespaces = lambda: {walled}; import sys;"
        "from minitrpo.course.grading.command import main; sys.exit(main(['x.ipynb']))"
    )
    variables = {**os.environ, "TMPDIR": str(tmp_path)}  # a grader that is killed leaves a folder there
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=variables) as grader:
        until = time.monotonic() + 120
        while not running_with(mark) and time.monotonic() < until:
            time.sleep(0.1)
        assert running_with(mark)
        grader.send_signal(number)
        assert grader.wait(120) == (-9 if number == signal.SIGKILL else 128 + number)
    while running_with(mark) and time.monotonic() < until:
        time.sleep(0.1)
    assert running_with(mark) == []
