"""Simulated ranks do as ranks under mpiexec: the dynamic pool's timetable, collective calls, and a word for a hang."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.course.checks.framework.differential import Need
from minitrpo.course.checks.simulated_ranks import run
from minitrpo.course.mpi import run_mpi
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, make_vector_env
from minitrpo.parallel.comm import Counter
from minitrpo.parallel.episode_pool import gather_in_order, play_requests

PROGRAM = """
import time
from mpi4py import MPI
from mpi4py.util.sync import Counter
from minitrpo.parallel.episode_pool import gather_in_order, play_requests

comm = MPI.COMM_WORLD
slow_rank = 0

def play(number):
    time.sleep(0.02 if comm.rank == slow_rank else 0.001)
    return 0.1 * number

counter = Counter(comm=comm)
played = play_requests(counter, 12, play)
episodes = gather_in_order(comm, played)
counter.free()
"""


def plays(comm, counter, play):
    return play_requests(counter, counter.requests, play)


@given(st.lists(st.integers(1, 60), max_size=30), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_the_rank_that_is_free_first_plays_the_next_episode(lengths, slowness):
    free_at, wanted = np.zeros(len(slowness)), [[] for _ in slowness]
    for number, length in enumerate(lengths):
        rank = int(np.argmin(free_at))
        wanted[rank].append(number)
        free_at[rank] += length * slowness[rank]
    numbers = run(plays, len(lengths), lengths, slowness)
    assert [[number for number, _ in part] for part in numbers] == wanted


def program(comm, counter, play):
    return gather_in_order(comm, play_requests(counter, counter.requests, play))


@pytest.mark.parametrize("slowness", [[1.0], [1.0, 1.0], [7.0, 1.0, 1.0], [1.0, 1.0, 7.0, 1.0, 1.0]])
def test_rank_0_has_all_episodes_in_order_whoever_played_them(slowness):
    root, *others = run(program, 8, [3.0, 1, 1, 9, 2, 2, 5, 1], slowness)
    assert root == [number + 0.1 for number in range(8)]
    assert others == [[]] * len(others)


def skips(comm, counter, play):
    return comm.gather(1) if comm.rank != 1 else None


def two_calls(comm, counter, play):
    return comm.bcast(1) if comm.rank else comm.gather(1)


def both_receive(comm, counter, play):
    return comm.recv(source=1 - comm.rank)


def draws_for_ever(comm, counter, play):
    while True:
        counter.next()


@pytest.mark.parametrize(
    ("wrong", "ranks", "words"),
    [
        (skips, 3, "rank 0 waits in gather, rank 2 waits in gather, rank 1 has returned"),
        (two_calls, 2, "bcast"),
        (both_receive, 2, "rank 0 waits in recv from rank 1, rank 1 waits in recv from rank 0"),
        (draws_for_ever, 2, "belong to no request"),
    ],
)
def test_a_program_that_would_hang_ends_with_a_sentence(wrong, ranks, words):
    with pytest.raises(Need, match=words):
        run(wrong, 4, [1.0] * 4, [1.0] * ranks)


def test_what_a_rank_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        run(lambda comm, counter, play: 1 / comm.rank, 0, [], [1.0, 1.0])


def test_messages_and_reductions():
    def all_calls(comm, counter, play):
        if comm.rank:
            comm.send({"rank": comm.rank}, dest=0, tag=comm.rank)
        got = [comm.recv(source=r, tag=r)["rank"] for r in range(1, comm.size)] if comm.rank == 0 else []
        comm.barrier()
        return got, comm.bcast(comm.rank + 5), comm.allgather(comm.rank), comm.allreduce([comm.rank]), comm.reduce(1)

    first, second, _ = run(all_calls, 0, [], [1.0] * 3)
    assert first == ([1, 2], 5, [0, 1, 2], [0, 1, 2], 3)
    assert second == ([], 5, [0, 1, 2], [0, 1, 2], None)


def test_the_loop_of_the_package_is_the_loop_of_the_lecture():
    """One episode at a time, `Rollouts.play` draws the same numbers and plays the same episodes as `play_requests`."""
    spec = describe("CartPole-v1")
    policy = spec.policy((4,))
    theta, frozen = policy.initialise(np.random.default_rng(0)), ObservationFilter.identity(4, clip=np.inf)
    rollouts = Rollouts(spec, policy, make_vector_env(spec, 4), 3)

    def one(number):
        waiting = iter([number])
        [fragment] = rollouts.play(theta, frozen, 1, lambda: next(waiting, None), 1)
        return fragment

    counter, pool = Counter(), Counter()

    def draw():
        number = pool.next()
        return number if number < 5 else None

    lecture = play_requests(counter, 5, one)
    package = rollouts.play(theta, frozen, 1, draw, 1)
    assert [number for number, _ in lecture] == [int(fragment.numbers[0]) for fragment in package]
    assert all(np.array_equal(one.actions, other.actions) for (_, one), other in zip(lecture, package, strict=True))
    assert counter.next() == pool.next()


@pytest.mark.mpi
def test_under_mpiexec_the_episodes_are_the_same_on_1_2_and_3_ranks_with_a_slow_one():
    for ranks in (1, 2, 3):
        result = run_mpi(PROGRAM, ranks, data={"slow_rank": ranks - 1}, names=["episodes", "played"], timeout=60)
        assert result.ok, result.explanation
        assert result.values[0]["episodes"] == [0.1 * number for number in range(12)]
        assert sorted(n for values in result.values for n, _ in values["played"]) == list(range(12))
