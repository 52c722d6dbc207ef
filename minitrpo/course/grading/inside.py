"""What runs a submission: its cells from top to bottom, then the checks of its exercises, telling each step.

`running` starts it in a folder of its own and tells it what to do; it may not come back from any cell. Where Linux has
namespaces for this user, `close_in` leaves it nothing but that folder to write in.
"""

import ctypes
import json
import os
import signal
import threading
import traceback
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

from minitrpo.course.checks.framework.register import ProgramExercise, check, examine, find, names, target
from minitrpo.errors import describe_error

BIND, RECURSIVE, HERE, READ_ONLY = 4096, 0x8000, -100, 1  # of mount(2) and mount_setattr(2)
MOUNT_SETATTR = 442  # the number of that call, on every machine
SHARED = Path("/dev/shm")  # noqa: S108 - ranks of a notebook meet there


def close_in(folder: str) -> None:
    """Make all read-only but one folder, for this process and those it starts. OSError where that fails.

    It has to have namespaces of its own, as `unshare` makes them.
    """
    library = ctypes.CDLL(None, use_errno=True)

    def insist(code: int) -> None:
        if code:
            raise OSError(ctypes.get_errno(), "no walls")

    def writable(place: str, yes: bool, recursive: int) -> None:
        change = (ctypes.c_uint64 * 4)(0 if yes else READ_ONLY, READ_ONLY if yes else 0, 0, 0)
        insist(library.syscall(MOUNT_SETATTR, HERE, place.encode(), recursive, change, 32))

    places = [folder, *[str(SHARED)] * SHARED.is_dir()]
    insist(library.mount(folder.encode(), folder.encode(), None, BIND, None))
    if SHARED.is_dir():
        insist(library.mount(b"none", str(SHARED).encode(), b"tmpfs", 0, None))
    writable("/", False, RECURSIVE)
    for place in places:
        writable(place, True, 0)
    os.chdir(folder)  # as it is now


def limit_memory(mebibytes: int) -> None:
    """Limit the memory of this process, and of each that it starts, to this many MiB."""
    with suppress(ImportError, ValueError, OSError):  # Windows, or a smaller limit that is there already
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (mebibytes * 2**20, hard))


def shell() -> Any:
    """Return what executes cells as a kernel does, with an empty namespace."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):  # type: ignore[misc] # Any to mypy, like all of IPython
        def enable_gui(self, gui: Any = None) -> None:
            """Do nothing: %matplotlib asks for windows, and there is no screen."""

    config = Config()
    config.HistoryManager.enabled = False
    return Shell.instance(config=config, user_module=types.ModuleType("__main__"))


def execute(notebook: Any, text: str) -> str:
    """Return what a cell raises, "" if it runs, or if nothing but a check says no: in Jupyter that raises nothing."""
    result = notebook.run_cell(text, silent=True)
    error = result.error_before_exec or result.error_in_exec
    if error is None:
        return ""
    by_check = any(frame.f_code is check.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))
    if by_check and isinstance(error, AssertionError | NotImplementedError):
        return ""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    return describe_error(error).removesuffix(": ")


def is_answer(name: str, value: Any) -> bool:
    """Return whether a variable may be the answer of an exercise: a function, or the text of a program."""
    return isinstance(value, str) if isinstance(find(name), ProgramExercise) else callable(value)


def verdict(name: str, answer: Any) -> tuple[int, str]:
    """Return points and symptom of an exercise."""
    if str(getattr(answer, "__module__", "")).startswith("minitrpo."):
        return 0, "it is a function of the package, not one written in the notebook"
    if isinstance(answer, str) and answer == target(name):  # by `mine`
        return 0, "it is the program of the project, not one written in the notebook"
    try:
        examine(name, answer)
    except NotImplementedError:
        return 0, "not attempted"
    except AssertionError as error:
        return 0, " ".join(str(error).removeprefix(f"{name}: ").split())
    except BaseException as error:
        return 0, f"it ended its check with {describe_error(error)}"
    return find(name).points, "right"


def main() -> None:
    """Run the task that stdin holds as a line of JSON, and tell each step on stdout before and after it.

    {"cells": {number: text}, "exercises": [...], "memory": MiB, "walled": whether there are namespaces to close in}
    """
    grader, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):  # the notebook reads nothing, and what it prints goes nowhere
        os.dup2(nothing, standard)

    def tell(**step: Any) -> None:
        print(json.dumps(step), file=out)

    def end_with_grader() -> None:
        grader.read()
        os.kill(0, signal.SIGKILL)  # what a cell has started, too
        os._exit(1)

    task = json.loads(grader.readline())
    threading.Thread(target=end_with_grader, daemon=True).start()
    if task["walled"]:
        close_in(os.getcwd())
    names()  # all checks are loaded before any code of the student's, and before there is a limit
    solved = task["exercises"]
    notebook = shell()
    limit_memory(task["memory"])
    answers: dict[str, Any] = {}  # the last function, or text of a program, that each exercise's name was given to
    for number, text in task["cells"].items():
        tell(cell=number)
        tell(cell=number, error=execute(notebook, text))
        answers |= {name: notebook.user_ns[name] for name in solved if is_answer(name, notebook.user_ns.get(name))}
    for name in solved:
        tell(exercise=name)
        points, symptom = verdict(name, answers[name]) if name in answers else (0, "")
        tell(exercise=name, points=points, symptom=symptom)
    tell(end=True)
    os._exit(0)
