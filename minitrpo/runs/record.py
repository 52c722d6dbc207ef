"""A row of the log: what the updates since the row before have found."""

from typing import Any

import numpy as np

from minitrpo.policies import Array
from minitrpo.runs.actor import Gathered


class Record:
    """Gathers the updates of one row: episodes are counted together, the algorithm's numbers are averaged."""

    def __init__(self) -> None:
        self._columns: list[dict[str, Any]] = []
        self._returns: list[Array] = []
        self._lengths: list[Array] = []

    def add(self, gathered: Gathered, columns: dict[str, Any]) -> None:
        """Add an update."""
        own, ended = gathered.fragments, gathered.ended
        self._returns.append(own["returns"][ended])
        self._lengths.append((own["starts"] + own["lengths"])[ended])
        self._columns.append(columns)

    def take(self) -> dict[str, Any]:
        """Return the row of all updates since the last call; means of no episode are NaN."""
        returns, lengths = np.concatenate(self._returns), np.concatenate(self._lengths)
        columns = {name: mean([c[name] for c in self._columns]) for name in self._columns[0]}
        self._columns, self._returns, self._lengths = [], [], []
        none = float("nan")
        means = {
            "mean_return": float(np.mean(returns)) if len(returns) else none,
            "mean_length": float(np.mean(lengths)) if len(lengths) else none,
        }
        return {"episodes": len(returns), **means, **columns}


def mean(values: list[Any]) -> Any:
    """Return the mean of numbers; of words, and of a single value, the last."""
    return values[-1] if len(values) == 1 or isinstance(values[-1], str) else float(np.mean(values))
