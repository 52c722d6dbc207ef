"""How the seconds of collecting and of updating are taken apart in libraries that do both in one call."""

import time
from collections.abc import Callable, Iterator
from typing import Any

Times = Iterator[tuple[float, float]]  # (seconds collecting, seconds updating) of every update
Spans = list[tuple[float, float]]  # (start, stop) of every call


def taken(begin: float, spans: Spans, every: int = 1) -> Times:
    """Yield the seconds between updates and in them, of `every` updates together; begin: the start of the wait."""
    collecting = updating = 0.0
    for number, (start, stop) in enumerate(spans, start=1):
        collecting, updating, begin = collecting + start - begin, updating + stop - start, stop
        if number % every == 0:
            yield collecting, updating
            collecting = updating = 0.0


def timed(function: Callable[..., Any], spans: Spans) -> Callable[..., Any]:
    """Return `function`, that adds the span of each of its calls to `spans`."""

    def call(*arguments: Any, **named: Any) -> Any:
        start = time.perf_counter()
        result = function(*arguments, **named)
        spans.append((start, time.perf_counter()))
        return result

    return call
