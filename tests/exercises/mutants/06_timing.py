"""Lecture 06: right answers in other styles, and wrong ones, most of them as edits of the package."""

import heapq
import itertools
import math
import time
from collections import Counter, defaultdict, namedtuple
from contextlib import ExitStack, contextmanager
from itertools import pairwise

import numpy as np


class Stopwatch:
    """A context manager as a class."""

    def __init__(self, record, name, clock=time.perf_counter):
        self.record, self.name, self.clock = record, name, clock

    def __enter__(self):
        self.start = self.clock()
        return self

    def __exit__(self, kind, error, trace):
        stop = self.clock()
        self.record((self.name, self.start, stop - self.start))
        return False


@contextmanager
def with_except_and_else(record, name, clock=time.perf_counter):
    """Without finally: one line for each way to end."""
    begun = clock()
    try:
        yield
    except BaseException:
        record((name, begun, clock() - begun))
        raise
    else:
        record((name, begun, -begun + clock()))


@contextmanager
def with_an_exit_stack(record, name, clock=time.perf_counter):
    """The bill is presented by a callback."""
    start = float(clock())
    with ExitStack() as stack:
        stack.callback(lambda: record((name, start, float(clock()) - start)))
        yield stack


class StartsWhenMade(Stopwatch):
    """The seconds between making the stopwatch and entering the body count as well."""

    def __init__(self, *given):
        super().__init__(*given)
        self.begun = self.clock()

    def __enter__(self):
        self.start = self.begun


@contextmanager
def timed_defensive(record, name, clock=time.perf_counter):
    """Defensive."""
    assert callable(record)
    assert callable(clock)
    assert isinstance(name, str)
    start = clock()
    try:
        yield None
    finally:
        end = clock()
        duration = end - start
        record((name, start, duration))


@contextmanager
def timed_terse(record, name, clock=time.perf_counter):
    """Terse: the span begins as a list."""
    span = [name, clock()]
    try:
        yield
    finally:
        record((*span, clock() - span[1]))


@contextmanager
def timed_negative(record, name, clock=time.perf_counter):
    """Another order: count from minus the start."""
    since = clock()
    lasts = -since
    try:
        yield
    finally:
        lasts += clock()
        record((name, since, lasts))


@contextmanager
def timed_class(record, name, clock=time.perf_counter):
    """A small class inside, the long way to write a context manager."""
    # ambiguous: "The short way to write one is a function with one `yield`, under the decorator": decorator kept here

    class Stopwatch:
        def __enter__(self):
            self.start = clock()

        def __exit__(self, *error):
            record((name, self.start, clock() - self.start))
            return False

    with Stopwatch():
        yield


@contextmanager
def timed_named(record, name, clock=time.perf_counter):
    """Without much care: a named tuple, which is a tuple; the error is caught and raised again."""
    interval = namedtuple("interval", "name start duration")
    start, error = clock(), None
    try:
        yield
    except BaseException as caught:
        error = caught
    record(interval(name, start, clock() - start))
    if error is not None:
        raise error


def by_painting(spans):
    """Cut the time line at every start and end, and give each piece to the shortest span over it."""
    spans = list(spans)
    own = {name: 0.0 for name, _, _ in spans}
    ticks = sorted({t for _, s, d in spans for t in (s, s + d)})
    for a, b in pairwise(ticks):
        over = [(d, name) for name, s, d in spans if s <= a and b <= s + d]
        if over:
            own[min(over)[1]] += b - a
    return own


def by_the_parent(spans):
    """The smallest later span that begins no later is the parent: its seconds are less by the child's."""
    spans = list(spans)
    own = dict.fromkeys((name for name, _, _ in spans), 0)
    for i, (name, start, duration) in enumerate(spans):
        own[name] += duration
        parent = next((n for n, s, d in spans[i + 1 :] if s <= start), None)
        if parent is not None:
            own[parent] -= duration
    return own


def backwards_with_a_counter(spans):
    """From the last to the first; a Counter may go down and up."""
    own, open_starts = Counter(), []
    for name, start, duration in reversed([*spans]):
        while open_starts and start < open_starts[-1][0]:
            open_starts.pop()
        own[name] += duration
        if open_starts:
            own[open_starts[-1][1]] -= duration
        open_starts.append((start, name))
    return own


def phase_counter(spans):
    """Library: Counter, and itertools.takewhile over the finished ones, latest first."""
    own, top = Counter(), []
    for name, start, lasts in spans:
        inside = list(itertools.takewhile(lambda other: other[0] >= start, reversed(top)))  # noqa: B023
        del top[len(top) - len(inside) :]
        own[name] += lasts - math.fsum(other[1] for other in inside)
        top.append((start, lasts))
    return dict(own)


def phase_defensive(spans):
    """Defensive: floats, durations are not negative."""
    seconds: dict[str, float] = {}
    finished: list[tuple[float, float]] = []
    for name, start, duration in spans:
        start, duration = float(start), float(duration)
        assert duration >= 0.0, "a clock that only goes forward"
        own = duration
        while finished and finished[-1][0] >= start:
            own -= finished.pop()[1]
        seconds.setdefault(name, 0.0)
        seconds[name] += own
        finished.append((start, duration))
    return seconds


def phase_terse(spans):
    """Terse: a defaultdict is a dict."""
    own, done = defaultdict(float), []
    for name, at, lasts in spans:
        own[name] += lasts
        while done and done[-1][0] >= at:
            own[name] -= done.pop()[1]
        done += [(at, lasts)]
    return own


def phase_recursive(spans):
    """Recursive: read from the end the list is a tree, parents first."""
    rest, result = list(spans), {}

    def take_last():
        name, start, lasts = rest.pop()
        own = lasts
        while rest and rest[-1][1] >= start:
            own -= take_last()
        result[name] = result.get(name, 0.0) + own
        return lasts

    while rest:
        take_last()
    return result


def phase_careless(spans):
    """Without much care: for each span those that ended before it, started in it, and are not yet anybody's."""
    spans = list(spans)
    taken = [False] * len(spans)
    result = {}
    for i, (name, start, duration) in enumerate(spans):
        for j in range(i):
            if not taken[j] and spans[j][1] >= start:
                duration -= spans[j][2]
                taken[j] = True
        result[name] = result.get(name, 0) + duration
    return result


def by_painting_fraction(spans, names, begin, end):
    """Cut the window at every start and end, and add up the pieces that a named span covers."""
    inside = [(s, s + d) for name, s, d in spans if name in names]
    ticks = sorted({begin, end, *(t for piece in inside for t in piece if begin < t < end)})
    pieces = pairwise(ticks)
    return sum(b - a for a, b in pieces if any(s <= a and b <= e for s, e in inside)) / (end - begin)


def by_counting_edges(spans, names, begin, end):
    """Up at a start, down at an end: busy while the sum is above 0."""
    wanted = frozenset(names)
    edges = [(min(max(t, begin), end), up) for n, s, d in spans if n in wanted for t, up in ((s, 1), (s + d, -1))]
    running, busy, last = 0, 0.0, begin
    for t, up in sorted(edges):
        busy += (t - last) * (running > 0)
        running, last = running + up, t
    return busy / (end - begin)


def by_merging(spans, names, begin, end):
    """A list of intervals that no longer overlap."""
    merged = []
    for a, b in sorted([s, s + d] for n, s, d in spans if n in names):
        if merged and a <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], b)
        else:
            merged.append([a, b])
    return np.sum([max(0, min(b, end) - max(a, begin)) for a, b in merged]) / (end - begin)


def busy_walk(spans, names, begin, end):
    """Plain: sort and walk."""
    chosen = []
    for name, start, duration in spans:
        if name in names:
            chosen.append((start, start + duration))
    chosen.sort()
    reached = begin
    busy = 0.0
    for first, last in chosen:
        first = max(first, reached)
        last = min(last, end)
        if last > first:
            busy += last - first
            reached = last
    return busy / (end - begin)


def busy_numpy(spans, names, begin, end):
    """Vectorised: running maximum of the ends."""
    names = set(names)
    chosen = np.array([(at, at + lasts) for name, at, lasts in spans if name in names], dtype=float).reshape(-1, 2)
    chosen = np.clip(chosen[np.argsort(chosen[:, 0], kind="stable")], begin, end)
    reached = np.concatenate(([begin], np.maximum.accumulate(chosen[:, 1])))[:-1] if len(chosen) else chosen[:, 1]
    return np.sum(np.maximum(0.0, chosen[:, 1] - np.maximum(chosen[:, 0], reached))) / (end - begin)


def busy_heap(spans, names, begin, end):
    """Library: a heap of what is to come."""
    heap = [(at, at + lasts) for name, at, lasts in spans if name in names]
    heapq.heapify(heap)
    here, total = begin, []
    while heap and here < end:
        first, last = heapq.heappop(heap)
        if min(last, end) > max(first, here):
            total.append(min(last, end) - max(first, here))
            here = last
    return math.fsum(total) / (end - begin)


def busy_terse(spans, names, begin, end):
    """Terse: walrus; each counts beyond the place reached, which never goes back."""
    at = begin
    return sum(
        max(0.0, -at + (at := max(at, min(b, end))) - max(0.0, min(a, end) - before))
        for a, b in sorted((s, s + d) for n, s, d in spans if n in names)
        for before in [at]
    ) / (end - begin)


def busy_recursive(spans, names, begin, end):
    """A generator of what is left idle, narrowed span by span; then the rest of the window is busy."""

    def without(free, first, last):
        for a, b in free:
            if a < min(b, first):
                yield a, min(b, first)
            if max(a, last) < b:
                yield max(a, last), b

    free = [(begin, end)]
    for name, at, lasts in spans:
        if any(name == one for one in names) and lasts > 0:
            free = list(without(free, at, at + lasts))
    return 1.0 - sum(b - a for a, b in free) / (end - begin)


RIGHT = {
    "timed": [
        Stopwatch,
        with_except_and_else,
        with_an_exit_stack,
        timed_defensive,
        timed_terse,
        timed_negative,
        timed_class,
        timed_named,
    ],
    "seconds_per_phase": [
        by_painting,
        by_the_parent,
        backwards_with_a_counter,
        phase_counter,
        phase_defensive,
        phase_terse,
        phase_recursive,
        phase_careless,
    ],
    "busy_fraction": [
        by_painting_fraction,
        by_counting_edges,
        by_merging,
        busy_walk,
        busy_numpy,
        busy_heap,
        busy_terse,
        busy_recursive,
    ],
}

WRONG = {"timed": [StartsWhenMade]}

EDITS = {
    "timed": r"""
        processor_time: time.perf_counter => time.process_time
        time_of_day: time.perf_counter => time.time
        ignores_the_clock: start = clock() => clock = time.perf_counter; start = clock()
        milliseconds: clock() - start => 1000 * (clock() - start)
        records_before_the_body: yield => record((name, start, 0.0))\n        yield && record((name, start, clock() - \
            start)) => pass
        records_twice: finally: => except BaseException:\n        record((name, start, clock() - start)); \
            raise\n    finally:
        one_stopwatch_for_all: start = clock => timed.start = clock && start, clock() - start => timed.start, clock() \
            - timed.start
        without_a_with: @contextmanager\ndef => def
        three_arguments: record((name, start, clock() - start)) => record(name, start, clock() - start)
        a_list: record((name, start, clock() - start)) => record([name, start, clock() - start])
        a_dictionary: ((name, start, clock() - start)) => ({'name': name, 'start': start, 'duration': clock() - start})
        without_the_name: record((name, start, clock() - start)) => record((start, clock() - start))
        duration_before_start: record((name, start, clock() - start)) => record((name, clock() - start, start))
        small_letters: ((name => ((name.lower()
        name_stripped: ((name => ((name.strip()
        zero_is_no_time: start = clock() => start = clock() or time.perf_counter()
        start_never_negative: start = clock() => start = max(0.0, clock())
        rounded_to_milliseconds: clock() - start)) => round(clock() - start, 3)))
        rounded_to_microseconds: clock() - start)) => round(clock() - start, 6)))
        start_rounded: ((name, start => ((name, round(start, 2)
        whole_seconds: clock() - start)) => int(clock() - start)))
        at_least_a_microsecond: clock() - start)) => max(1e-6, clock() - start)))
        at_most_an_hour: clock() - start)) => min(3600.0, clock() - start)))
        drops_0_s: record((name, start, clock() - start)) => if clock() > start: record((name, start, clock() - start))
        drops_less_than_a_millisecond: record((name, start, clock() - start)) => if clock() - start > 1e-3: \
            record((name, start, clock() - start))
        swallows_value_errors: finally: => except ValueError: pass\n    finally:
        swallows_system_exit: finally: => except SystemExit: pass\n    finally:
        swallows_stop_iteration: finally: => except StopIteration: pass\n    finally:
        another_error_instead: finally: => except Exception as e: raise ValueError('phase failed') from e\n    finally:
        marks_failures_in_the_name: finally: => except BaseException: name += ' (failed)'; raise\n    finally:
        the_first_start_for_ever: start = clock() => start = timed.__dict__.setdefault('start', clock())
        minutes: clock() - start)) => (clock() - start) / 60))
        clock_monotonic_ns: time.perf_counter => time.monotonic_ns
        clock_of_the_thread: time.perf_counter => time.thread_time
    """,
    "seconds_per_phase": r"""
        only_leaves: += => += 0.0 if apart and apart[-1][0] >= start else && own[name] -= apart.pop()[1] => apart.pop()
        only_the_outermost: spans = list(spans)\n    return right([x for i, x in enumerate(spans) if not any(s <= \
            x[1] for _, s, _ in spans[i + 1 :])])
        knows_only_the_update: own[name] -= apart.pop()[1] => own[name] -= apart.pop()[1] * (name == "update")
        third_number_taken_for_the_end: return right([(name, start, max(0.0, end - start)) for name, start, end in \
            spans])
        the_rest_is_a_phase: return dict(own) => return own | ({"other": max(start + duration for start, duration in \
            apart) - sum(own.values())} if apart else {})
        empties_the_list: for name, start, duration in spans: => while spans:\n        name, start, duration = \
            spans.pop(0)
        rounded_to_milliseconds: return dict(own) => return {n: round(s, 3) for n, s in own.items()}
        rounded_to_nanoseconds: return dict(own) => return {n: round(s, 9) for n, s in own.items()}
        whole_seconds: return dict(own) => return {n: int(s) for n, s in own.items()}
        drops_microseconds: return dict(own) => return {n: s for n, s in own.items() if s > 1e-6}
        a_microsecond_of_slack: apart[-1][0] >= start => apart[-1][0] >= start - 1e-6
        a_tick_of_slack: apart[-1][0] >= start => apart[-1][0] > start - 0.5
        goes_through_it_twice: for name, start, duration in spans: => known = {n for n, _, _ in spans}\n    for name, \
            start, duration in spans:
        sorted_by_start: name, start, duration in spans: => name, start, duration in sorted(spans, key=lambda s: s[1]):
        sorted_by_name: for name, start, duration in spans: => for name, start, duration in sorted(spans):
        backwards: for name, start, duration in spans: => for name, start, duration in list(spans)[::-1]:
        oldest_part_first: own[name] -= apart.pop()[1] => own[name] -= apart.pop(0)[1]
        remembers_the_own_seconds: apart.append((start, duration)) => apart.append((start, own[name]))
        only_inside_an_update: own[name] -= apart.pop()[1] => own[name] -= apart.pop()[1] * (name == 'update')
        pairs: return dict(own) => return list(own.items())
        with_a_total: return dict(own) => return {**own, 'total': sum(own.values())}
        from_zero_on: for name, start, duration in spans: => for name, start, duration in spans:\n        if start < \
            0: continue
        never_below_0: -= apart.pop()[1] => = max(0.0, own[name] - apart.pop()[1]) if len(apart) > 1 else apart.pop()[1]
        whole_durations: own[name] += duration => duration = int(duration); own[name] += duration
        mean_for_the_sum: return dict(own) => return {n: s / max(1, len(apart)) for n, s in own.items()}
        once_per_name: own[name] += duration => own[name] = max(own[name], duration)
        length_of_the_run_added: return dict(own) => return {**own, 'idle': 0.0}
    """,
    "busy_fraction": r"""
        skips_what_overlaps: ) - max(start, reached)) => ) - max(start, begin)) if max(start, begin) >= reached else 0.0
        knows_no_window: , begin) => , -1e+300) && min(stop, end) => stop
        idle_fraction: return busy / => return 1.0 - busy /
        names_that_begin_alike: if name in names => if any(asked.startswith(name) for asked in names)
        rounded: return busy / (end - begin) => return round(busy / (end - begin), 4)
        rounded_to_nine_digits_of_seconds: return busy / (end - begin) => return round(busy, 9) / (end - begin)
        sum_of_durations_at_most_1: reached = max(reached, stop) => pass && busy / (end - begin) => min(1.0, busy / \
            (end - begin))
        on_a_grid_of_milliseconds: (start, start + duration) => (round(start, 3), round(start + duration, 3))
        on_a_grid_of_microseconds: (start, start + duration) => (round(start, 6), round(start + duration, 6))
        whole_seconds: (start, start + duration) => (int(start), int(start + duration))
        goes_through_it_twice: wanted = => names = [n for n in names if n in {s[0] for s in spans}]\n    wanted =
        parts_of_names: if name in names => if any(asked in name for asked in names)
        beginnings_of_names: if name in names => if any(asked.startswith(name) for asked in names)
        small_letters: if name in names => if name.lower() in {n.lower() for n in names}
        stripped_names: if name in names => if name in {n.strip() for n in names}
        no_names_are_all_names: if name in names => if not names or name in names
        one_name_only: if name in names => if name in list(names)[:1]
        starts_in_the_window_only: if name in names => if name in names and start >= begin
        ends_in_the_window_only: if name in names => if name in names and start + duration <= end
        guarded_against_0: return busy / (end - begin) => return busy / (end - begin + 1e-9)
        sorted_by_end: ((start, start + duration) for name, start, duration => [(s, s + d) for n, s, d && name in \
            names) => n in names], key=lambda x: x[1]
        one_span_per_name: ((start, start + duration) for name, start, duration => {n: (s, s + d) for n, s, d && name \
            in names => n in names}.values(
        drops_microseconds: if name in names => if name in names and duration > 1e-6
        closes_gaps_of_a_millisecond: max(start, reached) => (reached if 0 < start - reached < 1e-3 else max(start, \
            reached))
        third_number_as_the_end: (start, start + duration) => (start, duration)
        the_overlap_is_lost: max(start, reached)) => start if start >= reached else stop)
        of_the_busy_part: return busy / (end - begin) => return busy / (reached - begin or 1)
        whole_numbers: return busy / (end - begin) => return busy // (end - begin)
    """,
}

ODD = {
    "timed": r"""
        a_name_for_the_nameless: ((name => ((name or 'phase'
    """,
    "seconds_per_phase": r"""
        ends_compared: apart[-1][0] >= start => apart[-1][0] >= start and sum(apart[-1]) <= start + duration
        the_nameless_are_left_out: return dict(own) => return {n: s for n, s in own.items() if n}
        the_first_thousand: for name, start, duration in spans: => for name, start, duration in list(spans)[:1000]:
    """,
    "busy_fraction": r"""
        the_first_thousand: for start, stop in wanted: => for start, stop in wanted[:1000]:
    """,
}
