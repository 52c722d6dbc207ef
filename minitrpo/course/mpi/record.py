"""What the ranks of a program wrote down: their calls, their messages, and where each rank is now.

recorder.py describes the lines that are read here. All ranks are ranks of COMM_WORLD, all times are seconds.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from minitrpo.course.mpi.program import Program

BLOCKING_PROBES = ("probe", "Probe")


@dataclass(frozen=True)
class Call:
    """One MPI call of one rank. end: None while it waits; peers and tags: None stands for any."""

    rank: int
    number: int
    name: str
    line: int | None
    text: str  # as it is in the program
    begin: float
    end: float | None
    failed: bool
    comm: str | None
    order: int | None  # of a collective call: the how many-th of its communicator, from 1
    root: int | None
    size: int | None  # bytes
    room: int | None  # bytes of the buffer of a call that receives
    dtype: tuple[str, int] | None  # of the array that is sent: its name, and the bytes of one element
    room_dtype: tuple[str, int] | None  # of the array that receives
    dest: int | None
    send_tag: int | None
    sends: bool
    receives: bool
    source: int | None
    recv_tag: int | None
    requests: tuple[int, ...] | None  # of a call that waits: numbers of the calls that made the requests
    got: tuple[tuple[int, int, int, int], ...]  # (number of the receiving call, source, tag, bytes)

    @property
    def collective(self) -> bool:
        """Return whether all ranks of the communicator make this call together."""
        return self.order is not None

    @property
    def operation(self) -> str:
        """Return the name of a collective operation: barrier is the same as Barrier, as neither has any data."""
        return "Barrier" if self.name == "barrier" else self.name

    @property
    def immediate(self) -> bool:
        """Return whether this call only begins something that a request ends."""
        return self.name[0] in "iI"

    @property
    def buffers(self) -> bool:
        """Return whether the call takes buffers, which mpi4py's methods in capital letters do, and not any object."""
        return self.name[0].isupper()

    @property
    def waits(self) -> bool:
        """Return whether the call has not come to its end."""
        return self.end is None and not self.failed

    @property
    def probe(self) -> bool:
        """Return whether this call waits for a message without receiving it."""
        return self.name in BLOCKING_PROBES


@dataclass(frozen=True)
class Message:
    """A message from one rank to another. received: None if no call has received it; size in bytes."""

    source: int
    dest: int
    tag: int
    size: int
    comm: str
    sent: float
    received: float | None
    send: Call
    receive: Call | None


@dataclass(frozen=True)
class Raised:
    """The exception that ended a rank."""

    rank: int
    line: int | None
    type: str
    text: str


class Record:
    """What all ranks have written down so far; `read` reads what is new."""

    def __init__(self, folder: Path, ranks: int, program: Program) -> None:
        self.folder, self.ranks, self.program = folder, ranks, program
        self.positions = [0] * ranks
        self.began: dict[tuple[int, int], dict[str, Any]] = {}  # calls in the order of their beginning
        self.ended: dict[tuple[int, int], dict[str, Any]] = {}
        self.members: dict[str, list[int]] = {}
        self.raised: dict[int, Raised] = {}
        self.finished: dict[int, float] = {}
        self.pids: dict[int, int] = {}
        self.started: dict[int, float] = {}
        self.full: set[int] = set()
        self.last = 0.0  # when the last line was written

    def read(self) -> list[dict[str, Any]]:
        """Read the lines that are new, and return what was printed since, in the order of time."""
        printed = []
        for rank in range(self.ranks):
            for line in self.new_lines(rank):
                entry = {"rank": rank, **json.loads(line)}
                self.last = max(self.last, entry["t"])
                if entry["e"] == "out":
                    printed.append(entry)
                else:
                    self.take(rank, entry)
        return sorted(printed, key=lambda entry: float(entry["t"]))

    def new_lines(self, rank: int) -> list[bytes]:
        """Return the whole lines that a rank has written since the last call."""
        path = self.folder / f"rank{rank}.jsonl"
        if not path.exists():
            return []
        with path.open("rb") as file:
            file.seek(self.positions[rank])
            whole, newline, _ = file.read().rpartition(b"\n")
        self.positions[rank] += len(whole) + len(newline)
        return whole.splitlines()

    def take(self, rank: int, entry: dict[str, Any]) -> None:
        """Remember one line."""
        kind = entry["e"]
        if kind == "call":
            self.began[rank, entry["n"]] = entry
        elif kind == "size":
            begun = self.began[rank, entry["n"]]
            begun["pickled"] = begun.get("pickled", 0) + entry["size"]
        elif kind in ("done", "failed"):
            self.ended[rank, entry["n"]] = entry
        elif kind == "comm":
            self.members[entry["id"]] = entry["members"]
        elif kind == "raised":
            self.raised[rank] = Raised(rank, entry["line"], entry["type"], entry["text"])
        elif kind == "end":
            self.finished[rank] = entry["t"]
        elif kind == "start":
            self.pids[rank], self.started[rank] = entry["pid"], entry["t"]
        elif kind == "full":
            self.full.add(rank)

    def state(self) -> "State":
        """Return what has happened so far."""
        return State(self)


class State:
    """What had happened on all ranks at one moment."""

    def __init__(self, record: Record) -> None:
        self.ranks, self.members = record.ranks, dict(record.members)
        self.finished, self.raised, self.full = dict(record.finished), dict(record.raised), set(record.full)
        self.started, self.pids = dict(record.started), dict(record.pids)
        ended, program = record.ended, record.program
        self.calls = [call_of(key, entry, ended.get(key), program) for key, entry in record.began.items()]
        self.calls.sort(key=lambda call: call.begin)
        self.by_number = {(call.rank, call.number): call for call in self.calls}

    @cached_property
    def now(self) -> dict[int, Call]:
        """Return the call in which each rank waits; a rank that is in no call is not there."""
        return {call.rank: call for call in self.calls if call.waits and call.rank not in self.finished}

    @cached_property
    def last(self) -> dict[int, Call]:
        """Return the last call that each rank has begun."""
        return {call.rank: call for call in self.calls}

    @cached_property
    def messages(self) -> list[Message]:
        """Return all messages in the order in which they were sent.

        MPI lets messages of one source, destination, tag and communicator overtake one another never, so that the
        first receive belongs to the first send.
        """
        arrived: dict[tuple[int, int], tuple[Call, tuple[int, int, int, int]]] = {}
        for call in self.calls:  # the call that waited, under the number of the call that asked for the message
            arrived |= {(call.rank, got[0]): (call, got) for got in call.got}
        queues: dict[tuple[Any, ...], list[tuple[Call, Call, int]]] = defaultdict(list)
        for call in self.calls:
            if (call.rank, call.number) in arrived:
                waited, (_, source, tag, size) = arrived[call.rank, call.number]
                queues[call.comm, source, call.rank, tag].append((call, waited, size))
        result = []
        for call in self.calls:
            if not call.sends or call.failed or call.dest is None or call.dest < 0:
                continue
            queue = queues[call.comm, call.rank, call.dest, call.send_tag]
            receive, end, size = first_of(queue, call.size or 0)
            result.append(
                Message(
                    call.rank, call.dest, call.send_tag or 0, size, call.comm or "", call.begin,
                    end, call, receive,
                )
            )  # fmt: skip
        return result

    @cached_property
    def open_sends(self) -> list[Message]:
        """Return the messages that no receive has completed."""
        return [message for message in self.messages if message.receive is None]

    @cached_property
    def complete(self) -> set[tuple[int, int]]:
        """Return (rank, number) of the calls that asked for a message and have it."""
        return {(call.rank, got[0]) for call in self.calls for got in call.got}

    @cached_property
    def matches(self) -> dict[tuple[int, int], Call]:
        """Return {call: its partner} for sends and receives that fit, but of which no end was written down.

        MPI gives a message to the first receive that fits it, in the order in which the receives were made.
        """
        free = list(self.open_sends)
        result: dict[tuple[int, int], Call] = {}
        for call in self.calls:
            if not (call.receives or call.probe) or call.failed or (call.rank, call.number) in self.complete:
                continue
            if not call.immediate and call.end is not None:
                continue
            message = next((message for message in free if fits(message, call)), None)
            if message is not None:
                result[call.rank, call.number] = message.send
                if not call.probe:
                    free.remove(message)
                    result[message.send.rank, message.send.number] = call
        return result

    def arrived_at(self, comm: str, order: int) -> dict[int, Call]:
        """Return the calls with which ranks take part in one collective operation of a communicator."""
        return {call.rank: call for call in self.calls if call.comm == comm and call.order == order}


def first_of(queue: list[tuple[Call, Call, int]], size: int) -> tuple[Call | None, float | None, int]:
    """Take the first receive off a queue; return it, when it ended, and its bytes, `size` if there is none."""
    if not queue:
        return None, None, size
    receive, waited, size = queue.pop(0)
    return receive, waited.end, size


def fits(message: Message, call: Call) -> bool:
    """Return whether a receive would take a message."""
    same = message.dest == call.rank and message.comm == call.comm
    return same and call.source in (None, message.source) and call.recv_tag in (None, message.tag)


def call_of(key: tuple[int, int], entry: dict[str, Any], ended: dict[str, Any] | None, program: Program) -> Call:
    """Return a call from the lines of its beginning and of its end."""
    dest, send_tag, size = entry.get("send", (None, None, None))
    source, recv_tag = entry.get("recv", (None, None))
    return Call(
        rank=key[0],
        number=key[1],
        name=entry["name"],
        line=entry["at"][0],
        text=program.expression(entry["at"], entry["name"]),
        begin=entry["t"],
        end=ended["t"] if ended and ended["e"] == "done" else None,
        failed=ended is not None and ended["e"] == "failed",
        comm=entry.get("comm"),
        order=entry.get("order"),
        root=entry.get("root"),
        size=entry.get("pickled", size if size is not None else entry.get("size")),
        room=entry.get("room"),
        dtype=pair_of(entry.get("dtype")),
        room_dtype=pair_of(entry.get("room_dtype")),
        dest=dest,
        send_tag=send_tag,
        sends="send" in entry,
        receives="recv" in entry and entry["name"] not in BLOCKING_PROBES,
        source=source,
        recv_tag=recv_tag,
        requests=tuple(entry["requests"]) if "requests" in entry else None,
        got=tuple(tuple(got) for got in (ended or {}).get("got", ())),
    )


def pair_of(dtype: list[Any] | None) -> tuple[str, int] | None:
    """Return (name, bytes of one element) of a dtype, as JSON has lists only."""
    return None if dtype is None else (dtype[0], dtype[1])
