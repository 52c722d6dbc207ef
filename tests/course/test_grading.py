"""Grading gives a class the right marks, and what a submission does harms neither the others nor who grades them."""

import csv
import inspect
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from runs import ROOT, forked, needs

from minitrpo.course.checks import names, target
from minitrpo.course.grading import sandbox, submissions, walls
from minitrpo.course.grading.command import main
from minitrpo.course.grading.sandbox import Limits
from minitrpo.course.grading.table import graded

HEADER = """import numpy as np
from collections.abc import Callable
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.policies import Array
"""
ENERGY = """def energy(product, b, x):
    return float(0.5 * x @ product(x) - b @ x)
"""
WRONG = ENERGY.replace("0.5 * ", "")
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
    return x, r
"""
STUB = "def energy(*args):\n    raise NotImplementedError('write the body')\n"
CHECKS = ('check("energy", energy)', 'check("conjugate_gradient", conjugate_gradient)')
EDITED = (CHECKS[0].replace(" energy", " mine.energy"), CHECKS[1])
RIGHT = ("1", "right")


def notebook(path, *cells):
    """Write a notebook of code cells."""
    made = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None} for text in cells
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def of_energy(path, *cells, checks=CHECKS):
    """Write a notebook of lecture 03 whose `energy` comes from these cells, and whose solver is right."""
    return notebook(path, HEADER, *cells, checks[0], SOLVER, *checks[1:])


# a class: what a student's cells say -> points and symptom of `energy`, and what is noted of the notebook, "" if
# anything may be; the solver is always right
CLASS = {
    "honest": ([ENERGY], RIGHT, None),
    "wrong": ([WRONG], ("0", ""), None),
    "empty": ([STUB], ("0", "not attempted"), None),
    "renamed": ([ENERGY.replace("energy", "my_energy")], ("0", "there is no function energy"), "NameError"),
    "raising": (["def energy(*a):\n    return a[3]"], ("0", "IndexError"), None),
    "leaving": (["def energy(*a):\n    raise SystemExit(0)"], ("0", "SystemExit"), ""),
    "copied": ([inspect.getsource(target("energy"))], RIGHT, None),
    "borrowed": (["from minitrpo.conjugate_gradient import energy"], ("0", "package's own function"), None),
    "calling": (["def energy(*a):\n    return mine.energy(*a)"], ("0", "package's own function"), None),
    "broken": (
        ["1 / 0", "def f(:", "%matplotlib inline", "input()", "big = np.ones(10**10)", ENERGY, "nonsense"],
        RIGHT,
        "2 does not run: ZeroDivisionError",
    ),
    "dying": (["import os\nos._exit(0)", "os.kill(os.getpid(), 11)", ENERGY], RIGHT, "code cell 2 ended the process"),
    "edited check": ([WRONG], ("0", "its check cell was edited"), None),
    "own check": (["def check(*a):\n    print('right')", WRONG], ("0", ""), "redefines check"),
    "tampering": (
        ["import minitrpo.course.checks.register as r\nr.find = lambda *a: None", WRONG], ("0", ""), "code cell 2"
    ),
}  # fmt: skip


@pytest.mark.slow
def test_a_folder_of_submissions_gets_the_right_marks(tmp_path, capsys):
    for student in CLASS:
        checks = EDITED if student == "edited check" else CHECKS
        of_energy(tmp_path / "class" / student / "hw.ipynb", *CLASS[student][0], checks=checks)
    (tmp_path / "class" / "ann_03_conjugate_gradient.ipynb").write_text('{"cells": [')
    notebook(tmp_path / "class" / "=1+cmd.ipynb", "print(1)")
    (tmp_path / "class" / "link.ipynb").symlink_to("nowhere")
    os.mkfifo(tmp_path / "class" / "pipe.ipynb")
    assert main([str(tmp_path / "class"), "--out", str(tmp_path / "grades.csv"), "--memory", "2048"]) == 0
    rows = {(r["student"], r["exercise"]): r for r in csv.DictReader((tmp_path / "grades.csv").open())}
    for student in CLASS:
        _, (points, symptom), note = CLASS[student]
        who = f"{student}/hw"
        found = rows[who, "energy"]
        assert found["points"] == points, found
        assert symptom in found["symptom"], found
        assert rows[who, "conjugate_gradient"]["points"] == "1", rows[who, "conjugate_gradient"]
        assert not note or note in rows[who, "(notebook)"]["symptom"]
        assert note is not None or (who, "(notebook)") not in rows, rows[who, "(notebook)"]
    assert rows["ann_03_conjugate_gradient", "energy"]["points"] == "0", "of which lecture it is says its name"
    assert rows["'=1+cmd", "(notebook)"]["symptom"], "no exercise of the course; and no formula of a spreadsheet"
    assert "no file" in rows["link", "(notebook)"]["symptom"]
    assert "no file" in rows["pipe", "(notebook)"]["symptom"]
    assert "honest/hw: 2 of 2\n" in capsys.readouterr().out


def grade(path, others=(), **limits):
    """Return {exercise: (points, symptom)} of one submission."""
    (submission,) = submissions.submissions(path)
    return {row.exercise: (row.points, row.symptom) for row in graded(submission, Limits(**limits), others)}


def test_every_exercise_belongs_to_a_lecture_in_a_clone_and_installed(monkeypatch, tmp_path):
    for sources in (submissions.SOURCES, tmp_path):
        monkeypatch.setattr(submissions, "SOURCES", sources)
        submissions.course.cache_clear()
        assert sorted(name for some in submissions.course().values() for name in some) == sorted(names())
    submissions.course.cache_clear()


def test_bad_paths_are_one_line_and_nothing_is_overwritten(tmp_path):
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    notebook(tmp_path / "x.ipynb", ENERGY)
    for words, said in (
        (["nowhere"], "nowhere"),
        (["text.txt"], "text.txt"),
        (["empty"], "empty"),
        (["x.ipynb", "--out", "no/such/grades.csv"], "no/such/grades.csv"),
        (["x.ipynb", "--out", "x.ipynb"], "x.ipynb exists"),
        (["x.ipynb", "--out", "pipe"], "pipe exists"),
        (["x.ipynb", "--seconds", "0"], "--seconds"),
        (["x.ipynb", "--memory", "1"], "--memory"),
        (["x.ipynb", "--repeat", "-1"], "--repeat"),
    ):
        done = forked("grade", *words, cwd=tmp_path, timeout=120)
        assert (done.code, done.err.count("\n"), done.out) == (2, 1, ""), str(done)
        assert said in done.err


# --- walls

WAYS = pytest.mark.parametrize("walled", [True, False])
FLOOD = """import os, time
while True:
    for number in range(3, 64):
        try:
            os.write(number, b'x')
        except OSError:
            pass
    time.sleep(0.01)
"""
NOSY = """import os
from pathlib import Path
for place in ({bytecode!r}, {other!r}):
    try:
        Path(place).parent.mkdir(exist_ok=True)
        Path(place).write_text('poison')
        os.remove({other!r})
    except OSError:
        pass
raise ValueError([os.environ.get('SECRET_TOKEN'), Path({other!r}).exists(), Path.home() == Path.cwd()])
"""
LEAVES = """import os, subprocess, sys
for away in (False, True):
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(999)', {mark!r}], start_new_session=away)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(999)', {mark!r}])
    os._exit(0)
"""


@pytest.fixture
def chosen(walled, monkeypatch):
    """Let there be walls, or none."""
    needs("namespaces", walls.able() or not walled)
    monkeypatch.setattr(sandbox, "able", lambda: walled)


def running(mark):
    """Return the processes whose command line has a word."""
    return subprocess.run(["pgrep", "-f", "--", mark], capture_output=True, text=True, check=False).stdout.split()


@pytest.mark.slow
@WAYS
def test_a_submission_cannot_look_around_write_elsewhere_or_leave_anything_behind(
    walled, chosen, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    folder, mark = tmp_path / "class", f"left-{os.getpid()}-{time.time_ns()}"
    bytecode = ROOT / "minitrpo" / "course" / "checks" / "__pycache__" / "new.cpython-311.pyc"
    other = of_energy(folder / "b.ipynb", ENERGY)
    cells = NOSY.format(other=str(other), bytecode=str(bytecode)), LEAVES.format(mark=mark), ENERGY
    content = other.read_bytes(), of_energy(folder / "a.ipynb", *cells).read_bytes()
    assert main([str(folder), "--out", str(tmp_path / "grades.csv")]) == 0
    told = list(csv.DictReader((tmp_path / "grades.csv").open()))
    rows = {(row["student"], row["exercise"]): row for row in told}
    assert rows["a", "energy"]["points"] == "0", "what it left at work could have answered in its place"
    assert "ValueError: [None, False, True]" in " ".join(row["symptom"] for row in told)
    assert ("put back" in capsys.readouterr().out) == (not walled)
    assert rows["b", "energy"]["points"] == rows["b", "conjugate_gradient"]["points"] == "1"
    assert (other.read_bytes(), (folder / "a.ipynb").read_bytes()) == content
    assert sorted(os.listdir(folder)) == ["a.ipynb", "b.ipynb"]
    assert not bytecode.exists()
    assert running(mark) == []


@pytest.mark.slow
def test_what_hangs_or_floods_the_grader_is_ended_and_the_rest_is_graded(tmp_path):
    cells = (FLOOD, "import time\ndef energy(*a):\n    time.sleep(999)")
    found = grade(of_energy(tmp_path / "x.ipynb", *cells), seconds=10)
    assert found["energy"] == (0, "its check ran longer than 10 s")
    assert found["conjugate_gradient"] == (1, "right")
    assert "code cell 2 ran longer than 10 s" in found["(notebook)"][1]


@pytest.mark.slow
@pytest.mark.parametrize(("walled", "number"), [(True, signal.SIGKILL), (False, signal.SIGTERM)])
def test_a_grader_that_is_ended_leaves_no_process_of_a_submission(walled, chosen, number, tmp_path):
    mark = f"left-{os.getpid()}-{time.time_ns()}"
    cell = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(999)', {mark!r}])"
    of_energy(tmp_path / "x.ipynb", cell, ENERGY)
    program = (
        f"from minitrpo.course.grading import sandbox; sandbox.able = lambda: {walled}; import sys;"
        "from minitrpo.course.grading.command import main; sys.exit(main(['x.ipynb']))"
    )
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=variables) as grader:
        until = time.monotonic() + 120
        while not running(mark) and time.monotonic() < until:
            time.sleep(0.1)
        assert running(mark)
        grader.send_signal(number)
        assert grader.wait(120) == (-9 if number == signal.SIGKILL else 128 + number)
    while running(mark) and time.monotonic() < until:
        time.sleep(0.1)
    assert running(mark) == []
