"""Begin an exercise: its cells in the lecture's source, its check, and a right and a wrong answer for the tests.

    python notebooks/new_exercise.py 04 standardise              a function of the package with this name
    python notebooks/new_exercise.py 04 minitrpo.advantages:gae     where two modules have a function of this name

What is there already stays as it is, so the command also adds what an exercise lacks: the cells of a check, or the
check of a cell. The solution is the package's function, which has to be written before. An exercise that is a program
of mpi_scripts is begun by hand, like those of minitrpo/course/checks/mpi_from_zero.py.
"""

import argparse
import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES, CHECKS = ROOT / "notebooks" / "source", ROOT / "minitrpo" / "course" / "checks"
ANSWERS = ROOT / "tests" / "exercises" / "mutants"
IMPORTS = {  # names that a check uses, and where they come from
    "Iterator": "from collections.abc import Iterator",
    "Case": "from minitrpo.course.checks.framework.differential import Case",
    "exercise": "from minitrpo.course.checks.framework.register import exercise",
}
CELLS = """# %% [markdown]
# ### Exercise {number}: `{name}`
#
# Say here what `{name}` computes, and which idea of the lecture it is.

# %% exercise="{name}"

"""
CHECK = '''

@exercise(
    "{target}",
    r"""
        ? Write a hint: a question, or the first step. Each further hint says a little more.
        return None :: returns nothing :: return its result
    """,
    lecture="{lecture}",
    points=1,
)
def _{name}() -> Iterator[Case]:
    raise ValueError("write the cases of {name}: yield case('a small input', {parameters}), and larger ones after it")
    yield
'''
EXERCISE = re.compile(r'^# %%.*exercise="(\w+)"', re.MULTILINE)
END = re.compile(r"^# %% \[markdown\]\n(?:#\n)?# ## (?:Bug hunt|Quiz|Summary)$", re.MULTILINE)


class Refused(ValueError):
    """A request that cannot be met: one line."""


def main() -> int:
    """Write what an exercise lacks, and say what to do next."""
    parser = argparse.ArgumentParser(description="Begin an exercise of a lecture.")
    parser.add_argument("lecture", help="its number, such as 04")
    parser.add_argument("name", help="a function of the package, the solution: NAME, or MODULE:NAME")
    arguments = parser.parse_args()
    try:
        for line in begin(arguments.lecture, arguments.name):
            print(line)
    except Refused as refused:
        print(f"new_exercise.py: {refused}", file=sys.stderr)
        return 2
    return 0


def begin(lecture: str, asked: str) -> Iterator[str]:
    """Write what an exercise lacks, and yield a line about each file."""
    source = source_of(lecture)
    function, target = solution(asked)
    name = function.name
    for other in sorted(SOURCES.glob("[0-9]*.py")):
        if other != source and name in EXERCISE.findall(other.read_text("utf-8")):
            raise Refused(f"{name} is an exercise of {other.stem} already")
    title = source.stem.partition("_")[2]
    yield change(source, lambda text: with_cells(text, name))
    check = file_of_check(name) or file_of_lecture(lecture) or CHECKS / f"{title}.py"
    header = f'"""Checks of lecture {lecture}."""\n\n'
    yield change(check, lambda text: with_check(text or header, lecture, target, function))
    answers = next(iter(answer_files(source.stem)), ANSWERS / f"{source.stem}.py")
    first = f'"""Lecture {lecture}: right answers in other styles, and wrong ones."""\n'
    yield change(answers, lambda text: with_answers(text or first, function))
    yield "Write the text, the cases and the hints; then: make notebooks, and python -m pytest tests/exercises"


def source_of(lecture: str) -> Path:
    """Return the source of a lecture by its number."""
    found = sorted(SOURCES.glob(f"{lecture}_*.py"))
    if len(found) != 1:
        numbers = ", ".join(file.stem.partition("_")[0] for file in sorted(SOURCES.glob("[0-9]*.py")))
        raise Refused(f"there is no lecture {lecture!r}; choose LECTURE from {numbers}")
    return found[0]


def solution(asked: str) -> tuple[ast.FunctionDef, str]:
    """Return the function of the package that is asked for, and "module:function"."""
    module, _, name = asked.rpartition(":")
    if not name.isidentifier():
        raise Refused(f"NAME must be a function of the package, such as step_scale, not {asked!r}")
    found = {}
    for file in sorted((ROOT / "minitrpo").rglob("*.py")):
        dotted = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        if module in ("", dotted):
            for node in ast.parse(file.read_text("utf-8")).body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    found[f"{dotted}:{name}"] = node
    if not found:
        where = module or "the package"
        raise Refused(f"{where} has no function {name}: write it there first, with a docstring; it is the solution")
    if len(found) > 1:
        raise Refused(f"two functions are called {name}: name one, NAME={' or NAME='.join(found)}")
    [(target, function)] = found.items()
    if ast.get_docstring(function) is None:
        raise Refused(f"{target} has no docstring: students read it as the task")
    return function, target


def change(file: Path, how: Callable[[str], str]) -> str:
    """Write what becomes of a file's text, and return a line about it."""
    before = file.read_text("utf-8") if file.exists() else ""
    after = how(before)
    where = file.relative_to(ROOT)
    if after == before:
        return f"kept: {where}, which has it already"
    file.write_text(after, "utf-8")
    return f"changed: {where}" if before else f"new: {where}"


def with_cells(text: str, name: str) -> str:
    """Return the source of a lecture with the cells of an exercise, before its bug hunt, quiz or summary."""
    before = EXERCISE.findall(text)
    if name in before:
        return text
    cells = CELLS.format(number=len(before) + 1, name=name)
    end = END.search(text)
    if end is None:
        return f"{text.rstrip()}\n\n{cells.rstrip()}\n"
    return f"{text[: end.start()]}{cells}{text[end.start() :]}"


def file_of_check(name: str) -> Path | None:
    """Return the file that has the check of an exercise, None if there is none."""
    mark = re.compile(rf'^@?exercise\(\n    "[\w.]+:{name}",', re.MULTILINE)
    return next((file for file in sorted(CHECKS.glob("*.py")) if mark.search(file.read_text("utf-8"))), None)


def file_of_lecture(lecture: str) -> Path | None:
    """Return the file that has checks of functions of a lecture, None if there is none."""
    mark = re.compile(rf'^@?exercise\((?:\n .*)*\n    lecture="{lecture}",', re.MULTILINE)
    return next((file for file in sorted(CHECKS.glob("*.py")) if mark.search(file.read_text("utf-8"))), None)


def with_check(text: str, lecture: str, target: str, function: ast.FunctionDef) -> str:
    """Return a file of checks with that of a function, and with the imports that it needs."""
    if f'"{target}",' in text:
        return text
    missing = [line for name, line in IMPORTS.items() if not re.search(rf"^from .*\b{name}\b", text, re.MULTILINE)]
    ends = [found.end() for found in re.finditer(r"^(?:from|import) .*\n", text, re.MULTILINE)]
    place = ends[-1] if ends else len(text)
    text = text[:place] + "".join(f"{line}\n" for line in missing) + text[place:]
    parameters = ", ".join(argument.arg for argument in function.args.args)
    check = CHECK.format(target=target, lecture=lecture, name=function.name, parameters=parameters)
    return f"{text.rstrip()}\n{check}"


def answer_files(stem: str) -> list[Path]:
    """Return the file of answers of a lecture; 05_trpo.py has those of 05a and 05b, 05c_seeds.py those of 05c."""
    number = stem.partition("_")[0]
    return sorted(ANSWERS.glob(f"{number}_*.py")) or sorted(ANSWERS.glob(f"{number.rstrip('ab')}_*.py"))


def with_answers(text: str, function: ast.FunctionDef) -> str:
    """Return a file of answers with a right one and a wrong one: the package's own lines, and nothing."""
    body = [ast.unparse(statement) for statement in function.body[1:]]
    lines = "\n".join(body).splitlines()
    right = r"\n    ".join(line.replace("\\", "\\\\") for line in lines)
    text = with_row(text, "RIGHT", function.name, f"the_same_lines: {right}")
    return with_row(text, "WRONG", function.name, "nothing: return None")


def with_row(text: str, table: str, name: str, row: str) -> str:
    """Return a file of answers with a row of a table, unless the table has rows of this exercise."""
    start = f"\n{table} = {{\n"
    if start not in text:
        text = f"{text.rstrip()}\n{start}}}\n"
    place = text.index(start) + len(start)
    rest = text[place : text.index("\n}", place - 1)]
    if re.search(rf'^    "{name}": ', rest, re.MULTILINE):
        return text
    return f'{text[:place]}    "{name}": r"""\n        {row}\n    """,\n{text[place:]}'


if __name__ == "__main__":
    sys.exit(main())
