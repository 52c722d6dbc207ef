"""An exercise is begun by one command, and an exercise that is in one place only is named with its cure."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from runs import ROOT

FAULTS = (
    "import sys; sys.path.insert(0, 'notebooks'); import build\n"
    "print(*build.out_of_step(sorted(build.SOURCES.glob('[0-9]*.py'))), sep='\\n')"
)
PAGE = (
    "import sys; sys.path.insert(0, 'notebooks'); import build\n"
    "print(build.with_exercises((build.HERE / 'README.md').read_text()))"
)
JUDGED = """
import sys; sys.path[:0] = ['tests', 'tests/tools']
from answers import RIGHT, WRONG
from minitrpo.course.checks.framework.register import examine, target
right, wrong = ([f for name, f in answers if name == 'standardise'] for answers in (RIGHT, WRONG))
for f in (target('standardise'), *right):
    examine('standardise', f)
for f in wrong:
    try:
        examine('standardise', f)
    except AssertionError:
        continue
    raise SystemExit('accepted')
print(f'{len(right)} right, {len(wrong)} wrong')
"""
CHECK, SOURCE = "minitrpo/course/checks/line_search.py", "notebooks/source/04_line_search.py"


@pytest.fixture
def clone(tmp_path):
    """A copy of all that an exercise is made of."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.ipynb", "figures", "*.mp4")
    for name in ("minitrpo", "notebooks", "mpi_scripts", "tests", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=unwanted)
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(clone, *words):
    environment = {**os.environ, "PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def edit(file, old, new):
    text = file.read_text()
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new))


@pytest.mark.slow
def test_a_new_exercise_needs_a_text_and_cases_and_nothing_else(clone):
    code, said, _ = run(clone, "notebooks/new_exercise.py", "04", "standardise")
    assert (code, said.count("changed: ")) == (0, 3), said
    assert run(clone, "-c", FAULTS) == (0, "", "")
    text = (clone / SOURCE).read_text()
    marks = ("### Exercise 4: `standardise`", '# %% exercise="standardise"', "# ## Bug hunt")
    assert text.index(marks[0]) < text.index(marks[1]) < text.index(marks[2])
    code, _, said = run(clone, "-c", JUDGED)
    assert code == 1
    assert "write the cases of standardise" in said
    unfinished = re.search(r"    raise ValueError\(\"write the cases.*\n    yield\n", (clone / CHECK).read_text())
    cases = "    yield Case('numbers', arguments=(np.array([1.0, 2.0, 6.0]),))\n"
    edit(clone / CHECK, unfinished[0], f"{cases}    yield Case('equal numbers', arguments=(np.ones(3),))\n")
    assert run(clone, "-c", JUDGED) == (0, "1 right, 1 wrong", "")
    assert "out of date (exercises): README.md" in run(clone, "notebooks/build.py", "--check")[1]
    assert "`step_scale`, `backtracking`, `standardise` |" in run(clone, "-c", PAGE)[1]
    grade = "from minitrpo.course.checks.framework.register import lectures; print(lectures()['04'][-1])"
    assert run(clone, "-c", grade)[1] == "standardise"
    before = {file: (clone / file).read_text() for file in (CHECK, SOURCE)}
    assert run(clone, "notebooks/new_exercise.py", "04", "standardise")[1].count("kept: ") == 3
    assert {file: (clone / file).read_text() for file in before} == before


@pytest.mark.slow
def test_an_exercise_in_one_place_only_is_one_line_with_a_cure_that_works(clone):
    edit(clone / SOURCE, '# %% exercise="step_scale"', "# %%")
    edit(clone / SOURCE, '# %% exercise="surrogate"', '# %% exercise="explained"')
    edit(clone / CHECK, '"minitrpo.line_search:backtracking"', '"minitrpo.line_search:backtracked"')
    code, _, said = run(clone, "notebooks/build.py", "--check")
    assert code == 2
    found = re.findall(r"exercise (\w+), which no .*: make exercise LECTURE=04 NAME=\S+$", said, re.MULTILINE)
    # three have a check and no cell, two a cell and no check
    assert sorted(found) == ["backtracked", "backtracking", "explained", "step_scale", "surrogate"], said
    edit(clone / CHECK, '"minitrpo.line_search:backtracked"', '"minitrpo.line_search:backtracking"')
    edit(clone / SOURCE, '# %% exercise="explained"', '# %% exercise="surrogate"')
    [line] = run(clone, "notebooks/build.py", "--check")[2].splitlines()
    lecture, name = re.search(r"make exercise LECTURE=(\S+) NAME=(\S+)$", line).groups()
    assert run(clone, "notebooks/new_exercise.py", lecture, name)[0] == 0
    assert run(clone, "-c", FAULTS) == (0, "", "")


@pytest.mark.parametrize(
    ("lecture", "name", "said"),
    [
        ("99", "step_scale", "there is no lecture '99'; choose LECTURE from 00, 01, 02"),
        ("", "step_scale", "there is no lecture ''"),
        ("04", "", "NAME must be a function of the package"),
        ("04", "no_such_function", "write it there first"),
        ("04", "minitrpo.advantages:step_scale", "minitrpo.advantages has no function step_scale"),
        ("04", "gae", "gae is an exercise of 05a_advantages already"),
        ("04", "main", "two functions are called main: name one, NAME="),
    ],
)
def test_what_cannot_be_begun_is_one_line(lecture, name, said):
    command = [sys.executable, ROOT / "notebooks/new_exercise.py", lecture, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert said in done.stderr
