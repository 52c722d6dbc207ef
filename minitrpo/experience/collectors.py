"""Collectors: how a rank comes by its share of an update's experience, whole episodes from a pool or fixed segments.

A collector is handed its way to the next request, or its slots; it knows nothing of other ranks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from minitrpo.experience.episodes import Episodes
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.lockstep import UnfinishedEpisode
from minitrpo.experience.rollouts import Rollouts
from minitrpo.policies import Array

Draw = Callable[[], int | None]
UNFINISHED = "unfinished_"  # how the arrays of unfinished episodes are called in a checkpoint


@dataclass(frozen=True)
class Request:
    """What all ranks together are to collect: with which policy and filter, for which update, and how much.

    amount: a number of episodes, or of steps in every environment slot; see the collector.
    """

    iteration: int  # 1, 2, ...
    amount: int
    theta: Array
    observation_filter: ObservationFilter


class Requests(Protocol):
    """Where the numbers of whole episodes come from: lecture 07's pool, as one rank sees it."""

    def count_for(self, steps: int, mean_length: float) -> int: ...
    def refill(self) -> None: ...
    def draw_from(self, count: int) -> Draw: ...
    def concurrency(self, count: int) -> int: ...


class Collector(Protocol):
    """A rank's part of collecting; the root alone calls `amount`, `steps` and, before a request goes out, `refill`."""

    waits_for_ends: bool  # whether a request is over only when its episodes are

    def amount(self, steps: int, mean_length: float) -> int: ...
    def steps(self, amount: int) -> int | None: ...
    def refill(self) -> None: ...
    def collect(self, request: Request) -> Episodes: ...
    def replay(self, request: Request, number: int) -> Episodes: ...
    def unfinished(self) -> dict[str, Array]: ...
    def restore(self, arrays: dict[str, Array], iteration: int) -> None: ...
    def close(self) -> None: ...


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

    def collect(self, request: Request) -> Episodes:
        """Return the episodes that this rank drew."""
        return self._play(request, self._requests.draw_from(request.amount), self._requests.concurrency(request.amount))

    def replay(self, request: Request, number: int) -> Episodes:
        """Return one episode of a request."""
        one = iter([number] if 0 <= number < request.amount else [])
        return self._play(request, lambda: next(one, None), 1)

    def unfinished(self) -> dict[str, Array]:
        """Return the state of episodes that go on: there are none."""
        return {}

    def restore(self, arrays: dict[str, Array], iteration: int) -> None:
        """Do nothing: every request begins afresh."""

    def close(self) -> None:
        """Close the environments."""
        self.rollouts.envs.close()

    def _play(self, request: Request, draw: Draw, concurrency: int) -> Episodes:
        theta, frozen = request.theta, request.observation_filter
        return self.rollouts.play(theta, frozen, request.iteration, draw, concurrency)


class SegmentCollector:
    """A segment of fixed length of each of this rank's environment slots, of which the job has `num_envs`."""

    waits_for_ends = False

    def __init__(self, rollouts: Rollouts, slots: range, num_envs: int) -> None:
        self.rollouts, self.slots, self.num_envs = rollouts, slots, num_envs

    def amount(self, steps: int, mean_length: float) -> int:
        """Return how many steps every slot must take for at least `steps` in all."""
        return -(-steps // self.num_envs)

    def steps(self, amount: int) -> int | None:
        """Return how many steps a request of this amount takes."""
        return amount * self.num_envs

    def refill(self) -> None:
        """Do nothing: every slot has its share."""

    def collect(self, request: Request) -> Episodes:
        """Return the segments of this rank's slots."""
        theta, frozen = request.theta, request.observation_filter
        return self.rollouts.advance(theta, frozen, request.iteration, self.slots, self.num_envs, request.amount)

    def replay(self, request: Request, number: int) -> Episodes:
        """Return the segments among which the episode is: it goes on from earlier ones."""
        return self.collect(request)

    def unfinished(self) -> dict[str, Array]:
        """Return the unfinished episodes of this rank's slots as arrays, slot by slot."""
        episodes = self.rollouts.unfinished()
        arrays = {
            "numbers": np.array([e.number for e in episodes], np.int64),
            "lengths": np.array([len(e.actions) for e in episodes], np.int64),
            "actions": np.concatenate([e.actions for e in episodes]),
            "observations": np.array([e.observation for e in episodes]),
        }
        return {UNFINISHED + name: array for name, array in arrays.items()}

    def restore(self, arrays: dict[str, Array], iteration: int) -> None:
        """Put the unfinished episodes of this rank's slots back, for this iteration; arrays: of all the job's slots."""
        if UNFINISHED + "numbers" not in arrays:
            return
        numbers, lengths, actions, observations = (
            arrays[UNFINISHED + name] for name in ("numbers", "lengths", "actions", "observations")
        )
        past = np.split(actions, np.cumsum(lengths)[:-1])
        episodes = [UnfinishedEpisode(int(numbers[i]), past[i], observations[i]) for i in self.slots]
        self.rollouts.restore(episodes, iteration)

    def close(self) -> None:
        """Close the environments."""
        self.rollouts.envs.close()
