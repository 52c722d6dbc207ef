"""Checks of lecture 06: where the time goes."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import close
from minitrpo.checks.register import examined as exercise
from minitrpo.parallel.timing import Span

COLLECT, OVERLAPS = {"collect"}, [("a", 0.0, 4.0), ("b", 2.0, 4.0), ("c", 3.0, 1.0), ("d", 5.5, 2.5)]
APART = [("collect", 0.0, 2.0), ("wait", 2.0, 1.0), ("collect", 5.0, 3.0)]
TWO = [("collect", 0.0, 4.0), ("collect", 6.0, 4.0)]
LATE = [("collect", 100.0, 4.0), ("collect", 106.0, 4.0)]
NESTED = [("policy", 1.0, 4.0), ("critic", 5.0, 3.0), ("update", 0.0, 10.0)]
DEEP = [("product", 2.0, 1.0), ("policy", 1.0, 4.0), ("update", 0.0, 10.0)]
OWN_NAME = [("fit", 1.0, 1.0), ("fit", 0.0, 3.0), ("fit", 5.0, 1.0)]
ROUNDS = [("policy", 1.0, 2.0), ("update", 0.0, 4.0), ("policy", 6.0, 2.0), ("update", 5.0, 5.0)]
BLINK = [("collect", 0.0, 1.0), ("wait", 1.0, 0.0), ("update", 1.0, 2.0)]

# what it is, spans, seconds by hand
TOTALS: list[tuple[str, list[Span], dict[str, float]]] = [
    ("one span of 1.5 s", [("collect", 2.0, 1.5)], {"collect": 1.5}),
    ("spans of one name, 2 s and 3 s, and 1 s between them", APART, {"collect": 5.0, "wait": 1.0}),
    ("4 s inside 6 s", [("policy", 1.0, 4.0), ("update", 0.0, 6.0)], {"policy": 4.0, "update": 2.0}),
    ("4 s and 3 s inside 10 s", NESTED, {"policy": 4.0, "critic": 3.0, "update": 3.0}),
    ("1 s inside 4 s inside 10 s", DEEP, {"product": 1.0, "policy": 3.0, "update": 6.0}),
    (
        "2 s that begin on the same tick as 2.5 s round them",
        [("fit", 0.0, 2.0), ("update", 0.0, 2.5)],
        {"fit": 2.0, "update": 0.5},
    ),
    ("4 s that two parts fill", [("a", 0.0, 2.0), ("b", 2.0, 2.0), ("up", 0.0, 4.0)], {"a": 2.0, "b": 2.0, "up": 0.0}),
    ("3 s with a part of the same name, and 1 s later", OWN_NAME, {"fit": 4.0}),
    ("two updates of 4 s and 5 s with 2 s of policy in each", ROUNDS, {"policy": 4.0, "update": 5.0}),
    ("a wait of 0 s between two phases", BLINK, {"collect": 1.0, "wait": 0.0, "update": 2.0}),
]

# what it is, spans, names, window, fraction by hand
FRACTIONS: list[tuple[str, list[Span], Any, tuple[float, float], float]] = [
    ("2 s and 3 s of collect in 10 s", APART, COLLECT, (0.0, 10.0), 0.5),
    ("5 s of collect and 1 s of wait in 8 s", APART, ("collect", "wait"), (0.0, 8.0), 0.75),
    ("a name that only begins like a phase", APART, {"collector"}, (0.0, 10.0), 0.0),
    ("a span that fills the window", [("collect", 1.0, 4.0)], ["collect"], (1.0, 5.0), 1.0),
    ("a span that begins before the window", TWO, COLLECT, (2.0, 6.0), 0.5),
    ("a span that ends after the window", TWO, COLLECT, (4.0, 8.0), 0.5),
    ("a span that covers the whole window", TWO, COLLECT, (1.0, 3.0), 1.0),
    ("a window between two spans", TWO, COLLECT, (4.0, 6.0), 0.0),
    ("a window before the first span", LATE, COLLECT, (0.0, 50.0), 0.0),
    ("a window that does not begin at 0", LATE, COLLECT, (100.0, 110.0), 0.8),
    ("4 s of policy inside 10 s of update", NESTED, {"update", "policy"}, (0.0, 20.0), 0.5),
    ("an update with its two parts", NESTED, {"update", "policy", "critic"}, (0.0, 10.0), 1.0),
    ("spans that overlap in part, 0-4, 2-6, 3-4, 5.5-8 s", OVERLAPS, set("abcd"), (0.0, 10.0), 0.8),
    ("the same span twice", [("a", 1.0, 2.0), ("a", 1.0, 2.0)], {"a"}, (0.0, 4.0), 0.5),
]


class Clock:
    """A clock that stands still until it is told to move."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


@exercise(
    "timed",
    "minitrpo.parallel.timing:timed",
    "What stands before `yield` happens when the `with` block begins, what stands after it when the block has ended.",
    "The duration is what the clock says at the end, less what it said at the start; record takes one tuple.",
    "If the body fails, the error comes out of the `yield`: what stands after it is only reached inside a `finally`.",
)
def timed(candidate: Candidate) -> None:
    """Check the stopwatch with a clock moved by hand, then with the real one."""
    _by_hand(candidate)
    _failing_bodies(candidate)
    _real_clock(candidate)


def _made(candidate: Candidate, *arguments: Any) -> Any:
    manager = candidate(*arguments)
    works = hasattr(manager, "__enter__") and hasattr(manager, "__exit__")
    assert works, f"it returned {type(manager).__name__}, which `with` cannot use: is @contextmanager above the def?"
    is_generator = not hasattr(manager, "gen") or hasattr(manager.gen, "__next__")
    assert is_generator, "the body of `with` is never run: where is the yield?"
    return manager


def _the_span(spans: list[Any], when: str) -> Span:
    assert len(spans) == 1, f"{when} record should have been called once, not {len(spans)} times"
    span = spans[0]
    is_span = isinstance(span, tuple | list) and len(span) == 3 and isinstance(span[0], str)
    assert is_span, f"record takes one tuple (name, start, duration), it got {span!r}"
    return span[0], span[1], span[2]


def _by_hand(candidate: Candidate) -> None:
    spans: list[Any] = []
    clock = Clock(50.0)
    manager = _made(candidate, spans.append, "collect", clock)
    clock.seconds = 100.0
    with manager:
        assert not spans, "record was called before the body had ended"
        clock.seconds = 102.5
    name, start, duration = _the_span(spans, "After one `with`")
    assert name == "collect", f"the span of 'collect' is recorded as {name!r}"
    close(start, 100.0, f"The clock said 100 s when the body began; the recorded start is {start} s")
    close(duration, 2.5, f"The body ran from 100 s to 102.5 s; the recorded duration is {duration}, not 2.5 s")
    with _made(candidate, spans.append, "update", clock):
        clock.seconds += 1.0
        for _ in range(2):
            with _made(candidate, spans.append, "policy", clock):
                clock.seconds += 4.0
    order = [span[0] for span in spans[1:]]
    assert order == ["policy", "policy", "update"], f"two 'policy' inside an 'update' were recorded as {order}"
    numbers = np.array([span[1:] for span in spans[1:]], dtype=float)
    by_hand = np.array([[103.5, 4.0], [107.5, 4.0], [102.5, 9.0]])
    close(numbers, by_hand, "Starts and durations of two phases inside a third are wrong: do they share something?")


def _failing_bodies(candidate: Candidate) -> None:
    errors: tuple[type[BaseException], ...] = (ValueError, KeyboardInterrupt)
    for error in errors:
        spans: list[Any] = []
        clock, caught = Clock(7.0), False
        try:
            with _made(candidate, spans.append, "collect", clock):
                clock.seconds = 10.0
                raise error("made by the check")
        except error:
            caught = True
        assert caught, f"a {error.__name__} in the body disappeared: a stopwatch must not swallow errors"
        assert spans, f"a body that ended with a {error.__name__} was not recorded: the seconds were spent all the same"
        _, _, duration = _the_span(spans, f"After a {error.__name__}")
        close(duration, 3.0, "A body that failed after 3 s should be recorded with 3 s")


def _real_clock(candidate: Candidate) -> None:
    spans: list[Any] = []
    before = time.perf_counter()
    with _made(candidate, spans.append, "sleep"):
        time.sleep(0.02)
    elapsed = time.perf_counter() - before
    _, start, duration = _the_span(spans, "With the clock left out")
    assert 0.019 <= duration <= elapsed + 1e-3, (
        f"a sleep of 0.02 s was recorded as {duration:.6g} s: the clock to use when none is given is time.perf_counter"
    )
    assert abs(start - before) < 1.0, (
        f"the recorded start {start:.6g} is not on time.perf_counter's scale, which said {before:.6g}"
    )


@exercise(
    "seconds_per_phase",
    "minitrpo.parallel.timing:seconds_per_phase",
    "Begin with the plain sum of durations per name. Which seconds are in it twice?",
    "A span lies in another if it ended before it and started at or after the other's start.",
    "When a span ends, take away the durations of those that lie directly in it. Keep a list of ended spans that lie "
    "in no other so far: they are at its end.",
)
def seconds_per_phase(candidate: Candidate) -> None:
    """Check that every instant goes to the innermost span: by hand, at edges, against a painted time line."""
    _totals(candidate, "no spans", [], {})
    for case, spans, expected in TOTALS:
        _totals(candidate, case, spans, expected)
    rng = np.random.default_rng(0)
    for depth, end in ((1, 30), (2, 40), (3, 80), (5, 200), (5, 300)):
        spans = random_spans(rng, 0, end, depth)
        owner: list[str | None] = [None] * end
        for name, start, duration in reversed(spans):  # the innermost is painted last
            owner[int(start) : int(start + duration)] = [name] * int(duration)
        expected = {name: float(owner.count(name)) for name, _, _ in spans}
        _totals(candidate, f"{len(spans)} spans, nested up to {depth} deep", spans, expected)


def _totals(candidate: Candidate, case: str, spans: list[Span], expected: dict[str, float]) -> None:
    given = list(spans)
    result = candidate(given)
    assert given == spans, "it changed the list of spans that it was given: work on a copy"
    assert isinstance(result, Mapping), f"it should return a dict of seconds by name, not {type(result).__name__}"
    missing, extra = expected.keys() - result.keys(), result.keys() - expected.keys()
    assert not missing, f"{case}: {', '.join(sorted(missing))} is missing; every name belongs in it, with 0 s too"
    assert not extra, f"{case}: it returned {', '.join(map(str, extra))}, which is no phase of the run"
    for name, seconds in expected.items():
        symptom = (
            f"{case}: {name} got {result[name]} s and should have {seconds:g} s; all phases together got "
            f"{sum(result.values())} s of the {sum(expected.values()):g} s that were measured"
        )
        close(result[name], seconds, symptom, absolute(seconds))


@exercise(
    "busy_fraction",
    "minitrpo.parallel.timing:busy_fraction",
    "Keep the spans whose name was asked for and cut each to the window. The rest is: how long is their union?",
    "Sort by start and walk through them. Only what lies beyond the latest end you have seen so far is new.",
    "The latest end so far is a maximum: a short span inside a long one must not pull it back.",
)
def busy_fraction(candidate: Candidate) -> None:
    """Check the length of a union of intervals: by hand, at the window's edges, against a row of seconds."""
    for case, spans, names, window, expected in FRACTIONS:
        _fraction(candidate, case, spans, names, window, expected)
    rng = np.random.default_rng(1)
    for depth, end in ((1, 30), (3, 60), (4, 100), (5, 200)):
        for names in ({"collect"}, ("policy", "critic"), ["filter", "collect", "policy", "critic"]):
            spans = random_spans(rng, 0, end, depth)
            first, last = sorted(rng.choice(end + 1, 2, replace=False).tolist())
            running = np.zeros(end, bool)
            for name, start, duration in spans:
                running[int(start) : int(start + duration)] |= name in names
            case = f"{len(spans)} spans, nested up to {depth} deep"
            _fraction(candidate, case, spans, names, (first, last), float(running[first:last].mean()))


def _fraction(
    candidate: Candidate, case: str, spans: list[Span], names: Any, window: tuple[float, float], expected: float
) -> None:
    given = list(spans)
    result = candidate(given, names, *window)
    assert given == spans, "it changed the list of spans that it was given: work on a copy"
    said = f"{result:.4g}" if isinstance(result, int | float) else f"{result!r}"
    symptom = f"{case}: from {window[0]:g} s to {window[1]:g} s it said {said}, not {expected:.4g}"
    close(result, expected, symptom, absolute(expected))


def absolute(expected: float) -> float:
    """Return the relative tolerance that allows an error of 1e-9: where 0 is expected, rounding may leave a little."""
    return 1e-9 / max(abs(expected), 1e-12)


def random_spans(rng: np.random.Generator, begin: int, end: int, depth: int) -> list[Span]:
    """Return nested spans between begin and end, in whole seconds, in the order in which they end."""
    spans: list[Span] = []
    now = begin
    while depth > 0 and now < end:
        start = int(rng.integers(now, min(now + 4, end)))
        stop = int(rng.integers(start + 1, end + 1))
        inside = random_spans(rng, start, stop, depth - 1)
        spans += [
            span for span in inside if span[1:] != (start, stop - start)
        ]  # two that coincide are no fair question
        spans.append((str(rng.choice(["collect", "policy", "critic", "filter"])), float(start), float(stop - start)))
        now = stop
    return spans
