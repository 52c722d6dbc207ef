"""A rank's part of an iteration: collect what was requested, digest it, and bring it to the root in one order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.errors import AlgorithmFailed, BadInput, shown
from minitrpo.experience.collectors import Collector, EpisodeCollector, Request, SegmentCollector
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes, in_order, rows_of
from minitrpo.experience.filters import moments
from minitrpo.experience.physics import make_vector_env
from minitrpo.experience.rollouts import Rollouts
from minitrpo.experience.status import RankStatus
from minitrpo.experience.vector_env import EnvironmentFailed
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.launcher import launched_rank
from minitrpo.parallel.pool import DynamicPool, RankRequests, StaticPool, slots_of
from minitrpo.parallel.voice import say
from minitrpo.policies import Array, Policy
from minitrpo.runs.settings import Settings

Arrays = dict[str, Array]
PER_FRAGMENT = ("numbers", "starts", "lengths", "terminated", "truncated", "returns")
OWN = "fragment_"  # how the house's arrays are called among those of a digest
FOUND = "found_"  # and what a rank has found for the update before


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
    envs = make_vector_env(spec, width, settings.physics)
    rollouts = Rollouts(spec, policy, envs, settings.seed, status, settings.first_states)
    if segments:
        return SegmentCollector(rollouts, slots_of(comm.rank, comm.size, width), width)
    pool = DynamicPool(comm) if settings.pool == "dynamic" else StaticPool(comm)
    return EpisodeCollector(rollouts, RankRequests(pool, comm.size, width))


def close_environments(collector: Collector) -> None:
    """Close a rank's environments at the end of a run that went well, which an environment cannot undo any more."""
    try:
        collector.close()
    except EnvironmentFailed as error:
        say(f"minitrpo: the run is whole, but rank {launched_rank()} could not close an environment: {error}")


def check_ranks(settings: Settings, ranks: int) -> None:
    """Raise BadInput where ranks would never get a request."""
    if settings.requests == "segments" and settings.num_envs < ranks:
        raise BadInput(
            f"--num-envs {settings.num_envs} environments for {ranks} ranks: choose --num-envs {ranks} or more"
        )


def check_requests(settings: Settings, plan: Any) -> None:
    """Raise BadInput where an algorithm counts on whole episodes and gets segments."""
    if settings.requests == "segments" and plan.episodes is not None:
        raise BadInput(f"--requests segments: {settings.algorithm} needs whole episodes; use --requests episodes")


def unfinished_slots(settings: Settings) -> int:
    """Return how many environments of the whole job are within an episode between two updates."""
    return settings.num_envs if settings.requests == "segments" else 0


def digested(algorithm: Any, plan: Any, request: Request, episodes: Episodes) -> Arrays:
    """Return what this rank sends to the root: the algorithm's digests, and the house's arrays; {} without a step.

    Fragment by fragment: BLAS rounds a row of a product by how many stand beside it, and how many a rank has depends
    on the number of ranks.
    """
    if episodes.steps == 0:
        return {}
    raw = [moments(episodes.observations[rows]) for rows in episodes.slices()]
    own = {name: getattr(episodes, name) for name in PER_FRAGMENT}
    own |= {"mean": np.array([mean for mean, _ in raw]), "squares": np.array([squares for _, squares in raw])}
    fragments = episodes.filtered(request.observation_filter).fragments()
    parts = [checked(algorithm.digest(plan, fragment), fragment) for fragment in fragments]
    if any(part.keys() != parts[0].keys() for part in parts):
        raise AlgorithmFailed("digest() returned other arrays for one fragment than for another")
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return arrays | {OWN + name: array for name, array in own.items()}


def checked(digest: Any, fragment: Episodes) -> Arrays:
    """Return the digest of a fragment as arrays; AlgorithmFailed if one cannot travel."""
    if not isinstance(digest, dict):
        raise AlgorithmFailed(f"digest() must return a dict of arrays, not {type(digest).__name__}")
    arrays = {name: as_array(array) for name, array in digest.items()}
    for name, array in arrays.items():
        if not isinstance(name, str) or name.startswith((OWN, FOUND)):
            raise AlgorithmFailed(f"digest() returned an array called {shown(name)}; choose another name")
        if array.dtype.kind not in "biufc" or array.ndim == 0 or len(array) not in (1, fragment.steps):
            raise AlgorithmFailed(
                f"digest() returned {name!r}, {array.dtype} of shape {array.shape}, for a fragment of {fragment.steps} "
                "steps; it must be an array of numbers with one row for each step, or one row in all"
            )
    return arrays


def as_array(value: Any) -> Array:
    """Return what an algorithm sends as an array, of objects if it is none."""
    try:
        return np.asarray(value)
    except ValueError:  # a list of lists of several lengths
        return np.array(None, object)


def in_episode_order(parts: list[Arrays]) -> Gathered:
    """Return what all ranks sent, sorted by episode number: the one order that does not depend on who played what."""
    parts = [part for part in parts if part]
    own = {name: np.concatenate([part[OWN + name] for part in parts]) for name in (*PER_FRAGMENT, "mean", "squares")}
    order = in_order(own["numbers"], own["starts"])
    rows = rows_of(order, own["lengths"])
    batch = {}
    for name in sorted({name for part in parts for name in part if not name.startswith(OWN)}):
        per_step = _per_step(name, parts)
        batch[name] = np.concatenate([part[name] for part in parts])[rows if per_step else order]
    return Gathered(batch, {name: array[order] for name, array in own.items()})


def _per_step(name: str, parts: list[Arrays]) -> bool:
    """Return whether an array has a row for each step, not for each fragment; where both fit there is no difference."""
    steps = [int(part[OWN + "lengths"].sum()) for part in parts]
    fragments = [len(part[OWN + "lengths"]) for part in parts]
    rows = [len(part.get(name, ())) for part in parts]
    shapes = {part[name].shape[1:] for part in parts if name in part}
    if rows not in (steps, fragments) or len(shapes) > 1:
        r = next((i for i in range(len(parts)) if rows[i] not in (steps[i], fragments[i])), 0)
        raise AlgorithmFailed(
            f"digest() returned {name!r} with {rows[r]} rows of shapes {sorted(shapes)} for {steps[r]} steps in "
            f"{fragments[r]} fragments: it must have one row for each step or one for each fragment, all of one shape"
        )
    return rows == steps


def gather(comm: Comm, own: Arrays, found: Arrays) -> tuple[Gathered | None, list[Arrays]]:
    """Return everybody's experience, and what every rank has found for the update before, on the root."""
    parts = comm.gather(own | {FOUND + name: array for name, array in found.items()})
    if comm.rank != 0:
        return None, []
    experience = [{name: a for name, a in part.items() if not name.startswith(FOUND)} for part in parts]
    others = [{name.removeprefix(FOUND): a for name, a in part.items() if name.startswith(FOUND)} for part in parts]
    return in_episode_order(experience), others


def gather_unfinished(comm: Comm, collector: Collector) -> Arrays:
    """Return the unfinished episodes of all ranks' slots, for a checkpoint, on the root; collective."""
    parts = [part for part in comm.gather(collector.unfinished()) if part]
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else {})}
