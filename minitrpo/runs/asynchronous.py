"""The loop without a barrier: workers pull, collect, push gradients; they are applied as they come.

One algorithm, one worker, one server; only what lies between the two is chosen: see `parallel.parameter_server`.
"""

from typing import Any

import numpy as np

from minitrpo.algorithms.asynchronous import TRANSPORTS, Arrays, Moment
from minitrpo.errors import AlgorithmFailed, BadInput
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.mailbox import Mail, MailStore, serve
from minitrpo.parallel.parameter_server import Arrival, ParameterServer, Rules, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore, one_machine
from minitrpo.parallel.timing import Timeline
from minitrpo.runs.books import Books, restored
from minitrpo.runs.context import RunContext, make_algorithm
from minitrpo.runs.settings import Choice
from minitrpo.runs.workers import OVER, OWN, PULLED, Worker, account, env_steps, house_arrays

QUEUE = OWN + "queue_"  # how the event queue's arrays are called in a checkpoint


def run_asynchronous(
    context: RunContext,
    comm: Comm,
    progress: str = "lines",
    status: RankStatus | None = None,
    keep_trace: bool = False,
    oversubscribe: bool = False,
) -> Timeline:
    """Run until the steps are used up; return what this rank did when.

    Every rank works, whether it has a core or not: it is a worker, and how many there are is part of the method.
    """
    timeline = Timeline(comm, keep_trace)
    transport = transport_of(context.choice, one_machine(comm))
    if transport == "events":
        if comm.rank == 0:
            play_events(context, timeline, status, progress, comm.size)
        comm.barrier(max_sleep=0.05)
    elif transport == "window" or comm.size == 1:
        share_window(context, comm, timeline, status, progress)
    elif comm.rank == 0:
        lead_server(context, comm, timeline, status, progress)
    else:
        mail = Mail(comm)
        work_through(MailStore(mail), real_worker(context, comm.rank - 1, comm.size - 1, status, timeline).work)
        mail.close()
        comm.barrier()
    return timeline


def share_window(context: RunContext, comm: Comm, timeline: Timeline, status: RankStatus | None, progress: str) -> None:
    """Work on parameters in shared memory; the root is a worker, too, and keeps the books. One rank is alone there."""
    worker = real_worker(context, comm.rank, comm.size, status, timeline)
    window = SharedWindow(comm, starting_arrays(context, worker.algorithm, comm.size, exactly=False))
    server = make_server(context, window.arrays, worker.algorithm, timeline, status)
    books = None
    if comm.rank == 0:
        books = Books(context, window.arrays, worker.notes, timeline, progress, comm.size)
    comm.barrier()
    over = window.arrays[OVER]
    names, look = pulled_names(context.choice), books.look if books else nothing
    try:
        work_through(WindowStore(server, comm.rank, names, lambda: bool(over[0]), look), worker.work)
        comm.barrier()
        if books:
            books.close()
    finally:
        if books:
            books.progress.close()
    comm.barrier()
    window.free()


def lead_server(context: RunContext, comm: Comm, timeline: Timeline, status: RankStatus | None, progress: str) -> None:
    """Serve the other ranks, on rank 0."""
    algorithm, given = make_algorithm(context.choice, context.spec, None, timeline)
    workers = comm.size - 1
    shared = starting_arrays(context, algorithm, workers, exactly=False)
    server = make_server(context, shared, algorithm, timeline, status)
    books = Books(context, shared, given.notes, timeline, progress, comm.size)
    mail = Mail(comm)
    try:
        serve(mail, server, workers, pulled_names(context.choice), lambda: books.over, books.look)
        mail.close()
        books.close()
    finally:
        books.progress.close()
    comm.barrier()


def play_events(context: RunContext, timeline: Timeline, status: RankStatus | None, progress: str, ranks: int) -> None:
    """Play all workers in this process, with drawn delays."""
    queue, workers, notes = make_queue(context, timeline, status)
    shared = queue.server.shared
    books = Books(context, shared, notes, timeline, progress, ranks, lambda: events_state(queue, workers))
    try:
        while not books.over:
            queue.play()
            books.look()
        books.close()
    finally:
        books.progress.close()


def make_queue(
    context: RunContext, timeline: Timeline, status: RankStatus | None = None
) -> tuple[EventQueue, list[Worker], list[str]]:
    """Return the queue of a run, as it begins or goes on, its workers, and where its algorithm notes things."""
    choice, own = context.choice, context.choice.own
    workers = [Worker(context, number, own.workers, status, timeline) for number in range(own.workers)]
    algorithm, given = make_algorithm(choice, context.spec, None, timeline)
    shared = starting_arrays(context, algorithm, own.workers, exactly=True)
    server = make_server(context, shared, algorithm, timeline, status)

    def delay(worker: int, clock: int) -> float:
        if own.delay_jitter == 0:
            return 1.0
        return 1.0 + own.delay_jitter * generator(choice.common.seed, clock, worker, Purpose.DELAY).exponential()

    queue = EventQueue(server, [worker.work for worker in workers], pulled_names(choice), delay)
    if context.checkpoint:
        restore_events(queue, workers, context.checkpoint)
    return queue, workers, given.notes


def events_state(queue: EventQueue, workers: list[Worker]) -> Arrays:
    """Return what a checkpoint needs to go on to the bit: what is under way, and what every worker has of its own."""
    arrays = {QUEUE + name: array for name, array in queue.state().items()}
    for worker in workers:
        arrays |= {f"{OWN}worker{worker.number}_{name}": array for name, array in worker.state().items()}
    return arrays


def restore_events(queue: EventQueue, workers: list[Worker], checkpoint: Arrays) -> None:
    """Take over what `events_state` returned."""
    queue.restore({name.removeprefix(QUEUE): a for name, a in checkpoint.items() if name.startswith(QUEUE)})
    iteration = int(checkpoint[OWN + "counters"][0]) + 1
    for worker in workers:
        prefix = f"{OWN}worker{worker.number}_"
        own = {name.removeprefix(prefix): a for name, a in checkpoint.items() if name.startswith(prefix)}
        worker.begin_at(0, int(queue.server.tally.clocks[worker.number]))
        worker.restore(own, iteration)


def real_worker(
    context: RunContext, number: int, workers: int, status: RankStatus | None, timeline: Timeline
) -> Worker:
    """Return a worker of a real transport; after an interruption it begins with episodes that nobody has played."""
    worker = Worker(context, number, workers, status, timeline)
    if context.checkpoint:
        steps = int(context.checkpoint[OWN + "report"][:, 0].sum())  # no more episodes than steps have begun
        worker.begin_at(steps + worker.all_envs, steps)
    return worker


def starting_arrays(context: RunContext, algorithm: Any, workers: int, exactly: bool) -> Arrays:
    """Return the shared arrays with which a run begins or goes on; `exactly`: see `restored`."""
    fresh = {name: np.array(array) for name, array in algorithm.state().items()}
    shared = fresh | house_arrays(context.choice, context.spec, workers)
    if context.checkpoint:
        restored(shared, context.checkpoint, exactly)
    return shared


def make_server(
    context: RunContext, shared: Arrays, algorithm: Any, timeline: Timeline, status: RankStatus | None
) -> ParameterServer:
    """Return what decides about gradients and has the algorithm apply them."""
    own, watched, arrays = context.choice.own, status or RankStatus.private(), dict(shared)

    def apply(shared: Arrays, gradient: Arrays, arrival: Arrival) -> bool | None:
        with timeline.span("update"):
            moment = Moment(arrival.version, env_steps(shared), arrival.staleness)
            with watched.at(Doing.APPLYING):
                applied: bool | None = algorithm.apply(shared, gradient, moment)
            if shared.keys() != arrays.keys() or any(shared[name] is not array for name, array in arrays.items()):
                raise AlgorithmFailed("apply() must change the shared arrays in place: shared[name][:] = ...")
            return applied

    return ParameterServer(shared, apply, Rules(own.max_staleness, own.max_lead), account)


def pulled_names(choice: Choice) -> tuple[str, ...]:
    """Return the names of all arrays that a worker pulls: the algorithm's and the house's."""
    return (*getattr(choice.algorithm, "pulled", ("theta",)), *PULLED)


def transport_of(choice: Choice, shares_memory: bool) -> str:
    """Return the transport of a run; BadInput if it cannot be had. shares_memory: whether all ranks do."""
    wanted, name = choice.own.transport, f"--algorithm {choice.common.algorithm}"
    allowed = getattr(choice.algorithm, "transports", TRANSPORTS)
    possible = [t for t in TRANSPORTS if t in allowed and (shares_memory or t != "window")]
    if choice.common.record_every != 1:
        raise BadInput(f"--record-every: {name} writes a row every --steps-per-update steps, however many updates")
    if wanted == "auto":
        wanted = possible[0] if possible else "window"
    if wanted not in allowed:
        raise BadInput(f"--transport {wanted}: {name} works over {', '.join(allowed)}")
    if wanted not in possible:
        raise BadInput("--transport window: the ranks are on several machines, which share no memory; use server")
    return str(wanted)


def nothing() -> None:
    """Do nothing: only the root keeps books."""
