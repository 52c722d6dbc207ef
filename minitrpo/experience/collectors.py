"""Collectors: how a rank comes by its share of an update's experience, whole episodes from a pool or fixed segments.

The root alone asks for `amount` and `steps` and, before a request goes out, for `refill`.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.experience.fragments import Fragments
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.episode_pool import Draw, Pool, concurrency, missing_requests, requests_for
from minitrpo.policies import Array

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


class EpisodeCollector:
    """Whole episodes, as many as this rank draws from the pool of all that are requested; comm: all ranks that draw."""

    waits_for_ends = True  # a request is over only when its episodes are

    def __init__(self, rollouts: Rollouts, pool: Pool, comm: Comm) -> None:
        self.rollouts, self._pool, self._comm = rollouts, pool, comm

    def amount(self, steps: int, mean_length: float) -> int:
        """Return how many episodes to request for about `steps` steps."""
        return requests_for(steps, mean_length)

    def steps(self, amount: int) -> int | None:
        """Return how many steps a request of this amount takes: None, that is not known before."""
        return None

    def refill(self) -> None:
        """Put all requests back; on the root, before a request goes out."""
        self._pool.refill()

    def collect(self, request: Request) -> list[Fragments]:
        """Return the episodes that this rank drew; collective where the request says how many steps are wanted."""
        played: list[Fragments] = []
        first, count = 0, request.amount
        while count:
            in_play = concurrency(count, self._comm.size, self.rollouts.num_envs)
            played += self._play(request, self._numbers(first, count), in_play)
            first += count
            count = self._missing(request.wanted, sum(fragment.steps for fragment in played), first)
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

    def _play(self, request: Request, draw: Draw, in_play: int) -> list[Fragments]:
        return self.rollouts.play(request.theta, request.observation_filter, request.iteration, draw, in_play)

    def _numbers(self, first: int, count: int) -> Draw:
        """Return what draws this rank's next of `count` requests, which are numbered from `first` on."""
        draw = self._pool.draw_from(count)

        def number() -> int | None:
            drawn = draw()
            return None if drawn is None else first + drawn

        return number

    def _missing(self, wanted: int, played: int, episodes: int) -> int:
        """Return how many more episodes all ranks are to play for these steps; they are in the pool then; collective.

        played: steps of this rank. episodes: of all ranks. Nobody draws before all have drawn the last.
        """
        if not wanted:
            return 0
        parts = self._comm.gather({"played": np.array(played)})
        self.refill()
        total = sum(int(part["played"]) for part in parts)
        count = missing_requests(wanted, total, episodes) if self._comm.rank == 0 else 0
        return int(self._comm.broadcast({"count": np.array(count)})["count"])


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
        return {UNFINISHED + name: array for name, array in self.rollouts.unfinished().items()}

    def restore(self, arrays: dict[str, Array], iteration: int) -> None:
        """Put the unfinished episodes of this rank's slots back, for this iteration; arrays: of all the job's slots."""
        if UNFINISHED + "numbers" not in arrays:
            return
        own = {name.removeprefix(UNFINISHED): a for name, a in arrays.items() if name.startswith(UNFINISHED)}
        self.rollouts.restore(own, self.slots, iteration)

    def close(self) -> None:
        """Close the environments."""
        self.rollouts.envs.close()


Collector = EpisodeCollector | SegmentCollector
