"""What a user's class must keep: every check of an algorithm, and of what its methods return, is in this file.

Each names in one line what was wrong and what is asked for. `accepted` looks at the class, and `check_beginning` at an
object of it before the first step. The methods of a user's class are checked whenever they return: `accepted` gives
the loops a class that does so, `Checked` or `CheckedAsynchronous`. The package's own algorithms are not checked
in every update; the finite theta of `check_theta` is asked of all. Whether equal bits and an exact resume come of it
cannot be seen from here: `python -m minitrpo check mine:Class` tries that.
"""

# mypy: disable-error-code="safe-super"
# What `super()` is in the checked classes has every method: `accepted` has looked.

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from minitrpo.algorithms.algorithm import KINDS, Algorithm, Arrays, Context, Member, Plan, Preset
from minitrpo.algorithms.asynchronous_algorithm import Ask, AsynchronousAlgorithm, Moment, Pushed
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.errors import AlgorithmFailed, BadInput, infinite_theta, shorten
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.comm import RUN_PREFIX as RUN_PREFIX
from minitrpo.parallel.comm import Nested, flat, nested
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status

UNFINISHED = "unfinished_"  # prefix of the arrays of episodes that go on, as RUN_PREFIX is of the run's own
RESERVED = (RUN_PREFIX, UNFINISHED)
MOST = 10**12  # steps, or episodes, of one update
NUMBERS = "biufc"  # kinds of dtypes

RENAMED = {  # what a class of an earlier version has, and what takes its place
    "digest": "`digest` is called `prepare` since 1.0",
    "assist": "`assist` is gone since 1.0: with --learner sharded all ranks call `learn`",
    "assists_with": "`assists_with` is called `sharded_with` since 1.0",
}

# --- the class


def accepted(name: str, candidate: Any, taken: set[str]) -> type[Member]:
    """Look at the class of an algorithm.

    Args:
        name: what was typed after --algorithm.
        candidate: what stands under this name.
        taken: the settings and columns that every run has.

    Returns:
        The class; of a user's class one whose methods are checked when they return.

    Raises:
        BadInput: it cannot be an algorithm.

    """
    what = name.rpartition(":")[2]
    if not (inspect.isclass(candidate) and issubclass(candidate, Member) and hasattr(candidate, "loop")):
        raise BadInput(f"--algorithm {name}: {what} is no class that inherits Algorithm or AsynchronousAlgorithm")
    if problem := next(_defects(candidate, taken), ""):
        raise BadInput(f"--algorithm {name}: {what} {problem}; see minitrpo/algorithms/algorithm.py")
    return candidate if name in ALGORITHMS else checked(candidate)


def _defects(algorithm: Any, taken: set[str]) -> Iterator[str]:
    """Yield why a class cannot be an algorithm, in words that follow its name."""
    for name, since in RENAMED.items():
        if hasattr(algorithm, name):
            yield f"is of an earlier version: {since}"
    for name in sorted(algorithm.__abstractmethods__):
        yield f"has no method {name}({', '.join(inspect.signature(getattr(algorithm, name)).parameters)})"
    base = next(kind for kind in algorithm.__mro__ if "loop" in vars(kind))  # which of the two it inherits
    for name, wanted in inspect.getmembers(base, inspect.isfunction):
        method, arguments = getattr(algorithm, name), inspect.signature(wanted).parameters
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError:
            yield f"has {name} = {shorten(method)}; it must be a method that takes ({', '.join(arguments)})"
    settings: Any = getattr(algorithm, "Settings", None)
    if not (inspect.isclass(settings) and is_dataclass(settings)):
        yield "has no dataclass called Settings; write `Settings = Settings` inside the class"
    if hasattr(settings, "idle"):
        yield "has Settings.idle(); since 1.0 an option says itself when it has an effect: option(..., only={...})"
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
    if not {*(algorithm.chart or ()), *algorithm.second_chart} <= set(columns):
        yield f"has a chart of {algorithm.chart} and {algorithm.second_chart}; only names of `columns` can be drawn"
    if not algorithm.actions or not set(algorithm.actions) <= set(KINDS):
        yield f"has actions = {algorithm.actions!r}; it must be a tuple of some of {', '.join(KINDS)}"
    together = getattr(algorithm, "sharded_with", ())
    if not isinstance(together, tuple) or not set(together) <= {"episodes", "segments"}:
        yield f'has sharded_with = {together!r}; it must be a tuple of some of "episodes", "segments"'
    presets = algorithm.presets
    if not isinstance(presets, dict) or not all(isinstance(preset, Preset) for preset in presets.values()):
        yield "has presets that are no dict of Preset(text, values)"
    yield from algorithm.defects()


# --- an object of it: each method, when it returns, and all of them before the first step


@cache
def checked(algorithm: type[Member]) -> type[Member]:
    """Return a class like this one whose methods are checked when they return."""
    checks: Any = Checked if issubclass(algorithm, Algorithm) else CheckedAsynchronous
    # check_policy asks which class the methods are of, so it stays bound to the user's own
    names = {name: getattr(algorithm, name) for name in ("__module__", "__qualname__", "__doc__", "check_policy")}
    kind: Any = type(algorithm)
    return cast(type[Member], kind(algorithm.__name__, (checks, algorithm), names))


class Checked(Algorithm):
    """An algorithm with a barrier whose methods are checked when they return; a user's class stands behind it."""

    __theta_shape: tuple[int, ...] | None = None  # not known before the first plan

    def __init__(self, settings: Any, context: Context) -> None:
        super().__init__(settings, context)
        self.__is_root = context.comm.rank == 0

    def plan(self) -> Plan:
        if self.__theta_shape is None:
            self.__theta_shape = self.state()["theta"].shape
        return check_plan(super().plan(), self.__theta_shape)

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        return check_prepared(super().prepare(plan, fragment), fragment.steps)

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        columns = super().learn(batch, rng)
        return columns_of("learn", columns, self.columns, words=True) if self.__is_root else columns

    def state(self) -> Nested:
        return nested(numbers("state", super().state(), within=True))


class CheckedAsynchronous(AsynchronousAlgorithm):
    """An algorithm without a barrier whose methods are checked when they return; a user's class stands behind it."""

    def state(self) -> Nested:
        return nested(numbers("state", super().state(), within=True))

    def worker_state(self) -> Nested:
        return nested(numbers("worker_state", super().worker_state(), within=True))

    def acting(self, shared: Arrays, now: Moment) -> Array:
        theta: Any = super().acting(shared, now)
        if not isinstance(theta, np.ndarray) or theta.ndim != 1 or theta.dtype.kind != "f":
            raise AlgorithmFailed(f"acting() returned {shorten(theta)}; it must return the parameters that act, (P,)")
        return theta

    def gradient(self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator) -> Pushed:
        return check_pushed("gradient", super().gradient(shared, fragment, now, rng), self.columns)

    def learner_gradient(self, shared: Arrays, ask: Ask, now: Moment, rng: np.random.Generator) -> Pushed:
        return check_pushed("learner_gradient", super().learner_gradient(shared, ask, now, rng), self.columns)

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> bool | dict[str, float] | None:
        before = dict(shared)
        answer = super().apply(shared, gradient, now)
        if shared.keys() != before.keys() or any(shared[name] is not array for name, array in before.items()):
            raise AlgorithmFailed("apply() must change the shared arrays in place: shared[name][:] = ...")
        if isinstance(answer, dict):
            unknown = [name for name in answer if name not in self.columns]
            if unknown:
                raise AlgorithmFailed(f"apply() returned {unknown[0]!r}, which is none of its columns {self.columns}")
            columns_of("apply", answer, tuple(answer))
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
        return None
    synchronous = cast(Algorithm, algorithm)
    with status.at("plan"):
        plan = check_plan(synchronous.plan(), theta.shape)
    with status.at("restore"):
        synchronous.restore(nested({name: array.copy() for name, array in state.items()}))
    with status.at("state"):
        after = numbers("state", algorithm.state(), within=True)
    for name, array in state.items():
        if not np.array_equal(array, after.get(name, ()), equal_nan=array.dtype.kind in "fc"):
            raise AlgorithmFailed(f"restore() does not bring back {name!r} of state()")
    return plan


# --- what a method returned


def numbers(method: str, answer: Any, within: bool = False) -> Arrays:
    """Return what a method gave as arrays of numbers by name; AlgorithmFailed if it cannot travel, or be saved.

    within: dicts of arrays may stand within it; they come back flat.
    """
    if not isinstance(answer, dict):
        raise AlgorithmFailed(f"{method}() must give a dict of arrays, not {shorten(answer)}")
    arrays: Arrays = {}
    for name, value in answer.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith(RESERVED) or name == "file":
            raise AlgorithmFailed(f"{method}() gave an array called {shorten(name)}; choose another name")
        if within and isinstance(value, dict):
            arrays |= flat({name: numbers(method, value, within)})
            continue
        try:
            arrays[name] = np.asarray(value)
        except ValueError as error:  # a list of lists of several lengths
            raise AlgorithmFailed(f"{method}() returned something that is not an array: {error}") from error
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


def check_prepared(answer: Any, steps: int) -> Arrays:
    """Return what `prepare` gave for a fragment of `steps` steps as arrays; AlgorithmFailed if one cannot be sent."""
    arrays = numbers("prepare", answer)
    for name, array in arrays.items():
        if array.ndim == 0 or len(array) not in (1, steps):
            raise AlgorithmFailed(
                f"prepare() returned {name!r} of shape {array.shape} for a fragment of {steps} steps; it must have one "
                "row for each step, or one row in all"
            )
    return arrays


def check_pushed(method: str, answer: Any, columns: tuple[str, ...]) -> Pushed:
    """Return what a worker pushes, and its columns; AlgorithmFailed if it is not that, or cannot travel."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise AlgorithmFailed(f"{method}() must return (arrays, columns), two dicts, not {shorten(answer)}")
    return numbers(method, answer[0]), columns_of(method, answer[1], columns)


def check_theta(theta: Any, like: Array, when: str, sizes: str) -> None:
    """Look at theta after an update, of any algorithm: it may overflow, and a student's function may be in it.

    Args:
        theta: of the `state` of an algorithm.
        like: theta at the beginning of the run.
        when: which update it was.
        sizes: how large its numbers were.

    Raises:
        AlgorithmFailed: theta is not finite, or has another shape or dtype than `like`.

    """
    theta = np.asarray(theta)
    if (theta.shape, theta.dtype) != (like.shape, like.dtype):
        wanted = f"{like.dtype} of shape {like.shape}"
        raise AlgorithmFailed(
            f"theta is {theta.dtype} of shape {theta.shape}, not {wanted}, {when}; no checkpoint has it"
        )
    if theta.dtype.kind in "fc" and not np.all(np.isfinite(theta)):
        raise infinite_theta(when, sizes)
