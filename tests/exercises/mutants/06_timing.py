"""Lecture 06: right answers in other styles, and wrong ones."""

import time
from collections import Counter, namedtuple
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

Interval = namedtuple("Interval", "name start duration")


class Stopwatch:
    def __init__(self, record, name, clock=time.perf_counter):
        self.record, self.name, self.clock = record, name, clock

    def __enter__(self):
        self.start = self.clock()
        return self

    def __exit__(self, kind, error, trace):
        stop = self.clock()
        self.record((self.name, self.start, stop - self.start))
        return False


timed_by_a_class = Stopwatch


@contextmanager
def timed_with_except_and_else(record, name, clock=time.perf_counter):
    begun = clock()
    try:
        yield
    except BaseException:
        record((name, begun, clock() - begun))
        raise
    else:
        record((name, begun, -begun + clock()))


def seconds_per_phase_painted(spans):
    """Cut the time line at every start and end, and give each piece to the shortest span over it."""
    spans = list(spans)
    own = {name: 0.0 for name, _, _ in spans}
    ticks = sorted({t for _, s, d in spans for t in (s, s + d)})
    for a, b in pairwise(ticks):
        over = [(d, name) for name, s, d in spans if s <= a and b <= s + d]
        if over:
            own[min(over)[1]] += b - a
    return own


def seconds_per_phase_by_the_parent(spans):
    """The first later span that begins no later is the parent: its seconds are less by the child's."""
    spans = list(spans)
    own = dict.fromkeys((name for name, _, _ in spans), 0)
    for i, (name, start, duration) in enumerate(spans):
        own[name] += duration
        parent = next((n for n, s, d in spans[i + 1 :] if s <= start), None)
        if parent is not None:
            own[parent] -= duration
    return own


def busy_fraction_painted(spans, names, begin, end):
    """Cut the window at every start and end, and add up the pieces that a named span covers."""
    inside = [(s, s + d) for name, s, d in spans if name in names]
    ticks = sorted({begin, end, *(t for piece in inside for t in piece if begin < t < end)})
    return sum(b - a for a, b in pairwise(ticks) if any(s <= a and b <= e for s, e in inside)) / (end - begin)


def busy_fraction_of_what_is_idle(spans, names, begin, end):
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
    "timed": r"""
        a_span_that_grows: start = clock() => span = [name, clock()] && (name, start, clock() - start) => \
            (*span, clock() - span[1])
        from_minus_the_start: start = clock() => start = clock()\n    seconds = -start && \
            record((name, start, clock() - start)) => seconds += clock()\n        record((name, start, seconds))
        a_named_tuple: (name, start, clock() - start) => Interval(name, start, clock() - start)
        floats: start = clock() => start = float(clock()) && clock() - start => float(clock()) - start
    """,
    "seconds_per_phase": r"""
        its_own_dictionary: defaultdict(float) => Counter() && return dict(own) => return own
        sum_of_a_list: own[name] += duration => own[name] += duration - sum(d for s, d in apart if s >= start) && \
            own[name] -= apart.pop()[1] => apart.pop()
        defensive: defaultdict(float) => {} && own[name] += duration => \
            own[name] = own.setdefault(name, 0.0) + float(duration)
    """,
    "busy_fraction": r"""
        place_reached: max(0.0, min(stop, end) - max(start, reached)) => \
            max(reached, min(stop, end)) - max(reached, min(start, end))
        cut_first: (start, start + duration) => (max(begin, start), min(end, start + duration)) && \
            return busy / => return np.float64(busy) /
        walk: busy += max(0.0, min(stop, end) - max(start, reached)) => \
            busy += min(stop, end) - max(start, reached) if min(stop, end) > max(start, reached) else 0
    """,
}

WRONG = {
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
        a_list: record((name, start, clock() - start)) => record([name, start, clock() - start])
        without_the_name: record((name, start, clock() - start)) => record((start, clock() - start))
        duration_before_start: record((name, start, clock() - start)) => record((name, clock() - start, start))
        small_letters: ((name => ((name.lower()
        name_stripped: ((name => ((name.strip()
        zero_is_no_time: start = clock() => start = clock() or time.perf_counter()
        start_never_negative: start = clock() => start = max(0.0, clock())
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
        starts_when_made: @contextmanager => @lambda f: lambda record, name, clock=time.perf_counter: \
            contextmanager(f)(record, name, lambda times=[clock()]: times.pop() if times else clock())
    """,
    "seconds_per_phase": r"""
        only_leaves: += => += 0.0 if apart and apart[-1][0] >= start else && own[name] -= apart.pop()[1] => apart.pop()
        only_the_outermost: spans = list(spans)\n    return right([x for i, x in enumerate(spans) if not any(s <= \
            x[1] for _, s, _ in spans[i + 1 :])])
        third_number_taken_for_the_end: return right([(name, start, max(0.0, end - start)) for name, start, end in \
            spans])
        the_rest_is_a_phase: return dict(own) => return own | ({"other": max(start + duration for start, duration in \
            apart) - sum(own.values())} if apart else {})
        empties_the_list: for name, start, duration in spans: => while spans:\n        name, start, duration = \
            spans.pop(0)
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
        rounded: return busy / (end - begin) => return round(busy / (end - begin), 4)
        rounded_to_nine_digits_of_seconds: return busy / (end - begin) => return round(busy, 9) / (end - begin)
        sum_of_durations_at_most_1: reached = max(reached, stop) => pass && busy / (end - begin) => min(1.0, busy / \
            (end - begin))
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
