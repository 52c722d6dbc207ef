"""Many ranks, imagined: the simulation equals closed forms where these are exact, and never beats what is possible."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("simpy")

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.events import Playing, failing, play, preempted, push
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.heart import makespan

QUICK = settings(max_examples=50, deadline=None)
ONE = Playing(lambda count: 1.0)
LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=40).map(np.array)


# --- the pool


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(("episodes", "ranks"), [(12, 1), (12, 4), (13, 4), (3, 5), (1000, 64)])
def test_episodes_of_one_length_take_whole_rounds(episodes, ranks, static):
    played = play(np.full(episodes, 50), ranks, Playing(lambda count: 0.25), static)
    assert played.makespan == math.ceil(episodes / ranks) * 50 * 0.25
    assert played.played.sum() == pytest.approx(episodes * 50 * 0.25)


@given(LENGTHS)
@QUICK
def test_one_rank_takes_the_sum(lengths):
    for static in (True, False):
        assert play(lengths, 1, ONE, static).makespan == lengths.sum()


@given(LENGTHS, st.integers(1, 8))
@QUICK
def test_a_pool_lies_within_grahams_bounds_and_a_static_split_takes_its_longest_share(lengths, ranks):
    least, most = formulas.graham(lengths, ranks)
    assert least - 1e-9 <= play(lengths, ranks, ONE).makespan <= most + 1e-9
    shares = [lengths[r::ranks].sum() for r in range(ranks)]
    assert play(lengths, ranks, ONE, static=True).makespan == max(shares)


@given(LENGTHS, st.integers(1, 8), st.integers(1, 4), st.floats(0, 5), st.floats(0, 5))
@QUICK
def test_nothing_is_faster_than_the_ideal_and_a_static_split_knows_no_counter(lengths, ranks, side_by_side, draw, way):
    how = Playing(lambda count: 1.0 + 0.5 * count, side_by_side, draw, way)
    ideal = lengths.sum() / ranks * how.tick(side_by_side) / side_by_side
    assert play(lengths, ranks, how).makespan >= ideal - 1e-9
    free = Playing(how.tick, side_by_side)
    assert play(lengths, ranks, how, static=True).makespan == play(lengths, ranks, free, static=True).makespan


@given(LENGTHS, st.floats(0, 5), st.floats(0, 5), st.booleans())
@QUICK
def test_a_longer_way_to_the_counter_never_helps_one_rank_or_ranks_with_an_episode_each(lengths, way, more, single):
    ranks = 1 if single else len(lengths)
    before, after = (play(lengths, ranks, Playing(ONE.tick, 1, 0.1, each)).makespan for each in (way, way + more))
    assert after >= before - 1e-9


@given(LENGTHS, st.integers(1, 8), st.floats(0, 5))
@QUICK
def test_the_heart_of_the_simulator_is_the_simulator(lengths, ranks, draw):
    """With a draw that takes time, ranks that find the pool empty were served, too, before they were done."""
    assert makespan(lengths.tolist(), ranks) == play(lengths, ranks, ONE).makespan
    served = play(lengths, ranks, Playing(ONE.tick, 1, draw)).makespan
    assert -1e-9 <= served - makespan(lengths.tolist(), ranks, draw) <= ranks * draw + 1e-9


def test_lockstep_by_hand():
    """Two in play at 3 s a tick until the first ends, then the third with what is left of the second."""
    how = Playing(lambda count: 1.0 + count, concurrency=2)
    assert play(np.array([2, 5, 4]), 1, how).makespan == 2 * 3 + 3 * 3 + 1 * 2


def test_a_slow_rank_holds_a_static_split_up_and_a_pool_hardly():
    slow = np.ones(10)
    slow[3] = 5
    lengths = np.full(1000, 10)
    assert play(lengths, 10, ONE, static=True, slow=slow).makespan == 5000
    assert play(lengths, 10, ONE, slow=slow).makespan <= 1000 / 9.2 * 10 + 50


@pytest.mark.parametrize("ranks", [8, 1000])
def test_the_last_of_exponential_episodes_comes_as_order_statistics_say(ranks):
    rng = np.random.default_rng(0)
    lasts = [play(rng.exponential(1.0, ranks), ranks, ONE).makespan for _ in range(300 if ranks < 100 else 60)]
    error = np.std(lasts) / math.sqrt(len(lasts))
    assert abs(np.mean(lasts) - formulas.largest_exponential(ranks)) < 4 * error


def test_the_largest_normal_is_bloms():
    rng = np.random.default_rng(1)
    for count in (16, 1000):
        drawn = rng.normal(size=(4000, count)).max(axis=1)
        assert abs(drawn.mean() - formulas.largest_normal(count)) < 0.02
    assert formulas.largest_normal(1) == 0


def test_a_static_split_of_many_episodes_ends_where_the_normal_law_says():
    rng = np.random.default_rng(2)
    lasts = [play(rng.exponential(1.0, 64 * 100), 64, ONE, static=True).makespan for _ in range(20)]
    assert np.mean(lasts) == pytest.approx(formulas.static_makespan(1, 1, 6400, 64), rel=0.03)


# --- the counter, and the server


def test_a_counter_with_room_makes_ranks_wait_as_an_m_d_1_queue_does():
    """Many ranks with long exponential episodes ask at random; each pays the service and the queue."""
    rng, service, ranks, each, mean = np.random.default_rng(3), 0.01, 100, 400, 2.0
    played = play(rng.exponential(mean, ranks * each), ranks, Playing(lambda count: 1.0, draw=service))
    rush = ranks * service * (ranks + 1) / 2  # all ask at time 0: the k-th waits for k services
    wait = (played.queued.sum() - rush) / (ranks * each) - service
    assert wait == pytest.approx(formulas.wait_md1(ranks / (mean + service), service), rel=0.15)
    assert formulas.wait_md1(1 / service, service) == math.inf


def test_a_counter_beyond_its_limit_serves_at_its_own_pace():
    how = Playing(lambda count: 1.0, draw=1.0)
    assert play(np.full(500, 2), 50, how).makespan == pytest.approx(500 + 50, abs=3)


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_a_server_of_workers_is_the_queue_with_a_finite_source(workers):
    rng = np.random.default_rng(4)
    each = 24_000 // workers
    pushed = push(rng.exponential(1.0, (workers, each)), rng.exponential(0.1, (workers, each)))
    assert pushed.rate == pytest.approx(formulas.finite_source(workers, 1.0, 0.1), rel=0.04)


def test_one_worker_and_a_crowd_are_known_exactly():
    alone = push(np.full((1, 50), 0.5), np.full((1, 50), 0.25), latency=0.125)
    assert alone.rate == pytest.approx(1.0)
    assert alone.staleness.max() == 0
    crowd = push(np.full((20, 30), 0.5), np.full((20, 30), 0.25))
    assert crowd.rate == pytest.approx(4.0)
    assert np.median(crowd.staleness) == 19, "everybody else comes in between"


@given(st.integers(1, 10), st.floats(0.01, 2), st.floats(0, 1), st.floats(0, 1))
@QUICK
def test_workers_are_never_faster_than_their_server_or_their_own_work(workers, service, way, more):
    work, turns = np.ones((workers, 20)), np.full((workers, 20), service)
    rate = push(work, turns, way).rate
    assert rate <= min(1 / service, workers / (1 + service + 2 * way)) * 1.0001 * (1 + 1 / 15)
    assert formulas.finite_source(workers, 1.0, service) <= min(1 / service, workers / (1 + service)) + 1e-9


# --- failures


def test_the_expected_seconds_with_failures_are_dalys():
    rng = np.random.default_rng(5)
    jobs = [failing(100.0, 10.0, 1.0, 2.0, lambda: rng.exponential(30.0)) for _ in range(4000)]
    expected = formulas.with_failures(100.0, 10.0, 1.0, 2.0, 30.0)
    assert abs(np.mean(jobs) - expected) < 4 * np.std(jobs) / math.sqrt(len(jobs))


@pytest.mark.parametrize(("checkpoint", "mtbf"), [(1.0, 1e5), (5.0, 3600.0), (60.0, 3600.0)])
def test_the_intervals_of_young_and_daly_are_near_the_best(checkpoint, mtbf):
    def seconds(interval):
        return formulas.with_failures(1e5, interval, checkpoint, 10.0, mtbf)

    best = min(seconds(interval) for interval in np.geomspace(checkpoint, mtbf, 400))
    assert seconds(formulas.daly(checkpoint, mtbf)) <= best * 1.0005
    assert seconds(formulas.young(checkpoint, mtbf)) <= best * 1.01
    assert formulas.daly(3 * mtbf, mtbf) == mtbf


def test_a_rank_that_is_preempted_takes_longer_on_average_by_the_pauses():
    factors = preempted(100_000, 10.0, 100.0, 20.0, np.random.default_rng(6))
    assert factors.mean() == pytest.approx(1 + 0.1 * 2, rel=0.02)
    assert factors.min() == 1


# --- messages

NETWORKS = st.builds(Network, st.floats(1e-7, 1e-3), st.floats(1e-12, 1e-7))


@given(NETWORKS, st.integers(1, 100_000), st.floats(0, 1e9), st.floats(0, 1e-3))
@QUICK
def test_messages_take_longer_with_latency_and_nothing_on_one_rank(net, ranks, size, more):
    slower = Network(net.latency + more, net.per_byte)
    for cost in (formulas.broadcast, formulas.gather, formulas.all_gather, formulas.tree_allreduce,
                 formulas.ring_allreduce, formulas.halving_allreduce):  # fmt: skip
        assert cost(slower, ranks, size) >= cost(net, ranks, size)
        assert cost(net, 1, size) == 0


def test_two_ranks_send_one_message():
    net = Network(2e-6, 1e-9)
    assert formulas.broadcast(net, 2, 1000) == pytest.approx(3e-6)
    assert formulas.gather(net, 2, 1000) == pytest.approx(2.5e-6), "half of the bytes are the root's own"
    assert formulas.tree_allreduce(net, 2, 1000) == pytest.approx(6e-6)
    assert [formulas.rounds(n) for n in (1, 2, 3, 4, 5, 1024, 100_000)] == [0, 1, 2, 2, 3, 10, 17]


def test_a_ring_sends_few_bytes_and_a_tree_few_messages():
    net, large, small = Network(1e-5, 1e-9), 1e9, 8.0
    assert formulas.ring_allreduce(net, 64, large) < formulas.tree_allreduce(net, 64, large) / 5
    assert formulas.tree_allreduce(net, 4096, small) < formulas.ring_allreduce(net, 4096, small) / 100
    assert formulas.halving_allreduce(net, 4096, large) <= min(
        formulas.ring_allreduce(net, 4096, large), formulas.tree_allreduce(net, 4096, large)
    )


# --- batches


def test_the_noise_scale_of_gradients_whose_noise_is_known():
    rng, signal, noise, rows = np.random.default_rng(7), 0.5, 3.0, 100
    gradients = signal + noise * rng.normal(size=(200, 30, 50)) / math.sqrt(rows)
    assert formulas.noise_scale(gradients, rows) == pytest.approx(noise**2 / signal**2, rel=0.02)
    assert formulas.noise_scale(np.array([[[1.0], [-1.0]]]), 10) == math.inf


def test_a_batch_of_the_noise_scale_needs_twice_the_updates_of_the_largest():
    assert formulas.updates_needed(1000, 1e15, 10, 1000) == pytest.approx(20)
    assert formulas.updates_needed(500, 500, 10, 1000) == 10
    assert formulas.updates_needed(500, 1000, 10, math.inf) == 20, "nothing but noise: the steps count"
