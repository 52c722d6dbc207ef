"""Grading sees what was written: right, wrong and missing answers, and answers that are somebody else's."""

import csv
import inspect
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from answers import FILES
from runs import forked

from minitrpo.course.checks import names, target
from minitrpo.course.grading import sandbox, submissions
from minitrpo.course.grading.command import main
from minitrpo.course.grading.evidence import Watch, borrowed, code_of, codes_in
from minitrpo.course.grading.inside import _refused
from minitrpo.course.grading.sandbox import Limits
from minitrpo.course.grading.table import graded

ROOT = Path(__file__).parents[2]
HEADER = """import numpy as np
from collections.abc import Callable
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.policies import Array
"""
ENERGY = """def energy(product, b, x):
    return float(0.5 * x @ product(x) - b @ x)
"""
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
STUB = "def {}(*args, **named):\n    raise NotImplementedError('write the body')\n"
CHECKS = ('check("energy", energy)', 'check("conjugate_gradient", conjugate_gradient)')


def notebook(path, *cells):
    """Write a notebook of code cells; a pair is (text, metadata)."""
    code = [(cell, {}) if isinstance(cell, str) else cell for cell in cells]
    made = [
        {"cell_type": "code", "source": text, "metadata": marks, "outputs": [], "execution_count": None}
        for text, marks in code
    ]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def of_energy(path, *cells, checks=CHECKS):
    """Write a notebook of lecture 03 whose `energy` comes from these cells, and whose solver is right."""
    return notebook(path, HEADER, *cells, checks[0], SOLVER, *checks[1:])


def grade(path, **limits):
    """Return {exercise: (points, symptom)} of one submission."""
    (submission,) = submissions.submissions(path)
    return {row.exercise: (row.points, row.symptom) for row in graded(submission, Limits(**limits))}


def test_a_folder_of_submissions_gives_the_right_table(tmp_path, capsys):
    folder, table = tmp_path / "class", tmp_path / "grades.csv"
    folder.mkdir()
    (folder / "gil").mkdir()
    of_energy(folder / "ann_perfect.ipynb", ENERGY)
    notebook(folder / "bob_empty.ipynb", HEADER, STUB.format("energy"), CHECKS[0], STUB.format("conjugate_gradient"))
    of_energy(folder / "cyd_wrong.ipynb", ENERGY.replace("0.5 * ", ""))
    of_energy(folder / "dan_cheats.ipynb", "from minitrpo.conjugate_gradient import energy")
    of_energy(folder / "eve_03_conjugate_gradient.ipynb").write_text('{"cells": [')
    notebook(folder / "fay_other.ipynb", "print(1)")
    of_energy(folder / "gil" / "hw.ipynb", "1 / 0", ENERGY, "undefined_name")
    assert main([str(folder), "--out", str(table)]) == 0
    rows = list(csv.DictReader(table.open()))
    points = {(row["student"], row["exercise"]): row["points"] for row in rows}
    symptoms = {(row["student"], row["exercise"]): row["symptom"] for row in rows}
    both = ("energy", "conjugate_gradient")
    assert [points["ann_perfect", name] for name in both] == ["1", "1"]
    assert [symptoms["ann_perfect", name] for name in both] == ["right", "right"]
    assert [points["bob_empty", name] for name in both] == ["0", "0"]
    assert symptoms["bob_empty", "energy"] == "not attempted"
    assert symptoms["bob_empty", "conjugate_gradient"] == "not attempted (its check cell was deleted)"
    assert [points["cyd_wrong", name] for name in both] == ["0", "1"]
    assert len(symptoms["cyd_wrong", "energy"]) > 25
    assert [points["dan_cheats", name] for name in both] == ["0", "1"]
    assert symptoms["dan_cheats", "energy"] == "it is the package's own function, not one written in the notebook"
    assert [points["eve_03_conjugate_gradient", name] for name in both] == ["0", "0"]
    assert "no notebook" in symptoms["eve_03_conjugate_gradient", "(notebook)"]
    assert "no exercise of the course" in symptoms["fay_other", "(notebook)"]
    assert [points["gil/hw", name] for name in both] == ["1", "1"]
    assert "code cell 2 does not run: ZeroDivisionError" in symptoms["gil/hw", "(notebook)"]
    assert "code cell 4 does not run: NameError" in symptoms["gil/hw", "(notebook)"]
    printed = capsys.readouterr().out
    assert "ann_perfect: 2 of 2\nbob_empty: 0 of 2\ncyd_wrong: 1 of 2\ndan_cheats: 1 of 2" in printed
    assert printed.splitlines()[0].split() == ["student", "exercise", "points", "symptom"]


OWN = "it calls the package's own function"
IS = "it is the package's own function"
CHEATS = {
    "import as": ("from minitrpo.conjugate_gradient import energy as e\nenergy = e", IS),
    "mine": ("energy = mine.energy", IS),
    "a call of mine": ("def energy(*a):\n    return mine.energy(*a)", f"{OWN} (code cell 2, line 2)"),
    "a call of target": ("from minitrpo.checks import target\ndef energy(*a):\n    return target('energy')(*a)", OWN),
    "a lambda": ("import minitrpo.conjugate_gradient as m\nenergy = lambda *a: m.energy(*a)", OWN),
    "a partial": ("import functools\nenergy = functools.partial(mine.energy)", IS),
    "an object": ("class E:\n    def __call__(self, *a):\n        return mine.energy(*a)\nenergy = E()", OWN),
    "its code": (f"{STUB.format('energy')}energy.__code__ = mine.energy.__code__", IS),
    "a copy of its code": (
        f"{STUB.format('energy')}energy.__code__ = mine.energy.__code__.replace(co_filename='<code cell 2>')",
        "made from a text at run time",
    ),
    "getsource": (
        "import inspect\nsource = inspect.getsource(mine.energy)\nexec(source)",
        "made from a text at run time",
    ),
    "getsource inside": (
        "import inspect\ndef energy(*a):\n    n = dict(globals())\n    exec(inspect.getsource(mine.energy), n)\n"
        "    return n['energy'](*a)",
        "it runs a text as its code",
    ),
    "its file": (
        "import minitrpo.conjugate_gradient as m\ntext = open(m.__file__).read()\nnames = {}\nexec(text, names)\n"
        "energy = names['energy']",
        "made from a text at run time",
    ),
    "no watch": (
        "import sys\ndef energy(*a):\n    sys.setprofile(None)\n    return mine.energy(*a)",
        "it switches off what watches it (sys.setprofile",
    ),
    "a look at the check": (
        "import sys\ndef energy(*a):\n    return sys._getframe(1).f_locals['no_such']",
        "it looks at what its check expects (sys._getframe, code cell 2, line 3)",
    ),
    "a look through an error": (
        "def energy(*a):\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n"
        "        return e.__traceback__.tb_frame.f_back.f_locals['no_such']",
        "it looks at what its check expects (tb_frame, code cell 2, line 5)",
    ),
    "a library around it": (
        "from autograd.extend import primitive\nenergy = primitive(mine.energy)",
        "it calls the package's own function (by what it is made of)",
    ),
    "another program": (
        "import subprocess, sys\ndef energy(*a):\n    return float(subprocess.check_output([sys.executable, '-V']))",
        "it starts another program (subprocess.Popen, code cell 2, line 3)",
    ),
    "a thread": (
        "import threading\ndef energy(*a):\n    box = []\n"
        "    t = threading.Thread(target=lambda: box.append(mine.energy(*a)))\n    t.start(); t.join()\n"
        "    return box[0]",
        "it calls a new thread (code cell 2, line 5)",
    ),
    "a renamed copy in a file": (
        "import pathlib, sys, minitrpo.conjugate_gradient as m\n"
        "text = pathlib.Path(m.__file__).read_text().replace('def energy', 'def fun')\n"
        "pathlib.Path('friend.py').write_text(text)\nsys.path.insert(0, '.')\nfrom friend import fun as energy",
        "it is fun of friend.py, not a function written in the notebook",
    ),
    "a friend's file": (
        "import pathlib, sys\n"
        "pathlib.Path('friend.py').write_text('def energy(p, b, x):\\n    return float(x @ p(x) / 2 - x @ b)\\n')\n"
        "sys.path.insert(0, '.')\nimport friend\ndef energy(*a):\n    return friend.energy(*a)",
        "it calls code of friend.py, which is no cell of the notebook (code cell 2, line 6)",
    ),
    "a text inside": (
        "import inspect\ntext = inspect.getsource(mine.energy).replace('energy', 'e')\n"
        "def energy(*a):\n    n = dict(globals())\n    exec(text, n)\n    return n['e'](*a)",
        "it runs a text as its code",
    ),
    "a friend's name": ("from minitrpo.line_search import backtracking as energy", "it is backtracking of the package"),
    "sys.exit": ("import sys\ndef energy(*a):\n    sys.exit(0)", "it raised SystemExit: 0"),
}


@pytest.mark.parametrize("way", CHEATS)
def test_an_answer_that_is_not_the_students_has_no_point(way, tmp_path):
    cell, symptom = CHEATS[way]
    found = grade(of_energy(tmp_path / "x.ipynb", cell))
    assert found["energy"][0] == 0
    assert symptom in found["energy"][1]
    assert found["conjugate_gradient"] == (1, "right"), "the rest is graded as if nothing had been"
    looks = {
        "a renamed copy in a file": "(__file__)",
        "getsource": "(getsource)",
        "its file": "(__file__)",
        "a look at the check": "what the check keeps (_getframe)",
    }
    assert looks.get(way, "") in found.get("(notebook)", (None, ""))[1]


HELPERS = {
    "a thread": "import queue, threading\nq, out = queue.Queue(), queue.Queue()\n"
    "threading.Thread(target=lambda: [out.put(mine.energy(*q.get())) for _ in range(99)], daemon=True).start()\n"
    "def energy(*a):\n    q.put(a)\n    return out.get()",
    "a process": "import multiprocessing as mp\nhere, there = mp.Pipe()\ndef work():\n    while True:\n"
    "        A, b, x = there.recv()\n        there.send(mine.energy(lambda v: A @ v, b, x))\n"
    "mp.get_context('fork').Process(target=work, daemon=True).start()\ndef energy(product, b, x):\n"
    "    here.send((np.stack([product(e) for e in np.eye(len(b))], axis=1), b, x))\n    return here.recv()",
}


@pytest.mark.parametrize("way", HELPERS)
def test_who_has_a_helper_at_work_is_not_checked(way, tmp_path):
    found = grade(of_energy(tmp_path / "x.ipynb", HELPERS[way]), seconds=30)
    said = f"not checked: {way} that a cell has started is still at work; let it end"
    assert [found[name][0] for name in ("energy", "conjugate_gradient")] == [0, 0]
    assert said in found["energy"][1]


def test_a_thread_and_a_process_that_have_ended_are_no_helpers(tmp_path):
    cell = (
        "import subprocess, threading\nt = threading.Thread(target=print)\nt.start(); t.join()\nsubprocess.run('true')"
    )
    found = grade(of_energy(tmp_path / "x.ipynb", cell, ENERGY))
    assert (found["energy"], found["conjugate_gradient"]) == ((1, "right"), (1, "right"))


TAMPERING = {
    "the check": "import minitrpo.course.checks.register as r\nr.find = lambda *a: None",
    "the register": "from minitrpo.course.checks.register import _exercises as e\ne['energy'] = e['score']",
    "examine": "import minitrpo.course.checks.register as r\nr.examine = lambda *a: None",
    "the solution": "import minitrpo.conjugate_gradient as m\nm.energy = lambda *a: 0.0",
    "numpy": "np.max = lambda *a, **k: 0.0",
    "its code": "import minitrpo.course.checks.register as r\nr.find.__code__ = (lambda name: None).__code__",
}


@pytest.mark.parametrize("way", TAMPERING)
def test_a_cell_that_changes_the_checks_is_named_and_left_out(way, tmp_path):
    wrong = ENERGY.replace("0.5 * ", "")
    found = grade(of_energy(tmp_path / "x.ipynb", TAMPERING[way], wrong))
    assert found["energy"][0] == 0
    assert "code cell 2 changes " in found["(notebook)"][1]
    assert found["conjugate_gradient"] == (1, "right")


def test_a_function_that_changes_the_checks_while_it_is_checked(tmp_path):
    cell = "import minitrpo.course.checks.register as r\ndef energy(*a):\n    r.find = lambda *a: None\n    return 0.0"
    found = grade(of_energy(tmp_path / "x.ipynb", cell))
    assert found["energy"][0] == 0
    assert "it changes minitrpo.course.checks.register.find" in found["energy"][1]
    assert found["conjugate_gradient"] == (1, "right")


def test_check_cells_that_were_deleted_or_edited_are_named_and_change_no_point(tmp_path):
    wrong = ENERGY.replace("0.5 * ", "")
    edited = ('check("energy", mine.energy)', {"check": "energy"})
    found = grade(of_energy(tmp_path / "x.ipynb", wrong, checks=(edited,)))
    assert found["energy"][0] == 0
    assert found["energy"][1].endswith("(its check cell was edited)")
    assert found["conjugate_gradient"] == (1, "right (its check cell was deleted)")
    found = grade(of_energy(tmp_path / "y.ipynb", "def check(*a):\n    print('right')", wrong))
    assert found["energy"][0] == 0
    assert "code cell 2 redefines check" in found["(notebook)"][1]


def test_the_packages_source_word_for_word_is_named(tmp_path):
    pasted = inspect.getsource(target("conjugate_gradient"))
    found = grade(notebook(tmp_path / "x.ipynb", HEADER, ENERGY, pasted, *CHECKS))
    assert found["energy"] == (1, "right")
    assert found["conjugate_gradient"] == (1, "right, and word for word the package's source")


ENDINGS = {
    "os._exit": ("import os\nos._exit(0)", "code cell 2 ended the process (exit code 0)"),
    "a signal": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "code cell 2 ended the process (SIGSEGV)"),
    "sys.exit": ("import sys\nsys.exit()", "code cell 2 does not run: SystemExit"),
    "no Python": ("def energy(:", "code cell 2 does not run: SyntaxError"),
    "input": ("input('name?')", "code cell 2 does not run: EOFError"),
    "memory": ("big = np.ones(10**10)", "code cell 2 does not run: "),
    "magics": ("%matplotlib inline\n!true", None),
}


@pytest.mark.parametrize("way", ENDINGS)
def test_a_cell_that_does_not_run_is_named_and_the_rest_is_graded(way, tmp_path):
    cell, note = ENDINGS[way]
    found = grade(of_energy(tmp_path / "x.ipynb", cell, ENERGY), memory=2048)
    assert (found["energy"], found["conjugate_gradient"]) == ((1, "right"), (1, "right"))
    if note is None:
        assert "(notebook)" not in found
    else:
        assert note in found["(notebook)"][1]


def test_a_cell_that_hangs_is_ended_and_nothing_is_left_behind(tmp_path):
    mark = f"{os.getpid()}-{time.time_ns()}"
    cell = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)', '{mark}'])"
    found = grade(of_energy(tmp_path / "x.ipynb", cell, "while True:\n    pass", ENERGY), seconds=10)
    at_work = "not checked: a process that a cell has started is still at work; let it end in its cell"
    assert found["energy"] == found["conjugate_gradient"] == (0, at_work)
    assert found["(notebook)"][1] == "code cell 3 ran longer than 10 s"
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert mark not in running


@pytest.mark.slow
def test_a_function_that_hangs_is_ended(tmp_path):
    found = grade(of_energy(tmp_path / "x.ipynb", "def energy(*a):\n    while True:\n        pass"), seconds=10)
    assert found["energy"] == (0, "its check ran longer than 10 s")
    assert found["(notebook)"][1] == "code cell 3 ran longer than 10 s", "the check in the notebook"
    assert found["conjugate_gradient"] == (1, "right")


def test_files_that_are_not_the_submissions_are_put_back(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sandbox, "able", lambda: False)  # within walls they cannot be changed
    folder = tmp_path / "class"
    folder.mkdir()
    other = of_energy(folder / "b.ipynb", ENERGY)
    of_energy(folder / "a.ipynb", f"import os\nos.remove({str(other)!r})\nopen('mine.txt', 'w').close()", ENERGY)
    assert main([str(folder), "--out", str(tmp_path / "grades.csv")]) == 0
    assert other.exists()
    assert sorted(f.name for f in folder.iterdir()) == ["a.ipynb", "b.ipynb"]
    assert "a (notebook)" in " ".join((printed := capsys.readouterr().out).split())
    assert "changed files outside of its folder, which were put back: b.ipynb" in printed
    assert "b: 2 of 2" in printed


TAKEN = ("text.txt", "x.ipynb", "empty", "/dev/null", "pipe")


def test_bad_paths_are_one_line(tmp_path):
    (tmp_path / "text.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    notebook(tmp_path / "x.ipynb", ENERGY)
    for words, said in (
        (["nowhere"], "there is no nowhere"),
        (["text.txt"], "text.txt is no notebook"),
        (["empty"], "there is no notebook in empty"),
        (["x.ipynb", "--out", "no/such/grades.csv"], "cannot write no/such/grades.csv"),
        *((["x.ipynb", "--out", name], f"{name} exists, and is not overwritten") for name in TAKEN),
        (["x.ipynb", "--seconds", "0"], "--seconds must be more than 0"),
        (["x.ipynb", "--memory", "1"], "--memory must lie in"),
        ([], "the following arguments are required: path"),
    ):
        done = forked("grade", *words, cwd=tmp_path)
        assert (done.code, done.err.count("\n"), done.out) == (2, 1, ""), done
        assert said in done.err


@pytest.mark.parametrize("name", names())
def test_the_code_of_every_solution_is_known(name):
    solution = target(name)
    assert code_of(solution).co_filename.startswith(str(ROOT / "minitrpo"))
    assert borrowed(solution, set(), solution).startswith("it is the package's own")


def test_every_exercise_belongs_to_a_lecture(monkeypatch, tmp_path):
    placed = [name for exercises in submissions.course().values() for name in exercises]
    assert sorted(placed) == sorted(names())
    monkeypatch.setattr(submissions, "SOURCES", tmp_path)  # installed, not cloned
    submissions.course.cache_clear()
    assert sorted(name for exercises in submissions.course().values() for name in exercises) == sorted(names())
    submissions.course.cache_clear()


def test_the_watch_sees_the_students_line_and_no_call_of_the_check_itself():
    names_ = {"solution": target("energy")}
    code = compile("def mine(*a):\n    return solution(*a)", "<code cell 3>", "exec")
    exec(code, names_)
    watch = Watch(target("energy"), set(codes_in(code)))
    for function, said in ((target("energy"), ""), (names_["mine"], "code cell 3, line 2")):
        sys.setprofile(watch)
        function(lambda v: v, *([__import__("numpy").ones(2)] * 2))
        sys.setprofile(None)
        assert said in watch.found
        assert bool(said) == bool(watch.found)


RIGHT = [
    pytest.param(name, answer, id=f"{name}-{answer.__name__}", marks=pytest.mark.slow if name == "trpo_step" else ())
    for module in FILES
    for name, some in module.RIGHT.items()
    for answer in (some if isinstance(some, list | tuple) else [some])
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_an_answer_of_ones_own_is_never_taken_for_the_packages(name, answer):
    own = {code for m in FILES for code in codes_in(compile(Path(m.__file__).read_text(), m.__file__, "exec"))}
    watch = Watch(target(name), own)
    assert (_refused(name, answer, watch), watch.found) == ("", "")
    assert borrowed(answer, {code_of(answer)} - {None}, target(name)) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("path", sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb")), ids=lambda p: p.stem)
def test_every_solution_has_all_points(path, tmp_path):
    (tmp_path / path.name).write_bytes(path.read_bytes())
    found = grade(tmp_path / path.name)
    assert "(notebook)" not in found, found["(notebook)"]
    assert all(points == 1 for points, _ in found.values()), found


def test_what_is_no_file_is_said_and_not_waited_for(tmp_path):
    (tmp_path / "a.ipynb").mkdir()
    (tmp_path / "b.ipynb").symlink_to("nowhere")
    os.mkfifo(tmp_path / "c.ipynb")
    assert [(s.student, s.problem.split(":")[0]) for s in submissions.submissions(tmp_path)] == [
        (name, "this is no file") for name in "abc"
    ]


def test_a_name_that_is_no_text_is_written(tmp_path):
    (tmp_path / os.fsdecode(b"zo\xeb.ipynb")).write_text("{}")
    (found,) = submissions.submissions(tmp_path)
    assert found.student == "zo\\xeb"
