"""A rank's part of an iteration: collect its share of a request, prepare it, and bring it to the root in one order."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.algorithms.user_classes import UNFINISHED
from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.observation_filter import ObservationFilter, moments
from minitrpo.experience.rollouts import Fragments, Rollouts
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.episode_pool import Pool, concurrency, missing_requests
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status

PER_FRAGMENT = ("numbers", "starts", "lengths", "terminated", "truncated", "returns")


@dataclass(frozen=True)
class Request:
    """What all ranks together are to collect: with which policy and filter, for which update, and how much.

    Attributes:
        iteration: the number of the update, from 1 on.
        amount: a number of episodes, or of steps in every environment slot; see the collector.
        theta: the parameters of the policy that acts, (P,).
        observation_filter: the filter that the policy sees observations through.
        wanted: 0 if `amount` is exact; else it is a guess, and episodes are added until they have this many steps.

    """

    iteration: int
    amount: int
    theta: Array  # that of the plan, the same object: it travels once
    observation_filter: ObservationFilter
    wanted: int = 0


# --- how a rank comes by its share


class Collector:
    """The environments of a rank, and what a request is to it."""

    def __init__(self, rollouts: Rollouts) -> None:
        self.rollouts = rollouts

    def refill(self) -> None:
        """Put all requests back; on the root, before a request goes out."""

    def collect(self, request: Request) -> list[Fragments]:
        """Return this rank's share of a request; collective where the request says how many steps are wanted."""
        raise NotImplementedError

    def rerun(self, request: Request, number: int) -> list[Fragments]:
        """Return the fragments among which an episode of a request is."""
        return self.collect(request)

    def unfinished(self) -> Arrays:
        """Return this rank's episodes that go on after a request, slot by slot, for a checkpoint; {} if none do."""
        return {}

    def restore(self, arrays: Arrays, iteration: int) -> None:
        """Put this rank's unfinished episodes back, for this iteration; arrays: all of a checkpoint."""


class EpisodeCollector(Collector):
    """Whole episodes, as many as this rank draws from the pool of all that are requested; comm: all ranks that draw."""

    def __init__(self, rollouts: Rollouts, pool: Pool, comm: Comm) -> None:
        super().__init__(rollouts)
        self._pool, self._comm = pool, comm

    def refill(self) -> None:
        self._pool.refill()

    def collect(self, request: Request) -> list[Fragments]:
        played: list[Fragments] = []
        first, count = 0, request.amount
        while count:
            draw = self._pool.draw_from(count)
            numbers = (first + number for number in iter(draw, None))
            in_play = concurrency(count, self._comm.size, self.rollouts.num_envs)
            played += self._play(request, numbers, in_play)
            first, count = first + count, 0
            if request.wanted:  # all have drawn the last one: the pool can be filled again before anybody draws
                parts = self._comm.gather(sum(fragment.steps for fragment in played))
                self.refill()
                count = int(self._comm.broadcast(missing_requests(request.wanted, sum(parts), first) if parts else 0))
        return played

    def rerun(self, request: Request, number: int) -> list[Fragments]:
        return self._play(request, iter([number] if 0 <= number < request.amount or request.wanted else []), 1)

    def _play(self, request: Request, numbers: Iterator[int], in_play: int) -> list[Fragments]:
        theta, frozen = request.theta, request.observation_filter
        return self.rollouts.play(theta, frozen, request.iteration, lambda: next(numbers, None), in_play)


class SegmentCollector(Collector):
    """A segment of fixed length of each of this rank's environment slots, of which the job has `total_envs`."""

    def __init__(self, rollouts: Rollouts, slots: range, total_envs: int) -> None:
        super().__init__(rollouts)
        self.slots, self.total_envs = slots, total_envs

    def collect(self, request: Request) -> list[Fragments]:
        theta, frozen = request.theta, request.observation_filter
        return self.rollouts.advance(theta, frozen, request.iteration, self.slots, self.total_envs, request.amount)

    def unfinished(self) -> Arrays:
        return {UNFINISHED + name: array for name, array in self.rollouts.unfinished().items()}

    def restore(self, arrays: Arrays, iteration: int) -> None:
        own = {name.removeprefix(UNFINISHED): a for name, a in arrays.items() if name.startswith(UNFINISHED)}
        if own:
            self.rollouts.restore(own, self.slots, iteration)


# --- what travels


@dataclass(frozen=True)
class Gathered:
    """The experience of an iteration: what one rank sends, in the order in which it was played, or all, sorted."""

    batch: Arrays  # what the algorithm prepared: a row for each step, or one for each fragment
    fragments: Arrays  # PER_FRAGMENT, (E,) each, and "mean" and "squares" of the raw observations, (E, D)
    unfinished: Arrays = field(default_factory=dict)  # episodes that go on, slot by slot, if a checkpoint follows

    @property
    def steps(self) -> int:
        """Return the number of environment steps."""
        return int(self.fragments["lengths"].sum())

    @property
    def ended(self) -> Array:
        """Return which fragments finish their episode, (E,) bool."""
        return self.fragments["terminated"] | self.fragments["truncated"]


def prepare_fragments(algorithm: Algorithm, plan: Plan, request: Request, fragments: list[Fragments]) -> Gathered:
    """Return what this rank sends to the root: what the algorithm prepares, and the place of each fragment.

    One fragment at a time: how BLAS rounds a row of a product depends on the number of rows, and how many
    rows a rank has depends on the number of ranks.
    """
    places, rows = [], []
    with status.at("prepare"):
        for fragment in fragments:
            mean, squares = moments(fragment.observations)
            of_filter = {"mean": mean[None], "squares": squares[None]}
            places.append({name: getattr(fragment, name) for name in PER_FRAGMENT} | of_filter)
            rows.append(algorithm.prepare(plan, fragment.filtered(request.observation_filter)))
    return Gathered(joined(rows), joined(places))


def in_episode_order(parts: list[Gathered]) -> Gathered:
    """Return what all ranks sent, sorted by episode number: the one order that does not depend on who played what."""
    parts = [part for part in parts if part.fragments]
    batch, fragments = joined([part.batch for part in parts]), joined([part.fragments for part in parts])
    order = in_order(fragments["numbers"], fragments["starts"])
    rows = rows_of(order, fragments["lengths"])
    for name, array in batch.items():
        if len(array) not in (len(rows), len(order)):
            raise AlgorithmFailed(
                f"prepare() returned {name!r} with {len(array)} rows for {len(rows)} steps in {len(order)} fragments: "
                "it must have one row for each step or one for each fragment"
            )
        batch[name] = array[rows if len(array) == len(rows) else order]
    unfinished = joined([part.unfinished for part in parts])  # slot by slot: the ranks have them in turn
    return Gathered(batch, {name: array[order] for name, array in fragments.items()}, unfinished)


def joined(parts: list[Arrays]) -> Arrays:
    """Return the rows of all parts by name; AlgorithmFailed where the parts differ in more than how many they have."""
    names = sorted({name for part in parts for name in part})
    for name in names:
        if not all(name in part for part in parts):
            raise AlgorithmFailed(f"prepare() returned {name!r} for some fragments only")
        if len(shapes := {part[name].shape[1:] for part in parts}) > 1:
            raise AlgorithmFailed(f"prepare() returned {name!r} with rows of shapes {sorted(shapes)}")
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def in_order(numbers: Array, starts: Array) -> Array:
    """Return the positions (E,) at which to find the fragments sorted by episode number, those of one by their start.

    `numbers[in_order(numbers, starts)]` ascends; no fragments give no positions, and still integers.
    """
    return np.lexsort((starts, numbers))


def rows_of(order: Array, lengths: Array) -> Array:
    """Return the positions (N,) of the steps of fragments taken in this order; lengths (E,) are in the old one."""
    stops = np.cumsum(lengths)
    return np.concatenate([np.arange(0), *(np.arange(stops[i] - lengths[i], stops[i]) for i in order)])


def gather(comm: Comm, played: Gathered) -> Gathered:
    """Return the experience of all ranks, sorted by episode number, on the root; nothing on the others. Collective.

    Args:
        comm: the ranks that play.
        played: what this rank sends.

    """
    parts = comm.gather(played)
    return in_episode_order(parts) if comm.rank == 0 else Gathered({}, {})
