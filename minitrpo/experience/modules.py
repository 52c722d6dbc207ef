"""Modules that are named in settings, as module:Name. A run folder may be a stranger's: its word alone runs no code.

What a person has typed, or handed over, is looked for in the folder in which it was typed, after everything else. What
only a file says must be installed.
"""

import importlib
import importlib.machinery
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from minitrpo.errors import BadInput
from minitrpo.parallel.launcher import command_line, launched_rank
from minitrpo.supervision.hang_detector import PATIENCE, STUCK_AFTER
from minitrpo.supervision.signals import FAILED, is_command
from minitrpo.supervision.stderr import say


class Untyped(BadInput):
    """A name that stands in a file alone, and whose module is not installed."""


TYPED: dict[str, str] = {}  # names that were typed in this process, or handed over to it; in which folder


def trust(*names: str | None) -> None:
    """Take names for typed: their modules may lie in the folder that one is in."""
    TYPED.update({name: os.getcwd() for name in names if name})


def imported(name: str, option: str) -> ModuleType:
    """Return the module of module:Name; BadInput if nobody typed that name, and the module is not installed.

    option: what it is typed after. Raises whatever the module raises.
    """
    module = name.partition(":")[0]
    if name in TYPED:
        here = TYPED[name]  # where one is now an environment may have deleted
        if here not in sys.path:  # last: a matplotlib.py there is not the library
            sys.path.append(here)
    elif module not in sys.modules and not is_installed(module):
        raise untyped(name, option, f"the module {module} is not installed, and would be looked for in your folder")
    with looked_after(f"{option} {name}"):
        return importlib.import_module(module)


def stuck_after(words: list[str]) -> float:
    """Return the seconds after --stuck-after on a command line that nobody has read yet, or the default."""
    texts = [word.partition("=")[2] or after for word, after in pairwise([*words, ""]) if "--stuck-after" in word]
    try:
        seconds = float(texts[-1]) if texts else STUCK_AFTER
    except ValueError:  # which is refused later
        return STUCK_AFTER
    return seconds if 0 < seconds < 1e6 else STUCK_AFTER


@contextmanager
def looked_after(what: str) -> Iterator[None]:
    """While a module is imported make an error of os._exit, whose code may be 0, and end a command that hangs in it.

    There is no watchdog yet when an algorithm is looked for, as it decides which settings there are.
    """
    leave, process = os._exit, os.getpid()

    def refused(code: int = 0) -> None:
        if os.getpid() != process:  # a child of the module's
            leave(code)
        raise RuntimeError(f"it calls os._exit({code})")

    def hangs() -> None:
        if launched_rank() == 0:
            say(f"minitrpo: {what}: the module has not been imported for {patience:g} s")
        leave(FAILED)

    patience = PATIENCE * stuck_after(command_line())
    timer = threading.Timer(patience, hangs)
    timer.daemon = True
    os._exit = refused  # type: ignore[assignment]
    if is_command():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        os._exit = leave


def untyped(name: str, option: str, why: str) -> Untyped:
    """Return the refusal of a name that stands in a file alone."""
    return Untyped(f"the run names code, and {why}. If you trust whoever made the run, type it again: {option} {name}")


def is_installed(module: str, here: str = "") -> bool:
    """Return whether a module is found elsewhere than in the folder `here` (one is in), and is none of Python's own."""
    first, *rest = module.split(".")
    if first in sys.stdlib_module_names:
        return False
    here = os.path.realpath(here or os.getcwd())
    path = [place for place in sys.path if os.path.realpath(place or ".") != here]
    found = importlib.machinery.PathFinder.find_spec(first, path)
    for finder in sys.meta_path:  # those of an editable installation
        if found is None and finder is not importlib.machinery.PathFinder:
            found = finder.find_spec(first, None)
    for number in range(len(rest)):
        inside = list((found and found.submodule_search_locations) or [])
        found = importlib.machinery.PathFinder.find_spec(".".join([first, *rest[: number + 1]]), inside)
    return found is not None


def again(name: str, option: str, here: Path) -> list[str]:
    """Return what to type in the folder `here` with a run that names this: nothing for what needs no trust."""
    return [option, name] if ":" in name and not is_installed(name.partition(":")[0], str(here)) else []
