"""The register of exercises: a name, the function of the package that is its solution, the check, the hints."""

import html
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

# One file of checks per lecture, read when a check is first asked for.
LECTURES = (
    "policy_gradient",
    "natural_gradient",
    "conjugate_gradient",
    "line_search",
    "trpo",
    "timing",
    "pool",
    "speedup",
    "adaptive",
    "parameter_server",
    "actor_critic",
    "batch_ppo",
    "off_policy",
    "guided_policy_search",
)

PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"  # its own folder: that of a clone is called minitrpo, too

Candidate = Callable[..., Any]


@dataclass(frozen=True)
class Exercise:
    """One function for the student to write. `target` is "module:function" of the package."""

    name: str
    target: str
    hints: tuple[str, ...]
    examine: Callable[[Candidate], None]  # raises AssertionError with the symptom


_exercises: dict[str, Exercise] = {}


def exercise(
    name: str, target: str, *hints: str
) -> Callable[[Callable[[Candidate], None]], Callable[[Candidate], None]]:
    """Register the decorated function as the check of an exercise."""

    def register(examine: Callable[[Candidate], None]) -> Callable[[Candidate], None]:
        _exercises[name] = Exercise(name, target, hints, examine)
        return examine

    return register


def names() -> list[str]:
    """Return the names of all exercises, in the order of the course."""
    for lecture in LECTURES:
        try:
            importlib.import_module(f"minitrpo.checks.{lecture}")
        except ModuleNotFoundError as error:
            if error.name != f"minitrpo.checks.{lecture}":
                raise
    return list(_exercises)


def find(name: str) -> Exercise:
    """Return an exercise; KeyError names those that exist."""
    if name not in names():
        raise KeyError(f"there is no exercise {name!r}; there are {', '.join(names())}")
    return _exercises[name]


def target(name: str) -> Candidate:
    """Return the package's own function for an exercise."""
    module, _, function = find(name).target.partition(":")
    found: Candidate = getattr(importlib.import_module(module), function)
    return found


def check(name: str, candidate: Candidate) -> None:
    """Print one line if the candidate is right, and let later cells use it as `mine.NAME`.

    Raises AssertionError with the symptom if it is wrong, NotImplementedError if it was not attempted; in a notebook
    that is open in Jupyter both are shown instead, because an error there would keep "Run All" from going on.
    """
    try:
        examine(name, candidate)
    except (AssertionError, NotImplementedError) as error:
        if not in_jupyter():
            raise type(error)(str(error)) from None  # without the frames of the check, which are not the student's
        show(name, error)


def in_jupyter() -> bool:
    """Return whether a person looks at this kernel through Jupyter; nbval, nbclient and scripts are not that."""
    return "JPY_SESSION_NAME" in os.environ and "ipykernel" in sys.modules


def show(name: str, error: Exception) -> None:
    """Display a failed check as a coloured box."""
    from IPython.display import HTML, display

    wrong = isinstance(error, AssertionError)
    title, color = ("not right yet", "#D55E00") if wrong else ("not attempted yet", "#8C8C8C")
    box = f"border-left: 6px solid {color}; padding: 0.4em 0.8em; margin: 0.2em 0"
    display(HTML(f"<div style='{box}'><b>{name}: {title}.</b> {html.escape(str(error))}</div>"))


def examine(name: str, candidate: Candidate) -> None:
    """Do what `check` does, and raise wherever it runs."""
    found = find(name)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found.examine(careful(candidate))
    except (AssertionError, NotImplementedError):
        raise
    except Exception as error:
        text = f"{name}: it raised {type(error).__name__}: {error}{students_line(error)}"
        raise AssertionError(text) from error
    setattr(mine, name, candidate)
    print(f"{name}: right. From here on the notebook uses your function.")


def students_line(error: Exception) -> str:
    """Return which line of the student's own code an error came from."""
    ours = (PACKAGE, "site-packages", "dist-packages")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not any(part in f.filename for part in ours)]
    return f" (at your line {frames[-1].lineno}: {frames[-1].line})" if frames else ""


def hint(name: str, number: int = 1) -> None:
    """Print the next hint for an exercise; each says a little more than the one before."""
    hints = find(name).hints
    if not 1 <= number <= len(hints):
        print(f"{name} has hints 1 to {len(hints)}.")
    else:
        print(f"hint {number} of {len(hints)}: {hints[number - 1]}")


def hunt(name: str, suspect: Candidate) -> bool:
    """Print what is wrong with a suspect, or that the bug is gone, without raising; return whether it is right."""
    before = getattr(mine, name)
    try:
        examine(name, suspect)
    except (AssertionError, NotImplementedError) as error:
        print(f"the bug is still there. {error}")
        return False
    finally:
        setattr(mine, name, before)
    return True


class Mine(SimpleNamespace):
    """`mine.f` is your f once its check has passed, the package's until then."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return target(name)


mine = Mine()


def careful(candidate: Candidate) -> Candidate:
    """Return the candidate wrapped so that it fails when it changes an array that it was given."""

    def wrapped(*arguments: Any, **named: Any) -> Any:
        given = [a for a in (*arguments, *named.values()) if isinstance(a, np.ndarray)]
        before = [a.copy() for a in given]
        result = candidate(*arguments, **named)
        for old, new in zip(before, given, strict=True):
            same = np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
            assert same, f"it changed an array that it was given, of shape {old.shape}: work on a copy"
        return result

    return wrapped


def close(actual: Any, expected: Any, symptom: str, tolerance: float = 1e-8) -> None:
    """Assert that two numbers or arrays have one shape, are finite and agree to a relative tolerance."""
    assert actual is not None, "it returned None: is there a return statement?"
    try:
        got = np.asarray(actual, dtype=float)
    except (TypeError, ValueError):
        raise AssertionError(f"it returned {type(actual).__name__}, not numbers") from None
    want = np.asarray(expected, dtype=float)
    assert got.shape == want.shape, f"it returned shape {got.shape}, not {want.shape}. {symptom}"
    assert np.all(np.isfinite(got)), f"it returned numbers that are not finite. {symptom}"
    scale = max(float(np.max(np.abs(want), initial=0.0)), 1e-12)
    error = float(np.max(np.abs(got - want), initial=0.0)) / scale
    assert error <= tolerance, f"{symptom} (off by {error:.1e} of the largest entry)"
