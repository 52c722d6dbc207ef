"""Checks of lecture 06: where the time goes."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Candidate, Case, Need, case, need, remark
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short, value_words

Spans = list[tuple[str, float, float]]


@exercise(
    "minitrpo.parallel.timing:timed",
    r"""
        ? What stands before `yield` happens when the `with` block begins, what stands after it when it has ended.
        ? The duration is what the clock says at the end, less what it said at the start; record takes one tuple.
        ? If the body fails, the error comes out of the `yield`: what stands after it is only reached in a `finally`.
        )\n    try:\n        yield\n    finally:\n        record => )\n    yield\n    record \
            :: does not record a body that fails :: record it inside a `finally`
        finally: => except Exception:\n        record((name, start, clock() - start))\n        raise\n    else: \
            :: does not record a body that ends by Ctrl-C, which is no `Exception` :: record it inside a `finally`
        finally: => except BaseException: pass\n    if True: :: swallows errors :: pass them on
        clock() - start => clock() :: has the time at the end for the duration :: take the start off
        (name, start => (name, clock() :: has the time at the end for the start :: have the time at the start
        start = clock() => start = clock(); stop = clock(); clock = lambda: stop :: stops the clock too soon \
            :: ask it again when the body has ended
    """,
    lecture="06",
)
def _timed() -> Iterator[Case]:
    for span in ((100.0, 2.5), (0.0, 4.0), (7.0, 0.0), (-3.0, 1.0), (12345.678, 1e-7), (5.0, 1e4)):
        yield stopwatch("a body by a clock moved by hand", *span)
    for error in (ValueError, KeyboardInterrupt, SystemExit, StopIteration):
        yield stopwatch("a body that fails", 7.0, 3.0, error("by the check"))
    yield stopwatch("a body with two others of 4 s inside", 2.0, 1.0, name="Update ", inside=("policy", "policy"))
    yield Case("a clock left out", by_the_real_clock, shown="a sleep of 0.01 s")
    yield remark(stopwatch("an empty name", 3.0, 2.0, name=""))


def stopwatch(
    kind: str, begin: float, lasts: float, error: Any = None, name: str = "collect", inside: tuple[str, ...] = ()
) -> Case:
    """Return a case with one body from `begin` on, the stopwatch made earlier; it may end with an error."""

    def run(f: Candidate) -> dict[str, Any]:
        now, spans, came = SimpleNamespace(s=begin - 50), list[Any](), None
        manager, *others = [made(f, spans, each, lambda: now.s) for each in (name, *inside)]
        now.s = begin
        try:
            with manager:
                for other in others:
                    with other:
                        now.s += 4.0
                now.s += lasts
                if error:
                    raise error
        except BaseException as caught:
            if isinstance(caught, Need) or not error:
                raise
            came = caught
        need(came is error, f"the body failed with {error!r}; out of `with` came {came!r}")
        names, starts, durations = zip(*spans, strict=True) if spans else ((), (), ())
        numbers = {"start": np.array(starts, float), "duration": np.array(durations, float)}
        return {"the calls of record": len(spans), "name": ", ".join(map(str, names)), **numbers}

    ending = f", then {error!r}" if error else ""
    return Case(kind, run, shown=f"name = {name!r}, from {begin:g} s on for {lasts:g} s{ending}")


def made(f: Candidate, spans: list[Any], *more: Any) -> Any:
    """Return a stopwatch that `with` can use; its record returns True."""

    def record(*given: Any) -> bool:
        fits = len(given) == 1 and isinstance(given[0], tuple) and len(given[0]) == 3
        need(fits, f"record takes one tuple (name, start, duration), it got {', '.join(map(short, given))}")
        spans.append(given[0])
        return True

    manager = f(record, *more)
    works = hasattr(manager, "__enter__") and hasattr(getattr(manager, "gen", iter(())), "__next__")
    need(works, "it returned what `with` cannot use (is @contextmanager above the def, and a yield in it?)")
    return manager


def by_the_real_clock(f: Candidate) -> int:
    """Look at time.perf_counter before, inside and after."""
    spans, before = list[Any](), time.perf_counter()
    with made(f, spans, "sleep"):
        began = time.perf_counter()
        time.sleep(0.01)
        ended = time.perf_counter()
    for _, start, duration in spans:
        inside = before <= start <= began and ended - 1e-6 <= start + duration <= time.perf_counter() + 1e-6
        body = f"by time.perf_counter, the clock to ask, it took {ended - began:.6f} s from {began:.6f} s on"
        need(inside, f"it says {duration:.6f} s from {start:.6f} s on; {body}")
    return len(spans)


@exercise(
    "minitrpo.course.trace:seconds_per_phase",
    r"""
        ? Begin with the plain sum of durations per name. Which seconds are in it twice?
        ? A span lies in another if it ended before it and started at or after the other's start.
        ? When a span ends, take away the durations of those that lie directly in it. Keep a list of ended spans that \
            lie in no other so far: they are at its end.
        own[name] -= apart.pop()[1] => apart.pop() :: counts what lies inside twice :: count it for the innermost span
        while apart => if apart :: takes away one of the spans inside :: take away all that lie directly in it
        >= start => > start :: overlooks a span inside that starts on the same tick :: take that away, too
        own[name] += => own[name] = :: has the last span of a name :: have the sum of all
        own[name] -= apart.pop()[1] => pass && while apart and apart[-1][0] >= start: => own[name] -= sum(d for s, d \
            in apart if s >= start)\n        while 0: :: takes away twice what lies in a part of a span \
            :: take away what lies directly in it
        dict(own) => {n: s for n, s in own.items() if s} :: leaves out names with 0 s :: have every name
    """,
    lecture="06",
)
def _seconds_per_phase() -> Iterator[Case]:
    yield totals("a single span", [("collect", 2.0, 1.5)])
    yield totals("two spans of one name", [("collect", 0.0, 2.0), ("wait", 2.0, 1.0), ("collect", 5.0, 3.0)])
    yield totals("a span inside another", [("policy", 1.0, 4.0), ("update", 0.0, 6.0)])
    yield totals("two spans inside another", [("policy", 1.0, 4.0), ("critic", 5.0, 3.0), ("update", 0.0, 10.0)])
    yield totals("three levels", [("product", 2.0, 1.0), ("policy", 1.0, 4.0), ("update", 0.0, 10.0)])
    yield totals("a start on the same tick", [("fit", 0.0, 2.0), ("update", 0.0, 2.5)])
    yield totals("parts that fill the whole", [("a", 0.0, 2.0), ("b", 2.0, 2.0), ("up", 0.0, 4.0)])
    yield totals("a part of the same name", [("fit", 1.0, 1.0), ("fit", 0.0, 3.0), ("fit", 5.0, 1.0)])
    yield totals("a span of 0 s", [("collect", 0.0, 1.0), ("wait", 1.0, 0.0), ("update", 1.0, 2.0)])
    yield totals("no spans", [])
    rng = np.random.default_rng(0)
    for begin, tick in ((0.0, 1.0), (100.0, 0.125), (0.0, 2.0**-20), (-30.0, 1.0)):
        for depth in (2, 3, 4):
            spans = nested(rng, begin, tick, depth)[:-1]
            yield totals("spans nested at random, of seconds or microseconds", spans)
    yield totals("spans from an iterator", spans, iter)
    rounding = [("a", 0.0, 0.1), ("b", 0.1, 0.2), ("up", 0.0, 0.3)]
    yield remark(totals("parts that end with the whole, except for rounding", rounding))
    yield remark(totals("1,600 spans", [("policy", 10.0 * k, 2.0) for k in range(1600)]))
    yield remark(totals("an empty name", [("", 1.0, 2.0), ("update", 0.0, 3.5)]))


def totals(kind: str, spans: Spans, given: Callable[[Spans], Any] = list) -> Case:
    """Return a case in which names and seconds are compared one by one."""

    def run(f: Candidate) -> Any:
        result = f(given(spans))
        need(isinstance(result, dict), f"it returned {value_words(result)}, not a dict of seconds by name")
        return {"names": ", ".join(sorted(map(str, result))), **{f"seconds of {n!r}": s for n, s in result.items()}}

    size = max((max(abs(start), duration) for _, start, duration in spans), default=0.0)
    return Case(kind, run, atol=1e-9 * size, shown=f"spans = {short(spans)}")


def nested(rng: np.random.Generator, begin: float, tick: float, depth: int) -> Spans:
    """Return a span that begins at `begin` seconds, after the spans inside it; neighbours may share a tick."""
    spans, end = list[tuple[str, float, float]](), begin
    for _ in range(rng.integers(1, 4) if depth else 0):
        spans += nested(rng, end + tick * rng.integers(0, 2), tick, depth - 1)
        end = spans[-1][1] + spans[-1][2]
    end += tick * rng.integers(1, 4)
    return [*spans, (str(rng.choice(["collect", "policy", "critic"])), begin, end - begin)]


@exercise(
    "minitrpo.course.trace:busy_fraction",
    r"""
        ? Keep the spans whose name was asked for and cut each to the window. The rest is: how long is their union?
        ? Sort by start and walk through them. Only what lies beyond the latest end you have seen so far is new.
        ? The latest end so far is a maximum: a short span inside a long one must not pull it back.
        reached = max(reached, stop) => pass :: counts an instant twice in which two phases run :: count it once
        reached = max(reached, stop) => reached = stop :: forgets the latest end at a short span inside :: keep it
        = sorted( => = list( :: takes the spans as they come :: sort them by start
        min(stop, end) => stop :: counts what sticks out behind the window's end :: cut it off
        0.0, begin => 0.0, float("-inf") :: counts what sticks out before the window begins :: cut it off
        if name in names => if name in names and begin <= start and start + duration <= end \
            :: leaves out spans that stick out of the window :: count the part inside
        if name in names =>  :: counts all phases :: count the named ones alone
        wanted: => [(wanted[0][0], max(s for _, s in wanted))] if wanted else []: :: counts the gaps between the spans \
            :: leave them out
    """,
    lecture="06",
)
def _busy_fraction() -> Iterator[Case]:
    share = partial(case, atol=1e-12)  # where nothing runs, 0 may come out as a rounding error
    two = [("collect", 0.0, 4.0), ("collect", 6.0, 4.0)]
    mixed = [("collect", 0.0, 2.0), ("wait", 2.0, 1.0), ("collect", 5.0, 3.0)]
    parts = [("policy", 1.0, 4.0), ("critic", 5.0, 3.0), ("update", 0.0, 10.0)]
    across = [("a", 0.0, 4.0), ("b", 2.0, 4.0), ("c", 3.0, 1.0), ("d", 5.5, 2.5)]
    yield share("a span inside the window", [("collect", 2.0, 1.0)], {"collect"}, 0.0, 4.0)
    yield share("two spans and another phase", mixed, {"collect"}, 0.0, 10.0)
    yield share("two names", mixed, ("collect", "wait"), 0.0, 8.0)
    yield share("a window that does not begin at 0", [("collect", 100.0, 4.0), *two], {"collect"}, 100.0, 110.0)
    for window in ((2.0, 6.0), (4.0, 8.0), (1.0, 3.0), (0.0, 4.0), (-6.0, 14.0), (-7.0, 0.0), (4.0, 6.0), (11.0, 12.0)):
        yield share("spans that stick out of the window, touch it, lie beyond it", two, ["collect"], *window)
    yield share("a whole with its parts", parts, ("update", "policy", "critic"), 0.0, 20.0)
    for spans in (across, across[::-1], across + across):
        yield share("spans that overlap in part, in any order, and twice", spans, list("abcd"), 1.0, 10.0)
    for names in (["collector"], ["coll"], ["collect "], ["Collect"], []):
        yield share("names that are not a phase's", mixed, names, 0.0, 10.0)
    yield share("no spans", [], {"collect"}, 0.0, 10.0)
    shown = f"spans = iter({short(mixed)}), names = {{'collect'}}, begin = 0, end = 10"
    yield Case("spans from an iterator", lambda f: f(iter(mixed), {"collect"}, 0.0, 10.0), atol=1e-12, shown=shown)
    rng = np.random.default_rng(1)
    for count, names in ((3, ["a"]), (5, ["a", "b"]), (9, ["a"]), (20, ["b", "c"]), (100, ["c"])):
        at = rng.random((count, 2)) * (10.0, 20.0 / count)
        spans = [(str(rng.choice(["a", "b", "c", "d"])), *row) for row in at.tolist()]
        yield share("spans at random", spans, names, *sorted((rng.random(2) * 12 - 1).tolist()))
    gap = 2.0**-20
    yield share("short spans and gaps", [("a", 0.0, gap), ("a", 2 * gap, gap)], {"a"}, 0.0, 4 * gap)
    yield remark(share("1,600 spans", [("a", 2.0 * k, 1.0) for k in range(1600)], {"a"}, 5.0, 3190.0))
