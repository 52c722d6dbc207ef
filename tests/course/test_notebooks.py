"""The course holds together: built from the package; solved it passes, unsolved it fails at its checks alone."""

import ast
import contextlib
import copy
import importlib.util
import inspect
import io
import json
import linecache
import os
import re
import shlex
import subprocess
import symtable
import sys
import types
from pathlib import Path

import gymnasium.envs.mujoco  # noqa: F401 - for forks, in which its libraries would be loaded again and again
import nbformat
import pytest
from matplotlib import pyplot as plt
from runs import MAINS, ROOT, forked

from minitrpo.course import MPI_SCRIPTS, classroom
from minitrpo.course.checks import names, target
from minitrpo.course.checks.framework.programs import open_lines
from minitrpo.course.checks.framework.register import ProgramExercise, find
from minitrpo.course.lab.copies import PAGES, put_widgets_away, update
from minitrpo.course.lab.merging import cell_id, merged, text_of
from minitrpo.course.lab.merging import read as as_json
from minitrpo.course.mpi.magic import run_cell
from minitrpo.supervision.mpiexec import mpiexec

spec = importlib.util.spec_from_file_location("build", ROOT / "notebooks" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
SOURCES = sorted(build.SOURCES.glob("[0-9]*.py"))
EXAMPLE = next(source for source in SOURCES if source.stem.startswith("03"))
STARTS_RANKS = re.compile(r"\b(mpiexec|mpiexec_code|train|timed_run)\(|^# %%.* mpi=", re.MULTILINE)


def code_cells(notebook):
    """Return the code cells as nbval numbers them."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def check_cells(notebook):
    """Return {number: exercise} of the cells that check an exercise."""
    return {i: c.metadata["check"] for i, c in enumerate(code_cells(notebook)) if "check" in c.metadata}


# --- what is written


def test_every_notebook_is_what_the_build_makes_of_its_source_and_shows_what_its_execution_showed():
    stale = {}
    for source in SOURCES:
        for path, notebook in (
            (build.student_path(source), build.student(source)),
            (build.solution_path(source), build.solution(source)),
        ):
            stale |= {str(path.relative_to(ROOT)): why for why in [build.text_reasons(path, notebook)] if why}
    assert not stale, "run: make notebooks"


def test_who_changes_what_a_solution_shows_by_hand_is_noticed(tmp_path, monkeypatch):
    source = SOURCES[-1]
    path = tmp_path / "solutions" / f"{source.stem}.ipynb"
    path.parent.mkdir()
    monkeypatch.setattr(build, "HERE", tmp_path)
    notebook = nbformat.read(ROOT / "notebooks" / "solutions" / path.name, 4)
    nbformat.write(notebook, path)
    assert build.text_reasons(path, build.solution(source)) == ()
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    next(o for o in outputs if "image/png" in o.get("data", {})).data["image/png"] = "iVBORw0KGgo="
    nbformat.write(notebook, path)
    assert build.text_reasons(path, build.solution(source)) == ("outputs",)


@pytest.mark.parametrize("name", names())
def test_an_exercise_fits_beside_the_list_of_files_and_says_what_the_package_says(name):
    cell = build.blanked(name)
    assert max(map(len, cell.splitlines())) <= 95
    if build.is_program(name):
        assert set(cell.splitlines()) - set(target(name).splitlines()) <= {f"{blanks}..." for blanks in ("", "    ")}
        return
    (given,), (whole,) = ast.parse(cell).body, ast.parse(inspect.getsource(target(name))).body
    assert ast.get_docstring(given).split() == ast.get_docstring(whole).split()
    given.body = whole.body = []
    assert ast.dump(given) == ast.dump(whole), "the signature"
    numbers = re.findall(r"^    # (\d+)\. ", cell, re.MULTILINE)
    assert numbers == re.findall(r"^    # (\d+)\. ", "\n".join(build.step_lines(name)), re.MULTILINE)


def test_no_answer_stands_in_a_students_notebook():
    for source in SOURCES:
        student = build.student(source)
        text = "\n".join(cell.source for cell in student.cells)
        for cell in student.cells:
            if "exercise" in cell.metadata:
                if isinstance(find(cell.metadata["exercise"]), ProgramExercise):
                    assert open_lines(cell.source.partition("\n")[2]), cell.source
                else:
                    (function,) = ast.parse(cell.source).body
                    docstring, ending = function.body
                    assert isinstance(docstring.value, ast.Constant), cell.source
                    assert isinstance(ending, ast.Raise), cell.source
                leaks = [line for line in build.blanked_lines(cell.metadata["exercise"]) if line in text]
                assert not leaks, f"{source.stem}, {cell.metadata['exercise']}: {leaks}"
            if "prediction" in cell.metadata:
                guessed = re.findall(r"^guess[\w, ]* = ([^#\n]*)", cell.source, re.MULTILINE)
                assert set(" ".join(guessed).replace(",", " ").split()) == {"None"}, cell.source
    assert sorted(e for s in SOURCES for e in check_cells(build.student(s)).values()) == sorted(names())


def test_a_lecture_has_all_that_teaching_asks_for():
    missing = []
    for source in (source for source in SOURCES if check_cells(build.student(source))):  # 17 only collects claims
        cells, done = build.student(source).cells, code_cells(nbformat.read(build.solution_path(source), 4))
        prose, code = ("\n".join(c.source for c in cells if c.cell_type == kind) for kind in ("markdown", "code"))
        guessed = set(re.findall(r"\bguess\w*(?=[\w, ]* = None)", code))
        shown = set(re.findall(r"\bguess\w*", " ".join(re.findall(r"\breveal\(([^\n]*)", code))))
        asked = {
            "one to five exercises": 1 <= sum("exercise" in c.metadata for c in cells) <= 5,
            "two predictions": sum("prediction" in c.metadata for c in cells) >= 2,
            "measurements that wait for their guess": guessed <= shown,
            "a bug hunt": "hunt(" in code,
            "a part of the loop lit": "Today: " in cells[0].source,
            "where it is in the package": "in the package" in cells[0].source,
            "a summary": re.search("^## (Summary|What you have built so far)$", prose, re.MULTILINE) is not None,
            "three questions": prose.partition("## Quiz")[2].count("<summary>Answer</summary>") >= 3,
            "no error": not {o.get("name", o.output_type) for c in done for o in c.outputs} & {"stderr", "error"},
        }
        missing += [f"{source.stem}: {what}" for what, there in asked.items() if not there]
    assert not missing


def used(text):
    """Return the variables that a cell binds, functions and imports aside, and the names that it has from elsewhere.

    A program binds the variable that keeps its text, and has nothing from elsewhere.
    """
    if text.startswith("%%mpi"):
        return set(re.findall(r"--name (\w+)", text.partition("\n")[0])), set()
    text = re.sub(r"^%.*", "", text, flags=re.MULTILINE)
    first, read = symtable.symtable(text, "cell", "exec"), set()
    own = {s.get_name() for s in first.get_symbols() if s.is_assigned()}
    other = {s.get_name() for s in first.get_symbols() if s.is_imported() or s.is_namespace()} | {"_"}
    waiting = [first]
    while waiting:
        table = waiting.pop()
        read |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (table is first or s.is_global())}
        waiting += table.get_children()
    return own - other, read - own


def test_cells_lean_on_no_unsolved_exercise_and_a_drawing_that_comes_late_changes_nothing():
    """Who has not solved an exercise goes on with `mine`; who presses Reveal late runs a drawing cell out of order."""
    for source in SOURCES:
        cells = [c for c in code_cells(build.student(source)) if not {"exercise", "check"} & c.metadata.keys()]
        uses = [used(cell.source) for cell in cells]
        solutions = {name: target(name) for name in check_cells(build.student(source)).values()}
        functions = {getattr(solution, "__name__", name) for name, solution in solutions.items()}
        for number, (bound, read) in enumerate(uses):
            before = set().union(*(names_ for names_, _ in uses[:number]))
            after = set().union(*(names_ for _, names_ in uses[number + 1 :]))
            assert not read & functions - before, f"{source.stem}: {cells[number].source}"
            if "\nplt.show()" in cells[number].source:  # not in a function
                assert not bound & before & after, f"{source.stem}: {cells[number].source}"


def test_the_table_in_the_header_names_the_file_in_which_an_exercise_is():
    for source in SOURCES:
        table = source.read_text("utf-8").partition("in the package |")[2].partition("\n#\n")[0]
        for row in table.splitlines()[2:]:
            said, where = row.split("|")[1:3]
            for name in set(re.findall(r"`(\w+)`", said)) & set(names()):
                exercise = find(name)
                if isinstance(exercise, ProgramExercise):
                    path = (MPI_SCRIPTS / exercise.target).relative_to(ROOT)
                else:
                    path = Path(inspect.getsourcefile(inspect.unwrap(target(name)))).relative_to(ROOT)
                assert str(path) in where or f"`{path.name}`" in where, f"{source.stem}: {name} is in {path}"


# --- what runs


@pytest.fixture
def quick(monkeypatch):
    """Let lectures be short."""
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def lecture(words):
    """Run the cells of a solution, draw its figures, and print what its checks say that they did not say before."""
    source = next(s for s in SOURCES if s.stem == words[0])
    recorded = code_cells(nbformat.read(build.solution_path(source), 4))
    plt.show = drawn
    classroom.mpiexec = mpiexec_or_fork
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    for number, cell in enumerate(code_cells(build.solution(source))):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            run_code(cell.source, number, vars(module))
            drawn()
        if "check" in cell.metadata and said.getvalue() != "".join(o.text for o in recorded[number].outputs):
            print(number, said.getvalue())


def run_code(text, number, variables):
    """Run a cell as a kernel does, one with %%mpi, too."""
    first, _, program = text.partition("\n")
    if first.startswith("%%mpi"):
        run_cell(first.removeprefix("%%mpi"), program, variables)
    else:
        python = re.sub(r"^%load_ext .*", "", text, flags=re.MULTILINE)
        file = f"<code cell {number}>"
        linecache.cache[file] = (len(python), None, python.splitlines(True), file)  # for inspect.getsource
        exec(compile(python, file, "exec"), variables)


def drawn():
    """Draw all open figures, as a kernel does when a cell has run."""
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def mpiexec_or_fork(ranks, program, *words, timeout=120.0):
    """Do as `mpiexec`; a command on one rank needs no new process with all imports."""
    if ranks > 1 or program not in MAINS:
        return mpiexec(ranks, program, *words, timeout=timeout)
    done = forked(program, *words, cwd=Path.cwd(), timeout=timeout)
    if done.code:
        raise classroom.JobFailed(done.err, done.code)
    return done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    "stem",
    [pytest.param(s.stem, marks=[pytest.mark.mpi] * bool(STARTS_RANKS.search(s.read_text("utf-8")))) for s in SOURCES],
)
def test_a_solution_runs_from_top_to_bottom_and_its_checks_say_what_they_said(stem, quick, monkeypatch):
    """In a fork, which has imported what a new kernel would import first; test_alt_text.py runs one in a kernel."""
    monkeypatch.setitem(MAINS, "lecture", lecture)
    done = forked("lecture", stem, cwd=ROOT / "notebooks", timeout=600)
    assert (done.code, done.out) == (0, ""), str(done)


@pytest.mark.slow
def test_an_unsolved_notebook_fails_at_its_checks_alone_as_not_attempted(quick, tmp_path):
    """By nbval, as `make check-exercise NB=...` runs it."""
    path = tmp_path / f"{EXAMPLE.stem}.ipynb"
    nbformat.write(build.student(EXAMPLE), path)
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:cacheprovider", "--tb=short"]
    variables = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", *options, str(path)],
        cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    failed = list(map(int, re.findall(r"^FAILED .*::Cell (\d+)", done.stdout, re.MULTILINE)))
    assert failed == list(check_cells(build.student(EXAMPLE))), done.stdout + done.stderr
    assert done.stdout.count("not attempted") >= len(failed)


# --- when a solution is out of date, and a student's work


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


def executed(notebook):
    """Do as if all cells had been run."""
    for number, cell in enumerate(code_cells(notebook), 1):
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", text="5\n")]
    return {}


@pytest.fixture
def course(monkeypatch, tmp_path):
    """A course of one lecture, and the build as a person types it, on an idle machine."""
    for name in ("source", "recorded"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "03_tiny.py").write_text(TINY)
    (tmp_path / "recorded" / "tiny.csv").write_text("1,2,3")
    for name, value in (("HERE", tmp_path), ("SOURCES", tmp_path / "source"), ("execute", executed)):
        monkeypatch.setattr(build, name, value)
    monkeypatch.setattr(build, "load_share", lambda: 0.0)
    monkeypatch.setattr(build, "busy_share", lambda seconds: 0.0)
    monkeypatch.setattr(build.concepts, "index", lambda: "")
    monkeypatch.setattr(build, "exercises", dict)  # the tiny lecture has none
    monkeypatch.setattr(build, "with_exercises", str)
    (tmp_path / "README.md").write_text("The way through the course\n")

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["build.py", *words])
        return build.main()

    return tmp_path, typed


def test_a_stale_solution_is_seen_and_its_reason_is_named(course, monkeypatch, capsys):
    folder, typed = course
    assert typed("77") == 2, "there is no such lecture"
    assert typed("--check") == 1
    assert "(missing): 03_tiny.ipynb" in capsys.readouterr().out
    assert (typed(), typed("--check")) == (0, 0)
    (folder / "recorded" / "tiny.csv").write_text("1,2,4")
    monkeypatch.setattr(build, "version", lambda name: "0.0")
    capsys.readouterr()
    assert typed("--check") == 3
    (line, _) = capsys.readouterr().out.splitlines()
    assert line == "out of date (data, versions): solutions/03_tiny.ipynb"
    (folder / "source" / "03_tiny.py").write_text(TINY + "print(1)\n")
    assert typed("--check") == 1
    assert "(text): 03_tiny.ipynb" in capsys.readouterr().out


def test_a_lecture_that_measures_time_waits_for_an_idle_machine(course, monkeypatch, capsys):
    folder, typed = course
    assert build.measures_time(Path("06_timing.py"))
    (folder / "source" / "03_tiny.py").write_text(TINY.replace("# jupyter:", "# jupyter:\n#   timing: true"))
    monkeypatch.setattr(build, "busy_share", lambda seconds: 0.7)
    assert typed() == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert (folder / "03_tiny.ipynb").exists(), "the student's needs no idle machine"
    assert not (folder / "solutions").exists()
    assert typed("--even-if-busy") == 0
    assert (folder / "solutions" / "03_tiny.ipynb").exists()


def test_a_notebook_that_was_changed_by_hand_is_kept(course, capsys):
    folder, typed = course
    path = folder / "03_tiny.ipynb"
    typed()
    path.write_text("not JSON")
    capsys.readouterr()
    assert (typed(), path.read_text()) == (0, "not JSON")
    kept = next(line for line in capsys.readouterr().out.splitlines() if "git checkout" in line)
    assert Path(shlex.split(kept)[-1]).resolve() == path, "it may be copied"
    assert typed("--check") == 1
    assert "(changed by hand): 03_tiny.ipynb" in capsys.readouterr().out


# --- a student's folder: no answer is ever lost

LECTURE = as_json(ROOT / "notebooks" / f"{EXAMPLE.stem}.ipynb")


def of(notebook, kind):
    return next(cell for cell in notebook["cells"] if kind in cell["metadata"])


def corrected():
    """Return the lecture with a text more, a text less, and a text and an exercise that say more."""
    cells = copy.deepcopy(LECTURE["cells"])
    of({"cells": cells}, "exercise")["source"] += "\n# corrected"
    texts = [number for number, cell in enumerate(cells) if cell["cell_type"] == "markdown"]
    cells[texts[3]]["source"] += "\ncorrected"
    cells = [{**cells[texts[0]], "source": "new"}, *cells[: texts[6]], *cells[texts[6] + 1 :]]
    return LECTURE | {"cells": [cell | {"id": cell_id(EXAMPLE.stem, n, text_of(cell))} for n, cell in enumerate(cells)]}


@pytest.fixture
def copied(tmp_path):
    course, folder = tmp_path / "course", tmp_path / "my"
    course.mkdir()
    for page in PAGES:
        (course / page).write_text("the course's")
    (course / f"{EXAMPLE.stem}.ipynb").write_text(json.dumps(LECTURE))
    assert len(list(update(course, folder))) == 1
    return course, folder, folder / f"{EXAMPLE.stem}.ipynb"


def test_a_correction_comes_and_answers_notes_and_outputs_stay(copied):
    course, folder, path = copied
    mine, answer = as_json(path), "def energy(): return 'mine'"
    of(mine, "exercise")["source"] = answer
    of(mine, "check")["outputs"] = [nbformat.v4.new_output("stream", text="right")]
    mine["cells"] = [*mine["cells"][:5], nbformat.v4.new_markdown_cell("my note"), *mine["cells"][5:-1]]
    for file, text in ((path, mine), (course / path.name, corrected()), (folder / PAGES[0], 1), (course / PAGES[1], 2)):
        file.write_text(json.dumps(text))
    assert len(list(update(course, folder))) == 1
    after, words = as_json(path), [text_of(cell) for cell in as_json(path)["cells"]]
    nbformat.validate(after)
    assert (words.count(answer), words.count("my note")) == (1, 1)
    assert of(after, "check")["outputs"] == of(mine, "check")["outputs"]
    assert "# corrected" in words[words.index(answer) + 1], "the course's own stands below"
    assert len(words) == len(corrected()["cells"]) + 2 - 1, "what the student has deleted stays away"
    assert [(folder / page).read_text() for page in PAGES[:2]] == ["1", "2"]
    assert (as_json(folder / ".course" / f"{path.name}.before"), list(update(course, folder))) == (mine, [])


@pytest.mark.parametrize("given", [LECTURE, {"cells": []}], ids=["known", "forgotten"])
def test_whatever_a_student_changes_is_there_after_a_merge_and_the_rest_is_the_course_s(given):
    assert merged(given, corrected(), LECTURE, EXAMPLE.stem) == corrected()
    for number in range(len(LECTURE["cells"])):
        mine = copy.deepcopy(LECTURE)
        mine["cells"][number]["source"] = f"mine {number}"
        words = [text_of(cell) for cell in merged(given, corrected(), mine, EXAMPLE.stem)["cells"]]
        assert words.count(f"mine {number}") == 1, number
        assert len(words) <= len(corrected()["cells"]) + 2


@pytest.mark.parametrize(
    ("typed", "folder"),
    [("--port 8899", "my"), ("here --port 8899 --ip=::1", "here"), ("--ServerApp.port 8899 --no-browser here", "here")],
)
def test_the_value_of_an_option_of_jupyterlab_is_no_folder(typed, folder, tmp_path):
    done = forked("lab", *typed.split(), "--copy", cwd=tmp_path)
    assert (done.code, [path.name for path in tmp_path.iterdir()]) == (0, [folder]), done


def test_what_is_no_notebook_or_not_the_course_s_own_is_left_alone_and_a_dead_slider_says_how_to_come_back(copied):
    course, folder, path = copied
    path.write_text("not JSON")
    (course / path.name).write_text(json.dumps(corrected()))
    assert (len(list(update(course, folder))), path.read_text()) == (1, "not JSON")
    path.unlink()
    assert (len(list(update(course, folder))), as_json(path)) == (1, corrected())
    (course / path.name).write_text(json.dumps(LECTURE).replace("raise NotImplementedError", "return 'secret'"))
    (line,) = update(course, folder)
    assert Path(shlex.split(line)[-1]).resolve() == course / path.name, "what undoes it may be copied"
    assert as_json(path) == corrected()
    mine, slider = as_json(path), {"application/vnd.jupyter.widget-view+json": {}}
    of(mine, "check")["outputs"] = [nbformat.v4.new_output("display_data", slider)]
    path.write_text(json.dumps(mine))
    put_widgets_away(path)
    assert "Run All Above" in json.dumps(of(as_json(path), "check")["outputs"])
