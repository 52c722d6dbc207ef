"""An algorithm under guard: its calls are watched, and what would spoil equal bits or an exact resume is noticed."""

import pickle
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.algorithms.interface import Arrays, Plan
from minitrpo.errors import AlgorithmFailed, shown
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.runs.carried import fingerprints, not_carried

LOOKS = 20  # calls of each method in which random numbers are looked at, for a fifth of a millisecond each


class Guarded:
    """What the loop calls instead of the algorithm: the same methods, and all that it has.

    status: where a watchdog reads which call has not returned. notes: what must not be missed. fresh: makes another of
    its kind, as a resumed run would; None on ranks that do not learn.
    """

    def __init__(
        self, algorithm: Any, status: RankStatus, notes: list[str], fresh: Callable[[], Any] | None = None
    ) -> None:
        self._algorithm, self._status, self._notes, self._fresh = algorithm, status, notes, fresh
        self._looks: Counter[Doing] = Counter()
        self._before_update: dict[str, bytes] = {}

    def __getattr__(self, name: str) -> Any:
        """Return what the algorithm has beside its methods."""
        return getattr(self._algorithm, name)

    def plan(self) -> Plan:
        """Return what to collect next."""
        return self._watched(Doing.PLANNING, self._algorithm.plan)

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return what travels to the root."""
        return self._watched(Doing.DIGESTING, self._algorithm.digest, plan, fragment)

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Return the columns of an update."""
        before = fingerprints(self._algorithm) if self._fresh else {}
        columns = self._watched(Doing.LEARNING, self._algorithm.learn, batch, rng)
        if self._fresh is not None:
            self._before_update = before
        return columns

    def fit(self, found: list[Arrays]) -> None:
        """Do what the next rollout does not need; after the first update, look at whether a checkpoint holds all."""
        if hasattr(self._algorithm, "fit"):
            self._watched(Doing.FITTING, self._algorithm.fit, found)
        if self._fresh is not None:
            lost = self._watched(Doing.RESTORING, not_carried, self._algorithm, self._before_update, self._fresh)
            self._fresh = None
            if lost:
                self._notes.append(f"note: {lost}, an exact --resume cannot be promised")

    def assist(self, plan: Plan, rng: np.random.Generator) -> Arrays:
        """Take part in the root's update."""
        found: Arrays = self._watched(Doing.ASSISTING, self._algorithm.assist, plan, rng) or {}
        for name, array in (found if isinstance(found, dict) else {"": found}).items():
            if not isinstance(name, str) or not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
                raise AlgorithmFailed(f"assist() returned {shown(found)}; it must return arrays of numbers by name")
        return found

    def state(self) -> Arrays:
        """Return what a checkpoint holds."""
        return self._watched(Doing.KEEPING, self._algorithm.state)

    def restore(self, arrays: Arrays) -> None:
        """Go on from a checkpoint."""
        self._watched(Doing.RESTORING, self._algorithm.restore, arrays)

    def _watched(self, call: Doing, method: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a method returns, and look at whether it drew random numbers that nobody keyed."""
        self._looks[call] += 1
        before = drawn() if self._looks[call] <= LOOKS else ()
        with self._status.at(call):
            result = method(*arguments)
        for name, state in zip(("numpy", "Python"), before, strict=False):
            if drawn()[name == "Python"] != state and self._looks[call] <= LOOKS:
                self._looks[call] = LOOKS  # said once
                self._notes.append(
                    f"note: {call.call}() of {type(self._algorithm).__name__} draws {name}'s global random numbers: "
                    "equal bits on any number of ranks and an exact --resume cannot be promised; take those of rng"
                )
        return result


def drawn() -> tuple[bytes, bytes]:
    """Return the states of numpy's and Python's global random numbers, to be compared."""
    numpys = np.random.get_state(legacy=False)  # noqa: NPY002 - looked at, not drawn from
    return pickle.dumps(numpys), pickle.dumps(random.getstate())
