"""MPI programs in cells: what they print and hand back, why wrong ones hang, and that no process is left of any."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from nbclient import NotebookClient

from minitrpo.course.mpi import diagram, run, run_mpi
from minitrpo.errors import BadInput
from minitrpo.supervision.mpiexec import launcher

pytestmark = pytest.mark.mpi
BEGIN = (
    "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"  # 4 lines
)

# Wrong programs, after the four lines of BEGIN: on how many ranks, the cause, and the ranks and lines to be named
PROGRAMS = r"""
=== both receive first: 2 ranks, cycle, ranks 0 1, lines 5
x = comm.recv(source=1 - rank)
comm.send(1, dest=1 - rank)
=== both send much first: 2 ranks, cycle, ranks 0 1, lines 6
much = np.zeros(10**6)
comm.Send(much, dest=1 - rank)
comm.Recv(much, source=1 - rank)
=== three in a circle: 3 ranks, cycle, ranks 0 1 2, lines 5
x = comm.recv(source=(rank + 1) % 3)
=== a pickled circle of sends: 3 ranks, cycle, ranks 0 1 2, lines 5
comm.ssend(7, dest=(rank + 1) % 3)
=== a wait for a request: 2 ranks, cycle, ranks 0 1, lines 6
r = comm.irecv(source=1 - rank)
x = r.wait()
=== waitall: 2 ranks, tag, ranks 0 1, lines 5
r = [comm.irecv(source=1 - rank, tag=3), comm.isend(3, dest=1 - rank, tag=4)]
MPI.Request.waitall(r)
=== receive from itself: 2 ranks, self, ranks 1, lines 6
if rank == 1:
    comm.recv(source=1)
=== send to itself: 2 ranks, self, ranks 1, lines 6
if rank == 1:
    comm.ssend(5, dest=1)
=== another tag: 3 ranks, tag, ranks 0 1, lines 6 8
if rank == 1:
    comm.send(1, dest=0, tag=7)
if rank == 0:
    comm.recv(source=1, tag=3)
=== another source: 3 ranks, source, ranks 0 1, lines 6 8
if rank == 1:
    comm.send(1, dest=0)
if rank == 0:
    comm.recv(source=2)
=== another communicator: 2 ranks, communicator, ranks 0 1, lines 7 9
other = comm.Dup()
if rank == 1:
    comm.send(1, dest=0)
else:
    other.recv(source=1)
=== a sender that has ended: 2 ranks, finished, ranks 0 1, lines 6
if rank == 0:
    comm.recv(source=1)
=== one message too few: 2 ranks, finished, ranks 0 1, lines 7
for i in range(4):
    if rank == 0:
        comm.recv(source=1)
    elif i < 3:
        comm.send(i, dest=0)
=== any source and no sender: 3 ranks, no sender, ranks 0, lines 6
if rank == 0:
    comm.recv()
else:
    comm.Barrier()
=== a skipped collective: 3 ranks, skipped, ranks 2, lines 6
if rank != 2:
    comm.allreduce(rank)
=== a rank that returns early: 3 ranks, skipped, ranks 1, lines 8
def work():
    if rank == 1:
        return
    comm.Barrier()

work()
=== a collective and a receive: 2 ranks, cycle, ranks 0 1, lines 6 8
if rank:
    comm.Barrier()
else:
    comm.recv(source=1)
=== different collectives: 3 ranks, collectives, ranks 0 1, lines 6 8
if rank == 0:
    comm.gather(rank)
else:
    comm.Barrier()
=== different roots: 3 ranks, roots, ranks 0 1, lines 5
comm.gather(rank, root=rank)
comm.Barrier()
=== different roots and a crash: 2 ranks, roots, ranks 0 1, lines 6 8
if rank == 0:
    x = comm.bcast({'rate': 0.1}, root=0)
else:
    x = comm.bcast(None, root=rank)
comm.reduce(1)
=== roots in another order: 2 ranks, roots, ranks 0 1, lines 6 8
if rank == 0:
    comm.Bcast(np.zeros(50000), root=1)
else:
    comm.Bcast(np.zeros(50000), root=0)
=== a child of Split: 4 ranks, skipped, ranks 3, lines 7
half = comm.Split(rank % 2)
if rank != 3:
    half.Barrier()
=== an endless loop: 3 ranks, computing, ranks 1, lines 6 7
if rank == 1:
    while True:
        pass
comm.Barrier()
=== an endless loop in numpy: 2 ranks, computing, ranks 0, lines 5 6
while rank == 0:
    np.sort(np.ones(1000))
comm.Barrier()
=== polling: 2 ranks, computing, ranks 0, lines 5 6
while not comm.iprobe(source=1 - rank):
    pass
=== an exception: 3 ranks, raised, ranks 1, lines 6
if rank == 1:
    [][0]
comm.Barrier()
=== an exception everywhere: 3 ranks, raised, ranks 0 1 2, lines 5
undefined
=== sys.exit: 2 ranks, raised, ranks 0, lines 7
import sys
if rank == 0:
    sys.exit('no data')
comm.Barrier()
=== os._exit: 2 ranks, raised, ranks 1, lines 7
import os
if rank == 1:
    os._exit(3)
comm.Barrier()
=== Abort: 2 ranks, raised, ranks 1, lines 6
if rank == 1:
    comm.Abort(3)
comm.Barrier()
=== killed: 2 ranks, exit, ranks 1, lines
import os
if rank == 1:
    os.kill(os.getpid(), 9)
comm.Barrier()
=== no such rank: 3 ranks, raised, ranks 0, lines 6
if rank == 0:
    comm.send(1, dest=5)
=== a wrong argument: 2 ranks, raised, ranks 0 1, lines 5
comm.recv(0, 0, 0, None, 1)
=== unequal counts: 3 ranks, raised, ranks 0, lines 6
all = np.zeros(size) if rank == 0 else None
comm.Gather(np.zeros(1 + rank), all)
=== a syntax error: 2 ranks, syntax, ranks, lines 5
print(rank
"""


def wrong_programs():
    """Return {name: (ranks, program, cause, ranks that it names, lines that it names)}."""
    found = {}
    for part in PROGRAMS.split("=== ")[1:]:
        head, _, program = part.partition("\n")
        name, ranks, cause, who, where = re.match(r"(.*): (\d) ranks, (.*), ranks *(.*), lines *(.*)", head).groups()
        found[name] = int(ranks), program, cause, set(map(int, who.split())), set(map(int, where.split()))
    return found


WRONG = wrong_programs()
QUICK = {"both receive first", "another tag", "a skipped collective", "an exception", "a syntax error"}


def slow_unless(quick, value):
    return value if quick else pytest.param(value, marks=pytest.mark.slow)


@pytest.fixture(autouse=True)
def quick_verdict(monkeypatch):
    """A deadlock is certain sooner than in a lecture: these programs compute nothing."""
    monkeypatch.setattr(run, "CERTAIN_S", 1.0)


@pytest.fixture(autouse=True)
def no_process_is_left(monkeypatch, tmp_path_factory):
    """After a test no process lives that names its temporary folder, as ranks do."""
    folder = str(tmp_path_factory.mktemp("programs"))
    monkeypatch.setattr(tempfile, "tempdir", folder)
    monkeypatch.setenv("TMPDIR", folder)  # of a kernel
    yield
    until = time.monotonic() + 10
    while left := [process for process in psutil.process_iter(["cmdline"]) if is_rank(process, folder)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


def is_rank(process, folder):
    return any(word.startswith(folder) for word in process.info["cmdline"] or [])


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in WRONG]
)
def test_a_wrong_program_ends_within_its_limit_and_its_cause_is_named(name):
    ranks, text, cause, who, where = WRONG[name]
    result = run_mpi(BEGIN + text + "\n", ranks, timeout=6 if cause == "computing" else 20)
    assert not result.ok
    assert result.code != 0
    assert result.seconds < 15
    assert result.cause == cause, result.explanation
    first = result.findings[0]
    assert who <= set(first.ranks), result.explanation
    assert (where & set(first.lines)) == where or (cause == "computing" and where & set(first.lines)), first
    assert "Traceback" not in result.explanation
    assert "program.py" not in result.explanation, "lines are those of the cell"
    for line in where & set(first.lines):
        assert str(line) in first.text


def test_the_call_of_each_rank_that_waits_is_shown_as_it_was_written():
    result = run_mpi(BEGIN + "if rank < 2:\n    x = [comm.recv(source=1 - rank,\n        tag=9)]\n", 3)
    where = [finding for finding in result.findings if finding.kind == "where"]
    assert [finding.ranks for finding in where] == [(0,), (1,), (2,)]
    assert all("`comm.recv(source=1 - rank, tag=9)`" in finding.text for finding in where[:2]), where


RING = BEGIN + (
    "numbers = [1, 2, 3]\n"
    "right, left = (rank + 1) % size, (rank - 1) % size\n"
    "total, passed = 0, numbers[rank % len(numbers)]\n"
    "for _ in range(size):\n"
    "    request = comm.isend(passed, dest=right, tag=1)\n"
    "    passed = comm.recv(source=left, tag=1)\n"
    "    request.wait()\n"
    "    total += passed\n"
    "print('total', total)\n"
    "print(f'end of {rank}', end='')\n"
)


@pytest.mark.parametrize(
    "ranks", [1, pytest.param(2, marks=pytest.mark.slow), 3, pytest.param(5, marks=pytest.mark.slow)]
)
def test_a_right_program_runs_with_other_data_and_hands_back_its_variables(ranks):
    data = np.arange(10.0) ** 2
    result = run_mpi(RING, ranks, data={"numbers": data}, names=["total", "missing"])
    assert result.ok, result.explanation
    assert result.values == tuple({"total": sum(data[:ranks])} for _ in range(ranks))
    assert result.outputs == tuple(f"total {sum(data[:ranks])}\nend of {rank}\n" for rank in range(ranks))
    assert (result.explanation, result.cause, result.notes) == ("", "", ())
    pairs = [(message.source, message.dest, message.tag) for message in result.messages]
    assert sorted(pairs) == sorted((rank, (rank + 1) % ranks, 1) for rank in range(ranks) for _ in range(ranks))
    assert all(message.sent <= message.received and message.size > 0 for message in result.messages)


EVERYTHING = (
    BEGIN
    + """from mpi4py.util.sync import Counter
buffer, out, root = np.full(4, 1.0 * rank), np.zeros(4), np.int64(0)
everything = np.zeros(4 * size)
comm.Bcast(buffer, root=root); comm.bcast(1); comm.Barrier(); comm.barrier()
comm.Reduce(buffer, out); comm.Allreduce(MPI.IN_PLACE, buffer); comm.reduce(rank)
comm.allreduce(rank, op=MPI.MAX)
comm.gather(rank); comm.Gather(buffer, everything if rank == 0 else None); comm.allgather(rank)
comm.Allgather(buffer, everything); comm.Gatherv(buffer, everything if rank == 0 else None)
comm.scatter(list(range(size)) if rank == 0 else None); comm.alltoall([rank] * size); comm.scan(rank)
comm.Scatter(everything if rank == 0 else None, out)
right, left = np.int64((rank + 1) % size), (rank - 1) % size
comm.sendrecv(rank, dest=right, source=left); comm.Sendrecv(buffer, right, 3, out, left, 3)
status = MPI.Status(); r = comm.Isend(buffer, right, 5); comm.probe(left, 5, status)
comm.Recv(out, left, 5)
assert status.source == left; r.Wait()
requests = [comm.isend('x' * n, right, n) for n in range(3)]
requests += [comm.irecv(source=left, tag=n) for n in range(3)]
assert MPI.Request.waitall(requests)[3:] == ['', 'x', 'xx']
requests = [comm.irecv(source=left), comm.isend(1, right)]
while not MPI.Request.testall(requests)[0]: pass
r = comm.irecv(source=MPI.ANY_SOURCE); comm.send(2, right)
while not r.test()[0]: pass
r = comm.isend('p', right); message = comm.mprobe(source=left); assert message.recv() == 'p'; r.wait()
r = comm.isend('q', right)
while (message := comm.improbe(source=left)) is None: pass
message.recv(); r.wait(); comm.Ibarrier().Wait(); comm.send(None, MPI.PROC_NULL)
half = comm.Split(rank % 2, rank); assert half.allreduce(1) == len(range(rank % 2, size, 2))
cart = comm.Create_cart([size], periods=[True]); source, dest = cart.Shift(0, 1)
assert cart.sendrecv(rank, dest, 0, None, source, 0) == source
copy = comm.Dup(); copy.Barrier(); copy.Free()
counter = Counter(comm=comm); drawn = [counter.next() for _ in range(3)]; counter.free()
window = MPI.Win.Allocate(8, 8, comm=comm); window.Fence(); window.Fence(); window.Free()
assert sorted(sum(comm.allgather(drawn), [])) == list(range(3 * size))
"""
)


@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_every_kind_of_call_works_as_without_the_recorder_and_no_message_counts_as_lost(tmp_path, ranks):
    result = run_mpi(EVERYTHING, ranks, timeout=30)
    assert result.ok, result.explanation
    assert result.notes == (), result.explanation
    assert all(message.receive is not None for message in result.messages)
    assert result.state.full == set()
    program = tmp_path / "plain.py"
    program.write_text(EVERYTHING)
    subprocess.run([launcher(), "-n", str(ranks), sys.executable, str(program)], check=True, timeout=60)


@pytest.mark.slow
def test_a_program_that_ends_although_messages_are_left_or_roots_differ_has_notes():
    result = run_mpi(BEGIN + "if rank == 1:\n    for _ in range(3): comm.send(1, dest=0, tag=7)\n", 2)
    assert result.ok
    assert [(note.kind, note.ranks, note.lines) for note in result.notes] == [("unreceived", (1, 0), (6,))]
    result = run_mpi(BEGIN + "comm.bcast(rank, root=rank)\n", 2)
    assert [note.kind for note in result.notes if result.ok] == ["roots"]
    result = run_mpi(BEGIN + "class Own: pass\nx, f = Own(), lambda: 1\n", 2, names=["x", "f"])
    assert result.values == ({}, {})
    assert {note.kind for note in result.notes} == {"value"}


LOST = (
    BEGIN + "import time\nif rank == 2:\n    comm.send(1, dest=0, tag=5); comm.send(2, dest=0, tag=6)\n"
    "if rank == 0:\n    comm.recv(source=2, tag=6)\n"
)


@pytest.mark.slow
def test_a_message_that_is_not_received_never_makes_a_program_fail_that_all_ranks_have_ended():
    for _ in range(6):  # MPI_Finalize fails, after which mpiexec kills the other ranks in some runs only
        result = run_mpi(LOST, 3)
        assert (result.ok, result.code) == (True, 0), result.explanation
        assert [(note.kind, note.ranks, note.lines) for note in result.notes] == [("unreceived", (2, 0), (7,))]


def test_a_rank_that_still_works_is_not_killed_because_another_rank_has_lost_a_message():
    late = "if rank == 1:\n    time.sleep(1.5)\nend = rank\n"
    result = run_mpi(LOST + late, 3, names=["end"])
    assert (result.ok, result.values) == (True, ({"end": 0}, {"end": 1}, {"end": 2})), result.explanation


@pytest.mark.slow
def test_collective_calls_in_another_order_are_named_also_if_mpi_raises():
    first, second = "comm.Bcast(x, root=0)", "comm.bcast(1, root=0)"
    text = f"comm.barrier() if rank else comm.Barrier()\nx = np.zeros(6)\nif rank == 0:\n    {first}\n    {second}\n"
    result = run_mpi(BEGIN + text + f"else:\n    {second}\n    {first}\n", 2)
    assert not result.ok
    (found,) = (finding for finding in (*result.findings, *result.notes) if finding.kind == "collectives")
    assert (found.ranks, found.lines) == ((0, 1), (8, 11))
    assert not [finding for finding in result.findings if finding.kind == "sizes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "end", "noted"),
    [
        (4, "0", True),
        (300_000, "0", True),
        (4, "r.Wait()", False),
        (300_000, "MPI.Request.Waitall([r])", False),
        (4, "r.Cancel(); r.Free()", False),
    ],
)
def test_a_receive_for_which_a_rank_never_waits_is_named_whether_its_message_arrives_or_not(length, end, noted):
    text = f"x = np.zeros({length})\nif rank == 0:\n    r = comm.Irecv(x, source=1)\n    {end}\n"
    result = run_mpi(BEGIN + text + "else:\n    comm.Send(x, dest=0)\n", 2, timeout=3)
    found = [finding for finding in (*result.findings, *result.notes) if finding.kind == "unwaited"]
    assert [(finding.ranks[0], finding.lines[0]) for finding in found] == [(0, 7)] * noted, result.explanation
    assert result.ok or noted


def test_the_numbers_of_buffers_that_differ_are_those_of_their_elements():
    text = "x = np.zeros(8, 'f8' if rank == 0 else 'f4')\ncomm.Bcast(x)\n"
    result = run_mpi(BEGIN + text, 2)
    (found,) = (finding for finding in (*result.findings, *result.notes) if finding.kind == "sizes")
    assert re.findall(r"(\d+)[a-z ]+(float\d+) \((\d+) ", found.text) == [
        ("8", "float64", "64"),
        ("8", "float32", "32"),
    ]


def test_arrays_that_a_collective_call_ignores_and_types_that_are_named_are_of_any_dtype():
    text = "x, y = np.full(2, 1.0 + rank), np.zeros(4, 'f8' if rank == 0 else 'i4')\ncomm.Gather(x, y)\n"
    text += "comm.Bcast([x, MPI.DOUBLE] if rank == 0 else [x.view('i8'), MPI.DOUBLE])\n"
    result = run_mpi(BEGIN + text + "z = x.tolist()\n", 2, names=["z"])
    assert (result.ok, result.notes) == (True, ()), result.explanation
    assert result.values == ({"z": [1.0, 1.0]}, {"z": [1.0, 1.0]})


@pytest.mark.slow
@pytest.mark.parametrize("call", ["reduce", "gather"])
def test_an_error_about_none_names_the_call_whose_result_only_its_root_has(call):
    result = run_mpi(BEGIN + f"x = comm.{call}(rank, root=1)\nlen(x) if '{call}' == 'gather' else x + 1\n", 3)
    assert result.cause == "raised", result.explanation
    found = [(finding.ranks, finding.lines) for finding in result.findings if finding.kind == "root only"]
    assert found == [((0, 2), (5,))], result.explanation
    result = run_mpi(BEGIN + "x = comm.allreduce(rank)\nNone + x\n", 3)
    assert {finding.kind for finding in result.findings} == {"raised"}


@pytest.mark.slow
def test_ranks_that_wait_for_themselves_are_named_in_their_order():
    result = run_mpi(BEGIN + "import time\ntime.sleep(0.2 * (1 - rank))\ncomm.ssend(1, dest=rank)\n", 2)
    assert [finding.ranks for finding in result.findings if finding.kind == "self"] == [(0,), (1,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("send", "receive", "kind"),
    [
        ("comm.Send(x, dest=1)", "comm.recv(source=0)", "letters"),
        ("comm.send(x, dest=1)", "comm.Recv(x, source=0)", "letters"),
        ("comm.send(1, dest=1)", "comm.Recv(np.zeros(100), source=0)", "letters"),
        ("comm.Send(x, dest=1)", "comm.Recv(x[:2], source=0)", "sizes"),
        ("comm.Send(x, dest=1)", "comm.Recv(x.astype('i8'), source=0)", "types"),
        ("comm.Send(x, dest=1)", "comm.Irecv(np.zeros(6, 'f4'), source=0).Wait()", "types"),
        ("comm.Bcast(x)", "comm.Bcast(x.astype('i8'))", "types"),
        ("comm.Gather(x, np.zeros(6, 'i8'))", "comm.Gather(x, None)", "types"),
        ("comm.Scatter(np.zeros(6), x)", "comm.Scatter(None, np.zeros(6, 'f4'))", "types"),
    ],
)
def test_a_receive_of_another_kind_or_with_too_little_room_is_named_whether_mpi_notices_or_not(send, receive, kind):
    result = run_mpi(f"{BEGIN}x = np.zeros(3)\nif rank == 0:\n    {send}\nelse:\n    {receive}\n", 2)
    (found,) = (finding for finding in (*result.findings, *result.notes) if finding.kind == kind)
    between = send.startswith(("comm.Send", "comm.send"))  # of a collective call, only the first rank's line is named
    assert (found.ranks, found.lines) == ((0, 1), (7, 9) if between else (7,))


@pytest.mark.slow
def test_what_a_program_prints_without_end_is_cut_and_slow_programs_are_not_called_deadlocks(monkeypatch):
    result = run_mpi("while True: print('again and again')\n", 2, timeout=3)
    assert result.cause == "computing"
    assert sum(map(len, result.outputs)) < 1_000_000
    slow = (
        BEGIN + "import time\nif rank:\n    comm.recv(source=0)\nelse:\n    time.sleep(4)\n    comm.send(1, dest=1)\n"
    )
    assert run_mpi(slow, 2, timeout=20).ok
    many = BEGIN + "for i in range(120_000): comm.iprobe() or comm.isend(i, 1 - rank).Free()\ncomm.Barrier()\n"
    assert run_mpi(many.replace("120_000", "200"), 2, timeout=20).ok


def test_a_request_that_cannot_be_met_is_one_line():
    for ranks, timeout in ((0, 5), (-1, 5), (1000, 5), (2, 0), (2, float("nan"))):
        with pytest.raises(BadInput) as error:
            run_mpi("", ranks, timeout=timeout)
        assert "\n" not in str(error.value)


CELLS = [
    "%load_ext minitrpo.course.mpi",
    "%%mpi -n 3 --save ring.py --name ring --show --by-rank\n" + RING,
    "print(ring == open('ring.py').read())",
    "%%mpi -n 2 --fails\nfrom mpi4py import MPI\nMPI.COMM_WORLD.recv(source=MPI.COMM_WORLD.rank)",
    "%%mpi --ranks 3\nprint(1)",
    "%%mpi -n 2\n\n1 / 0",
    "%%mpi -n 2\n\nprint(",
    "import sys\nprint('mpi4py' in sys.modules)",
]


@pytest.mark.slow
def test_cells_run_in_a_kernel_which_never_starts_mpi(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, allow_errors=True, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    _, ring, saved, deadlock, unknown, raised, syntax, kernel = (cell.outputs for cell in notebook.cells)
    printed = "".join(output.get("text", "") for output in ring)
    assert re.findall(r"^rank (\d) \| ", printed, re.MULTILINE) == list("001122")
    assert any("image/png" in output.get("data", {}) for output in ring)
    assert saved[0].text == "True\n"
    assert "rank 0, line 3" in deadlock[0].text
    for outputs, line in ((unknown, "--ranks"), (raised, "line 3"), (syntax, "line 3")):
        (error,) = outputs
        assert error.output_type == "error"
        assert (len(error.traceback), line in error.traceback[0]) == (1, True), error
    assert kernel[0].text == "False\n"
    words = [launcher(), "-n", "3", sys.executable, "ring.py"]
    # With PYTHONUNBUFFERED, `print` writes its arguments one by one, and those of several ranks may mix in a line.
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    done = subprocess.run(words, cwd=tmp_path, env=buffered, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("total 6") == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["both receive first", "a skipped collective", "an exception"])
def test_the_diagram_of_any_program_can_be_drawn(name):
    ranks, text, *_ = WRONG[name]
    figure = diagram.draw(run_mpi(BEGIN + text, ranks).state)
    assert figure.get_size_inches()[0] * figure.dpi <= 1280
    assert figure.encoded()[:4] == b"\x89PNG"


def test_the_diagram_shows_every_message_and_says_how_many_bytes_and_who_waits():
    text = "import time\nif rank == 0:\n    time.sleep(0.5)\n    comm.send('x' * 1000, dest=1)\n"
    text += "if rank == 1:\n    comm.recv()\n"
    result = run_mpi(BEGIN + text, 2)
    figure = diagram.draw(result.state)
    (axis,) = figure.axes
    arrows = [each for each in axis.texts if getattr(each, "arrow_patch", None) is not None]
    assert len(arrows) == len(result.messages) == 1
    said = axis.get_title()
    assert f"{result.messages[0].size:,} bytes" in said
    assert re.search(r"rank 1 waits (\d+) %", said)
    assert int(re.search(r"(\d+) %", said)[1]) > 50
    assert diagram.draw(run_mpi("print(1)", 1).state).encoded()


def test_programs_are_files_too(tmp_path):
    file = tmp_path / "hello.py"
    file.write_text("print('hello')\nanswer = 42\n")
    assert run_mpi(Path(file), 1, names=["answer"]).values == ({"answer": 42},)


@pytest.mark.slow
def test_a_plain_program_is_not_recorded_and_nothing_is_said_of_its_calls():
    result = run_mpi(RING, 2, names=["total"], record=False)
    assert (result.ok, result.values, result.messages, result.calls) == (True, ({"total": 3}, {"total": 3}), [], [])
    result = run_mpi(BEGIN + "comm.recv(source=1 - rank)", 2, timeout=3, record=False)
    assert (result.cause, {finding.lines for finding in result.findings if finding.kind == "where"}) == (
        "calls",
        {(5,)},
    )
