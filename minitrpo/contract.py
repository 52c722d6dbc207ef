"""What a user's class must keep: every check of an algorithm, and of what its methods return, is in this file.

Each names in one line what was wrong and what is asked for. A class is looked at before it is made (`accepted`), an
object before the first step (`check_beginning`), and each answer where it arrives. Whether equal bits and an exact
resume come of it cannot be seen from here: `python -m minitrpo check mine:Class` tries that.
"""

import inspect
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import KINDS, Algorithm, Arrays, Member, Plan, Preset
from minitrpo.algorithms.asynchronous_algorithm import TRANSPORTS, AsynchronousAlgorithm, AsynchronousSettings
from minitrpo.errors import AlgorithmFailed, BadInput, describe_error, shorten
from minitrpo.parallel.comm import flat, nested
from minitrpo.parallel.parameter_server import TALLY
from minitrpo.supervision import status

OWN = "run_"  # how the house's arrays are called in a checkpoint, and among those that are shared
UNFINISHED = "unfinished_"  # and those of episodes that go on
RESERVED = (OWN, UNFINISHED, TALLY)
MOST = 10**12  # steps, or episodes, of one update
NUMBERS = "biufc"  # kinds of dtypes
REQUIRED = {
    Algorithm: ("__init__", "plan", "digest", "learn", "state", "restore"),
    AsynchronousAlgorithm: ("__init__", "state", "gradient", "apply"),
}

# --- the class


def accepted(name: str, candidate: Any, taken: set[str]) -> type[Member]:
    """Return the class of --algorithm `name`, with the base class's defaults; BadInput if it cannot be an algorithm.

    taken: settings and columns that every run has.
    """
    what = name.rpartition(":")[2]
    if not inspect.isclass(candidate):
        raise BadInput(f"--algorithm {name}: {what} is a {type(candidate).__name__}, not a class")
    try:
        algorithm = adopted(candidate)
        problem = next(_defects(algorithm, taken), "")
    except Exception as error:  # an attribute may be of any kind
        problem = f"cannot be looked at: {describe_error(error)}"
    if problem:
        raise BadInput(f"--algorithm {name}: {what} {problem}; see minitrpo/algorithms/algorithm.py")
    return algorithm


def adopted(candidate: type) -> type[Member]:
    """Return a class with the defaults of its base class: one that has all methods need not inherit.

    It is asynchronous if it has both `gradient` and `apply`.
    """
    if issubclass(candidate, Algorithm | AsynchronousAlgorithm):
        return candidate
    both = callable(getattr(candidate, "gradient", None)) and callable(getattr(candidate, "apply", None))
    bases: tuple[type, ...] = (candidate, AsynchronousAlgorithm if both else Algorithm)
    named = {"__module__": candidate.__module__}
    return types.new_class(candidate.__name__, bases, exec_body=lambda names: names.update(named))


def _defects(algorithm: Any, taken: set[str]) -> Iterator[str]:
    """Yield why a class cannot be an algorithm, in words that follow its name."""
    base = next(kind for kind in REQUIRED if issubclass(algorithm, kind))
    for name, wanted in inspect.getmembers(base, inspect.isfunction):
        method, arguments = getattr(algorithm, name), inspect.signature(wanted).parameters
        if not callable(method) or (method is wanted and name in REQUIRED[base]):
            yield f"has no method {name}({', '.join(arguments)})"
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError:
            yield f"has {name}{inspect.signature(method)}; it must take ({', '.join(arguments)})"
    settings: Any = getattr(algorithm, "Settings", None)
    if not (inspect.isclass(settings) and is_dataclass(settings)):
        yield "has no dataclass called Settings; write `Settings = Settings` inside the class"
    for f in fields(settings):
        if "choices" not in f.metadata or type(f.default) not in (int, float, str):
            yield f"has Settings.{f.name}, which is not made by option(default, text), default an int, float or str"
        if f.name in taken:
            yield f"has Settings.{f.name}, but every run has a setting of that name: choose another"
    columns: Any = getattr(algorithm, "columns", None)
    if not isinstance(columns, tuple) or not all(isinstance(c, str) and c.isidentifier() for c in columns):
        yield f'has columns = {columns!r}; it must be a tuple of names, such as ("gradient_norm",)'
    for column in columns:
        if column in taken or columns.count(column) > 1:
            yield f"has a column {column}, which metrics.csv has already: choose another name"
    for name in ("chart", "second_chart"):
        if not set(getattr(algorithm, name) or ()) <= set(columns):
            yield f"has {name} = {getattr(algorithm, name)!r}; only names of `columns` can be drawn"
    if not algorithm.actions or not set(algorithm.actions) <= set(KINDS):
        yield f"has actions = {algorithm.actions!r}; it must be a tuple of some of {', '.join(KINDS)}"
    if not all(isinstance(preset, Preset) for preset in algorithm.presets.values()):
        yield "has presets that are no dict of Preset(text, values)"
    if base is AsynchronousAlgorithm:
        yield from _defects_of_asynchronous(algorithm)


def _defects_of_asynchronous(algorithm: Any) -> Iterator[str]:
    if not issubclass(algorithm.Settings, AsynchronousSettings):
        yield "has gradient and apply, but its Settings do not inherit AsynchronousSettings"
    pair = ("worker_state", "restore_worker")
    if len({getattr(algorithm, name) is getattr(AsynchronousAlgorithm, name) for name in pair}) > 1:
        yield "has only one of worker_state() and restore_worker(arrays)"
    if "theta" not in algorithm.pulled:
        yield f"has pulled = {algorithm.pulled!r}; it must be a tuple of names of shared arrays, theta among them"
    if not algorithm.transports or not set(algorithm.transports) <= set(TRANSPORTS):
        yield f"has transports = {algorithm.transports!r}; it must be a tuple of some of {', '.join(TRANSPORTS)}"


# --- what its methods return


def numbers(method: str, answer: Any, within: bool = False) -> Arrays:
    """Return what a method gave as arrays of numbers by name; AlgorithmFailed if it cannot travel, or be saved.

    within: dicts of arrays may stand within it; they come back flat.
    """
    if not isinstance(answer, dict):
        raise AlgorithmFailed(f"{method}() must give a dict of arrays, not {shorten(answer)}")
    arrays: Arrays = {}
    for name, value in answer.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith(RESERVED) or name == "file":
            raise AlgorithmFailed(f"{method}() gave an array called {shorten(name)}; call it otherwise")
        if within and isinstance(value, dict):
            arrays |= flat({name: numbers(method, value, within)})
            continue
        try:
            arrays[name] = np.asarray(value)
        except ValueError as error:  # a list of lists of several lengths
            raise AlgorithmFailed(f"{method}() gave what is no array: {error}") from error
        if arrays[name].dtype.kind not in NUMBERS:
            raise AlgorithmFailed(f"{method}() gave {name!r} = {shorten(value)}; it must be an array of numbers")
    return arrays


def columns_of(method: str, answer: Any, wanted: tuple[str, ...], words: bool = False) -> dict[str, Any]:
    """Return the columns that a method gave, each a number or, if `words` may be, a word; AlgorithmFailed if not."""
    if not isinstance(answer, dict) or set(answer) != set(wanted):
        raise AlgorithmFailed(f"{method}() must return a dict of its columns {wanted}, not {shorten(answer)}")
    for name, value in answer.items():
        word = words and isinstance(value, str) and value.isprintable()  # a line end in it would make two lines
        if not (word or isinstance(value, int | float | np.number | np.bool_)):
            raise AlgorithmFailed(f"{method}() returned {name} = {shorten(value)}; it must be a number")
    return answer


def check_beginning(algorithm: Member) -> Plan | None:
    """Return the first plan of a fresh algorithm, None of an asynchronous one; AlgorithmFailed if no run can begin."""
    with status.at("state"):
        state = numbers("state", algorithm.state(), within=True)
    missing = {"theta", *getattr(algorithm, "pulled", ())} - state.keys()
    if missing:
        raise AlgorithmFailed(f"state() must return a dict of arrays with {min(missing)!r} among them")
    theta = state["theta"]
    if isinstance(algorithm, AsynchronousAlgorithm):
        numbers("worker_state", algorithm.worker_state(), within=True)
        if theta.ndim != 1 or not np.all(np.isfinite(theta)):
            raise AlgorithmFailed(f"state() has a theta of shape {theta.shape}; it must be finite, of shape (P,)")
    if not isinstance(algorithm, Algorithm):
        return None
    with status.at("plan"):
        plan = check_plan(algorithm.plan(), theta.shape)
    with status.at("restore"):
        algorithm.restore(nested({name: array.copy() for name, array in state.items()}))
    with status.at("state"):
        after = numbers("state", algorithm.state(), within=True)
    for name, array in state.items():
        if not np.array_equal(array, after.get(name, ()), equal_nan=array.dtype.kind in "fc"):
            raise AlgorithmFailed(f"restore() does not bring back {name!r} of state()")
    return plan


def check_plan(plan: Any, shape: tuple[int, ...]) -> Plan:
    """Return a plan; AlgorithmFailed unless its theta is finite and of this shape, and its arrays can travel."""
    if not isinstance(plan, Plan):
        raise AlgorithmFailed(f"plan() returned {type(plan).__name__}; it must return a Plan(theta)")
    numbers("plan", plan.arrays)
    numbers("plan", {"theta": plan.theta})
    if not isinstance(plan.theta, np.ndarray) or plan.theta.shape != shape or not np.all(np.isfinite(plan.theta)):
        raise AlgorithmFailed(
            f"plan() gave theta = {shorten(plan.theta)}; it must be finite, an array of shape {shape}"
        )
    for name, amount in (("steps", plan.steps), ("episodes", plan.episodes)):
        if amount is not None and not (isinstance(amount, int | np.integer) and 1 <= amount <= MOST):
            raise AlgorithmFailed(f"plan() gave {name} = {shorten(amount)}; it must be an integer from 1 to {MOST:,}")
    return plan


def check_digest(digest: Any, steps: int) -> Arrays:
    """Return the digest of a fragment of so many steps as arrays; AlgorithmFailed if one cannot travel."""
    arrays = numbers("digest", digest)
    for name, array in arrays.items():
        if array.ndim == 0 or len(array) not in (1, steps):
            raise AlgorithmFailed(
                f"digest() returned {name!r} of shape {array.shape} for a fragment of {steps} steps; it must have one "
                "row for each step, or one row in all"
            )
    return arrays


def check_gradient(answer: Any, columns: tuple[str, ...]) -> tuple[Arrays, dict[str, float]]:
    """Return what `gradient` or `lesson` returned; AlgorithmFailed if it cannot travel."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise AlgorithmFailed(f"gradient() must return (a dict of arrays, a dict of columns), not {shorten(answer)}")
    return numbers("gradient", answer[0]), columns_of("gradient", answer[1], columns)
