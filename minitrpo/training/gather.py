"""A rank's part of an iteration: collect what was requested, digest it, and bring it to the root in one order."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.contract import FRAGMENT, check_digest
from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.collectors import UNFINISHED, Request
from minitrpo.experience.fragments import Fragments, in_order, rows_of
from minitrpo.experience.observation_filter import moments
from minitrpo.parallel.comm import Comm
from minitrpo.policies import Array
from minitrpo.supervision import status

PER_FRAGMENT = ("numbers", "starts", "lengths", "terminated", "truncated", "returns")
WHERE = tuple(FRAGMENT + name for name in ("numbers", "starts", "lengths"))  # what places a fragment in the batch
EMPTY = "empty_"


@dataclass(frozen=True)
class Gathered:
    """Everybody's experience of one iteration, on the root, in episode order."""

    batch: Arrays  # what the algorithm's digests sent
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


def digested(algorithm: Algorithm, plan: Plan, request: Request, fragments: list[Fragments]) -> Arrays:
    """Return what this rank sends to the root: the algorithm's digests, and the house's arrays; {} without a step.

    Fragment by fragment: BLAS rounds a row of a product by how many stand beside it, and how many a rank has depends
    on the number of ranks.
    """
    if not fragments:
        return {}
    raw = [moments(fragment.observations) for fragment in fragments]
    own = {name: np.concatenate([getattr(fragment, name) for fragment in fragments]) for name in PER_FRAGMENT}
    own |= {"mean": np.array([mean for mean, _ in raw]), "squares": np.array([squares for _, squares in raw])}
    parts = []
    with status.at("digest"):
        for fragment in fragments:
            digest = algorithm.digest(plan, fragment.filtered(request.observation_filter))
            parts.append(check_digest(digest, fragment.steps))
    if any(part.keys() != parts[0].keys() for part in parts):
        raise AlgorithmFailed("digest() returned other arrays for one fragment than for another")
    for name in parts[0]:
        shapes = sorted({part[name].shape[1:] for part in parts})
        if len(shapes) > 1:
            raise AlgorithmFailed(f"digest() returned {name!r} with rows of shapes {shapes}: all must have one shape")
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return arrays | {FRAGMENT + name: array for name, array in own.items()}


def in_episode_order(parts: list[Arrays]) -> Gathered:
    """Return what all ranks sent, sorted by episode number: the one order that does not depend on who played what."""
    parts = [part for part in parts if part]
    names = (*PER_FRAGMENT, "mean", "squares")
    own = {name: np.concatenate([part[FRAGMENT + name] for part in parts]) for name in names}
    order = in_order(own["numbers"], own["starts"])
    rows = rows_of(order, own["lengths"])
    batch = {}
    for name in sorted({name for part in parts for name in part if not name.startswith(FRAGMENT)}):
        per_step = _per_step(name, parts)
        batch[name] = np.concatenate([part[name] for part in parts])[rows if per_step else order]
    return Gathered(batch, {name: array[order] for name, array in own.items()})


def _per_step(name: str, parts: list[Arrays]) -> bool:
    """Return whether an array has a row for each step, not for each fragment; where both fit there is no difference."""
    steps = [int(part[FRAGMENT + "lengths"].sum()) for part in parts]
    fragments = [len(part[FRAGMENT + "lengths"]) for part in parts]
    rows = [len(part.get(name, ())) for part in parts]
    shapes = {part[name].shape[1:] for part in parts if name in part}
    if rows not in (steps, fragments) or len(shapes) > 1:
        r = next((i for i in range(len(parts)) if rows[i] not in (steps[i], fragments[i])), 0)
        raise AlgorithmFailed(
            f"digest() returned {name!r} with {rows[r]} rows of shapes {sorted(shapes)} for {steps[r]} steps in "
            f"{fragments[r]} fragments: it must have one row for each step or one for each fragment, all of one shape"
        )
    return rows == steps


def gather(comm: Comm, own: Arrays, unfinished: Arrays, sharing: Algorithm | None) -> Gathered:
    """Return everybody's experience, on the root; on the others what of it they need for sharing the update.

    own: of `digested`. unfinished: this rank's episodes that go on, if a checkpoint follows. sharing: the algorithm,
    if the ranks share its update; what it spreads goes straight to those who need it. Collective.
    """
    names = sharing.spread if sharing else ()
    rows = {name: own[name] for name in names if own}
    own = {name: array for name, array in own.items() if name not in rows}
    parts = comm.gather(own | unfinished)
    rows = spread(comm, own, rows, sharing.needs) if sharing and names else {}
    if comm.rank != 0:
        return Gathered(rows, {})
    cut = [{name: part.pop(name) for name in tuple(part) if name.startswith(UNFINISHED)} for part in parts]
    some, gathered = [part for part in cut if part], in_episode_order(parts)
    whole = {name: np.concatenate([part[name] for part in some]) for name in (some[0] if some else {})}
    return replace(gathered, batch=gathered.batch | rows, unfinished=whole)


def spread(comm: Comm, own: Arrays, rows: Arrays, needs: Callable[[int], list[slice]]) -> Arrays:
    """Return the batch's arrays: of so many rows as all ranks have, those filled that this rank needs, the others 0.

    own: has the WHERE of this rank's fragments; rows: their rows, as they lie; both {} without a fragment. needs: from
    the number of rows to those that each rank needs. What nobody writes takes no memory. Collective.
    """
    table, owners, empty = tabulated(comm, own, rows)
    order = in_order(table[:, 0], table[:, 1])
    lengths = table[order, 2]
    stops = np.cumsum(lengths)
    needed = needs(int(stops[-1]))
    # 1. the places in the batch of what lies here; what of it goes to whom
    begins = np.empty_like(stops)
    begins[order] = stops - lengths
    mine = zip(begins[owners == comm.rank], table[owners == comm.rank, 2], strict=True)
    places = np.concatenate([np.arange(0), *(np.arange(start, start + length) for start, length in mine)])
    sorted_rows = np.argsort(places)
    cuts = np.searchsorted(places[sorted_rows], [[rows.start, rows.stop] for rows in needed])
    going, sent = np.concatenate([sorted_rows[start:stop] for start, stop in cuts]), np.diff(cuts)[:, 0].tolist()
    # 2. whose rows are needed here: they come rank by rank, those of each in the batch's order
    wanted = needed[comm.rank]
    whose = np.repeat(owners[order], lengths)[wanted]
    coming, received = wanted.start + np.argsort(whose, kind="stable"), np.bincount(whose, minlength=comm.size).tolist()
    batch = {}
    for name, array in sorted((rows or empty).items()):
        batch[name] = np.zeros((stops[-1], *array.shape[1:]), array.dtype)
        batch[name][coming] = comm.all_to_all(array[going], sent, received)
    return batch


def tabulated(comm: Comm, own: Arrays, rows: Arrays) -> tuple[Array, Array, Arrays]:
    """Return where all ranks' fragments lie, (E, 3), who has each, (E,), and rows without a row, of the same kinds."""
    parts = comm.gather({name: own[name] for name in WHERE if own} | {EMPTY + n: a[:0] for n, a in rows.items()})
    told: Arrays = {}
    if comm.rank == 0:
        counts = [len(part.get(WHERE[0], ())) for part in parts]
        some = [part for part in parts if part]
        table = [np.concatenate([part[name] for part in some]) for name in WHERE]
        told = {name: array for name, array in some[0].items() if name.startswith(EMPTY)}
        told |= {"table": np.stack(table, axis=1), "owners": np.repeat(np.arange(comm.size), counts)}
    told = dict(comm.broadcast(told))
    table_of_all, owners = told.pop("table"), told.pop("owners")
    return table_of_all, owners, {name.removeprefix(EMPTY): array for name, array in told.items()}
