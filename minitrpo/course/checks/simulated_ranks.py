"""Ranks in one process, for checks: threads with a virtual clock, so that the same rank plays the same episode always.

A check runs a student's function on several ranks a hundred times; mpiexec would take a second each time. `run` starts
a thread for each rank. The virtual clock of a rank goes on when it plays, and the rank whose clock is behind draws from
the shared counter first, whatever the threads do. A program that hangs under MPI ends here with a sentence.
"""

import copy
import functools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

from minitrpo.course.checks.framework.differential import Need

ANY = -1  # mpi4py's ANY_SOURCE and ANY_TAG
TOO_MANY = 100  # numbers drawn after the last request, from which on a rank is said to draw for ever


class Job:
    """What the ranks of a job share; `changed` guards all of it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.clocks = [0.0] * size
        self.value = 0  # of the shared counter
        self.ended = set[int]()
        self.blocked: dict[int, tuple[str, Callable[[], bool]]] = {}  # why, and whether it may go on
        self.calls: list[dict[int, tuple[str, Any]]] = []  # of each collective call, by rank
        self.messages: list[tuple[int, int, int, Any]] = []  # source, destination, tag, thing
        self.failure: BaseException | None = None
        self.changed = threading.Condition()

    def block(self, rank: int, why: str, ready: Callable[[], bool]) -> None:
        """Wait until `ready()`, or raise if that can never be; with `changed` held."""
        self.blocked[rank] = why, ready
        self.look()
        self.changed.wait_for(lambda: self.failure is not None or ready())
        if self.failure is not None:
            raise Stopped
        del self.blocked[rank]

    def look(self) -> None:
        """Fail if all ranks that have not ended wait, and nothing that they wait for can happen."""
        self.changed.notify_all()
        still = set(range(self.size)) - self.ended
        if still and still == set(self.blocked) and not any(ready() for _, ready in self.blocked.values()):
            waiting = [f"rank {rank} waits in {self.blocked[rank][0]}" for rank in sorted(still)]
            over = [f"rank {rank} has returned" for rank in sorted(self.ended)]
            self.fail(Need(f"on {self.size} ranks it does not end: {', '.join([*waiting, *over])}"))

    def fail(self, error: BaseException) -> None:
        """End all ranks at their next call; the first failure counts."""
        self.failure = self.failure or error
        self.changed.notify_all()


class Stopped(BaseException):
    """Ends the thread of a rank after another one has failed."""


class SimulatedCounter:
    """One rank's view of the counter that all ranks draw from."""

    def __init__(self, job: Job, rank: int, requests: int) -> None:
        self.job, self.rank, self.requests = job, rank, requests

    def next(self) -> int:
        """Return the value and add 1, when no other rank is behind this one in time."""
        job, me = self.job, (self.job.clocks[self.rank], self.rank)
        with job.changed:
            job.changed.wait_for(lambda: job.failure is not None or me == min(self._running()))
            if job.failure is not None:
                raise Stopped
            job.value += 1
            if job.value > self.requests + TOO_MANY:
                job.fail(Need(f"it still draws numbers after {TOO_MANY} that belong to no request"))
            return job.value - 1

    def _running(self) -> list[tuple[float, int]]:
        waiting = self.job.ended | set(self.job.blocked)
        return [(clock, rank) for rank, clock in enumerate(self.job.clocks) if rank not in waiting]


class SimulatedComm:
    """One rank's communicator, with the calls of mpi4py that take Python objects."""

    def __init__(self, job: Job, rank: int, size: int) -> None:
        self.job, self.rank, self.size = job, rank, size
        self.count = 0  # of this rank's collective calls

    def Get_rank(self) -> int:  # noqa: N802 - mpi4py's name
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        return self.size

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        things = self._together(f"gather(root={root})" if root else "gather", sendobj)
        return things if self.rank == root else None

    def allgather(self, sendobj: Any) -> list[Any]:
        return self._together("allgather", sendobj)

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        return self._together(f"bcast(root={root})" if root else "bcast", obj)[root]

    def reduce(self, sendobj: Any, op: Any = operator.add, root: int = 0) -> Any:
        things = self._together(f"reduce(root={root})" if root else "reduce", sendobj)
        return functools.reduce(op, things) if self.rank == root else None

    def allreduce(self, sendobj: Any, op: Any = operator.add) -> Any:
        return functools.reduce(op, self._together("allreduce", sendobj))

    def barrier(self) -> None:
        self._together("barrier", None)

    Barrier = barrier

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        with self.job.changed:
            self.job.messages.append((self.rank, dest, tag, copy.deepcopy(obj)))
            self.job.changed.notify_all()

    def recv(self, buf: Any = None, source: int = ANY, tag: int = ANY, status: Any = None) -> Any:
        def wanted() -> list[tuple[int, int, int, Any]]:
            mine = [message for message in self.job.messages if message[1] == self.rank]
            return [m for m in mine if source in (ANY, m[0]) and tag in (ANY, m[2])]

        with self.job.changed:
            self.job.block(
                self.rank, f"recv from {'any rank' if source == ANY else f'rank {source}'}", lambda: bool(wanted())
            )
            message = wanted()[0]
            self.job.messages.remove(message)
            return message[3]

    def _together(self, name: str, thing: Any) -> list[Any]:
        """Return what all ranks have brought to their next collective call, in the order of the ranks."""
        job, number = self.job, self.count
        self.count += 1
        with job.changed:
            if len(job.calls) == number:
                job.calls.append({})
            arrived = job.calls[number]
            others = [(rank, called) for rank, (called, _) in arrived.items() if called != name]
            if others:
                job.fail(Need(f"rank {self.rank} calls {name} where rank {others[0][0]} calls {others[0][1]}"))
            arrived[self.rank] = name, copy.deepcopy(thing)
            job.block(self.rank, name, lambda: len(arrived) == job.size)
            job.clocks[self.rank] = max(job.clocks)
            return [copy.deepcopy(arrived[rank][1]) for rank in range(job.size)]


Program = Callable[[SimulatedComm, SimulatedCounter, Callable[[int], float]], Any]


def run(program: Program, requests: int, lengths: Sequence[float], slowness: Sequence[float]) -> list[Any]:
    """Run a program on several ranks and return what each of them returns.

    Args:
        program: is called on each rank with a communicator, the shared counter, and `play`, which takes the number of
            an episode and returns the episode: its number plus 0.1.
        requests: how many there are.
        lengths: seconds that each episode takes, on the virtual clock.
        slowness: of each rank, by which these seconds are multiplied.

    Returns:
        The values that the ranks return, in their order.

    Raises:
        BaseException: what the first rank to fail has raised; Need with a sentence if the ranks wait for ever.
    """
    job = Job(len(slowness))
    results: list[Any] = [None] * job.size

    def work(rank: int) -> None:
        def play(number: int) -> float:
            if not 0 <= number < requests:
                raise Need(f"it plays episode {number}, and the requests are 0 to {requests - 1}")
            with job.changed:
                job.clocks[rank] += lengths[number] * slowness[rank]
                job.changed.notify_all()
            return number + 0.1

        try:
            results[rank] = program(SimulatedComm(job, rank, job.size), SimulatedCounter(job, rank, requests), play)
        except Stopped:
            pass
        except BaseException as error:  # raised again where the result is wanted
            with job.changed:
                job.fail(error)
        with job.changed:
            job.ended.add(rank)
            job.blocked.pop(rank, None)
            job.look()

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(job.size)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        with job.changed:
            job.fail(Stopped())
        raise
    if job.failure is not None:
        raise job.failure
    return results
