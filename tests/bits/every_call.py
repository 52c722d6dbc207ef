"""What ranks ask of each other, every call with every kind of argument: mpiexec -n 3 python every_call.py."""

import sys

import numpy as np
import pytest

from minitrpo.errors import BadInput
from minitrpo.parallel.comm import connect, launched_rank, launched_size
from minitrpo.parallel.episode_pool import DynamicPool
from minitrpo.supervision.launch import raise_on_all
from minitrpo.training.spread import WHERE, spread


def same(a, b):
    assert list(a) == list(b), (list(a), list(b))
    for x, y in zip(a.values(), b.values(), strict=True):
        assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()), (x, y)


def rows(rank):
    """Return other rows, and other names, on every rank; none on rank 0."""
    arrays = {
        "observations": np.arange(2.0 * rank).reshape(rank, 2) + rank,
        "single": np.full((rank, 3), 0.1 * rank, np.float32),
        "ended": np.arange(rank) % 2 == 0,
        "scalar": np.array(rank / 7),
    }
    return arrays | {f"of rank {rank}": np.array([rank])}


def broadcast_and_gather(comm):
    for root in {0, comm.size - 1}:
        for sent in (rows(5), {}, {"none": np.zeros((0, 4))}):  # what the others give is ignored, whatever it is
            same(comm.broadcast(sent if comm.rank == root else {"other": np.ones(comm.rank)}, root), sent)
    assert comm.broadcast({"theta": np.arange(3.0)})["theta"].flags.writeable
    some = (lambda rank: {} if rank == 0 else rows(rank), lambda rank: {} if rank else rows(rank), lambda rank: {})
    for give in (rows, *some):  # on the root one dict for each rank, in their order; nothing on the others
        parts = comm.gather(give(comm.rank))
        assert len(parts) == (comm.size if comm.rank == 0 else 0)
        for rank, part in enumerate(parts):
            same(part, give(rank))
    assert comm.gather_objects(comm.rank) == (list(range(comm.size)) if comm.rank == 0 else [])
    assert comm.broadcast_object(("root", comm.rank)) == ("root", 0)


def gather_and_send_to_all(comm):
    for dtype in (np.float64, np.float32):
        for count in (list(range(comm.size)), [1] * comm.size):
            everything = comm.all_gather(np.full((count[comm.rank], 2, 3), comm.rank, dtype), count)
            assert everything.dtype == dtype
            assert np.array_equal(everything[:, 1, 2], np.repeat(np.arange(comm.size), count).astype(dtype))
    for dtype in (np.float64, np.float32, np.int64, np.bool_) * (comm.size > 1):

        def for_rank(source, target, dtype=dtype):  # some send nothing to some
            return np.full(((source + 2 * target) % 3, 2), 10 * source + target, dtype)

        own = [for_rank(comm.rank, target) for target in range(comm.size)]
        theirs = [for_rank(source, comm.rank) for source in range(comm.size)]
        got = comm.all_to_all(np.concatenate(own), list(map(len, own)), list(map(len, theirs)))
        same({"": got}, {"": np.concatenate(theirs)})
    side = comm.split(comm.rank % 2)  # those of one color, in their order
    mine = [rank for rank in range(comm.size) if rank % 2 == comm.rank % 2]
    assert (side.size, side.rank) == (len(mine), mine.index(comm.rank))
    assert np.array_equal(side.broadcast({"first": np.array([comm.rank])})["first"], mine[:1])


def draw_from_a_pool(comm):
    comm.barrier(max_sleep=0.01)
    pool = DynamicPool(comm)
    for requests in (100, 3, 0):
        comm.barrier()
        pool.refill()
        comm.barrier()
        mine = list(iter(pool.draw_from(requests), None))
        drawn = [number for part in comm.gather_objects(mine) for number in part]
        assert comm.rank != 0 or sorted(drawn) == list(range(requests))
        assert mine == sorted(mine)


def refuse_together(comm):
    def refuse():
        if comm.rank == comm.size - 1:
            raise BadInput("no")

    with pytest.raises(BadInput, match="no"):  # also on those that could have gone on
        raise_on_all(comm, refuse)
    assert raise_on_all(comm, lambda: comm.rank) == comm.rank


def spread_rows(comm):
    """Rows go straight to those who need them: each once at its place, whoever had it, and nobody gets another."""
    for seed in range(8):
        rng = np.random.default_rng(seed)  # the same draws on every rank
        lengths = rng.integers(1, 9, int(rng.integers(1, 30)))
        numbers, starts = np.arange(len(lengths)) // 2, np.arange(len(lengths)) % 2 * 100  # two fragments of an episode
        stops = np.cumsum(lengths)
        total = int(stops[-1])
        batch = {"a": rng.standard_normal((total, 3)).astype("f4") + 9, "b": np.arange(1, total + 1)}
        owners = rng.integers(0, comm.size, len(lengths)) * (seed % 2)  # every other time rank 0 has all
        ends = np.sort(rng.integers(0, total + 1, (comm.size, 2)), axis=1)  # they overlap, and some need nothing
        mine = rng.permutation(np.flatnonzero(owners == comm.rank)) if comm.size > 1 else np.arange(len(lengths))
        own = np.concatenate([np.arange(0), *(np.arange(stops[i] - lengths[i], stops[i]) for i in mine)]).astype(int)
        where = dict(zip(WHERE, (numbers[mine], starts[mine], lengths[mine]), strict=True)) if len(mine) else {}
        needed = [slice(*map(int, pair)) for pair in ends]
        given = {name: array[own] for name, array in batch.items()} if len(mine) else {}
        got = spread(comm, where, given, lambda n, needed=needed, total=total: needed if n == total else None)
        assert list(got) == ["a", "b"]
        for name, array in batch.items():
            expected = np.zeros_like(array)
            expected[needed[comm.rank]] = array[needed[comm.rank]]
            same({name: got[name]}, {name: expected})


if __name__ == "__main__":
    comm = connect()
    assert (launched_rank(), launched_size()) == (comm.rank, comm.size)
    assert ("mpi4py" in sys.modules) == (comm.size > 1)
    calls = [broadcast_and_gather, gather_and_send_to_all, draw_from_a_pool, refuse_together, spread_rows]
    for call in calls:
        call(comm)
    comm.close()
    if comm.rank == 0:
        print("fine")
