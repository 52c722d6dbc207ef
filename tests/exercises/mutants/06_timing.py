"""Wrong answers to the exercises of lecture 06, and right ones written in another style."""

import time
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise

import numpy as np


def named(name, function):
    function.__name__ = name
    return function


# --- timed


@contextmanager
def without_finally(record, name, clock=time.perf_counter):
    """As in OpenAI baselines' trpo_mpi.py: nothing is said of a body that fails."""
    begun = clock()
    yield
    record((name, begun, clock() - begun))


@contextmanager
def swallows_errors(record, name, clock=time.perf_counter):
    begun = clock()
    with suppress(BaseException):
        yield
    record((name, begun, clock() - begun))


@contextmanager
def returns_in_finally(record, name, clock=time.perf_counter):
    """A return inside finally ends the error's journey, too."""
    begun = clock()
    try:
        yield
    finally:
        record((name, begun, clock() - begun))
        return  # noqa: B012


@contextmanager
def only_ordinary_errors(record, name, clock=time.perf_counter):
    """Ctrl-C is no Exception."""
    begun = clock()
    try:
        yield
    except Exception:
        record((name, begun, clock() - begun))
        raise
    record((name, begun, clock() - begun))


@contextmanager
def end_for_duration(record, name, clock=time.perf_counter):
    begun = clock()
    try:
        yield
    finally:
        record((name, begun, clock()))


@contextmanager
def ends_where_it_should_start(record, name, clock=time.perf_counter):
    begun = clock()
    try:
        yield
    finally:
        ended = clock()
        record((name, ended, ended - begun))


@contextmanager
def start_counted_from_zero(record, name, clock=time.perf_counter):
    begun = clock()
    try:
        yield
    finally:
        record((name, 0.0, clock() - begun))


@contextmanager
def processor_time(record, name, clock=time.process_time):
    """Sees no waiting: a sleep costs nothing."""
    begun = clock()
    try:
        yield
    finally:
        record((name, begun, clock() - begun))


@contextmanager
def time_of_day(record, name, clock=time.time):
    """A clock that somebody may set back while we look."""
    begun = clock()
    try:
        yield
    finally:
        record((name, begun, clock() - begun))


@contextmanager
def ignores_the_clock(record, name, clock=time.perf_counter):
    begun = time.perf_counter()
    try:
        yield
    finally:
        record((name, begun, time.perf_counter() - begun))


@contextmanager
def milliseconds(record, name, clock=time.perf_counter):
    begun = clock()
    try:
        yield
    finally:
        record((name, begun, 1e3 * (clock() - begun)))


@contextmanager
def records_before_the_body(record, name, clock=time.perf_counter):
    begun = clock()
    record((name, begun, clock() - begun))
    yield


@contextmanager
def stops_before_the_body(record, name, clock=time.perf_counter):
    begun = clock()
    duration = clock() - begun
    try:
        yield
    finally:
        record((name, begun, duration))


@contextmanager
def records_twice(record, name, clock=time.perf_counter):
    begun = clock()
    try:
        yield
    except BaseException:
        record((name, begun, clock() - begun))
        raise
    finally:
        record((name, begun, clock() - begun))


class StartsWhenMade:
    """The seconds between making the stopwatch and entering the body count as well."""

    def __init__(self, record, name, clock=time.perf_counter):
        self.record, self.name, self.clock = record, name, clock
        self.begun = clock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.record((self.name, self.begun, self.clock() - self.begun))


class OneStopwatchForAll:
    """The start is kept on the class: a phase inside another overwrites it."""

    def __init__(self, record, name, clock=time.perf_counter):
        self.record, self.name, self.clock = record, name, clock

    def __enter__(self):
        OneStopwatchForAll.begun = self.clock()

    def __exit__(self, *_):
        self.record((self.name, self.begun, self.clock() - self.begun))


def without_a_with(record, name, clock=time.perf_counter):
    """Forgot the decorator."""
    begun = clock()
    yield
    record((name, begun, clock() - begun))


# --- seconds_per_phase


def counted_twice(spans):
    """What is inside an update counts for the update and for itself."""
    total = Counter()
    for name, _, duration in spans:
        total[name] += duration
    return dict(total)


def last_span_wins(spans):
    own, waiting = {}, []
    for name, start, duration in spans:
        inside = [d for s, d in waiting if s >= start]
        waiting = [(s, d) for s, d in waiting if s < start] + [(start, duration)]
        own[name] = duration - sum(inside)
    return own


def only_the_last_child(spans):
    """`if` where `while` belongs."""
    own, waiting = defaultdict(float), []
    for name, start, duration in spans:
        own[name] += duration
        if waiting and waiting[-1][0] >= start:
            own[name] -= waiting.pop()[1]
        waiting.append((start, duration))
    return dict(own)


def grandchildren_taken_away_twice(spans):
    own = defaultdict(float)
    for i, (name, start, duration) in enumerate(spans):
        own[name] += duration - sum(d for _, s, d in spans[:i] if s >= start)
    return dict(own)


def a_tie_is_no_nesting(spans):
    """> where >= belongs."""
    own, waiting = defaultdict(float), []
    for name, start, duration in spans:
        own[name] += duration
        while waiting and waiting[-1][0] > start:
            own[name] -= waiting.pop()[1]
        waiting.append((start, duration))
    return dict(own)


def only_leaves(spans):
    """What is not in a part of the update is lost."""
    own = defaultdict(float)
    for i, (name, start, duration) in enumerate(spans):
        if not any(s >= start for _, s, _ in spans[:i]):
            own[name] += duration
    return dict(own)


def only_the_outermost(spans):
    own = defaultdict(float)
    for i, (name, start, duration) in enumerate(spans):
        if not any(s <= start for _, s, _ in spans[i + 1 :]):
            own[name] += duration
    return dict(own)


def drops_phases_without_time(spans):
    return {name: seconds for name, seconds in by_painting(spans).items() if seconds > 0}


def knows_only_the_update(spans):
    """Works on our own trace, and on no other."""
    own = counted_twice(spans)
    if "update" in own:
        own["update"] -= sum(own.get(name, 0.0) for name in ("advantages", "policy", "critic", "filter"))
    return own


def mean_for_sum(spans):
    counts = Counter(name for name, _, _ in spans)
    return {name: seconds / counts[name] for name, seconds in by_painting(spans).items()}


def fractions_for_seconds(spans):
    own = by_painting(spans)
    whole = sum(own.values()) or 1.0
    return {name: seconds / whole for name, seconds in own.items()}


def third_number_taken_for_the_end(spans):
    return by_painting([(name, start, max(0.0, end - start)) for name, start, end in spans])


def the_rest_is_a_phase(spans):
    own = by_painting(spans)
    if spans:
        own["other"] = max(s + d for _, s, d in spans) - sum(own.values())
    return own


def empties_the_list(spans):
    own, waiting = defaultdict(float), []
    while spans:
        name, start, duration = spans.pop(0)
        own[name] += duration
        while waiting and waiting[-1][0] >= start:
            own[name] -= waiting.pop()[1]
        waiting.append((start, duration))
    return dict(own)


# --- busy_fraction


def cut(spans, names, begin, end):
    """Return the pieces of the named spans inside the window, by start."""
    pieces = [(max(s, begin), min(s + d, end)) for name, s, d in spans if name in names]
    return sorted(piece for piece in pieces if piece[0] < piece[1])


def sums_durations(spans, names, begin, end):
    return sum(b - a for a, b in cut(spans, names, begin, end)) / (end - begin)


def compares_with_the_last_span_only(spans, names, begin, end):
    """The place we have reached is pulled back by a short span inside a long one."""
    busy, reached = 0.0, begin
    for a, b in cut(spans, names, begin, end):
        busy += max(0.0, b - max(a, reached))
        reached = b
    return busy / (end - begin)


def takes_the_order_for_sorted(spans, names, begin, end):
    """Spans come in the order of their ends."""
    busy, reached = 0.0, begin
    for name, s, d in spans:
        if name in names:
            busy += max(0.0, min(s + d, end) - max(s, reached))
            reached = max(reached, s + d)
    return busy / (end - begin)


def skips_what_overlaps(spans, names, begin, end):
    """A span that starts before the last one ended is taken to lie inside it."""
    busy, reached = 0.0, begin
    for a, b in cut(spans, names, begin, end):
        if a >= reached:
            busy += b - a
            reached = b
    return busy / (end - begin)


def knows_no_window(spans, names, begin, end):
    """A span outside of the window counts in full."""
    first = min([begin, *(s for _, s, _ in spans)])
    last = max([end, *(s + d for _, s, d in spans)])
    return by_painting_fraction(spans, names, first, last) * (last - first) / (end - begin)


def only_whole_spans(spans, names, begin, end):
    """A span that sticks out of the window is left out."""
    whole = [span for span in spans if begin <= span[1] and span[1] + span[2] <= end]
    return by_painting_fraction(whole, names, begin, end)


def from_first_to_last(spans, names, begin, end):
    """The gaps count as well."""
    pieces = cut(spans, names, begin, end)
    return (max(b for _, b in pieces) - pieces[0][0]) / (end - begin) if pieces else 0.0


def any_phase(spans, names, begin, end):
    return by_painting_fraction(spans, {name for name, _, _ in spans}, begin, end)


def of_the_end_of_the_window(spans, names, begin, end):
    return by_painting_fraction(spans, names, begin, end) * (end - begin) / end


def of_what_was_measured(spans, names, begin, end):
    """A fraction of the phases, not of the window: unmeasured seconds vanish."""
    whole = by_painting_fraction(spans, {name for name, _, _ in spans}, begin, end)
    return by_painting_fraction(spans, names, begin, end) / whole if whole else 0.0


def percent(spans, names, begin, end):
    return 100.0 * by_painting_fraction(spans, names, begin, end)


def idle_fraction(spans, names, begin, end):
    return 1.0 - by_painting_fraction(spans, names, begin, end)


def names_that_begin_alike(spans, names, begin, end):
    asked = [span for span in spans if any(name.startswith(span[0]) for name in names)]
    return by_painting_fraction(asked, {name for name, _, _ in asked}, begin, end)


def takes_away_what_overlaps(spans, names, begin, end):
    """Counts a span that ends before the mark as less than nothing."""
    total, reached = 0.0, begin
    for start, stop in sorted((at, at + lasts) for name, at, lasts in spans if name in names):
        total += min(stop, end) - max(start, reached)
        reached = max(reached, stop)
    return total / (end - begin)


WRONG = {
    "timed": [
        without_finally,
        swallows_errors,
        returns_in_finally,
        only_ordinary_errors,
        end_for_duration,
        ends_where_it_should_start,
        start_counted_from_zero,
        processor_time,
        time_of_day,
        ignores_the_clock,
        milliseconds,
        records_before_the_body,
        stops_before_the_body,
        records_twice,
        named("starts_when_made", lambda *given: StartsWhenMade(*given)),
        named("one_stopwatch_for_all", lambda *given: OneStopwatchForAll(*given)),
        without_a_with,
    ],
    "seconds_per_phase": [
        counted_twice,
        last_span_wins,
        only_the_last_child,
        grandchildren_taken_away_twice,
        a_tie_is_no_nesting,
        only_leaves,
        only_the_outermost,
        drops_phases_without_time,
        knows_only_the_update,
        mean_for_sum,
        fractions_for_seconds,
        third_number_taken_for_the_end,
        the_rest_is_a_phase,
        empties_the_list,
    ],
    "busy_fraction": [
        sums_durations,
        compares_with_the_last_span_only,
        takes_the_order_for_sorted,
        skips_what_overlaps,
        knows_no_window,
        only_whole_spans,
        from_first_to_last,
        any_phase,
        of_the_end_of_the_window,
        of_what_was_measured,
        percent,
        idle_fraction,
        names_that_begin_alike,
        takes_away_what_overlaps,
    ],
}


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


def by_painting_fraction(spans, names, begin, end):
    """Cut the window at every start and end, and add up the pieces that a named span covers."""
    inside = [(s, s + d) for name, s, d in spans if name in names]
    ticks = sorted({begin, end, *(t for piece in inside for t in piece if begin < t < end)})
    pieces = pairwise(ticks)
    return sum(b - a for a, b in pieces if any(s <= a and b <= e for s, e in inside)) / (end - begin)


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


RIGHT = {
    "timed": [Stopwatch, with_except_and_else, with_an_exit_stack],
    "seconds_per_phase": [by_painting, by_the_parent, backwards_with_a_counter],
    "busy_fraction": [by_painting_fraction, by_counting_edges, by_merging],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
RECORD, STOP = "record((name, start, clock() - start))", "clock() - start))"
OWN, BUSY, REACHED = "return dict(own)", "return busy / (end - begin)", "reached = max(reached, stop)"
POP, WHILE, EACH = "own[name] -= apart.pop()[1]", "apart[-1][0] >= start", "for name, start, duration in spans:"
INTERVALS, ASKED = "(start, start + duration)", "if name in names"
EDITS = {
    "timed": {
        "three_arguments": (RECORD, "record(name, start, clock() - start)"),
        "a_list": (RECORD, "record([name, start, clock() - start])"),
        "a_dictionary": (RECORD, "record({'name': name, 'start': start, 'duration': clock() - start})"),
        "without_the_name": (RECORD, "record((start, clock() - start))"),
        "start_and_end": (STOP, "clock()))"),
        "duration_before_start": (RECORD, "record((name, clock() - start, start))"),
        "small_letters": ("((name", "((name.lower()"),
        "name_stripped": ("((name", "((name.strip()"),
        "a_name_for_the_nameless": ("((name", "((name or 'phase'"),
        "zero_is_no_time": ("start = clock()", "start = clock() or time.perf_counter()"),
        "start_never_negative": ("start = clock()", "start = max(0.0, clock())"),
        "rounded_to_milliseconds": (STOP, "round(clock() - start, 3)))"),
        "rounded_to_microseconds": (STOP, "round(clock() - start, 6)))"),
        "start_rounded": ("((name, start", "((name, round(start, 2)"),
        "whole_seconds": (STOP, "int(clock() - start)))"),
        "at_least_a_microsecond": (STOP, "max(1e-6, clock() - start)))"),
        "at_most_an_hour": (STOP, "min(3600.0, clock() - start)))"),
        "drops_0_s": (RECORD, f"if clock() > start: {RECORD}"),
        "drops_less_than_a_millisecond": (RECORD, f"if clock() - start > 1e-3: {RECORD}"),
        "swallows_value_errors": ("finally:", "except ValueError: pass\n    finally:"),
        "swallows_system_exit": ("finally:", "except SystemExit: pass\n    finally:"),
        "swallows_stop_iteration": ("finally:", "except StopIteration: pass\n    finally:"),
        "another_error_instead": (
            "finally:",
            "except Exception as e: raise ValueError('phase failed') from e\n    finally:",
        ),
        "marks_failures_in_the_name": ("finally:", "except BaseException: name += ' (failed)'; raise\n    finally:"),
        "what_record_says_decides": ("finally:", f"except BaseException:\n        if not {RECORD}: raise\n    else:"),
        "the_first_start_for_ever": ("start = clock()", "start = timed.__dict__.setdefault('start', clock())"),
        "minutes": (STOP, "(clock() - start) / 60))"),
        "clock_monotonic_ns": ("time.perf_counter", "time.monotonic_ns"),
        "clock_of_the_thread": ("time.perf_counter", "time.thread_time"),
    },
    "seconds_per_phase": {
        "rounded_to_milliseconds": (OWN, "return {n: round(s, 3) for n, s in own.items()}"),
        "rounded_to_nanoseconds": (OWN, "return {n: round(s, 9) for n, s in own.items()}"),
        "whole_seconds": (OWN, "return {n: int(s) for n, s in own.items()}"),
        "drops_microseconds": (OWN, "return {n: s for n, s in own.items() if s > 1e-6}"),
        "drops_zeros": (OWN, "return {n: s for n, s in own.items() if s}"),
        "ends_after_it_starts": (WHILE, "sum(apart[-1]) > start"),
        "ends_compared": (WHILE, f"{WHILE} and sum(apart[-1]) <= start + duration"),
        "starts_strictly_inside": (WHILE, "apart[-1][0] > start"),
        "a_microsecond_of_slack": (WHILE, "apart[-1][0] >= start - 1e-6"),
        "a_tick_of_slack": (WHILE, "apart[-1][0] > start - 0.5"),
        "goes_through_it_twice": (EACH, f"known = {{n for n, _, _ in spans}}\n    {EACH}"),
        "sorted_by_start": (EACH, "for name, start, duration in sorted(spans, key=lambda s: s[1]):"),
        "sorted_by_name": (EACH, "for name, start, duration in sorted(spans):"),
        "backwards": (EACH, "for name, start, duration in list(spans)[::-1]:"),
        "oldest_part_first": (POP, "own[name] -= apart.pop(0)[1]"),
        "only_the_last_span_is_remembered": ("apart.append((start, duration))", "apart = [(start, duration)]"),
        "remembers_the_own_seconds": ("apart.append((start, duration))", "apart.append((start, own[name]))"),
        "only_inside_an_update": (POP, "own[name] -= apart.pop()[1] * (name == 'update')"),
        "the_nameless_are_left_out": (OWN, "return {n: s for n, s in own.items() if n}"),
        "pairs": (OWN, "return list(own.items())"),
        "with_a_total": (OWN, "return {**own, 'total': sum(own.values())}"),
        "the_first_thousand": (EACH, "for name, start, duration in list(spans)[:1000]:"),
        "from_zero_on": (EACH, f"{EACH}\n        if start < 0: continue"),
        "at_most_one_part": ("while apart", "if apart"),
        "parts_left_in_the_list": (POP, "own[name] -= apart[-1][1]; break"),
        "never_below_0": (
            POP,
            "own[name] = max(0.0, own[name] - apart.pop()[1]) if len(apart) > 1 else apart.pop()[1]",
        ),
        "whole_durations": ("own[name] += duration", "duration = int(duration); own[name] += duration"),
        "mean_for_the_sum": (OWN, "return {n: s / max(1, len(apart)) for n, s in own.items()}"),
        "once_per_name": ("own[name] += duration", "own[name] = max(own[name], duration)"),
        "length_of_the_run_added": (OWN, "return {**own, 'idle': 0.0}"),
    },
    "busy_fraction": {
        "rounded": (BUSY, "return round(busy / (end - begin), 4)"),
        "rounded_to_nine_digits_of_seconds": (BUSY, "return round(busy, 9) / (end - begin)"),
        "sum_of_durations_at_most_1": (REACHED, "pass", BUSY, "return min(1.0, busy / (end - begin))"),
        "on_a_grid_of_milliseconds": (INTERVALS, "(round(start, 3), round(start + duration, 3))"),
        "on_a_grid_of_microseconds": (INTERVALS, "(round(start, 6), round(start + duration, 6))"),
        "whole_seconds": (INTERVALS, "(int(start), int(start + duration))"),
        "goes_through_it_twice": ("wanted =", "names = [n for n in names if n in {s[0] for s in spans}]\n    wanted ="),
        "parts_of_names": (ASKED, "if any(asked in name for asked in names)"),
        "beginnings_of_names": (ASKED, "if any(asked.startswith(name) for asked in names)"),
        "small_letters": (ASKED, "if name.lower() in {n.lower() for n in names}"),
        "stripped_names": (ASKED, "if name in {n.strip() for n in names}"),
        "no_names_are_all_names": (ASKED, "if not names or name in names"),
        "one_name_only": (ASKED, "if name in list(names)[:1]"),
        "starts_in_the_window_only": (ASKED, f"{ASKED} and start >= begin"),
        "ends_in_the_window_only": (ASKED, f"{ASKED} and start + duration <= end"),
        "from_0_on": ("reached = 0.0, begin", "reached = 0.0, 0.0"),
        "up_to_the_end_only": (BUSY, "return busy / end"),
        "guarded_against_0": (BUSY, "return busy / (end - begin + 1e-9)"),
        "sorted_by_end": (
            "sorted((start, start + duration) for name, start, duration in spans if name in names)",
            "sorted([(s, s + d) for n, s, d in spans if n in names], key=lambda x: x[1])",
        ),
        "one_span_per_name": (
            "sorted((start, start + duration) for name, start, duration in spans if name in names)",
            "sorted({n: (s, s + d) for n, s, d in spans if n in names}.values())",
        ),
        "drops_microseconds": (ASKED, f"{ASKED} and duration > 1e-6"),
        "closes_gaps_of_a_millisecond": (
            "max(start, reached)",
            "(reached if 0 < start - reached < 1e-3 else max(start, reached))",
        ),
        "the_first_thousand": ("for start, stop in wanted:", "for start, stop in wanted[:1000]:"),
        "the_end_is_not_cut": ("min(stop, end)", "stop"),
        "may_be_negative": ("max(0.0, min(stop, end) - max(start, reached))", "min(stop, end) - max(start, reached)"),
        "third_number_as_the_end": (INTERVALS, "(start, duration)"),
        "last_end_instead_of_latest": (REACHED, "reached = stop"),
        "the_overlap_is_lost": ("max(start, reached))", "start if start >= reached else stop)"),
        "seconds": (BUSY, "return busy"),
        "of_the_busy_part": (BUSY, "return busy / (reached - begin or 1)"),
        "whole_numbers": (BUSY, "return busy // (end - begin)"),
    },
}
