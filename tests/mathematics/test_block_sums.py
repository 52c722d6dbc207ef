"""Sums over blocks: every row once, and the same bits whoever computes which part."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.block_sums import FAN, SERIAL, Blocks, Reduction, blocks, ordered_sum, tree_sum
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.parallel.comm import Comm
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.trpo import Batch, trpo_step

QUICK = settings(max_examples=30)


class Recorded(Reduction):
    """One process that computes all parts and keeps what it added up."""

    def __init__(self):
        self.sums = []

    def sum(self, parts, count):
        assert len(parts) == count
        self.sums.append(parts.copy())
        return super().sum(parts, count)


def rehearsed(work, size):
    """Return work(reduction) of one process, and of each of `size` ranks, one after the other in this process.

    A rank is given, at every sum, the parts that the one process added up: those it computed itself must be among
    them, at its place, to the bit.
    """
    alone = Recorded()
    results = [work(alone)]
    for rank in range(size):
        comm, sums = Comm(), iter(alone.sums)
        comm.rank, comm.size = rank, size

        def all_gather(own, rows, rank=rank, sums=sums):
            everything, start = next(sums), sum(rows[:rank])
            assert sum(rows) == len(everything)
            assert own.dtype == everything.dtype
            assert np.array_equal(own, everything[start : start + rows[rank]])
            return everything

        comm.all_gather = all_gather
        results.append(work(ordered_allreduce(comm)))
        assert next(sums, None) is None, "a rank takes part in all sums"
    return results


@given(st.integers(0, 10**5), st.integers(1, 3000))
@QUICK
def test_blocks_cover_all_rows_once_in_order_and_evenly(rows, size):
    slices = blocks(rows, size)
    assert [s.start for s in slices] == [0, *(s.stop for s in slices)][: len(slices)]
    assert sum(s.stop - s.start for s in slices) == rows
    lengths = [s.stop - s.start for s in slices] or [1]
    assert 0 < min(lengths) <= max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
    assert len(slices) == -(-rows // size)


def test_parts_are_added_from_the_first_to_the_last_and_many_by_groups():
    parts = np.array([[1e16], [1.0], [1.0], [-1e16]])
    assert ordered_sum(parts) == SERIAL.sum(parts, 4) == 0.0  # any other order keeps some of the ones
    assert parts[0] == 1e16
    x = np.random.default_rng(0).standard_normal((FAN**2 + FAN + 3, 2))
    assert np.array_equal(tree_sum(x[:FAN]), ordered_sum(x[:FAN]))
    assert np.array_equal(tree_sum(x[: FAN + 1]), ordered_sum(x[:FAN]) + x[FAN])
    last = ordered_sum(np.array([ordered_sum(x[FAN**2 : FAN**2 + FAN]), ordered_sum(x[FAN**2 + FAN :])]))
    groups = ordered_sum(np.array([ordered_sum(x[i * FAN : (i + 1) * FAN]) for i in range(FAN)]))
    assert np.array_equal(tree_sum(x), groups + last)
    assert np.array_equal(SERIAL.sum(x, len(x)), tree_sum(x))


@given(st.integers(1, 9000), st.integers(0, 1000))
@QUICK
def test_a_mean_over_blocks_is_the_mean_of_numbers_and_of_arrays(rows, seed):
    x = np.random.default_rng(seed).standard_normal((rows, 3))
    all_blocks = Blocks(rows)
    means = [x[r].mean(axis=0) for r in all_blocks.slices]
    np.testing.assert_allclose(all_blocks.mean(means, (3,)), x.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(all_blocks.mean([mean[0] for mean in means], ()), x[:, 0].mean(), atol=1e-13)
    assert sum(map(all_blocks.weight, all_blocks.slices)) == pytest.approx(1.0)


@given(st.integers(1, 20), st.integers(0, 100))
@QUICK
def test_parts_are_dealt_out_once_in_rank_order_and_evenly(size, count):
    own = []
    for rank in range(size):
        comm = Comm()
        comm.rank, comm.size = rank, size
        own.append(list(range(count))[ordered_allreduce(comm).share(count)])
    assert [part for parts in own for part in parts] == list(range(count))
    assert max(map(len, own)) - min(map(len, own)) <= 1


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize("learner", [GaussianPolicy(5, 3, (16, 8)), CategoricalPolicy(5, 3, (16, 8)), LinearCritic(5),
                                     MLPCritic(5, (16, 8), epochs=2, minibatch=100)])  # fmt: skip
def test_a_shared_step_and_a_shared_fit_have_the_bits_of_a_whole_one(learner, size):
    rng = np.random.default_rng(size)
    observations, times, fresh = rng.standard_normal((4000, 5)), 1.0 * np.arange(4000), learner.initialise(rng)
    if isinstance(fresh, dict):

        def learned(reduction):
            targets = np.sin(observations[:, 0]) + 0.01 * times
            samples = {"observations": observations, "timesteps": times, "targets": targets}
            return learner.fit(fresh, samples, np.random.default_rng(1), reduction)

    else:
        actions = learner.sample(learner.distribution(fresh, observations), learner.draw_noise(rng, 4000))

        def learned(reduction):
            batch = Batch(observations, actions, observations[:, 0], reduction)
            theta, report = trpo_step(learner, fresh, batch, 0.01)
            assert report.search.accepted
            return {"theta": theta, "gradient": report.gradient, "kl": np.array(report.search.kl)}

    one, *others = rehearsed(learned, size)
    for other in others:
        assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in other.items()}


PROGRAM = """
import numpy as np
from minitrpo.parallel.comm import connect
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.block_sums import tree_sum

everybody = connect()
for per_node in (2, 5):
    some, expected = everybody.split_per_node(per_node), min(everybody.size, per_node)
    assert (some is None) == (everybody.rank >= expected)
    if some is None:
        continue
    assert (some.size, some.rank) == (expected, everybody.rank)
    assert some.broadcast({"rank": np.array([some.rank])})["rank"].tolist() == [0]
    side = some.split(int(some.rank > 0))
    assert (side.size, side.rank) == ((1, 0) if some.rank == 0 else (some.size - 1, some.rank - 1))
    reduction = ordered_allreduce(some)
    for count in (1, 7, 32, 33, 64, 65, 1025, 1100):
        for shape in ((3,), (2, 2)):
            parts = np.random.default_rng(count).standard_normal((count, *shape))
            parts *= 10.0 ** np.arange(count).reshape(-1, *[1] * len(shape)).clip(0, 20)
            total = reduction.sum(parts[reduction.share(count)], count)
            assert total.tobytes() == tree_sum(parts).tobytes(), (count, some.size)
        sizes = [part % 4 for part in range(count)]
        ends, own = np.cumsum([0, *sizes]), reduction.share(count)
        rows = np.arange(float(ends[-1]))
        assert np.array_equal(reduction.all_gather(rows[ends[own.start] : ends[own.stop]], sizes), rows)
print("equal")
"""


@pytest.mark.mpi
def test_sums_and_collections_of_real_ranks_have_the_bits_of_one_process():
    """Of two ranks while a third is left out, and of all three; whole updates are in test_conformance.py."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["mpiexec", "-n", "3", sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal") == 3
