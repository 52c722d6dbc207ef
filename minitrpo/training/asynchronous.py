"""The loop without a barrier: workers pull, collect, push gradients; the server applies them in order of arrival.

Worker and server are the same for every transport between them: see `parallel.parameter_server`.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import TRANSPORTS, AsynchronousAlgorithm, Moment
from minitrpo.contract import OWN
from minitrpo.errors import AlgorithmFailed, BadInput
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.comm import Comm, flat, nested
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.mailbox import END, NO_BYTES, Mail, MailStore, Questions, collect_shares, serve, share_of
from minitrpo.parallel.parameter_server import Arrival, ParameterServer, Rules, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore
from minitrpo.parallel.timing import Timeline
from minitrpo.supervision.watchdog import status
from minitrpo.training.context import RunContext, make_algorithm
from minitrpo.training.monitor import Monitor, restored
from minitrpo.training.run_log import RunLog, Show
from minitrpo.training.settings import Choice
from minitrpo.training.workers import OVER, PULLED, REPORT, Worker, account, env_steps, report_applied, run_arrays

QUEUE, WORKER = OWN + "queue", OWN + "worker"  # in a checkpoint: the event queue's arrays, and each worker's


def run(context: RunContext, comm: Comm, show: Show, keep_trace: bool = False, oversubscribe: bool = False) -> Timeline:
    """Run until the steps are used up; return what this rank did when.

    Every rank works, whether it has a core or not: it is a worker, and how many there are is part of the method.
    """
    timeline = Timeline(comm, keep_trace)
    transport = transport_of(context.choice, comm.one_machine(), comm.size)
    servers = context.choice.own.servers
    if transport == "events":
        if comm.rank == 0:
            play_events(context, timeline, show, comm.size)
        comm.barrier(max_sleep=0.05)
    elif transport == "window" or comm.size == 1:
        share_window(context, comm, timeline, show)
    elif comm.rank < servers:
        keep_server(context, comm, timeline, show)
    else:
        mail = Mail(comm)
        worker = real_worker(context, comm.rank - servers, comm.size - servers, timeline)
        size = len(worker.algorithm.state()["theta"])
        with questions(comm, context, servers, worker) as answer:
            work_through(MailStore(mail, answer, servers, size), worker.work)
        mail.close()
        comm.barrier()
    return timeline


def share_window(context: RunContext, comm: Comm, timeline: Timeline, show: Show) -> None:
    """Work on parameters in shared memory; the root is a worker, too, and writes the log. One rank is alone there."""
    worker = real_worker(context, comm.rank, comm.size, timeline)
    window = SharedWindow(comm, starting_arrays(context, worker.algorithm, comm.size, exactly=False))
    server = make_server(context, window.arrays, worker.algorithm, timeline)
    names, over = pulled_names(context.choice), window.arrays[OVER]
    with closing(RunLog(context, timeline, show, comm.size, worker.notes)) if comm.rank == 0 else nullcontext() as log:
        monitor = Monitor(context, window.arrays, log, comm.size) if log else None
        comm.barrier()
        with questions(comm, context, 0, worker) as answer:

            def look() -> None:
                answer()
                if monitor:
                    monitor.look()

            work_through(WindowStore(server, comm.rank, names, lambda: bool(over[0]), look), worker.work)
        comm.barrier()
        if monitor:
            monitor.close()
    comm.barrier()
    window.free()


def keep_server(context: RunContext, comm: Comm, timeline: Timeline, show: Show) -> None:
    """Serve the workers, on the first ranks; rank 0, which may be the only one of these, writes the log."""
    servers, workers = context.choice.own.servers, comm.size - context.choice.own.servers
    holds_last = comm.rank == servers - 1
    algorithm, given = make_algorithm(context.choice, context.spec, None, timeline, holds_last=holds_last)
    whole = starting_arrays(context, algorithm, workers, exactly=False)
    shared_out = tuple(name for name, array in whole.items() if array.shape == whole["theta"].shape)
    shared = share_of(whole, len(whole["theta"]), comm.rank, servers)
    server = make_server(context, shared, algorithm, timeline)
    names = tuple(name for name in pulled_names(context.choice) if comm.rank == 0 or name in shared_out)
    mail = Mail(comm)
    with questions(comm, context, servers, None):
        if comm.rank > 0:
            serve(mail, server, workers, names, lambda: False, first=servers, collected=shared_out)
        else:
            others = partial(collect_shares, mail, servers, shared, shared_out) if servers > 1 else None
            with closing(RunLog(context, timeline, show, comm.size, given.notes)) as log:
                monitor = Monitor(context, shared, log, comm.size, others)
                serve(mail, server, workers, names, lambda: monitor.over, monitor.look, servers)
                monitor.close()
            for other in range(1, servers):
                mail.send(other, END, NO_BYTES)
    mail.close()
    comm.barrier()


def play_events(context: RunContext, timeline: Timeline, show: Show, ranks: int) -> None:
    """Play all workers in this process, with drawn delays."""
    queue, workers, notes = make_queue(context, timeline)
    with closing(RunLog(context, timeline, show, ranks, notes)) as log:

        def under_way() -> Arrays:  # for a checkpoint: what is sent, and what every worker has of its own
            return flat({QUEUE: queue.state(), **{f"{WORKER}{worker.number}": worker.state() for worker in workers}})

        monitor = Monitor(context, queue.server.shared, log, ranks, under_way)
        while not monitor.over:
            queue.play()
            monitor.look()
        monitor.close()


def make_queue(context: RunContext, timeline: Timeline) -> tuple[EventQueue, list[Worker], list[str]]:
    """Return the queue of a run, as it begins or goes on, its workers, and where its algorithm notes things."""
    choice, own = context.choice, context.choice.own
    workers = [Worker(context, number, own.workers, timeline) for number in range(own.workers)]
    algorithm, given = make_algorithm(choice, context.spec, None, timeline)
    shared = starting_arrays(context, algorithm, own.workers, exactly=True)
    server = make_server(context, shared, algorithm, timeline)

    def delay(worker: int, clock: int) -> float:
        return 1.0 + own.delay_jitter * generator(choice.common.seed, clock, worker, Purpose.DELAY).exponential()

    for worker in workers:
        worker.ask = lambda asked: {number: workers[number].algorithm.answer(q) for number, q in asked.items()}
    queue = EventQueue(server, [worker.work for worker in workers], pulled_names(choice), delay)
    if context.checkpoint:
        saved, iteration = nested(context.checkpoint), int(context.checkpoint[OWN + "counters"][0]) + 1
        queue.restore(saved[QUEUE])
        for worker in workers:
            worker.begin_at(0, int(server.tally.clocks[worker.number]))
            worker.restore(saved[f"{WORKER}{worker.number}"], iteration)
    return queue, workers, given.notes


def starting_arrays(context: RunContext, algorithm: AsynchronousAlgorithm, workers: int, exactly: bool) -> Arrays:
    """Return the shared arrays with which a run begins or goes on; `exactly`: see `restored`."""
    fresh = {name: np.array(array) for name, array in flat(algorithm.state()).items()}
    shared = fresh | run_arrays(context.choice, context.spec, workers)
    if context.checkpoint:
        restored(shared, context.checkpoint, exactly)
    return shared


def make_server(
    context: RunContext, shared: Arrays, algorithm: AsynchronousAlgorithm, timeline: Timeline
) -> ParameterServer:
    """Return what decides about gradients and has the algorithm apply them."""
    own, arrays = context.choice.own, dict(shared)
    columns = context.choice.algorithm.columns

    def apply(shared: Arrays, gradient: Arrays, arrival: Arrival) -> bool:
        moment = Moment(arrival.version, env_steps(shared), arrival.staleness)
        with timeline.span("update"), status.at("apply"):
            answer = algorithm.apply(shared, gradient, moment)
        if shared.keys() != arrays.keys() or any(shared[name] is not array for name, array in arrays.items()):
            raise AlgorithmFailed("apply() must change the shared arrays in place: shared[name][:] = ...")
        report_applied(shared[REPORT][arrival.worker], answer if isinstance(answer, dict) else {}, columns)
        return answer is not False

    return ParameterServer(shared, apply, Rules(own.max_staleness, own.max_lead), account)


def pulled_names(choice: Choice) -> tuple[str, ...]:
    """Return the names of all arrays that a worker pulls: the algorithm's and the run's."""
    return (*choice.algorithm.pulled, *PULLED)


def real_worker(context: RunContext, number: int, workers: int, timeline: Timeline) -> Worker:
    """Return a worker of a real transport; after an interruption it begins with episodes that were never played."""
    worker = Worker(context, number, workers, timeline)
    worker.patience = 1e-3
    if context.checkpoint:
        steps = int(context.checkpoint[OWN + "report"][:, 0].sum())  # no more episodes than steps have begun
        worker.begin_at(steps + worker.all_envs, steps)
    return worker


@contextmanager
def questions(comm: Comm, context: RunContext, first: int, worker: Worker | None) -> Iterator[Callable[[], None]]:
    """Let workers ask each other, if any of them only learns; yield what answers, and go on answering at the end.

    first: rank of worker 0. worker: this rank's; None where a rank only serves. Collective.
    """
    if context.choice.algorithm.learners(context.choice.own, comm.size - first) == 0:
        yield lambda: None
        return
    asked = Questions(comm, first, worker.algorithm.answer if worker else dict)
    if worker:
        worker.ask = asked.ask
    yield asked.answer
    asked.close()


def check(choice: Choice, ranks: int, working: int, one_machine: bool) -> list[str]:
    """Return the notes on a run before it begins; BadInput if the ranks cannot play it. All of them work."""
    transport = transport_of(choice, one_machine, ranks)
    if one_machine or choice.own.transport != "auto":
        return []
    return [f"note: the ranks are on several machines, which share no memory: --transport {transport}"]


def transport_of(choice: Choice, shares_memory: bool, ranks: int) -> str:
    """Return the transport of a run; BadInput if it does not work here, or leaves no worker.

    shares_memory: whether all ranks do.
    """
    wanted, name = choice.own.transport, f"--algorithm {choice.common.algorithm}"
    allowed, servers = choice.algorithm.transports, choice.own.servers
    if choice.common.record_every != 1:
        raise BadInput(f"--record-every: {name} writes a row every --steps-per-update steps, however many updates")
    if wanted == "auto":
        fits = (t for t in TRANSPORTS if t in allowed and (shares_memory or t != "window"))
        wanted = "server" if servers > 1 else next(fits, "window")
    if wanted not in allowed:
        raise BadInput(f"--transport {wanted}: {name} works over {', '.join(allowed)}")
    if wanted == "window" and not shares_memory:
        raise BadInput("--transport window: the ranks are on several machines, which share no memory; use server")
    if servers > 1 and wanted != "server":
        raise BadInput(f"--servers {servers}: the parameters lie on servers only with --transport server")
    serving = servers if wanted == "server" and ranks > 1 else 0
    workers = choice.own.workers if wanted == "events" else ranks - serving
    learners = choice.algorithm.learners(choice.own, workers)
    if workers < 1 or learners >= workers:
        raise BadInput(
            f"of {max(ranks, workers)} ranks or workers {serving} serve and {learners} learn, so no rank collects: "
            "start more"
        )
    return str(wanted)
