"""The course holds together: built from the package; solved it passes, unsolved it fails at its checks alone."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from test_checks import WRONG

from minitrpo.checks import names, target

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("build", ROOT / "notebooks" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
SOURCES = sorted(build.SOURCES.glob("[0-9]*.py"))
IDS = [source.stem for source in SOURCES]
lectures = pytest.mark.parametrize("source", SOURCES, ids=IDS)


def nbval(path, folder):
    """Run a notebook through nbval in its own process; return {cell number: the error it failed with}."""
    environment = {**os.environ, "MINITRPO_BUDGET": "quick", "PYTHONPATH": str(ROOT)}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:cacheprovider", "--tb=short"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", *options, str(path)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert " passed" in done.stdout, done.stdout + done.stderr
    failed = re.findall(r"^FAILED .*::Cell (\d+)", done.stdout, re.MULTILINE)
    blocks = re.split(r"^_+ .*::Cell (\d+) _+$", done.stdout, flags=re.MULTILINE)
    text = dict(zip(map(int, blocks[1::2]), blocks[2::2], strict=True))
    return {int(number): text.get(int(number), done.stdout) for number in failed}


def code_cells(notebook):
    """Return the code cells as nbval numbers them."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def check_cells(notebook):
    """Return {number: exercise} of the cells that check an exercise."""
    return {i: c.metadata["check"] for i, c in enumerate(code_cells(notebook)) if "check" in c.metadata}


@lectures
def test_building_again_changes_nothing(source):
    assert build.up_to_date(build.student_path(source), build.student(source)), "run: make notebooks"
    assert build.up_to_date(build.solution_path(source), build.solution(source)), "run: make notebooks"


@pytest.mark.parametrize(
    "source",
    [pytest.param(s, marks=pytest.mark.slow if s.stem[:2] in ("06", "08") else ()) for s in SOURCES],
    ids=lambda source: source.stem,
)
def test_the_solution_passes(source, tmp_path):
    path = tmp_path / f"{source.stem}.ipynb"
    nbformat.write(nbformat.read(build.solution_path(source), 4), path)
    assert nbval(path, tmp_path) == {}


@pytest.mark.slow  # the solution is executed by the quick tests, the checks are tried by test_checks.py
@lectures
def test_the_students_notebook_fails_at_its_checks_as_not_attempted(source, tmp_path):
    notebook = build.student(source)
    path = tmp_path / f"{source.stem}.ipynb"
    nbformat.write(notebook, path)
    failures = nbval(path, tmp_path)
    assert failures.keys() == check_cells(notebook).keys()
    assert all("NotImplementedError" in text for text in failures.values())


@pytest.mark.slow  # the solution is executed by the quick tests, the checks are tried by test_checks.py
@lectures
def test_a_wrong_answer_fails_at_its_check_and_nowhere_else(source, tmp_path):
    notebook = build.solution(source)
    wrong = {name: next(f for other, f in WRONG if other == name) for name in check_cells(notebook).values()}
    mutants = next((Path(__file__).parent / "mutants").glob(f"{source.stem[:2]}_*.py"))
    for cell in notebook.cells:
        if "exercise" in cell.metadata:
            name = cell.metadata["exercise"]
            index = [f for other, f in WRONG if other == name].index(wrong[name])
            cell.source = (
                "import importlib.util as _u\n"
                f"_s = _u.spec_from_file_location('m', {str(mutants)!r}); _m = _u.module_from_spec(_s)\n"
                f"_s.loader.exec_module(_m); {target(name).__name__} = _m.WRONG[{name!r}][{index}]"
            )
    path = tmp_path / f"{source.stem}.ipynb"
    nbformat.write(notebook, path)
    failures = nbval(path, tmp_path)
    assert failures.keys() == check_cells(notebook).keys()
    assert all("AssertionError" in text for text in failures.values())


@lectures
def test_no_blanked_line_leaks(source):
    text = "\n".join(cell.source for cell in build.student(source).cells)
    for name in check_cells(build.student(source)).values():
        for line in build.blanked_lines(name):
            assert line not in text, f"{name}: {line!r} can be read in the student's notebook"


@lectures
def test_the_solution_is_the_student_with_the_package_pasted_in(source):
    student, solution = build.student(source), build.solution(source)
    for cell in student.cells:
        if "exercise" in cell.metadata:
            cell.source = inspect.getsource(target(cell.metadata["exercise"])).rstrip()
    guess = re.compile(r"^(guess\w*) = [^#\n]*", re.MULTILINE)
    kept = [guess.sub(r"\1 =", c.source).rstrip() for c in solution.cells if "solution" not in c.metadata]
    assert [guess.sub(r"\1 =", c.source).rstrip() for c in student.cells] == kept


@lectures
def test_shape(source):
    student, path = build.student(source), build.solution_path(source)
    exercises = [c for c in student.cells if "exercise" in c.metadata]
    assert (1 if source.stem == "05b_trpo" else 2) <= len(exercises) <= 5  # trpo_step is a large one
    assert sum("prediction" in c.metadata for c in student.cells) >= 2
    assert any("hunt(" in c.source for c in code_cells(student)), "a lecture has a bug hunt"
    prose = " ".join(c.source for c in student.cells if c.cell_type == "markdown")
    assert "in the package" in prose
    assert 500 <= len(prose.split()) <= 2600
    for cell in code_cells(student):
        limit = 60 if "exercise" in cell.metadata else 45
        assert len(cell.source.splitlines()) <= limit, cell.source[:80]
    assert path.stat().st_size <= 600_000
    executed = nbformat.read(path, 4)
    assert all(c.execution_count for c in code_cells(executed))
    assert not any(o.output_type == "error" for c in code_cells(executed) for o in c.outputs)
    assert not any(o.get("name") == "stderr" for c in code_cells(executed) for o in c.outputs), "nothing on stderr"


def test_every_exercise_is_in_one_notebook():
    placed = [name for source in SOURCES for name in check_cells(build.student(source)).values()]
    assert sorted(placed) == sorted(names())
