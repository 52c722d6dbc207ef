"""Build the course: notebooks/source/NN_name.py -> NN_name.ipynb (student) and solutions/NN_name.ipynb (executed).

    python notebooks/build.py            build what is out of date, concepts.md, and the exercises in the table of
                                         README.md; solutions are executed
    python notebooks/build.py 03 07      build these, and execute their solutions
    python notebooks/build.py --check    say what is out of date, and why, in a word each; write nothing

--check ends with 0 if nothing is out of date, 1 if a notebook does not say what its source says, or a solution shows
other outputs than its execution left, and 3 if a solution was executed with other data or versions. An exercise that is
in a notebook but has no check, or has a check but is in no notebook, ends every build with exit code 2 and a line that
says what to type. Lectures that
measure time (06, 08, and any that says `timing: true` in the header of its source) are executed on an idle machine only
(exit code 2; --even-if-busy). A student's notebook that was changed by hand stays as it is, and a line says so.

A source is a jupytext percent file. What the build makes of it, by a word behind `# %%` or a line of its own:
    exercise="name"      becomes the package's function: without its code for students, whole in the solution, with a
                         box that says what to do before it and `check("name", function)` in a cell behind it
    mpi="-n 3 --show"    makes the cell a program: `%%mpi -n 3 --show` is its first line
    exercise="ring" mpi="-n 3"
                         becomes a program of mpi_scripts: with `...` in place of its steps for students, whole in the
                         solution; its text is kept in the variable `ring`, which the cell behind it checks
    prediction="..."     `guess = 3` becomes `guess = None` for students
    solution="only"      is left out for students
    <!-- loop -->        in a text becomes a picture of the algorithm's loop with this lecture's part lit
"""

import argparse
import ast
import hashlib
import inspect
import io
import json
import os
import re
import shlex
import sys
import textwrap
import time
from base64 import b64decode, b64encode
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import nbformat
from nbclient import NotebookClient
from PIL import Image

from minitrpo.checks import target
from minitrpo.course.checks.framework.register import ProgramExercise, exercises, find, lectures
from minitrpo.course.lab.kernel import key
from minitrpo.course.lab.merging import cell_id, changed_by_hand, read
from minitrpo.course.machine import BUSY, busy_share, load_share

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import concepts  # noqa: E402
import narrow  # noqa: E402
from loop_picture import embedded  # noqa: E402

SOURCES = HERE / "source"
LONG = 3.0  # seconds of a cell, from which on recorded/seconds.json names it, and JupyterLab shows a bar
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
VERSIONS = ("numpy", "scipy", "autograd", "gymnasium", "mujoco")  # what the numbers of a solution depend on
ADDED = ("execution", "mystnb")  # what an execution adds to a cell's metadata
THE_END = "*The lecture ends here.*"
REFUSED, OTHER_DATA = 2, 3


class Job(NamedTuple):
    """A notebook that is out of date, and why."""

    source: Path
    path: Path
    notebook: nbformat.NotebookNode
    reasons: tuple[str, ...]

    @property
    def timing(self) -> bool:
        """Return whether it is to be executed, and measures time."""
        return self.path.parent != HERE and measures_time(self.source)


def main() -> int:
    """Build, or check that nothing would change."""
    parser = argparse.ArgumentParser(description="Build the notebooks of the course.")
    parser.add_argument("lectures", nargs="*", help="numbers, such as 03; all if none is given")
    parser.add_argument("--check", action="store_true", help="write nothing, only say what is out of date, and why")
    parser.add_argument("--even-if-busy", action="store_true", help="execute lectures that measure time all the same")
    arguments = parser.parse_args()
    sources = sorted(SOURCES.glob("[0-9]*.py"))
    for number in arguments.lectures:
        if not any(source.name.startswith(number) for source in sources):
            print(f"build.py: there is no lecture {number}: {', '.join(s.stem for s in sources)}", file=sys.stderr)
            return REFUSED
    if faults := out_of_step(sources):
        print(*(f"build.py: {fault}" for fault in faults), sep="\n", file=sys.stderr)
        return REFUSED
    chosen = [s for s in sources if not arguments.lectures or s.name.startswith(tuple(arguments.lectures))]
    jobs = out_of_date(chosen, again=bool(arguments.lectures) and not arguments.check)
    page = HERE / "README.md"
    course = with_exercises(page.read_text("utf-8"))
    if arguments.check:
        if course != page.read_text("utf-8"):
            print("out of date (exercises): README.md")
            return told(jobs) or 1
        return told(jobs)
    page.write_text(course, "utf-8")
    (HERE / "concepts.md").write_text(concepts.index(), "utf-8")
    return build_all(jobs, arguments.even_if_busy)


def out_of_step(sources: list[Path]) -> list[str]:
    """Return a line for each exercise that is in a notebook and not in the register, or the reverse."""
    mark = re.compile(r'^# %%.*exercise="(\w+)"', re.MULTILINE)
    written = [(name, source) for source in sources for name in mark.findall(source.read_text("utf-8"))]
    places, faults = dict(written), []
    for name, exercise in exercises().items():
        check = f"{Path(*exercise.cases.__module__.split('.'))}.py"
        if name not in places:
            cure = f"make exercise LECTURE={exercise.lecture} NAME={exercise.target}"
            if isinstance(exercise, ProgramExercise):
                cure = f'add a cell that begins with # %% exercise="{name}" mpi="-n 3"'
            faults.append(f"{check} has the exercise {name}, which no notebook has: {cure}")
        elif number_of(places[name]) != exercise.lecture:
            number = number_of(places[name])
            faults.append(f'{name} is in {places[name].name}: write lecture="{number}" in its check, {check}')
    for name, source in written:
        if name not in exercises():
            cure = f"make exercise LECTURE={number_of(source)} NAME={name}"
            faults.append(f"{source.name} has the exercise {name}, which no check grades: {cure}")
    names = [name for name, _ in written]
    twice = sorted({name for name in names if names.count(name) > 1})
    return faults + [f"two cells are the exercise {name}: remove one" for name in twice]


def with_exercises(text: str) -> str:
    """Return the page of the course with the exercises of the register in its table, in the third column."""

    def filled(row: re.Match[str]) -> str:
        names = ", ".join(f"`{name}`" for name in lectures().get(row["number"], ()))
        return f"{row['before']}{names or 'nothing: reading'} |"

    row = r"^(?P<before>\| \[[^\]]*\]\((?P<number>\w+?)_\w+\.ipynb\) \| [^|]* \| )[^|]* \|"
    return re.sub(row, filled, text, flags=re.MULTILINE)


def number_of(source: Path) -> str:
    """Return the number of a lecture: 05a of 05a_advantages.py."""
    return source.stem.partition("_")[0]


def out_of_date(sources: list[Path], again: bool = False) -> list[Job]:
    """Return what is to be built; again: the solutions in any case."""
    jobs = []
    for source in sources:
        mine, solved = Job(source, student_path(source), student(source), ()), solution(source)
        jobs.append(mine._replace(reasons=text_reasons(mine.path, mine.notebook)))
        path = solution_path(source)
        reasons = text_reasons(path, solved) or origin_reasons(path, solved)
        jobs.append(Job(source, path, solved, reasons or ("asked for",) * again))
    return [job for job in jobs if job.reasons]


def told(jobs: list[Job]) -> int:
    """Say what is out of date, and return the exit code of --check."""
    for job in jobs:
        print(f"out of date ({', '.join(job.reasons)}): {job.path.relative_to(HERE)}")
    if not jobs:
        return 0
    if any(job.reasons[0] not in ("data", "versions") for job in jobs):
        return 1
    print("Every notebook says what its source says, but these were executed with something else: make notebooks")
    return OTHER_DATA


def build_all(jobs: list[Job], even_if_busy: bool) -> int:
    """Write and execute; lectures that measure time come first, when this has not made the machine busy itself."""
    load = load_share()
    refused: dict[str, float] = {}
    for job in sorted(jobs, key=lambda job: not job.timing):
        if job.reasons == ("text",) and keeps_outputs(job.path, job.notebook):
            write(job.path, job.notebook)
            continue
        if job.timing and not even_if_busy:
            share = max(load, busy_share(1.0))
            if share > BUSY:
                refused[job.path.stem] = share
                continue
        build(job.path, job.notebook)
        load = 0.0  # from here on part of it is ours
    if refused:
        which = f"{', '.join(refused)}, which measure{'s' * (len(refused) == 1)} time"
        why = f"this machine is busy ({max(refused.values()):.0%} of its cores in use, {BUSY:.0%} allowed)"
        print(f"build.py: not executed: {which}: {why}. Wait, or say --even-if-busy", file=sys.stderr)
    return REFUSED if refused else 0


def measures_time(source: Path) -> bool:
    """Return whether a lecture is executed on an idle machine only: 06, 08, and who says `timing: true` on top."""
    return source.stem[:2] in ("06", "08") or bool(jupytext.read(source).metadata.get("timing"))


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
            cell.source = opened(cell.source)
        if "exercise" in cell.metadata:
            name = cell.metadata["exercise"]
            cells += exercise_cells(cell, banner(name), blanked(name))
        else:
            cells.append(as_program(cell))
    return finished(source, cells)


def solution(source: Path) -> nbformat.NotebookNode:
    """Return the notebook with the package's functions in place of the exercises, not executed."""
    cells = []
    for cell in jupytext.read(source).cells:
        if "exercise" in cell.metadata:
            name = cell.metadata["exercise"]
            cells += exercise_cells(cell, banner(name, solved=True), solved(name), "nbval-check-output")
        else:
            cells.append(as_program(cell))
    return finished(source, cells)


def opened(text: str) -> str:
    """Return a prediction without the guess: guess_a, guess_b = 3, 4 becomes guess_a, guess_b = None, None."""

    def blank(found: re.Match[str]) -> str:
        return f"{found[1]} = {', '.join(['None'] * (found[1].count(',') + 1))}  "

    text = re.sub(r"^(guess\w*(?:, *guess\w*)*) = [^#\n]*", blank, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines())


def exercise_cells(cell: nbformat.NotebookNode, text: str, code: str, *check_tags: str) -> list[nbformat.NotebookNode]:
    """Return a box that says what to do, the cell with the function, and the cell that checks it.

    nbval compares the check's line where a solution has it; of a student's notebook it asks that the check passes.
    """
    name = cell.metadata["exercise"]
    cell.source = code
    variable = name if is_program(name) else target(name).__name__
    if is_program(name):
        cell.metadata["mpi"] += f" --name {name}"
    cell = as_program(cell)
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), "exercise"]
    box = nbformat.v4.new_markdown_cell(text, metadata={"tags": ["exercise-banner"]})
    checking = nbformat.v4.new_code_cell(
        f'check("{name}", {variable})', metadata={"check": name, "tags": ["check", *check_tags]}
    )
    return [box, cell, checking]


def banner(name: str, solved: bool = False) -> str:
    """Return the text before an exercise: a box tinted in blue, its letters those of the theme, light or dark.

    The steps stand here, too, because comments in code are pale in most themes.
    """
    hints = len(find(name).hints)
    function = f"`{name}`" if is_program(name) else f"`{target(name).__name__}`"
    more = f' to `hint("{name}", {hints})`' if hints > 1 else ""
    help_line = f'Stuck? `hint("{name}", 1)`{more}.'
    if is_program(name):
        task = (
            f"**Exercise {function}.** Write what belongs in place of each `...`, run the program, then run its check."
        )
        done = f"**Exercise {function}, solved.** This is the program `mpi_scripts/{find(name).target}`."
    else:
        task = f"**Exercise {function}.** Write its body in the next cell, run it, then run the check below it."
        done = f"**Exercise {function}, solved.** This is the function of the package."
    steps = "\n".join(as_markdown(line.strip().removeprefix("# ")) for line in step_lines(name))
    parts = [done if solved else task, steps, "" if solved else help_line]
    colours = "border-left: 8px solid #0072B2; background-color: rgba(0, 114, 178, 0.15)"
    style = f"{colours}; padding: 8px 14px; margin-bottom: 12px"
    text = "\n\n".join(part for part in parts if part)
    return f'<div class="exercise" style="{style}">\n\n{text}\n\n</div>'


def as_markdown(text: str) -> str:
    """Return a comment so that markdown shows its signs as they are; `code` stays code."""
    parts = text.split("`")
    return "`".join(part if i % 2 else re.sub(r"([*_<$\[\]|~\\])", r"\\\1", part) for i, part in enumerate(parts))


def is_program(name: str) -> bool:
    """Return whether an exercise's answer is a program, not a function."""
    return isinstance(find(name), ProgramExercise)


def as_program(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a cell with the line `%%mpi ...` on top, if its source asks for that."""
    if "mpi" in cell.metadata:
        cell.source = f"%%mpi {cell.metadata.pop('mpi')}\n{cell.source}"
    return cell


def solved(name: str) -> str:
    """Return the solution of an exercise: the function of the package, or the program without its docstring."""
    if is_program(name):
        return program_lines(name).rstrip()
    return inspect.getsource(target(name)).rstrip()


def program_lines(name: str) -> str:
    """Return the program that solves an exercise without its docstring, which says how to start it in a terminal."""
    text = target(name)
    docstring = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[docstring.end_lineno :]).lstrip("\n")


def program_with_gaps(name: str) -> str:
    """Return the program that solves an exercise, without the lines of its steps.

    A step begins with a numbered comment, which stays, and ends before the next empty line; `...` stands for its lines.
    """
    kept, in_step = [], False
    for line in program_lines(name).splitlines():
        if re.match(r"\s*# \d+\. ", line):
            in_step = True
            kept += [line, f"{line[: line.index('#')]}..."]
        elif not line.strip():
            in_step = False
        if not in_step:
            kept.append(line)
    return "\n".join(kept).rstrip()


def blanked(name: str) -> str:
    """Return what a student gets of a solution.

    Of a function these are signature, docstring and numbered comments, ending in NotImplementedError, where no line is
    longer than narrow.WIDTH; of a program all but the lines that belong to numbered comments.
    """
    if is_program(name):
        return program_with_gaps(name)
    head, _ = head_and_body(name)
    comments = [line for step in step_lines(name) for line in narrow.filled(step, "    #    ")]
    said = f'"exercise {name}: write the body of this function"'
    ending = f"    raise NotImplementedError({said})"
    if len(ending) > narrow.WIDTH:
        ending = f"    raise NotImplementedError(\n        {said}\n    )"
    return "\n".join([*narrow.head(head), *comments, ending])


def step_lines(name: str) -> list[str]:
    """Return the numbered comments of an exercise's solution, as lines of its body."""
    if is_program(name):
        return [f"    {line.strip()}" for line in target(name).splitlines() if re.match(r"\s*# \d+\. ", line)]
    _, body = head_and_body(name)
    return [f"    {line.strip()}" for line in body if re.match(r"\s*# \d+\. ", line)]


def head_and_body(name: str) -> tuple[list[str], list[str]]:
    """Return the lines of an exercise's function up to its docstring's end, and those after it."""
    code = inspect.getsource(target(name))
    function = ast.parse(textwrap.dedent(code)).body[0]
    assert isinstance(function, ast.FunctionDef)
    docstring = function.body[0]
    assert isinstance(docstring, ast.Expr), f"{name} has no docstring"
    lines = code.splitlines()
    return lines[: docstring.end_lineno], lines[docstring.end_lineno :]


def blanked_lines(name: str) -> list[str]:
    """Return the lines of an exercise's solution that a student must not find in the notebook."""
    body = solved(name).splitlines() if is_program(name) else head_and_body(name)[1]
    kept = blanked(name).splitlines() if is_program(name) else step_lines(name)
    lines = {line.strip() for line in body} - {line.strip() for line in kept}
    trivial = re.compile(r"(#.*|[\])}]+,?|else:|try:|break|return \w+(, \w+)*|.{0,14})")
    return sorted(line for line in lines if not trivial.fullmatch(line))


def finished(source: Path, cells: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """Return a notebook with ids that depend on place and content only, so that building again changes nothing.

    It ends with a text: behind a last cell with code JupyterLab adds an empty one whenever that is run.
    """
    if cells[-1].cell_type == "code":
        cells.append(nbformat.v4.new_markdown_cell(THE_END))
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}, "minitrpo": {"lecture": source.stem}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    for number, cell in enumerate(notebook.cells):
        with_picture(cell, source)
        cell.id = cell_id(source.stem, number, cell.source)
    return notebook


def with_picture(cell: nbformat.NotebookNode, source: Path) -> None:
    """Put a picture of the algorithm's loop where a text asks for it."""
    if cell.cell_type == "markdown":
        marker = re.compile(r"^<!-- loop(?:: *([\w, ]*?))? *-->$", re.MULTILINE)
        lecture = source.stem.partition("_")[0]
        cell.source = marker.sub(lambda found: embedded(lecture, found.group(1) or ""), cell.source)


def without_outputs(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """Return what a notebook says, without what its execution added."""
    return [
        {
            "id": c.id,
            "type": c.cell_type,
            "source": c.source,
            "metadata": {k: v for k, v in c.metadata.items() if k not in ADDED},
        }
        for c in notebook.cells
    ]


def text_reasons(path: Path, notebook: nbformat.NotebookNode) -> tuple[str, ...]:
    """Return why the file on disk does not hold this notebook; a solution must hold what its execution showed, too."""
    if not path.exists():
        return ("missing",)
    there = on_disk(path)
    if there is None or without_outputs(there) != without_outputs(notebook):
        by_hand = path.parent == HERE and changed_by_hand(read(path), path.stem)
        return ("changed by hand",) if by_hand else ("text",)
    if path.parent == HERE:
        return ()
    if not all(c.execution_count for c in there.cells if c.cell_type == "code" and c.source):
        return ("not executed",)
    return () if there.metadata.get("minitrpo", {}).get("outputs") == outputs_digest(there) else ("outputs",)


def on_disk(path: Path) -> nbformat.NotebookNode | None:
    """Return a notebook, or None if the file is not one."""
    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, AttributeError, nbformat.ValidationError):
        return None


def origin_reasons(path: Path, notebook: nbformat.NotebookNode) -> tuple[str, ...]:
    """Return what a solution was executed with that is different now: data or versions."""
    there = on_disk(path)
    then = there.metadata.get("minitrpo", {}) if there else {}
    return tuple(what for what, now in origin(notebook).items() if then.get(what) != now)


def origin(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """Return what the outputs of a solution depend on beside its cells: recorded files that it reads, and versions.

    The package's own code is not among it: what a lecture is about stands in its cells.
    """
    text = "\n".join(cell.source for cell in notebook.cells)
    data = {HERE / "recorded" / name for name in re.findall(r"""recorded\(["']([^"']+)["']\)""", text)}
    if "claims(" in text:
        claims = HERE.parent / "experiments/data/claims"
        data |= {file for pattern in ("*.csv", "*.csv.gz", "origin.json") for file in claims.glob(pattern)}
    return {
        "data": digest({f for f in data if f.exists()}, HERE),
        "versions": {name: version(name) for name in VERSIONS},
    }


def digest(files: set[Path], folder: Path) -> str:
    """Return a hash of files, of their names and what is in them."""
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{Path(os.path.relpath(file, folder)).as_posix()}\n".encode() + file.read_bytes() + b"\n")
    return found.hexdigest()[:16]


def outputs_digest(notebook: nbformat.NotebookNode) -> str:
    """Return a hash of all that an execution showed, texts and pictures: who changes a number by hand changes it."""
    shown = [cell.get("outputs", []) for cell in notebook.cells]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def keeps_outputs(path: Path, notebook: nbformat.NotebookNode) -> bool:
    """Give a solution the outputs of the one on disk if only text has changed, and return whether that was so.

    All code cells must be the same, one after the other, and what the outputs depend on, too.
    """
    there = on_disk(path) if path.parent != HERE and path.exists() else None
    if there is None or origin_reasons(path, notebook):
        return False
    noted = there.metadata.get("minitrpo", {}).get("outputs") == outputs_digest(there)
    before, now = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (there, notebook))
    if not noted or [cell.source for cell in before] != [cell.source for cell in now]:
        return False
    for old, new in zip(before, now, strict=True):
        new.outputs, new.execution_count = old.outputs, old.execution_count
        new.metadata.update({name: old.metadata[name] for name in ADDED if name in old.metadata})
    notebook.metadata["minitrpo"].update(origin(notebook), outputs=outputs_digest(notebook))
    return True


def build(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Write a notebook; a solution is executed first, and what it was executed with and showed is noted in it."""
    if path.parent != HERE:
        start, made_of = time.perf_counter(), origin(notebook)
        slow, seconds = execute(notebook), HERE / "recorded" / "seconds.json"
        known = json.loads(seconds.read_text("utf-8")) if seconds.exists() else {}
        seconds.write_text(json.dumps(known | {path.stem: slow}, indent=1, sort_keys=True) + "\n", "utf-8")
        notebook.metadata["minitrpo"].update(made_of, outputs=outputs_digest(notebook))
        print(f"{path.stem}: executed in {time.perf_counter() - start:.0f} s", flush=True)
    elif path.exists() and changed_by_hand(read(path), path.stem):
        back = f"git checkout {shlex.quote(os.path.relpath(path))}"
        print(f"kept: {path.name} was changed by hand. Undo that, and build again: {back}")
        return
    write(path, notebook)


def write(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Write a notebook, and say so."""
    path.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, path)
    print(f"built: {path.relative_to(HERE)}", flush=True)


def execute(notebook: nbformat.NotebookNode) -> dict[str, int]:
    """Run all cells from a fresh kernel; return the seconds of those that took long. The first error ends it."""
    os.environ["PYTHONWARNINGS"] = "default"
    client = NotebookClient(notebook, timeout=150, kernel_name="python3", resources={"metadata": {"path": str(HERE)}})
    client.execute()
    slow = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            keep_alt_text(cell, output.get("metadata", {}))
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = in_256_colours(output.data["image/png"])
        times = cell.metadata.pop("execution", {})
        if "shell.execute_reply" in times:
            begun, ended = (
                datetime.fromisoformat(times[name]) for name in ("iopub.execute_input", "shell.execute_reply")
            )
            if (seconds := (ended - begun).total_seconds()) >= LONG:
                slow[key(cell.source)] = round(seconds)
    return slow


def keep_alt_text(cell: nbformat.NotebookNode, metadata: dict[str, Any]) -> None:
    """Leave of an output's metadata the alt text of its picture, and tell it to the cell, where the web page looks."""
    alt = metadata.get("image/png", {}).get("alt")
    metadata.clear()
    if alt:
        metadata["image/png"] = {"alt": alt}
        cell.metadata.setdefault("mystnb", {"image": {"alt": alt}})


def in_256_colours(png: str) -> str:
    """Return a picture (base64) with a palette, in which a figure looks the same and takes a third of the bytes."""
    with Image.open(io.BytesIO(b64decode(png))) as picture:
        few = picture.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, kmeans=3, dither=Image.Dither.NONE)
    small = io.BytesIO()
    few.save(small, "PNG", optimize=True)
    return min(png, b64encode(small.getvalue()).decode(), key=len)


if __name__ == "__main__":
    sys.exit(main())
