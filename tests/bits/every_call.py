"""What ranks ask of each other, with every kind of argument, and gradients: mpiexec -n 3 python every_call.py."""

import sys
import time

import numpy as np
import pytest

from minitrpo.errors import BadInput
from minitrpo.parallel.comm import connect, on_all, on_root
from minitrpo.parallel.episode_pool import DynamicPool
from minitrpo.parallel.mailbox import Mail, MailStore, serve
from minitrpo.parallel.parameter_server import LEFT, TALLY, ParameterServer, Rules, Tally, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore
from minitrpo.parallel.this_process import launched_rank, launched_size

NONE = 10**9
CLOCKS = TALLY + "clocks"
NAMES = ("theta", CLOCKS)


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
    for sent in (rows(5), {}, {"none": np.zeros((0, 4))}):  # what the others give is ignored, whatever it is
        same(comm.broadcast(sent if comm.rank == 0 else {"other": np.ones(comm.rank)}), sent)
    assert comm.broadcast({"theta": np.arange(3.0)})["theta"].flags.writeable
    some = (lambda rank: {} if rank == 0 else rows(rank), lambda rank: {} if rank else rows(rank), lambda rank: {})
    for give in (rows, *some):  # on the root one dict for each rank, in their order; nothing on the others
        parts = comm.gather(give(comm.rank))
        assert len(parts) == (comm.size if comm.rank == 0 else 0)
        for rank, part in enumerate(parts):
            same(part, give(rank))
    assert comm.gather(comm.rank) == (list(range(comm.size)) if comm.rank == 0 else [])
    assert comm.broadcast(("root", comm.rank)) == ("root", 0)


def gather_and_send_to_all(comm):
    for dtype in (np.float64, np.float32):
        for count in (list(range(comm.size)), [1] * comm.size):
            everything = comm.all_gather(np.full((count[comm.rank], 2, 3), comm.rank, dtype), count)
            assert everything.dtype == dtype
            assert np.array_equal(everything[:, 1, 2], np.repeat(np.arange(comm.size), count).astype(dtype))
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
        drawn = [number for part in comm.gather(mine) for number in part]
        assert comm.rank != 0 or sorted(drawn) == list(range(requests))
        assert mine == sorted(mine)


def refuse_together(comm):
    def refuse():
        if comm.rank == comm.size - 1:
            raise BadInput("no")

    with pytest.raises(BadInput, match="no"):  # also on those that could have gone on
        on_all(comm, refuse)
    assert on_all(comm, lambda: comm.rank + 7) == comm.rank + 7
    assert on_root(comm, lambda: comm.rank) == 0


# --- gradients of ones over both transports: what is lost can be counted


def apply(shared, gradient, arrival):
    assert gradient["of"].tolist() == [arrival.worker]
    shared["theta"] += gradient["g"]


def check_books(shared, transport, total, limit):
    tally, theta = Tally(shared), shared["theta"]
    assert (tally.applied + tally.refused).sum() >= total
    assert tally.histogram.sum() == tally.version == tally.applied.sum()
    if transport == "server":  # loses nothing
        assert (theta == tally.version).all()
        assert tally.lost() == 0
    else:
        assert 0 < theta.min() <= theta.max() <= tally.version
        assert 0 <= tally.lost() < tally.version
    assert np.flatnonzero(tally.histogram.sum(axis=0))[-1] <= limit
    assert limit < NONE or tally.refused.sum() == 0


def push_gradients(comm, transport, lead, limit, per_worker):
    workers, number = comm.size - (transport == "server"), comm.rank - (transport == "server")
    fresh, total, worst = {"theta": np.zeros(5000, np.int64), **Tally.arrays(workers)}, workers * per_worker, [0]

    def work(pulled):
        clocks = pulled.arrays[CLOCKS]
        worst.append(clocks[number] - min(clocks[clocks < LEFT], default=clocks[number]))
        pulled.arrays["theta"][:] = -1  # a copy of the worker's own
        if number == 0:
            time.sleep(0.0005)  # one is slow
        return {"g": np.ones(5000, np.int64), "of": np.array([number])}

    def over():
        return server.tally.applied.sum() + server.tally.refused.sum() >= total

    window, mail = (SharedWindow(comm, fresh), None) if transport == "window" else (None, Mail(comm))
    shared = window.arrays if window else fresh
    server = ParameterServer(shared, apply, Rules(limit, lead))
    if window:
        work_through(WindowStore(server, number, NAMES, over), work)
    elif comm.rank == 0:
        serve(mail, server, workers, NAMES, over, lambda: None)
    else:
        work_through(MailStore(mail), work)
    comm.barrier()
    if comm.rank == 0:
        check_books(shared, transport, total, limit)
    comm.barrier()
    window.free() if window else mail.close()
    assert max(worst) <= lead  # at a pull; one more when it has pushed


def gradients_are_counted(comm):
    assert comm.one_machine()
    for transport in ("server", "window"):
        for lead, limit, per_worker in ((NONE, NONE, 200), (2, NONE, 60), (NONE, 0, 60)):
            push_gradients(comm, transport, lead, limit, per_worker)


if __name__ == "__main__":
    comm = connect()
    assert (launched_rank(), launched_size()) == (comm.rank, comm.size)
    assert ("mpi4py" in sys.modules) == (comm.size > 1)
    calls = [broadcast_and_gather, gather_and_send_to_all, draw_from_a_pool, refuse_together]
    for call in (*calls, gradients_are_counted) if comm.size == 3 else calls:
        call(comm)
    comm.close()
    if comm.rank == 0:
        print("fine")
