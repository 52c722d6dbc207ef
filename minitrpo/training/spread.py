"""Rows that go straight to the ranks that need them: no rank gets the samples of all, unless it needs them.

The batch has one order, that of the episodes. Where each fragment lies in it follows from a short table that all get.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.contract import FRAGMENT
from minitrpo.experience.fragments import in_order
from minitrpo.parallel.comm import Comm
from minitrpo.policies import Array

WHERE = tuple(FRAGMENT + name for name in ("numbers", "starts", "lengths"))  # what places a fragment in the batch
EMPTY = "empty_"


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
