"""What can go wrong for a user: a request that cannot be met, an episode that failed, an algorithm's own mistake."""

from dataclasses import dataclass


class BadInput(ValueError):
    """A request that cannot be met: one line that says what was wrong, what is allowed and what to do. Exit code 2."""


class AlgorithmFailed(RuntimeError):
    """A user's algorithm returned what the loop cannot work with: one line that says what, and what is asked for."""


@dataclass
class EpisodeFailed(RuntimeError):
    """An environment raised or returned something that is not finite, in a known episode of a known iteration."""

    env: str
    iteration: int
    episode: int
    seed: int
    cause: str

    def __str__(self) -> str:
        return (
            f"{self.env} failed in episode {self.episode} of iteration {self.iteration} "
            f"(reset seed {self.seed}): {self.cause}"
        )
