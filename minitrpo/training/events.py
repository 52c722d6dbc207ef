"""An asynchronous run in one process: all workers played here, with drawn delays; the same bits each time."""

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.contract import OWN
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.timing import Timeline
from minitrpo.training.context import RunContext, make_algorithm
from minitrpo.training.monitor import Monitor
from minitrpo.training.parameters import make_server, pulled_names, starting_arrays
from minitrpo.training.run_log import RunLog, Show
from minitrpo.training.workers import Worker

QUEUE = OWN + "queue_"  # how the event queue's arrays are called in a checkpoint


def play_events(context: RunContext, timeline: Timeline, show: Show, ranks: int) -> None:
    """Play all workers in this process, with drawn delays."""
    queue, workers, notes = make_queue(context, timeline)
    shared = queue.server.shared
    log = RunLog(context, timeline, show, ranks, notes)
    monitor = Monitor(context, shared, log, ranks, lambda: events_state(queue, workers))
    try:
        while not monitor.over:
            queue.play()
            monitor.look()
        monitor.close()
    finally:
        monitor.log.close()


def make_queue(context: RunContext, timeline: Timeline) -> tuple[EventQueue, list[Worker], list[str]]:
    """Return the queue of a run, as it begins or goes on, its workers, and where its algorithm notes things."""
    choice, own = context.choice, context.choice.own
    workers = [Worker(context, number, own.workers, timeline) for number in range(own.workers)]
    algorithm, given = make_algorithm(choice, context.spec, None, timeline)
    shared = starting_arrays(context, algorithm, own.workers, exactly=True)
    server = make_server(context, shared, algorithm, timeline)

    def delay(worker: int, clock: int) -> float:
        if own.delay_jitter == 0:
            return 1.0
        return 1.0 + own.delay_jitter * generator(choice.common.seed, clock, worker, Purpose.DELAY).exponential()

    for worker in workers:
        worker.ask = lambda asked: {number: workers[number].algorithm.answer(q) for number, q in asked.items()}
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
