"""Build the course: notebooks/source/NN_name.py -> NN_name.ipynb (student) and solutions/NN_name.ipynb (executed).

    python notebooks/build.py            build all; execute solutions whose code has changed
    python notebooks/build.py 03 07      build these, and execute their solutions
    python notebooks/build.py --check    say what is out of date, write nothing; exit code 1 if anything is

A source is a jupytext percent file. Three kinds of cells are treated, by a word behind `# %%`:
    exercise="name"      becomes the package's function: without its code for students, whole in the solution, and
                         `check("name", function)` in a cell of its own behind it
    prediction="..."     `guess = 3` becomes `guess = None` for students
    solution="only"      is left out for students
"""

import argparse
import ast
import hashlib
import inspect
import os
import re
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

from minitrpo.checks import target

HERE = Path(__file__).parent
SOURCES = HERE / "source"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def main() -> int:
    """Build, or check that nothing would change."""
    parser = argparse.ArgumentParser(description="Build the notebooks of the course.")
    parser.add_argument("lectures", nargs="*", help="numbers, such as 03; all if none is given")
    parser.add_argument("--check", action="store_true", help="write nothing, only say what is out of date")
    arguments = parser.parse_args()
    stale = []
    for source in sorted(SOURCES.glob("[0-9]*.py")):
        if arguments.lectures and not source.name.startswith(tuple(arguments.lectures)):
            continue
        for path, notebook in ((student_path(source), student(source)), (solution_path(source), solution(source))):
            again = arguments.lectures and path.parent != HERE and not arguments.check
            if up_to_date(path, notebook) and not again:
                continue
            stale.append(path)
            if not arguments.check:
                build(path, notebook)
    for path in stale:
        print(f"{'out of date' if arguments.check else 'built'}: {path.relative_to(HERE)}")
    return 1 if arguments.check and stale else 0


def student_path(source: Path) -> Path:
    """Return where the student's notebook goes."""
    return HERE / f"{source.stem}.ipynb"


def solution_path(source: Path) -> Path:
    """Return where the executed solution goes."""
    return HERE / "solutions" / f"{source.stem}.ipynb"


def student(source: Path) -> nbformat.NotebookNode:
    """Return the notebook a student gets: exercises blanked, predictions open, no outputs."""
    cells = []
    for cell in jupytext.read(source).cells:
        if "solution" in cell.metadata:
            continue
        if "prediction" in cell.metadata:
            opened = re.sub(r"^(guess\w*) = [^#\n]*", r"\1 = None  ", cell.source, flags=re.MULTILINE)
            cell.source = "\n".join(line.rstrip() for line in opened.splitlines())
        if "exercise" in cell.metadata:
            cells += exercise_cells(cell, blanked(cell.metadata["exercise"]))
        else:
            cells.append(cell)
    return finished(source, cells)


def solution(source: Path) -> nbformat.NotebookNode:
    """Return the notebook with the package's functions in place of the exercises, not executed."""
    cells = []
    for cell in jupytext.read(source).cells:
        if "exercise" in cell.metadata:
            cells += exercise_cells(cell, inspect.getsource(target(cell.metadata["exercise"])).rstrip())
        else:
            cells.append(cell)
    return finished(source, cells)


def exercise_cells(cell: nbformat.NotebookNode, code: str) -> list[nbformat.NotebookNode]:
    """Return the cell with the function, and the cell that checks it."""
    name = cell.metadata["exercise"]
    cell.source = code
    code = f'# NBVAL_CHECK_OUTPUT\ncheck("{name}", {target(name).__name__})'
    checking = nbformat.v4.new_code_cell(code, metadata={"check": name})
    return [cell, checking]


def blanked(name: str) -> str:
    """Return signature, docstring and numbered comments of an exercise's function, ending in NotImplementedError."""
    code = inspect.getsource(target(name))
    function = ast.parse(textwrap.dedent(code)).body[0]
    assert isinstance(function, ast.FunctionDef)
    docstring = function.body[0]
    assert isinstance(docstring, ast.Expr), f"{name} has no docstring"
    lines = code.splitlines()
    head, body = lines[: docstring.end_lineno], lines[docstring.end_lineno :]
    steps = [f"    {line.strip()}" for line in body if re.match(r"\s*# \d+\. ", line)]
    return "\n".join(
        [*head, *steps, f'    raise NotImplementedError("exercise {name}: write the body of this function")']
    )


def blanked_lines(name: str) -> list[str]:
    """Return the lines of an exercise's function that a student must not find in the notebook."""
    kept = {line.strip() for line in blanked(name).splitlines()}
    lines = {line.strip() for line in inspect.getsource(target(name)).splitlines()} - kept
    trivial = re.compile(r"(#.*|[\])}]+,?|else:|try:|break|return \w+(, \w+)*|.{0,14})")
    return sorted(line for line in lines if not trivial.fullmatch(line))


def finished(source: Path, cells: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """Return a notebook with ids that depend on place and content only, so that building again changes nothing."""
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = hashlib.sha256(f"{source.stem} {number} {cell.source}".encode()).hexdigest()[:12]
    return notebook


def without_outputs(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """Return what a notebook says, without what its execution added."""
    return [
        {
            "id": c.id,
            "type": c.cell_type,
            "source": c.source,
            "metadata": {k: v for k, v in c.metadata.items() if k != "execution"},
        }
        for c in notebook.cells
    ]


def up_to_date(path: Path, notebook: nbformat.NotebookNode) -> bool:
    """Return whether the file on disk holds this notebook; a solution must have been executed, too."""
    if not path.exists():
        return False
    there = nbformat.read(path, as_version=4)
    executed = path.parent == HERE or all(c.execution_count for c in there.cells if c.cell_type == "code" and c.source)
    return executed and without_outputs(there) == without_outputs(notebook)


def build(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Write a notebook; a solution is executed first, in its own folder."""
    if path.parent != HERE:
        start = time.perf_counter()
        execute(notebook)
        print(f"{path.stem}: executed in {time.perf_counter() - start:.0f} s", flush=True)
    path.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, path)


def execute(notebook: nbformat.NotebookNode) -> None:
    """Run all cells from a fresh kernel; the first error ends it."""
    os.environ["PYTHONWARNINGS"] = "default"
    client = NotebookClient(
        notebook, timeout=150, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}, record_timing=False
    )
    client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("metadata", {}).clear()


if __name__ == "__main__":
    sys.exit(main())
