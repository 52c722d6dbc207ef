"""The sharded learner's sums: every rank computes some of the parts, and all are added in one order, in one tree."""

import numpy as np

from minitrpo.block_sums import FAN, SERIAL, Reduction, ordered_sum
from minitrpo.parallel.comm import Comm
from minitrpo.policies import Array


def dealt(rank: int, size: int, count: int) -> slice:
    """Return which of `count` parts a rank of `size` computes: consecutive ones."""
    return slice(rank * count // size, (rank + 1) * count // size)


class OrderedAllreduce(Reduction):
    """The parts of a sum, distributed over the ranks of a communicator, consecutive ones to each.

    Ranks send the parts, not sums of their own, so the terms and their order are the same for any number of ranks.
    """

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    def own(self, count: int) -> slice:
        return dealt(self._comm.rank, self._comm.size, count)

    def sum(self, parts: Array, count: int) -> Array:
        """Return the sum of all ranks' parts on every rank; parts: this rank's own, (k, ...). Collective.

        The order is as in `tree_sum`. Few parts go to all ranks. Of many, each group goes to one rank; only sums go on.
        """
        if count <= FAN:
            return ordered_sum(self.collect(parts, [1] * count))
        owners = np.searchsorted(self._ends(count)[1:], np.arange(count), side="right")
        while len(owners) > 1:
            parts, owners = self._climb(parts, owners)
        return self._comm.all_gather(parts, [1] + [0] * (self._comm.size - 1))[0]

    def collect(self, own: Array, sizes: list[int]) -> Array:
        rows = np.cumsum([0, *sizes])[self._ends(len(sizes))]
        return self._comm.all_gather(own, np.diff(rows).tolist())

    def _ends(self, count: int) -> Array:
        """Return where the parts of each rank begin, and where those of the last rank end, (size + 1,)."""
        return np.arange(self._comm.size + 1) * count // self._comm.size

    def _climb(self, parts: Array, owners: Array) -> tuple[Array, Array]:
        """Return the sums of the groups that this rank adds, and who adds which: one step up the tree.

        Who owns the first of FAN neighbours adds them all. owners: of all parts, in order, (n,).
        """
        comm, heads = self._comm, owners[::FAN].repeat(FAN)[: len(owners)]
        sent, received = (
            np.bincount(ranks, minlength=comm.size).tolist()
            for ranks in (heads[owners == comm.rank], owners[heads == comm.rank])
        )
        mine = comm.all_to_all(parts, sent, received)
        sums = [ordered_sum(mine[start : start + FAN]) for start in range(0, len(mine), FAN)]
        return np.array(sums, parts.dtype).reshape(-1, *parts.shape[1:]), owners[::FAN]


def ordered_allreduce(comm: Comm) -> Reduction:
    """Return how the ranks of a communicator share sums; one rank computes everything."""
    return OrderedAllreduce(comm) if comm.size > 1 else SERIAL
