"""The test of an answer: the package's function and the student's get the same inputs, and the results are compared.

An exercise is a generator of cases, small ones first, and a table of known mistakes. The check shows the first refusing
case on which the two results differ, and the symptom of a known mistake that gives the student's result. Cases that do
not refuse come afterwards: if the results differ on one of them, the answer is right, with a remark.
"""

import copy
import inspect
import signal
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.words import first_difference, short, shortened, value_words

Candidate = Callable[..., Any]
FURTHER = 60  # cases after the failing one on which a symptom is looked for
LONGEST = 10.0  # seconds of the processor that a case may take: a busy machine is not a mistake of the student
SLOW = 30  # times as long as the package, and more than a second: a remark
PACKAGE = str(Path(__file__).parents[3])  # its own folder: that of a clone is called minitrpo, too


class Wrong(AssertionError):
    """Where an answer goes wrong, in lines; and the symptom, which says more than a bug hunt should."""

    def __init__(self, what: str, symptom: str = "") -> None:
        self.what = "\n".join(shortened(line) for line in what.splitlines()[:5])
        super().__init__(f"{self.what}\n{symptom}".strip())


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
    run: Callable[[Candidate], Any] | None = None  # calls the function as it likes, returns what is to be compared
    rtol: float = 1e-9
    atol: float = 0.0
    each: bool = False
    shown: str = ""  # the input in words, instead of the arguments
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    refuses: bool = True  # or is remarked on: the text does not ask for it

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
    return Case(kind, None, rtol, atol, each, shown, arguments, named)


def remark(case: Case) -> Case:
    """Return a case that refuses nothing: what the text does not ask for is only remarked on."""
    return replace(case, refuses=False)


@dataclass(frozen=True)
class Raised:
    """An exception, as an outcome."""

    error: BaseException

    def __str__(self) -> str:
        text = str(self.error).split(" (has ")[0]  # without numpy's signature of its own function
        return f"{type(self.error).__name__}: {text}{students_line(self.error)}"


def students_line(error: BaseException) -> str:
    """Return which line of the student's own code an error came from."""
    ours = (PACKAGE, "site-packages", "dist-packages")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours[0])]
    frames = [f for f in frames if not any(part in f.filename for part in ours[1:])]
    return f" (at your line {frames[-1].lineno}: {frames[-1].line})" if frames else ""


# --- in what two outcomes differ


@dataclass(frozen=True)
class Difference:
    """What was expected, what came, and in which part of the result; or a sentence of `need` alone."""

    expected: str
    got: str
    note: str = ""
    part: str = ""

    def lines(self, where: str) -> str:
        """Return a message about an input."""
        if not self.expected:
            return f"For {where}:\n  {self.got}"
        part = f", {self.part}" if self.part else ""
        note = f"\n  {self.note}" if self.note else ""
        return f"For {where}{part}:\n  expected  {self.expected}\n  got       {self.got}{note}"


def difference(want: Any, got: Any, how: Case) -> Difference | None:
    """Return in what two outcomes differ; None if they agree."""
    try:
        return _difference(want, got, how)
    except Exception:  # whatever a student's object does when it is asked
        text = value_words(got) if isinstance(got, list) else f"a {type(got).__name__}"
        return Difference(value_words(want), f"{text}, which cannot be compared")


def _difference(want: Any, got: Any, how: Case) -> Difference | None:
    if isinstance(got, Raised) and isinstance(got.error, Need):
        same = isinstance(want, Raised) and str(want.error) == str(got.error)
        return None if same else Difference("", str(got.error))
    if isinstance(want, Raised) or isinstance(got, Raised):
        same = isinstance(want, Raised) and isinstance(got, Raised) and isinstance(got.error, type(want.error))
        asked = f"a {type(want.error).__name__}" if isinstance(want, Raised) else value_words(want)
        return None if same else Difference(asked, str(got) if isinstance(got, Raised) else value_words(got))
    if got is None and want is not None:
        return Difference(value_words(want), "None")
    if isinstance(want, dict):
        return first_part(want, got if isinstance(got, dict) else {}, how)
    if is_dataclass(want):
        there = {name: getattr(got, name) for name in vars(want) if hasattr(got, name)}
        missing = [name for name in vars(want) if name not in there]
        if missing:
            return Difference(f"a {type(want).__name__}", f"{value_words(got)}, which has no `{missing[0]}`")
        return first_part(vars(want), there, how) or a_list_for_a_tuple(vars(want), there)
    if isinstance(want, tuple):
        if not isinstance(got, tuple | list) or len(got) != len(want):
            return Difference(f"{len(want)} results" if want else "(), which is empty", value_words(got))
        return first_part(numbered(want), numbered(got), how)
    if want is None or isinstance(want, str | bool | np.bool_):
        kinds = (bool, np.bool_) if isinstance(want, bool | np.bool_) else type(want)
        same = isinstance(got, kinds) and bool(got == want)
        return None if same else Difference(value_words(want), value_words(got))
    return number_difference(want, got, how)


def first_part(want: dict[str, Any], got: dict[str, Any], how: Case) -> Difference | None:
    """Return the first difference among the named parts of two outcomes."""
    for name, value in want.items():
        found = difference(value, got.get(name), how)
        if found:
            return replace(found, part=f"{name}, {found.part}" if found.part else name)
    return None


def a_list_for_a_tuple(want: dict[str, Any], got: dict[str, Any]) -> Difference | None:
    """Return the first field that holds a list where it should hold a tuple, whose entries are right."""
    for name, value in want.items():
        if isinstance(value, tuple) and isinstance(got[name], list):
            note = "the entries are right, but in a list: make a tuple"
            return Difference(value_words(value), value_words(got[name]), note, name)
    return None


def numbered(results: Any) -> dict[str, Any]:
    """Return several results by their place."""
    places = ("first", "second", "third", *(f"{i + 1}th" for i in range(3, len(results))))
    return {f"the {place} result": result for place, result in zip(places, results, strict=False)}


def number_difference(want: Any, got: Any, how: Case) -> Difference | None:
    """Return in what two numbers or arrays of numbers differ."""
    right, given, both = np.asarray(want), np.asarray(got), (value_words(want), value_words(got))
    if given.dtype.kind not in "iuf" and given.dtype.kind != right.dtype.kind:
        return Difference(*both)
    if given.shape != right.shape:
        return Difference(*both, f"its shape is {given.shape}, not {right.shape}")
    off = wrong_entries(right, given, how)
    if off.any():
        return Difference(*first_difference(right, given, off))
    if right.ndim and not isinstance(got, np.ndarray):
        return Difference(*both, f"the numbers are right, but in a {type(got).__name__}: return a numpy array")
    if right.dtype.kind in "iu" and given.dtype.kind == "f":
        return Difference(*both, "the value is right, but as a float: whole numbers are wanted")
    return None


def wrong_entries(right: Any, given: Any, how: Case) -> Any:
    """Return a mask of the entries that are further off than allowed; nan wants nan, and inf wants the same inf."""
    right, given = right.astype(float), given.astype(float)
    finite = np.isfinite(right)
    sizes = np.where(finite, np.abs(right), 0.0)
    allowed = how.rtol * (sizes if how.each else np.max(sizes, initial=0.0)) + how.atol
    same = (right == given) | (np.isnan(right) & np.isnan(given))
    return ~(same | (finite & np.isfinite(given) & (np.abs(given - right) <= allowed)))


# --- the verdict


def judge(
    target: Candidate,
    cases: Callable[[], Iterator[Case]],
    mistakes: Callable[[], dict[str, Candidate]],
    answer: Candidate,
) -> str:
    """Return in words what was checked, and the remarks; raise Wrong at the first difference in a case that refuses."""
    every = sorted(cases(), key=lambda each: not each.refuses)
    kept, remarks, lent, ours, theirs = [], [], dict[str, str](), 0.0, 0.0
    for number, each in enumerate(every):
        own, returned, where = set[str](), set[str](), each.words(target)
        before = time.thread_time()
        want = each.outcome(unspoilt(target, target, own))
        between = time.thread_time()
        try:
            with in_time():
                got = each.outcome(unspoilt(answer, target, returned))
        except TooLong as stopped:
            got = Raised(stopped)
        ours, theirs = ours + between - before, theirs + time.thread_time() - between
        found = difference(want, got, each)
        if found and each.refuses:
            error = got.error if isinstance(got, Raised) else None
            symptom = known(every, number, want, got, mistakes(), answer, target) or general(want, got, each)
            raise Wrong(found.lines(where), symptom) from error
        if found:
            expected = f"the package returns {found.expected}, yours {found.got}" if found.expected else found.got
            remarks.append(f"for {where} {expected}")
        lent |= dict.fromkeys(sorted(returned - own), where)
        kept += [(each, array, array.copy()) for array in arrays_in(got)]
    for each, array, before_it in kept:
        if not unchanged(before_it, array):
            said = f"For {each.kind}:\n  what it returned changed when it was called again: return new arrays each time"
            raise Wrong(said)
    for name, where in lent.items():
        text = "it returns its argument `{}`, or a part of it: who later changes the one changes the other"
        remarks.append(f"for {where} {text.format(name)}")
    if theirs > max(SLOW * ours, 1.0):
        remarks.append(f"it takes {theirs / ours:.0f} times as long as the package")
    kinds = list(dict.fromkeys(each.kind for each in every if each.refuses))
    checked = f"Checked: {len(every)} cases: {'; '.join([*kinds[:10], 'and more'] if len(kinds) > 10 else kinds)}."
    return checked + "".join(f"\nRemark: {shortened(said)}." for said in remarks[:2])


class TooLong(BaseException):
    """A case took too long; no Exception, so that what catches those lets it through."""


@contextmanager
def in_time() -> Iterator[None]:
    """End what takes longer than LONGEST with TooLong, where the system and the thread have a timer to spare."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_PROF)[0]:
        yield
        return

    def ring(*_: Any) -> None:
        raise TooLong(f"it was stopped after {LONGEST:.0f} s of work")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


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

    wrapped.__wrapped__ = candidate  # type: ignore[attr-defined] # for inspect.unwrap
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


# --- the symptom


def known(
    every: list[Case],
    number: int,
    want: Any,
    got: Any,
    mistakes: dict[str, Candidate],
    answer: Candidate,
    target: Candidate,
) -> str:
    """Return the symptom of the known mistake that gives the same as the answer wherever either is wrong, or "".

    Cases where both are right do not count. After the failing case, `number`, it looks at FURTHER ones.
    """
    failed = every[number]
    fitting = {text: f for text, f in mistakes.items() if explains(failed, failed.outcome(f), want, got)}
    hits, seen = dict.fromkeys(fitting, 0), dict.fromkeys(fitting, 0)
    try:
        for each in every[: number + 1 + FURTHER] if fitting else ():
            right = each.outcome(target)
            with in_time():
                came = each.outcome(answer)
            wrong = bool(difference(right, came, each))
            for text, mistake in fitting.items():
                theirs = each.outcome(mistake)
                if wrong or not alike(each, theirs, right):
                    seen[text] += 1
                    hits[text] += alike(each, theirs, came)
    except (NotImplementedError, TooLong):  # on a later case
        pass
    best = max(fitting, key=lambda text: hits[text] / max(seen[text], 1), default="")
    return best if best and hits[best] > 0.6 * seen[best] else ""


def alike(each: Case, answer: Any, came: Any) -> bool:
    """Return whether what a mistake gives is what came; of two errors, whether they say the same."""
    if isinstance(answer, Raised) and isinstance(came, Raised):
        return type(answer.error) is type(came.error) and str(answer.error) == str(came.error)
    return not difference(answer, came, Case("", rtol=max(each.rtol, 1e-7), atol=each.atol))


def explains(failed: Case, answer: Any, want: Any, got: Any) -> bool:
    """Return whether a mistake's answer is what came; one near what is right explains nothing unless to the bit."""
    if not alike(failed, answer, got):
        return False
    return not alike(failed, answer, want) or not difference(answer, got, Case("", rtol=1e-13))


def general(want: Any, got: Any, how: Case) -> str:
    """Return what can be said of wrong numbers without knowing what they mean; of several results, of the first."""
    if got is None and want is not None:
        return "Your answer returns nothing; it should end with a return statement."
    if callable(got) and not callable(want):
        return "Your answer returns a function; it should call it, and return what comes of that."
    several = isinstance(want, tuple) and isinstance(got, tuple | list)
    if several:
        want, got = numbered(want), numbered(got)
    if isinstance(want, dict) and isinstance(got, dict):
        wrong = [name for name in want if name in got and difference(want[name], got[name], how)]
        if not wrong or (several and got[wrong[0]] is None):
            return ""
        return general(want[wrong[0]], got[wrong[0]], how)
    if not all(isinstance(x, np.ndarray | float | int) and np.asarray(x).dtype.kind in "iuf" for x in (want, got)):
        return ""
    right, numbers = np.asarray(want, dtype=float), np.asarray(got, dtype=float)
    if right.shape != numbers.shape or not right.any() or not (np.isfinite(right).all() and np.isfinite(numbers).all()):
        return ""
    if np.array_equal(numbers, right):
        return ""
    if np.allclose(numbers, right, rtol=1e-5, atol=0.0):
        return "Your answer is nearly right; it should be right in all digits (no rounding, no single precision)."
    near = partial(np.allclose, rtol=1e-6, atol=0.0)  # tiny numbers are numbers, too
    factor = float(np.sum(right * numbers) / np.sum(right * right))
    if np.isclose(factor, -1.0) and near(numbers, -right):
        return "Your answer has its sign turned; it should have the other."
    if right.size > 1 and abs(factor - 1) > 1e-3 and factor and near(numbers, factor * right):
        return f"Your answer is {factor:.4g} times what it should be, everywhere."
    if right.size > 1 and near(numbers - right, (numbers - right).flat[0]):
        return f"Your answer is what it should be plus {(numbers - right).flat[0]:.4g}, everywhere."
    return ""


def megabytes(call: Callable[[], Any]) -> float:
    """Return how much memory a call needed at its peak."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
