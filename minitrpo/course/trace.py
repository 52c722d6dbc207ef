"""Lecture 06: what a trace says: the seconds of each phase, how busy a rank was, and the file read again."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

from minitrpo.parallel.timing import Span


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


def read_chrome_trace(path: Path) -> list[list[Span]]:
    """Return the spans of every rank, in seconds and in the order in which they ended, from such a file."""
    spans: list[list[Span]] = []
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "M":
            spans.append([])
        else:
            spans[event["tid"]].append((event["name"], event["ts"] / 1e6, event["dur"] / 1e6))
    return spans
