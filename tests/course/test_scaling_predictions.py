"""Predictions for many ranks: what they are made of adds up, follows closed forms, and is never better than ideal."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.measuring import line
from minitrpo.course.scaling.model import (
    COLUMNS,
    DESIGNS,
    TODAY,
    Design,
    Inputs,
    Line,
    Machine,
    Messages,
    Task,
    iteration,
)
from minitrpo.course.scaling.predict import MEMORY, Job, breaks, predicted

NONE = Line(0.0, 0.0)
LINES = {"tick": Line(1e-4, 3e-5), "prepare": Line(0.0, 1e-6), "order": Line(0.0, 1e-7), "rest": Line(1e-4, 0.0),
         "advantages": Line(0.0, 3e-7), "policy": Line(1.1e-3, 4.6e-6), "critic": Line(0.0, 7e-6)}  # fmt: skip
COSTS = {"trials": 1.0, "shared_slowdown": 1.0}
SIZES = {"parameters": 5000, "step_bytes": 120.0, "noise_scale": 5e4, "lengths": np.full(100, 50)}
TASK = Task(environment="Toy-v0", **LINES, **COSTS, **SIZES)
TOY = Inputs({"Toy-v0": TASK}, Messages(Network(0.0, 0.0), 0.0, 0.0, 0.0, 1.0, 1e-3, 1e-2), {"cores": 2})
IDEAL, CABLE = Machine(Network(0.0, 0.0)), Machine(Network(2e-6, 1e-9))


def test_one_rank_is_the_sum_of_its_parts():
    one = iteration(TOY, TASK, IDEAL, Design(), 1, 10_000)
    ticks = 12 * 50 * TASK.tick(16) + 50 * TASK.tick(8)  # 200 episodes, 16 at a time: the last round has 8
    learning = 3e-3 + 1e-4 + 0.0471 + 0.07
    assert one.ideal == pytest.approx(10_000 / 16 * TASK.tick(16))
    assert one.seconds == pytest.approx(ticks + 0.01 + 1e-3 + learning, rel=0.02)


@given(st.integers(1, 64), st.sampled_from([*DESIGNS.values(), *COLUMNS.values()]), st.floats(0, 1e-4))
def test_nothing_is_faster_than_the_ideal_and_a_slower_network_never_helps(ranks, design, latency):
    quick, slow = (iteration(TOY, TASK, Machine(Network(t, 1e-10)), design, ranks, 20_000) for t in (0, latency))
    assert all(seconds >= -1e-12 for seconds in vars(quick).values())
    assert quick.seconds >= iteration(TOY, TASK, IDEAL, Design(), 1, 20_000).ideal / ranks * 0.999
    assert all(getattr(slow, p) >= getattr(quick, p) - 1e-12 for p in ("broadcast", "gather", "samples", "sums"))


def test_ranks_that_wait_for_the_root_follow_amdahl_and_more_ranks_than_episodes_wait():
    """Free messages, episodes of one length that divide evenly, lockstep of one width: only the root is serial."""
    task = replace(TASK, tick=Line(0.0, 1e-4), prepare=NONE)
    one, several = (iteration(TOY, task, IDEAL, Design(), ranks, 100 * 50 * 16) for ranks in (1, 50))
    assert several.seconds == pytest.approx(one.seconds - one.ideal + one.ideal / 50, rel=1e-6)
    few = [iteration(TOY, TASK, IDEAL, Design(), ranks, 1_000) for ranks in (20, 2000)]
    assert few[1].ideal + few[1].narrow + few[1].wait == pytest.approx(50 * TASK.tick(1))
    assert few[0].seconds == pytest.approx(few[1].seconds, rel=0.02)
    crowded, roomy = (iteration(TOY, TASK, m, Design(), 4, 10_000) for m in (replace(IDEAL, cores=2), IDEAL))
    assert crowded.ideal == pytest.approx(2 * roomy.ideal)


def test_failures_cost_something_and_dollars_follow_from_seconds():
    job = Job(TOY, TASK, IDEAL, 1e6, 50_000, price=0.5)
    failing = replace(job, machine=replace(IDEAL, failures=64 * 100.0))
    assert predicted(failing, TODAY, 64).seconds > 1.1 * predicted(job, TODAY, 64).seconds
    for ranks in (1, 64):
        row = predicted(replace(job, machine=CABLE), TODAY, ranks)
        assert row.updates == 20
        assert row.dollars == pytest.approx(0.5 * ranks * row.seconds / 3600)
        assert row.efficiency == pytest.approx(job.alone / ranks / row.seconds, rel=1e-6)
        costs = {**vars(row.one), "start": row.start / row.updates}
        name, share = row.bottleneck
        assert costs[name] == max(seconds for part, seconds in costs.items() if part != "ideal")
        assert share * row.seconds == pytest.approx(20 * costs[name])


def test_what_breaks_first_by_hand():
    task = replace(TASK, order=NONE, rest=Line(0.0, 1e-7))
    found = breaks(Job(TOY, task, Machine(Network(1e-5, 0.0))), TODAY)
    assert found["memory of rank 0"] == pytest.approx(MEMORY / (3 * 120 * 1000))
    assert list(found.values()) == sorted(found.values())
    assert breaks(Job(TOY, TASK, IDEAL), TODAY)["the pool's one counter"] == math.inf


@given(st.floats(1e-6, 1.0), st.floats(1e-9, 1e-3))
def test_a_line_through_seconds_of_about_equal_numbers_is_found_and_has_no_negative_part(fixed, each):
    seconds = [(count, fixed + each * count) for count in (1000, 1010, 4000, 4040, 16_000)]
    assert line(seconds) == pytest.approx((fixed, each), rel=0.1, abs=0.02 * fixed + 1e-12)
    assert line([(count, each * (count - 900)) for count, _ in seconds])[0] == 0
