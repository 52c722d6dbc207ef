"""Timing: spans come out as they went in, no instant counts twice, and a trace can be read back."""

import time

import numpy as np
import pytest

from minitrpo.course.trace import busy_fraction, read_chrome_trace, seconds_per_phase
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.timing import Timeline, chrome_events, timed, write_chrome_trace


def random_spans(rng, begin, end, depth):
    """Return nested spans with whole numbers for times, between begin and end, in the order in which they end."""
    spans, now = [], begin
    while depth and now < end:
        start = int(rng.integers(now, end + 1))
        stop = int(rng.integers(start, end + 1))
        spans += random_spans(rng, start, stop, depth - 1)
        spans.append((str(rng.choice(list("abcd"))), float(start), float(stop - start)))
        now = stop + int(rng.integers(0, 2))
    return spans


def painted(spans, length):
    """Return who has each unit of time, the innermost span painted last."""
    owner = [None] * length
    for name, start, duration in reversed(spans):
        owner[int(start) : int(start + duration)] = [name] * int(duration)
    return owner


@pytest.mark.parametrize("seed", range(20))
def test_an_instant_belongs_to_its_innermost_span(seed):
    spans = random_spans(np.random.default_rng(seed), 0, 60, depth=4)
    owner = painted(spans, 60)
    assert seconds_per_phase(spans) == {name: owner.count(name) for name, _, _ in spans}


@pytest.mark.parametrize("seed", range(20))
def test_a_fraction_counts_instants(seed):
    rng = np.random.default_rng(seed)
    spans, names = random_spans(rng, 0, 60, depth=4), set(rng.choice(list("abcd"), 2))
    begin, end = sorted(rng.choice(61, 2, replace=False).tolist())
    on = np.zeros(60, bool)
    for name, start, duration in spans:
        on[int(start) : int(start + duration)] |= name in names
    shuffled = [spans[i] for i in rng.permutation(len(spans))]
    assert busy_fraction(shuffled, names, begin, end) == pytest.approx(on[begin:end].mean())


def test_nothing_took_no_time():
    assert seconds_per_phase([]) == {}
    assert busy_fraction([], {"collect"}, 0.0, 1.0) == 0.0


def test_timed_measures_the_wall_clock():
    spans = []
    before = time.perf_counter()
    with timed(spans.append, "sleep"):
        time.sleep(0.02)
    [(name, start, duration)] = spans
    assert name == "sleep"
    assert before <= start
    assert 0.02 <= duration <= time.perf_counter() - before


def test_timed_records_what_failed():
    spans = []
    with pytest.raises(KeyError), timed(spans.append, "outer"), timed(spans.append, "inner"):
        raise KeyError
    assert [name for name, _, _ in spans] == ["inner", "outer"]


def test_a_timeline_keeps_spans_and_sums_them_up():
    timeline = Timeline(SerialComm(), keep=True)
    for _ in range(3):
        with timeline.span("update"), timeline.span("policy"):
            pass
    assert [name for name, _, _ in timeline.spans] == ["policy", "update"] * 3
    seconds = timeline.take()
    assert seconds["update"] == pytest.approx(sum(d for name, _, d in timeline.spans if name == "update"))
    assert seconds["never"] == 0.0
    assert timeline.take()["update"] == 0.0


class Late(SerialComm):
    """A rank that left the barrier later than the root did, whose host and clock are these."""

    def __init__(self, host, clock):
        self._root = host, clock

    def broadcast_object(self, payload):
        return self._root


@pytest.mark.parametrize(("host", "early", "since"), [("own", 0.25, 0.25), ("own", 1e5, 0.0), ("another", 0.25, 0.0)])
def test_clocks_of_a_host_begin_at_the_roots_time(host, early, since, monkeypatch):
    monkeypatch.setattr("minitrpo.parallel.timing.socket.gethostname", lambda: "own")
    monkeypatch.setattr("minitrpo.parallel.timing.time.perf_counter", lambda: 2e5)
    assert Timeline(Late(host, 2e5 - early), keep=False).now() == pytest.approx(since)


def test_a_timeline_forgets_spans_that_nobody_asked_for():
    timeline = Timeline(SerialComm(), keep=False)
    with timeline.span("update"):
        pass
    assert timeline.spans == []
    assert timeline.take()["update"] > 0


def test_chrome_events_are_in_microseconds_with_a_thread_per_rank():
    head, event = chrome_events([[("collect", 0.5, 0.25)]])
    assert event == {"name": "collect", "ph": "X", "pid": 0, "tid": 0, "ts": 500_000.0, "dur": 250_000.0}
    assert head["args"] == {"name": "rank 0"}


def test_a_trace_can_be_read_back(tmp_path):
    ranks = [[("policy", 0.75, 0.1), ("update", 0.5, 1 / 3)], [], [("idle", 0.0, 2.0)]]
    write_chrome_trace(tmp_path / "trace.json", ranks)
    again = read_chrome_trace(tmp_path / "trace.json")
    assert [[name for name, _, _ in spans] for spans in again] == [["policy", "update"], [], ["idle"]]
    numbers = [[span[1:] for spans in trace for span in spans] for trace in (ranks, again)]
    np.testing.assert_allclose(*numbers, rtol=1e-12)
