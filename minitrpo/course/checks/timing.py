"""Checks of lecture 06: where the time goes."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Candidate, Case, Need, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short, value_words

TIMED = "minitrpo.parallel.timing:timed"
OWN, BUSY = (f"minitrpo.course.trace:{name}" for name in ("seconds_per_phase", "busy_fraction"))
Spans = list[tuple[str, float, float]]

DONE, TRY, END = "record((name, start, clock() - start))", "    try:\n        yield\n    finally:\n        ", "finally:"
TIMED_SLIPS = {
    "A body that fails took its time, too: record it inside a `finally`.": (TRY, "    yield\n    "),
    "Ctrl-C is no `Exception`: use `finally`.": (END, f"except Exception:\n        {DONE}\n        raise\n    else:"),
    "A stopwatch must not swallow errors.": (END, "except BaseException: pass\n    if True:"),
    "That is the time at the end, not how long it took.": ("clock() - start", "clock()"),
    "That is the time at the end: the start is wanted.": ("(name, start", "(name, clock()"),
    "The start is what the clock said, whatever its zero means.": ("(name, start", "(name, 0.0"),
    "The clock was stopped before the body ran.": (
        "start = clock()",
        "start = clock(); stop = clock(); clock = lambda: stop",
    ),
}


@exercise(
    "timed",
    TIMED,
    hints=(
        "What stands before `yield` happens when the `with` block begins, what stands after it when it has ended.",
        "The duration is what the clock says at the end, less what it said at the start; record takes one tuple.",
        "If the body fails, the error comes out of the `yield`: what stands after it is only reached in a `finally`.",
    ),
    mistakes=edits(TIMED, TIMED_SLIPS),
)
def timed_cases() -> Iterator[Case]:
    """Yield bodies that end in every way, short and long ones, two in a third, and the real clock."""
    spans = ((100.0, 2.5), (0.0, 4.0), (7.0, 0.0), (-3.0, 1.0), (0.1, 0.2), (12345.678, 1e-6), (5.0, 1e9))
    errors = (ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError)
    yield from (stopwatch("a body by a clock moved by hand", *span) for span in spans)
    yield from (stopwatch("a body that fails", 7.0, 3.0, error) for error in errors)
    yield from (stopwatch("other names, whole numbers", 3, 2, None, name) for name in ("", "Policy step ", "wait"))
    yield tried("two bodies inside a third", nested, rtol=0, shown="1 s, twice 4 s of 'policy', all in 'update'")
    yield tried("a clock left out", by_the_real_clock, shown="a sleep of 0.01 s")


def made(f: Candidate, calls: list[Any], *more: Any) -> Any:
    """Return a stopwatch that `with` can use; its record returns True."""

    def record(*given: Any) -> bool:
        calls.append(given)
        return True

    manager = f(record, *more)
    can = hasattr(manager, "__enter__") and hasattr(manager, "__exit__")
    kind = "None" if manager is None else f"a {type(manager).__name__}"
    need(can, f"it returned {kind}, which `with` cannot use (is @contextmanager above the def?)")
    runs = not hasattr(manager, "gen") or hasattr(manager.gen, "__next__")
    need(runs, "the body of `with` is never run (where is the yield?)")
    return manager


def columns(calls: list[Any]) -> dict[str, Any]:
    """Return what record was called with, by columns."""
    for given in calls:
        fits = len(given) == 1 and isinstance(given[0], tuple) and len(given[0]) == 3
        fits = fits and isinstance(given[0][0], str) and all(np.isreal(x) for x in given[0][1:])
        need(fits, f"record takes one tuple (name, start, duration), it got {', '.join(map(short, given))}")
    names, starts, durations = zip(*(given[0] for given in calls), strict=True) if calls else ((), (), ())
    numbers = {"start": np.array(starts, float), "duration": np.array(durations, float)}
    return {"calls of record": len(calls), "name": ", ".join(map(str, names)), **numbers}


def stopwatch(kind: str, begin: float, lasts: float, error: Any = None, name: str = "collect") -> Case:
    """Return a case with one body from `begin` on, the stopwatch made earlier; it may end with an error."""

    def run(f: Candidate) -> dict[str, Any]:
        now, calls, raised, came = SimpleNamespace(s=begin - 50), list[Any](), error and error("by the check"), None
        manager = made(f, calls, name, lambda: now.s)
        now.s = begin
        try:
            with manager:
                need(not calls, "record was called before the body had ended")
                now.s = begin + lasts
                if raised:
                    raise raised
        except BaseException as caught:
            if isinstance(caught, Need) or not raised:
                raise
            came = caught
        passed = type(came).__name__ if came is raised else "nothing" if came is None else "another error"
        return {"the error that came out": passed, **columns(calls)}

    ending = f", then {error.__name__}" if error else ""
    return tried(kind, run, rtol=0, shown=f"name = {name!r}, from {begin:g} s on for {lasts:g} s{ending}")


def nested(f: Candidate) -> dict[str, Any]:
    """Run two phases inside of a third; the three stopwatches are made first."""
    now, calls = SimpleNamespace(s=100.0), list[Any]()
    outer, *inner = [made(f, calls, name, lambda: now.s) for name in ("update", "policy", "policy")]
    with outer:
        now.s += 1.0
        for manager in inner:
            with manager:
                now.s += 4.0
    return columns(calls)


def by_the_real_clock(f: Candidate) -> int:
    """Look at time.perf_counter before, inside and after."""
    calls, looks = list[Any](), [time.perf_counter()]
    with made(f, calls, "sleep"):
        looks.append(time.perf_counter())
        time.sleep(0.01)
        looks.append(time.perf_counter())
    looks.append(time.perf_counter())
    told = columns(calls)
    for start, stop in zip(told["start"], told["start"] + told["duration"], strict=True):
        inside = looks[0] <= start <= looks[1] and looks[2] - 1e-6 <= stop <= looks[3] + 1e-6
        said = f"it says from {start:.6f} s to {stop:.6f} s, and time.perf_counter {looks[1]:.6f} to {looks[2]:.6f}"
        need(inside, f"{said}: the clock to ask when none is given is time.perf_counter")
    return len(calls)


WHILE, POPPED, PLUS, RETURN = (
    "while apart and apart[-1][0] >= start:",
    "own[name] -= apart.pop()[1]",
    "own[name] +=",
    "dict(own)",
)
OWN_SLIPS = {
    "What lies inside a span is counted twice, for itself and for the span.": (POPPED, "apart.pop()"),
    "Several spans may lie in one: take away all of them.": ("while apart", "if apart"),
    "A span that starts on the same tick lies in the later one, too.": (">= start", "> start"),
    "A span that ends where the next one starts does not lie in it.": (
        "apart[-1][0] >= start",
        "sum(apart[-1]) > start",
    ),
    "A name that comes again gets the sum, not the last span.": (PLUS, "own[name] ="),
    "What lies in a part of a span was taken away twice.": (
        *(POPPED, "pass", WHILE, "own[name] -= sum(d for s, d in apart if s >= start)\n        while 0:"),
    ),
    "Every name belongs in it, with 0 s too.": (RETURN, "{n: s for n, s in own.items() if s}"),
}


@exercise(
    "seconds_per_phase",
    OWN,
    hints=(
        "Begin with the plain sum of durations per name. Which seconds are in it twice?",
        "A span lies in another if it ended before it and started at or after the other's start.",
        "When a span ends, take away the durations of those that lie directly in it. Keep a list of ended spans that "
        "lie in no other so far: they are at its end.",
    ),
    mistakes=edits(OWN, OWN_SLIPS),
)
def seconds_per_phase_cases() -> Iterator[Case]:
    """Yield spans by hand, then nested at random, on round and on other ticks, small and large."""
    rounds: Spans = [("policy", 1.0, 2.0), ("update", 0.0, 4.0), ("policy", 6.0, 2.0), ("update", 5.0, 5.0)]
    hand: dict[str, Spans] = {
        "no spans": [],
        "a single span": [("collect", 2.0, 1.5)],
        "two spans of one name": [("collect", 0.0, 2.0), ("wait", 2.0, 1.0), ("collect", 5.0, 3.0)],
        "a span inside another": [("policy", 1.0, 4.0), ("update", 0.0, 6.0)],
        "two spans inside another": [("policy", 1.0, 4.0), ("critic", 5.0, 3.0), ("update", 0.0, 10.0)],
        "three levels": [("product", 2.0, 1.0), ("policy", 1.0, 4.0), ("update", 0.0, 10.0)],
        "a start on the same tick": [("fit", 0.0, 2.0), ("update", 0.0, 2.5)],
        "parts that fill the whole": [("a", 0.0, 2.0), ("b", 2.0, 2.0), ("up", 0.0, 4.0)],
        "a part of the same name": [("fit", 1.0, 1.0), ("fit", 0.0, 3.0), ("fit", 5.0, 1.0)],
        "two rounds": rounds,
        "a span of 0 s": [("collect", 0.0, 1.0), ("wait", 1.0, 0.0), ("update", 1.0, 2.0)],
        "spans of 0.1 s and 0.2 s": [("a", 0.1, 0.2), ("b", 0.3, 0.4), ("c", 0.7, 0.1), ("d", 0.8, 0.7)],
        "parts that end with the whole": [("a", 0.0, 0.1), ("b", 0.1, 0.2), ("c", 0.0, 0.3), ("d", 0.3, 0.6)],
        "an empty name": [("", 1.0, 2.0), ("update", 0.0, 3.5)],
        "whole numbers": [("policy", 1, 4), ("critic", 5, 2), ("update", 0, 9)],
    }
    yield from (totals(kind, spans) for kind, spans in hand.items())
    rng = np.random.default_rng(0)
    for depth, count in ((1, 4), (2, 6), (3, 9), (4, 12), (5, 16)):
        yield totals("spans nested at random", spans_on(rng, rng.permutation(50)[:count].cumsum(), depth))
        yield totals("ticks that are not round", spans_on(rng, rng.random(count).cumsum(), depth))
    for scale, origin in ((1e-9, 0.0), (1e9, 0.0), (1.0, -30.0), (1e3, 1e9)):
        yield totals(
            "very short, very long, very late spans", spans_on(rng, origin + scale * rng.random(14).cumsum(), 4)
        )
    yield totals("spans from an iterator", rounds, iter)
    yield totals("names that were put together", put_together(rounds))
    yield totals("a tuple of spans", rounds, tuple)
    yield totals("1,500 spans", spans_on(rng, rng.random(5000).cumsum(), 3)[-1500:])


def totals(kind: str, spans: Spans, given: Callable[[Spans], Any] = list) -> Case:
    """Return a case in which names and seconds are compared one by one, to a billionth of the largest number."""

    def run(f: Candidate) -> Any:
        result = f(given(spans))
        if result is None:
            return result
        need(isinstance(result, dict), f"it returned {value_words(result)}, not a dict of seconds by name")
        return {"names": ", ".join(sorted(map(str, result))), **{f"seconds of {n!r}": s for n, s in result.items()}}

    size = max((max(abs(start), duration) for _, start, duration in spans), default=0.0)
    return tried(kind, run, atol=1e-9 * size, shown=f"spans = {short(spans)}")


def spans_on(rng: np.random.Generator, ticks: Any, depth: int) -> Spans:
    """Return spans from tick to tick, nested so deep, in the order in which they end; neighbours share a tick."""
    spans, first = list[tuple[str, float, float]](), 0
    while first < len(ticks) - 1:
        last = int(min(len(ticks) - 1, first + rng.integers(1, 4 ** (depth - 1) + 1)))
        inside = spans_on(rng, ticks[first : last + 1], depth - 1) if depth > 1 and last > first + 1 else []
        whole = (
            str(rng.choice(["collect", "policy", "critic"])),
            float(ticks[first]),
            float(ticks[last] - ticks[first]),
        )
        if rng.random() < 0.8:
            spans += [*(part for part in inside if part[1:] != whole[1:]), whole]  # of equals, which is inside?
        first = last
    return spans


LESS = "min(stop, end) - max(start, reached)"
ONLY, LATEST, WINDOW = "if name in names", "reached = max(reached, stop)", "/ (end - begin)"
BUSY_SLIPS = {
    "An instant in which two phases run is counted twice.": (LATEST, "pass"),
    "A short span inside a long one pulls the latest end back.": (LATEST, "reached = stop"),
    "Spans come in any order: sort them by start.": ("= sorted(", "= list("),
    "A span that adds nothing new adds 0, not less.": ("max(0.0, min(stop, end) - max(start, reached))", LESS),
    "What sticks out behind the window's end must not count.": ("min(stop, end)", "stop"),
    "What sticks out before the window begins must not count.": ("0.0, begin", '0.0, float("-inf")'),
    "A span that sticks out counts with the part inside.": (
        ONLY,
        f"{ONLY} and begin <= start and start + duration <= end",
    ),
    "Only the named phases count.": (ONLY, ""),
    "The window is `end - begin` long.": (WINDOW, "/ end"),
    "The gaps between the spans count, too.": (
        "wanted:",
        "[(wanted[0][0], max(s for _, s in wanted))] if wanted else []:",
    ),
}


@exercise(
    "busy_fraction",
    BUSY,
    hints=(
        "Keep the spans whose name was asked for and cut each to the window. The rest is: how long is their union?",
        "Sort by start and walk through them. Only what lies beyond the latest end you have seen so far is new.",
        "The latest end so far is a maximum: a short span inside a long one must not pull it back.",
    ),
    mistakes=edits(BUSY, BUSY_SLIPS),
)
def busy_fraction_cases() -> Iterator[Case]:
    """Yield unions of intervals by hand, at every border of the window, then at random."""
    share = partial(case, atol=1e-12)  # where nothing runs, 0 may come out as a rounding error
    two: Spans = [("collect", 0.0, 4.0), ("collect", 6.0, 4.0)]
    mixed: Spans = [("collect", 0.0, 2.0), ("wait", 2.0, 1.0), ("collect", 5.0, 3.0)]
    parts: Spans = [("policy", 1.0, 4.0), ("critic", 5.0, 3.0), ("update", 0.0, 10.0)]
    across: Spans = [("a", 0.0, 4.0), ("b", 2.0, 4.0), ("c", 3.0, 1.0), ("d", 5.5, 2.5)]
    cutting = ((2.0, 6.0), (4.0, 8.0), (1.0, 3.0), (3.0, 7.0), (0.0, 4.0), (0.0, 10.0), (-6.0, 14.0))
    beyond = ((4.0, 6.0), (-9.0, 0.0), (10.0, 20.0), (-9.0, -1.0), (3.75, 6.25), (11.0, 12.0))
    yield share("a span inside the window", [("collect", 2.0, 1.0)], {"collect"}, 0.0, 4.0)
    yield share("two spans and another phase", mixed, {"collect"}, 0.0, 10.0)
    yield share("two names", mixed, ("collect", "wait"), 0.0, 8.0)
    yield share("a window that does not begin at 0", [("collect", 100.0, 4.0), *two], {"collect"}, 100.0, 110.0)
    yield from (share("spans that stick out of the window", two, ["collect"], *window) for window in cutting)
    yield from (share("a window at or beyond the spans' edges", two, {"collect"}, *window) for window in beyond)
    yield share("a span inside another", parts, {"update", "policy"}, 0.0, 20.0)
    yield share("a whole with its parts", parts, {"update", "policy", "critic"}, 0.0, 10.0)
    yield share("spans that overlap in part", across, set("abcd"), 0.0, 10.0)
    yield share("spans that overlap in part", across[::-1], set("abcd"), 1.0, 7.0)
    yield share("a span that comes twice", [("a", 1.0, 2.0), ("a", 1.0, 2.0)], {"a"}, 0.0, 4.0)
    others: tuple[list[str], ...] = (["collector"], ["coll"], ["collect "], ["Collect"], [""], [])
    yield from (share("names that are not a phase's", mixed, names, 0.0, 10.0) for names in others)
    yield share("no spans", [], {"collect"}, 0.0, 10.0)
    yield share("a span of 0 s", [("a", 1.0, 0.0), ("a", 3.0, 0.0), ("a", 0.0, 2.0)], {"a"}, 0.0, 4.0)
    yield share("spans of 0.1 s and 0.2 s", [("a", 0.1, 0.2), ("b", 0.3, 0.1), ("a", 0.6, 0.1)], {"a", "b"}, 0.2, 0.9)
    yield share("whole numbers", [("a", 1, 2), ("b", 2, 3), ("a", 9, 4)], {"a", "b"}, 0, 10)
    rng = np.random.default_rng(1)
    for count, names in ((3, ["a"]), (5, ["a", "b"]), (9, ["a"]), (20, ["b", "c"]), (300, ["c"])):
        at = rng.random((count, 2)) * (10.0, 20.0 / count)
        spans = [(str(rng.choice(["a", "b", "c", "d"])), *row) for row in at.tolist()]
        yield share("spans at random", spans, names, *sorted((rng.random(2) * 12 - 1).tolist()))
    trace = spans_on(rng, rng.random(5000).cumsum(), 3)[-1500:]
    yield share("1,500 spans", trace, {"collect", "policy", "critic"}, 1900.3, 2490.7)
    for scale, origin in ((1e-9, 0.0), (1e9, 0.0), (1.0, 1e9)):
        spans = [(name, origin + scale * start, scale * lasts) for name, start, lasts in across]
        window = (origin + 0.5 * scale, origin + 10 * scale)
        yield share("very short, very long, very late spans", spans, set("abcd"), *window, atol=1e-12 + 1e-15 * origin)
    shown = f"spans = iter({short(mixed)}), names = {{'collect'}}, begin = 0, end = 10"
    yield tried("spans from an iterator", lambda f: f(iter(mixed), {"collect"}, 0.0, 10.0), atol=1e-12, shown=shown)
    yield from rare_spans(mixed)


def rare_spans(mixed: Spans) -> Iterator[Case]:
    """Yield spans that start together, gaps that are short, windows that end at 0, names put together, iterators."""
    share = partial(case, atol=1e-12)
    for lasts in ((1.0, 4.0, 2.0), (4.0, 1.0, 2.0), (2.0, 1.0, 4.0)):
        yield share("spans that start together", [("a", 1.0, s) for s in lasts], {"a"}, 0.0, 10.0)
    for gap in (1e-3, 1e-6, 1e-9):
        yield share("spans with a short gap", [("a", 0.0, gap), ("a", 2 * gap, gap)], {"a"}, 0.0, 3 * gap)
    yield share("a window that ends at 0", [("a", -7.0, 2.0), ("a", -1.0, 4.0)], {"a"}, -8.0, 0.0)
    several: tuple[Any, ...] = ({"collect"}, ["wait", "collect"], ("collect", "wait"))
    for names in several:
        yield share("names that were put together", put_together(mixed), names, 0.0, 10.0)
        shown = f"spans = iter({short(mixed)}), names = {names}, begin = 0, end = 10"
        run = partial(lambda f, names: f(iter(mixed), names, 0.0, 10.0), names=names)
        yield tried("names of spans from an iterator", run, atol=1e-12, shown=shown)


def put_together(spans: Spans) -> Spans:
    """Return spans whose names are equal to those given, and other objects."""
    return [("".join([*name]), start, lasts) for name, start, lasts in spans]
