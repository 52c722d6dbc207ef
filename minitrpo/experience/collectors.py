"""Collectors: how a rank comes by its share of an update's experience, whole episodes from a pool or fixed segments.

A collector is handed its way to the next request, or its slots; it knows nothing of other ranks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from minitrpo.experience.fragments import Fragments
from minitrpo.experience.lockstep import as_arrays, from_arrays
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.policies import Array

Draw = Callable[[], int | None]
UNFINISHED = "unfinished_"  # how the arrays of unfinished episodes are called in a checkpoint


@dataclass(frozen=True)
class Request:
    """What all ranks together are to collect: with which policy and filter, for which update, and how much.

    amount: a number of episodes, or of steps in every environment slot; see the collector. wanted: steps, where the
    amount is but a guess of how many episodes take so many: more are played until they have; 0: the amount stands.
    """

    iteration: int  # 1, 2, ...
    amount: int
    theta: Array
    observation_filter: ObservationFilter
    wanted: int = 0


class Requests(Protocol):
    """Where the numbers of whole episodes come from: lecture 07's pool, as one rank sees it."""

    def count_for(self, steps: int, mean_length: float) -> int: ...
    def missing(self, steps: int, played: int, episodes: int) -> int: ...
    def refill(self) -> None: ...
    def draw_from(self, count: int) -> Draw: ...
    def concurrency(self, count: int) -> int: ...


class Collector(Protocol):
    """A rank's part of collecting; the root alone calls `amount`, `steps` and, before a request goes out, `refill`."""

    waits_for_ends: bool  # whether a request is over only when its episodes are

    def amount(self, steps: int, mean_length: float) -> int: ...
    def steps(self, amount: int) -> int | None: ...
    def refill(self) -> None: ...
    def collect(self, request: Request) -> list[Fragments]: ...
    def rerun(self, request: Request, number: int) -> list[Fragments]: ...
    def unfinished(self) -> dict[str, Array]: ...
    def restore(self, arrays: dict[str, Array], iteration: int) -> None: ...
    def close(self) -> None: ...


def numbered_from(first: int, draw: Draw) -> Draw:
    """Return a function that draws the same numbers, from `first` on."""

    def numbered() -> int | None:
        number = draw()
        return None if number is None else first + number

    return numbered


class EpisodeCollector:
    """Whole episodes, as many as this rank draws of all that are requested."""

    waits_for_ends = True

    def __init__(self, rollouts: Rollouts, requests: Requests) -> None:
        self.rollouts, self._requests = rollouts, requests

    def amount(self, steps: int, mean_length: float) -> int:
        """Return how many episodes to request for about `steps` steps."""
        return self._requests.count_for(steps, mean_length)

    def steps(self, amount: int) -> int | None:
        """Return how many steps a request of this amount takes: None, that is not known before."""
        return None

    def refill(self) -> None:
        """Put all requests back."""
        self._requests.refill()

    def collect(self, request: Request) -> list[Fragments]:
        """Return the episodes that this rank drew; collective where the request says how many steps are wanted."""
        played: list[Fragments] = []
        first, count = 0, request.amount
        while count:
            draw = numbered_from(first, self._requests.draw_from(count))
            played += self._play(request, draw, self._requests.concurrency(count))
            first += count
            steps = sum(fragment.steps for fragment in played)
            count = self._requests.missing(request.wanted, steps, first) if request.wanted else 0
        return played

    def rerun(self, request: Request, number: int) -> list[Fragments]:
        """Return one episode of a request."""
        one = iter([number] if 0 <= number < request.amount or request.wanted else [])
        return self._play(request, lambda: next(one, None), 1)

    def unfinished(self) -> dict[str, Array]:
        """Return the state of episodes that go on: there are none."""
        return {}

    def restore(self, arrays: dict[str, Array], iteration: int) -> None:
        """Do nothing: every request begins afresh."""

    def close(self) -> None:
        """Close the environments."""
        self.rollouts.envs.close()

    def _play(self, request: Request, draw: Draw, concurrency: int) -> list[Fragments]:
        theta, frozen = request.theta, request.observation_filter
        return self.rollouts.play(theta, frozen, request.iteration, draw, concurrency)


class SegmentCollector:
    """A segment of fixed length of each of this rank's environment slots, of which the job has `total_envs`."""

    waits_for_ends = False

    def __init__(self, rollouts: Rollouts, slots: range, total_envs: int) -> None:
        self.rollouts, self.slots, self.total_envs = rollouts, slots, total_envs

    def amount(self, steps: int, mean_length: float) -> int:
        """Return how many steps every slot must take for at least `steps` in all."""
        return -(-steps // self.total_envs)

    def steps(self, amount: int) -> int | None:
        """Return how many steps a request of this amount takes."""
        return amount * self.total_envs

    def refill(self) -> None:
        """Do nothing: every slot has its share."""

    def collect(self, request: Request) -> list[Fragments]:
        """Return the segments of this rank's slots."""
        theta, frozen = request.theta, request.observation_filter
        return self.rollouts.advance(theta, frozen, request.iteration, self.slots, self.total_envs, request.amount)

    def rerun(self, request: Request, number: int) -> list[Fragments]:
        """Return the segments among which the episode is: it goes on from earlier ones."""
        return self.collect(request)

    def unfinished(self) -> dict[str, Array]:
        """Return the unfinished episodes of this rank's slots as arrays, slot by slot."""
        return {UNFINISHED + name: array for name, array in as_arrays(self.rollouts.unfinished()).items()}

    def restore(self, arrays: dict[str, Array], iteration: int) -> None:
        """Put the unfinished episodes of this rank's slots back, for this iteration; arrays: of all the job's slots."""
        if UNFINISHED + "numbers" not in arrays:
            return
        own = {name.removeprefix(UNFINISHED): a for name, a in arrays.items() if name.startswith(UNFINISHED)}
        episodes = from_arrays(own)
        self.rollouts.restore([episodes[i] for i in self.slots], iteration)

    def close(self) -> None:
        """Close the environments."""
        self.rollouts.envs.close()
