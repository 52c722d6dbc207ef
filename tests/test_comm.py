"""The small interface behind which MPI stands, tried with mpiexec: broadcast, gather, the counter, the agreement."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minitrpo.parallel.pool import StaticPool, concurrency, slots_of, requests_for
from minitrpo.parallel.comm import SerialComm, connect

PROGRAM = """
import sys, numpy as np
from minitrpo.errors import BadInput
from minitrpo.parallel.pool import DynamicPool
from minitrpo.parallel.comm import connect, launched_rank, launched_size
from minitrpo.runs.launch import together

ranks = connect()
assert (launched_rank(), launched_size()) == (ranks.rank, ranks.size)
assert ("mpi4py" in sys.modules) == (ranks.size > 1)
vector = ranks.broadcast(np.arange(5.0) if ranks.rank == 0 else np.zeros(0))
assert np.array_equal(vector, np.arange(5.0))
for dtype, shape in ((float, (2,)), (np.int64, ()), (bool, ())):
    mine = np.full((ranks.rank, *shape), ranks.rank % 2, dtype)  # rank 0 has none
    everything = ranks.gather_rows(mine)
    if ranks.rank == 0:
        expected = np.concatenate([np.full((r, *shape), r % 2, dtype) for r in range(ranks.size)])
        assert everything.dtype == expected.dtype and np.array_equal(everything, expected)
pool = DynamicPool(ranks)
for requests in (100, 3, 0):
    ranks.barrier()
    pool.refill()
    ranks.barrier()
    mine = list(iter(pool.draw_from(requests), None))
    drawn = [number for part in ranks.gather_objects(mine) for number in part]
    assert ranks.rank != 0 or sorted(drawn) == list(range(requests))
    assert mine == sorted(mine)
def refuse():
    if ranks.rank == ranks.size - 1:
        raise BadInput("no")
try:
    together(ranks, refuse)
    assert False
except BadInput as error:
    assert str(error) == "no"
assert together(ranks, lambda: ranks.rank) == ranks.rank
ranks.close()
if ranks.rank == 0:
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
    rows = np.arange(6.0).reshape(3, 2)
    assert SerialComm().gather_rows(rows) is rows


@pytest.mark.parametrize(("requests", "ranks"), [(10, 3), (2, 5), (0, 2), (7, 1)])
def test_static_shares_cover_all_requests_once(requests, ranks):
    def share(rank):
        some = SerialComm()
        some.rank, some.size = rank, ranks
        return list(iter(StaticPool(some).draw_from(requests), None))

    shares = [share(rank) for rank in range(ranks)]
    assert sorted(number for share in shares for number in share) == list(range(requests))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("requests", "ranks", "width"), [(20, 2, 8), (5, 8, 16), (100, 2, 16), (1, 1, 16), (33, 2, 16)]
)
def test_hands_hold_a_fair_share_in_the_fewest_rounds(requests, ranks, width):
    hands = concurrency(requests, ranks, width)
    share = -(-requests // ranks)
    assert 1 <= hands <= width
    assert -(-share // hands) == -(-share // width)  # no more rounds than all slots would need
    assert hands * -(-share // width) - share < -(-share // width)  # and not a slot more than that takes


@pytest.mark.parametrize(("ranks", "slots"), [(1, 16), (3, 16), (5, 6), (16, 16)])
def test_lanes_are_shared_out_once(ranks, slots):
    owned = [list(slots_of(rank, ranks, slots)) for rank in range(ranks)]
    assert [slot for part in owned for slot in part] == list(range(slots))
    assert min(map(len, owned)) >= 1


def test_requests_follow_the_mean_length_of_the_last_batch():
    assert requests_for(5000, 50.0) == 100
    assert requests_for(10, 1000.0) == 1
