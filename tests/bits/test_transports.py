"""The real transports, on several ranks: every gradient is counted, and a server loses nothing."""

import numpy as np
import pytest

from minitrpo.errors import BadInput
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.parameter_server import ParameterServer, Rules, Tally, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore, one_machine
from minitrpo.supervision.jobs import mpiexec_code
from minitrpo.training.asynchronous import transport_of
from minitrpo.training.settings import chosen

PROGRAM = """
import sys, time, numpy as np
from minitrpo.parallel.comm import connect
from minitrpo.parallel.mailbox import Mail, MailStore, serve
from minitrpo.parallel.parameter_server import ParameterServer, Rules, Tally, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore, one_machine

transport, lead, limit, per_worker = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
comm = connect()
workers = comm.size - (transport == "server")
number = comm.rank - (transport == "server")
total = workers * per_worker
assert one_machine(comm)

def apply(shared, gradient, arrival):
    assert gradient["of"].tolist() == [arrival.worker]
    shared["theta"] += gradient["g"]  # integers: what is lost can be counted
    shared["last"][arrival.worker] = gradient["g"][0]

def work(pulled):
    clocks = pulled.arrays["tally_clocks"]
    there = clocks[clocks < 2**62]
    worst[0] = max(worst[0], int(clocks[number] - there.min()) if len(there) else 0)
    assert pulled.arrays["theta"].flags.writeable
    pulled.arrays["theta"][:] = -1  # a copy of the worker's own
    if number == 0:
        time.sleep(0.0005)  # one is slow
    return {"g": np.ones(5000, np.int64), "of": np.array([number])}

worst = [0]
fresh = {"theta": np.zeros(5000, np.int64), "last": np.zeros(workers, np.int64), **Tally.arrays(workers)}
names = ("theta", "tally_clocks")
rules = Rules(limit, lead)

def books(shared):
    tally = Tally(shared)
    pushed = tally.applied + tally.refused
    theta = shared["theta"]
    assert pushed.sum() >= total, pushed
    assert tally.histogram.sum() == tally.version == tally.applied.sum()
    if transport == "server":
        assert (theta == tally.version).all(), "a server loses nothing"
        assert tally.lost() == 0
    else:
        assert 0 < theta.min() <= theta.max() <= tally.version
        assert 0 <= tally.lost() < tally.version
    assert np.flatnonzero(tally.histogram.sum(axis=0))[-1] <= limit
    print(*pushed, "refused", tally.refused.sum(), "lost", tally.lost())

if transport == "window":
    window = SharedWindow(comm, fresh)
    server = ParameterServer(window.arrays, apply, rules)
    clocks = window.arrays["tally_clocks"]
    def over():
        return server.tally.applied.sum() + server.tally.refused.sum() >= total
    work_through(WindowStore(server, number, names, over), work)
    comm.barrier()
    if comm.rank == 0:
        books(window.arrays)
    comm.barrier()
    window.free()
else:
    mail = Mail(comm)
    if comm.rank == 0:
        server = ParameterServer(fresh, apply, rules)
        looks = []
        over = lambda: server.tally.applied.sum() + server.tally.refused.sum() >= total
        serve(mail, server, workers, names, over, lambda: looks.append(1))
        books(fresh)
        assert len(looks) == server.tally.applied.sum() + server.tally.refused.sum()
    else:
        work_through(MailStore(mail), work)
    mail.close()
leads = comm.gather_objects(worst[0])
if comm.rank == 0:
    assert max(leads) <= lead, leads  # at a pull; one more when it has pushed
comm.close()
"""


@pytest.mark.parametrize("transport", ["server", "window"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_gradient_is_applied_or_refused_and_counted(transport, ranks):
    out = mpiexec_code(ranks, PROGRAM, transport, 10**9, 10**9, 200)
    assert "refused 0" in out


@pytest.mark.parametrize("transport", ["server", "window"])
def test_staleness_and_lead_are_bounded(transport):
    out = mpiexec_code(3, PROGRAM, transport, 2, 10**9, 60)
    pushed = [int(n) for n in out.split("refused")[0].split()]
    assert max(pushed) - min(pushed) <= 3
    mpiexec_code(3, PROGRAM, transport, 10**9, 0, 60)  # `books` looks at the histogram


def test_one_process_needs_no_mpi():
    comm = SerialComm()
    assert one_machine(comm)
    window = SharedWindow(comm, {"theta": np.arange(3.0), "odd": np.ones(5, np.uint8), **Tally.arrays(1)})

    def apply(shared, gradient, arrival):
        shared["theta"] -= gradient["g"]

    server = ParameterServer(window.arrays, apply, Rules(max_lead=0))
    looks = []
    store = WindowStore(server, 0, ("theta",), lambda: server.tally.version == 10, lambda: looks.append(1))
    work_through(store, lambda pulled: {"g": np.ones(3)})
    assert window.arrays["theta"].tolist() == [-10.0, -9.0, -8.0]
    assert window.arrays["odd"].tolist() == [1] * 5
    assert len(looks) == 10


@pytest.mark.parametrize(
    ("algorithm", "own", "shares_memory", "transport"),
    [
        ("a3c", {}, True, "window"),
        ("a3c", {}, False, "server"),
        ("a3c", {"servers": 2}, True, "server"),
        ("gorila", {}, True, "window"),
        ("gorila", {"servers": 2}, True, "server"),
        ("a3c", {"transport": "server"}, True, "server"),
        ("a3c", {"transport": "events"}, False, "events"),
    ],
)
def test_auto_is_the_window_where_all_share_memory_and_nobody_is_asked_to_serve(
    algorithm, own, shares_memory, transport
):
    choice = chosen({"env": "CartPole-v1", "algorithm": algorithm, **own})
    assert transport_of(choice, shares_memory, 4) == transport


@pytest.mark.parametrize(
    ("own", "shares_memory", "ranks", "words"),
    [
        ({"transport": "window"}, False, 4, "share no memory"),
        ({"transport": "window", "servers": 2}, True, 4, "--servers 2"),
        ({"transport": "server", "servers": 2}, True, 2, "nobody collects"),
    ],
)
def test_a_transport_that_cannot_be_had_is_one_line(own, shares_memory, ranks, words):
    choice = chosen({"env": "CartPole-v1", "algorithm": "a3c", **own})
    with pytest.raises(BadInput, match=words) as raised:
        transport_of(choice, shares_memory, ranks)
    assert "\n" not in str(raised.value)
