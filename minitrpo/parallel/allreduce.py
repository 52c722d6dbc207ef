"""The sharded learner's sums: every rank computes some of the parts, all ranks add all of them in one order."""

import numpy as np

from minitrpo.block_sums import SERIAL, Reduction, ordered_sum
from minitrpo.parallel.comm import Comm
from minitrpo.policies import Array


class OrderedAllreduce:
    """Parts of a sum dealt out to the ranks of a communicator, consecutive ones to each.

    The parts travel, not the ranks' own sums: what is added, and in which order, is the same for any number of ranks.
    """

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    def own(self, count: int) -> slice:
        """Return which of `count` parts this rank computes."""
        rank, size = self._comm.rank, self._comm.size
        return slice(rank * count // size, (rank + 1) * count // size)

    def sum(self, parts: Array, count: int) -> Array:
        """Return the sum of all ranks' parts on every rank; parts: this rank's own, (k, ...). Collective."""
        size = self._comm.size
        stops = [(rank + 1) * count // size for rank in range(size)]
        return ordered_sum(self._comm.all_gather(parts, np.diff(stops, prepend=0).tolist()))


def ordered_allreduce(comm: Comm) -> Reduction:
    """Return how the ranks of a communicator share sums; one rank computes everything."""
    return OrderedAllreduce(comm) if comm.size > 1 else SERIAL
