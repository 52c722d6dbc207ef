"""What a user brings: modules that are named, as module:Name, and objects that are handed over.

A run folder may be a stranger's: its word alone runs no code. What a person has typed, or handed over, is looked for in
the folder in which it was typed, after everything else. What only a file says must be installed.
"""

import importlib
import importlib.machinery
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from minitrpo.errors import BadInput

TYPED: dict[str, str] = {}  # names that were typed in this process, or handed over to it; in which folder
GIVEN: dict[str, Any] = {}  # classes, functions and objects that were handed over to this process, by name


class Untyped(BadInput):
    """A name that stands in a file alone, and whose module is not installed; option: what it is typed after."""

    def __init__(self, name: str, option: str, why: str) -> None:
        cure = f"If you trust whoever made the run, type it again: {option} {name}"
        super().__init__(f"the run names code, and {why}. {cure}")


def trust(*names: str | None) -> None:
    """Mark names as typed: their modules may be in the current folder."""
    TYPED.update({name: os.getcwd() for name in names if name})


def typed_in(folder: str) -> Path | None:
    """Return a folder of code, from where it was typed; None if it was not typed in this process."""
    return Path(TYPED[folder]) / folder if folder in TYPED else None


def imported(name: str, option: str) -> ModuleType:
    """Return the module of module:Name; BadInput if the name was not typed and the module is not installed.

    option: the option that takes the name. Raises what the module raises.
    """
    module = name.partition(":")[0]
    if name in TYPED:
        here = TYPED[name]  # an environment may have deleted the current folder
        if here not in sys.path:  # last: a matplotlib.py there is not the library
            sys.path.append(here)
    elif module not in sys.modules and not is_installed(module):
        raise Untyped(name, option, f"the module {module} is not installed, and would be looked for in your folder")
    return importlib.import_module(module)


def is_installed(module: str, here: str = "") -> bool:
    """Return whether a module is found elsewhere than in the folder `here` (one is in), and is none of Python's own."""
    first, here = module.partition(".")[0], os.path.realpath(here or os.getcwd())
    path = [place for place in sys.path if os.path.realpath(place or ".") != here]
    return first not in sys.stdlib_module_names and importlib.machinery.PathFinder.find_spec(first, path) is not None


def again(name: str, option: str, here: Path) -> list[str]:
    """Return what to type in the folder `here` with a run that names this: nothing for what needs no trust."""
    return [option, name] if ":" in name and not is_installed(name.partition(":")[0], str(here)) else []


def name_of(thing: Any) -> str:
    """Return module:Name for a class or function; another object that is called so gets a number at its end."""
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    first = f"{getattr(thing, '__module__', '__main__')}:{name.replace('<locals>.', '').replace('<lambda>', 'lambda')}"
    number, name = 1, first
    while GIVEN.get(name, thing) is not thing:
        number += 1
        name = f"{first}-{number}"
    GIVEN[name] = thing
    return name


@contextmanager
def standing_for(things: dict[str, Any]) -> Iterator[None]:
    """Let names stand for what was handed over while this lasts: then CartPole-v1 is Gymnasium's again."""
    before = dict(GIVEN)
    GIVEN.update(things)
    try:
        yield
    finally:
        GIVEN.clear()
        GIVEN.update(before)
