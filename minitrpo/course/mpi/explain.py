"""From what was observed to sentences: where each rank waits, what would end the wait, and why that never comes.

`stuck` says whether no rank can go on; `explain` says why a program had to be ended. Nothing is said that the ranks did
not write down: a rank waits in a call if it has begun the call and not returned.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from minitrpo.course.mpi.program import Program
from minitrpo.course.mpi.record import Call, Message, State, fits

# Collective calls in which only the root receives, or only the root sends
ONE_RECEIVES, ONE_SENDS = ("Gather", "Gatherv", "Reduce"), ("Scatter", "Scatterv")
# Collective calls to which all ranks come with buffers of one size
SAME_SIZES = ("Bcast", "Gather", "Allgather", "Alltoall", "Reduce", "Allreduce", "Scan", "Exscan")


@dataclass(frozen=True)
class Finding:
    """One sentence or two about a program that did not end well, or that is odd.

    kind: the cause; ranks, lines: those that the sentence names; text: the sentence. The kinds are

    - of a program that ends by itself: "syntax" (an error in its text), "raised" (an exception), "exit" (a process was
      killed), "sizes" (buffers differ in size), "types" (in dtype), "letters" (`Send` with `recv`, or `send` with
      `Recv`), "root only" (after an exception about None: the result of a call that only its root has);
    - of a program that had to be ended: "self" (a rank waits for itself), "tag", "source", "communicator" (there is a
      message, but another than the rank waits for), "finished" (the other rank has ended), "skipped" (not all ranks
      make a collective call), "collectives" (they make different ones), "roots" (with different roots), "cycle" (each
      waits for the next), "no sender" (a message of any rank would do), "computing" (a rank is in no MPI call),
      "calls" (too many to be written down), "time" (nothing of all this); "where" says where a rank is;
    - of either: "unwaited" (a receive was begun, and the rank has ended without waiting for it);
    - of a program that has ended all the same: "unreceived", "collectives", "roots", "sizes", "types", "letters",
      "value" (a variable could not be handed over).
    """

    kind: str
    ranks: tuple[int, ...]
    lines: tuple[int, ...]
    text: str


# --- what a rank waits for


def wanted_ranks(state: State, call: Call) -> set[int]:
    """Return for which ranks a call waits: they would have to make a call that they have not made."""
    if call.requests is not None:
        return {rank for one in unfinished(state, call) for rank in wanted_ranks(state, one)}
    if not call.collective:
        return partners(state, call)
    there = state.arrived_at(call.comm or "", call.order or 0).values()
    same = {other.rank for other in there if (other.operation, other.root) == (call.operation, call.root)}
    return set(state.members[call.comm or ""]) - same


def partners(state: State, call: Call) -> set[int]:
    """Return with which ranks a call to send or to receive still has to exchange a message."""
    wanted: set[int] = set()
    if (call.rank, call.number) in state.matches:
        return wanted
    if call.receives or call.probe:
        everybody = set(state.members.get(call.comm or "", range(state.ranks)))
        wanted |= everybody if call.source is None else {call.source}
    if call.sends and call.dest is not None and not call.receives:
        wanted.add(call.dest)
    return {rank for rank in wanted if rank >= 0}


def unfinished(state: State, call: Call) -> list[Call]:
    """Return the calls whose requests a call waits for, without those that are complete."""
    asked = [state.by_number.get((call.rank, number)) for number in call.requests or ()]
    return [one for one in asked if one is not None and not complete(state, one)]


def complete(state: State, call: Call) -> bool:
    """Return whether what an immediate call has begun, such as isend, irecv or Ibarrier, is complete."""
    if call.collective:
        return not wanted_ranks(state, call)
    if call.sends:
        return all(message.send is not call for message in state.open_sends)
    return (call.rank, call.number) in state.complete


def can_end(state: State, call: Call) -> bool:
    """Return whether a call that waits may end although no rank makes another call; True if that is not known."""
    if call.requests is not None:
        asked = [state.by_number.get((call.rank, number)) for number in call.requests]
        free = [one is None or complete(state, one) or not wanted_ranks(state, one) for one in asked]
        return all(free) if needs_all(call) else any(free)
    if call.collective or call.sends or call.receives or call.probe:
        return not wanted_ranks(state, call)
    return True  # a window


def stuck(state: State) -> bool:
    """Return whether certainly no rank can go on: all wait in calls, none of which can end without another call."""
    if state.full or len(state.started) < state.ranks:
        return False
    active = set(range(state.ranks)) - state.finished.keys()
    return bool(active) and active == state.now.keys() and not any(can_end(state, state.now[rank]) for rank in active)


# --- sentences


def names(ranks: Iterable[int]) -> str:
    """Return "rank 1", "ranks 1 and 2", "ranks 0, 1 and 2"."""
    numbers = [str(rank) for rank in sorted(ranks)]
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"


def tagged(tag: int | None) -> str:
    """Return " with tag 3"; "" for the tag 0, which a program mostly does not name, and for any tag."""
    return f" with tag {tag}" if tag else ""


def size(number: int | None) -> str:
    """Return " (8,000,163 bytes)", or "" if it is not known."""
    return f" ({number:,} bytes)" if number is not None else ""


def at(call: Call) -> str:
    """Return where and what a call is: "rank 0, line 4: `comm.recv(source=1)`"."""
    line = f", line {call.line}" if call.line is not None else ""
    inner = f" (in {call.name})" if not re.search(rf"\b{call.name}\b", call.text) else ""
    return f"rank {call.rank}{line}: `{call.text}`{inner}"


def lines(*calls: Call | None) -> tuple[int, ...]:
    """Return the lines of calls."""
    return tuple(call.line for call in calls if call is not None and call.line is not None)


def purpose(state: State, call: Call) -> str:
    """Return what would end the wait of a call."""
    if call.requests is None:
        return simple_purpose(state, call)
    still = unfinished(state, call)
    if not still:
        return "waits for its requests"
    return f"waits for `{still[0].text}` of line {still[0].line}, which {simple_purpose(state, still[0])}"


def simple_purpose(state: State, call: Call) -> str:
    """Return what would end the wait of a call that has no requests."""
    if call.collective:
        missing = wanted_ranks(state, call)
        if not missing:
            return "waits for data, although all ranks have begun this call"
        return f"waits until {names(missing)} {'make' if len(missing) > 1 else 'makes'} the same call"
    if call.receives or call.probe:
        source = "any rank" if call.source is None else f"rank {call.source}"
        if call.source == call.rank:
            source += ", itself"
        if (call.rank, call.number) not in state.matches:
            return f"waits for a message{tagged(call.recv_tag)} from {source}"
    if call.sends and call.dest is not None:
        dest = f"rank {call.dest}" + (", itself," if call.dest == call.rank else "")
        return f"waits until {dest} receives its message{tagged(call.send_tag)}{size(call.size)}"
    return "waits"


def where(state: State, program: Program, places: dict[int, int]) -> list[Finding]:
    """Return in which line each rank is, and for what it waits."""
    findings = []
    for rank in range(state.ranks):
        if rank in state.now:
            call = state.now[rank]
            findings.append(Finding("where", (rank,), lines(call), f"{at(call)} {purpose(state, call)}."))
        elif rank in state.finished:
            findings.append(
                Finding("where", (rank,), (), f"rank {rank} has come to the end of the program{after(state, rank)}.")
            )
        elif rank in state.full and rank in places:
            text = f"rank {rank}, line {places[rank]}: `{program.line(places[rank])}`."
            findings.append(Finding("where", (rank,), (places[rank],), text))
        elif rank not in places:
            findings.append(Finding("where", (rank,), (), f"rank {rank} has not begun its program."))
    return findings


def after(state: State, rank: int) -> str:
    """Return which MPI call was the last of a rank that has finished."""
    if rank not in state.last:
        return ", without any MPI call"
    call = state.last[rank]
    return f"; its last MPI call was `{call.text}` in line {call.line}"


# --- causes


def explain(state: State, program: Program, places: dict[int, int]) -> list[Finding]:
    """Return why a program had to be ended: the causes, then where each rank is.

    Args:
        state: what the ranks have written down.
        program: their program.
        places: the line in which each rank is, of those that answered.

    """
    findings = [*raised(state, program), *root_only(state)]
    if state.full:
        text = f"{names(state.full)} made MPI calls that are not written down, so that the cause is not known."
        findings.append(Finding("calls", tuple(state.full), (), capital(text)))
    else:
        findings += [*selves(state), *collectives(state), *near_misses(state), *ended(state), *cycles(state)]
    findings += computing(state, program, places)
    if not state.full:
        findings += [*no_sender(state), *skipped(state), *unwaited(state)]
    if not findings:
        perhaps = "" if state.finished else "; perhaps they still work"
        findings.append(Finding("time", (), (), f"It is not known for what the ranks wait{perhaps}."))
    return [*findings, *where(state, program, places)]


def computing(state: State, program: Program, places: dict[int, int]) -> Iterable[Finding]:
    """Find ranks that are in no MPI call."""
    for rank in sorted(places.keys() - state.now.keys() - state.finished.keys() - state.full):
        line = places[rank]
        loop = program.loop_around(line)
        inside = "" if loop in (None, line) else f" in the loop of line {loop}, `{program.line(loop)}`,"
        text = f"Rank {rank} was in line {line}, `{program.line(line)}`,{inside} and in no MPI call that waits."
        yield Finding("computing", (rank,), (line,), text)


def selves(state: State) -> Iterable[Finding]:
    """Find ranks that wait for themselves."""
    for _, call in sorted(state.now.items()):
        if wanted_ranks(state, call) == {call.rank}:
            text = f"Rank {call.rank} waits for itself in line {call.line}: "
            other = "a send" if call.receives or call.probe else "a receive"
            text += f"it never comes to {other} while it waits in `{call.name}`."
            yield Finding("self", (call.rank,), lines(call), text)


def turns(state: State) -> Iterable[dict[int, Call]]:
    """Yield the calls of each collective operation, in the order of turns of each communicator."""
    operations: dict[tuple[str, int], dict[int, Call]] = {}
    for call in state.calls:
        if call.comm is not None and call.order is not None:
            operations.setdefault((call.comm, call.order), {})[call.rank] = call
    yield from (operations[turn] for turn in sorted(operations))


def collectives(state: State) -> Iterable[Finding]:
    """Find the first turn at which ranks made different collective calls, or named different roots."""
    for there in turns(state):
        one = there[min(there)]
        other = next((there[rank] for rank in sorted(there) if there[rank].operation != one.operation), None)
        if other is not None:
            text = f"The {ordinal(one.order or 0)} collective call of {communicator(one)} is `{one.text}` (line "
            text += f"{one.line}) on rank {one.rank}, `{other.text}` (line {other.line}) on rank {other.rank}: "
            text += "all ranks must make the same collective calls in the same order."
            yield Finding("collectives", (one.rank, other.rank), lines(one, other), text)
            return
        other = next((there[rank] for rank in sorted(there) if there[rank].root != one.root), None)
        if other is not None:
            text = f"For rank {one.rank} the root of {one.name} is rank {one.root} (line {one.line}), for rank "
            text += f"{other.rank} it is rank {other.root} (line {other.line}): all ranks must name the same root, "
            text += "and make their collective calls in the same order."
            yield Finding("roots", (one.rank, other.rank), lines(one, other), text)
            return


def ordinal(number: int) -> str:
    """Return "1st", "2nd", "3rd", "4th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def communicator(call: Call) -> str:
    """Return what to call the communicator of a call: others than COMM_WORLD have no name in the program."""
    return "COMM_WORLD" if call.comm == "COMM_WORLD" else "a communicator"


def receives_that_wait(state: State) -> list[Call]:
    """Return the receives and probes whose message was not sent, also those behind a request that a rank waits for."""
    calls = [one for _, call in sorted(state.now.items()) for one in (call, *unfinished(state, call))]
    return [call for call in calls if (call.receives or call.probe) and (call.rank, call.number) not in state.matches]


def near_misses(state: State) -> Iterable[Finding]:
    """Find messages that have another tag, source or communicator than the rank to which they go waits for."""
    for call in receives_that_wait(state):
        yield from (near_miss(message, call) for message in missed(state, call)[:1])


def missed(state: State, call: Call) -> list[Message]:
    """Return the messages to the rank of a receive that no receive takes."""
    if not (call.receives or call.probe):
        return []
    free = [message for message in state.open_sends if message.dest == call.rank]
    return [message for message in free if (message.source, message.send.number) not in state.matches]


def near_miss(message: Message, call: Call) -> Finding:
    """Return what a message has that the receive that waits for one does not ask for."""
    sent = f"Rank {message.source} sent a message"
    here = f"to rank {message.dest} (line {message.send.line}), but rank {call.rank} waits"
    both, places = (message.source, call.rank), lines(message.send, call)
    if call.source not in (None, message.source):
        text = f"{sent}{tagged(message.tag)} {here} for one from rank {call.source} (line {call.line})."
        return Finding("source", both, places, text)
    if call.recv_tag not in (None, message.tag):
        text = f"{sent} with tag {message.tag} {here} for one with tag {call.recv_tag} (line {call.line})."
        return Finding("tag", both, places, text)
    text = f"{sent} {here} for one on another communicator (line {call.line})."
    return Finding("communicator", both, places, text)


def ended(state: State) -> Iterable[Finding]:
    """Find calls that wait for a message from or to a rank that has come to its end."""
    for _, call in sorted(state.now.items()):
        wanted = wanted_ranks(state, call)
        if call.collective or not wanted or not wanted <= state.finished.keys() or missed(state, call):
            continue
        have = "have" if len(wanted) > 1 else "has"
        text = f"Rank {call.rank} waits in line {call.line} for {names(wanted)}, which {have} come to the end of the "
        text += "program and will make no other call."
        yield Finding("finished", (call.rank, *sorted(wanted)), lines(call), text)


def skipped(state: State) -> Iterable[Finding]:
    """Find collective calls that some ranks of the communicator do not make."""
    for there in turns(state):
        one = there[min(there)]
        missing = set(state.members[one.comm or ""]) - there.keys()
        lost = missing & (state.finished.keys() | state.now.keys())
        if (
            not lost
            or len({call.operation for call in there.values()}) > 1
            or not any(call.waits for call in there.values())
        ):
            continue
        text = capital(f"{names(there)} called `{one.text}` (line {one.line}), ")
        text += "which all ranks must make together"
        for rank in sorted(missing):
            text += f"; rank {rank} {instead(state, rank)}"
        elsewhere = [state.now[rank] for rank in sorted(missing) if rank in state.now]
        yield Finding("skipped", (*sorted(missing), *sorted(there)), lines(one, *elsewhere), f"{text}.")


def instead(state: State, rank: int) -> str:
    """Return what a rank does that is not in a collective call."""
    if rank in state.finished:
        return "has ended without it"
    if rank in state.now:
        return f"is in `{state.now[rank].text}` (line {state.now[rank].line}) instead"
    return "is in no MPI call"


def unwaited(state: State) -> Iterable[Finding]:
    """Find receives that a rank has begun and for which it has not waited until its end."""
    cared_for = {(call.rank, number) for call in state.calls for number in call.requests or ()} | state.complete
    begun = [call for call in state.calls if call.receives and call.name in ("irecv", "Irecv")]
    seen = set()
    for call in begun:
        key = (call.rank, call.number)
        if call.failed or call.source == -1 or key in cared_for or call.rank not in state.finished:
            continue
        if (call.rank, call.line) in seen:  # one sentence for all turns of a loop
            continue
        seen.add((call.rank, call.line))
        text = f"Rank {call.rank} began `{call.name}` (line {call.line}), but never waited for its request: "
        text += "what it receives may not have arrived"
        partner = state.matches.get(key)
        if partner is None or not partner.waits:
            yield Finding("unwaited", (call.rank,), lines(call), f"{text}.")
        else:
            text += f", and `{partner.name}` of rank {partner.rank} (line {partner.line}) cannot finish."
            yield Finding("unwaited", (call.rank, partner.rank), lines(call, partner), text)


def cycles(state: State) -> Iterable[Finding]:
    """Find ranks each of which waits for the next, and the last for the first."""
    graph = {rank: wanted_ranks(state, call) - {rank} for rank, call in state.now.items() if needs_all(call)}
    path = next(filter(None, (circle(graph, rank) for rank in sorted(graph))), None)
    if path is None:
        return
    calls = [state.now[rank] for rank in path]
    *others, last = [f"rank {call.rank} (line {call.line})" for call in calls]
    who = f"{', '.join(others)} and {last}"
    how = "each waits for the other" if len(path) == 2 else "each waits for the next, and the last for the first"
    yield Finding("cycle", tuple(path), lines(*calls), f"{capital(who)}: {how}: a deadlock.")


def capital(text: str) -> str:
    """Return text that begins with a capital letter."""
    return text[0].upper() + text[1:]


def needs_all(call: Call) -> bool:
    """Return whether a call waits for all ranks of `wanted_ranks`, not for any of them."""
    any_source = (call.receives or call.probe) and call.source is None
    return not any_source and "any" not in call.name and "some" not in call.name


def circle(graph: dict[int, set[int]], first: int) -> list[int]:
    """Return the shortest way from a rank back to itself, [] if there is none."""
    ways = [[first]]
    seen: set[int] = set()
    while ways:
        way = ways.pop(0)
        for rank in sorted(graph.get(way[-1], ())):
            if rank == first:
                return way
            if rank not in seen:
                seen.add(rank)
                ways.append([*way, rank])
    return []


def no_sender(state: State) -> Iterable[Finding]:
    """Find receives from any rank although all others have ended or wait."""
    idle = state.now.keys() | state.finished.keys()
    for call in receives_that_wait(state):
        others = set(state.members.get(call.comm or "", range(state.ranks))) - {call.rank}
        if call.source is None and others <= idle:
            text = f"Rank {call.rank} waits in line {call.line} for a message from any rank, "
            text += "and the others have ended or wait, too."
            yield Finding("no sender", (call.rank,), lines(call), text)


# --- programs that ended


def raised(state: State, program: Program) -> Iterable[Finding]:
    """Return the exceptions by which ranks ended; one finding for all that are the same."""
    same: dict[tuple[int | None, str, str], list[int]] = {}
    for error in state.raised.values():
        same.setdefault((error.line, error.type, one_line(error.type, error.text)), []).append(error.rank)
    for (line, kind, text), ranks in same.items():
        place = f", line {line}" if line is not None else ""
        source = f": `{program.line(line)}`" if line is not None else ""
        sentence = f"{names(ranks)}{place}: {kind}: {text}{source}"
        yield Finding("raised", tuple(sorted(ranks)), () if line is None else (line,), sentence)


def root_only(state: State) -> Iterable[Finding]:
    """Find, of ranks that ended by an exception about None, the last call whose result only another rank has."""
    same: dict[tuple[str, int | None, int | None], list[int]] = {}
    for error in state.raised.values():
        calls = [call for call in state.calls if call.rank == error.rank and call.name in ("reduce", "gather")]
        if "NoneType" in error.text and calls and calls[-1].root != error.rank:
            same.setdefault((calls[-1].name, calls[-1].line, calls[-1].root), []).append(error.rank)
    for (name, line, root), ranks in same.items():
        text = f"`{name}` (line {line}) gives its result to rank {root} only; on {names(ranks)} it is None."
        yield Finding("root only", tuple(sorted(ranks)), () if line is None else (line,), text)


def one_line(kind: str, text: str) -> str:
    """Return the text of an exception on one line; of MPI's, what was wrong, without the functions inside MPI."""
    parts = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if kind == "MPI.Exception" and len(parts) > 1:
        last = re.sub(r"^\w+\(.*?\)[.:]*:? *", "", parts[-1])
        parts = [last if " has value " in last else parts[0].partition(", error stack")[0]]
    return " ".join(parts)[:400] or "(no text)"


def findings_of_failure(state: State, program: Program, code: int, said: str) -> list[Finding]:
    """Return why a program ended by itself before its end on all ranks. said: what mpiexec has printed."""
    findings = [*raised(state, program), *root_only(state), *mismatches(state)]
    return findings if state.raised else [*findings, ended_by_signal(state, code, said, after=bool(findings))]


def mismatches(state: State) -> list[Finding]:
    """Return where ranks made calls that do not fit together; after a different collective call none can fit."""
    if state.full:
        return []
    return [*(list(collectives(state)) or list(sizes(state)) or types(state)), *unlike(state)]


def ended_by_signal(state: State, code: int, said: str, after: bool) -> Finding:
    """Return which rank was ended by a signal. said: what mpiexec has printed; after: calls did not fit before."""
    pid = re.search(r"PID (\d+) RUNNING", said)
    ranks = [rank for rank, number in state.pids.items() if pid is not None and number == int(pid[1])]
    if not ranks:
        gone = sorted(set(range(state.ranks)) - state.finished.keys())
        return Finding("exit", tuple(gone), (), f"mpiexec ended with exit code {code}. {last_line(said)}".strip())
    return exit_of(state, ranks[0], said, after)


def sizes(state: State) -> Iterable[Finding]:
    """Find the first collective call of buffers to which ranks came with different numbers of bytes."""
    for there in turns(state):
        one = there[min(there)]
        if one.name in SAME_SIZES and len({call.size for call in there.values()}) > 1:
            calls = [there[rank] for rank in sorted(there)]
            numbers = ", ".join(f"rank {call.rank} {amount(call.size, call.dtype)}" for call in calls if call.size)
            text = f"`{one.text}` (line {one.line}) takes equally many bytes of each rank; here: {numbers}."
            yield Finding("sizes", tuple(sorted(there)), lines(one), text)
            return


def amount(number: int | None, dtype: tuple[str, int] | None) -> str:
    """Return "8 numbers of float64 (64 bytes)", or only the bytes if there is no array."""
    if dtype is None or not dtype[1]:
        return f"{number or 0:,} bytes"
    return f"{(number or 0) // dtype[1]:,} numbers of {dtype[0]} ({number or 0:,} bytes)"


def types(state: State) -> Iterable[Finding]:
    """Find the first collective call to which ranks came with arrays of different dtypes: MPI copies their bytes."""
    for there in turns(state):
        dtypes = {rank: dtype for rank in sorted(there) for dtype in dtypes_of(there[rank])}
        if len(set(dtypes.values())) > 1:
            one = there[min(there)]
            numbers = ", ".join(f"rank {rank} {dtype}" for rank, dtype in dtypes.items())
            text = f"`{one.text}` (line {one.line}) takes arrays of one dtype on all ranks; here: {numbers}."
            yield Finding("types", tuple(dtypes), lines(one), text)
            return


def dtypes_of(call: Call) -> list[str]:
    """Return the dtypes of the arrays that a collective call sends or receives, without those that it ignores."""
    sends = call.name not in ONE_SENDS or call.rank == call.root
    receives = call.name not in ONE_RECEIVES or call.rank == call.root
    dtypes = [call.dtype] * sends + [call.room_dtype] * receives
    return [dtype[0] for dtype in dtypes if dtype is not None]


def unlike(state: State) -> Iterable[Finding]:
    """Find messages whose receive takes another kind of data than was sent, or has less room."""
    pairs = [(message, message.receive) for message in state.messages if message.receive is not None]
    for call in state.calls:
        fitting = [
            message for message in state.open_sends if call.end is None and call.receives and fits(message, call)
        ]
        pairs += [(message, call) for message in fitting[:1]]
    for message, call in pairs:
        ranks, places = (message.source, message.dest), lines(message.send, call)
        text = f"Rank {message.source} sent by `{message.send.name}` (line {message.send.line}) what "
        text += f"rank {message.dest} received by `{call.name}` (line {call.line})"
        if message.send.buffers != call.buffers and call.name not in ("mprobe", "Mprobe", "improbe", "Improbe"):
            kinds = "small letters are for any object, methods with a capital letter for buffers"
            yield Finding("letters", ranks, places, f"{text}: {kinds}.")
            return
        if call.buffers and call.room is not None and call.room < message.size:
            sent, room = amount(message.size, message.send.dtype), amount(call.room, call.room_dtype)
            yield Finding("sizes", ranks, places, f"{text}: {sent}, with room for {room}.")
            return
        if None not in (message.send.dtype, call.room_dtype) and message.send.dtype != call.room_dtype:
            sent, room = amount(message.size, message.send.dtype), amount(call.room, call.room_dtype)
            yield Finding("types", ranks, places, f"{text}: {sent}, into an array of {room}.")
            return


def exit_of(state: State, rank: int, said: str, after: bool) -> Finding:
    """Return that a rank was ended by a signal, of MPI itself if its calls did not fit those of others before."""
    exit_string = re.search(r"EXIT STRING: (.*?) \(", said)
    how = exit_string[1] if exit_string else "a signal"
    if how == "Killed":
        how += ", by mpiexec because another rank failed or by the system, which perhaps had no memory left"
    text = f"After that MPI itself failed: rank {rank} was ended" if after else f"Rank {rank} was ended"
    last = state.last.get(rank)
    text += f" in the middle of its program ({how})"
    text += f"; its last MPI call was `{last.text}` in line {last.line}." if last else ", before its first MPI call."
    return Finding("exit", (rank,), lines(last), text)


def last_line(text: str) -> str:
    """Return the last line with something on it."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def oddities(state: State) -> Iterable[Finding]:
    """Find what is wrong with a program that has ended all the same."""
    if not state.full:
        yield from unreceived(state)
        yield from unwaited(state)
        yield from mismatches(state)


def unreceived(state: State) -> Iterable[Finding]:
    """Find messages that no rank has received."""
    same: dict[tuple[int, int, int, int | None], int] = {}
    for message in state.open_sends:
        if (message.source, message.send.number) not in state.matches:
            key = (message.source, message.dest, message.tag, message.send.line)
            same[key] = same.get(key, 0) + 1
    for (source, dest, tag, line), count in same.items():
        many = "a message" if count == 1 else f"{count} messages"
        text = f"Rank {source} sent {many}{tagged(tag)} to rank {dest} (line {line}) that rank {dest} did not receive."
        yield Finding("unreceived", (source, dest), () if line is None else (line,), text)
