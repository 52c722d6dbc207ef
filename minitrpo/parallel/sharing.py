"""The sharded learner's sums: every rank computes some of the parts, all ranks add all of them in one order."""

from collections.abc import Callable

import numpy as np

from minitrpo.parallel.ranks import Ranks
from minitrpo.policies import Array
from minitrpo.shares import WHOLE, Shares, added


class TeamShares:
    """Parts of a sum dealt out to the ranks of a team, consecutive ones to each.

    The parts travel, not the ranks' own sums: what is added, and in which order, is the same for any number of ranks.
    """

    def __init__(self, team: Ranks) -> None:
        self._team = team

    def total(self, parts: Callable[[slice], Array], count: int, like: Array) -> Array:
        """Return the sum of `count` parts, in shape and dtype like `like`, on every rank; collective."""
        size = self._team.size
        stops = [(rank + 1) * count // size for rank in range(size)]
        starts = [0, *stops[:-1]]
        mine = slice(starts[self._team.rank], stops[self._team.rank])
        computed = parts(mine) if mine.start < mine.stop else np.empty((0, *like.shape), like.dtype)
        rows = [stop - start for start, stop in zip(starts, stops, strict=True)]
        return added(self._team.all_gather(computed, rows, like))


def shares_of(team: Ranks) -> Shares:
    """Return how a team shares sums; one rank computes the whole."""
    return TeamShares(team) if team.size > 1 else WHOLE
