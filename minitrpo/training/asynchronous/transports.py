"""How gradients get from the workers to the parameters: a class for each --transport, which `asynchronous.run` plays.

The worker, the server's rules and the log are the same over all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.comm import Comm, flat, nested
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.mailbox import Mail, MailStore, ReplayMail, serve
from minitrpo.parallel.parameter_server import ParameterServer, work_through
from minitrpo.parallel.shared_window import SharedWindow, WindowStore
from minitrpo.training.asynchronous.workers import ITERATION, OVER, PULLED, REPORT, Of, Worker
from minitrpo.training.run_context import RunContext
from minitrpo.training.settings import Choice

QUEUE, WORKER = (
    RUN_PREFIX + "queue",
    RUN_PREFIX + "worker",
)  # in a checkpoint: the event queue's arrays, and those of each worker


@dataclass(frozen=True)
class Team:
    """What this rank has of an asynchronous run."""

    workers: list[Worker]  # that it plays
    server: ParameterServer | None = None  # where it reaches the parameters
    notes: list[str] = field(default_factory=list)  # what the algorithm has to say

    @property
    def shared(self) -> Arrays:
        """Return the shared arrays, where this rank reaches them."""
        assert self.server is not None
        return self.server.shared

    @property
    def over(self) -> bool:
        """Return whether the run has taken all its steps."""
        return bool(self.shared[OVER][0])


class Transport(ABC):
    """A way between workers and parameters. All ranks make one and call its methods in this order."""

    exact: bool  # whether a run continues to the bit from a checkpoint, with what `state` has
    workers: int  # how many workers the run has
    numbers: Sequence[int]  # of the workers that this rank plays
    serves: bool  # whether this rank reaches the parameters
    others_go_on: bool  # whether other ranks work while the root writes its log

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.names = pulled_names(context.choice)

    def share(self, arrays: Arrays) -> Arrays:
        """Return the shared arrays, where a rank that `serves` reaches them; collective for these ranks."""
        return arrays

    @abstractmethod
    def begin(self, team: Team) -> None:
        """Connect the workers, and have them begin, or continue from the run's checkpoint."""

    @abstractmethod
    def play(self, look: Callable[[], None]) -> None:
        """Do this rank's part until the run is over; look: called after each gradient that this rank sees."""

    def state(self) -> Arrays:
        """Return what a checkpoint needs apart from the shared arrays."""
        return {}

    def close(self) -> None:  # noqa: B027 - a transport may have nothing to give back
        """Give back memory and connections; collective."""


class BetweenRanks(Transport):
    """What shared memory and messages have in common: each rank that does not only serve plays one worker."""

    exact = False

    def __init__(self, context: RunContext, comm: Comm, first: int) -> None:
        """Take the communicator, and the rank of worker 0."""
        super().__init__(context)
        self.comm, self.first, self.workers = comm, first, comm.size - first
        self.numbers = [comm.rank - first] if comm.rank >= first else []
        self.others_go_on = comm.size > 1
        self.replay: ReplayMail | None = None

    def begin(self, team: Team) -> None:
        self.team, choice = team, self.context.choice
        for worker in team.workers:
            worker.patience = 1e-3
            if self.context.checkpoint:  # with episodes that were never played: no more have begun than steps
                steps = int(self.context.checkpoint[REPORT][:, Of.STEPS].sum())
                worker.begin_at(steps + worker.all_envs, steps)
        if choice.algorithm.learners(choice.algorithm_settings, self.workers) > 0:
            self.replay = ReplayMail(self.comm, self.first)
            for worker in team.workers:
                worker.ask = self.replay.ask

    def answer(self) -> None:
        """Answer the learners that have asked this rank's worker."""
        if self.replay is not None and self.team.workers:
            self.replay.answer(self.team.workers[0].algorithm.answer)

    def wait_for_learners(self) -> None:
        """Go on answering until no worker asks any more; collective."""
        if self.replay is not None:
            self.replay.close(self.answer)


class Window(BetweenRanks):
    """Shared memory: every rank, the root too, is a worker that applies its gradients itself."""

    serves = True

    def __init__(self, context: RunContext, comm: Comm) -> None:
        super().__init__(context, comm, first=0)

    def share(self, arrays: Arrays) -> Arrays:
        self.window = SharedWindow(self.comm, arrays)
        return self.window.arrays

    def play(self, look: Callable[[], None]) -> None:
        def answer_and_look() -> None:
            self.answer()
            look()

        (worker,), server = self.team.workers, self.team.server
        assert server is not None
        store = WindowStore(server, worker.number, self.names, lambda: self.team.over, answer_and_look)
        work_through(store, worker.work)
        self.wait_for_learners()

    def close(self) -> None:
        self.window.free()


class Server(BetweenRanks):
    """Messages: rank 0 keeps the parameters and applies what comes, and rank r is worker r - 1."""

    def __init__(self, context: RunContext, comm: Comm) -> None:
        super().__init__(context, comm, first=1)
        self.serves, self.mail = comm.rank == 0, Mail(comm)

    def play(self, look: Callable[[], None]) -> None:
        if self.team.server is not None:
            serve(self.mail, self.team.server, self.workers, self.names, lambda: self.team.over, look)
        else:
            work_through(MailStore(self.mail, self.answer), self.team.workers[0].work)
        self.wait_for_learners()

    def close(self) -> None:
        self.mail.close()


class Events(Transport):
    """One process: rank 0 plays all workers, with drawn delays; the other ranks have nothing to do."""

    exact, others_go_on = True, False

    def __init__(self, context: RunContext, comm: Comm) -> None:
        super().__init__(context)
        self.serves, self.workers = comm.rank == 0, context.choice.algorithm_settings.workers
        self.numbers = range(self.workers) if self.serves else ()

    def begin(self, team: Team) -> None:
        self.team, workers = team, team.workers
        if team.server is None:
            return
        for worker in workers:
            worker.ask = lambda asked: {number: workers[number].algorithm.answer(q) for number, q in asked.items()}
        self.queue = EventQueue(team.server, [worker.work for worker in workers], self.names, self.delay)
        if self.context.checkpoint:
            saved = nested(self.context.checkpoint)
            self.queue.restore(saved[QUEUE])
            iteration = int(self.context.checkpoint[ITERATION][0])
            for worker in workers:
                worker.begin_at(0, int(team.server.tally.clocks[worker.number]))
                worker.restore(saved[f"{WORKER}{worker.number}"], iteration)

    def delay(self, worker: int, clock: int) -> float:
        """Return the seconds between a worker's pull and its push."""
        choice = self.context.choice
        jitter = choice.algorithm_settings.delay_jitter
        return 1.0 + jitter * generator(choice.common.seed, clock, worker, Purpose.DELAY).exponential()

    def play(self, look: Callable[[], None]) -> None:
        while self.serves and not self.team.over:
            self.queue.play()
            look()

    def state(self) -> Arrays:
        """Return what is on its way, and what every worker keeps."""
        of_workers = {f"{WORKER}{worker.number}": worker.state() for worker in self.team.workers}
        return flat({QUEUE: self.queue.state(), **of_workers})


def pulled_names(choice: Choice) -> tuple[str, ...]:
    """Return the names of all arrays that a worker pulls: the algorithm's and the run's."""
    return (*choice.algorithm.pulled, *PULLED)
