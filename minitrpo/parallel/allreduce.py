"""The sharded learner's sums: every rank computes some of the parts, and all parts are added in one order."""

import numpy as np

from minitrpo.block_sums import FAN, SERIAL, Reduction, ordered_sum, tree_sum
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

    def share(self, count: int) -> slice:
        return dealt(self._comm.rank, self._comm.size, count)

    def sum(self, parts: Array, count: int) -> Array:
        """Return the sum of all parts, in the order of `tree_sum`, on every rank. Collective.

        Few parts go to every rank, which adds them. Many parts go to rank 0, which broadcasts their sum.

        Args:
            parts: those of this rank, (k, ...).
            count: the number of parts of all ranks.

        Returns:
            The sum, (...).

        """
        if count <= FAN:
            return ordered_sum(self.all_gather(parts, [1] * count))
        gathered = self._comm.gather(parts)
        total = tree_sum(np.concatenate(gathered)) if self._comm.rank == 0 else None
        return np.asarray(self._comm.broadcast(total))

    def all_gather(self, own: Array, sizes: list[int]) -> Array:
        first_parts = np.arange(self._comm.size + 1) * len(sizes) // self._comm.size
        first_rows = np.cumsum([0, *sizes])[first_parts]  # of each rank, and the end of the last one
        return self._comm.all_gather(own, np.diff(first_rows).tolist())


def ordered_allreduce(comm: Comm) -> Reduction:
    """Return how the ranks of a communicator share sums; one rank computes everything."""
    return OrderedAllreduce(comm) if comm.size > 1 else SERIAL
