"""Gradients of ones, pushed over both transports and counted: mpiexec -n 3 python every_gradient.py."""

import time

import numpy as np

from minitrpo.parallel.comm import connect
from minitrpo.parallel.mailbox import Mail, MailStore, serve
from minitrpo.parallel.parameter_server import ParameterServer, Rules, Tally, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore, one_machine

LEFT, NONE = 2**62, 10**9
NAMES = ("theta", "tally_clocks")


def apply(shared, gradient, arrival):
    assert gradient["of"].tolist() == [arrival.worker]
    shared["theta"] += gradient["g"]  # integers: what is lost can be counted


def books(shared, transport, total, limit):
    tally = Tally(shared)
    pushed, theta = tally.applied + tally.refused, shared["theta"]
    assert pushed.sum() >= total, pushed
    assert tally.histogram.sum() == tally.version == tally.applied.sum()
    if transport == "server":  # loses nothing
        assert (theta == tally.version).all()
        assert tally.lost() == 0
    else:
        assert 0 < theta.min() <= theta.max() <= tally.version
        assert 0 <= tally.lost() < tally.version
    assert np.flatnonzero(tally.histogram.sum(axis=0))[-1] <= limit
    assert limit < NONE or tally.refused.sum() == 0


def count(comm, transport, lead, limit, per_worker):
    workers, number = comm.size - (transport == "server"), comm.rank - (transport == "server")
    fresh, total, worst = {"theta": np.zeros(5000, np.int64), **Tally.arrays(workers)}, workers * per_worker, [0]

    def work(pulled):
        clocks = pulled.arrays["tally_clocks"]
        there = clocks[clocks < LEFT]
        worst[0] = max(worst[0], int(clocks[number] - there.min()) if len(there) else 0)
        pulled.arrays["theta"][:] = -1  # a copy of the worker's own
        if number == 0:
            time.sleep(0.0005)  # one is slow
        return {"g": np.ones(5000, np.int64), "of": np.array([number])}

    def over():
        return server.tally.applied.sum() + server.tally.refused.sum() >= total

    if transport == "window":
        window = SharedWindow(comm, fresh)
        server = ParameterServer(window.arrays, apply, Rules(limit, lead))
        work_through(WindowStore(server, number, NAMES, over), work)
        comm.barrier()
        if comm.rank == 0:
            books(window.arrays, transport, total, limit)
        comm.barrier()
        window.free()
    else:
        mail = Mail(comm)
        if comm.rank == 0:
            server, looks = ParameterServer(fresh, apply, Rules(limit, lead)), []
            serve(mail, server, workers, NAMES, over, lambda: looks.append(1))
            books(fresh, transport, total, limit)
            assert len(looks) == server.tally.applied.sum() + server.tally.refused.sum()
        else:
            work_through(MailStore(mail), work)
        mail.close()
    leads = comm.gather_objects(worst[0])
    assert comm.rank or max(leads) <= lead, leads  # at a pull; one more when it has pushed


if __name__ == "__main__":
    comm = connect()
    assert one_machine(comm)
    for transport in ("server", "window"):
        for lead, limit, per_worker in ((NONE, NONE, 200), (2, NONE, 60), (NONE, 0, 60)):
            count(comm, transport, lead, limit, per_worker)
    comm.close()
    if comm.rank == 0:
        print("fine")
