"""What a user's class must keep: every check of an algorithm, and of what its methods return, is in this file.

Each names in one line what was wrong and what is asked for. A class is looked at before it is made (`accepted`), an
object before the first step (`check_beginning`), and each answer where it arrives. Whether equal bits and an exact
resume come of it cannot be seen from here: `python -m minitrpo check mine:Class` tries that.
"""

import inspect
import types
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import KINDS, Algorithm, Arrays, Member, Plan, Preset
from minitrpo.algorithms.asynchronous_algorithm import TRANSPORTS, AsynchronousAlgorithm, AsynchronousSettings
from minitrpo.errors import AlgorithmFailed, BadInput, shown, told
from minitrpo.experience.collectors import UNFINISHED
from minitrpo.parallel.comm import flat, nested
from minitrpo.parallel.parameter_server import TALLY
from minitrpo.policies import Array
from minitrpo.supervision import status

OWN = "run_"  # how the house's arrays are called in a checkpoint, and among those that are shared
FRAGMENT = "fragment_"  # and among those that travel
MAX_STEPS = 10**12  # of one update
NUMBERS = "biufc"  # kinds of dtypes
REQUIRED = {
    Algorithm: ("__init__", "plan", "digest", "learn", "state", "restore"),
    AsynchronousAlgorithm: ("__init__", "state", "gradient", "apply"),
}
OPTIONAL = {
    Algorithm: ("assist", "needs", "make_policy"),
    AsynchronousAlgorithm: ("acting", "worker_state", "restore_worker", "make_policy", "learners", "lesson", "answer"),
}

# --- the class


def accepted(name: str, candidate: Any, taken: set[str]) -> type[Member]:
    """Return the class of --algorithm `name`, with the base class's defaults; BadInput if it cannot be an algorithm.

    taken: settings and columns that every run has.
    """
    what = name.rpartition(":")[2]
    try:
        problem = defect(candidate, taken)
        if not problem:
            return adopted(candidate)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a class may raise whenever it is looked at
        raise BadInput(f"--algorithm {name}: {what} cannot be looked at: {told(error)}") from error
    raise BadInput(f"--algorithm {name}: {what} {problem}; see minitrpo/algorithms/algorithm.py")


def defect(candidate: Any, taken: set[str]) -> str:
    """Return why something cannot be an algorithm, in words that follow its name; "" if it can."""
    if not inspect.isclass(candidate):
        return f"is a {type(candidate).__name__}, not a class"
    algorithm: Any = adopted(candidate)
    problem = _defect_of_methods(algorithm) or _defect_of_settings(getattr(algorithm, "Settings", None), taken)
    problem = problem or _defect_of_columns(algorithm, taken)
    return problem or (_defect_of_asynchronous(algorithm) if issubclass(algorithm, AsynchronousAlgorithm) else "")


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


def _defect_of_methods(algorithm: Any) -> str:
    """Return which method is missing, or takes other arguments than that of the base class."""
    base = next(kind for kind in REQUIRED if issubclass(algorithm, kind))
    for name in (*REQUIRED[base], *OPTIONAL[base]):
        method, wanted = getattr(algorithm, name), inspect.signature(getattr(base, name)).parameters
        if not callable(method) or (method is getattr(base, name) and name in REQUIRED[base]):
            return f"has no method {name}({', '.join(wanted)})"
        try:
            inspect.signature(method).bind(*range(len(wanted)))
        except (TypeError, ValueError):
            return f"has {name}{inspect.signature(method)}; it must take ({', '.join(wanted)})"
    return ""


def _defect_of_settings(settings: Any, taken: set[str]) -> str:
    if not (inspect.isclass(settings) and is_dataclass(settings)):
        return "has no dataclass called Settings; write `Settings = Settings` inside the class"
    for f in fields(settings):
        if not {"help", "choices", "above"} <= set(f.metadata) or type(f.default) not in (int, float, str):
            return f"has Settings.{f.name}, which is not made by option(default, text), default an int, float or str"
        if f.name in taken:
            return f"has Settings.{f.name}, but every run has a setting of that name: choose another"
    return ""


def _defect_of_columns(algorithm: Any, taken: set[str]) -> str:
    columns = getattr(algorithm, "columns", None)
    if not isinstance(columns, tuple) or not all(isinstance(c, str) and c.isidentifier() for c in columns):
        return f'has columns = {columns!r}; it must be a tuple of names, such as ("gradient_norm",)'
    double = [c for c in columns if c in taken or columns.count(c) > 1]
    if double:
        return f"has a column {double[0]}, which metrics.csv has already: choose another name"
    if not algorithm.actions or not set(algorithm.actions) <= set(KINDS):
        return f"has actions = {algorithm.actions!r}; it must be a tuple of some of {', '.join(KINDS)}"
    presets = algorithm.presets
    if not isinstance(presets, dict) or not all(isinstance(preset, Preset) for preset in presets.values()):
        return "has presets that are no dict of Preset(text, values)"
    for name, chart in (("chart", algorithm.chart), ("second_chart", algorithm.second_chart)):
        if not set(chart or ()) <= set(columns):
            return f"has {name} = {chart!r}; only names of `columns` can be drawn"
    return ""


def _defect_of_asynchronous(algorithm: Any) -> str:
    if not issubclass(algorithm.Settings, AsynchronousSettings):
        return "has gradient and apply, but its Settings do not inherit AsynchronousSettings"
    own = [
        getattr(algorithm, name) is not getattr(AsynchronousAlgorithm, name)
        for name in ("worker_state", "restore_worker")
    ]
    if own[0] != own[1]:
        return "has only one of worker_state() and restore_worker(arrays)"
    pulled, transports = algorithm.pulled, algorithm.transports
    if not isinstance(pulled, tuple) or "theta" not in pulled:
        return f"has pulled = {pulled!r}; it must be a tuple of names of shared arrays, theta among them"
    if not isinstance(transports, tuple) or not transports or not set(transports) <= set(TRANSPORTS):
        return f"has transports = {transports!r}; it must be a tuple of some of {', '.join(TRANSPORTS)}"
    return ""


# --- what its methods return


def check_beginning(algorithm: Member) -> Plan | None:
    """Return the first plan of a fresh algorithm, None of an asynchronous one; AlgorithmFailed if no run can begin."""
    with status.at("state"):
        state = check_state(algorithm.state())
    if "theta" not in state:
        raise AlgorithmFailed("state() must return a dict of arrays with theta among them")
    taken = [key for key in state if key.startswith((OWN, UNFINISHED))]
    if taken:
        raise AlgorithmFailed(f"state() has {taken[0]!r}; names that begin with {OWN} are the run's own")
    if isinstance(algorithm, AsynchronousAlgorithm):
        check_shared(state, algorithm)
    if not isinstance(algorithm, Algorithm):
        return None
    with status.at("plan"):
        plan = algorithm.plan()
    check_plan(plan, np.shape(state["theta"]))
    with status.at("restore"):
        algorithm.restore(nested({name: np.array(array) for name, array in state.items()}))
    with status.at("state"):
        lost = changed(state, flat(algorithm.state()))
    if lost:
        raise AlgorithmFailed(f"restore() does not bring back {lost!r} of state()")
    return plan


def check_state(state: Any, method: str = "state") -> Arrays:
    """Return what `state` returned, dicts within it flat; AlgorithmFailed if a checkpoint cannot hold it."""
    if not isinstance(state, dict):
        raise AlgorithmFailed(f"{method}() must return a dict of arrays, not {type(state).__name__}")
    for name, value in state.items():
        if not isinstance(name, str) or not name.isidentifier() or name == "file":
            raise AlgorithmFailed(f"{method}() has an array called {shown(name)}; choose another name, such as weights")
        if isinstance(value, dict):
            check_state(value, method)
        elif np.asarray(value).dtype.kind not in NUMBERS:
            raise AlgorithmFailed(f"{method}() has {name} = {shown(value)}; it must be an array of numbers")
    return flat(state)


def check_shared(state: Arrays, algorithm: AsynchronousAlgorithm) -> None:
    """Raise AlgorithmFailed unless these can be the shared arrays of an asynchronous algorithm."""
    missing = set(algorithm.pulled) - state.keys()
    if missing:
        raise AlgorithmFailed(f"pulled names {min(missing)!r}, which state() does not have")
    odd = [name for name in state if name.startswith(TALLY)]
    if odd:
        raise AlgorithmFailed(f"state() has {odd[0]!r}; names that begin with {TALLY} are the run's own")
    check_state(algorithm.worker_state(), "worker_state")
    theta = np.asarray(state["theta"])
    if theta.ndim != 1 or not np.all(np.isfinite(theta)):
        raise AlgorithmFailed(f"state() has a theta of shape {theta.shape}; it must be finite, of shape (P,)")


def check_plan(plan: Any, shape: tuple[int, ...]) -> None:
    """Raise AlgorithmFailed unless this is a plan, its theta is finite and of this shape, its arrays can travel."""
    if not isinstance(plan, Plan):
        raise AlgorithmFailed(f"plan() returned {type(plan).__name__}; it must return a Plan(theta)")
    if not isinstance(plan.arrays, dict):
        raise AlgorithmFailed(f"plan() gave arrays = {shown(plan.arrays)}; it must be a dict of arrays")
    for name, array in {"theta": plan.theta, **plan.arrays}.items():
        if not isinstance(name, str) or type(array) is not np.ndarray or array.dtype.kind not in NUMBERS:
            raise AlgorithmFailed(f"plan() gave {name} = {shown(array)}; it must be an array of numbers")
    if plan.theta.shape != shape or not np.all(np.isfinite(plan.theta)):
        raise AlgorithmFailed(f"plan() gave a theta of shape {plan.theta.shape}; it must be finite, of shape {shape}")
    if plan.steps is not None and not (isinstance(plan.steps, int | np.integer) and 1 <= plan.steps <= MAX_STEPS):
        raise AlgorithmFailed(f"plan() gave steps = {shown(plan.steps)}; it must be an integer from 1 to {MAX_STEPS:,}")
    if plan.episodes is not None and not (isinstance(plan.episodes, int) and 1 <= plan.episodes <= MAX_STEPS):
        raise AlgorithmFailed(f"plan() gave episodes = {shown(plan.episodes)}; it must be a positive integer")


def check_digest(digest: Any, steps: int) -> Arrays:
    """Return the digest of a fragment of so many steps as arrays; AlgorithmFailed if one cannot travel."""
    if not isinstance(digest, dict):
        raise AlgorithmFailed(f"digest() must return a dict of arrays, not {type(digest).__name__}")
    arrays = {name: _as_array(array) for name, array in digest.items()}
    for name, array in arrays.items():
        if not isinstance(name, str) or name.startswith(FRAGMENT):
            raise AlgorithmFailed(f"digest() returned an array called {shown(name)}; choose another name")
        if array.dtype.kind not in NUMBERS or array.ndim == 0 or len(array) not in (1, steps):
            raise AlgorithmFailed(
                f"digest() returned {name!r}, {array.dtype} of shape {array.shape}, for a fragment of {steps} "
                "steps; it must be an array of numbers with one row for each step, or one row in all"
            )
    return arrays


def _as_array(value: Any) -> Array:
    """Return what an algorithm sends as an array, of objects if it is none."""
    try:
        return np.asarray(value)
    except ValueError:  # a list of lists of several lengths
        return np.array(None, object)


def check_columns(columns: Any, wanted: tuple[str, ...]) -> None:
    """Raise AlgorithmFailed unless these are the columns that an algorithm adds to the log, a number or word each."""
    if not isinstance(columns, dict) or set(columns) != set(wanted):
        result = sorted(columns) if isinstance(columns, dict) else type(columns).__name__
        raise AlgorithmFailed(f"learn() must return a dict of its columns {wanted}, not {result}")
    for name, value in columns.items():
        word = not isinstance(value, str) or value.isprintable()  # a line end in it would be two lines of the log
        if not (word and isinstance(value, int | float | str | np.number | np.bool_)):
            raise AlgorithmFailed(f"learn() returned {name} = {shown(value)}; a column holds one number or word")


def check_gradient(answer: Any, columns: tuple[str, ...]) -> tuple[Arrays, dict[str, float]]:
    """Return what `gradient` returned; AlgorithmFailed if it cannot travel."""
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, dict) for part in answer)):
        raise AlgorithmFailed(f"gradient() must return (a dict of arrays, a dict of columns), not {shown(answer)}")
    gradient, said = answer
    for name, array in gradient.items():
        text = isinstance(name, str) and not name.startswith((OWN, ":"))
        if not text or not isinstance(array, np.ndarray) or array.dtype.kind not in NUMBERS:
            raise AlgorithmFailed(f"gradient() returned {name} = {shown(array)}; it must be an array of numbers")
    if set(said) != set(columns):
        raise AlgorithmFailed(f"gradient() must return its columns {columns}, not {sorted(said)}")
    check_numbers("gradient", said)
    return gradient, said


def check_numbers(method: str, said: dict[str, Any]) -> None:
    """Raise AlgorithmFailed unless the columns that a method of an asynchronous algorithm reports are numbers."""
    for name, value in said.items():
        if not isinstance(value, int | float | np.number | np.bool_):
            raise AlgorithmFailed(f"{method}() returned the column {name} = {shown(value)}; it must be a number")


def changed(state: Arrays, other: Arrays) -> str:
    """Return the name of an array whose numbers are others in `other`, "" if there is none."""
    return next((name for name in state if not _same(state[name], other.get(name))), "")


def _same(one: Any, other: Any) -> bool:
    both_floats = np.asarray(one).dtype.kind in "fc" and np.asarray(other).dtype.kind in "fc"
    return np.array_equal(one, other, equal_nan=both_floats)
