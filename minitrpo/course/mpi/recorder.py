"""The thin communicator: it runs a student's program as one rank, and writes down each MPI call before and after it.

`mpiexec -n RANKS python recorder.py FOLDER` runs it, and nothing imports it: the process that launches never loads MPI.
FOLDER/job.json names the program. A rank appends lines of JSON to FOLDER/rankR.jsonl, which survive when the rank is
killed; record.py reads them. The entry `e` says what a line is:

    start     pid                     the rank has begun
    comm      id, members             a communicator, and its members as ranks of COMM_WORLD
    call      n, name, at, comm, ...  a call begins: its number, its place in the program, its arguments
    size      n, size                 bytes of the pickled object that call n is about to send
    done      n, got                  call n has returned; got: messages that it received
    failed    n                       call n has raised
    out       text, stream            the program has printed
    raised    line, type, text        the program ended by an exception, or by os._exit
    full                              the rank makes calls that are not written down
    end                               the program has come to its end
"""

import ast
import faulthandler
import inspect
import io
import itertools
import json
import operator
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

import mpi4py.MPI

MPI: Any = mpi4py.MPI  # the module whose classes `install` replaces

MOST_CALLS = 100_000  # of one rank; later calls are only counted
MOST_TEXT = 200_000  # characters that one rank prints
TOGETHER_S = 0.3  # a rank that raises waits so long before it ends the job: mostly the others raise the same

# The methods of a communicator that are written down, and of a window those that may wait
NAMES = {
    "send": "send bsend ssend isend ibsend issend Send Bsend Ssend Rsend Isend Ibsend Issend Irsend",
    "receive": "recv Recv irecv Irecv mprobe Mprobe",
    "both": "sendrecv Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace",
    "probe": "probe Probe",
    "perhaps": "improbe Improbe",
    "unknown": "Recv_init Precv_init Create_group",
    "child": "Dup Clone Split Split_type Create Create_cart Create_graph Create_dist_graph_adjacent",
    "collective": """
        barrier bcast gather scatter allgather alltoall reduce allreduce scan exscan
        Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
        Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
        Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw
        Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan
    """,
    "window": "Lock Lock_all Unlock Unlock_all Flush Flush_all Start Complete Wait Fence Free",
    "new window": "Allocate Allocate_shared Create Create_dynamic",
    "many requests": "waitall Waitall waitany Waitany waitsome Waitsome",
    "tests of many": "testall Testall testany Testany testsome Testsome",
}
METHODS = {kind: names.split() for kind, names in NAMES.items()}


class Recorder:
    """What one rank writes down."""

    def __init__(self, folder: Path, rank: int, program: str) -> None:
        self.rank, self.program = rank, program
        self.numbers = itertools.count()
        self.current = -1  # the number of the call that is about to pickle
        self.places: dict[tuple[CodeType, int], list[int | None]] = {}
        self.file = os.open(folder / f"rank{rank}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, entry: str, **entries: Any) -> None:
        """Append one line in one write: whoever reads the file sees whole lines, also of a rank that was killed."""
        line = json.dumps({"e": entry, "t": time.monotonic(), **entries}) + "\n"
        os.write(self.file, line.encode())

    def place(self) -> list[int | None]:
        """Return [first line, last line, first column, last column] of the program's expression that runs now."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self.program:
            frame = frame.f_back
        if frame is None:
            return [None, None, None, None]
        key = (frame.f_code, frame.f_lasti)
        if key not in self.places:  # once for each place: it takes longer than the rest of an entry
            positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
            self.places[key] = list(next(positions))
        return self.places[key]

    def begin(self, name: str, **entries: Any) -> int:
        """Write down that a call begins, and return its number."""
        number = next(self.numbers)
        self.current = number
        if number < MOST_CALLS:
            self.write("call", n=number, name=name, at=self.place(), **entries)
        elif number == MOST_CALLS:
            self.write("full")
        return number

    def done(self, number: int, got: list[list[int | None]]) -> None:
        """Write down that a call has returned. got: [number of the receive, source, tag, bytes] of each message."""
        self.current = -1
        if number < MOST_CALLS:
            self.write("done", n=number, got=got)

    def failed(self, number: int) -> None:
        """Write down that a call has raised."""
        self.current = -1
        if number < MOST_CALLS:
            self.write("failed", n=number)

    def dumps(self, value: Any, protocol: int | None = None) -> bytes:
        """Pickle what a call in small letters sends, and write down how many bytes that makes."""
        data = pickle.dumps(value, protocol)
        if 0 <= self.current < MOST_CALLS:
            self.write("size", n=self.current, size=len(data))
        return data


class Printed(io.TextIOBase):
    """Standard output or error of a rank: lines go to the recorder, whole."""

    encoding = "utf-8"

    def __init__(self, recorder: Recorder, stream: str, descriptor: int) -> None:
        self.recorder, self.stream, self.descriptor = recorder, stream, descriptor
        self.text, self.length = "", 0

    def write(self, text: str) -> int:
        self.text += text
        if "\n" in text:
            whole, _, self.text = self.text.rpartition("\n")
            self.emit(whole + "\n")
        return len(text)

    def flush(self) -> None:
        if self.text:
            self.emit(self.text)
            self.text = ""

    def emit(self, text: str) -> None:
        """Write text down, up to a limit: an endless loop may print."""
        room = MOST_TEXT - self.length
        if room <= 0:
            return
        self.length += len(text)
        if len(text) > room:
            text = text[:room] + f"\n(more than {MOST_TEXT:,} characters: the rest is left out)\n"
        self.recorder.write("out", text=text, stream=self.stream)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.descriptor


recorder: Recorder
exit_at_once = os._exit  # which `install` replaces
Request: Any = MPI.Request  # the class of mpi4py itself, of which its calls return objects


def nbytes(buffer: Any) -> int | None:
    """Return how many bytes a buffer has, None if it does not say."""
    if isinstance(buffer, list | tuple) and buffer:
        return nbytes(buffer[0])
    try:
        return memoryview(buffer).nbytes
    except TypeError:
        return getattr(buffer, "nbytes", None)


def dtype_of(buffer: Any) -> tuple[str, int] | None:
    """Return the name of an array's dtype and the bytes of one element; None of what is no array.

    A list such as [array, MPI.DOUBLE] names a type of its own, which need not be that of the array.
    """
    dtype = getattr(buffer, "dtype", None)
    return None if dtype is None else (str(dtype), int(dtype.itemsize))


def world_rank(comm: Any, peer: Any) -> int | None:
    """Return a rank of a communicator as a rank of COMM_WORLD, None for any rank; -1 is no process at all."""
    if peer == MPI.ANY_SOURCE:
        return None
    members, number = known(comm)[1], whole(peer)
    # MPI itself refuses a rank that is not there, so that here any number will do.
    return members[number] if number is not None and 0 <= number < len(members) else -1


def whole(value: Any) -> int | None:
    """Return a whole number, of numpy too, as one of Python; None for anything else, which MPI refuses."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def known(comm: Any) -> tuple[str, list[int]]:
    """Return the name of a communicator, which all its members give it, and its members as ranks of COMM_WORLD."""
    if not hasattr(comm, "recorded"):
        adopt(comm, "other")
    result: tuple[str, list[int]] = comm.recorded
    return result


def adopt(comm: Any, name: str) -> Any:
    """Give a new communicator its name, and write down who its members are."""
    group, world = comm.Get_group(), MPI.COMM_WORLD.Get_group()
    members = [int(rank) for rank in group.Translate_ranks(None, world)]
    comm.recorded = (f"{name} {members}" if name == "other" else name, members)
    comm.children = comm.collectives = 0
    recorder.write("comm", id=comm.recorded[0], members=members)
    return comm


def parameters(method: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the names of a method's parameters without self, and the values that they have by default."""
    everything = inspect.signature(method).parameters.values()
    named = [one for one in everything if one.name not in ("self", "cls")]
    return [one.name for one in named], {one.name: one.default for one in named if one.default is not one.empty}


def argument_reader(method: Any) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """Return a function that puts the arguments of a call in a dictionary by name."""
    names, defaults = parameters(method)
    return lambda args, kwargs: {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


def sent(comm: Any, a: dict[str, Any]) -> list[int | None]:
    """Return [destination, tag, bytes] of a call that sends."""
    buffer = next((a[name] for name in ("buf", "sendbuf") if name in a), None)
    return [world_rank(comm, a.get("dest")), whole(a.get("tag", a.get("sendtag"))), nbytes(buffer)]


def wanted(comm: Any, a: dict[str, Any]) -> list[int | None]:
    """Return [source, tag] of a call that receives; None stands for any."""
    tag = a.get("recvtag", a.get("tag"))
    return [world_rank(comm, a["source"]), None if tag == MPI.ANY_TAG else whole(tag)]


def received(comm: Any, number: int, status: Any) -> list[int | None]:
    """Return [number of the receive, source, tag, bytes] of a message that has come."""
    return [number, world_rank(comm, status.source), status.tag, status.Get_count(MPI.BYTE)]


def point_to_point(base: type, name: str) -> Callable[..., Any]:
    """Return a method that sends or receives like that of the base class, and writes it down."""
    original = getattr(base, name)
    read = argument_reader(original)
    kind = next(kind for kind, names in METHODS.items() if name in names)
    sends, receives = kind in ("send", "both"), kind in ("receive", "both", "probe")
    names = set(parameters(original)[0])
    has_status = "status" in names
    immediate = name[0] in "iI"

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        a = read(args, kwargs)
        if not names.issuperset(a) or len(args) > len(names):
            return original(self, *args, **kwargs)  # which says what is wrong with these arguments
        entries: dict[str, Any] = {"comm": known(self)[0]}
        if sends and "dest" in a:
            entries["send"] = sent(self, a)
            entries["dtype"] = dtype_of(a.get("sendbuf", a.get("buf")))
        if receives:
            entries["recv"] = wanted(self, a)
            room = a.get("recvbuf", a.get("buf")) if name[0].isupper() else None
            entries |= {"room": nbytes(room), "room_dtype": dtype_of(room)}
        status = None
        if has_status:
            status = a["status"] = a["status"] or MPI.Status()
        number = recorder.begin(name, **entries)
        try:
            value = original(self, **a) if has_status else original(self, *args, **kwargs)
        except BaseException:
            recorder.failed(number)
            raise
        got = [] if status is None or kind == "probe" else [received(self, number, status)]
        recorder.done(number, got)
        return with_number(value, self, number, receives) if immediate else value

    return method


def collective(base: type, name: str) -> Callable[..., Any]:
    """Return a collective method like that of the base class, which writes itself down."""
    original = getattr(base, name)
    read = argument_reader(original)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        a = read(args, kwargs)
        buffer = a.get("sendbuf", a.get("buf"))
        if buffer is None or isinstance(buffer, int | MPI.InPlaceType):
            buffer = a.get("recvbuf")
        comm, self.collectives = known(self)[0], self.collectives + 1
        root = world_rank(self, a["root"]) if "root" in a else None
        types = {"dtype": dtype_of(buffer), "room_dtype": dtype_of(a.get("recvbuf"))}
        number = recorder.begin(name, comm=comm, order=self.collectives, root=root, size=nbytes(buffer), **types)
        try:
            value = original(self, *args, **kwargs)
        except BaseException:
            recorder.failed(number)
            raise
        if name in METHODS["child"]:
            value = child(self, value)
        recorder.done(number, [])
        return with_number(value, self, number, False) if isinstance(value, Request) else value

    return method


def child(parent: Any, comm: Any) -> Any:
    """Return a new communicator as one that writes down its calls, too."""
    parent.children += 1
    if comm == MPI.COMM_NULL:
        return comm
    kind = RecordedCart if isinstance(comm, MPI.Cartcomm) else RecordedComm if type(comm) is MPI.Intracomm else None
    if kind is not None:
        comm = kind(comm)
    if isinstance(comm, RecordedComm | RecordedCart):
        members = comm.Get_group().Translate_ranks(None, MPI.COMM_WORLD.Get_group())
        # The smallest member tells children of one Split from another.
        adopt(comm, f"{parent.recorded[0]}.{parent.children}.{min(members)}")
    return comm


def with_number(request: Any, comm: Any, number: int, receives: bool) -> Any:
    """Return a request that knows by which call it was made."""
    made = RecordedRequest(request)
    made.call = (comm, number, receives)
    return made


def finished(requests: list[Any], statuses: list[Any]) -> list[list[int | None]]:
    """Return what requests that are complete have received."""
    made = [(getattr(request, "call", None), status) for request, status in zip(requests, statuses, strict=True)]
    return [received(call[0], call[1], status) for call, status in made if call is not None and call[2]]


def numbers_of(requests: Any) -> list[int]:
    """Return by which calls requests were made."""
    return [request.call[1] for request in requests if hasattr(request, "call")]


def wait(name: str) -> Callable[..., Any]:
    """Return the method of a request that waits for it."""
    original = getattr(MPI.Request, name)

    def method(self: Any, status: Any = None) -> Any:
        status = status or MPI.Status()
        number = recorder.begin(name, requests=numbers_of([self]))
        try:
            value = original(self, status)
        except BaseException:
            recorder.failed(number)
            raise
        recorder.done(number, finished([self], [status]))
        return value

    return method


def cancel(self: Any) -> None:
    """Cancel a request, and write down by which call it was made: the program need not wait for it."""
    number = recorder.begin("Cancel", requests=numbers_of([self]))
    Request.Cancel(self)
    recorder.done(number, [])


def test(name: str) -> Callable[..., Any]:
    """Return the method of a request that looks whether it is complete; only if it is, this is written down."""
    original = getattr(MPI.Request, name)

    def method(self: Any, status: Any = None) -> Any:
        status = status or MPI.Status()
        value = original(self, status)
        if value is True or (isinstance(value, tuple) and value[0]):
            number = recorder.begin(name, requests=numbers_of([self]))
            recorder.done(number, finished([self], [status]))
        return value

    return method


def wait_for_many(name: str) -> Callable[..., Any]:
    """Return the class method that waits for several requests, all or any of them."""
    original = getattr(MPI.Request, name)

    def method(cls: type, requests: Any, statuses: Any = None) -> Any:
        requests = list(requests)
        number = recorder.begin(name, requests=numbers_of(requests))
        any_one = name.endswith("any")
        filled = statuses or (MPI.Status() if any_one else [MPI.Status() for _ in requests])
        try:
            value = original(requests, filled)
        except BaseException:
            recorder.failed(number)
            raise
        if name.endswith("all"):
            complete = list(range(len(requests)))
        elif any_one:
            index = value[0] if isinstance(value, tuple) else value
            complete, filled = [index] if 0 <= index < len(requests) else [], [filled]
        else:
            complete = list((value[0] if isinstance(value, tuple) else value) or [])
        recorder.done(number, finished([requests[index] for index in complete], filled[: len(complete)]))
        return value

    return method


def perhaps(base: type, name: str) -> Callable[..., Any]:
    """Return improbe, which receives a message if there is one; only if so, this is written down."""
    original = getattr(base, name)
    read = argument_reader(original)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        a = read(args, kwargs)
        status = a["status"] = a["status"] or MPI.Status()
        value = original(self, **a)
        if value is not None:
            number = recorder.begin(name, comm=known(self)[0], recv=wanted(self, a))
            recorder.done(number, [received(self, number, status)])
        return value

    return method


def unknown(base: type, name: str) -> Callable[..., Any]:
    """Return a method whose messages are not written down, which the record then says."""
    original = getattr(base, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.write("full")
        return original(self, *args, **kwargs)

    return method


def tests_of_many(name: str) -> Callable[..., Any]:
    """Return the class method that looks whether requests are complete; only if some are, this is written down."""
    original = getattr(MPI.Request, name)

    def method(cls: type, requests: Any, statuses: Any = None) -> Any:
        requests = list(requests)
        filled = statuses or (MPI.Status() if name.endswith("any") else [MPI.Status() for _ in requests])
        value = original(requests, filled)
        first = value[0] if isinstance(value, tuple) else value
        if name.endswith("all"):
            complete = list(range(len(requests))) if first else []
        elif name.endswith("any"):
            complete, filled = [first] if value[1] and 0 <= first < len(requests) else [], [filled]
        else:
            complete = list(first or [])
        if complete:
            number = recorder.begin(name, requests=numbers_of(requests))
            recorder.done(number, finished([requests[index] for index in complete], filled[: len(complete)]))
        return value

    return method


def window(name: str) -> Callable[..., Any]:
    """Return a method of a window that may wait."""
    original = getattr(MPI.Win, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        number = recorder.begin(name, **getattr(self, "entries", dict)())
        try:
            value = original(self, *args, **kwargs)
        except BaseException:
            recorder.failed(number)
            raise
        recorder.done(number, [])
        return value

    return method


def new_window(name: str) -> Callable[..., Any]:
    """Return the class method that makes a window, which is a collective call of its communicator."""
    read = argument_reader(getattr(MPI.Win, name))

    def method(cls: type, *args: Any, **kwargs: Any) -> Any:
        comm = read(args, kwargs).get("comm")
        entries = {}
        if isinstance(comm, RecordedComm):
            comm.collectives += 1
            entries = {"comm": known(comm)[0], "order": comm.collectives}
        number = recorder.begin(name, **entries)
        try:
            value = getattr(super(RecordedWin, cls), name)(*args, **kwargs)
        except BaseException:
            recorder.failed(number)
            raise
        recorder.done(number, [])
        return value

    return method


def methods(base: type) -> dict[str, Any]:
    """Return all methods of a communicator that are written down."""
    between = [name for kind in ("send", "receive", "both", "probe") for name in METHODS[kind] if hasattr(base, name)]
    together = [name for kind in ("collective", "child") for name in METHODS[kind] if hasattr(base, name)]
    result = {name: point_to_point(base, name) for name in between} | {
        name: collective(base, name) for name in together
    }
    result |= {name: perhaps(base, name) for name in METHODS["perhaps"]}
    result |= {name: unknown(base, name) for name in METHODS["unknown"] if hasattr(base, name)}
    return result | {"Abort": abort}


def abort(self: Any, errorcode: int = 0) -> NoReturn:
    """End all ranks, and write down which rank has done so."""
    text = f"this rank ended all ranks, with exit code {errorcode}"
    recorder.write("raised", line=recorder.place()[0], type="Abort", text=text)
    end_job(errorcode)


def end_job(code: int) -> NoReturn:
    """End all ranks."""
    if not MPI.Is_finalized():
        MPI.Comm.Abort(MPI.COMM_WORLD, code)
    exit_at_once(code)


RecordedComm: Any = type("RecordedComm", (MPI.Intracomm,), methods(MPI.Intracomm))
RecordedCart: Any = type("RecordedCart", (MPI.Cartcomm,), methods(MPI.Cartcomm))
RecordedRequest: Any = type(
    "RecordedRequest",
    (MPI.Request,),
    {name: wait(name) for name in ("wait", "Wait")}
    | {name: test(name) for name in ("test", "Test")}
    | {"Cancel": cancel, "cancel": cancel}
    | {name: classmethod(wait_for_many(name)) for name in METHODS["many requests"]}
    | {name: classmethod(tests_of_many(name)) for name in METHODS["tests of many"]},
)
RecordedWin: Any = type(
    "RecordedWin",
    (MPI.Win,),
    {name: window(name) for name in METHODS["window"]}
    | {name: classmethod(new_window(name)) for name in METHODS["new window"]},
)


def with_data(tree: ast.Module, data: dict[str, Any]) -> ast.Module:
    """Return the program without its first assignment, at the top level, to each name that comes from outside."""
    missing = set(data)
    for index, node in enumerate(tree.body):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and len(names) == 1 and names[0] in missing:
            missing.remove(names[0])
            tree.body[index] = ast.copy_location(ast.Pass(), node)
    return tree


def install() -> None:
    """Put the recording classes in the place of mpi4py's."""
    MPI.pickle.__init__(recorder.dumps, pickle.loads)
    world = RecordedComm(MPI.COMM_WORLD)
    MPI.Request, MPI.Win = RecordedRequest, RecordedWin
    MPI.COMM_WORLD = adopt(world, "COMM_WORLD")
    os._exit = write_and_leave  # type: ignore[assignment]


def write_and_leave(code: int) -> NoReturn:
    """Leave this process as os._exit does, and write down who has: mpiexec does not say it."""
    text = f"this rank left at once, with exit code {code}"
    recorder.write("raised", line=recorder.place()[0], type="os._exit", text=text)
    exit_at_once(code)


def run(job: dict[str, Any], folder: Path) -> None:
    """Run the program as __main__, and leave the variables that the job asks for in a file."""
    source = Path(job["program"]).read_text("utf-8")
    data = pickle.loads((folder / "data.pickle").read_bytes())  # noqa: S301 which the launching process has written
    program = compile(with_data(ast.parse(source, job["program"]), data), job["program"], "exec")
    module = ModuleType("__main__")
    module.__file__ = job["program"]
    vars(module).update(data)
    sys.modules["__main__"] = module
    exec(program, vars(module))  # noqa: S102 the student's program
    values = {name: pickled(vars(module)[name]) for name in job["names"] if name in vars(module)}
    (folder / f"values{recorder.rank}.pickle").write_bytes(pickle.dumps(values))


def pickled(value: Any) -> bytes | None:
    """Return a value as bytes, None if it cannot be pickled."""
    try:
        return pickle.dumps(value)
    except Exception:
        return None


def line_of(error: BaseException) -> int | None:
    """Return in which line of the program an exception came up, the innermost if there are several."""
    if isinstance(error, SyntaxError) and error.filename == recorder.program:
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == recorder.program:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def end_by(error: BaseException) -> None:
    """Write down by which exception the program ended, and end the job."""
    kind, text = type(error).__name__, str(error)
    if isinstance(error, MPI.Exception):
        kind, text = "MPI.Exception", MPI.Exception.Get_error_string(error)
    recorder.write("raised", line=line_of(error), type=kind, text=text[:4000])
    time.sleep(TOGETHER_S)
    end_job(1)


def main(folder: Path) -> None:
    """Run the program of a folder as one rank."""
    global recorder
    job = json.loads((folder / "job.json").read_text())
    recorder = Recorder(folder, MPI.COMM_WORLD.rank, job["program"])
    recorder.write("start", pid=os.getpid())
    if hasattr(faulthandler, "register"):  # the launching process asks in which line a rank is that makes no call
        where = os.open(folder / f"where{MPI.COMM_WORLD.rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        faulthandler.register(signal.SIGUSR1, where, all_threads=True)
    sys.argv, sys.path[0] = [job["program"]], os.getcwd()
    sys.stdout, sys.stderr = Printed(recorder, "stdout", 1), Printed(recorder, "stderr", 2)
    everybody = MPI.COMM_WORLD.Dup()  # apart from all calls of the program, also from those that it leaves undone
    everybody.Barrier()  # Python starts at different times; the program begins on all ranks together
    if job["record"]:
        install()
    else:
        recorder.write("full")
    try:
        run(job, folder)
    except SystemExit as error:
        sys.stdout.flush()
        if error.code not in (None, 0):
            end_by(error)
    except BaseException as error:
        sys.stdout.flush()
        end_by(error)
    sys.stdout.flush()
    sys.stderr.flush()
    recorder.write("end")
    if not MPI.Is_finalized():
        # MPI_Finalize fails if a message was not received, and mpiexec then kills ranks: not before all have ended.
        everybody.Barrier()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
