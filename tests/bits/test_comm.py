"""The small interface behind which MPI stands, tried with mpiexec: broadcast, gather, the counter, the agreement."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minitrpo.parallel.comm import SerialComm, connect
from minitrpo.parallel.episode_pool import StaticPool, concurrency, requests_for, slots_of

PROGRAM = """
import sys, numpy as np
from minitrpo.errors import BadInput
from minitrpo.parallel.episode_pool import DynamicPool
from minitrpo.parallel.comm import connect, launched_rank, launched_size
from minitrpo.supervision.launch import raise_on_all

def same(a, b):
    assert list(a) == list(b), (list(a), list(b))
    for x, y in zip(a.values(), b.values()):
        assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes(), (x, y)

def rows(rank):  # other rows, and other names, on every rank
    arrays = {
        "observations": np.arange(2.0 * rank).reshape(rank, 2) + rank,
        "single": np.full((rank, 3), 0.1 * rank, np.float32),
        "numbers": np.arange(rank, dtype=np.int64),
        "ended": np.arange(rank) % 2 == 0,
        "scalar": np.array(rank / 7),
    }
    return arrays | {f"of rank {rank}": np.array([rank])}

comm = connect()
assert (launched_rank(), launched_size()) == (comm.rank, comm.size)
assert ("mpi4py" in sys.modules) == (comm.size > 1)

# broadcast: what the others give is ignored, whatever it is
for root in {0, comm.size - 1}:
    for sent in (rows(5), {}, {"none": np.zeros((0, 4))}):
        given = sent if comm.rank == root else {"other": np.ones(comm.rank)}
        same(comm.broadcast(given, root), sent)
own = {"theta": np.arange(3.0)}
assert comm.broadcast(own)["theta"].flags.writeable

# gather: on the root one dict for each rank, in their order; nothing on the others
for give in (
    rows,  # rank 0 has arrays without rows
    lambda rank: {} if rank == 0 else rows(rank),
    lambda rank: rows(rank) if rank == 0 else {},
    lambda rank: rows(rank) if rank % 2 else {},
    lambda rank: {},
):
    parts = comm.gather(give(comm.rank))
    assert len(parts) == (comm.size if comm.rank == 0 else 0)
    for rank, part in enumerate(parts):
        same(part, give(rank))
assert comm.gather_objects(comm.rank) == (list(range(comm.size)) if comm.rank == 0 else [])
assert comm.broadcast_object(("root", comm.rank)) == ("root", 0)

# all_gather: everybody's rows, in rank order, on every rank
for dtype in (np.float64, np.float32):
    for count in ([rank for rank in range(comm.size)], [1] * comm.size):
        everything = comm.all_gather(np.full((count[comm.rank], 2, 3), comm.rank, dtype), count)
        expected = np.repeat(np.arange(comm.size), count).astype(dtype)
        assert everything.dtype == dtype and everything.shape == (sum(count), 2, 3)
        assert np.array_equal(everything[:, 1, 2], expected)

# all_to_all: what every rank has for this one, in rank order; some send nothing to some
def for_rank(source, target, dtype):
    return np.full(((source + 2 * target) % 3, 2), 10 * source + target, dtype)
for dtype in (np.float64, np.float32, np.int64, np.bool_):
    own = [for_rank(comm.rank, target, dtype) for target in range(comm.size)]
    theirs = [for_rank(source, comm.rank, dtype) for source in range(comm.size)]
    if comm.size > 1:
        got = comm.all_to_all(np.concatenate(own), list(map(len, own)), list(map(len, theirs)))
        same({"": got}, {"": np.concatenate(theirs)})

# split: those of one color, in their order
side = comm.split(comm.rank % 2)
mine = [rank for rank in range(comm.size) if rank % 2 == comm.rank % 2]
assert (side.size, side.rank) == (len(mine), mine.index(comm.rank))
assert np.array_equal(side.broadcast({"first": np.array([comm.rank])})["first"], mine[:1])

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
def refuse():
    if comm.rank == comm.size - 1:
        raise BadInput("no")
try:
    raise_on_all(comm, refuse)
    assert False
except BadInput as error:
    assert str(error) == "no"
assert raise_on_all(comm, lambda: comm.rank) == comm.rank
comm.close()
if comm.rank == 0:
    print("fine")
"""


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_every_call_on_real_ranks(ranks):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["mpiexec", "-n", str(ranks), sys.executable, "-c", PROGRAM],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fine\n"


def test_alone_needs_no_mpi():
    assert isinstance(connect(), SerialComm)
    arrays = {"rows": np.arange(6.0).reshape(3, 2)}
    (gathered,) = SerialComm().gather(arrays)
    assert gathered is arrays
    assert SerialComm().broadcast(arrays) is arrays
    assert SerialComm().all_gather(arrays["rows"], [3]) is arrays["rows"]
    assert SerialComm().all_to_all(arrays["rows"], [3], [3]) is arrays["rows"]


def test_fewer_ranks_than_were_started_are_noticed(monkeypatch):
    monkeypatch.setenv("MINITRPO_RANKS", "2")
    with pytest.raises(RuntimeError, match="2 ranks were started and this one sees 1"):
        connect()


@pytest.mark.parametrize(("requests", "ranks"), [(10, 3), (2, 5), (0, 2), (7, 1)])
def test_static_shares_cover_all_requests_once(requests, ranks):
    def share(rank):
        comm = SerialComm()
        comm.rank, comm.size = rank, ranks
        return list(iter(StaticPool(comm).draw_from(requests), None))

    shares = [share(rank) for rank in range(ranks)]
    assert sorted(number for share in shares for number in share) == list(range(requests))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("requests", "ranks", "width"), [(20, 2, 8), (5, 8, 16), (100, 2, 16), (1, 1, 16), (33, 2, 16)]
)
def test_a_rank_plays_a_fair_share_in_the_fewest_rounds(requests, ranks, width):
    found = concurrency(requests, ranks, width)
    share = -(-requests // ranks)
    assert 1 <= found <= width
    assert -(-share // found) == -(-share // width)  # no more rounds than all slots would need
    assert found * -(-share // width) - share < -(-share // width)  # and not a slot more than that takes


@pytest.mark.parametrize(("ranks", "slots"), [(1, 16), (3, 16), (5, 6), (16, 16)])
def test_slots_are_dealt_out_once(ranks, slots):
    owned = [list(slots_of(rank, ranks, slots)) for rank in range(ranks)]
    assert [slot for part in owned for slot in part] == list(range(slots))
    assert min(map(len, owned)) >= 1


def test_requests_follow_the_mean_length_of_the_last_batch():
    assert requests_for(5000, 50.0) == 100
    assert requests_for(10, 1000.0) == 1
