"""What a submission cannot do to those who grade it, to the others, and to the machine; with walls, and without."""

import csv
import marshal
import os
import signal
import subprocess
import sys
import time

import pytest
from runs import ROOT
from test_grading import CHECKS, ENERGY, HEADER, SOLVER, notebook, of_energy

from minitrpo.course.grading import sandbox, submissions, walls
from minitrpo.course.grading.command import main
from minitrpo.course.grading.sandbox import Limits
from minitrpo.course.grading.seal import heard, signer
from minitrpo.course.grading.table import Guard, defused, graded
from minitrpo.supervision.descendants import is_spared

WAYS = pytest.mark.parametrize("walled", [True, False])


@pytest.fixture
def chosen(walled, monkeypatch):
    """Let there be walls, or none."""
    if walled and not walls.able():
        pytest.skip("this system has no namespaces for this user")
    monkeypatch.setattr(sandbox, "able", lambda: walled)


def symptoms(path, others=(), **limits):
    """Return {exercise: (points, symptom)} of one submission."""
    (submission,) = submissions.submissions(path)
    return {row.exercise: (row.points, row.symptom) for row in graded(submission, Limits(**limits), others)}


NOSY = """import os
from pathlib import Path
raise ValueError([os.environ.get('SECRET_TOKEN'), Path({other!r}).exists(), Path.home() == Path.cwd()])
"""
POISON = """import importlib.util
source = {source!r}
place = Path(importlib.util.cache_from_source(source))
bad = b'\\xa7\\r\\r\\n' + (1).to_bytes(4, 'little') + bytes(8)
bad += {code!r}
place.parent.mkdir(parents=True, exist_ok=True)
place.write_bytes(bad)
Path({package!r}, '__pycache__', 'new.cpython-311.pyc').write_bytes(bad)
"""
LEAVES = """import subprocess, sys
for away in (False, True):
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)', {mark!r}], start_new_session=away)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(99)', {mark!r}])
    os._exit(0)
import time; time.sleep(1)
"""


def running(mark):
    """Return the processes whose command line has a word."""
    return subprocess.run(["pgrep", "-f", "--", mark], capture_output=True, text=True, check=False).stdout.split()


@pytest.mark.slow
@WAYS
def test_a_submission_cannot_poison_look_around_or_leave_anything_behind(walled, chosen, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    (tmp_path / "class").mkdir()
    other = of_energy(tmp_path / "class" / "b.ipynb", ENERGY)
    package, mark = ROOT / "minitrpo" / "course" / "checks", f"left-{os.getpid()}-{time.time_ns()}"
    words = str(package / "words.py")
    code = marshal.dumps(compile('raise SystemExit("poison")', words, "exec"))
    cells = (NOSY.format(other=str(other)), POISON.format(source=words, package=str(package), code=code),
             LEAVES.format(mark=mark), ENERGY)  # fmt: skip
    guard = Guard(submissions.submissions(other))
    path = notebook(tmp_path / "a.ipynb", HEADER, *cells, CHECKS[0], SOLVER, CHECKS[1])
    found = symptoms(path, (tmp_path / "class",))
    for exercise in ("energy", "conjugate_gradient"):  # what it left could have answered in its place
        points, symptom = found[exercise]
        assert points == 0
        assert symptom.startswith("not checked: a process that a cell has started is still at work")
    assert f"ValueError: [None, {not walled}, True]" in found["(notebook)"][1]
    assert ("Read-only file system" in found["(notebook)"][1]) == walled
    assert running(mark) == []
    assert symptoms(other)["energy"] == (1, "right"), "no poison in the next grading"
    assert guard.mended() == []
    assert not (package / "__pycache__" / "new.cpython-311.pyc").exists()
    fresh = [sys.executable, "-c", "import minitrpo.course.checks.words"]
    assert subprocess.run(fresh, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode == 0


@WAYS
@pytest.mark.slow
def test_who_writes_to_the_grader_without_pause_has_no_more_time_than_others(walled, chosen, tmp_path):
    found = symptoms(of_energy(tmp_path / "x.ipynb", FLOOD, ENERGY), seconds=6)
    assert found["energy"] == (1, "right")
    assert "code cell 2 ran longer than 6 s" in found["(notebook)"][1]


FLOOD = """import os
pipes = []
for number in range(3, 64):
    try:
        if 'pipe' in os.readlink(f'/proc/self/fd/{number}'):
            pipes.append(number)
    except OSError:
        pass
while True:
    for pipe in pipes:
        os.write(pipe, b'x' * 4096)
"""


@WAYS
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_grader_that_is_ended_leaves_no_process_of_a_submission(walled, number, tmp_path):
    if walled and not walls.able():
        pytest.skip("this system has no namespaces for this user")
    mark = f"left-{os.getpid()}-{time.time_ns()}"
    cell = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(99)', {mark!r}])"
    of_energy(tmp_path / "x.ipynb", cell, ENERGY)
    program = (
        f"from minitrpo.course.grading import sandbox; sandbox.able = lambda: {walled}; import sys;"
        "from minitrpo.course.grading.command import main; sys.exit(main(['x.ipynb']))"
    )
    grader = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        deadline = time.monotonic() + 60
        while not (left := running(mark)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left
        grader.send_signal(number)
        code = grader.wait(20)
    finally:
        grader.kill()
    assert code == (-9 if number == signal.SIGKILL else 128 + number)
    if number == signal.SIGKILL and not walled:
        for process in map(int, left):  # nobody was there any more to end a process of the process
            os.kill(process, signal.SIGKILL)
        return
    deadline = time.monotonic() + 10
    while not all(is_spared(int(process)) for process in left) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert all(is_spared(int(process)) for process in left)


def test_a_name_that_a_spreadsheet_would_take_for_a_formula_is_a_text(tmp_path, monkeypatch):
    name = "=1+cmd|' _C calc'!A0"
    (tmp_path / f"{name}.ipynb").write_text("{}")
    assert main([str(tmp_path), "--out", str(tmp_path / "grades.csv")]) == 0
    rows = list(csv.reader((tmp_path / "grades.csv").open()))
    assert {row[0] for row in rows[1:]} == {f"'{name}"}
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@")]
    assert [defused(cell) for cell in ("-1", "@x", "a=b", 1, None)] == ["'-1", "'@x", "a=b", 1, None]


def test_folders_are_covered_unless_python_lies_in_them(tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "home" / "venv").mkdir(parents=True)
    places = [tmp_path / "class", tmp_path / "home", tmp_path / "gone"]
    assert walls.coverable(places, [tmp_path / "home" / "venv"]) == [str(tmp_path / "class")]


FORGED = """
pipes = []
import os
for number in range(3, 64):
    try:
        if 'pipe' in os.readlink(f'/proc/self/fd/{number}'):
            pipes.append(number)
    except OSError:
        pass
def forge(frame):
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if callable(value) and getattr(value, '__name__', '') == 'say':
                for name in ('energy', 'conjugate_gradient'):
                    value({'ends': 'exercise', 'name': name, 'points': 1, 'symptom': 'right', 'tampering': ''})
                value({'ends': 'all'})
        frame = frame.f_back
for pipe in pipes:
    os.write(pipe, b'{"ends": "exercise", "name": "energy", "points": 1, "symptom": "right", "tampering": ""}\\n')
    os.write(pipe, b'0 {"ends": "all"}\\n')
"""
ROUTES = {
    "traceback": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    forge(error.__traceback__.tb_frame)",
    "getattr": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    forge(getattr(e.__traceback__, 'tb_' + 'frame'))",
    "a text": "exec('import sys; forge(sys._getframe())')",
    "inspect": "import inspect\nforge(inspect.currentframe())",
    "inspect.stack": "import inspect\nforge(inspect.stack()[0].frame)",
    "walk_stack": "import traceback\nforge(next(traceback.walk_stack(None))[0])",
    "logging": "import logging\nforge(logging.currentframe())",
    "a generator": "g = (i for i in [g.gi_frame.f_back for g in [0] if 0])\nforge(g.gi_frame)",
    "a tracer": "import sys\nsys.settrace(lambda frame, *_: forge(frame))\n(lambda: 0)()",
    "other threads": "import sys\nfor frame in sys._current_frames().values():\n    forge(frame)",
    "a false name": "import sys\nexec(compile('forge(sys._getframe())', sys.modules['os'].__file__, 'exec'))",
    "the collector": "import gc\n[o({'ends': 'all'}) for o in gc.get_objects() if getattr(o, '__name__', '') == 'say']",
    "the judge": "import minitrpo.course.grading.inside as i\ni.replaced = lambda b: ''\ni._refused = lambda *a: ''",
    "its class": "import minitrpo.course.grading.inside as i\ni.replaced = lambda b: ''\n"
    "i.Notebook.verdict = lambda self, name: (1, 'right')",
    "its code": "import minitrpo.course.grading.inside as i\ni.replaced.__code__ = (lambda before: '').__code__\n"
    "i._refused.__code__ = (lambda name, answer, watch: '').__code__",
}


@pytest.mark.parametrize("route", [pytest.param(r, marks=() if r == "traceback" else pytest.mark.slow) for r in ROUTES])
def test_a_cell_cannot_write_its_own_marks(route, tmp_path):
    wrong = ENERGY.replace("0.5 * ", "")
    found = symptoms(of_energy(tmp_path / "x.ipynb", FORGED + ROUTES[route], wrong))
    assert found["energy"][0] == 0
    assert found["conjugate_gradient"] == (1, "right")
    assert "code cell 2 " in found["(notebook)"][1]


def test_what_was_signed_is_heard_once():
    reading, writing = os.pipe()
    say = signer(writing, "ab" * 32)
    for number in range(2):
        say({"ends": "cell", "number": number})
    first, second = os.read(reading, 4096).splitlines()
    assert heard(first, "ab" * 32, 0) == {"ends": "cell", "number": 0, "count": 1}
    assert heard(first, "ab" * 32, 1) == heard(second, "cd" * 32, 0) == heard(second + b" ", "ab" * 32, 0) == {}
    assert heard(second, "ab" * 32, 1)["number"] == 1
    for number in (reading, writing):
        os.close(number)
