"""Timing: spans come out as they went in, no instant counts twice, and a trace can be read back."""

import itertools

import numpy as np
import pytest

from minitrpo.course.trace import busy_fraction, read_chrome_trace, seconds_per_phase
from minitrpo.parallel import timing
from minitrpo.parallel.comm import Comm
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


def test_an_instant_belongs_to_its_innermost_span_and_counts_once():
    assert (seconds_per_phase([]), busy_fraction([], {"collect"}, 0.0, 1.0)) == ({}, 0.0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        spans, names = random_spans(rng, 0, 60, depth=4), set(rng.choice(list("abcd"), 2))
        owner, on = [None] * 60, np.zeros(60, bool)
        for name, start, duration in reversed(spans):  # the innermost painted last
            owner[int(start) : int(start + duration)] = [name] * int(duration)
            on[int(start) : int(start + duration)] |= name in names
        assert seconds_per_phase(iter(spans)) == {name: owner.count(name) for name, _, _ in spans}
        begin, end = sorted(rng.choice(61, 2, replace=False).tolist())
        shuffled = [spans[i] for i in rng.permutation(len(spans))]
        assert busy_fraction(iter(shuffled), names, begin, end) == pytest.approx(on[begin:end].mean())


def test_timed_measures_by_its_clock_and_records_what_failed():
    spans, clock = [], itertools.count(5.0, 2.0)
    with pytest.raises(KeyError), timed(spans.append, "outer", clock.__next__):  # noqa: SIM117
        with timed(spans.append, "inner", clock.__next__):
            raise KeyError
    assert spans == [("inner", 7.0, 2.0), ("outer", 5.0, 6.0)]


@pytest.mark.parametrize("keep", [True, False])
def test_a_timeline_sums_spans_up_and_keeps_those_that_were_asked_for(keep, monkeypatch):
    clock = [7.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    timeline = Timeline(Comm(), keep)
    with timeline.outside("checkpoint"):
        clock[0] += 100.0
    for _ in range(3):
        with timeline.span("update"), timeline.span("policy"):
            clock[0] += 2.0
        clock[0] += 1.0
    assert [name for name, _, _ in timeline.spans] == (["checkpoint", *["policy", "update"] * 3] if keep else [])
    row = {"collect_s": 0.0, "gather_s": 0.0, "update_s": 6.0, "wait_s": 3.0, "iteration_s": 9.0}
    assert timeline.row(rest_is_waiting=True) == row
    assert timeline.row() == dict.fromkeys(row, 0.0)


class Late(Comm):
    """A rank that left the barrier later than the root did, whose host and clock are these."""

    def __init__(self, host, clock):
        self._root = host, clock

    def broadcast(self, payload):
        return self._root


@pytest.mark.parametrize(("host", "early", "since"), [("own", 0.25, 0.25), ("own", 1e5, 0.0), ("another", 0.25, 0.0)])
def test_clocks_of_a_host_begin_at_the_roots_time(host, early, since, monkeypatch):
    monkeypatch.setattr(timing.socket, "gethostname", lambda: "own")
    monkeypatch.setattr(timing.time, "perf_counter", lambda: 2e5)
    assert Timeline(Late(host, 2e5 - early), keep=False).now() == pytest.approx(since)


def test_a_trace_is_in_microseconds_with_a_thread_per_rank_and_can_be_read_back(tmp_path):
    head, event = chrome_events([[("collect", 0.5, 0.25)]])
    assert event == {"name": "collect", "ph": "X", "pid": 0, "tid": 0, "ts": 500_000.0, "dur": 250_000.0}
    assert head["args"] == {"name": "rank 0"}
    ranks = [[("policy", 0.75, 0.1), ("update", 0.5, 1 / 3)], [], [("idle", 0.0, 2.0)]]
    write_chrome_trace(tmp_path / "trace.json", ranks)
    again = read_chrome_trace(tmp_path / "trace.json")
    for one, other in zip(ranks, again, strict=True):
        assert [name for name, _, _ in one] == [name for name, _, _ in other]
        np.testing.assert_allclose([span[1:] for span in one], [span[1:] for span in other], rtol=1e-12)
