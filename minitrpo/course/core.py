"""Write the functions of your notebooks that pass their checks into FOLDER/core.py, to train with them."""

import ast
import dis
import hashlib
import signal
import tempfile
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minitrpo.commands.command_line import RootParser
from minitrpo.course.checks.framework.register import examine, names, target
from minitrpo.course.grading.submissions import Submission, number_of, submissions
from minitrpo.errors import BadInput, describe_error
from minitrpo.run_folder.provenance import command as typed_command
from minitrpo.supervision.program import command

LECTURES = ("01", "02", "03", "04", "05a", "05b", "09a")  # whose functions an update of TRPO consists of
SECONDS = 30  # for the check of one function
WRITTEN = "# written by minitrpo core; sha256 of what follows: "


@dataclass(frozen=True)
class Answer:
    """A student's function: its source, with the imports and the helpers that it uses."""

    lecture: str  # its number, such as 05a
    name: str
    source: str
    imports: dict[str, str] = field(default_factory=dict)  # name: the line that imports it
    helpers: dict[str, str] = field(default_factory=dict)  # name: its source


@command("core")
def main(name: str, words: list[str]) -> int:
    """Look at every notebook of the folder, and write what passes."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("folder", nargs="?", default="my", help="the folder of your notebooks (default: my)")
    folder = Path(parser.parse_args(words).folder)
    answers = collected(folder)
    if not answers:
        raise BadInput(f"no function of {folder} passes its check yet: solve an exercise of lectures 01 to 05b first")
    text = text_of(answers)
    file = folder / "core.py"
    kept = keep_if_changed(file)
    file.write_text(text, "utf-8")
    print(f"\n{file} has {len(answers)} of your functions.{kept}")
    print(f"Train with them: {typed_command('train', '--core', str(folder), '--env', 'CartPole-v1')}")
    return 0


def your_core(folder: Path | str = ".") -> Path | None:
    """Collect the functions of a student's notebooks as `minitrpo core` does, from a notebook among them.

    It prints a line for each function. The file is a temporary one, so that the student's folder stays as it is.

    Args:
        folder: the folder of the notebooks; they are read as they were last saved.

    Returns:
        A folder with core.py, for the argument `core` of `train`; None, and a line that says so, if no function passes.

    """
    lines: list[str] = []
    try:
        answers = collected(Path(folder), lines.append)
    except BadInput:
        answers = []
    if not answers:
        print("No function in this folder passes its check yet, so the package's functions train.")
        return None
    print("\n".join(lines))
    core = Path(tempfile.mkdtemp(prefix="minitrpo-core-"))
    (core / "core.py").write_text(text_of(answers), "utf-8")
    return core


def collected(folder: Path, say: Callable[[str], None] = print) -> list[Answer]:
    """Return the functions of a folder's notebooks that pass their checks, alone and together.

    Args:
        folder: the folder.
        say: is called with a line about each function.

    Raises:
        BadInput: if the folder holds no notebook of these lectures.
    """
    answers: list[Answer] = []
    for submission in of_course(folder):
        for exercise in submission.exercises:
            answer, reason = passed(submission, exercise, answers)
            say(f"{number_of(submission.lecture):<4} {exercise:<24} {reason}")
            answers += [] if answer is None else [answer]
    together: dict[str, Any] = {"__name__": "core"}
    exec(compile(text_of(answers), "core.py", "exec"), together)  # noqa: S102 - the user's own
    for answer in answers:
        examine(answer.name, together[answer.name])
    return answers


def of_course(folder: Path) -> Iterator[Submission]:
    """Yield the notebooks of the lectures that TRPO consists of, in the order of the course.

    Raises:
        BadInput: if the folder holds none.
    """
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}: `make lab` makes my/, with a copy of every lecture")
    top = [each for each in submissions(folder) if len(each.path.parts) == 1]
    found = {number_of(each.lecture): each for each in top if number_of(each.lecture) in LECTURES}
    if not found:
        raise BadInput(f"{folder} has no notebook of lectures 01 to 05b or 09a")
    yield from (found[lecture] for lecture in LECTURES if lecture in found)


def passed(submission: Submission, exercise: str, before: list[Answer]) -> tuple[Answer | None, str]:
    """Return a student's function if its check passes, and what is said of it.

    Args:
        submission: the notebook.
        exercise: the name of the function.
        before: the answers so far, which the function may call, and whose helpers must not have its helpers' names.
    """
    try:
        answer = answer_in(submission, exercise)
    except SyntaxError as error:
        return None, f"left out: {error.msg}, line {error.lineno} of a cell"
    if answer is None:
        return None, "left out: no cell defines it"
    taken = {name: source for other in before for name, source in other.helpers.items()}
    for name, source in answer.helpers.items():
        if taken.get(name, source) != source:
            return None, f"left out: its helper {name} is another than that of an earlier lecture; rename it"
    try:
        with at_most(SECONDS):
            namespace: dict[str, Any] = {"__name__": "core"}
            exec(compile(text_of([*before, answer]), "core.py", "exec"), namespace)  # noqa: S102 - the user's own
            examine(exercise, namespace[exercise])
    except NotImplementedError:
        return None, "left out: not attempted"
    except AssertionError as error:
        first = str(error).removeprefix(f"{exercise}: ").strip().splitlines()[0]
        return None, f"left out: {first}"
    except Exception as error:
        return None, f"left out: {describe_error(error)}"
    return answer, "right"


class at_most:  # noqa: N801 - reads as a phrase: with at_most(30)
    """Raise TimeoutError in the body of a `with` after some seconds."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        def stop(number: int, frame: types.FrameType | None) -> None:
            raise TimeoutError(f"its check took longer than {self.seconds} s")

        self.before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, stop)
        signal.alarm(self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, self.before)


# --- the source of a function, and of what it uses


def answer_in(submission: Submission, exercise: str) -> Answer | None:
    """Return the last definition of an exercise in a notebook with what it uses, None where there is none."""
    imports: dict[str, str] = {}
    defined: dict[str, str] = {}
    for cell in submission.cells:
        text = without_magics(cell.text)
        for statement in ast.parse(text).body:
            source = ast.get_source_segment(text, statement) or ""
            decorators = getattr(statement, "decorator_list", [])
            if decorators:
                source = "\n".join(text.splitlines()[decorators[0].lineno - 1 : statement.end_lineno])
            if isinstance(statement, ast.Import | ast.ImportFrom):
                imports |= imported_by(statement)
            for name in names_of(statement):
                defined[name] = source
    if exercise not in defined:
        return None
    of_others = set(names()) - {exercise}
    used_imports: dict[str, str] = {}
    helpers: set[str] = set()
    waiting = [defined[exercise]]
    while waiting:
        for name in global_names(waiting.pop()):
            if name in defined and name not in of_others and name != exercise and name not in helpers:
                helpers.add(name)
                waiting.append(defined[name])
            elif name in of_others and name in defined:  # the package's, where the student's is not right yet
                used_imports[name] = f"from {target(name).__module__} import {name}"
            elif name in imports:
                used_imports[name] = imports[name]
    number = number_of(submission.lecture)
    in_order = {name: source for name, source in defined.items() if name in helpers}
    return Answer(number, exercise, defined[exercise], used_imports, in_order)


def without_magics(text: str) -> str:
    """Return a cell without the lines that IPython alone knows."""
    lines = text.splitlines()
    if lines and lines[0].startswith("%%"):
        return ""
    return "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in lines)


def imported_by(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return {name: a line that imports it alone}."""
    lines = {}
    for alias in statement.names:
        as_name = f" as {alias.asname}" if alias.asname else ""
        name = alias.asname or alias.name.partition(".")[0]
        if isinstance(statement, ast.ImportFrom):
            lines[name] = f"from {'.' * statement.level}{statement.module or ''} import {alias.name}{as_name}"
        else:
            lines[name] = f"import {alias.name}{as_name}"
    return lines


def names_of(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a cell defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def global_names(source: str) -> set[str]:
    """Return the names that a piece of code takes from its module: not its arguments, and not its own variables."""
    names: set[str] = set()
    waiting = [compile(source, "cell", "exec")]
    while waiting:
        code = waiting.pop()
        looked_up = ("LOAD_GLOBAL", "LOAD_NAME")
        names |= {str(step.argval) for step in dis.get_instructions(code) if step.opname in looked_up}
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return names


def renamed(source: str, old: str, new: str) -> str:
    """Return the code with another name for what it calls `old`, everything else as it was."""
    lines = source.splitlines()
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id == old]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()  # columns count bytes
        start, end = node.col_offset, node.col_offset + len(old.encode())
        lines[node.lineno - 1] = (line[:start] + new.encode() + line[end:]).decode()
    return "\n".join(lines)


# --- the file


def text_of(answers: list[Answer]) -> str:
    """Return the text of core.py: imports once, helpers once, and every function below its lecture."""
    answers = without_clashes(answers)
    imports = {line for answer in answers for name, line in answer.imports.items()}
    lectures = "".join(f'    "{answer.name}": "{answer.lecture}",\n' for answer in answers)
    parts = [
        '"""Your functions of TRPO, each as it passed its check: train with them by `train --core`."""',
        "\n".join(sorted(imports, key=lambda line: (line.startswith("from minitrpo"), line))),
        f"LECTURES = {{\n{lectures}}}",
    ]
    written: set[str] = set()
    for answer in answers:
        helpers = [source for source in dict.fromkeys(answer.helpers.values()) if source not in written]
        written |= set(helpers)
        parts += [f"\n# --- lecture {answer.lecture}: {answer.name}", *helpers, answer.source]
    text = "\n\n".join(part for part in parts if part) + "\n"
    return f"{WRITTEN}{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def without_clashes(answers: list[Answer]) -> list[Answer]:
    """Return the answers so that they can stand in one module.

    A name that is imported from two places, such as `np` of numpy and of autograd, gets a second name; a function of
    the package that one of the answers replaces is imported by none.
    """
    own = {answer.name for answer in answers}
    lines: dict[str, str] = {}  # of each imported name, where it comes from in the module
    clear = []
    for answer in answers:
        source, helpers, imports = answer.source, dict(answer.helpers), {}
        for name, line in answer.imports.items():
            if name in own:
                continue
            if lines.setdefault(name, line) != line:
                origin = line.partition(" as ")[0]
                second = "anp" if origin == "import autograd.numpy" else f"{name}_{answer.lecture}"
                if lines.get(name) == "import autograd.numpy as np":
                    second = "onp"  # autograd's own abbreviation of ordinary numpy
                line = f"{origin} as {second}"
                lines[second] = line
                source = renamed(source, name, second)
                helpers = {key: renamed(helper, name, second) for key, helper in helpers.items()}
            imports[name] = line
        clear.append(replace(answer, source=source, helpers=helpers, imports=imports))
    return clear


def keep_if_changed(file: Path) -> str:
    """Put away a core.py that somebody changed by hand, and return what to say of it."""
    if not file.exists():
        return ""
    first, _, rest = file.read_text("utf-8").partition("\n")
    if first == f"{WRITTEN}{hashlib.sha256(rest.encode()).hexdigest()}":
        return ""
    number = 1
    while (kept := file.with_name(f"core_{number}.py")).exists():
        number += 1
    file.rename(kept)
    return f" The file that you had changed is {kept} now."
