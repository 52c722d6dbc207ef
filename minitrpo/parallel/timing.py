"""Lecture 06: where the time goes, as seconds per phase and as a trace that Perfetto can show.

A span is a phase that has ended. The spans of one rank are nested or apart, never half over each other, and stand in
the order in which they ended: what happens inside a phase is listed before it. `course.trace` reads them.
"""

import json
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from minitrpo.parallel.comm import Comm

Span = tuple[str, float, float]  # name, start and duration in seconds
PHASES = ("collect", "wait", "gather", "update")  # of an iteration: the seconds that every row of metrics.csv has


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


class Timeline:
    """What one rank did when. Clocks of all ranks start together: at the root's time on its host, else at a barrier."""

    def __init__(self, comm: Comm, keep: bool) -> None:
        comm.barrier()
        own = socket.gethostname(), time.perf_counter()
        host, origin = comm.broadcast(own)
        same = own[0] == host and abs(own[1] - origin) < 10.0  # one clock, not two hosts of a name
        self._origin = origin if same else own[1]
        self._keep, self._row_began = keep, 0.0
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self.spans: list[Span] = []

    def now(self) -> float:
        """Return seconds since the start."""
        return time.perf_counter() - self._origin

    def span(self, name: str) -> AbstractContextManager[None]:
        """Time the body of a `with` under this name."""
        return timed(self._record, name, self.now)

    @contextmanager
    def outside(self, name: str) -> Iterator[None]:
        """Time the body of a `with` under this name, and leave its seconds out of the row."""
        began = self.now()
        with self.span(name):
            yield
        self._row_began += self.now() - began
        del self._seconds[name]

    def take(self) -> defaultdict[str, float]:
        """Return the seconds per name since the last call; a span that lies in another counts for both."""
        seconds, self._seconds = self._seconds, defaultdict(float)
        return seconds

    def row(self, rest_is_waiting: bool = False) -> dict[str, float]:
        """Return the seconds of a row, which ends now: of each phase, and of the whole iteration.

        rest_is_waiting: what no phase accounts for was spent waiting for messages.
        """
        spent, now = self.take(), self.now()
        iteration, self._row_began = now - self._row_began, now
        seconds = {f"{phase}_s": spent[phase] for phase in PHASES}
        if rest_is_waiting:
            seconds["wait_s"] = max(0.0, iteration - sum(seconds.values()) - spent["checkpoint"] - spent["evaluate"])
        return seconds | {"iteration_s": iteration}

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
    path.unlink(missing_ok=True)  # and "x", so that no link is followed
    with path.open("x") as file:
        json.dump({"traceEvents": chrome_events(spans_of_ranks), "displayTimeUnit": "ms"}, file)
