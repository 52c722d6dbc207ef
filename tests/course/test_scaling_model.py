"""Many ranks, imagined: the simulation equals closed forms where these are exact, and never beats what is possible."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.events import Playing, makespan, play, push
from minitrpo.course.scaling.formulas import Network

ONE = Playing(lambda count: 1.0)
LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=40).map(np.array)
RNG = np.random.default_rng


# --- the pool


@given(LENGTHS, st.integers(1, 8), st.floats(0, 5), st.floats(0, 5))
def test_a_pool_lies_within_grahams_bounds_and_a_static_split_takes_its_longest_share(lengths, ranks, draw, way):
    share = lengths.sum() / ranks
    least, most = max(share, lengths.max()), share + (1 - 1 / ranks) * lengths.max()  # Graham 1969
    free = play(lengths, ranks, ONE).makespan
    assert least - 1e-9 <= free == makespan(lengths.tolist(), ranks) <= most + 1e-9
    assert play(lengths, 1, ONE).makespan == play(lengths, 1, ONE, static=True).makespan == lengths.sum()
    longest = max(lengths[r::ranks].sum() for r in range(ranks))
    for how in (ONE, Playing(ONE.tick, 1, draw, way)):  # a static split knows no counter
        assert play(lengths, ranks, how, static=True).makespan == longest
    served = play(lengths, ranks, Playing(ONE.tick, 1, draw)).makespan
    assert -1e-9 <= served - makespan(lengths.tolist(), ranks, draw) <= ranks * draw + 1e-9
    several = Playing(lambda count: 1.0 + 0.5 * count, 3, draw, way)
    assert play(lengths, ranks, several).makespan >= lengths.sum() / ranks * several.tick(3) / 3 - 1e-9
    ways = [play(lengths, len(lengths), Playing(ONE.tick, 1, 0.1, far)).makespan for far in (way, way + 1)]
    assert ways[1] >= ways[0] - 1e-9


def test_pools_by_hand():
    for episodes, ranks in ((12, 4), (13, 4), (3, 5)):  # of one length: whole rounds
        for static in (True, False):
            played = play(np.full(episodes, 50), ranks, Playing(lambda count: 0.25), static)
            assert played.makespan == math.ceil(episodes / ranks) * 50 * 0.25
            assert played.played.sum() == pytest.approx(episodes * 50 * 0.25)
    lockstep = Playing(lambda count: 1.0 + count, concurrency=2)  # two at 3 s a tick, then the third with what is left
    assert play(np.array([2, 5, 4]), 1, lockstep).makespan == 2 * 3 + 3 * 3 + 1 * 2


def test_the_last_of_many_ranks_comes_as_order_statistics_say():
    rng = RNG(0)
    lasts = [play(rng.exponential(1.0, 64), 64, ONE).makespan for _ in range(300)]
    assert abs(np.mean(lasts) - formulas.largest_exponential(64)) < 4 * np.std(lasts) / math.sqrt(300)


# --- the counter, and the server


def test_a_counter_makes_ranks_wait_as_an_m_d_1_queue_does_and_beyond_its_limit_serves_at_its_own_pace():
    service, ranks, each, mean = 0.01, 100, 400, 2.0
    played = play(RNG(3).exponential(mean, ranks * each), ranks, Playing(ONE.tick, draw=service))
    rush = ranks * service * (ranks + 1) / 2  # all ask at time 0: the k-th waits for k services
    wait = (played.queued.sum() - rush) / (ranks * each) - service
    load = service * ranks / (mean + service)
    assert wait == pytest.approx(load * service / (2 * (1 - load)), rel=0.15)  # Pollaczek & Khinchine
    assert play(np.full(500, 2), 50, Playing(ONE.tick, draw=1.0)).makespan == pytest.approx(500 + 50, abs=3)


def test_a_server_of_workers_is_the_queue_with_a_finite_source():
    for workers in (1, 4, 32):
        rng, each = RNG(4), 24_000 // workers
        pushed = push(rng.exponential(1.0, (workers, each)), rng.exponential(0.1, (workers, each)))
        assert pushed.rate == pytest.approx(formulas.finite_source(workers, 1.0, 0.1), rel=0.04)
        assert pushed.staleness.mean() == pytest.approx(workers - 1, rel=0.02), "everybody else, on average"
    alone = push(np.full((1, 50), 0.5), np.full((1, 50), 0.25), latency=0.125)
    assert (alone.rate, alone.staleness.max()) == (pytest.approx(1.0), 0)
    crowd = push(np.full((20, 30), 0.5), np.full((20, 30), 0.25))
    assert (crowd.rate, np.median(crowd.staleness)) == (pytest.approx(4.0), 19)


# --- failures, messages, batches


def failing(work, interval, checkpoint, restart, times):
    """Return the seconds of one job that loses what it did since its last checkpoint at every failure."""
    clock, done, failure = 0.0, 0.0, times()
    while done < work:
        segment = min(interval, work - done) + checkpoint
        while clock + segment > failure:
            clock, failure = failure, failure + times()
            while clock + restart > failure:
                clock, failure = failure, failure + times()
            clock += restart
        clock, done = clock + segment, done + segment - checkpoint
    return clock


def test_failures_take_as_long_as_dalys_formula_says():
    rng = RNG(5)
    jobs = [failing(100.0, 10.0, 1.0, 2.0, lambda: rng.exponential(30.0)) for _ in range(4000)]
    expected = formulas.with_failures(100.0, 10.0, 1.0, 2.0, 30.0)
    assert abs(np.mean(jobs) - expected) < 4 * np.std(jobs) / math.sqrt(len(jobs))
    for checkpoint, mtbf in ((1.0, 1e5), (5.0, 3600.0), (60.0, 3600.0)):
        every = [
            *np.geomspace(checkpoint, mtbf, 400),
            formulas.daly(checkpoint, mtbf),
            formulas.young(checkpoint, mtbf),
        ]
        *seconds, daly, young = (formulas.with_failures(1e5, each, checkpoint, 10.0, mtbf) for each in every)
        assert daly <= min(seconds) * 1.0005
        assert young <= min(seconds) * 1.01
    assert formulas.daly(300.0, 100.0) == 100.0


COSTS = (formulas.broadcast, formulas.gather, formulas.all_gather, formulas.tree_allreduce, formulas.ring_allreduce,
         formulas.halving_allreduce)  # fmt: skip


@given(st.floats(1e-7, 1e-3), st.floats(1e-12, 1e-7), st.integers(1, 100_000), st.floats(0, 1e9), st.floats(0, 1e-3))
def test_messages_take_longer_with_latency_and_nothing_on_one_rank(latency, per_byte, ranks, size, more):
    for cost in COSTS:
        assert cost(Network(latency + more, per_byte), ranks, size) >= cost(Network(latency, per_byte), ranks, size)
        assert cost(Network(latency, per_byte), 1, size) == 0


def test_messages_by_hand():
    net = Network(2e-6, 1e-9)
    assert formulas.broadcast(net, 2, 1000) == pytest.approx(3e-6)
    assert formulas.gather(net, 2, 1000) == pytest.approx(2.5e-6), "half of the bytes are the root's own"
    assert formulas.tree_allreduce(net, 2, 1000) == pytest.approx(6e-6)
    assert [formulas.rounds(n) for n in (1, 2, 3, 4, 5, 1024, 100_000)] == [0, 1, 2, 2, 3, 10, 17]
    net, large = Network(1e-5, 1e-9), 1e9
    ring, tree = formulas.ring_allreduce(net, 64, large), formulas.tree_allreduce(net, 64, large)
    assert formulas.halving_allreduce(net, 64, large) <= ring < tree / 5, "a ring sends few bytes"
    assert formulas.tree_allreduce(net, 4096, 8.0) < formulas.ring_allreduce(net, 4096, 8.0) / 100, (
        "a tree few messages"
    )


def test_the_noise_scale_of_gradients_whose_noise_is_known_and_what_a_batch_of_it_costs():
    gradients = 0.5 + 3.0 * RNG(7).normal(size=(200, 30, 50)) / math.sqrt(100)
    assert formulas.noise_scale(gradients, 100) == pytest.approx(3.0**2 / 0.5**2, rel=0.02)
    assert formulas.noise_scale(np.array([[[1.0], [-1.0]]]), 10) == math.inf
    assert formulas.updates_needed(1000, 1e15, 10, 1000) == pytest.approx(20)
    assert formulas.updates_needed(500, 500, 10, 1000) == 10
    assert formulas.updates_needed(500, 1000, 10, math.inf) == 20, "nothing but noise: the steps count"
