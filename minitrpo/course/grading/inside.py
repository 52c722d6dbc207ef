"""What runs a submission: its cells one after the other, then the checks of its exercises, telling each step.

It is started by `sandbox` and may not come back from any cell. What it tells goes through a pipe of its own, as JSON.
"""

import json
import linecache
import os
import sys
import threading
import types
from contextlib import suppress
from types import CodeType
from typing import Any

from minitrpo.course.checks import mine, names, target
from minitrpo.course.checks.register import check, examine
from minitrpo.course.grading.evidence import Watch, audit, borrowed, codes_in, marks, replaced, through, word_for_word
from minitrpo.course.grading.processes import children, is_spared
from minitrpo.course.grading.seal import bar, signer
from minitrpo.errors import describe_error

MIB = 2**20


class Notebook:
    """A namespace like that of a kernel, in which cells are executed, and what is known of them."""

    def __init__(self, exercises: list[str], walled: bool) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        class Shell(InteractiveShell):  # type: ignore[misc] # Any to mypy, like all of IPython
            def enable_gui(self, gui: Any = None) -> None:
                """Do nothing: %matplotlib asks for windows that nobody looks at."""

        config = Config()
        config.HistoryManager.enabled = False
        self.module = types.ModuleType("__main__")
        self.shell: Any = Shell.instance(config=config, user_module=self.module)
        self.solutions = {name: target(name) for name in exercises}
        self.own: set[CodeType] = set()
        self.answers: dict[str, Any] = {}  # the last function that each exercise's name was given to
        self.before = marks()
        self.walled = walled
        self.threads, self.processes = set(sys._current_frames()), set(others(walled))

    def run(self, number: int, text: str) -> dict[str, Any]:
        """Execute a cell, and return what is to be told of it."""
        problem = self._executed(number, text)
        for name, solution in self.solutions.items():
            answer = vars(self.module).get(solution.__name__)
            if callable(answer):
                self.answers[name] = answer
        return {"problem": problem, "tampering": replaced(self.before)}

    def _executed(self, number: int, text: str) -> str:
        """Return why a cell does not run, "" if it does, or if only its check says no."""
        name = f"<code cell {number}>"
        try:
            text = self.shell.transform_cell(text)
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            code = compile(text, name, "exec")
            self.own |= set(codes_in(code))
            exec(code, vars(self.module))  # noqa: S102
        except BaseException as error:
            by_check = isinstance(error, AssertionError | NotImplementedError) and _raised_in(error, check.__code__)
            return "" if by_check else describe_error(error)
        return ""

    def verdict(self, name: str) -> tuple[int, str]:
        """Return points and symptom of an exercise."""
        solution = self.solutions[name]
        if name not in self.answers:
            return 0, f"there is no function {solution.__name__} in the notebook"
        answer = self.answers[name]
        if why := borrowed(answer, self.own, solution) or self.company():
            return 0, why
        vars(mine).pop(name, None)  # the package's again: the notebook's own check may have put the answer there
        watch = Watch(solution, self.own)
        symptom = _refused(name, through(answer, self.own), watch)
        symptom = watch.found or replaced(self.before) or symptom
        if symptom:
            return 0, symptom
        return 1, "right, and word for word the package's source" if word_for_word(answer, solution) else "right"

    def company(self) -> str:
        """Return what a cell has started that is still at work and could answer for a function, "" if nothing is."""
        spared = {thread.ident for thread in threading.enumerate() if type(thread).__module__ == "tqdm._monitor"}
        if set(sys._current_frames()) - self.threads - spared:
            return "not checked: a thread that a cell has started is still at work; let it end (join) in its cell"
        if set(others(self.walled)) - self.processes:
            return "not checked: a process that a cell has started is still at work; let it end in its cell"
        return ""


def others(walled: bool) -> list[int]:
    """Return the processes that can have been started here and are at work. walled: all that are to be seen."""
    here = map(int, filter(str.isdigit, os.listdir("/proc"))) if walled else children(os.getpid())
    return [each for each in here if each != os.getpid() and not is_spared(each)]


def _refused(name: str, answer: Any, watch: Watch) -> str:
    """Return why the check refuses an answer, "" if it does not."""
    Watch.present = watch
    sys.setprofile(watch)
    try:
        examine(name, answer)
    except NotImplementedError:
        return "not attempted"
    except AssertionError as error:
        return " ".join(str(error).removeprefix(f"{name}: ").split())
    except BaseException as error:
        return f"it ended its check with {describe_error(error)}"
    finally:
        sys.setprofile(None)
        Watch.present = None
    return ""


def _raised_in(error: BaseException, code: CodeType) -> bool:
    """Return whether an error comes out of a call of this function."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        trace = trace.tb_next
    return False


def _limit(memory: int) -> None:
    """Allow so many MiB of memory of its own, to this process and to each that it starts."""
    with suppress(ImportError, ValueError, OSError):  # Windows, or a smaller limit that is there already
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (memory * MIB, hard))


def _ours() -> list[types.ModuleType]:
    """Return the modules that judge."""
    return [sys.modules[__name__], sys.modules[marks.__module__], sys.modules[signer.__module__]]


def main(pipe: int) -> None:
    """Run the task that stdin holds as JSON, and tell each step through the pipe before it is done and after."""
    with open(0, "rb", closefd=False) as stdin:  # sys.stdin would keep what it has read
        task = json.load(stdin)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    say = signer(pipe, task.pop("word"))
    names()  # all checks are loaded before any code of the student's
    sys.addaudithook(audit)
    sys.addaudithook(bar())
    notebook = Notebook(task["exercises"], task["walled"])
    _limit(task["memory"])
    mine_alone = [(vars(thing), dict(vars(thing))) for thing in (*_ours(), Notebook, Watch)]
    codes = [(f, f.__code__) for _, own in mine_alone for f in own.values() if isinstance(f, types.FunctionType)]
    for number, text in enumerate(task["cells"], start=1):
        if str(number) not in task["skipped"]:
            say({"begins": "cell", "number": number})
            found = {**notebook.run(number, text), "ends": "cell", "number": number}
            for now, before in mine_alone:  # in this frame, with nothing that a cell can replace
                for key in before:
                    if now.get(key) is not before[key]:
                        found["tampering"] = "it changes the grader"
            for function, code in codes:
                if function.__code__ is not code:
                    found["tampering"] = "it changes the grader"
            say(found)
    for name in task["exercises"]:
        if name not in task["done"]:
            say({"begins": "exercise", "name": name})
            points, symptom = notebook.verdict(name)
            for now, before in mine_alone:
                for key in before:
                    if now.get(key) is not before[key]:
                        points, symptom = 0, "it changes the grader"
            told = {"ends": "exercise", "name": name, "points": points, "symptom": symptom}
            say({**told, "tampering": replaced(notebook.before)})
    say({"ends": "all"})
    os._exit(0)
