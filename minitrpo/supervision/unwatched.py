"""A run in the process of a person's own program: it says what it is doing, and nobody listens."""

from typing import Any, Protocol

from minitrpo.supervision.status import MAX_SLOTS, RankStatus


class Described(Protocol):
    """What is told what the job is, and reads what it is doing: a watchdog, or nobody."""

    status: RankStatus

    def describe(self, **job: Any) -> None: ...


class Unwatched:
    """Nobody: a fork would copy a notebook, and a failure is an exception there."""

    def __init__(self) -> None:
        self.status = RankStatus.private(MAX_SLOTS)

    def describe(self, **job: Any) -> None:
        """Take no notice."""
