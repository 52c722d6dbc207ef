"""How an answer is judged: the package's own function and the student's get the same inputs, and are compared.

An exercise is a generator of cases, small ones first, and a table of known mistakes, {symptom: function that makes
it}. The first case on which the two differ is shown, with the symptom of a known mistake which gives what came.
"""

import copy
import inspect
import signal
import threading
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.checks.words import number_words, short, value_words

Candidate = Callable[..., Any]
ENOUGH = 100  # wrong results that a symptom is judged by; more while two known mistakes explain them equally well
SMALL = 2_000  # numbers of an input on which it is looked for: a wrong answer may make their square of them
LONGEST = 10.0  # seconds of the processor that a case may take: a busy machine is nobody's mistake
WAIT = 60.0  # seconds by the clock, for an answer that sleeps or asks for input
MOST = 600  # letters of a message: errors and results may be of any length
FASTER = "The package needs far less than a second: a loop that never ends, or a search where a formula would do?"
PACKAGE = str(Path(__file__).parents[2])  # its own folder: that of a clone is called minitrpo, too


class Wrong(AssertionError):
    """What was given, expected and got; and the symptom, which says more than a bug hunt should."""

    def __init__(self, what: str, symptom: str = "") -> None:
        self.what = what if len(what) <= MOST else f"{what[:MOST]} ..."
        super().__init__(f"{self.what} {symptom}".strip())


class Need(AssertionError):
    """A rule that has no other answer to compare with was broken."""


def need(condition: object, text: str) -> None:
    """Raise `text`, a sentence about what the function did, unless the condition holds; for a case with a `run`."""
    if not condition:
        raise Need(text)


@dataclass(frozen=True)
class Case:
    """One input, and how far a right answer may be off: rtol of the largest entry (of each, if `each`), plus atol."""

    kind: str  # a few words, for the message and for the list of what was checked
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    rtol: float = 1e-9
    atol: float = 0.0
    each: bool = False
    run: Callable[[Candidate], Any] | None = None  # calls the function as it likes, returns what is to be compared
    shown: str = ""  # the input in words, instead of the arguments

    def outcome(self, function: Candidate) -> Any:
        """Return what the function makes of copies of the arguments; an exception is an outcome, too."""
        try:
            if self.run is not None:
                return self.run(function)
            arguments, named = copy.deepcopy((self.arguments, self.named))
            return function(*arguments, **named)
        except NotImplementedError:
            raise
        except (Exception, SystemExit) as error:
            return Raised(error)

    def words(self, function: Candidate) -> str:
        """Return the input for a message."""
        names = list(inspect.signature(function).parameters)[: len(self.arguments)]
        given = {**dict(zip(names, self.arguments, strict=True)), **self.named}
        shown = self.shown or ", ".join(f"{name} = {short(value)}" for name, value in given.items())
        return f"{self.kind} ({shown})" if shown else self.kind


def case(
    kind: str, *arguments: Any, rtol: float = 1e-9, atol: float = 0.0, each: bool = False, shown: str = "", **named: Any
) -> Case:
    """Return a case that calls function(*arguments, **named)."""
    return Case(kind, arguments, named, rtol, atol, each, None, shown)


def tried(
    kind: str,
    run: Callable[[Candidate], Any],
    rtol: float = 1e-9,
    atol: float = 0.0,
    each: bool = False,
    shown: str = "",
) -> Case:
    """Return a case that compares what run(function) returns; `run` may also state a rule with `need`."""
    return Case(kind, (), {}, rtol, atol, each, run, shown)


class TooLong(BaseException):
    """A case took too long; no Exception, so that what catches those lets it through."""


@contextmanager
def in_time() -> Iterator[None]:
    """End what takes longer than LONGEST with TooLong, where the system and the thread have a timer to spare."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise TooLong

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, LONGEST), (signal.ITIMER_REAL, signal.SIGALRM, WAIT))
    free = [timer for timer in timers if not signal.getitimer(timer[0])[0]]
    before = [signal.signal(name, ring) for _, name, _ in free]
    for timer, _, seconds in free:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, name, _), handler in zip(free, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(name, handler)


@dataclass(frozen=True)
class Raised:
    """An exception, as an outcome."""

    error: Exception | SystemExit

    def __str__(self) -> str:
        told = str(self.error).split(" (has ")[0]  # numpy's signature of its own function helps nobody
        return f"{type(self.error).__name__}: {told}{students_line(self.error)}"


def students_line(error: BaseException) -> str:
    """Return which line of the student's own code an error came from."""
    ours = (PACKAGE, "site-packages", "dist-packages")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours[0])]
    frames = [f for f in frames if not any(part in f.filename for part in ours[1:])]
    return f" (at your line {frames[-1].lineno}: {frames[-1].line})" if frames else ""


def difference(want: Any, got: Any, how: Case) -> str:
    """Return in what two outcomes differ, as "expected ..., got ..."; nothing if they agree."""
    if isinstance(got, Raised) and isinstance(got.error, Need):
        same = isinstance(want, Raised) and str(want.error) == str(got.error)
        return "" if same else str(got.error)
    if isinstance(want, Raised) or isinstance(got, Raised):
        same = isinstance(want, Raised) and isinstance(got, Raised) and isinstance(got.error, type(want.error))
        asked = f"a {type(want.error).__name__}" if isinstance(want, Raised) else value_words(want)
        came = f"it raised {got}" if isinstance(got, Raised) else f"got {value_words(got)}"
        return "" if same else came if isinstance(want, dict) else f"expected {asked}, {came}"
    if got is None and want is not None:
        return f"expected {value_words(want)}, got None"
    if isinstance(want, dict):
        return parts(want, got if isinstance(got, dict) else {}, how)
    if is_dataclass(want):
        there = {name: getattr(got, name) for name in vars(want) if hasattr(got, name)}
        lacks = [name for name in vars(want) if name not in there]
        if lacks:
            return f"expected a {type(want).__name__}, got {value_words(got)}, which has no `{lacks[0]}`"
        return parts(vars(want), there, how)
    if isinstance(want, tuple):
        if not isinstance(got, tuple | list) or len(got) != len(want):
            return f"expected {len(want)} results, got {value_words(got)}"
        return parts(numbered(want), numbered(got), how)
    if want is None or isinstance(want, str | bool | np.bool_):
        kinds = (bool, np.bool_) if isinstance(want, bool | np.bool_) else type(want)
        same = isinstance(got, kinds) and bool(got == want)
        return "" if same else f"expected {value_words(want)}, got {value_words(got)}"
    return number_difference(want, got, how)


def parts(want: dict[str, Any], got: dict[str, Any], how: Case) -> str:
    """Return the first difference among the named parts of two outcomes."""
    for name, value in want.items():
        found = difference(value, got.get(name), how)
        if found:
            return f"{name}: {found}"
    return ""


def numbered(results: Any) -> dict[str, Any]:
    """Return several results by their place."""
    places = ("first", "second", "third", *(f"{i + 1}th" for i in range(3, len(results))))
    return {f"the {place} result": result for place, result in zip(places, results, strict=False)}


def number_difference(want: Any, got: Any, how: Case) -> str:
    """Return in what two numbers or arrays of numbers differ."""
    right, told = np.asarray(want), f"expected {value_words(want)}, got {value_words(got)}"
    try:
        given = np.asarray(got)
        if given.dtype.kind not in "iuf" and given.dtype.kind != right.dtype.kind:
            return told
    except (TypeError, ValueError):  # a ragged list
        return told
    if given.shape != right.shape:
        return f"{told}: shape {given.shape}, not {right.shape}"
    off = wrong_entries(right, given, how)
    if off.any():
        return number_words(right, given, off)
    if right.ndim and not isinstance(got, np.ndarray):
        return f"{told}: the numbers are right, but in a {type(got).__name__}: return a numpy array"
    if right.dtype.kind in "iu" and given.dtype.kind == "f":
        return f"{told}: the value is right, but as a float: whole numbers are wanted"
    return ""


def wrong_entries(right: Any, given: Any, how: Case) -> Any:
    """Return a mask of the entries that are further off than allowed; nan wants nan, and inf wants the same inf."""
    right, given = right.astype(float), given.astype(float)
    finite = np.isfinite(right)
    sizes = np.where(finite, np.abs(right), 0.0)
    allowed = how.rtol * (sizes if how.each else np.max(sizes, initial=0.0)) + how.atol
    same = (right == given) | (np.isnan(right) & np.isnan(given))
    return ~(same | (finite & np.isfinite(given) & (np.abs(given - right) <= allowed)))


def judge(
    target: Candidate, cases: Callable[[], Iterator[Case]], mistakes: dict[str, Candidate], candidate: Candidate
) -> str:
    """Return what was checked, in words; raise Wrong at the first case where candidate and target differ."""
    count, kinds, kept = 0, dict[str, None](), []
    for each in cases():
        count, kinds[each.kind] = count + 1, None
        own, lent = set[str](), set[str]()
        want = each.outcome(unspoilt(target, target, own))
        try:
            with in_time():
                got = each.outcome(unspoilt(candidate, target, lent))
        except TooLong:
            raise Wrong(f"For {each.words(target)}: it was stopped after {LONGEST:.0f} s. {FASTER}") from None
        try:
            found = difference(want, got, each)
        except Exception:
            told = f"it returned a {type(got).__name__}, which cannot be compared"
            raise Wrong(f"For {each.words(target)}: {told}.") from None
        if not found and lent - own:
            name = min(lent - own)
            raise Wrong(f"For {each.words(target)}: it returned its argument `{name}`, or a part of it: return a copy.")
        if found:
            error = got.error if isinstance(got, Raised) else None
            try:
                with in_time():
                    symptom = known(each, want, got, cases, mistakes, candidate, target)
            except TooLong:  # it may never end on a later case
                symptom = ""
            symptom = symptom or general(want, got, each)
            raise Wrong(f"For {each.words(target)}: {found}.", symptom) from error
        kept += [(each.kind, array, array.copy()) for array in arrays_in(got)]
    for kind, array, before in kept:
        if not unchanged(before, array):
            raise Wrong(f"For {kind}: what it returned changed when it was called again: return new arrays each time.")
    shown = "; ".join(list(kinds)[: 9 if len(kinds) > 10 else 10]) + (
        f"; and {len(kinds) - 9} other kinds" if len(kinds) > 10 else ""
    )
    return f"{count} cases: {shown}"


def arrays_in(outcome: Any) -> list[Any]:
    """Return the arrays of an outcome, whatever they are packed in."""
    if isinstance(outcome, np.ndarray):
        return [outcome]
    if is_dataclass(outcome) and not isinstance(outcome, type | Raised):
        outcome = vars(outcome)
    several = outcome.values() if isinstance(outcome, dict) else outcome
    return [array for part in several for array in arrays_in(part)] if isinstance(outcome, dict | list | tuple) else []


def unspoilt(candidate: Candidate, target: Candidate, lent: set[str]) -> Candidate:
    """Return the candidate wrapped so that it fails when it changes what it was given.

    lent: takes the names of arguments whose memory it returned.
    """
    names = list(inspect.signature(target).parameters)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        given = {**dict(zip(names, arguments, strict=False)), **named}
        before = {name: copy.deepcopy(value) for name, value in given.items() if spoilable(value)}
        result = candidate(*arguments, **named)
        for name, value in before.items():
            need(unchanged(value, given[name]), f"it changed its argument `{name}`: work on a copy")
            memory = arrays_in(given[name])
            if any(np.may_share_memory(array, part) for array in arrays_in(result) for part in memory):
                lent.add(name)
        return result

    return wrapped


def spoilable(value: Any) -> bool:
    """Return whether an argument can be changed from within."""
    return isinstance(value, np.ndarray | list | dict) or (is_dataclass(value) and not isinstance(value, type))


def unchanged(before: Any, after: Any) -> bool:
    """Return whether an argument is what it was, to the bit."""
    if isinstance(before, np.ndarray):
        equal_nan = before.dtype.kind == "f"
        return before.dtype == after.dtype and np.array_equal(before, after, equal_nan=equal_nan)
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(unchanged, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(unchanged(v, after[k]) for k, v in before.items())
    if spoilable(before):
        return unchanged(vars(before), {k: v for k, v in vars(after).items() if k in vars(before)})
    return not isinstance(before, str | int | float) or bool(before == after) or before != before


def known(
    failed: Case,
    want: Any,
    got: Any,
    cases: Callable[[], Iterator[Case]],
    mistakes: dict[str, Candidate],
    candidate: Candidate,
    target: Candidate,
) -> str:
    """Return the symptom of the known mistake that gives what came, here and where either is wrong; or nothing.

    Where both are right they agree about nothing. One result is kept at a time: a wrong one can be large.
    """
    fitting = {text: f for text, f in mistakes.items() if explains(failed, given(failed, f), want, got)}
    told, seen = dict.fromkeys(fitting, 0), dict.fromkeys(fitting, 0)
    try:
        for number, each in enumerate(cases() if fitting else ()):
            entries = sum(array.size for array in arrays_in((each.arguments, each.named)))
            if (number % 2 and number > 150) or entries > SMALL:
                continue
            shares = sorted(told[text] / max(seen[text], 1) for text in fitting)
            if min(seen.values()) >= ENOUGH and shares[-1:] != shares[-2:-1]:
                break
            right, came = each.outcome(target), each.outcome(candidate)
            wrong = bool(difference(right, came, each))
            for text, mistake in fitting.items():
                answer = given(each, mistake)
                if wrong or not alike(each, answer, right):
                    seen[text] += 1
                    told[text] += alike(each, answer, came)
    except NotImplementedError:
        return next(iter(fitting))
    best = max(fitting, key=lambda text: told[text] / max(seen[text], 1), default="")
    return best if best and told[best] > 0.6 * seen[best] else ""


def given(each: Case, mistake: Candidate) -> Any:
    """Return what a mistake gives; one that is not attempted raises that, which nothing else does."""
    try:
        return each.outcome(mistake)
    except NotImplementedError as error:
        return Raised(error)


def alike(each: Case, answer: Any, came: Any) -> bool:
    """Return whether what a mistake gives is what came."""
    return not difference(answer, came, Case("", rtol=max(each.rtol, 1e-7), atol=each.atol))


def explains(failed: Case, answer: Any, want: Any, got: Any) -> bool:
    """Return whether a mistake's answer is what came; one near what is right explains nothing unless to the bit."""
    if not alike(failed, answer, got):
        return False
    return not alike(failed, answer, want) or not difference(answer, got, Case("", rtol=1e-13))


def general(want: Any, got: Any, how: Case) -> str:
    """Return what can be said of wrong numbers without knowing what they mean; of several results, of the first."""
    if got is None and want is not None:
        return "Is there a return statement?"
    if isinstance(want, tuple) and isinstance(got, tuple | list):
        want, got = numbered(want), numbered(got)
    if isinstance(want, dict) and isinstance(got, dict):
        wrong = [name for name in want if name in got and difference(want[name], got[name], how)]
        return general(want[wrong[0]], got[wrong[0]], how) if wrong and got[wrong[0]] is not None else ""
    if not all(isinstance(x, np.ndarray | float | int) and np.asarray(x).dtype.kind in "iuf" for x in (want, got)):
        return ""
    right, given = np.asarray(want, dtype=float), np.asarray(got, dtype=float)
    if right.shape != given.shape or not right.any() or not (np.isfinite(right).all() and np.isfinite(given).all()):
        return ""
    if np.array_equal(given, right):
        return ""
    if np.allclose(given, right, rtol=1e-5, atol=0.0):
        return "It is nearly right, but not in all digits: rounded, in single precision, or an approximation?"
    factor = float(np.sum(right * given) / np.sum(right * right))
    if np.isclose(factor, -1.0) and np.allclose(given, -right, rtol=1e-6):
        return "Its sign is turned."
    if right.size > 1 and abs(factor - 1) > 1e-3 and factor and np.allclose(given, factor * right, rtol=1e-6):
        return f"It is {factor:.4g} times the right answer."
    if right.size > 1 and np.allclose(given - right, (given - right).flat[0], rtol=1e-6):
        return f"Every number is off by {(given - right).flat[0]:.4g}."
    if right.size > 1 and np.allclose(given, right[::-1], rtol=1e-6):
        return "It is the right answer in reverse order."
    return ""


def megabytes(call: Callable[[], Any]) -> float:
    """Return how much memory a call needed at its peak."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    try:
        call()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e6
    finally:
        if not tracing:
            tracemalloc.stop()
