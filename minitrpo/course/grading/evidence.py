"""Whose function was it? What tells an answer that was written in the notebook from one that was borrowed."""

import _thread
import ast
import functools
import inspect
import os
import site
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"  # its own folder: that of a clone is called minitrpo, too
WATCHED = {"minitrpo", "numpy", "scipy", "autograd", "builtins", "math", "warnings", "traceback", "inspect"}
FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
LOOKS = ("sys._getframe", "sys._current_frames", "gc.get_objects", "gc.get_referrers", "gc.get_referents")
NEW_THREAD = {id(f) for name in ("start_new_thread", "start_joinable_thread") if (f := getattr(_thread, name, None))}
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn")
PLACES = [PACKAGE, sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), site.getuserbase()]
INSTALLED = tuple(dict.fromkeys([*PLACES, *map(os.path.realpath, PLACES), "<"]))
DOES = {  # an event that Python's audit hooks are told of -> what an answer does by it
    **dict.fromkeys((*FRAMES, *LOOKS), "looks at what its check expects"),
    **dict.fromkeys(("sys.setprofile", "sys.settrace"), "switches off what watches it"),
    **dict.fromkeys(("exec", "compile"), "runs a text as its code"),
    **dict.fromkeys(STARTS, "starts another program"),
}
WORDS = 5  # statements: two people write the same `return 0.5 * x @ product(x) - b @ x`


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all that are written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def code_of(thing: Any) -> CodeType | None:
    """Return the code that calling a thing runs in the end: of a function, a method, a partial, what was decorated."""
    for _ in range(20):
        inner = next((i for a in ("__wrapped__", "__func__", "func", "pyfunc") if (i := _got(thing, a))), None)
        if inner is None:
            break
        thing = inner
    if not isinstance(thing, FunctionType):
        thing = _got(type(thing), "__call__")
    found = _got(thing, "__code__")
    return found if isinstance(found, CodeType) else None


def _got(thing: Any, attribute: str) -> Any:
    try:
        return getattr(thing, attribute, None)
    except Exception:
        return None


def borrowed(candidate: Any, own: set[CodeType], solution: Callable[..., Any]) -> str:
    """Return why a candidate is not of the notebook's own making, "" if it is.

    own: all code that was compiled from the notebook's cells; solution: the package's own function.
    """
    code = code_of(candidate)
    if code is None or any(code is each for each in own):
        return ""
    if code is code_of(solution):
        return "it is the package's own function, not one written in the notebook"
    if code.co_filename.startswith(PACKAGE):
        return f"it is {code.co_name} of the package, not a function written in the notebook"
    if code.co_filename.startswith("<"):
        return "it was made from a text at run time (exec, compile), not written in the notebook"
    if not code.co_filename.startswith(INSTALLED):
        return f"it is {code.co_name} of {os.path.basename(code.co_filename)}, not a function written in the notebook"
    return ""


class Watch:
    """A profiler that notes where code of the notebook runs the package's own function, by whatever name.

    While it is the present one, it is also told of code that looks through the frames of the check, see `audit`.
    """

    present: "Watch | None" = None

    def __init__(self, solution: Callable[..., Any], own: set[CodeType]) -> None:
        self.solution, self.own, self.found = code_of(solution), own, ""
        self.known: dict[int, tuple[str, CodeType]] = {}

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        """See one call."""
        if event == "call":
            code = frame.f_code
            if id(code) not in self.known:
                self.known[id(code)] = (self.borrows(code), code)  # kept, so that no other gets its id
            what, asking = self.known[id(code)][0], frame.f_back
        else:
            what, asking = "a new thread" if event == "c_call" and id(called) in NEW_THREAD else "", frame
        if what and not self.found and (back := self.behind(asking)) is not None:
            self.found = f"it calls {what} ({_place(back)})"

    def borrows(self, code: CodeType) -> str:
        """Return whose code this is, if it is the package's solution, or of a file beside the notebook."""
        if self.is_solution(code):
            return "the package's own function"
        beside = not code.co_filename.startswith(INSTALLED) and code not in self.own
        return f"code of {os.path.basename(code.co_filename)}, which is no cell of the notebook" if beside else ""

    def behind(self, frame: FrameType | None) -> FrameType | None:
        """Return the next frame of the notebook's code from here back, None if there is none."""
        while frame is not None and frame.f_code not in self.own:
            frame = frame.f_back
        return frame

    def audited(self, event: str, frame: FrameType) -> None:
        """See what code asks of Python that an answer does not need; only a program may be started indirectly."""
        asking = self.behind(frame) if event in STARTS else frame
        if not self.found and asking is not None and asking.f_code in self.own:
            self.found = f"it {DOES[event]} ({event}, {_place(asking)})"

    def is_solution(self, code: CodeType) -> bool:
        """Return whether this is the package's function, or a copy of it that was not written in the notebook."""
        if code is self.solution:
            return True
        if self.solution is None:
            return False
        same = code.co_names == self.solution.co_names and code.co_code == self.solution.co_code
        return same and not any(code is each for each in self.own)


def through(answer: Callable[..., Any], own: set[CodeType]) -> Callable[..., Any]:
    """Return an answer so that code of the notebook is seen to call it: a library may have made it, around anything."""
    if any(code_of(answer) is each for each in own):
        return answer

    def the_notebook(*arguments: Any, **named: Any) -> Any:
        return answer(*arguments, **named)

    own.add(the_notebook.__code__)
    return functools.wraps(answer)(the_notebook)


def _place(frame: FrameType) -> str:
    cell = frame.f_code.co_filename
    return f"{cell.strip('<>')}, line {frame.f_lineno}" if cell.startswith("<") else "by what it is made of"


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Tell the present watch of an event; to be given to sys.addaudithook, which nobody can undo."""
    if event == "object.__getattr__" and len(arguments) > 1 and arguments[1] in FRAMES:
        event = str(arguments[1])
    if Watch.present is not None and event in DOES:
        watch, Watch.present = Watch.present, None  # what is looked at here is no event
        watch.audited(event, sys._getframe(1))
        Watch.present = watch


def word_for_word(candidate: Any, solution: Callable[..., Any]) -> bool:
    """Return whether a function of some length is the package's own but for its docstring and comments."""
    try:
        bodies = [_body(inspect.getsource(inspect.unwrap(f))) for f in (candidate, solution)]
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):
        return False
    long = sum(isinstance(node, ast.stmt) for statement in bodies[1] for node in ast.walk(statement)) >= WORDS
    dumped = [[ast.dump(statement) for statement in body] for body in bodies]
    return long and dumped[0] == dumped[1]


def _body(source: str) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    function = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


Marks = dict[tuple[str, str], Any]


def marks() -> Marks:
    """Return every function and class that a check leans on, to see later which ones were replaced."""
    found: Marks = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in WATCHED and isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if callable(value):
                    found[name, attribute] = (value, getattr(value, "__code__", None) if _plain(value) else None)
                    if isinstance(value, type) and value.__module__.startswith("minitrpo."):
                        found |= {(f"{name}.{attribute}", key): (part, None) for key, part in vars(value).items()}
    register = sys.modules.get("minitrpo.course.checks.register")
    exercises = getattr(register, "_exercises", {})
    found |= {("the register", name): (each, None) for name, each in exercises.items()}
    return found


def _plain(value: Any) -> bool:
    return isinstance(value, FunctionType)


def replaced(before: Marks) -> str:
    """Return what was replaced since, as words, "" if nothing was."""
    now = marks()
    for key, (value, code) in before.items():
        if key not in now or now[key][0] is not value or now[key][1] is not code:
            return f"it changes {key[0]}.{key[1]}, on which the checks stand"
    return ""
