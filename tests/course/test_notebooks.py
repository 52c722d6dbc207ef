"""The course holds together: built from the package; solved it passes, unsolved it fails at its checks alone."""

import ast
import importlib.util
import inspect
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from answers import WRONG

from minitrpo.course.checks import names, target

ROOT = Path(__file__).parents[2]
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
    assert build.text_reasons(build.student_path(source), build.student(source)) == (), "run: make notebooks"
    assert build.text_reasons(build.solution_path(source), build.solution(source)) == (), "run: make notebooks"


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


@pytest.mark.thorough  # the solution is executed by the quick tests, the checks are tried by test_checks.py
@lectures
def test_a_wrong_answer_fails_at_its_check_and_nowhere_else(source, tmp_path):
    notebook = build.solution(source)
    wrong = {name: next(f for other, f in WRONG if other == name) for name in check_cells(notebook).values()}
    mutants = next((ROOT / "tests" / "exercises" / "mutants").glob(f"{source.stem[:2]}_*.py"))
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
    solved = iter(name for name in check_cells(student).values())
    for cell in student.cells:
        if "exercise" in cell.metadata:
            cell.source = inspect.getsource(target(cell.metadata["exercise"])).rstrip()
        elif "exercise-banner" in cell.metadata.get("tags", []):
            cell.source = build.banner(next(solved), solved=True)
    guess = re.compile(r"^(guess\w*(?:, *guess\w*)*) = [^#\n]*", re.MULTILINE)
    kept = [guess.sub(r"\1 =", c.source).rstrip() for c in solution.cells if "solution" not in c.metadata]
    assert [guess.sub(r"\1 =", c.source).rstrip() for c in student.cells] == kept


@lectures
def test_shape(source):
    student, path = build.student(source), build.solution_path(source)
    exercises = [c for c in student.cells if "exercise" in c.metadata]
    assert (1 if source.stem == "05b_trpo" else 2) <= len(exercises) <= 5  # trpo_step is a large one
    assert sum("prediction" in c.metadata for c in student.cells) >= 2
    assert any("hunt(" in c.source for c in code_cells(student)), "a lecture has a bug hunt"
    texts = [c.source for c in student.cells if c.cell_type == "markdown" and "exercise-banner" not in str(c.metadata)]
    prose = " ".join(text for text in texts if not text.startswith("**Algorithm: "))  # a box is looked up, not read
    assert "in the package" in prose
    lecture = prose.partition("## What you have built so far")[0]  # the quiz and what was claimed come after
    assert 500 <= len(lecture.split()) <= 2800
    assert not any("NBVAL" in c.source for c in student.cells), "nbval is told by tags, which students do not see"
    for cell in code_cells(student):
        limit = 60 if "exercise" in cell.metadata else 45
        assert len(cell.source.splitlines()) <= limit, cell.source[:80]
    assert path.stat().st_size <= 2_000_000  # with its video
    executed = nbformat.read(path, 4)
    assert all(c.execution_count for c in code_cells(executed))
    assert not any(o.output_type == "error" for c in code_cells(executed) for o in c.outputs)
    assert not any(o.get("name") == "stderr" for c in code_cells(executed) for o in c.outputs), "nothing on stderr"


def bound(tree):
    """Return the names that a cell binds outside of functions and comprehensions."""
    inner = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    found, waiting = set(), list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, inner):
            waiting += ast.iter_child_nodes(node)
    return found


def read_of(tree):
    """Return the names that a cell reads, in its functions, too, and binds nowhere."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - stored - {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


@lectures
def test_a_cell_that_draws_changes_no_name_that_others_set_before_and_read_after(source):
    cells = code_cells(build.student(source))
    trees = [ast.parse("" if "exercise" in cell.metadata else cell.source) for cell in cells]
    for number, cell in enumerate(cells):
        if "\nplt.show()" in cell.source:  # not in a function
            before = set().union(*map(bound, trees[:number]))
            after = set().union(*map(read_of, trees[number + 1 :]))
            assert not bound(trees[number]) & before & after, cell.source


@lectures
def test_the_table_in_the_header_names_the_file_in_which_an_exercise_is(source):
    table = source.read_text("utf-8").partition("in the package |")[2].partition("\n#\n")[0]
    for row in table.splitlines()[2:]:
        said, where = row.split("|")[1:3]
        for name in set(re.findall(r"`(\w+)`", said)) & set(names()):
            path = Path(inspect.getsourcefile(inspect.unwrap(target(name)))).relative_to(ROOT)
            listed = re.findall(r"`([\w/]+\.py)`", where)
            assert str(path) in listed or (path.name in listed and str(path.parent) in where), f"{name} is in {path}"


@lectures
def test_form(source):
    """The loop in the header, a guess before each measurement, three sentences and a quiz at the end."""
    cells = build.student(source).cells
    prose = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    code = "\n".join(c.source for c in code_cells(build.student(source)))
    assert '<img alt="The loop of one update' in cells[0].source
    assert "## What you have built so far" in prose
    assert 3 <= prose.partition("## Quiz")[2].count("<summary>Answer</summary>") <= 5
    guesses = [n for c in cells if "prediction" in c.metadata for n in re.findall(r"\bguess\w*(?=.*= None)", c.source)]
    shown = " ".join(re.findall(r"\breveal\(([^\n]*)", code))
    assert all(re.search(rf"\b{guess}\b", shown) for guess in guesses), "what answers a guess waits for it: reveal"


@pytest.mark.slow
@lectures
def test_run_all_by_a_student_gives_no_answer_away(source, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "notebook.ipynb")  # as in front of Jupyter
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    notebook = build.student(source)
    build.execute(notebook)
    texts = [o.get("text", "") for c in code_cells(notebook) for o in c.outputs]
    assert not any("no prediction was typed" in text for text in texts), "compare waits for the guess: reveal"


def test_every_exercise_is_in_one_notebook():
    placed = [name for source in SOURCES for name in check_cells(build.student(source)).values()]
    assert sorted(placed) == sorted(names())


@pytest.mark.parametrize("name", names())
def test_a_step_of_an_exercise_is_one_line_for_students_see_no_second(name):
    _, body = build.head_and_body(name)
    after = [line.strip() for step, line in itertools.pairwise(body) if re.match(r"\s*# \d+\. ", step)]
    assert not [line for line in after if line.startswith("#") and not re.match(r"# \d+\. ", line)]


def test_nbval_compares_the_line_of_each_check_in_a_solution():
    for cell in build.solution(SOURCES[0]).cells:
        assert ("check" in cell.metadata) == ("nbval-check-output" in cell.metadata.get("tags", []))
    assert not any("nbval-check-output" in c.metadata.get("tags", []) for c in build.student(SOURCES[0]).cells)


def test_a_prediction_is_open_for_students():
    assert build.opened("guess_a = 3  # metres\nn = 5") == "guess_a = None  # metres\nn = 5"
    assert build.opened("guess_a, guess_b = 3, 'x'") == "guess_a, guess_b = None, None"
    for source in SOURCES:
        for cell in build.student(source).cells:
            if "prediction" in cell.metadata:
                assert re.search(r"^guess[\w, ]* = None", cell.source, re.MULTILINE), cell.source


def test_a_box_before_each_exercise_says_what_to_do_in_full_contrast():
    box = build.banner("conjugate_gradient")
    assert "Write its body in the next cell" in box
    assert '`hint("conjugate_gradient", 1)`' in box
    assert "\n1. start at x = 0" in box
    assert build.as_markdown("# 2. a_t * `b_t`") == r"# 2. a\_t \* `b_t`"


# --- when a solution is out of date


TINY = """# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Tiny
#
# <!-- loop -->

# %%
print(len(open("recorded/tiny.csv").read()))  # recorded("tiny.csv")
"""


@pytest.fixture
def course(monkeypatch, tmp_path):
    """A course of one lecture, and the build as a person types it."""
    for name in ("source", "recorded"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "03_tiny.py").write_text(TINY)
    (tmp_path / "recorded" / "tiny.csv").write_text("1,2,3")
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(build, "SOURCES", tmp_path / "source")
    monkeypatch.setattr(build, "load_share", lambda: 0.0)
    monkeypatch.setattr(build, "busy_share", lambda seconds: 0.0)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["build.py", *words])
        return build.main()

    return tmp_path, typed


def test_a_stale_solution_is_seen_and_its_reason_is_named(course, monkeypatch, capsys):
    folder, typed = course
    assert typed("--check") == 1
    assert "out of date (missing): 03_tiny.ipynb" in capsys.readouterr().out
    assert typed() == 0
    assert typed("--check") == 0
    (folder / "recorded" / "tiny.csv").write_text("1,2,4")
    assert typed("--check") == 3
    monkeypatch.setattr(build, "version", lambda name: "0.0")
    monkeypatch.setattr(build.minitrpo, "__file__", str(folder / "__init__.py"))
    capsys.readouterr()
    assert typed("--check") == 3
    said = capsys.readouterr().out
    assert "out of date (code, data, versions): solutions/03_tiny.ipynb" in said
    assert "03_tiny.ipynb\n" not in said.replace("solutions/03_tiny.ipynb\n", ""), "the student's is as it should be"
    (folder / "source" / "03_tiny.py").write_text(TINY + "print(1)\n")
    assert typed("--check") == 1
    assert "out of date (text): 03_tiny.ipynb" in capsys.readouterr().out


def test_the_code_of_a_lecture_is_the_package_and_the_checks_of_its_own_exercises():
    one, two = (build.origin(build.solution(source)) for source in SOURCES[:2])
    assert one["code"] != two["code"], "other exercises, other checks"
    assert set(one["versions"]) == {"numpy", "scipy", "autograd", "gymnasium", "mujoco"}


def test_a_lecture_that_measures_time_waits_for_an_idle_machine(course, monkeypatch, capsys):
    folder, typed = course
    assert build.measures_time(Path("06_timing.py"))
    (folder / "source" / "03_tiny.py").write_text(TINY.replace("# jupyter:", "# jupyter:\n#   timing: true"))
    monkeypatch.setattr(build, "busy_share", lambda seconds: 0.7)
    assert typed() == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "not executed: 03_tiny, which measures time: this machine is busy (70% of its cores" in said.err
    assert (folder / "03_tiny.ipynb").exists(), "the student's needs no idle machine"
    assert not (folder / "solutions").exists()
    assert typed("--even-if-busy") == 0
    assert (folder / "solutions" / "03_tiny.ipynb").exists()


def test_a_lecture_that_does_not_exist_is_one_line(course, capsys):
    _, typed = course
    assert typed("77") == 2
    assert "there is no lecture 77: 03_tiny" in capsys.readouterr().err


# --- a student's work


def test_a_notebook_that_a_student_has_changed_is_kept(course, monkeypatch, capsys):
    folder, typed = course
    monkeypatch.setattr(build, "execute", lambda notebook: None)
    path, source = folder / "03_tiny.ipynb", folder / "source" / "03_tiny.py"
    typed()
    notebook = nbformat.read(path, 4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="5")]  # run, but not changed
    nbformat.write(notebook, path)
    source.write_text(TINY + "# two\n")
    typed()
    assert "# two" in path.read_text()
    notebook = nbformat.read(path, 4)
    notebook.cells[1].source = "my own answer"
    nbformat.write(notebook, path)
    capsys.readouterr()
    typed()
    assert "kept: 03_tiny.ipynb is the newest, with a student's answers in it" in capsys.readouterr().out
    source.write_text(TINY + "# three\n")
    typed()
    assert "the new one is 03_tiny.new.ipynb" in capsys.readouterr().out
    assert "my own answer" in path.read_text()
    new = folder / "03_tiny.new.ipynb"
    assert "# three" in new.read_text()
    new.write_text(new.read_text().replace("# three", "my other answer"))
    source.write_text(TINY + "# four\n")
    typed()
    assert "my other answer" in new.read_text()
    assert "# four" in (folder / "03_tiny.new2.ipynb").read_text()
    assert typed("--check") == 1
    assert "out of date (changed by hand): 03_tiny.ipynb" in capsys.readouterr().out


def test_a_file_that_is_no_notebook_is_kept(course, monkeypatch):
    folder, typed = course
    monkeypatch.setattr(build, "execute", lambda notebook: None)
    (folder / "03_tiny.ipynb").write_text("not JSON")
    typed()
    assert (folder / "03_tiny.ipynb").read_text() == "not JSON"
    assert (folder / "03_tiny.new.ipynb").exists()


# --- the picture of the loop


def test_the_loop_is_drawn_where_a_header_asks_for_it_with_todays_part_lit(course):
    folder, _ = course
    source = folder / "source" / "03_tiny.py"
    (text, *_) = build.student(source).cells
    assert text.source.startswith("# Tiny\n\n<img alt=")
    assert "Today: conjugate gradient." in text.source
    assert text.source == build.student(source).cells[0].source, "the same bytes"
    source.write_text(TINY.replace("<!-- loop -->", "<!-- loop: critic, adapt -->"))
    assert "Today: fit of the critic and adapt steps and KL limit." in build.student(source).cells[0].source
    source.write_text(TINY.replace("<!-- loop -->", "<!-- loop: dessert -->"))
    with pytest.raises(ValueError, match="the loop has no part 'dessert'"):
        build.student(source)
    source.write_text(TINY.replace("<!-- loop -->", ""))
    assert "<img" not in build.student(source).cells[0].source


def test_every_lecture_lights_a_part_of_the_loop():
    for source in SOURCES:
        assert "Today: " in sys.modules["loop_picture"].embedded(source.stem.partition("_")[0])
