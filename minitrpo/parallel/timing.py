"""Lecture 06: where the time goes, as seconds per phase and as a trace that Perfetto can show."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minitrpo.parallel.ranks import Ranks

Span = tuple[str, float, float]  # name, start and duration in seconds


class Timeline:
    """What one rank did when. Clocks of all ranks start together, at a barrier."""

    def __init__(self, ranks: Ranks, keep: bool) -> None:
        ranks.barrier()
        self._origin = time.perf_counter()
        self._keep = keep
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self.spans: list[Span] = []

    def now(self) -> float:
        """Return seconds since the start."""
        return time.perf_counter() - self._origin

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Time the body of a `with` under this name."""
        start = self.now()
        try:
            yield
        finally:
            duration = self.now() - start
            self._seconds[name] += duration
            if self._keep:
                self.spans.append((name, start, duration))

    def take(self) -> defaultdict[str, float]:
        """Return the seconds per name since the last call."""
        seconds, self._seconds = self._seconds, defaultdict(float)
        return seconds


def write_chrome_trace(path: Path, spans_of_ranks: list[list[Span]]) -> None:
    """Write the spans of all ranks as Chrome trace events (microseconds), which Perfetto and chrome://tracing open."""
    events: list[dict[str, object]] = []
    for rank, spans in enumerate(spans_of_ranks):
        events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": rank, "args": {"name": f"rank {rank}"}})
        events += [
            {"name": name, "ph": "X", "pid": 0, "tid": rank, "ts": 1e6 * start, "dur": 1e6 * duration}
            for name, start, duration in spans
        ]
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
