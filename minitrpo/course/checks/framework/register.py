"""The register of exercises: a name, the lecture, the points, the solution, the check, the hints.

The decorator of a check is the only place where these are written: the notebooks' build, the grader and the tests ask
the register. All modules of this package are read when an exercise is first asked for. There are two kinds of
exercises:

- `exercise`: the answer is a function, and the solution is a function of the package. The cell of a source that says
  `exercise="gae"` becomes that function, without its body for students.
- `program_exercise`: the answer is the text of an MPI program, which a cell `%%mpi -n 3 --name ring` keeps in the
  variable `ring`, and the solution is a file of mpi_scripts. The cell of a source that says `exercise="ring"
  mpi="-n 3"` becomes that program. In the file, a comment with a number is a step: students get the comment, and `...`
  in place of the lines between it and the next empty line. The check runs the text by run_mpi; see programs.py.
"""

import contextlib
import difflib
import html
import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitrpo.course import MPI_SCRIPTS
from minitrpo.course.checks.framework.differential import Candidate, Case, Wrong, judge
from minitrpo.course.checks.framework.mistakes import edited, lines_of, rows
from minitrpo.course.checks.framework.programs import ProgramCase, judge_program
from minitrpo.course.jupyter import in_jupyter

GREEN, ORANGE, GREY = "#009E73", "#D55E00", "#8C8C8C"


@dataclass(frozen=True)
class Exercise:
    """One function for the student to write. `target` is "module:function" of the package."""

    name: str
    lecture: str  # the number of its notebook, such as 05a
    target: str
    cases: Callable[[], Iterator[Case]]
    table: str  # of hints and known mistakes
    points: int
    use = " From here on the notebook uses your function."

    @property
    def hints(self) -> list[str]:
        """Return the hints, each of which says a little more than the one before."""
        return hints_of(self.table)

    def solution(self) -> Candidate:
        """Return the function of the package."""
        return function_of(self.target)

    def judge(self, candidate: Candidate) -> str:
        """Return what was checked if the candidate is right, and raise if it is not."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return judge(self.solution(), self.cases, self.mistakes, candidate)

    def mistakes(self) -> dict[str, Candidate]:
        """Return {symptom: the function that makes the mistake}, without those that fit the package no more."""
        found = dict[str, Candidate]()
        for change, symptom in rows(self.table):
            with contextlib.suppress(ValueError, SyntaxError):
                found[symptom] = edited(self.target, change)
        return found


@dataclass(frozen=True)
class ProgramExercise:
    """One MPI program for the student to write. `target` is the file of the solution, in mpi_scripts."""

    name: str
    lecture: str  # the number of its notebook, such as 07a
    target: str
    cases: Callable[[], Iterator[ProgramCase]]
    table: str  # of hints
    points: int
    by_messages: bool
    use = ""  # nothing is said of later cells, which run no answers

    @property
    def hints(self) -> list[str]:
        """Return the hints, each of which says a little more than the one before."""
        return hints_of(self.table)

    def solution(self) -> str:
        """Return the text of the program."""
        return (MPI_SCRIPTS / self.target).read_text("utf-8")

    def judge(self, candidate: Any) -> str:
        """Return what was checked if the candidate is right, and raise if it is not."""
        return judge_program(self.name, self.cases, candidate, self.by_messages)


def hints_of(table: str) -> list[str]:
    """Return the lines of a table that begin with a question mark, without it."""
    return [line[2:] for line in lines_of(table) if line.startswith("? ")]


AnyExercise = Exercise | ProgramExercise
_exercises: dict[str, AnyExercise] = {}
Cases = Callable[[], Iterator[Case]]
ProgramCases = Callable[[], Iterator[ProgramCase]]


def exercise(target: str, table: str, *, lecture: str, points: int = 1) -> Callable[[Cases], Cases]:
    """Register the decorated generator of cases as an exercise, under the name of the function that is its solution.

    Args:
        target: the solution, "module:function" of the package.
        table: hints, lines that begin with a question mark, and rows of known mistakes; see mistakes.py.
        lecture: the number of the notebook in which students write the function, such as "05a".
        points: what the grader gives for a right answer.

    Raises:
        ValueError: if another check has registered this name: students ask for an exercise by its name alone.
    """

    def register(cases: Cases) -> Cases:
        add(Exercise(target.partition(":")[2], lecture, target, cases, table, points))
        return cases

    return register


def program_exercise(
    target: str, table: str, *, lecture: str, points: int = 1, by_messages: bool = False
) -> Callable[[ProgramCases], ProgramCases]:
    """Register the decorated generator of cases as an exercise under the name of the file that is its solution.

    Args:
        target: the file of the solution, such as "first_steps/ring.py" in mpi_scripts.
        table: hints, lines that begin with a question mark.
        lecture: the number of the notebook in which students write the program.
        points: what the grader gives for a right answer.
        by_messages: whether every rank must send a message; otherwise collective calls will do, too.

    Raises:
        ValueError: if another check has registered this name.
    """

    def register(cases: ProgramCases) -> ProgramCases:
        add(ProgramExercise(Path(target).stem, lecture, target, cases, table, points, by_messages))
        return cases

    return register


def add(new: AnyExercise) -> None:
    """Add an exercise to the register.

    Raises:
        ValueError: if another one has its name. A module that is loaded again replaces its own exercises.
    """
    known = _exercises.get(new.name)
    if known is not None and origin(known) != origin(new):
        raise ValueError(
            f"two exercises cannot both be called {new.name!r}: {' and '.join(map(origin, (known, new)))}; rename one"
        )
    _exercises[new.name] = new


def origin(exercise: AnyExercise) -> str:
    """Return where an exercise is registered, and its solution."""
    return f"{exercise.target} in {exercise.cases.__module__}, {exercise.cases.__qualname__}"


def function_of(target: str) -> Candidate:
    """Return the package's function of this "module:function"."""
    module, _, function = target.partition(":")
    found: Candidate = getattr(importlib.import_module(module), function)
    return found


def exercises() -> dict[str, AnyExercise]:
    """Return {name: exercise} of all exercises, in the order of the course."""
    for module in pkgutil.iter_modules([str(Path(__file__).parents[1])], f"{__package__.rpartition('.')[0]}."):
        importlib.import_module(module.name)
    return dict(sorted(_exercises.items(), key=lambda item: item[1].lecture))


def names() -> list[str]:
    """Return the names of all exercises, in the order of the course."""
    return list(exercises())


def lectures() -> dict[str, tuple[str, ...]]:
    """Return {number of a lecture: the names of its exercises}, in the order of the course."""
    found: dict[str, tuple[str, ...]] = {}
    for name, exercise in exercises().items():
        found[exercise.lecture] = (*found.get(exercise.lecture, ()), name)
    return found


def find(exercise: str | Candidate) -> AnyExercise:
    """Return an exercise by its name, or by a function of this name; KeyError names those that are called alike."""
    name = exercise if isinstance(exercise, str) else getattr(exercise, "__name__", repr(exercise))
    if "\n" in name:
        raise KeyError('this is the text of a program: give the name of the exercise, such as "ring"')
    if name not in _exercises and name not in names():
        alike = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
        known = f"did you mean {' or '.join(alike)}?" if alike else "names() of minitrpo.checks returns all names"
        raise KeyError(f"there is no exercise {name!r}: {known}")
    return _exercises[name]


def target(name: str) -> Any:
    """Return the solution of an exercise: the package's own function, or the text of the program."""
    return find(name).solution()


def check(name: str, candidate: Any) -> None:
    """Print one line if the candidate is right, and let later cells use it as `mine.NAME`.

    Raises AssertionError with the symptom if it is wrong, NotImplementedError if it was not attempted; in a notebook
    that is open in Jupyter both are shown instead, because an error there would keep "Run All" from going on.
    """
    try:
        checked = examine(name, candidate)
    except KeyError as error:
        if not in_jupyter():
            raise KeyError(*error.args) from None
        print(*error.args)
        return
    except (AssertionError, NotImplementedError) as error:
        wrong = isinstance(error, AssertionError)
        if not in_jupyter():  # without the frames of the check, which are not the student's
            raise (AssertionError if wrong else NotImplementedError)(str(error)) from None
        text = f"{error}{offer_of_hint(name)}" if wrong else str(error)
        box(name, "not right yet" if wrong else "not attempted yet", text, ORANGE if wrong else GREY)
        return
    setattr(mine, name, candidate)
    use = find(name).use
    if in_jupyter():
        box(name, "right", f"{use.strip()}\n{checked}", GREEN)
    else:
        print(f"{name}: right.{use}\n{checked}")


def examine(name: str, candidate: Any) -> str:
    """Return what was checked and remarked on if the candidate is right; raise as `check` does, wherever it runs."""
    return find(name).judge(candidate)


def box(name: str, title: str, text: str, color: str) -> None:
    """Display the outcome of a check: the page's own colours inside a coloured border, for light and dark themes."""
    from IPython.display import HTML, display

    style = f"border: 1px solid {color}; border-left: 8px solid {color}; color: inherit; background: none"
    style += "; padding: 0.4em 0.8em; margin: 0.2em 0; white-space: pre-wrap"
    display(HTML(f"<div style='{style}'><b>{name}: {title}.</b> {html.escape(text)}</div>"))


_hints_read: dict[str, int] = {}  # of each exercise: the number of the last hint that was printed


def offer_of_hint(name: str) -> str:
    """Return a line that says how to read the next hint of an exercise; an empty text if all have been read."""
    number = _hints_read.get(name, 0) + 1
    return f'\nA hint: hint("{name}", {number})' if number <= len(find(name).hints) else ""


def hint(exercise: str | Candidate, number: int = 1) -> None:
    """Print a hint for an exercise, which is a name or a function; each hint says a little more than the one before."""
    try:
        found = find(exercise)
    except KeyError as error:
        print(*error.args)
        return
    hints = found.hints
    if not 1 <= number <= len(hints):
        print(f"{found.name} has hints 1 to {len(hints)}.")
    else:
        print(f"hint {number} of {len(hints)}: {hints[number - 1]}")
        _hints_read[found.name] = max(number, _hints_read.get(found.name, 0))


def hunt(name: str, suspect: Any) -> bool:
    """Print where a suspect goes wrong (not why), or that the bug is gone, without raising; return whether it is."""
    try:
        checked = examine(name, suspect)
    except (AssertionError, NotImplementedError) as error:
        print(f"the bug is still there.\n{error.what if isinstance(error, Wrong) else error}")
        return False
    if in_jupyter():
        box(name, "the bug is gone", checked, GREEN)
    else:
        print(f"the bug is gone.\n{checked}")
    return True


class Mine(SimpleNamespace):
    """`mine.f` is your f once its check has passed, the solution until then."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return target(name)


mine = Mine()
