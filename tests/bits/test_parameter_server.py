"""The parameter server and its workers, played by the event queue: what equals plain gradient descent, and when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.course.parallel_sgd.rounds import WEIGHT, SynchronousServer
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import BINS, LEFT, TALLY, ParameterServer, Rules, Tally, staleness_of

ROWS, STEP = 24, 0.1
RNG = np.random.default_rng(1)
X, Y = RNG.standard_normal((ROWS, 3)), RNG.standard_normal(ROWS)  # a problem of least squares
SEEDS = st.integers(0, 1000)


def mean_gradient(theta, rows=slice(None)):
    return X[rows].T @ (X[rows] @ theta - Y[rows]) / len(Y[rows])


def descend(shared, gradient, arrival):
    shared["theta"] -= STEP * gradient["g"]


def drawn(seed, slowest=3.0):
    return lambda worker, clock: np.random.default_rng([seed, worker, clock]).uniform(0.1, slowest)


def queue_of(counts, rules, delay, apply=descend, kind=ParameterServer):
    """Return workers that have so many of the rows each; of a server that does not wait, a gradient counts by its."""
    stops = np.cumsum(counts) if sum(counts) == ROWS else np.full(len(counts), ROWS)
    shared = {"theta": np.zeros(3), **Tally.arrays(len(counts))}

    def worker(n, stop):
        def gradient(pulled):
            g = mean_gradient(pulled.arrays["theta"], slice(stop - n, stop))
            return {"g": g, WEIGHT: np.array([float(n)])} if kind is SynchronousServer else {"g": g * n / ROWS}

        return gradient

    return EventQueue(kind(shared, apply, rules), list(map(worker, counts, stops)), ("theta",), delay)


def sequential(updates):
    theta = np.zeros(3)
    for _ in range(updates):
        theta = theta - STEP * mean_gradient(theta)
    return theta


def play(queue, times):
    return [queue.play() for _ in range(times)]


uneven = st.sets(st.integers(1, ROWS - 1), max_size=4).map(lambda stops: np.diff([0, *sorted(stops), ROWS]).tolist())


@given(uneven, SEEDS, st.sampled_from([SynchronousServer, ParameterServer]))
def test_a_synchronous_server_or_a_lead_of_0_is_gradient_descent_whatever_the_slices(counts, seed, kind):
    """All of a round are computed from the same parameters; plain steps may then be added in any order."""
    queue = queue_of(counts, Rules(max_lead=0), drawn(seed), kind=kind)
    play(queue, 7 * len(counts))
    np.testing.assert_allclose(queue.server.shared["theta"], sequential(7), rtol=1e-12, atol=1e-14)
    assert kind is ParameterServer or staleness_of(queue.server.tally.histogram.sum(axis=0)) == (0.0, 0)


@pytest.mark.parametrize("rules", [Rules(), Rules(max_staleness=0), Rules(max_lead=0)])
def test_one_worker_is_gradient_descent_to_the_bit(rules):
    queue = queue_of([ROWS], rules, drawn(1))
    play(queue, 20)
    assert queue.server.shared["theta"].tobytes() == sequential(20).tobytes()


@given(st.integers(1, 6), st.integers(0, 5), SEEDS)
def test_no_worker_gets_further_ahead_than_the_bound_and_one_nor_is_held_back_more_than_that(workers, lead, seed):
    queue = queue_of([ROWS] * workers, Rules(max_lead=lead), drawn(seed, slowest=30.0))
    for _ in range(60):
        queue.play()
        assert np.ptp(queue.server.tally.clocks) <= lead + 1
    queue = queue_of([ROWS] * 3, Rules(max_lead=lead), lambda k, clock: 100.0 if k == 1 else 1.0)
    play(queue, 2 * (lead + 1))
    assert queue.server.tally.clocks.tolist() == [lead + 1, 0, lead + 1]
    assert queue.play() == 1


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_workers_of_one_speed_have_a_staleness_of_their_number_less_1(workers):
    queue = queue_of([ROWS] * workers, Rules(), lambda worker, clock: 1.0)
    assert play(queue, 5 * workers) == list(range(workers)) * 5
    histogram = queue.server.tally.histogram.sum(axis=0)
    first_round = np.bincount(np.arange(workers), minlength=BINS)  # all pulled at the start
    first_round[workers - 1] += 4 * workers
    assert histogram.tolist() == first_round.tolist()
    assert staleness_of(histogram)[1] == workers - 1


@given(st.integers(1, 6), st.integers(0, 4), SEEDS)
def test_every_gradient_is_applied_or_refused_and_counted(workers, limit, seed):
    ages = []

    def apply(shared, gradient, arrival):
        ages.append(arrival.staleness)
        return bool(gradient["g"][0] < 0)  # an outlier, for the sake of it: refused

    queue = queue_of([ROWS] * workers, Rules(max_staleness=limit), drawn(seed), apply)
    play(queue, 50)
    tally = queue.server.tally
    assert tally.applied.sum() + tally.refused.sum() == 50
    assert tally.clocks.sum() == 50
    assert max(ages, default=0) <= limit
    assert tally.version == tally.applied.sum() == tally.histogram.sum() == tally.increments[0]
    assert tally.lost() == 0
    assert tally.lost(np.array([tally.version - 3.0])) == 3, "an optimiser that counted three steps less"


def test_an_empty_gradient_is_neither_applied_nor_refused_and_what_was_pulled_does_not_change_any_more():
    shared, reports = {"theta": np.zeros(2), **Tally.arrays(1)}, []
    account = lambda worker, shared, gradient: reports.append(gradient.pop("report", 0))  # noqa: E731
    server = ParameterServer(shared, descend, account=account)
    server.push(0, {"report": np.ones(1)}, 0)
    assert (server.tally.version, server.tally.refused.sum(), server.tally.clocks[0], len(reports)) == (0, 0, 1, 1)
    pulled = server.pull(("theta",))
    server.push(0, {"g": np.ones(2)}, pulled.version)
    assert (pulled.version, pulled.arrays["theta"].tolist()) == (0, [0.0, 0.0])
    assert server.pull(("theta",)).version == 1


@given(st.integers(1, 6), st.integers(0, 3), SEEDS)
def test_those_are_admitted_that_may_pull_and_at_the_end_all(workers, lead, seed):
    rng = np.random.default_rng(seed)
    server = ParameterServer({"theta": np.zeros(2), **Tally.arrays(workers)}, descend, Rules(max_lead=lead))
    server.tally.clocks[:] = clocks = rng.integers(0, 6, workers)
    waiting = set(np.flatnonzero(rng.random(workers) < 0.7).tolist())
    first, expected = set(waiting), {worker for worker in waiting if clocks[worker] <= clocks.min() + lead}
    admitted = dict(server.admit(waiting, ("theta",)))
    assert set(admitted) == expected
    assert list(admitted) == sorted(admitted)
    assert waiting == first - expected
    assert all(pulled.arrays["theta"].tolist() == [0.0, 0.0] for pulled in admitted.values())
    assert dict(server.admit(waiting, ("theta",), lambda: True)) == dict.fromkeys(first - expected)
    assert waiting == set()
    assert all((server.tally.clocks[worker] == LEFT) == (worker in first - expected) for worker in range(workers))


def test_nobody_waits_for_a_worker_that_left():
    shared = {"theta": np.zeros(1), **Tally.arrays(3)}
    server = SynchronousServer(shared, descend, Rules(max_lead=0))
    server.push(0, {"g": np.ones(1)}, 0)
    server.push(1, {"g": np.ones(1)}, 0)
    assert not server.may_pull(0)
    assert server.tally.version == 0
    server.leave(2)
    assert server.tally.version == 2, "the round ends without it, as a mean of two"
    np.testing.assert_allclose(shared["theta"], -STEP)
    assert server.may_pull(0)
    assert shared[TALLY + "clocks"][2] == LEFT
