"""Lecture 06: where the time goes, as seconds per phase and as a trace that Perfetto can show.

A span is a phase that has ended. The spans of one rank are nested or apart, never half over each other, and stand in
the order in which they ended: what happens inside a phase is listed before it.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from minitrpo.parallel.comm import Comm

Span = tuple[str, float, float]  # name, start and duration in seconds


@contextmanager
def timed(
    record: Callable[[Span], object], name: str, clock: Callable[[], float] = time.perf_counter
) -> Iterator[None]:
    """Time the body of a `with`: call record((name, start, duration)) once when it ends, however it ends.

    start: what the clock said when the body began; clock: what is asked for the time, in seconds. An error in the body,
    of whatever kind, is passed on after it has been recorded, whatever `record` returns.
    """
    # 1. what does the clock say when the body begins?
    start = clock()
    # 2. run the body; record the span when it ends, after an error too
    try:
        yield
    finally:
        record((name, start, clock() - start))


def seconds_per_phase(spans: Iterable[Span]) -> dict[str, float]:
    """Return {name: seconds} of one rank, every instant counted once: for the innermost span that it lies in.

    spans: of one rank, in the order in which they ended, gone through once: an iterator will do. A name that occurs
    several times gets the sum; every name is there, with 0 s too; no spans give {}.
    """
    own: defaultdict[str, float] = defaultdict(float)
    apart: list[tuple[float, float]] = []  # start and duration of spans that so far lie in no other
    for name, start, duration in spans:
        # 1. a span's whole duration goes to its name
        own[name] += duration
        # 2. spans that ended before it and started in it lie in it: what they took was theirs
        while apart and apart[-1][0] >= start:
            own[name] -= apart.pop()[1]
        # 3. now it may lie in a span that ends later
        apart.append((start, duration))
    return dict(own)


def busy_fraction(spans: Iterable[Span], names: Collection[str], begin: float, end: float) -> float:
    """Return the fraction of the window from begin to end during which at least one of the named phases was running.

    spans: in any order, gone through once: an iterator will do; they may overlap, lie in each other and stick out of
    the window. An instant counts once. names: whole names, any number of them.
    """
    # 1. the spans that were asked for, as (from, to), in the order of their starts
    wanted = sorted((start, start + duration) for name, start, duration in spans if name in names)
    # 2. walk through them and count what lies beyond the place we have reached
    busy, reached = 0.0, begin
    for start, stop in wanted:
        busy += max(0.0, min(stop, end) - max(start, reached))
        reached = max(reached, stop)
    # 3. as a fraction of the window
    return busy / (end - begin)


class Timeline:
    """What one rank did when. Clocks of all ranks start together, at a barrier."""

    def __init__(self, comm: Comm, keep: bool) -> None:
        comm.barrier()
        self._origin = time.perf_counter()
        self._keep = keep
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self.spans: list[Span] = []

    def now(self) -> float:
        """Return seconds since the start."""
        return time.perf_counter() - self._origin

    def span(self, name: str) -> AbstractContextManager[None]:
        """Time the body of a `with` under this name."""
        return timed(self._record, name, self.now)

    def take(self) -> defaultdict[str, float]:
        """Return the seconds per name since the last call; a span that lies in another counts for both."""
        seconds, self._seconds = self._seconds, defaultdict(float)
        return seconds

    def _record(self, span: Span) -> None:
        name, _, duration = span
        self._seconds[name] += duration
        if self._keep:
            self.spans.append(span)


def chrome_events(spans_of_ranks: Iterable[Iterable[Span]]) -> list[dict[str, Any]]:
    """Return the spans of all ranks as Chrome trace events: a thread per rank, times in microseconds."""
    events: list[dict[str, Any]] = []
    for rank, spans in enumerate(spans_of_ranks):
        events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": rank, "args": {"name": f"rank {rank}"}})
        events += [
            {"name": name, "ph": "X", "pid": 0, "tid": rank, "ts": 1e6 * start, "dur": 1e6 * duration}
            for name, start, duration in spans
        ]
    return events


def write_chrome_trace(path: Path, spans_of_ranks: Iterable[Iterable[Span]]) -> None:
    """Write the spans of all ranks as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open."""
    path.write_text(json.dumps({"traceEvents": chrome_events(spans_of_ranks), "displayTimeUnit": "ms"}))


def read_chrome_trace(path: Path) -> list[list[Span]]:
    """Return the spans of every rank, in seconds and in the order in which they ended, from such a file."""
    spans: list[list[Span]] = []
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "M":
            spans.append([])
        else:
            spans[event["tid"]].append((event["name"], event["ts"] / 1e6, event["dur"] / 1e6))
    return spans
