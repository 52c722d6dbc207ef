"""A rank's part of an iteration: collect what was requested, digest it, and bring it to the root in one order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.experience.collectors import Collector, EpisodeCollector, Request, SegmentCollector
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes, in_order, rows_of
from minitrpo.experience.filters import moments
from minitrpo.experience.physics import make_vector_env
from minitrpo.experience.rollouts import Rollouts
from minitrpo.experience.status import RankStatus
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.pool import DynamicPool, RankRequests, StaticPool, slots_of
from minitrpo.policies import Array, Policy
from minitrpo.runs.settings import Settings

Arrays = dict[str, Array]
PER_FRAGMENT = ("numbers", "starts", "lengths", "terminated", "truncated", "returns")
OWN = "fragment_"  # how the house's arrays are called among those of a digest


@dataclass(frozen=True)
class Gathered:
    """Everybody's experience of one iteration, on the root, in episode order."""

    batch: Arrays  # what the algorithm's digests sent
    fragments: Arrays  # PER_FRAGMENT, (E,) each, and "mean" and "squares" of the raw observations, (E, D)

    @property
    def steps(self) -> int:
        """Return the number of environment steps."""
        return int(self.fragments["lengths"].sum())

    @property
    def ended(self) -> Array:
        """Return which fragments finish their episode, (E,) bool."""
        return self.fragments["terminated"] | self.fragments["truncated"]


def make_collector(
    settings: Settings, spec: EnvironmentSpec, policy: Policy, comm: Comm, status: RankStatus | None = None
) -> Collector:
    """Return this rank's collector, of the kind that the settings ask for; BadInput if a rank would have nothing."""
    segments = settings.requests == "segments"
    width = settings.num_envs if segments else settings.envs_per_rank
    check_ranks(settings, comm.size)
    rollouts = Rollouts(spec, policy, make_vector_env(spec, width, settings.physics), settings.seed, status)
    if segments:
        return SegmentCollector(rollouts, slots_of(comm.rank, comm.size, width), width)
    pool = DynamicPool(comm) if settings.pool == "dynamic" else StaticPool(comm)
    return EpisodeCollector(rollouts, RankRequests(pool, comm.size, width))


def check_ranks(settings: Settings, ranks: int) -> None:
    """Raise BadInput where ranks would never get a request."""
    if settings.requests == "segments" and settings.num_envs < ranks:
        raise BadInput(
            f"--num-envs {settings.num_envs} environments for {ranks} ranks: choose --num-envs {ranks} or more"
        )


def digested(algorithm: Any, plan: Any, request: Request, episodes: Episodes) -> Arrays:
    """Return what this rank sends to the root: the algorithm's digest, and the house's arrays; {} without a step."""
    if episodes.steps == 0:
        return {}
    raw = [moments(episodes.observations[rows]) for rows in episodes.slices()]
    own = {name: getattr(episodes, name) for name in PER_FRAGMENT}
    own |= {"mean": np.array([mean for mean, _ in raw]), "squares": np.array([squares for _, squares in raw])}
    digest = algorithm.digest(plan, episodes.filtered(request.observation_filter))
    arrays = {name: np.asarray(array) for name, array in digest.items()}
    for name, array in arrays.items():
        if array.dtype == object or array.ndim == 0:
            raise TypeError(f"digest() returned {name!r} of shape {array.shape}, {array.dtype}; it must have rows")
    return arrays | {OWN + name: array for name, array in own.items()}


def in_episode_order(parts: list[Arrays]) -> Gathered:
    """Return what all ranks sent, sorted by episode number: the one order that does not depend on who played what."""
    parts = [part for part in parts if part]
    own = {name: np.concatenate([part[OWN + name] for part in parts]) for name in (*PER_FRAGMENT, "mean", "squares")}
    order = in_order(own["numbers"], own["starts"])
    rows = rows_of(order, own["lengths"])
    steps = [int(part[OWN + "lengths"].sum()) for part in parts]
    fragments = [len(part[OWN + "lengths"]) for part in parts]
    batch = {}
    for name in parts[0]:
        if name.startswith(OWN):
            continue
        sent = [part[name] for part in parts]
        sizes = [len(array) for array in sent]
        if sizes not in (steps, fragments):
            raise ValueError(
                f"digest() returned {name!r} with {sizes[0]} rows, for {steps[0]} steps in {fragments[0]} fragments: "
                "it must have one row for each step or for each fragment"
            )
        batch[name] = np.concatenate(sent)[rows if sizes == steps else order]
    return Gathered(batch, {name: array[order] for name, array in own.items()})


def gather(comm: Comm, own: Arrays) -> Gathered | None:
    """Return everybody's experience on the root; None on the others."""
    parts = comm.gather(own)
    return in_episode_order(parts) if comm.rank == 0 else None


def gather_unfinished(comm: Comm, collector: Collector) -> Arrays:
    """Return the unfinished episodes of all ranks' slots, for a checkpoint, on the root; collective."""
    parts = [part for part in comm.gather(collector.unfinished()) if part]
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else {})}
